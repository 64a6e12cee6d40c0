package eval

import (
	"math"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/tla/scope"
	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// core is an operator of the language itself.
func (c *compiler) core(u call) node {
	p, at := u.from, u.at
	need := func(n int) {
		if len(u.args) != n {
			c.failAt(at, "%s needs %s, and has %d", u.name, plural.Count(n, "argument"), len(u.args))
		}
	}
	two := func() (node, node) {
		need(2)
		return c.expr(u.args[0], p), c.expr(u.args[1], p)
	}
	one := func() node {
		need(1)
		return c.expr(u.args[0], p)
	}
	compare := func(f func(a, b value.Value) bool) node {
		a, b := two()
		return testNode(func(x *ctx) bool {
			v, w := a.eval(x), b.eval(x)
			x.m.at = at
			return f(v, w)
		}, a, b)
	}
	combine := func(f func(a, b value.Value) value.Value) node {
		a, b := two()
		return node{eval: func(x *ctx) value.Value {
			v, w := a.eval(x), b.eval(x)
			x.m.at = at
			return f(v, w)
		}}.dependingOn(a, b)
	}
	change := func(f func(a value.Value) value.Value) node {
		a := one()
		return node{eval: func(x *ctx) value.Value {
			v := a.eval(x)
			x.m.at = at
			return f(v)
		}}.dependingOn(a)
	}
	switch u.name {
	case "TRUE", "FALSE":
		return constNode(value.Bool(u.name == "TRUE"))
	case "BOOLEAN":
		return constNode(value.Booleans)
	case "STRING":
		return constNode(value.Strings)
	case "=", "#":
		a, b := two()
		return equality(a, b, u.name == "=", at)
	case `\in`, `\notin`:
		a, b := two()
		return c.member(a, b, u.name == `\in`, u)
	case `\subseteq`:
		return compare(value.IsSubset)
	case `\cup`:
		return combine(value.Union)
	case `\cap`:
		return combine(value.Intersection)
	case `\`:
		return combine(value.Difference)
	case "SUBSET":
		return c.subsets(one(), at)
	case "UNION":
		if set, ok := argument(u).(*syntax.SetEnum); ok && len(set.Items) > 0 { // UNION {S, T} needs no set of S and T, which may be infinite
			return c.union(set.Items, p, at)
		}
		return change(value.BigUnion)
	case "DOMAIN":
		return change(value.Domain)
	case "~":
		a := one()
		test := a.truth(at)
		return testNode(func(x *ctx) bool { return !test(x) }, a)
	case "=>":
		a, b := two()
		left, right := a.truth(at), b.truth(at)
		return testNode(func(x *ctx) bool { return !left(x) || right(x) }, a, b)
	case "<=>":
		a, b := two()
		left, right := a.truth(at), b.truth(at)
		return testNode(func(x *ctx) bool { return left(x) == right(x) }, a, b)
	case "'":
		need(1)
		return c.prime(u.args[0], p, at)
	case "UNCHANGED":
		need(1)
		return c.unchanged(u.args[0], p)
	case "ENABLED":
		need(1)
		return c.enabled(u.args[0], p)
	case "[]", "<>", "~>", "-+->":
		return ofBehaviours(u.name, at)
	case `\cdot`:
		return c.composed(u, p)
	}
	c.failAt(at, "%s is not defined", u.name)
	return node{}
}

// member is a \in b, or a \notin b. b is not made where it is given by a rule that can be tested for a.
func (c *compiler) member(a, b node, in bool, u call) node {
	p, at := u.from, u.at
	eager := func(x *ctx, v value.Value) bool {
		w := b.eval(x)
		x.m.at = at
		return value.Contains(w, v) == in
	}
	m := c.membership(u.args[1], p)
	if m == nil {
		return testNode(func(x *ctx) bool { return eager(x, a.eval(x)) }, a, b)
	}
	most := int64(seldomWorth)
	if b.level == constantLevel && b.reach == 0 {
		most = onceWorth
	}
	return testNode(func(x *ctx) bool {
		v := a.eval(x)
		s := m.base.eval(x)
		x.m.at = at
		if value.Size(s) <= most {
			return eager(x, v)
		}
		return (value.Contains(s, v) && m.passes(x, v)) == in
	}, a, b, m.base, m.body)
}

// union is UNION {S, T}, or as many sets as there are.
func (c *compiler) union(sets []syntax.Expr, p place, at *scope.Where) node {
	parts := c.all(sets, p)
	return node{eval: func(x *ctx) value.Value {
		sum := parts[0].eval(x)
		x.m.at = at
		value.Size(sum) // it is a set
		for _, n := range parts[1:] {
			v := n.eval(x)
			x.m.at = at
			sum = value.Union(sum, v)
		}
		return sum
	}}.dependingOn(parts...)
}

// prime is e'.
func (c *compiler) prime(e syntax.Expr, p place, at *scope.Where) node {
	if c.primed {
		c.failAt(at, "a primed expression cannot be primed again")
	}
	c.primed = true
	n := c.expr(e, p)
	c.primed = false
	if n.level > constantLevel {
		n.level = max(n.level, actionLevel)
	}
	return n
}

// equality is a = b, or a # b. A string of the text is compared first of all by its address, of which there is one.
func equality(a, b node, equal bool, at *scope.Where) node {
	left, right := a.eval, b.eval
	if text, ok := b.known.(*value.String); ok {
		return testNode(func(x *ctx) bool {
			v := left(x)
			if s, ok := v.(*value.String); ok {
				return (s == text) == equal
			}
			x.m.at = at
			return value.Equal(v, text) == equal
		}, a, b)
	}
	return testNode(func(x *ctx) bool {
		v, w := left(x), right(x)
		x.m.at = at
		return value.Equal(v, w) == equal
	}, a, b)
}

// subsets is SUBSET n.
func (c *compiler) subsets(n node, at *scope.Where) node {
	return node{eval: func(x *ctx) value.Value {
		s := n.eval(x)
		x.m.at = at
		if !value.IsSet(s) {
			value.Fail("SUBSET needs a set, and not the %s %s", value.Kind(s), value.Short(s))
		}
		return &value.Subsets{Base: s}
	}}.dependingOn(n)
}

// membership is how to find out of one value whether it is in {x \in S : P}, for an S that is given by its construction: whether
// it is in S, and whether P holds for it. To go through SUBSET SUBSET (1..4) for it takes 65,536 times as long.
type membership struct {
	base, body node
	passes     func(*ctx, value.Value) bool
}

// So many members of S are gone through instead: the set may be remembered, and used again.
const (
	seldomWorth = 1 << 7
	onceWorth   = 1 << 16 // if it is the same in all states
)

// membership is nil for other sets.
func (c *compiler) membership(e syntax.Expr, p place) *membership {
	e, p = c.through(e, p)
	filter, ok := e.(*syntax.SetFilter)
	if !ok {
		return nil
	}
	switch s, _ := c.through(filter.Bound.Set, p); s := s.(type) {
	case *syntax.FunctionSet, *syntax.RecordSet, *syntax.Product:
	case *syntax.Apply:
		if s.Name != "SUBSET" && s.Name != "Seq" {
			return nil
		}
	default:
		return nil
	}
	base, born := c.expr(filter.Bound.Set, p), c.born
	q, bind := c.pattern(filter.Bound, p, c.whereOf(filter, p))
	body := c.expr(filter.Body, q)
	test := body.truth(c.whereOf(filter.Body, q))
	return &membership{base, body.closed(born), func(x *ctx, v value.Value) bool { bind(x, v); return test(x) }}
}

func argument(u call) syntax.Expr {
	if len(u.args) != 1 {
		return nil
	}
	return u.args[0]
}

// unchanged is e' = e.
func (c *compiler) unchanged(e syntax.Expr, p place) node {
	if t, q := c.through(e, p); t != nil {
		if tuple, ok := t.(*syntax.Tuple); ok {
			var tests []func(*ctx) bool
			var parts []node
			for _, item := range tuple.Items {
				n := c.unchanged(item, q)
				tests, parts = append(tests, n.test), append(parts, n)
			}
			return testNode(func(x *ctx) bool {
				for _, t := range tests {
					if !t(x) {
						return false
					}
				}
				return true
			}, parts...).dependingOn(node{level: actionLevel})
		}
	}
	before := c.expr(e, p)
	if c.primed {
		c.fail(p, e.Position(), "UNCHANGED cannot be primed")
	}
	c.primed = true
	after := c.expr(e, p)
	c.primed = false
	return testNode(func(x *ctx) bool { return same(before.eval(x), after.eval(x)) }, before, after).dependingOn(node{level: actionLevel, next: true})
}

// through looks through names to the expression that they stand for: that of an operator without parameters, or of an argument.
func (c *compiler) through(e syntax.Expr, p place) (syntax.Expr, place) {
	for range 100 {
		switch x := e.(type) {
		case *syntax.Paren:
			e = x.Inner
			continue
		case *syntax.Apply:
			if len(x.Args) > 0 {
				return e, p
			}
			if len(x.Path) == 0 {
				if b := p.env.find(x.Name); b != nil {
					if b.expr == nil || b.op != nil {
						return e, p
					}
					if _, ok := b.expr.(*letFunction); ok {
						return e, p
					}
					e, p = b.expr, b.place
					continue
				}
			}
			d, q := c.lookup(x, p)
			if instead := d.Given(); instead != nil {
				d = instead
				q = place{scope: d.Place.Scope}
			}
			switch {
			case d == nil || d.Value != nil:
				return e, p
			case d.Kind == scope.Operator && len(d.Params) == 0 && d.Body != nil && d.Bounds == nil:
				e, p = d.Body, q
				continue
			case d.Kind == scope.Substituted && len(d.Params) == 0:
				if c.freed(d, place{inst: q.inst, scope: d.Place.Scope}) >= 0 {
					return e, p
				}
				e, p = d.Body, place{inst: q.inst, scope: d.Place.Scope}
				continue
			case d.Kind == scope.Parameter:
				if b := q.inst.find(d.Name); b != nil && b.expr != nil {
					e, p = b.expr, b.place
					continue
				}
			}
		}
		return e, p
	}
	return e, p
}

// variableOf reports which variable an expression is, however it is named; -1 if none.
func (c *compiler) variableOf(e syntax.Expr, p place) int {
	e, p = c.through(e, p)
	a, ok := e.(*syntax.Apply)
	if !ok || len(a.Args) > 0 {
		return -1
	}
	if len(a.Path) == 0 && p.env.find(a.Name) != nil {
		return -1
	}
	switch d, q := c.lookup(a, p); {
	case d == nil:
	case d.Kind == scope.Variable:
		return d.Index
	case d.Kind == scope.Substituted && len(d.Params) == 0:
		return c.freed(d, place{inst: q.inst, scope: d.Place.Scope})
	}
	return -1
}

// composed reports of two states whether a step from one to the other is A \cdot B.
func (c *compiler) composed(u call, p place) node {
	if c.primed {
		c.fail(p, u.at.Pos, "\\cdot cannot be primed")
	}
	born := c.born
	a := c.composition(&syntax.Apply{Pos: u.at.Pos, Name: u.name, Args: u.args}, p, func(x *ctx) bool {
		m := x.m
		goal := m.goals[len(m.goals)-1]
		for i, v := range m.nxt {
			switch {
			case v == nil: // the second action leaves it open
			case goal[i] == nil:
				x.m.at = u.at
				value.Fail("a step counts as A \\cdot B before it gives all variables their values")
			case !value.Equal(v, goal[i]):
				return false
			}
		}
		return true
	}, false)
	n := testNode(func(x *ctx) bool {
		m := x.m
		notes := m.anything()
		m.goals = append(m.goals, m.nxt)
		found := apart(x, a, len(m.nxt))
		m.goals = m.goals[:len(m.goals)-1]
		notes()
		return found
	})
	n.level, n.next = actionLevel, true
	return n.ofAction(born)
}

// apart takes an action with a next state of its own, in which so many variables have no value yet.
func apart(x *ctx, a act, variables int) bool {
	m := x.m
	nxt, moment := m.nxt, m.moment
	m.nxt, m.moment.nxt = make([]value.Value, variables), 0
	found := a(x)
	m.nxt, m.moment = nxt, moment
	return found
}

// ofAction is a node that takes an action. What the action depends on around it is not known: it is evaluated each time.
func (n node) ofAction(born int) node {
	n.reach, n.inner = reach(born), math.MaxInt
	n.fresh = true
	n.height = 50 // nor is its own: actions are no nodes
	return n
}

// enabled is ENABLED A: there is a next state.
func (c *compiler) enabled(e syntax.Expr, p place) node {
	if c.primed {
		c.fail(p, e.Position(), "ENABLED cannot be primed")
	}
	assigning, whole, around := c.assigning, c.whole, c.enabling
	c.assigning, c.whole = false, false
	if c.enabling == nil || c.enabling.scope != p.scope {
		c.enabling = &enabling{p.scope, map[*scope.Def]int{}}
	}
	free := c.enabling
	born := c.born
	a := c.act(e, p, func(*ctx) bool { return true })
	variables := len(c.variables)
	c.assigning, c.whole, c.enabling = assigning, whole, around
	n := testNode(func(x *ctx) bool {
		notes := x.m.anything()
		found := apart(x, a, variables+len(free.next))
		notes()
		return found
	})
	n.level, n.next = stateLevel, false
	return n.ofAction(born)
}
