// Kv is a key-value server of several tenants. Rules, in a file that it reads at its start, say which users may write which keys. It can be explored while it runs.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"log"
	"maps"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/bloodhound-dst/bloodhound/live"
)

// request is what a client asks for: SET USER KEY VALUE, or GET USER KEY.
type request struct {
	write bool
	user  uint32
	key   uint32
	value uint64
}

// rule lets users of a range write keys of a range. Others may write none.
type rule struct{ userFrom, userTo, keyFrom, keyTo uint32 }

// record is a value with the user who wrote it.
type record struct {
	by    uint32
	value uint64
}

// usersOfTenant is how many users a tenant has: those from 100 to 199 are one, and so on.
const usersOfTenant = 100

type server struct {
	lock  sync.Mutex
	rules []rule
	table map[uint32]record
}

// allows reports whether a rule lets a user write a key.
func (s *server) allows(user, key uint32) bool {
	for _, r := range s.rules {
		if user >= r.userFrom && user <= r.userTo && key >= r.keyFrom && key <= r.keyTo {
			return true
		}
	}
	return false
}

// handle does what a request asks for. The lock is held.
func (s *server) handle(r request) (answer string) {
	if !r.write {
		if old, had := s.table[r.key]; had {
			return strconv.FormatUint(old.value, 10)
		}
		return "none"
	}
	if !s.allows(r.user, r.key) {
		return "refused"
	}
	s.table[r.key] = record{r.user, r.value}
	return "ok"
}

func (s *server) serve(conn net.Conn) {
	defer conn.Close()
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		r, err := parse(lines.Text())
		if err != nil {
			fmt.Fprintln(conn, "error:", err)
			continue
		}
		s.lock.Lock()
		answer := s.handle(r)
		s.lock.Unlock()
		fmt.Fprintln(conn, answer)
	}
}

func parse(line string) (r request, err error) {
	switch words := strings.Fields(line); {
	case len(words) == 4 && words[0] == "SET":
		r.write = true
		_, err = fmt.Sscan(strings.Join(words[1:], " "), &r.user, &r.key, &r.value)
	case len(words) == 3 && words[0] == "GET":
		_, err = fmt.Sscan(strings.Join(words[1:], " "), &r.user, &r.key)
	default:
		err = fmt.Errorf("write SET USER KEY VALUE or GET USER KEY")
	}
	return r, err
}

// parseRules reads lines "USER-USER KEY-KEY".
func parseRules(text string) (rules []rule, err error) {
	for line := range strings.Lines(text) {
		var r rule
		if _, err := fmt.Sscanf(line, "%d-%d %d-%d", &r.userFrom, &r.userTo, &r.keyFrom, &r.keyTo); err != nil {
			return nil, fmt.Errorf("rule %q: %w; write USER-USER KEY-KEY", strings.TrimSpace(line), err)
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// set is the handler that is explored: any user writes any key, and no record may go to another tenant.
func (s *server) set() {
	r := request{write: true, user: 100, key: 1000, value: 1}
	live.Symbolic("user", &r.user)
	live.Symbolic("key", &r.key)
	before := maps.Clone(s.table)
	s.handle(r)
	for key, was := range before {
		is := s.table[key]
		live.Check(fmt.Sprintf("record %d stays with its tenant", key), is.by/usersOfTenant == was.by/usersOfTenant)
	}
}

func main() {
	listen := flag.String("listen", "127.0.0.1:7070", "address")
	file := flag.String("rules", "rules.txt", "who may write what")
	flag.Parse()
	s := &server{table: map[uint32]record{}}
	text, err := os.ReadFile(*file)
	if err == nil {
		s.rules, err = parseRules(string(text))
	}
	if err != nil {
		log.Fatal(err)
	}
	err = live.Serve(live.Service{
		Handlers: map[string]func(){"set": s.set},
		Hold:     func() func() { s.lock.Lock(); return s.lock.Unlock },
		Change: func(config []byte) (err error) {
			s.rules, err = parseRules(string(config))
			return err
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("kv listens at %s", l.Addr())
	for {
		conn, err := l.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go s.serve(conn)
	}
}
