package federation

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/live/birdtest"
)

// BIRD between two routers of this test: its filter has a hole, its table does not have what is taken over.
func TestBIRDAmongOthers(t *testing.T) {
	a := &birdtest.Neighbour{Address: "127.0.0.2", AS: asB, Import: "filter from_a", Export: "all"}
	c := &birdtest.Neighbour{Address: "127.0.0.3", AS: asC, Import: "all", Export: "all"}
	bird := birdtest.Start(t, "filter from_a { if net ~ [ 198.51.100.0/22{22,24} ] then accept; reject; }", 10, a, c)
	known := netip.MustParsePrefix("192.0.2.0/24")
	c.Send(t, c.Update(t, nil, []netip.Prefix{known}, asD))
	a.Await(known)
	pid := filepath.Join(t.TempDir(), "pid")
	if err := os.WriteFile(pid, fmt.Appendln(nil, bird.PID), 0o600); err != nil {
		t.Fatal(err)
	}
	before := bird.Ask(t, "show route all")
	list := map[string]*model{
		"a":        {asn: asB, imports: anything("bird", "customer"), table: []held{learnt("bird", "192.0.2.0/24", birdtest.AS, asC, asD)}},
		"c":        {asn: asC, imports: anything("bird"), table: []held{own("198.51.102.0/24"), learnt("d", "192.0.2.0/24", asD)}, prefer: map[string]int{"bird": 1}},
		"customer": {asn: asCustomer, imports: anything("a")},
		"bird":     {asn: birdtest.AS, imports: anything("a", "c")}, // stands for its sessions
	}
	routers := map[string]Router{}
	for name, m := range list {
		routers[name] = m
	}
	b := &BIRD{ASN: birdtest.AS, PIDFile: pid, Control: bird.Control, Neighbours: map[string]netip.Addr{"a": netip.MustParseAddr("127.0.0.2"), "c": netip.MustParseAddr("127.0.0.3")}}
	routers["bird"] = b
	n := start(t, routers, func(x, y string) bool { return list[x].imports[y] != nil }, func(d *Domain) {
		if d.Name == "bird" {
			d.ASN = birdtest.AS
		}
	})
	expect(t, n.check("a", "customer", announcement("198.51.102.0/24", asCustomer)), `customer > a: accepted+best-changed
a > bird: accepted+best-changed
bird > c: accepted+best-changed+origin-conflict
c > bird: no effect
hijack at c by customer > a > bird > c, for 15 bits of other domains
`)
	expect(t, n.check("a", "customer", announcement("198.51.102.0/25", asCustomer)), `customer > a: accepted+best-changed
a > bird: no effect
`)
	// What BIRD has of another origin it reports itself: its import policy takes all from c.
	expect(t, n.check("bird", "c", announcement("192.0.2.0/24", asC)), `c > bird: accepted+best-changed+origin-conflict
bird > a: accepted+best-changed+origin-conflict
a > customer: accepted+best-changed
hijack at bird by c > bird, for 0 bits of other domains
hijack at a by c > bird > a, for 8 bits of other domains
`)
	// Its origins, those of its static routes too.
	id := identity("a")
	o, err := AskOrigins(t.Context(), &id, n.peers["bird"])
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
	n.quiet()
	if after := bird.Ask(t, "show route all"); after != before {
		t.Error("BIRD's table has changed")
	}
}
