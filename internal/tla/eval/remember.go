package eval

import (
	"math/bits"

	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// remembered is the value of a definition in the state that was numbered at, and in all in which the variables that were read for
// it have the values that they had then.
type remembered struct {
	at   uint64
	v    value.Value
	read uint64        // for it
	from []value.Value // what those variables were, in their order
}

// isOf reports whether a remembered value is also that of a state with other variables than it had, if it is one that variables were read for.
func (r *remembered) isOf(state []value.Value) bool {
	if r.read == 0 {
		return false
	}
	k := 0
	for i, v := range state {
		if r.read&bitOf(i) == 0 {
			continue
		}
		if k == len(r.from) || !identical(r.from[k], v) {
			return false
		}
		k++
	}
	return k == len(r.from)
}

// reading are the values of variables in a state.
func reading(read uint64, state []value.Value) []value.Value {
	from := make([]value.Value, 0, bits.OnesCount64(read))
	for i, v := range state {
		if read&bitOf(i) != 0 {
			from = append(from, v)
		}
	}
	return from
}

// moment numbers what a machine holds: the present state and the next one, each with a number of its own as long as it does not change. 0 is for one that
// is being made.
type moment struct{ cur, nxt uint64 }

// begins gives the present state a new number. The next one is being made.
func (m *machine) begins() {
	m.clock++
	m.moment = moment{cur: m.clock}
}

// scene is the context in which a machine evaluates.
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

// remember evaluates a definition of a state at most once in each, and not again while the variables that it reads stay the same. (The latter not where
// reads are recorded, which were noted in another state.)
func (c *compiler) remember(n node, size int, primed bool) node {
	k := c.remembers
	c.remembers++
	eval := n.eval
	n.eval = func(x *ctx) value.Value {
		m := x.m
		at, state, read := m.moment.cur, m.cur, &m.read
		if primed {
			at, state, read = m.moment.nxt, m.nxt, &m.readNext
		}
		for len(m.known) <= k {
			m.known = append(m.known, remembered{})
		}
		if r := &m.known[k]; at != 0 && r.at == at || m.reads == nil && r.isOf(state) {
			r.at = at
			*read |= r.read
			return r.v
		}
		before := *read
		*read = 0
		v := eval(&ctx{slots: make([]value.Value, size), m: m})
		m.known[k] = remembered{at, v, *read, reading(*read, state)}
		*read |= before
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

// costly reports whether an expression goes through sets, so that its value is worth being remembered.
func costly(e syntax.Expr) bool {
	return syntax.Any(e, func(e syntax.Expr) bool {
		switch e.(type) {
		case *syntax.Quantified, *syntax.Choose, *syntax.SetFilter, *syntax.SetMap, *syntax.FunctionOf, *syntax.Let:
			return true
		}
		return false
	})
}
