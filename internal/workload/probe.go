package workload

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// probeTimeout bounds one probe.
const probeTimeout = 2 * time.Second

// maxShown is how many bytes of a wrong reply a probe prints.
const maxShown = 200

// probe performs one check, prints a line that says why, and returns the exit code.
func probe(text string, out io.Writer) int {
	var c world.Check
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		fmt.Fprintf(out, "%s is not a check: %v\n", envDriver, err)
		return world.ProbeFailed
	}
	code, line := perform(&c)
	fmt.Fprintln(out, line)
	return code
}

// prober performs the checks that its orders name, side by side, until there are no more orders. None has anything of another: each
// has connections and names of its own.
func prober(orders io.Reader, answers io.Writer) error {
	in := json.NewDecoder(orders)
	for {
		var o world.ProbeOrder
		if err := in.Decode(&o); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("the probe's request cannot be read: %w", err)
		}
		go func() {
			a := world.ProbeAnswer{ID: o.ID}
			if o.Check.Type == world.AlertsCheck {
				a.Code, a.Text, a.Scrapes = scrape(&o.Check)
			} else {
				a.Code, a.Text = perform(&o.Check)
			}
			text, err := json.Marshal(a)
			if err == nil {
				_, err = answers.Write(text)
			}
			if err != nil {
				panic("no reader takes the probe's findings: " + err.Error())
			}
		}()
	}
}

// probers perform a check of each type that the prober makes, and say why they found what they found.
var probers = map[world.CheckType]func(c *world.Check, deadline time.Time) (int, string){
	world.HTTPCheck:  probeHTTP,
	world.RedisCheck: probeRedis,
	world.SQLCheck:   probeSQL,
	world.Agreement:  func(c *world.Check, _ time.Time) (int, string) { return probeAgreement(c) }, // each node has a time of its own
}

// perform makes one check that is in probers.
func perform(c *world.Check) (int, string) {
	if probe := probers[c.Type]; probe != nil {
		return probe(c, time.Now().Add(probeTimeout))
	}
	return world.ProbeFailed, fmt.Sprintf("a check of type %q cannot be probed", c.Type)
}

func statusOf(c *world.Check) int { return cmp.Or(c.ExpectStatus, http.StatusOK) }

// askHTTP sends one request, a GET, or a POST of a body that is not empty, and reads a reply up to a bound. With an error and a reply, its body is not whole.
func askHTTP(endpoint, body string, maxBytes int, deadline time.Time) (*httpReply, error) {
	b, err := parseBase(endpoint)
	if err != nil {
		return nil, err
	}
	conn, err := dial(b.addr, deadline)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	path := b.path
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	if _, err := conn.send(requestBytes(method, b.host, path, "text/plain", []byte(body)), deadline); err != nil {
		return nil, err
	}
	return readReply(conn, method, maxBytes)
}

func probeHTTP(c *world.Check, deadline time.Time) (int, string) {
	if _, err := parseBase(c.Endpoint); err != nil {
		return world.ProbeFailed, err.Error()
	}
	reply, err := askHTTP(c.Endpoint, c.Body, maxValueBytes, deadline)
	if reply == nil {
		return world.ProbeNoAnswer, fmt.Sprintf("%s: %v", c.Endpoint, err)
	}
	if want := statusOf(c); reply.status != want {
		return world.ProbeViolated, world.WrongStatus.Say(c.Endpoint, reply.status, want)
	}
	if c.ExpectBody != "" {
		if err != nil && err != errNoEnd {
			return world.ProbeNoAnswer, fmt.Sprintf("%s: no whole body: %v", c.Endpoint, err)
		}
		if body := strings.TrimSpace(string(reply.body)); body != strings.TrimSpace(c.ExpectBody) {
			return world.ProbeViolated, world.WrongBody.Say(c.Endpoint, clip(body), c.ExpectBody)
		}
	}
	return world.ProbeHolds, fmt.Sprintf("%s: status %d, body %q", c.Endpoint, reply.status, clip(strings.TrimSpace(string(reply.body))))
}

// askRedis sends one command.
func askRedis(endpoint string, command []string, deadline time.Time) (*respReply, error) {
	s, err := parseServer(endpoint)
	if err != nil {
		return nil, err
	}
	conn, _, err := (&redisDialect{}).connect(s, deadline)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return ask(conn, deadline, command...)
}

func probeRedis(c *world.Check, deadline time.Time) (int, string) {
	if _, err := parseServer(c.Endpoint); err != nil {
		return world.ProbeFailed, err.Error()
	}
	if len(c.Command) == 0 {
		return world.ProbeFailed, "the check has no command"
	}
	reply, err := askRedis(c.Endpoint, c.Command, deadline)
	if err != nil {
		return world.ProbeNoAnswer, fmt.Sprintf("%s: %v", c.Endpoint, err)
	}
	got := strings.TrimSpace(reply.String())
	switch {
	case notNow(reply):
		return world.ProbeNoAnswer, fmt.Sprintf("%s: %s says %q", c.Endpoint, strings.Join(c.Command, " "), clip(got))
	case c.Expect != "" && got != strings.TrimSpace(c.Expect):
		return world.ProbeViolated, world.WrongReply.Say(c.Endpoint, strings.Join(c.Command, " "), clip(got), c.Expect)
	case c.Expect == "" && reply.kind == '-':
		return world.ProbeViolated, world.ErrorReply.Say(c.Endpoint, strings.Join(c.Command, " "), clip(got))
	}
	return world.ProbeHolds, fmt.Sprintf("%s: %s says %q", c.Endpoint, strings.Join(c.Command, " "), clip(got))
}

// notNow recognizes an error by which a redis server says that it cannot work just now: it loads its data, has lost its master or a
// part of its cluster, moves slots, or runs a script.
func notNow(r *respReply) bool {
	word, _, _ := strings.Cut(r.text, " ")
	return r.kind == '-' && slices.Contains([]string{"LOADING", "MASTERDOWN", "BUSY", "TRYAGAIN", "CLUSTERDOWN"}, word)
}

func probeSQL(c *world.Check, deadline time.Time) (int, string) {
	if _, err := connector(c.Endpoint, nil); err != nil {
		return world.ProbeFailed, err.Error()
	}
	at := place(c.Endpoint)
	got, err := queryRows(c.Endpoint, c.Query, deadline)
	switch {
	case err != nil && saysNo(err):
		return world.ProbeViolated, world.QueryRefused.Say(at, c.Query, err)
	case err != nil:
		return world.ProbeNoAnswer, fmt.Sprintf("%s: %v", at, err)
	case c.Expect != "" && strings.TrimSpace(got) != strings.TrimSpace(c.Expect):
		return world.ProbeViolated, world.WrongRows.Say(at, c.Query, clip(got), strings.TrimSpace(c.Expect))
	}
	return world.ProbeHolds, fmt.Sprintf("%s: %s gives %q", at, c.Query, clip(got))
}

// place is an endpoint without its password.
func place(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return endpoint
	}
	return u.Redacted()
}

func clip(s string) string {
	if len(s) > maxShown {
		return s[:maxShown] + "..."
	}
	return s
}
