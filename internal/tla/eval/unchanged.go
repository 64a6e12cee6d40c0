package eval

import (
	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// AllVariables is the set of all variables.
const AllVariables = ^uint64(0)

// bitOf stands for a variable in a set of them. The 64th and those after it share one.
func bitOf(variable int) uint64 { return 1 << min(variable, 63) }

// difference has the variables that are not the same in two states.
func difference(s, next State, same func(a, b value.Value) bool) (set uint64) {
	for i := range next {
		if !same(s[i], next[i]) {
			set |= bitOf(i)
		}
	}
	return set
}

// same reports whether two values are equal. Unlike in a specification, values of different kinds may be compared.
func same(a, b value.Value) bool { return a == b || a.Fingerprint() == b.Fingerprint() }

// identical reports whether two values are one in memory, which is quick, and false for some that are equal.
func identical(a, b value.Value) bool { return a == b }

// keeps are the variables that a formula of steps is only true for if they stay as they are, as far as that can be seen without evaluating it.
func (c *compiler) keeps(e syntax.Expr, p place, depth int) uint64 {
	if depth > 30 {
		return 0
	}
	switch x := e.(type) {
	case *syntax.Paren:
		return c.keeps(x.Inner, p, depth+1)
	case *syntax.Junction:
		set := uint64(0)
		for i, item := range x.Items {
			switch k := c.keeps(item, p, depth+1); {
			case x.And || i == 0:
				set |= k
			default:
				set &= k
			}
		}
		return set
	case *syntax.Quantified:
		if x.Kind == `\E` {
			return c.keeps(x.Body, c.hidden(x.Bounds, p), depth+1)
		}
	case *syntax.If:
		return c.keeps(x.Then, p, depth+1) & c.keeps(x.Else, p, depth+1)
	case *syntax.Apply:
		if x.Name == "UNCHANGED" && len(x.Path) == 0 && len(x.Args) == 1 {
			return c.variablesOf(x.Args[0], p, depth+1)
		}
		if d, q, u := c.operatorOf(x, p); d != nil && !d.Recursive && len(d.Params) == len(u.args) {
			for _, param := range d.Params {
				q = c.hide(q, param.Text)
			}
			return c.keeps(d.Body, q, depth+1)
		}
	}
	return 0
}

// variablesOf are the variables that a tuple is made of, or none if there is something else in it.
func (c *compiler) variablesOf(e syntax.Expr, p place, depth int) uint64 {
	if i := c.variableOf(e, p); i >= 0 {
		return bitOf(i)
	}
	t, q := c.through(e, p)
	tuple, ok := t.(*syntax.Tuple)
	if !ok || depth > 30 {
		return 0
	}
	set := uint64(0)
	for _, item := range tuple.Items {
		set |= c.variablesOf(item, q, depth+1)
	}
	return set
}

// hidden has the names of a quantifier bound to nothing, so that they do not stand for what has the same name outside.
func (c *compiler) hidden(bounds []syntax.Bound, p place) place {
	for _, b := range bounds {
		for _, n := range b.Names {
			p = c.hide(p, n.Text)
		}
	}
	return p
}

func (c *compiler) hide(p place, name string) place { return c.bind(p, name, binding{slot: -1}) }

// quickly refuses a formula of steps where a variable has changed that it keeps. That is seen at once for all members of the sets that it goes
// through, and for all that it would compute.
func (c *compiler) quickly(e syntax.Expr, p place, n node) node {
	if !c.whole || n.level != actionLevel || n.test == nil {
		return n
	}
	set := c.keeps(e, p, 0)
	if set == 0 {
		return n
	}
	test := n.test
	quick := func(x *ctx) bool { return x.m.changed&set == 0 && test(x) }
	n.test, n.eval = quick, func(x *ctx) value.Value { return value.Bool(quick(x)) }
	return n
}
