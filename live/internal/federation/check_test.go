package federation

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/live/internal/bgp"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/leak"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/policy"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/prefixset"
)

// Numbers of ASes in tests.
const (
	asA, asB, asC, asD  = 65001, 65002, 65003, 65004
	asCustomer, asOther = 65010, 65020
)

func community(asn uint16) bgp.Community { return bgp.Community(uint32(asn)<<16 | 100) }

func ranges(text string, most int) prefixset.Range {
	return prefixset.Range{Prefix: netip.MustParsePrefix(text), Max: most}
}

// hijackable is a customer, its provider a, a transit b, and c, whose customer "other" has got a part of the customer's old
// block. The filter of a has a hole: it takes all of the block up to a length. Neither b nor c filters what the one before it has
// checked, which a tag shows. In the tables of a and b is nothing of the part.
func hijackable(most int) map[string]*model {
	checked := func(asn uint16, by uint32, prefixes ...prefixset.Range) *policy.Policy {
		return &policy.Policy{Name: "checked_customers", Statements: []policy.Statement{
			{Communities: []bgp.Community{community(asn)}, Accept: true},
			{Prefixes: prefixes, Origins: []uint32{by}, Accept: true},
		}}
	}
	anything := &policy.Policy{Name: "anything", Accept: true}
	return map[string]*model{
		"customer": {asn: asCustomer, imports: map[string]*policy.Policy{"a": anything}, table: []held{own("198.51.100.0/22")}},
		"a": {asn: asA, table: []held{own("192.0.2.0/24"), learnt("customer", "198.51.100.0/22", asCustomer), learnt("b", "0.0.0.0/0", asB)},
			imports: map[string]*policy.Policy{"b": anything, "customer": {Name: "customer_block", Statements: []policy.Statement{
				{Prefixes: []prefixset.Range{ranges("198.51.100.0/22", most)}, Origins: []uint32{asCustomer}, Accept: true}}}},
			tags: map[string][]bgp.Community{"customer": {community(asA)}}},
		"b": {asn: asB, table: []held{own("203.0.113.0/24"), learnt("a", "192.0.2.0/24", asA), learnt("c", "0.0.0.0/0", asC)},
			imports: map[string]*policy.Policy{"a": checked(asA, asA, ranges("192.0.2.0/24", 24)), "c": anything},
			tags:    map[string][]bgp.Community{"a": {community(asB)}}},
		"c": {asn: asC, prefer: map[string]int{"b": 1},
			table: []held{own("0.0.0.0/0"), learnt("b", "203.0.113.0/24", asB), learnt("other", "198.51.102.0/24", asOther),
				learnt("b", "198.51.100.0/22", asB, asA, asCustomer)},
			imports: map[string]*policy.Policy{"b": checked(asB, asB, ranges("203.0.113.0/24", 24)), "other": {Name: "other_in", Statements: []policy.Statement{
				{Prefixes: []prefixset.Range{ranges("198.51.102.0/24", 24)}, Origins: []uint32{asOther}, Accept: true}}}}},
		"other": {asn: asOther, imports: map[string]*policy.Policy{"c": anything}, table: []held{own("198.51.102.0/24")}},
	}
}

const part = "198.51.102.0/24" // of the customer's old block

// A hijack that crosses two domains is found by the check of the first one, and by no domain alone: neither exactly, for all
// prefixes that a neighbour could announce as its own, nor by a message of a neighbour to a copy.
func TestHijackAcrossTwoDomains(t *testing.T) {
	routers := hijackable(24)
	n := models(t, routers)
	for name, m := range routers {
		var table []bgp.Route
		for _, r := range m.table {
			route := r.Route
			if r.from == "" {
				route.Attributes = &bgp.Attributes{Path: bgp.Sequence(m.asn)}
			}
			if r.Prefix.Bits() > 0 {
				table = append(table, route)
			}
		}
		for neighbour, imports := range m.imports {
			a := &bgp.Attributes{Path: bgp.Sequence(routers[neighbour].asn)}
			if leaks := leak.Table(table).Leaks(imports, a, prefixset.Set{}); imports.Name != "anything" && !leaks.Empty() {
				t.Errorf("%s itself would find that %s can take over %s", name, neighbour, leaks)
			}
			if imports.Name == "anything" { // its own provider, whose routes are not checked
				continue
			}
			id := identity(name)
			r, err := (&Check{Self: &id, Domains: []*Peer{n.peers[name]}, Most: 1}).Run(t.Context(), name, neighbour,
				announcementOf(netip.MustParsePrefix(part), a))
			if err != nil || r.Deliveries[0].Verdict&Conflict != 0 || len(r.Findings) > 0 {
				t.Errorf("%s alone, from %s: %v, %+v", name, neighbour, err, r)
			}
		}
	}
	r := n.check("a", "customer", announcement(part, asCustomer))
	expect(t, r, `customer > a: accepted+best-changed
a > b: accepted+best-changed
b > c: accepted+best-changed+origin-conflict
c > b: no effect
c > other: accepted+origin-conflict
hijack at c by customer > a > b > c, for 18 bits of other domains
`)
	n.quiet()

	// What others disclosed is what their logs have.
	if r.Total() != 39 || len(r.Bits) != 3 { // two verdicts of b and one of c of 9 bits, one of 8, and where b and c send packets
		t.Errorf("%d bits: %v", r.Total(), r.Bits)
	}
	if len(r.Received) != 6 {
		t.Errorf("%+v", r.Received)
	}
	for name, bits := range r.Bits {
		if given := n.domains[name].Log.Given("a"); given.Bits != bits {
			t.Errorf("%s has given %d bits, and a has counted %d", name, given.Bits, bits)
		}
	}
}

