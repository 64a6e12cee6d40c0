package eval

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/tla/failure"
	"github.com/bloodhound-dst/bloodhound/internal/tla/library"
	"github.com/bloodhound-dst/bloodhound/internal/tla/scope"
	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// act compiles an action, or an initial predicate, to what finds all ways to make it true: variables get values from left to right, and then
// follows next.
func (c *compiler) act(e syntax.Expr, p place, next act) act {
	at := c.whereOf(e, p)
	switch e := e.(type) {
	case *syntax.Paren:
		return c.act(e.Inner, p, next)
	case *syntax.Junction:
		if e.And {
			for i := len(e.Items) - 1; i > 0; i-- {
				next = c.conjunct(e.Items[i], p, next)
			}
			return c.act(e.Items[0], p, next)
		}
		if a := c.condition(e, p, next); a != nil {
			return a
		}
		acts := make([]act, len(e.Items))
		for i, item := range e.Items {
			acts[i] = c.act(item, p, next)
		}
		return func(x *ctx) bool {
			for _, w := range acts {
				if w(x) {
					return true
				}
			}
			return false
		}
	case *syntax.Quantified:
		if a := c.condition(e, p, next); a != nil {
			return a
		}
		if e.Kind == `\E` {
			born := c.born
			q, list, _ := c.loops(e.Bounds, p, at)
			early := c.early(e.Body, q, list, born)
			return some(list, early, at, c.act(e.Body, q, next))
		}
		if e.Kind == `\A` && c.assigns(e, p) {
			return c.forAll(e, p, next, at)
		}
		if before := c.targets; e.Kind == `\A` && c.assigning {
			if a := c.forAll(e, p, next, at); c.targets > before || c.branches(e, p) {
				return a
			}
		}
	case *syntax.If:
		test := c.expr(e.Cond, p).truth(c.whereOf(e.Cond, p))
		a, b := c.act(e.Then, p, next), c.act(e.Else, p, next)
		return func(x *ctx) bool {
			if test(x) {
				return a(x)
			}
			return b(x)
		}
	case *syntax.Case:
		return c.actCase(e, p, next, at)
	case *syntax.Let:
		q, begin := c.let(e.Units, p)
		return emptied(c.act(e.Body, q, next), begin)
	case *syntax.Action:
		if e.Angle {
			same := c.unchanged(e.Subscript, p).test
			return c.act(e.Body, p, func(x *ctx) bool { return !same(x) && next(x) })
		}
		a, b := c.act(e.Body, p, next), c.assignSame(e.Subscript, p, next)
		return func(x *ctx) bool { return a(x) || b(x) }
	case *syntax.Index:
		if a := c.value(e, p, next); a != nil {
			return a
		}
	case *syntax.Apply:
		if a := c.actApply(e, p, next, at); a != nil {
			return a
		}
	}
	n := c.expr(e, p)
	if c.assigning && n.next {
		c.fail(p, e.Position(), "a primed variable stands in the initial predicate, which has no next state")
	}
	if test := n.truth(at); c.measures && n.fresh { // PrintT(x) is no condition that a step could lack
		return func(x *ctx) bool { return test(x) && next(x) }
	}
	return c.guard(e, at, n.truth(at), c.missing(e, p), next)
}

// conjunct compiles what follows the first conjunct. As in TLC, it is a test once all variables have their values: it does not matter in how many ways it is
// true, and only as many conjuncts are evaluated as decide it.
func (c *compiler) conjunct(e syntax.Expr, p place, next act) act {
	a := c.act(e, p, next)
	initial := c.assigning
	if !initial && (c.enabling != nil || c.guards != nil || !c.branches(e, p)) {
		return a
	}
	test := c.expr(e, p).truth(c.whereOf(e, p))
	return func(x *ctx) bool {
		if x.m.complete(initial) {
			return test(x) && next(x)
		}
		return a(x)
	}
}

// assigns reports whether an expression may give a variable its next value.
func (c *compiler) assigns(e syntax.Expr, p place) bool {
	if c.assigning {
		return false
	}
	level := actionLevel
	if failure.Catch(func() { c.alone(func() node { n := c.expr(e, p); level = n.level; return n }) }) != nil {
		return true
	}
	return level >= actionLevel
}

// resume continues with what follows an action that may be within itself.
func (x *ctx) resume() bool {
	last := len(x.m.then) - 1
	then := x.m.then[last]
	x.m.then = x.m.then[:last]
	found := then(x)
	x.m.then = append(x.m.then, then)
	return found
}

