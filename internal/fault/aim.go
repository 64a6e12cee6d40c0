package fault

// shapes counts the ways in which a rule can strike a target. A partition cuts a node off from everybody, or from servers
// alone (its clients still reach it, which is how stale reads and lost writes happen); other kinds strike all its links.
// A one-way rule chooses the direction besides. A reset is seen by both ends of a connection, or by one; names that fail
// are answered SERVFAIL, or not at all.
func (r *Rule) shapes(t *Target) uint64 {
	if t.Members != nil {
		return r.groupShapes(t)
	}
	n := uint64(1)
	if r.Kind == Partition && t.B == "" || r.Kind == DNSFail {
		n *= 2
	}
	switch {
	case !OnLinks(r.Kind) || t.OneWay:
	case r.OneWay:
		n *= 2
	case r.Kind == Reset:
		n *= 3
	}
	return n * r.amounts()
}

// aim says what a strike concerns, in one of the rule's shapes.
func (p *Plan) aim(a *Action, r *Rule, t *Target, shape uint64) {
	if OnNode(r.Kind) {
		a.Node, a.Silent, a.Amount = t.A, shape == 1, r.amount(shape)
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
	case r.Kind == Reset:
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
			a.Cuts = append(a.Cuts, Cut{t.A, peer})
		}
		if in {
			a.Cuts = append(a.Cuts, Cut{peer, t.A})
		}
	}
}

// Strikes tells whether a rule may strike a node with a kind.
func (p *Plan) Strikes(k Kind, node string) bool {
	for i := range p.Rules {
		if p.Rules[i].Kind == k && p.Rules[i].touches(node, node) {
			return true
		}
	}
	return false
}
