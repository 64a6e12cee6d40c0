package fault

import "slices"

// rollPatienceNs is how long a rule of the shape rolling waits for a node to be ready again before it goes on to the next one.
const rollPatienceNs = 30_000_000_000

// Roll is a rule on its way from node to node.
type Roll struct {
	Rule   int      // its place in Plan.Rules
	Target int      // its place among the rule's
	Like   Action   // each of its injections
	Now    string   // the node that was injected last
	Left   []string // the nodes that come after it
	BackNs int64    // when the node had been started again, 0 before
}

// beginRolling injects into the first node of a group. The draw says which one it is; the others follow in their order.
func (p *Plan) beginRolling(a Action, r *Rule, t int, first uint64, m *Moment) Action {
	members := r.Targets[t].Members
	order := slices.Concat(members[first:], members[:first])
	a.Group = r.Targets[t].Name
	number := slices.IndexFunc(p.Rules, func(o Rule) bool { return o.Number == r.Number })
	if number >= 0 { // else a person asked for it, and it ends with the first node
		p.Rolls = append(p.Rolls, Roll{Rule: number, Target: t, Like: a, Now: order[0], Left: order[1:]})
	}
	a.Target, a.Node = order[0], order[0]
	return p.beginAction(a, r, m)
}

// rolls reports whether a rule is on its way from node to node of a target.
func (p *Plan) rolls(r *Rule, t int) bool {
	return slices.ContainsFunc(p.Rolls, func(o Roll) bool { return o.Target == t && p.Rules[o.Rule].Number == r.Number })
}

// rollOn injects into the next nodes of the rules on their way whose last node is back.
func (p *Plan) rollOn(m *Moment) (started []Action) {
	left := p.Rolls[:0]
	for _, roll := range p.Rolls {
		r := &p.Rules[roll.Rule]
		row := &Table[r.Row]
		busy := p.busy(row, roll.Now)
		if !busy && roll.BackNs == 0 {
			roll.BackNs = m.NowNs
		}
		if busy || !roll.isBack(m) || p.busy(row, roll.Left[0]) {
			left = append(left, roll)
			continue
		}
		a := roll.Like
		roll.Now, roll.Left, roll.BackNs = roll.Left[0], roll.Left[1:], 0
		a.Target, a.Node = roll.Now, roll.Now
		started = append(started, p.beginAction(a, r, m))
		if len(roll.Left) > 0 {
			left = append(left, roll)
		}
	}
	p.Rolls = left
	return started
}

// isBack reports whether the last node of a roll is ready again, or has had enough time for that.
func (o *Roll) isBack(m *Moment) bool {
	if o.BackNs == 0 {
		return false
	}
	if m.Mains == nil || m.NowNs-o.BackNs >= rollPatienceNs {
		return true
	}
	_, ready := m.Mains.ReadyNs(o.Now)
	return ready
}
