package fault

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// shapes counts the ways in which a rule's faults can lie on a target. A partition cuts a node off from everybody, or from servers
// alone (its clients still reach it, which is how stale reads and lost writes happen); other kinds lie on all its links.
// A one-way rule chooses the direction besides. A reset is seen by both ends of a connection, or by one; names that fail
// are answered SERVFAIL, or not at all.
func (r *Rule) shapes(t *Target) uint64 {
	row := &Table[r.Row]
	if t.Members != nil {
		return r.groupShapes(t)
	}
	n := uint64(1)
	if row.Parts && t.B == "" || row.Silence {
		n *= 2
	}
	switch {
	case row.Place != OnLink || t.OneWay:
	case r.OneWay:
		n *= 2
	case row.OneEnd:
		n *= 3
	}
	return n * row.amounts()
}

// aim says what an injection concerns, in one of the rule's shapes.
func (p *Plan) aim(a *Action, r *Rule, t *Target, shape uint64) {
	row := &Table[r.Row]
	if row.HasNode() {
		a.Node, a.Silent, a.Amount = t.A, row.Silence && shape == 1, r.amount(shape)
		return
	}
	if t.Members != nil {
		p.part(a, r, t, shape)
		return
	}
	a.Slow = r.Slow
	out, in := true, true
	switch {
	case t.OneWay:
		in = false
	case r.OneWay:
		out, in = shape%2 == 0, shape%2 == 1
		shape /= 2
	case row.OneEnd:
		out, in = shape != 2, shape != 1
		shape = 0
	}
	peers := []string{t.B}
	if t.B == "" {
		peers = append([]string(nil), p.Servers...)
		if shape == 0 {
			peers = append(peers, p.Clients...)
		}
	}
	for _, peer := range peers {
		if peer == t.A {
			continue
		}
		if out {
			a.Directions = append(a.Directions, Direction{t.A, peer})
		}
		if in {
			a.Directions = append(a.Directions, Direction{peer, t.A})
		}
	}
}

// amount is one of the amounts from the least to the most, both included.
func (r *Rule) amount(k uint64) int64 {
	row := &Table[r.Row]
	if row.Amount == nil {
		return 0
	}
	sign := int64(1)
	if row.Amount.Signed {
		if k%2 == 1 {
			sign = -1
		}
		k /= 2
	}
	return sign * (r.Least + (r.Most-r.Least)/(AmountSteps-1)*int64(k))
}

// Aims reports whether a rule may inject faults of a kind into a node.
func (p *Plan) Aims(k world.FaultKind, node string) bool {
	for i := range p.Rules {
		r := &p.Rules[i]
		inGroup := func(t Target) bool { return slices.Contains(t.Members, node) }
		if r.Kind == k && (r.touches(node, node) || slices.ContainsFunc(r.Targets, inGroup)) {
			return true
		}
	}
	return false
}