// With the right filter there is nothing to find, and the check has seen all.
func TestRightFilter(t *testing.T) {
	n := models(t, hijackable(22))
	r := n.check("a", "customer", announcement(part, asCustomer))
	expect(t, r, "customer > a: no effect\n")
	if !r.Complete() || r.Total() != 0 {
		t.Errorf("%+v", r)
	}
	// The block itself is the customer's, also two domains away.
	r = n.check("a", "customer", announcement("198.51.100.0/22", asCustomer, asCustomer))
	expect(t, r, `customer > a: accepted+best-changed
a > b: accepted+best-changed
b > c: accepted+best-changed
c > other: accepted+best-changed
`)
}

// Three domains that each prefer the way by the next one (Griffin, Shepherd and Wilfong's BAD GADGET) come to no rest.
func TestOscillation(t *testing.T) {
	const prefix = "10.0.0.0/8"
	gadget := func(asn uint32, next, before string, table ...held) *model {
		m := &model{asn: asn, imports: anything(next, "d"), prefer: map[string]int{next: 1}, most: map[string]int{next: 2}, table: table}
		m.imports[before] = nothing(before)[before]
		return m
	}
	n := models(t, map[string]*model{
		"a": gadget(asA, "b", "c"),
		"b": gadget(asB, "c", "a", learnt("c", prefix, asC, asD), learnt("d", prefix, asD)),
		"c": gadget(asC, "a", "b", learnt("d", prefix, asD)),
		"d": {asn: asD, imports: nothing("a", "b", "c"), table: []held{own(prefix)}},
	})
	r := n.check("a", "d", announcement(prefix, asD))
	at := map[string]bool{}
	for _, f := range r.Findings {
		if f.Kind != Oscillation {
			t.Error(f)
		}
		at[f.Domain] = true
	}
	if len(at) != 3 || at["d"] || r.Complete() {
		t.Errorf("it is found at %v\n%s", at, story(r))
	}
	n.quiet()
}

// A domain that hides where its routes have been makes a circle of packets.
func TestLoop(t *testing.T) {
	n := models(t, map[string]*model{
		"a":        {asn: asA, imports: anything("customer", "b", "c"), prefer: map[string]int{"c": 1}},
		"b":        {asn: asB, imports: map[string]*policy.Policy{"a": anything("a")["a"], "c": nothing("c")["c"]}, strip: true},
		"c":        {asn: asC, imports: anything("a", "b"), prefer: map[string]int{"b": 1}},
		"customer": {asn: asCustomer, imports: nothing("a")},
	})
	r := n.check("a", "customer", announcement("10.0.0.0/8", asCustomer))
	var found []string
	for _, f := range r.Findings {
		found = append(found, string(f.Kind)+" "+f.Domain+" "+strings.Join(f.Way, " > "))
	}
	if got := strings.Join(found, "; "); !strings.Contains(got, "loop a ") || !strings.Contains(got, "a > c > b > a") {
		t.Errorf("%s\n%s", got, story(r))
	}
}

// A copy that ends is a finding, and what it would have sent is not followed.
func TestCrash(t *testing.T) {
	n := models(t, map[string]*model{
		"a": {asn: asA, imports: anything("customer", "b")},
		"b": {asn: asB, imports: anything("a", "c"), crash: func(u *bgp.Update) bool { return len(u.Announced) > 0 && u.Attributes.Path.Len() == 2 }},
		"c": {asn: asC, imports: anything("b")},
	})
	n.domains["a"].Peers = append(n.domains["a"].Peers, &Peer{Name: "customer", Key: identity("customer").Public(), Neighbour: true})
	r := n.check("a", "customer", announcement("10.0.0.0/8", asCustomer))
	expect(t, r, `customer > a: accepted+best-changed
a > b: crashed
crash at b by customer > a > b, for 9 bits of other domains
`)
}
