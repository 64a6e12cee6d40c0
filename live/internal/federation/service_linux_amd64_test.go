package federation

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
	"github.com/bloodhound-dst/bloodhound/live/internal/attach"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp"
	"github.com/bloodhound-dst/bloodhound/live/internal/birdtest"
)

// command is a bloodhound-live of this checkout.
func command(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "bloodhound-live")
	if out, err := exec.Command("go", "build", "-o", program, "../../cmd/bloodhound-live").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// serviceOf starts a program that offers a router, until the test ends, and waits for its socket.
func serviceOf(t *testing.T, asn uint32, neighbours map[string]string, program string, args ...string) *Service {
	t.Helper()
	s := &Service{ASN: asn, Socket: filepath.Join(t.TempDir(), "s"), Neighbours: map[string]netip.Addr{}}
	for name, address := range neighbours {
		s.Neighbours[name] = netip.MustParseAddr(address)
	}
	process := exec.Command(program, args...)
	process.Env = append(os.Environ(), attach.SocketVariable+"="+s.Socket)
	var said bytes.Buffer
	process.Stdout, process.Stderr = &said, &said
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { process.Wait(); close(ended) }()
	t.Cleanup(func() {
		process.Process.Kill()
		<-ended
		if t.Failed() {
			t.Logf("%s: %s", program, said.String())
		}
	})
	for {
		if _, err := os.Stat(s.Socket); err == nil {
			return s
		}
		select {
		case <-ended:
			t.Fatalf("%s has ended: %s", program, said.String())
		case <-time.After(10 * time.Millisecond): // it starts
		}
	}
}

// A router in Go, and BIRD behind it: the hijack of a prefix goes two domains far, and the domain that it harms sees it alone.
func TestServiceAndBIRD(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program with another runtime")
	}
	program := filepath.Join(t.TempDir(), "router")
	if out, err := exec.Command(command(t), "build", "./testdata/router", "--std=false", "-o", program).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	service := serviceOf(t, asB, map[string]string{"a": "127.0.0.2", "bird": "127.0.0.3"}, program, fmt.Sprint(asB), "127.0.0.2", "127.0.0.3", "127.0.0.9")
	before := &birdtest.Neighbour{Address: "127.0.0.2", AS: asB, Import: "all", Export: "all"}
	victim := &birdtest.Neighbour{Address: "127.0.0.3", AS: asD, Import: "all", Export: "all"}
	bird := birdtest.StartIn(t, asC, "", 3, before, victim)
	victim.Send(t, victim.Update(t, nil, []netip.Prefix{netip.MustParsePrefix(part)}, 7, 8))
	before.Await(netip.MustParsePrefix(part))
	list := map[string]*model{
		"a":    {asn: asCustomer, imports: anything("go")},
		"go":   {asn: asB, imports: anything("a", "bird")}, // stands for its sessions
		"bird": {asn: asC, imports: anything("go")},
	}
	n := start(t, map[string]Router{"a": list["a"], "go": service,
		"bird": routerOf(t, bird, asC, map[string]*birdtest.Neighbour{"go": before})}, func(x, y string) bool { return list[x].imports[y] != nil })
	r := n.check("go", "a", announcement(part, asCustomer))
	expect(t, r, `a > go: accepted+best-changed
go > bird: accepted+best-changed+origin-conflict
bird > go: no effect
hijack at bird by a > go > bird, for 8 bits of other domains
`)
	expect(t, n.check("go", "a", announcement("192.0.2.0/24", asCustomer)), "a > go: accepted+origin-conflict\n")
	expect(t, n.check("go", "a", announcement("192.0.2.7/32", asCustomer)), `a > go: crashed
crash at go by a > go, for 0 bits of other domains
`)
	invalid := announcement("10.0.0.0/8", asCustomer)
	invalid[len(invalid)-2] = 33
	expect(t, n.check("go", "a", invalid), "a > go: session-closed\nreset at go by a > go, for 0 bits of other domains\n")
	asker := identity("a")
	o, err := AskOrigins(t.Context(), &asker, n.peers["go"])
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	for x, want := range map[Origin]bool{origin("192.0.2.0/24", asB): true, origin("192.0.2.0/24", asC): false} {
		if has, err := o.Has(t.Context(), x); err != nil || has != want {
			t.Errorf("%v: %v, %v", x, has, err)
		}
	}
	n.quiet()
}

// gobgpOf starts GoBGP with sessions with neighbours. Each opens one on its own, as in the network behind it.
func gobgpOf(t *testing.T, program string, asn uint32, filter string, neighbours map[string]*birdtest.Neighbour) *Service {
	t.Helper()
	address, port := birdtest.Own()
	var text strings.Builder
	fmt.Fprintf(&text, "[global.config]\n  as = %d\n  router-id = %q\n  port = %d\n  local-address-list = [%q]\n%s", asn, address, port, address, filter)
	at := map[string]string{}
	for _, name := range sortedKeys(neighbours) {
		fmt.Fprintf(&text, "[[neighbors]]\n  [neighbors.config]\n    neighbor-address = %q\n    peer-as = %d\n  "+
			"[neighbors.transport.config]\n    passive-mode = true\n", neighbours[name].Address, neighbours[name].AS)
		at[name] = neighbours[name].Address
	}
	file := filepath.Join(t.TempDir(), "gobgp.toml")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serviceOf(t, asn, at, program, "-config", file)
	for name, n := range neighbours {
		n.Dial(t, netip.AddrPortFrom(address, port))
		for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) { // the session comes up
			c, err := s.Checkpoint(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Deliver(t.Context(), name, birdtest.Message(4, nil))
			c.Close()
			if err == nil {
				break
			}
			if time.Now().After(end) {
				t.Fatal(err)
			}
		}
	}
	return s
}

