package main

import (
	"bufio"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Timings.
const (
	dialTimeout = 150 * time.Millisecond
	askTimeout  = 150 * time.Millisecond
	askInterval = 150 * time.Millisecond
	// downAfter is how long a master may be silent.
	downAfter = 400 * time.Millisecond
	// copyTimeout is how long an operation may wait for a replica, and commandTimeout how long for the master.
	copyTimeout    = 200 * time.Millisecond
	commandTimeout = 400 * time.Millisecond
)

// proxy passes commands on to the master, and makes another server the master when it is gone.
type proxy struct {
	servers []string
	file    string // names the master
	first   bool   // the planted mistake, see choose

	// mu: one command at a time, and none while the master changes.
	mu      sync.Mutex
	master  string
	link    *link
	barrier int
	// lineage is the master's, as it said last; ready once it has replicas.
	lineage string
	ready   bool

	links map[string]*link // of the watch
	heard time.Time        // when the master was last seen to lead
}

func newProxy(servers []string, folder string, first bool) (*proxy, error) {
	p := &proxy{servers: servers, file: filepath.Join(folder, "master"), first: first, master: servers[0], links: map[string]*link{}, heard: time.Now()}
	text, err := os.ReadFile(p.file)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	if name := strings.TrimSpace(string(text)); slices.Contains(servers, name) {
		p.master = name
	}
	return p, nil
}

// keep writes down who the master is: a proxy that starts anew has to know.
func (p *proxy) keep() error {
	f, err := os.Create(p.file + ".new")
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := fmt.Fprintln(f, p.master); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return os.Rename(f.Name(), p.file)
}

func (p *proxy) serve(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	go p.watch()
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		go p.client(conn)
	}
}

func (p *proxy) client(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		words, err := readCommand(in)
		if err != nil {
			return
		}
		var reply []byte
		switch strings.ToUpper(words[0]) {
		case "PING":
			reply = []byte("+PONG\r\n")
			if p.mu.Lock(); !p.ready {
				reply = []byte("-LOADING the master has no replicas yet\r\n")
			}
			p.mu.Unlock()
		case "GET", "SET", "DEL", "INCR":
			reply = p.command(words)
		default:
			reply = []byte("-ERR the proxy knows GET, SET, DEL, INCR and PING\r\n")
		}
		if _, err := conn.Write(reply); err != nil {
			return
		}
	}
}

// command has the master perform a command, and answers when a replica has it, too. So does a read: a write of the proxy's own goes behind it,
// so that what was read cannot be lost when the master is.
func (p *proxy) command(words []string) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.link == nil {
		l, err := dial(p.master)
		if err != nil {
			return []byte("-MASTERDOWN nothing was done: " + err.Error() + "\r\n")
		}
		p.link = l
	}
	p.barrier++
	replies, err := p.link.do(commandTimeout, encode(words...), encode("SET", "proxy:barrier", strconv.Itoa(p.barrier)),
		encode("WAIT", "1", strconv.FormatInt(copyTimeout.Milliseconds(), 10)))
	if err != nil {
		p.link.drop()
		p.link = nil
		return []byte("-UNKNOWN no answer of the master: " + err.Error() + "\r\n")
	}
	if replies[0][0] == '-' {
		return replies[0]
	}
	if n := string(replies[2]); n != ":1\r\n" && n != ":2\r\n" {
		return []byte("-UNKNOWN no replica has it yet\r\n")
	}
	return replies[0]
}

// watch asks the servers again and again who they are.
func (p *proxy) watch() {
	for {
		next := time.Now().Add(askInterval)
		p.look(p.ask(p.servers))
		time.Sleep(time.Until(next))
	}
}

// ask asks several servers at once. Those that do not answer are missing.
func (p *proxy) ask(servers []string) map[string]status {
	answers := make([]status, len(servers))
	links := make([]*link, len(servers))
	var all sync.WaitGroup
	for i, s := range servers {
		links[i] = p.links[s]
		all.Go(func() {
			if links[i] == nil {
				l, err := dial(s)
				if err != nil {
					return
				}
				links[i] = l
			}
			replies, err := links[i].do(askTimeout, encode("INFO", "replication"))
			if err != nil {
				links[i].drop()
				links[i] = nil
				return
			}
			if replies[0][0] == '$' {
				answers[i] = parseStatus(string(replies[0]))
			}
		})
	}
	all.Wait()
	found := map[string]status{}
	for i, s := range servers {
		p.links[s] = links[i]
		if answers[i].role != "" {
			found[s] = answers[i]
		}
	}
	return found
}

// tell sends a server commands that change its role, and has it remember.
func (p *proxy) tell(server string, command ...string) error {
	l := p.links[server]
	if l == nil {
		return fmt.Errorf("%s does not answer", server)
	}
	replies, err := l.do(askTimeout, encode(command...), encode("CONFIG", "REWRITE"))
	if err != nil {
		l.drop()
		p.links[server] = nil
		return err
	}
	for _, r := range replies {
		if r[0] == '-' {
			return fmt.Errorf("%s: %s", server, r)
		}
	}
	return nil
}

// look does what follows from what the servers say.
func (p *proxy) look(found map[string]status) {
	if m, ok := found[p.master]; ok && m.role == "master" {
		p.heard = time.Now()
		p.mu.Lock()
		p.lineage = m.lineage
		p.mu.Unlock()
	} else if time.Since(p.heard) > downAfter {
		p.failover()
	}
	following := 0
	for _, s := range p.servers {
		st, ok := found[s]
		switch {
		case s == p.master || !ok:
		case st.role == "master" || st.master != p.master:
			if err := p.tell(s, "REPLICAOF", p.master, "6379"); err == nil {
				log.Printf("makes %s a replica of %s", s, p.master)
			}
		case st.lineage == p.lineage:
			following++
		}
	}
	if following == len(p.servers)-1 {
		p.mu.Lock()
		p.ready = true
		p.mu.Unlock()
	}
}

// failover makes a replica the master. No command is under way, and none goes to the old master any more.
func (p *proxy) failover() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.link != nil {
		p.link.drop()
		p.link = nil
	}
	others := slices.DeleteFunc(slices.Clone(p.servers), func(s string) bool { return s == p.master })
	found := p.ask(others)
	next := choose(others, found, p.lineage, p.first)
	if next == "" {
		return
	}
	if err := p.tell(next, "REPLICAOF", "NO", "ONE"); err != nil {
		log.Printf("cannot promote %s: %v", next, err)
		return
	}
	log.Printf("%s is gone, promotes %s at offset %d; %s", p.master, next, found[next].offset, offsets(others, found))
	p.master, p.heard = next, time.Now()
	// The new master begins a lineage of its own. Until it says which, there is none that a replica could be of.
	p.lineage = ""
	if err := p.keep(); err != nil {
		log.Fatalf("%s: %v", p.file, err)
	}
}

func offsets(names []string, found map[string]status) string {
	var list []string
	for _, n := range names {
		if s, ok := found[n]; ok {
			list = append(list, fmt.Sprintf("%s is at %d", n, s.offset))
		} else {
			list = append(list, n+" does not answer")
		}
	}
	return strings.Join(list, ", ")
}
