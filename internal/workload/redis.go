package workload

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// sentinelTimeout bounds the question to one sentinel for the master.
const sentinelTimeout = 500 * time.Millisecond

// redisDialect speaks RESP2. Its own few lines send exactly what an operation says: client libraries repeat commands,
// ping, and ask for topology in the background.
type redisDialect struct {
	servers   []server
	sentinels []string // host:port; empty is no discovery
	master    string
}

// server is a parsed redis://user:password@host:port/db.
type server struct {
	addr  string
	setup [][]string // commands before the first operation on a connection
}

func newRedis(w *world.Workload) (dialect, error) {
	r := &redisDialect{master: w.Options["master_name"]}
	for _, t := range w.Targets {
		s, err := parseServer(t)
		if err != nil {
			return nil, err
		}
		r.servers = append(r.servers, s)
	}
	for _, a := range strings.FieldsFunc(w.Options["sentinels"], func(c rune) bool { return c == ',' || c == ' ' }) {
		if _, _, err := net.SplitHostPort(a); err != nil {
			a = net.JoinHostPort(a, "26379")
		}
		r.sentinels = append(r.sentinels, a)
	}
	switch {
	case len(r.sentinels) > 0 && r.master == "":
		return nil, errors.New("sentinels without master_name; give the name that the sentinels monitor, such as mymaster")
	case len(r.sentinels) == 0 && r.master != "":
		return nil, errors.New("master_name without sentinels; give them as host:port, host:port")
	case len(r.servers) == 0 && len(r.sentinels) == 0:
		return nil, fmt.Errorf("workload %q has neither a target such as redis://n1:6379 nor sentinels", w.Name)
	case len(r.sentinels) > 0 && len(r.servers) > 1:
		return nil, errors.New("both sentinels and several targets are set; leave out the targets, because the " +
			"sentinels decide which server to use")
	case len(r.servers) == 0:
		r.servers = []server{{}}
	}
	return r, nil
}

func parseServer(target string) (server, error) {
	u, err := url.Parse(target)
	if err != nil {
		return server{}, err
	}
	if u.Scheme != "redis" || u.Hostname() == "" {
		return server{}, fmt.Errorf("target %q; it must be a URL such as redis://n1:6379 (TLS is not supported)", target)
	}
	s := server{addr: u.Host}
	if u.Port() == "" {
		s.addr = net.JoinHostPort(u.Hostname(), "6379")
	}
	if password, given := u.User.Password(); given {
		words := []string{"AUTH"}
		if name := u.User.Username(); name != "" {
			words = append(words, name)
		}
		s.setup = append(s.setup, append(words, password))
	}
	if db := strings.Trim(u.Path, "/"); db != "" {
		s.setup = append(s.setup, []string{"SELECT", db})
	}
	return s, nil
}

func (r *redisDialect) targets() int { return len(r.servers) }

func (r *redisDialect) node(target int) string { return r.servers[target].addr }

func (r *redisDialect) perform(cs *connections, target int, o *operation, deadline time.Time) result {
	c := cs.conns[target]
	if c == nil {
		var err error
		if c, cs.dialed[target], err = r.connect(r.servers[target], deadline); err != nil {
			return fail("not connected: %v", err)
		}
		cs.conns[target] = c
	}
	verb := strings.ToUpper(o.entry.Kind)
	words := []string{verb, o.key}
	if verb == "SET" {
		words = append(words, o.value)
	}
	var got result
	sent, err := c.send(respCommand(words...), deadline)
	switch {
	case err != nil && !sent:
		got = fail("not sent: %v", err)
	case err != nil:
		got = info("sending: %v", err)
	default:
		reply, err := readRESP(c.in, 0)
		if err == nil {
			got = judgeRESP(verb, reply)
			err = leftover(c)
		} else {
			got = info("no reply: %v", err)
		}
		if err == nil && got.err == "" {
			got.node = cs.dialed[target]
			return got
		}
	}
	// After any trouble the next operation connects anew, and so asks the sentinels again.
	cs.drop(target)
	got.node = cs.dialed[target]
	return got
}