// forAll makes a body true for each member of a set, one after the other.
func (c *compiler) forAll(e *syntax.Quantified, p place, next act, at *scope.Where) act {
	q, list, _ := c.loops(e.Bounds, p, at)
	body := c.act(e.Body, q, (*ctx).resume)
	initial := c.assigning
	var test func(*ctx) bool // of what follows the first conjunct: see conjunct
	if c.enabling == nil && c.guards == nil {
		test = c.expr(e.Body, q).truth(c.whereOf(e.Body, q))
	}
	return func(x *ctx) bool {
		var members [][]value.Value // of each round: a value for each name
		var collect func(i int, so []value.Value)
		collect = func(i int, so []value.Value) {
			if i == len(list) {
				members = append(members, append([]value.Value(nil), so...))
				return
			}
			value.Each(list[i].set.eval(x), func(v value.Value) bool { collect(i+1, append(so, v)); return true })
		}
		collect(0, nil)
		var round func(i int) func(*ctx) bool
		round = func(i int) func(*ctx) bool {
			return func(x *ctx) bool {
				if i == len(members) {
					return next(x)
				}
				kept := append([]value.Value(nil), x.slots...)
				for k, l := range list {
					l.bind(x, members[i][k])
				}
				var found bool
				if i > 0 && test != nil && x.m.complete(initial) {
					found = test(x) && round(i+1)(x)
				} else {
					x.m.then = append(x.m.then, round(i+1))
					found = body(x)
					x.m.then = x.m.then[:len(x.m.then)-1]
				}
				copy(x.slots, kept)
				return found
			}
		}
		return round(0)(x)
	}
}

func (c *compiler) actCase(e *syntax.Case, p place, next act, at *scope.Where) act {
	var tests []func(*ctx) bool
	var ways []act
	for _, a := range e.Arms {
		tests = append(tests, c.expr(a.Cond, p).truth(c.whereOf(a.Cond, p)))
		ways = append(ways, c.act(a.Value, p, next))
	}
	var other act
	if e.Other != nil {
		other = c.act(e.Other, p, next)
	}
	return func(x *ctx) bool {
		for i, t := range tests {
			if t(x) {
				return ways[i](x)
			}
		}
		if other == nil {
			x.m.at = at
			value.Fail("no arm of CASE is true, and there is no OTHER")
		}
		return other(x)
	}
}

// actApply compiles what gives a variable a value, and operators that do; nil for all else.
func (c *compiler) actApply(e *syntax.Apply, p place, next act, at *scope.Where) act {
	if len(e.Path) == 0 && p.env.find(e.Name) == nil && p.scope.Find(e.Name) == nil {
		switch {
		case (e.Name == "=" || e.Name == `\in` || e.Name == `\subseteq`) && len(e.Args) == 2:
			i := c.target(e.Args[0], p)
			if i < 0 {
				return nil
			}
			c.targets++
			rhs := c.expr(e.Args[1], p)
			if e.Name == `\subseteq` {
				rhs = c.subsets(rhs, at)
			}
			if e.Name == "=" {
				again := c.again(e, at, i, func(x *ctx, old value.Value) bool {
					x.m.compares(i)
					return value.Equal(old, rhs.eval(x))
				}, next)
				return assign(i, c.assigning, rhs, next, again)
			}
			again := c.again(e, at, i, func(x *ctx, old value.Value) bool {
				x.m.compares(i)
				s := rhs.eval(x)
				x.m.at = at
				return value.Contains(s, old)
			}, next)
			return assignFrom(i, c.assigning, rhs, next, again, at)
		case e.Name == "=>" && len(e.Args) == 2:
			if a := c.condition(e, p, next); a != nil {
				return a
			}
			if !c.compares && !c.assigning && !c.assigns(e, p) {
				return nil // one condition
			}
			left, right := c.expr(e.Args[0], p).truth(c.whereOf(e.Args[0], p)), c.act(e.Args[1], p, next)
			return func(x *ctx) bool {
				if !left(x) {
					return next(x)
				}
				return right(x)
			}
		case e.Name == `\cdot` && len(e.Args) == 2:
			return c.composition(e, p, next, c.enabling == nil)
		case e.Name == "UNCHANGED" && len(e.Args) == 1:
			return c.assignSame(e.Args[0], p, next)
		}
		return nil
	}
	op, q, u := c.operatorOf(e, p)
	if op == nil || p.settled(e) {
		return nil
	}
	if op.Recursive && len(op.Params) > 0 {
		return c.recursiveAct(e, p, op, q, u, next)
	}
	if len(op.Params) == 0 && c.evaluated(e, op, p) {
		return nil // one condition, which is evaluated once
	}
	if compiledOf(op).reached++; compiledOf(op).reached > 60 {
		c.failAt(at, "%s uses itself: declare it by RECURSIVE", op.Name)
	}
	defer func() { compiledOf(op).reached-- }()
	c.arity(op, len(op.Params), u)
	to, begin := c.given(op.Params, q, u)
	defer c.within(op, u.at)()
	return c.record(op, u, emptied(c.act(op.Body, to, next), begin))
}

