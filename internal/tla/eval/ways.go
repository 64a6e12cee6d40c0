package eval

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/tla/failure"
	"github.com/bloodhound-dst/bloodhound/internal/tla/scope"
	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// ways counts in how many ways a condition is true: 0 if it is false. TLC generates a successor once for each: for each member of a \E and for each
// disjunct that is true, and for all combinations of them under \A.
type ways func(*ctx) int

// mostWays bounds the count, which a \A multiplies.
const mostWays = 1 << 30

// condition compiles what an action says of the present state alone, such that a successor is found once, and counts as often as TLC generates it. It is nil
// for what asks for the next state, has effects, or can be true in one way only.
func (c *compiler) condition(e syntax.Expr, p place, next act) act {
	if c.assigning || c.guards != nil || syntax.Primes(e) {
		return nil
	}
	var n node
	if failure.Catch(func() { c.alone(func() node { n = c.expr(e, p); return n }) }) != nil || n.level > stateLevel || n.fresh || n.self {
		return nil
	}
	if c.enabling != nil { // one way is enough
		test := c.expr(e, p).truth(c.whereOf(e, p))
		return func(x *ctx) bool { return test(x) && next(x) }
	}
	return c.counted(e, p, next)
}

// value is condition for a function's value and what a recursive operator says, which give no variable its value in an initial predicate, either.
func (c *compiler) value(e syntax.Expr, p place, next act) act {
	if c.assigning {
		return c.counted(e, p, next)
	}
	return c.condition(e, p, next)
}

// counted compiles a condition that can be true in more than one way; nil for others.
func (c *compiler) counted(e syntax.Expr, p place, next act) act {
	count, many := c.ways(e, p)
	if !many {
		return nil
	}
	return func(x *ctx) bool {
		times := count(x)
		if times == 0 {
			return false
		}
		m := x.m
		around, before := m.times, m.once
		m.times, m.open = min(around*times, mostWays), m.open+before
		m.once = 0
		found := next(x)
		m.times, m.open = around, m.open-before
		m.once = before + times*m.once
		return found
	}
}

// ways compiles the count of a condition, and reports whether it can be more than 1.
func (c *compiler) ways(e syntax.Expr, p place) (count ways, many bool) {
	at := c.whereOf(e, p)
	switch e := e.(type) {
	case *syntax.Paren:
		return c.ways(e.Inner, p)
	case *syntax.Junction:
		counts := make([]ways, len(e.Items))
		many := !e.And
		for i, item := range e.Items {
			var so bool
			counts[i], so = c.ways(item, p)
			many = many || so
		}
		if !many {
			break
		}
		if e.And {
			return func(x *ctx) int {
				product := 1
				for _, count := range counts {
					if product = min(product*count(x), mostWays); product == 0 {
						break
					}
				}
				return product
			}, true
		}
		return func(x *ctx) int {
			sum := 0
			for _, count := range counts {
				sum = min(sum+count(x), mostWays)
			}
			return sum
		}, true
	case *syntax.Quantified:
		q, list, _ := c.loops(e.Bounds, p, at)
		count, many := c.ways(e.Body, q)
		all := e.Kind == `\A`
		if all && !many {
			break
		}
		for _, l := range slices.Backward(list) {
			count = l.ways(count, all, at)
		}
		return count, true
	case *syntax.If:
		test := c.expr(e.Cond, p).truth(c.whereOf(e.Cond, p))
		then, a := c.ways(e.Then, p)
		other, b := c.ways(e.Else, p)
		if !a && !b {
			break
		}
		return func(x *ctx) int {
			if test(x) {
				return then(x)
			}
			return other(x)
		}, true
	case *syntax.Case:
		if count := c.waysOfCase(e, p); count != nil {
			return count, true
		}
	case *syntax.Let:
		q, begin := c.let(e.Units, p)
		if body, many := c.ways(e.Body, q); many {
			return emptied(body, begin), true
		}
	case *syntax.Apply:
		if count := c.waysOf(e, p); count != nil {
			return count, true
		}
	case *syntax.Index:
		if count := c.waysOfValue(e, p); count != nil {
			return count, true
		}
	}
	test := c.expr(e, p).truth(at)
	return func(x *ctx) int {
		if test(x) {
			return 1
		}
		return 0
	}, false
}

// ways counts for all members of the set: the sum, or under \A the product.
func (l *loop) ways(of ways, all bool, at *scope.Where) ways {
	return func(x *ctx) int {
		count := 0
		if all {
			count = 1
		}
		add := func(v value.Value) bool {
			x.m.tick()
			l.bind(x, v)
			if all {
				count = min(count*of(x), mostWays)
			} else {
				count = min(count+of(x), mostWays)
			}
			return !all || count > 0
		}
		s := l.set.eval(x)
		if s, ok := s.(*value.Set); ok {
			for _, v := range s.Items {
				if !add(v) {
					break
				}
			}
			return count
		}
		x.m.at = at
		value.Each(s, add)
		return count
	}
}

// branches reports whether a condition can be true in more than one way.
func (c *compiler) branches(e syntax.Expr, p place) bool {
	if a, ok := e.(*syntax.Apply); ok && len(a.Path) == 0 && a.Name != "=>" && p.env.find(a.Name) == nil && p.scope.Find(a.Name) == nil {
		return false // an operator of the language, such as =
	}
	_, many := c.ways(e, p)
	return many
}

// waysOfCase is ways of CASE; nil if the count cannot be more than 1.
func (c *compiler) waysOfCase(e *syntax.Case, p place) ways {
	var tests []func(*ctx) bool
	var counts []ways
	some := false
	arm := func(e syntax.Expr) {
		count, many := c.ways(e, p)
		counts, some = append(counts, count), some || many
	}
	for _, a := range e.Arms {
		tests = append(tests, c.expr(a.Cond, p).truth(c.whereOf(a.Cond, p)))
		arm(a.Value)
	}
	if e.Other != nil {
		arm(e.Other)
	} else {
		fails := c.expr(e, p).truth(c.whereOf(e, p))
		counts = append(counts, func(x *ctx) int { fails(x); return 0 })
	}
	if !some {
		return nil
	}
	return func(x *ctx) int {
		for i, t := range tests {
			if t(x) {
				return counts[i](x)
			}
		}
		return counts[len(tests)](x)
	}
}

// waysOf is ways of P => Q and of an operator with a body; nil if the count cannot be more than 1.
func (c *compiler) waysOf(e *syntax.Apply, p place) ways {
	if len(e.Path) == 0 && p.env.find(e.Name) == nil && p.scope.Find(e.Name) == nil {
		if e.Name != "=>" || len(e.Args) != 2 {
			return nil
		}
		left := c.expr(e.Args[0], p).truth(c.whereOf(e.Args[0], p))
		right, many := c.ways(e.Args[1], p)
		if !many {
			return nil
		}
		return func(x *ctx) int {
			if !left(x) {
				return 1
			}
			return right(x)
		}
	}
	d, q, u := c.operatorOf(e, p)
	switch {
	case d == nil || p.settled(e) || len(d.Params) == 0 && (d.Recursive || c.evaluated(e, d, p)):
		return nil
	case d.Recursive:
		return c.waysOfRecursive(d, q, u)
	}
	c.depthOf(d, u)
	defer func() { compiledOf(d).reached-- }()
	c.arity(d, len(d.Params), u)
	to, begin := c.given(d.Params, q, u)
	defer c.within(d, u.at)()
	if body, many := c.ways(d.Body, to); many {
		return emptied(body, begin)
	}
	return nil
}