// leftover reports bytes that no request asked for: they would be taken for the answer to the next request.
func leftover(c *conn) error {
	if n := c.in.Buffered(); n > 0 {
		return fmt.Errorf("%d bytes too many", n)
	}
	return nil
}

// connect makes a connection that is ready for operations. Nothing of an operation is sent here.
func (r *redisDialect) connect(s server, deadline time.Time) (*conn, string, error) {
	addr := s.addr
	if len(r.sentinels) > 0 {
		var err error
		if addr, err = r.discover(deadline); err != nil {
			return nil, "", err
		}
	}
	c, err := dial(addr, deadline)
	if err != nil {
		return nil, addr, err
	}
	for _, words := range s.setup {
		reply, err := ask(c, deadline, words...)
		if err == nil && reply.kind == '-' {
			err = errors.New(reply.text)
		}
		if err != nil {
			c.Close()
			return nil, addr, fmt.Errorf("%s: %w", words[0], err)
		}
	}
	return c, addr, nil
}

// discover asks one sentinel after the other for the master's address.
func (r *redisDialect) discover(deadline time.Time) (string, error) {
	var last error
	for _, sentinel := range r.sentinels {
		until := time.Now().Add(sentinelTimeout)
		if until.After(deadline) {
			until = deadline
		}
		addr, err := r.askSentinel(sentinel, until)
		if err == nil {
			return addr, nil
		}
		last = err
	}
	return "", fmt.Errorf("no sentinel names the master: %w", last)
}

func (r *redisDialect) askSentinel(sentinel string, deadline time.Time) (string, error) {
	c, err := dial(sentinel, deadline)
	if err != nil {
		return "", err
	}
	defer c.Close()
	reply, err := ask(c, deadline, "SENTINEL", "get-master-addr-by-name", r.master)
	if err != nil {
		return "", err
	}
	if reply.kind != '*' || len(reply.items) != 2 {
		return "", fmt.Errorf("sentinel %s says %q", sentinel, reply.String())
	}
	return net.JoinHostPort(reply.items[0].text, reply.items[1].text), nil
}

func ask(c *conn, deadline time.Time, words ...string) (*respReply, error) {
	if _, err := c.send(respCommand(words...), deadline); err != nil {
		return nil, err
	}
	return readRESP(c.in, 0)
}

// judgeRESP says what a reply proves.
func judgeRESP(verb string, r *respReply) result {
	switch {
	case r.kind == '-' && refused(r.text):
		return fail("%s", r.text)
	case r.kind == '-':
		return info("%s", r.text)
	case verb == "SET" && r.kind == '+' && r.text == "OK":
		return ok("", false)
	case verb == "GET" && r.kind == '$':
		return ok(r.text, !r.null)
	case (verb == "INCR" || verb == "DEL") && r.kind == ':':
		return ok(r.text, false)
	}
	return info("unexpected reply %q to %s", r.String(), verb)
}

// refusals are the error codes that redis gives before it executes a command (server.c, processCommand), or with
// which a command is rejected by its type check.
var refusals = []string{"READONLY", "MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN", "CROSSSLOT", "LOADING", "MASTERDOWN", "NOREPLICAS",
	"MISCONF", "OOM", "BUSY", "NOAUTH", "NOPERM", "WRONGTYPE"}

// refusedErrors are beginnings of errors of the code ERR that say the same; ERR alone may come from a proxy that does
// not know what the server did.
var refusedErrors = []string{"ERR value is not an integer", "ERR increment or decrement would overflow", "ERR unknown command",
	"ERR wrong number of arguments", "ERR syntax error", "ERR max number of clients reached"}

// refused reports whether an error reply proves that nothing was done.
func refused(text string) bool {
	code, _, _ := strings.Cut(text, " ")
	if slices.Contains(refusals, code) {
		return true
	}
	for _, r := range refusedErrors {
		if strings.HasPrefix(text, r) {
			return true
		}
	}
	return false
}
