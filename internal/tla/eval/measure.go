package eval

import (
	"math"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/tla/scope"
	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// measure is how far an expression is from a truth value, by the rules of branch distance (Tracey et al., "An Automated Framework for Structural Test-Data
// Generation", ASE 1998): 0 where it has that value, and larger the more is missing.
type measure func(*ctx) float64

// unmet is the distance of what is false and has no smaller measure; each condition that was not looked at counts as much.
const unmet = 1

// missing is how far a guard is from being true; nil where nobody asks.
func (c *compiler) missing(e syntax.Expr, p place) (m measure) {
	if c.measures {
		m = c.measured(e, p, true)
	}
	return m
}

// measured compiles how far an expression is from being true, or false.
func (c *compiler) measured(e syntax.Expr, p place, want bool) measure {
	at := c.whereOf(e, p)
	switch e := e.(type) {
	case *syntax.Paren:
		return c.measured(e.Inner, p, want)
	case *syntax.Junction:
		return c.joined(e.Items, p, want, e.And == want)
	case *syntax.Quantified:
		if e.Kind != `\A` && e.Kind != `\E` {
			break
		}
		q, each, _ := c.bounds(e.Bounds, p, at)
		body := c.measured(e.Body, q, want)
		if (e.Kind == `\A`) == want {
			return func(x *ctx) float64 {
				sum := 0.0
				each(x, func() bool { sum += body(x); return true })
				return sum
			}
		}
		return func(x *ctx) float64 {
			least := math.Inf(1)
			each(x, func() bool { least = min(least, body(x)); return least > 0 })
			if math.IsInf(least, 1) {
				return unmet // there is no member
			}
			return least
		}
	case *syntax.If:
		test := c.expr(e.Cond, p).truth(c.whereOf(e.Cond, p))
		then, other := c.measured(e.Then, p, want), c.measured(e.Else, p, want)
		return func(x *ctx) float64 {
			if test(x) {
				return then(x)
			}
			return other(x)
		}
	case *syntax.Let:
		q, begin := c.let(e.Units, p)
		return emptied(c.measured(e.Body, q, want), begin)
	case *syntax.Apply:
		if m := c.measuredApply(e, p, want, at); m != nil {
			return m
		}
	}
	test := c.expr(e, p).truth(at)
	return func(x *ctx) float64 {
		if test(x) == want {
			return 0
		}
		return unmet
	}
}

// joined is the measure of several conditions: of all of them, or of the nearest. What stands behind the first that is not met
// may have no value, so that it counts as unmet if all are to be met.
func (c *compiler) joined(items []syntax.Expr, p place, want, all bool) measure {
	parts := make([]measure, len(items))
	for i, e := range items {
		parts[i] = c.measured(e, p, want)
	}
	return join(parts, all)
}

func join(parts []measure, all bool) measure {
	return func(x *ctx) float64 {
		least := math.Inf(1)
		for i, part := range parts {
			d := part(x)
			switch {
			case all && d > 0:
				return d + float64(len(parts)-1-i)*unmet
			case !all:
				if least = min(least, d); least == 0 {
					return 0
				}
			}
		}
		if all {
			return 0
		}
		return least
	}
}

// measuredApply is the measure of operators that compare, of those of logic, and of definitions, through which it looks; nil for others.
func (c *compiler) measuredApply(e *syntax.Apply, p place, want bool, at *scope.Where) measure {
	builtin := len(e.Path) == 0 && p.env.find(e.Name) == nil && p.scope.Find(e.Name) == nil
	switch {
	case builtin && e.Name == "~" && len(e.Args) == 1:
		return c.measured(e.Args[0], p, !want)
	case builtin && e.Name == "=>" && len(e.Args) == 2: // as ~a \/ b
		return join([]measure{c.measured(e.Args[0], p, !want), c.measured(e.Args[1], p, want)}, !want)
	case builtin && e.Name == "=" && want, builtin && e.Name == "#" && !want:
		return c.compared(e, p, want, differing)
	case builtin && e.Name == `\in` && want:
		return c.compared(e, p, want, outside)
	case builtin:
		return nil
	}
	d, q, u := c.operatorOf(e, p)
	if d == nil || d.Body == nil || d.Bounds != nil || d.Recursive || len(d.Params) != len(u.args) {
		return c.ordered(e, p, want)
	}
	if compiledOf(d).reached++; compiledOf(d).reached > 60 {
		c.failAt(at, "%s uses itself: declare it by RECURSIVE", d.Name)
	}
	defer func() { compiledOf(d).reached-- }()
	to, begin := c.given(d.Params, q, u)
	return emptied(c.measured(d.Body, to, want), begin)
}

// ordered is the measure of a comparison of numbers; nil for all else.
func (c *compiler) ordered(e *syntax.Apply, p place, want bool) measure {
	d, _ := c.lookup(e, p)
	if len(e.Args) != 2 || d == nil || d.Native == nil {
		return nil
	}
	var missing func(a, b value.Int) value.Int // how much the difference must change; positive if a < b, or a <= b, is false
	less, equal := e.Name == "<" || e.Name == `\leq`, e.Name == `\leq` || e.Name == `\geq`
	switch {
	case !less && e.Name != ">" && e.Name != `\geq`:
		return nil
	case less == want:
		missing = func(a, b value.Int) value.Int { return a - b }
	default:
		missing = func(a, b value.Int) value.Int { return b - a }
	}
	if equal != want {
		strict := missing
		missing = func(a, b value.Int) value.Int { return strict(a, b) + 1 }
	}
	return c.compared(e, p, want, func(a, b value.Value) float64 { return lack(float64(missing(a.(value.Int), b.(value.Int)))) })
}

// compared is the measure of a comparison that is not what it is wanted to be.
func (c *compiler) compared(e *syntax.Apply, p place, want bool, distance func(a, b value.Value) float64) measure {
	n, at := c.all(e.Args, p), c.whereOf(e, p)
	test := c.expr(e, p).truth(at)
	return func(x *ctx) float64 {
		if test(x) == want {
			return 0
		}
		a, b := n[0].eval(x), n[1].eval(x)
		x.m.at = at
		return distance(a, b)
	}
}

// lack maps a number of things that are missing to less than unmet.
func lack(missing float64) float64 { return missing / (missing + 1) }

// differing is how much is to change for two values to be equal; 0 if they are.
func differing(a, b value.Value) float64 {
	if value.Equal(a, b) {
		return 0
	}
	switch a := a.(type) {
	case value.Int:
		if b, ok := b.(value.Int); ok {
			return lack(math.Abs(float64(a) - float64(b)))
		}
	case *value.Set:
		if b, ok := b.(*value.Set); ok {
			return lack(float64(lacking(a, b) + lacking(b, a)))
		}
	case *value.Tuple:
		if b, ok := b.(*value.Tuple); ok {
			return lack(unequal(a.Items, b.Items))
		}
	case *value.Record:
		if b, ok := b.(*value.Record); ok && slices.Equal(a.Names, b.Names) {
			return lack(unequal(a.Values, b.Values))
		}
	case *value.Function:
		if b, ok := b.(*value.Function); ok && value.Equal(a.Domain, b.Domain) {
			return lack(unequal(a.Values, b.Values))
		}
	}
	return unmet
}

// lacking is how many members of a set another one does not have.
func lacking(a, b *value.Set) int {
	n := 0
	for _, v := range a.Items {
		if !value.Contains(b, v) {
			n++
		}
	}
	return n
}

// unequal sums up how much the items of two lists differ; one that only one of them has counts as unmet.
func unequal(a, b []value.Value) float64 {
	both := min(len(a), len(b))
	sum := float64(max(len(a), len(b))-both) * unmet
	for i := range both {
		sum += differing(a[i], b[i])
	}
	return sum
}

// mostNear bounds the sets whose members outside looks at.
const mostNear = 64

// outside is how much is to change for a value to be a member of a set: the nearest one, if the set is small.
func outside(v, set value.Value) float64 {
	if n, exact := value.Count(set); !exact || n > mostNear {
		return unmet
	}
	least := float64(unmet)
	value.Each(set, func(w value.Value) bool {
		least = min(least, differing(v, w))
		return true
	})
	return least
}
