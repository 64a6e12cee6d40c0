// Package policy has import policies of BGP routers as data, which it evaluates, and writes for GoBGP and for BIRD 2.
package policy

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/live/internal/bgp"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/prefixset"
)

// Policy decides which routes of a neighbour a router accepts. The first statement whose conditions hold decides, and Accept if there is none.
type Policy struct {
	Name       string // of letters, digits and underscores, beginning with a letter
	Statements []Statement
	Accept     bool
}

// Statement accepts or rejects routes for which all its conditions hold. A condition that is nil holds for each route.
type Statement struct {
	Prefixes    []prefixset.Range // the prefix is in one of these
	Origins     []uint32          // the path has one of these origins; a path without an origin has none
	Communities []bgp.Community   // the route has one of these
	Accept      bool
}

// Accepts evaluates the policy for a route, as a router does.
func (p *Policy) Accepts(r bgp.Route) bool {
	for _, s := range p.Statements {
		if s.Prefixes != nil && !slices.ContainsFunc(s.Prefixes, func(x prefixset.Range) bool { return x.Contains(r.Prefix) }) {
			continue
		}
		if s.holds(r.Attributes) {
			return s.Accept
		}
	}
	return p.Accept
}

// holds reports whether the conditions hold that do not concern the prefix.
func (s *Statement) holds(a *bgp.Attributes) bool {
	if s.Origins != nil {
		asn, ok := a.Path.Origin()
		if !ok || !slices.Contains(s.Origins, asn) {
			return false
		}
	}
	return s.Communities == nil || slices.ContainsFunc(s.Communities, a.Has)
}

// Accepted is the set of all prefixes that the policy accepts with some attributes: Accepts for each prefix at once.
func (p *Policy) Accepted(a *bgp.Attributes) prefixset.Set {
	var accepted prefixset.Set
	undecided := prefixset.All()
	for _, s := range p.Statements {
		if !s.holds(a) {
			continue
		}
		decided := undecided
		if s.Prefixes != nil {
			decided = undecided.Intersect(prefixset.FromRanges(s.Prefixes...))
		}
		if s.Accept {
			accepted = accepted.Union(decided)
		}
		undecided = undecided.Minus(decided)
	}
	if p.Accept {
		accepted = accepted.Union(undecided)
	}
	return accepted
}
