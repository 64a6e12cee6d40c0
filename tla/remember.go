package tla

import (
	"github.com/bloodhound-dst/bloodhound/tla/syntax"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// remembered is the value of a definition in the state that was numbered at.
type remembered struct {
	at   uint64
	v    value.Value
	read uint64 // for it
}

// moment numbers what a machine holds: the present state and the next one, each with a number of its own as long as it does not change. 0 is for one that
// is being made: nothing is remembered of it.
type moment struct{ cur, nxt uint64 }

// begins numbers the present state anew. The next one is being made.
func (m *machine) begins() {
	m.clock++
	m.moment = moment{cur: m.clock}
}

// scene is what a machine evaluates in.
type scene struct {
	cur, nxt []value.Value
	changed  uint64
	moment   moment
}

// enter has a machine evaluate in a state, or in the step to next if there is one, until it leaves.
func (m *machine) enter(s, next State) (before scene) {
	before = scene{m.cur, m.nxt, m.changed, m.moment}
	m.begins()
	m.cur, m.nxt, m.changed = s, next, 0
	if next != nil {
		m.clock++
		m.moment.nxt = m.clock
	}
	return before
}

func (m *machine) leave(before scene) {
	m.cur, m.nxt, m.changed, m.moment = before.cur, before.nxt, before.changed, before.moment
}

// remember evaluates a definition of a state at most once in each.
func (c *compiler) remember(n node, size int, primed bool) node {
	k := c.remembers
	c.remembers++
	eval := n.eval
	n.eval = func(x *ctx) value.Value {
		m := x.m
		at := m.moment.cur
		if primed {
			at = m.moment.nxt
		}
		if at == 0 {
			return eval(&ctx{slots: make([]value.Value, size), m: m})
		}
		for len(m.known) <= k {
			m.known = append(m.known, remembered{})
		}
		if r := &m.known[k]; r.at == at {
			m.read |= r.read
			return r.v
		}
		before := m.read
		m.read = 0
		v := eval(&ctx{slots: make([]value.Value, size), m: m})
		m.known[k] = remembered{at, v, m.read}
		m.read |= before
		return v
	}
	if n.test != nil {
		all := n.eval
		n.test = func(x *ctx) bool { return bool(all(x).(value.Bool)) }
	}
	n.reach, n.inner = 0, 0
	n.excepts, n.except = 0, nil
	n.variable, n.bare = 0, nil
	return n
}

// costly tells whether an expression goes through sets, so that its value is worth being remembered.
func costly(e syntax.Expr) bool {
	found := false
	syntax.Inspect(e, func(e syntax.Expr) bool {
		switch e.(type) {
		case *syntax.Quantified, *syntax.Choose, *syntax.SetFilter, *syntax.SetMap, *syntax.FunctionOf, *syntax.Let:
			found = true
		}
		return !found
	})
	return found
}
