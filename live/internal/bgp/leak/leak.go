// Package leak is the oracle of import policies: which prefixes a neighbour could take over from the ASes that originate them, exactly. It follows
// Canini et al., "Toward Online Testing of Federated and Heterogeneous Distributed Systems" (USENIX ATC 2011): an accepted route that
// changes the origin of a prefix in the table is a potential hijack, unless the prefix is known to have several origins.
package leak

import (
	"cmp"
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/bloodhound-dst/bloodhound/live/internal/bgp"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/policy"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/prefixset"
)

var be = binary.BigEndian

// Origins are the prefixes of a table and who originates them.
type Origins struct {
	prefixes []netip.Prefix // in order of address and length
	of       map[netip.Prefix][]uint32
}

// Table collects the origins of routes. A route whose path has no origin, such as an aggregate, keeps its prefix in the table with an origin that
// no route has: whoever announces that prefix changes it.
func Table(routes []bgp.Route) *Origins {
	o := &Origins{of: make(map[netip.Prefix][]uint32, len(routes))}
	for _, r := range routes {
		list, known := o.of[r.Prefix]
		if !known {
			o.prefixes = append(o.prefixes, r.Prefix)
		}
		if asn, ok := r.Attributes.Path.Origin(); ok && !slices.Contains(list, asn) {
			list = append(list, asn)
		}
		o.of[r.Prefix] = list
	}
	slices.SortFunc(o.prefixes, func(a, b netip.Prefix) int {
		return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
	})
	return o
}

// Prefixes returns the prefixes of the table, in order of address and length.
func (o *Origins) Prefixes() []netip.Prefix { return o.prefixes }

// Changes reports whether a route with a prefix and an origin changes where packets go: the table has the prefix, or one that it lies in, and the
// longest of these has other origins. A less specific prefix takes nothing over. Routes without an origin change what they reach.
func (o *Origins) Changes(p netip.Prefix, path bgp.Path) bool {
	for length := p.Bits(); length >= 0; length-- {
		outer, _ := p.Addr().Prefix(length)
		if list, ok := o.of[outer]; ok {
			return !among(list, path)
		}
	}
	return false
}

func among(list []uint32, path bgp.Path) bool {
	asn, ok := path.Origin()
	return ok && slices.Contains(list, asn)
}

// Reach is the set of all prefixes for which Changes holds.
func (o *Origins) Reach(path bgp.Path) prefixset.Set {
	var b prefixset.Builder
	for length := range prefixset.Lengths {
		o.sweep(length, path, &b)
	}
	return b.Set()
}

// open is a prefix that the sweep is in.
type open struct {
	last  uint32
	other bool // its origins are other ones
}

// sweep goes through the addresses once, and adds the prefixes of one length. Prefixes of the table that are longer do not count: they
// stay with whom they have.
func (o *Origins) sweep(length int, path bgp.Path, b *prefixset.Builder) {
	var stack []open
	next := uint64(0)
	// to adds the block from next up to an address, which belongs to the innermost open prefix.
	to := func(end uint64) {
		if n := len(stack); n > 0 && stack[n-1].other && next < end {
			b.Add(length, uint32(next), uint32(end-1))
		}
		next = max(next, end)
	}
	for _, p := range o.prefixes {
		if p.Bits() > length {
			continue
		}
		a := p.Addr().As4()
		first := be.Uint32(a[:])
		for len(stack) > 0 && stack[len(stack)-1].last < first {
			to(uint64(stack[len(stack)-1].last) + 1)
			stack = stack[:len(stack)-1]
		}
		to(uint64(first))
		next = uint64(first)
		stack = append(stack, open{first | uint32(1<<(32-p.Bits())-1), !among(o.of[p], path)})
	}
	for len(stack) > 0 {
		to(uint64(stack[len(stack)-1].last) + 1)
		stack = stack[:len(stack)-1]
	}
}

// Leaks are the prefixes that a policy accepts with some attributes, and that change an origin, but for excepted ones such as those of anycast services.
func (o *Origins) Leaks(p *policy.Policy, a *bgp.Attributes, excepted prefixset.Set) prefixset.Set {
	return p.Accepted(a).Intersect(o.Reach(a.Path)).Minus(excepted)
}

// Enumerate is Leaks by brute force, its slow twin: it evaluates the policy for each prefix of the table and for each more specific one up to a length.
func (o *Origins) Enumerate(p *policy.Policy, a *bgp.Attributes, excepted prefixset.Set, longest int) prefixset.Set {
	var ranges []prefixset.Range
	done := map[netip.Prefix]bool{}
	for _, outer := range o.prefixes {
		if outer.Bits() > longest {
			continue
		}
		for _, inner := range below(outer, longest) {
			if done[inner] {
				continue
			}
			done[inner] = true
			if p.Accepts(bgp.Route{Prefix: inner, Attributes: a}) && o.Changes(inner, a.Path) && !excepted.Contains(inner) {
				ranges = append(ranges, prefixset.Exactly(inner))
			}
		}
	}
	return prefixset.FromRanges(ranges...)
}

// below are a prefix and all that lie in it, up to a length.
func below(p netip.Prefix, longest int) []netip.Prefix {
	list := []netip.Prefix{p}
	for i := 0; i < len(list); i++ {
		if inner := list[i]; inner.Bits() < longest {
			a := inner.Addr().As4()
			half := netip.PrefixFrom(inner.Addr(), inner.Bits()+1)
			bit := 31 - inner.Bits()
			be.PutUint32(a[:], be.Uint32(a[:])|1<<bit)
			list = append(list, half, netip.PrefixFrom(netip.AddrFrom4(a), inner.Bits()+1))
		}
	}
	return list
}

// Comparison is how what an explorer has found compares with what there is, in prefixes.
type Comparison struct {
	Leaks       uint64 // there are
	Found       uint64 // of these
	Missed      prefixset.Set
	FalseAlarms prefixset.Set
}

// Compare compares.
func Compare(found, leaks prefixset.Set) Comparison {
	return Comparison{leaks.Len(), found.Intersect(leaks).Len(), leaks.Minus(found), found.Minus(leaks)}
}

// Recall is the share of leaks that were found: 1 if there are none.
func (c Comparison) Recall() float64 {
	if c.Leaks == 0 {
		return 1
	}
	return float64(c.Found) / float64(c.Leaks)
}