// has waits until a router has a route.
func has(t *testing.T, r Router, prefix string) {
	t.Helper()
	p := netip.MustParsePrefix(prefix)
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) { // the route comes
		c, err := r.Checkpoint(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		routes, _, err := c.Routes(t.Context(), p)
		c.Close()
		if err != nil {
			t.Fatal(err)
		}
		if len(routes) > 0 && routes[0].Prefix == p {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("no route to %s: %v", prefix, routes)
		}
	}
}

// Five domains with routers of two makes: a customer announces what it had once to GoBGP, whose filter has a hole, as a check of
// its own table would not show; BIRD takes it from there, and a second GoBGP, where another customer has it now.
func TestGoBGPAndBIRD(t *testing.T) {
	if os.Getenv("BLOODHOUND_SOAK") == "" {
		t.Skip("builds GoBGP anew: BLOODHOUND_SOAK=1")
	}
	load, err := filepath.Abs("../../../examples/bgp/load")
	if err != nil {
		t.Fatal(err)
	}
	needs.Module(t, load)
	program := filepath.Join(t.TempDir(), "domain")
	build := exec.Command("./build.sh", program, "domain")
	build.Dir, build.Env = load, append(os.Environ(), "BLOODHOUND_LIVE="+command(t))
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	session := func(address string, as uint32) *birdtest.Neighbour {
		return &birdtest.Neighbour{Address: address, AS: as, Import: "all", Export: "all"}
	}
	customer, toB := session("127.0.0.2", asCustomer), session("127.0.0.3", asB)
	const hole = `[global.apply-policy.config]
  import-policy-list = ["in"]
  default-import-policy = "reject-route"
[[defined-sets.prefix-sets]]
  prefix-set-name = "block"
  [[defined-sets.prefix-sets.prefix-list]]
    ip-prefix = "198.51.100.0/22"
    masklength-range = "22..24"
[[policy-definitions]]
  name = "in"
  [[policy-definitions.statements]]
    name = "block"
  [policy-definitions.statements.conditions.match-prefix-set]
    prefix-set = "block"
  [policy-definitions.statements.actions]
    route-disposition = "accept-route"
`
	a := gobgpOf(t, program, asA, hole, map[string]*birdtest.Neighbour{"customer": customer, "b": toB})
	fromA, toC := session("127.0.0.2", asA), session("127.0.0.3", asC)
	bird := birdtest.StartIn(t, asB, "filter from_a { if net ~ [ 198.51.100.0/22+ ] then accept; reject; }", 3, fromA, toC)
	b := routerOf(t, bird, asB, map[string]*birdtest.Neighbour{"a": fromA, "c": toC})
	fromB, other := session("127.0.0.2", asB), session("127.0.0.3", asOther)
	c := gobgpOf(t, program, asC, "", map[string]*birdtest.Neighbour{"b": fromB, "other": other})
	other.Send(t, other.Update(t, nil, []netip.Prefix{netip.MustParsePrefix(part)}, 7, 8, 9))
	has(t, c, part)
	list := map[string]*model{
		"customer": {asn: asCustomer, imports: anything("a")},
		"a":        {imports: anything("customer", "b")}, // these stand for their sessions
		"b":        {imports: anything("a", "c")},
		"c":        {imports: anything("b", "other")},
		"other":    {asn: asOther, imports: anything("c"), table: []held{own(part)}},
	}
	routers := map[string]Router{"customer": list["customer"], "other": list["other"], "a": a, "b": b, "c": c}
	n := start(t, routers, func(x, y string) bool { return list[x].imports[y] != nil })
	r := n.check("a", "customer", announcement(part, asCustomer))
	expect(t, r, `customer > a: accepted+best-changed
a > b: accepted+best-changed
b > c: accepted+best-changed+origin-conflict
c > b: no effect
c > other: accepted+origin-conflict
hijack at c by customer > a > b > c, for 18 bits of other domains
`)
	if len(r.Bits) != 3 || r.Total() != 39 { // as for the same domains with routers of this test
		t.Errorf("%d bits: %v", r.Total(), r.Bits)
	}
	for name, bits := range r.Bits {
		if given := n.domains[name].Log.Given("a"); given.Bits != bits {
			t.Errorf("%s has given %d bits, and a has counted %d", name, given.Bits, bits)
		}
	}
	// What the filter does not let in goes nowhere.
	expect(t, n.check("a", "customer", announcement("198.51.102.0/25", asCustomer)), "customer > a: no effect\n")
	n.quiet()
	// Of what goes between the domains, messages have the prefixes under test alone, and nothing has a name of a policy or another prefix.
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, f := range n.frames {
		if f.asks {
			q, err := parseRequest(f.bytes)
			if err != nil {
				t.Fatal(err)
			}
			if q.Op == opDeliver || q.Op == opCarry {
				for _, m := range split(q.Body) {
					u, err := bgp.ParseMessage(m, bgp.AS4)
					if err != nil || !slices.ContainsFunc(touched(u),
						func(p netip.Prefix) bool { return p.String() == part || p.String() == "198.51.102.0/25" }) {
						t.Errorf("%s sends %s %+v, %v", f.from, f.to, u, err)
					}
				}
			}
		}
		for _, text := range []string{"block", "from_a", "198.51.100.0"} {
			if strings.Contains(string(f.bytes), text) {
				t.Errorf("%s > %s has %q", f.from, f.to, text)
			}
		}
	}
	t.Logf("%d frames, %d bits", len(n.frames), r.Total())
}
