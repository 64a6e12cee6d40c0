package federation

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/prefixset"
)

// internet is some domains that answer on loopback, and all that goes between them.
type internet struct {
	t       testing.TB
	domains map[string]*Domain
	peers   map[string]*Peer // as their addresses and keys are

	mu     sync.Mutex
	frames []frame
}

type frame struct {
	from, to string
	asks     bool
	bytes    []byte
}

func (n *internet) tap(from, to string, asks bool, b []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.frames = append(n.frames, frame{from, to, asks, b})
}

// identity is a domain's, with a key that is made of its name.
func identity(name string) Identity {
	var seed [ed25519.SeedSize]byte
	copy(seed[:], name)
	return Identity{name, ed25519.NewKeyFromSeed(seed[:])}
}

// roomy is a budget that no test uses up.
var roomy = Budget{Total: 100_000, PerMinute: 100_000}

// start serves domains until the test ends. All know each other.
func start(t testing.TB, routers map[string]Router, neighbours func(a, b string) bool, prepare ...func(*Domain)) *internet {
	t.Helper()
	n := &internet{t: t, domains: map[string]*Domain{}, peers: map[string]*Peer{}}
	listeners := map[string]net.Listener{}
	for name := range routers {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		id := identity(name)
		listeners[name] = l
		n.peers[name] = &Peer{Name: name, Key: id.Public(), Address: l.Addr().String()}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var serving sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		serving.Wait()
	})
	for _, name := range sortedKeys(routers) {
		var peers []*Peer
		for _, other := range sortedKeys(routers) {
			if other != name {
				p := *n.peers[other]
				p.Neighbour, p.Prefixes, p.Budget = neighbours(name, other), prefixset.All(), roomy
				peers = append(peers, &p)
			}
		}
		log, err := OpenLog(filepath.Join(t.TempDir(), "verdicts.log"), identity(name))
		if err != nil {
			t.Fatal(err)
		}
		asn := uint32(0)
		switch r := routers[name].(type) {
		case *model:
			asn = r.asn
		case *BIRD:
			asn = r.ASN
		case *Service:
			asn = r.ASN
		}
		d, err := NewDomain(identity(name), asn, routers[name], peers, log)
		if err != nil {
			t.Fatal(err)
		}
		d.tap = n.tap
		n.domains[name] = d
		for _, p := range prepare {
			p(d)
		}
		serving.Go(func() {
			if err := d.Serve(ctx, listeners[name]); err != nil {
				t.Error(err)
			}
			d.Close()
			log.Close()
		})
	}
	return n
}

// models are routers of this test, whose neighbours are those that they have policies for.
func models(t testing.TB, list map[string]*model, prepare ...func(*Domain)) *internet {
	t.Helper()
	routers := map[string]Router{}
	for name, m := range list {
		routers[name] = m
	}
	return start(t, routers, func(a, b string) bool { return list[a].imports[b] != nil }, prepare...)
}

func sortedKeys[V any](m map[string]V) (list []string) {
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

// check has a domain follow a message of a neighbour of its own.
func (n *internet) check(by, from string, message []byte) *Result {
	n.t.Helper()
	id := identity(by)
	c := &Check{Self: &id, Most: 60}
	for _, name := range sortedKeys(n.peers) {
		c.Domains = append(c.Domains, n.peers[name])
	}
	r, err := c.run(n.t.Context(), by, from, message, n.tap)
	if err != nil {
		n.t.Fatal(err)
	}
	return r
}

// story is a result as text.
func story(r *Result) string {
	var b strings.Builder
	for _, d := range r.Deliveries {
		fmt.Fprintf(&b, "%s > %s: %s\n", d.From, d.Domain, d.Verdict)
	}
	for _, f := range r.Findings {
		fmt.Fprintln(&b, f)
	}
	for _, u := range r.Unfollowed {
		fmt.Fprintln(&b, "unfollowed", u)
	}
	if r.Left > 0 {
		fmt.Fprintln(&b, "messages are left")
	}
	return b.String()
}

// expect compares a result with a text.
func expect(t testing.TB, r *Result, want string) {
	t.Helper()
	if got := story(r); got != want {
		t.Errorf("the check is\n%sand not\n%s", got, want)
	}
}

// A session ends at each domain when the check has ended.
func (n *internet) quiet() {
	n.t.Helper()
	for name, d := range n.domains {
		if s := d.find(func(*session) bool { return true }); s != nil {
			n.t.Errorf("%s has a session after the check", name)
		}
	}
}

// A route with another origin goes two domains far; the domain that it harms sees it alone.
func TestLine(t *testing.T) {
	n := models(t, map[string]*model{
		"a":        {asn: 65001, imports: anything("customer", "b")},
		"b":        {asn: 65002, imports: anything("a", "c")},
		"c":        {asn: 65003, imports: anything("b"), table: []held{own("10.0.0.0/8")}},
		"customer": {asn: 65010, imports: anything("a")},
	})
	r := n.check("a", "customer", announcement("10.1.0.0/16", 65010))
	expect(t, r, `customer > a: accepted+best-changed
a > b: accepted+best-changed
b > c: accepted+best-changed+origin-conflict
hijack at c by customer > a > b > c, for 17 bits of other domains
`)
	n.quiet()
}