// middle is a state between the steps of a composition, and how often it is generated.
type middle struct {
	state []value.Value
	times int
}

// composition is A \cdot B: a step of A and one of B, of which only the states before and after are seen. Where successors are
// generated those between count, too: as in TLC all steps of A are taken before the first of B.
func (c *compiler) composition(e *syntax.Apply, p place, next act, generates bool) act {
	second := c.act(e.Args[1], p, func(x *ctx) bool {
		m := x.m
		last := len(m.between) - 1
		middle, end, before := m.cur, m.nxt, m.between[last]
		whole := slices.Clone(end)
		for i, v := range before.nxt { // what had its next value before
			switch {
			case v == nil:
			case whole[i] == nil:
				whole[i] = v
			case !value.Equal(whole[i], v):
				return false
			}
		}
		m.between, m.cur, m.nxt = m.between[:last], before.cur, whole
		found := next(x)
		m.between, m.cur, m.nxt = append(m.between, before), middle, end
		return found
	})
	from := func(x *ctx, state []value.Value) bool {
		m := x.m
		notes := m.anything()
		cur, nxt, moment := m.cur, m.nxt, m.moment
		m.moment.cur = 0 // there are two present states in turn
		m.cur, m.nxt = state, make([]value.Value, len(state))
		found := second(x)
		m.cur, m.nxt, m.moment = cur, nxt, moment
		notes()
		return found
	}
	first := c.act(e.Args[0], p, func(x *ctx) bool {
		m := x.m
		if !generates {
			return from(x, slices.Clone(m.nxt))
		}
		if len(m.between) == 1 { // those of a composition within another do not
			m.composed += m.times
		}
		last := len(m.middles) - 1
		m.middles[last] = append(m.middles[last], middle{slices.Clone(m.nxt), m.times})
		return false
	})
	return func(x *ctx) bool {
		m := x.m
		m.between, m.middles = append(m.between, around{m.cur, m.nxt}), append(m.middles, nil)
		found := apart(x, first, len(m.nxt))
		last, times := len(m.middles)-1, m.times
		list := m.middles[last]
		m.middles = m.middles[:last]
		for i := 0; i < len(list) && !found; i++ {
			m.times = list[i].times
			found = from(x, list[i].state)
		}
		m.between, m.times = m.between[:len(m.between)-1], times
		return found
	}
}

// operatorOf finds the operator with a body that an expression uses.
func (c *compiler) operatorOf(e *syntax.Apply, p place) (*scope.Def, place, call) {
	u := call{e.Name, e.Args, p, &scope.Where{Source: c.file(p), Pos: e.Pos}}
	var d *scope.Def
	var q place
	if b := p.env.find(e.Name); b != nil && len(e.Path) == 0 {
		switch {
		case b.op == nil && b.expr != nil:
			if _, ok := b.expr.(*letFunction); ok {
				return nil, q, u
			}
			return &scope.Def{Kind: scope.Operator, Name: e.Name, Body: b.expr}, b.place, u
		case b.op == nil:
			return nil, q, u
		case b.op.def == nil && b.op.body != nil:
			return &scope.Def{Kind: scope.Operator, Name: b.op.name, Params: b.op.params, Body: b.op.body}, b.op.place, u
		}
		d, q = b.op.def, b.op.place
		if d != nil && placeAt(d.Place).env != nil {
			q.env, q.scope, q.inst = placeAt(d.Place).env, d.Place.Scope, placeAt(d.Place).inst
		}
	} else {
		d, q = c.lookup(e, p)
	}
	if instead := d.Given(); instead != nil {
		d = instead
		q = place{scope: d.Place.Scope}
	}
	if d == nil || d.Value != nil || d.Bounds != nil {
		return nil, q, u
	}
	switch d.Kind {
	case scope.Operator:
		if d.Body != nil {
			return d, q, u
		}
	case scope.Substituted:
		around := place{inst: q.inst, scope: d.Place.Scope}
		if len(d.Params) == 0 {
			return &scope.Def{Kind: scope.Operator, Name: d.Name, Body: d.Body}, around, u
		}
		if op := c.operator(d.Body, around, len(d.Params)); op.def != nil && op.def.Kind == scope.Operator {
			return op.def, op.place, u
		}
	}
	return nil, q, u
}

