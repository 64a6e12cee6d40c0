package federation

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/live/internal/birdtest"
)

// routerOf is a BIRD, whose neighbours are domains.
func routerOf(t testing.TB, bird *birdtest.BIRD, asn uint32, neighbours map[string]*birdtest.Neighbour) *BIRD {
	t.Helper()
	b := &BIRD{ASN: asn, PIDFile: filepath.Join(t.TempDir(), "pid"), Control: bird.Control, Neighbours: map[string]netip.Addr{}}
	if err := os.WriteFile(b.PIDFile, fmt.Appendln(nil, bird.PID), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, n := range neighbours {
		b.Neighbours[name] = netip.MustParseAddr(n.Address)
	}
	return b
}

// BIRD between two routers of this test: its filter has a hole, its table does not have what is taken over.
func TestBIRDAmongOthers(t *testing.T) {
	a := &birdtest.Neighbour{Address: "127.0.0.2", AS: asB, Import: "filter from_a", Export: "all"}
	c := &birdtest.Neighbour{Address: "127.0.0.3", AS: asC, Import: "all", Export: "all"}
	bird := birdtest.Start(t, "filter from_a { if net ~ [ 198.51.100.0/22{22,24} ] then accept; reject; }", 10, a, c)
	known := netip.MustParsePrefix("192.0.2.0/24")
	c.Send(t, c.Update(t, nil, []netip.Prefix{known}, asD))
	a.Await(known)
	before := bird.Table(t)
	list := map[string]*model{
		"a": {asn: asB, imports: anything("bird", "customer"), table: []held{learnt("bird", "192.0.2.0/24", birdtest.AS, asC, asD)}},
		"c": {asn: asC, imports: anything("bird"), table: []held{own("198.51.102.0/24"), learnt("d", "192.0.2.0/24", asD)},
			prefer: map[string]int{"bird": 1}},
		"customer": {asn: asCustomer, imports: anything("a")},
		"bird":     {asn: birdtest.AS, imports: anything("a", "c")}, // stands for its sessions
	}
	routers := map[string]Router{}
	for name, m := range list {
		routers[name] = m
	}
	routers["bird"] = routerOf(t, bird, birdtest.AS, map[string]*birdtest.Neighbour{"a": a, "c": c})
	notes := make(chan error, 10)
	n := start(t, routers, func(x, y string) bool { return list[x].imports[y] != nil }, func(d *Domain) {
		if d.Name == "bird" {
			d.Note = func(err error) { notes <- err }
		}
	})
	expect(t, n.check("a", "customer", announcement("198.51.102.0/24", asCustomer)), `customer > a: accepted+best-changed
a > bird: accepted+best-changed
bird > c: accepted+best-changed+origin-conflict
c > bird: no effect
hijack at c by customer > a > bird > c, for 17 bits of other domains
`)
	expect(t, n.check("a", "customer", announcement("198.51.102.0/25", asCustomer)), `customer > a: accepted+best-changed
a > bird: no effect
`)
	// What BIRD has of another origin it reports itself: its import policy takes all from c.
	expect(t, n.check("bird", "c", announcement("192.0.2.0/24", asC)), `c > bird: accepted+best-changed+origin-conflict
bird > a: accepted+best-changed+origin-conflict
a > customer: accepted+best-changed
hijack at bird by c > bird, for 0 bits of other domains
hijack at a by c > bird > a, for 9 bits of other domains
`)
	// A message that makes no sense costs the session with c, and BIRD withdraws c's route.
	invalid := announcement("10.0.0.0/8", asC)
	invalid[len(invalid)-2] = 33 // bits of a prefix
	expect(t, n.check("bird", "c", invalid), `c > bird: session-closed
bird > a: best-changed
a > customer: no effect
reset at bird by c > bird, for 0 bits of other domains
`)
	// Its origins, those of its static routes too.
	asker := identity("a")
	o, err := AskOrigins(t.Context(), &asker, n.peers["bird"])
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	for x, want := range map[Origin]bool{origin("192.0.2.0/24", asD): true, origin("192.0.2.0/24", asC): false, origin("16.0.3.0/24", birdtest.AS): true} {
		if has, err := o.Has(t.Context(), x); err != nil || has != want {
			t.Errorf("%v: %v, %v", x, has, err)
		}
	}
	if o.Size() != 11 {
		t.Errorf("%d origins", o.Size())
	}
	if after := bird.Table(t); after != before {
		t.Error("BIRD's table has changed")
	}
	// BIRD has lost its session with c.
	c.Close()
	for strings.Count(bird.Ask(t, "show protocols"), "Established") > 1 {
		time.Sleep(10 * time.Millisecond) // BIRD is about to notice
	}
	expect(t, n.check("a", "customer", announcement("198.51.102.0/24", asCustomer)), `customer > a: accepted+best-changed
a > bird: accepted+best-changed
`)
	id := identity("bird")
	_, err = (&Check{Self: &id, Domains: []*Peer{n.peers["bird"]}, Most: 9}).Run(t.Context(), "bird", "c", announcement("192.0.2.0/24", asC))
	noted := <-notes
	if err == nil || noted.Error() != "for bird: BIRD has no session with c" {
		t.Errorf("%v, %v", err, noted)
	}
	n.quiet()
}

// Nine domains in a row, of which three have BIRD.
func TestNineDomains(t *testing.T) {
	const first = asA
	name := func(i int) string { return fmt.Sprintf("d%d", i) }
	list := map[string]*model{}
	for i := 1; i <= 9; i++ {
		m := &model{asn: uint32(first + i - 1), imports: anything()}
		for _, beside := range []int{i - 1, i + 1} {
			if beside >= 1 && beside <= 9 {
				m.imports[name(beside)] = anything("x")["x"]
			}
		}
		list[name(i)] = m
	}
	list["d9"].table = []held{own("10.0.0.0/8")}
	routers := map[string]Router{}
	for i := 1; i <= 9; i++ {
		routers[name(i)] = list[name(i)]
		if i == 3 || i == 5 || i == 6 {
			as := uint16(first + i - 1)
			before := &birdtest.Neighbour{Address: "127.0.0.2", AS: uint32(as) - 1, Import: "all", Export: "all"}
			after := &birdtest.Neighbour{Address: "127.0.0.3", AS: uint32(as) + 1, Import: "all", Export: "all"}
			bird := birdtest.StartIn(t, as, "", 10, before, after)
			routers[name(i)] = routerOf(t, bird, uint32(as), map[string]*birdtest.Neighbour{name(i - 1): before, name(i + 1): after})
		}
	}
	n := start(t, routers, func(x, y string) bool { return list[x].imports[y] != nil })
	r := n.check("d2", "d1", announcement("10.1.0.0/16", first))
	const want = "hijack at d9 by d1 > d2 > d3 > d4 > d5 > d6 > d7 > d8 > d9, for 62 bits of other domains"
	if len(r.Findings) != 1 || r.Findings[0].String() != want || !r.Complete() {
		t.Error(story(r))
	}
	n.quiet()
}

// BenchmarkCheck measures a check through three domains, the middle one of which is BIRD with a full table of 2010.
func BenchmarkCheck(b *testing.B) {
	before := &birdtest.Neighbour{Address: "127.0.0.2", AS: asB, Import: "all", Export: "all"}
	after := &birdtest.Neighbour{Address: "127.0.0.3", AS: asC, Import: "all", Export: "where source = RTS_BGP"}
	bird := birdtest.Start(b, "", 319355, before, after)
	list := map[string]*model{
		"a":        {asn: asB, imports: anything("customer", "bird")},
		"bird":     {imports: anything("a", "c")},
		"c":        {asn: asC, imports: anything("bird"), table: []held{own("10.0.0.0/8")}},
		"customer": {asn: asCustomer, imports: anything("a")},
	}
	n := start(b, map[string]Router{"a": list["a"], "c": list["c"], "customer": list["customer"],
		"bird": routerOf(b, bird, birdtest.AS, map[string]*birdtest.Neighbour{"a": before, "c": after})},
		func(x, y string) bool { return list[x].imports[y] != nil })
	for b.Loop() {
		if r := n.check("a", "customer", announcement("10.1.0.0/16", asCustomer)); len(r.Findings) != 1 {
			b.Fatal(story(r))
		}
	}
}
