package leak

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/splitmix"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/policy"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/prefixset"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/table"
)

func route(prefix string, path ...uint32) bgp.Route {
	return bgp.Route{Prefix: netip.MustParsePrefix(prefix), Attributes: &bgp.Attributes{Path: bgp.Sequence(path...)}}
}

// AS 17557 announced a prefix of AS 36561 in February 2008, which its provider took since it did not filter.
func TestYouTube(t *testing.T) {
	o := Table([]bgp.Route{route("208.65.152.0/22", 1, 36561), route("203.81.224.0/19", 1, 17557), route("192.88.99.0/24", 1, 2)})
	pakistan := &bgp.Attributes{Path: bgp.Sequence(17557)}
	none := prefixset.Set{}
	anycast := prefixset.FromRanges(prefixset.Exactly(netip.MustParsePrefix("192.88.99.0/24")))
	to24 := prefixset.Range{Prefix: netip.MustParsePrefix("0.0.0.0/0"), Min: 8, Max: 24}
	own := prefixset.Range{Prefix: netip.MustParsePrefix("203.81.224.0/19"), Min: 19, Max: 24}
	for _, c := range []struct {
		name     string
		accepted prefixset.Range
		excepted prefixset.Set
		want     string
	}{
		{"no filter", to24, none, "192.88.99.0/24, 208.65.152.0/22 le 24"},
		{"no filter, anycast", to24, anycast, "208.65.152.0/22 le 24"},
		{"a filter of its own prefixes", own, none, ""},
		{"a filter that is too wide", prefixset.Range{Prefix: netip.MustParsePrefix("208.65.153.0/24"), Min: 24, Max: 25}, none, "208.65.153.0/24 le 25"},
	} {
		p := &policy.Policy{Name: "in", Statements: []policy.Statement{{Prefixes: []prefixset.Range{c.accepted}, Accept: true}}}
		if got := o.Leaks(p, pakistan, c.excepted).String(); got != c.want {
			t.Errorf("%s: %s, not %s", c.name, got, c.want)
		}
	}
}

func TestWhatChangesAnOrigin(t *testing.T) {
	set := bgp.Route{Prefix: netip.MustParsePrefix("30.0.0.0/16"), Attributes: &bgp.Attributes{Path: bgp.Path{{Set: true, ASNs: []uint32{5}}}}}
	o := Table([]bgp.Route{route("10.0.0.0/8", 1, 5), route("10.1.0.0/16", 1, 6), route("10.1.0.0/16", 1, 7), set})
	for _, c := range []struct {
		prefix string
		origin uint32
		want   bool
	}{
		{"10.0.0.0/8", 5, false}, {"10.0.0.0/8", 6, true}, {"10.2.0.0/16", 6, true}, {"10.2.0.0/16", 5, false},
		{"10.1.0.0/16", 5, true}, {"10.1.0.0/16", 6, false}, {"10.1.1.0/24", 7, false}, {"10.0.0.0/15", 6, true}, {"10.0.0.0/15", 5, false},
		{"8.0.0.0/6", 9, false}, {"11.0.0.0/8", 9, false}, {"30.0.1.0/24", 5, true},
	} {
		p := netip.MustParsePrefix(c.prefix)
		if got := o.Changes(p, bgp.Sequence(c.origin)); got != c.want || o.Reach(bgp.Sequence(c.origin)).Contains(p) != c.want {
			t.Errorf("%s of AS%d: %t", c.prefix, c.origin, got)
		}
	}
	if !o.Changes(netip.MustParsePrefix("10.0.0.0/8"), nil) {
		t.Error("a route without an origin leaves the prefix where it was")
	}
}

// Random tables in a /20, random policies: the exact sets are those of brute force.
func TestLeaksAreThoseOfBruteForce(t *testing.T) {
	state := uint64(7)
	below := func(n int) int {
		state += splitmix.Gamma
		return int(splitmix.Mix(state) % uint64(n))
	}
	prefix := func(longest int) netip.Prefix {
		bits := 18 + below(longest-17)
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{223, 255, byte(240 + below(16)), byte(below(256))}), bits).Masked()
	}
	ranges := func(n int) (list []prefixset.Range) {
		for range n {
			p := prefix(24)
			low := p.Bits() + below(27-p.Bits())
			list = append(list, prefixset.Range{Prefix: p, Min: low, Max: low + below(27-low)})
		}
		return list
	}
	leaks := uint64(0)
	for round := range 150 {
		var routes []bgp.Route
		for range below(40) {
			p := prefix(26)
			routes = append(routes, bgp.Route{Prefix: p, Attributes: &bgp.Attributes{Path: bgp.Sequence(1, uint32(2+below(4)))}})
		}
		o := Table(routes)
		p := &policy.Policy{Name: "in", Accept: below(2) == 0}
		for range 1 + below(3) {
			p.Statements = append(p.Statements, policy.Statement{Prefixes: ranges(1 + below(3)), Accept: below(2) == 0})
		}
		// What is longer than the brute force looks at is rejected.
		p.Statements = append([]policy.Statement{{Prefixes: []prefixset.Range{{Prefix: netip.MustParsePrefix("0.0.0.0/0"),
			Min: 27, Max: 32}}}}, p.Statements...)
		a := &bgp.Attributes{Path: bgp.Sequence(uint32(2 + below(5)))}
		excepted := prefixset.FromRanges(ranges(below(3))...)
		got, want := o.Leaks(p, a, excepted), o.Enumerate(p, a, excepted, 26)
		if !got.Equal(want) {
			t.Fatalf("round %d: %v, not %v", round, got, want)
		}
		leaks += want.Len()
	}
	if leaks < 10_000 {
		t.Errorf("%d leaks in all: the tables are no test", leaks)
	}
}

// The provider's filter is missing, wrong in three ways, and right.
func TestScenarios(t *testing.T) {
	made, err := table.Generate(3000, 1)
	if err != nil {
		t.Fatal(err)
	}
	s, err := policy.NewScenario(made.Routes)
	if err != nil {
		t.Fatal(err)
	}
	o := Table(made.Routes)
	for _, f := range policy.Filters {
		p := s.Import(f)
		got := o.Leaks(p, s.Announcement(), prefixset.Set{})
		if got.Empty() != (f == policy.Right) {
			t.Errorf("%s: %d leaks", f, got.Len())
		}
		if c := Compare(got, o.Enumerate(p, s.Announcement(), prefixset.Set{}, 24)); c.Recall() != 1 || !c.FalseAlarms.Empty() {
			t.Errorf("%s: missed %.300v, false alarms %.300v", f, c.Missed, c.FalseAlarms)
		}
		t.Logf("%s: %d prefixes, %.300v", f, got.Len(), got)
	}
}

func TestComparison(t *testing.T) {
	r := func(text string, low, high int) prefixset.Set {
		return prefixset.FromRanges(prefixset.Range{Prefix: netip.MustParsePrefix(text), Min: low, Max: high})
	}
	c := Compare(r("10.0.0.0/8", 9, 10), r("10.0.0.0/8", 8, 9))
	if fmt.Sprint(c.Leaks, c.Found, c.Missed, c.FalseAlarms, c.Recall()) != "3 2 10.0.0.0/8 10.0.0.0/8 ge 10 le 10 0.6666666666666666" {
		t.Errorf("%v", c)
	}
	if Compare(prefixset.Set{}, prefixset.Set{}).Recall() != 1 {
		t.Error("nothing of nothing was found")
	}
}