// settled reports whether an expression uses what TLC has a value of before it looks for states.
func (p place) settled(e *syntax.Apply) bool {
	b := p.env.find(e.Name)
	return len(e.Path) == 0 && b != nil && b.settled
}

// target is the variable that an expression gives its value: x' of an action, x of an initial predicate.
func (c *compiler) target(e syntax.Expr, p place) int {
	if c.assigning {
		return c.variableOf(e, p)
	}
	e, p = c.through(e, p)
	if a, ok := e.(*syntax.Apply); ok && a.Name == "'" && len(a.Args) == 1 && len(a.Path) == 0 {
		return c.variableOf(a.Args[0], p)
	}
	return -1
}

func (m *machine) goal(initial bool) []value.Value {
	if initial {
		return m.cur
	}
	return m.nxt
}

// complete reports whether all variables have the values that are being given.
func (m *machine) complete(initial bool) bool { return !slices.Contains(m.goal(initial), nil) }

// again is an assignment to a variable that has its value by then: a condition.
func (c *compiler) again(e syntax.Expr, at *scope.Where, variable int, test func(x *ctx, old value.Value) bool, next act) act {
	initial := c.assigning
	holds := func(x *ctx) bool { return test(x, x.m.goal(initial)[variable]) }
	if c.compares {
		return c.guard(e, at, holds, nil, next)
	}
	return func(x *ctx) bool { return holds(x) && next(x) }
}

func assign(i int, initial bool, rhs node, next, again act) act {
	eval, except := rhs.eval, rhs.except
	if initial || rhs.excepts != i+1 {
		return func(x *ctx) bool {
			goal := x.m.goal(initial)
			if goal[i] != nil {
				return again(x)
			}
			goal[i] = library.Settled(eval(x))
			found := next(x)
			goal[i] = nil
			return found
		}
	}
	return func(x *ctx) bool {
		r, goal := x.m.reads, x.m.nxt
		if goal[i] != nil {
			return again(x)
		}
		if r == nil {
			goal[i] = library.Settled(eval(x))
			found := next(x)
			goal[i] = nil
			return found
		}
		goal[i] = library.Settled(except(x))
		r.Excepted.Add(i)
		found := next(x)
		r.Excepted.Remove(i)
		goal[i] = nil
		return found
	}
}

func assignFrom(i int, initial bool, set node, next, again act, at *scope.Where) act {
	return func(x *ctx) bool {
		goal := x.m.goal(initial)
		if goal[i] != nil {
			return again(x)
		}
		s := set.eval(x)
		x.m.at = at
		found := !value.Each(s, func(v value.Value) bool {
			goal[i] = library.Settled(v)
			return !next(x)
		})
		goal[i] = nil
		return found
	}
}

// assignSame is UNCHANGED e.
func (c *compiler) assignSame(e syntax.Expr, p place, next act) act {
	if c.assigning {
		c.fail(p, e.Position(), "UNCHANGED stands in the initial predicate, which has no next state")
	}
	t, q := c.through(e, p)
	if tuple, ok := t.(*syntax.Tuple); ok {
		for i := len(tuple.Items) - 1; i >= 0; i-- {
			next = c.assignSame(tuple.Items[i], q, next)
		}
		return next
	}
	if i := c.variableOf(t, q); i >= len(c.variables) {
		now := c.expr(t, q)
		again := c.again(e, c.whereOf(e, p), i, func(x *ctx, old value.Value) bool { return value.Equal(old, now.eval(x)) }, next)
		return assign(i, false, now, next, again)
	} else if i >= 0 {
		again := c.again(e, c.whereOf(e, p), i, func(x *ctx, old value.Value) bool {
			if r := x.m.reads; r != nil && r.Kept.Has(i) {
				return true
			}
			x.m.compares(i)
			return value.Equal(old, x.m.cur[i])
		}, next)
		return func(x *ctx) bool {
			nxt, v := x.m.nxt, x.m.cur[i]
			if nxt[i] != nil {
				return again(x)
			}
			nxt[i] = v
			r := x.m.reads
			if r != nil {
				r.Kept.Add(i)
			}
			found := next(x)
			if r != nil {
				r.Kept.Remove(i)
			}
			nxt[i] = nil
			return found
		}
	}
	test := c.unchanged(e, p).test
	if c.compares {
		return c.guard(e, c.whereOf(e, p), test, nil, next)
	}
	return func(x *ctx) bool { return test(x) && next(x) }
}
