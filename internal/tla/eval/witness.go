package eval

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/tla/scope"
	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// A step that an action makes is often to be one of another next-state relation, too: that of a specification which it
// implements, as [][Next]_v. Where both are made of the same operators, such as those of a module that is extended and also
// instanced as it is, the operator that the action applied proves the other relation: if A(1, 2) holds of the step, so does \E i
// \in S, j \in T : A(i, j), given that 1 is in S and 2 in T. So nothing is searched for.

// applied is an operator that holds of the step that is being made, with its arguments as they stand.
type applied struct {
	d    *scope.Def
	args []node
	x    *ctx
}

// sameOperator reports whether two definitions mean the same: one of a module, and that of an instance of this module in which
// nothing stands for something else.
func sameOperator(a, b *scope.Def) bool {
	own := func(d *scope.Def) bool {
		return placeAt(d.Place).env == nil && !d.Place.Scope.Foreign() && d.Given() == nil
	}
	return a.At == b.At && a.At.Source != nil && own(a) && own(b)
}

// record records applications of an operator for properties, if one of them uses it.
func (c *compiler) record(d *scope.Def, u call, a act) act {
	if !c.recorded[d.At] || slices.ContainsFunc(d.Params, func(p syntax.Param) bool { return p.Arity > 0 }) {
		return a
	}
	args := c.all(u.args, u.from)
	return func(x *ctx) bool {
		m := x.m
		n := len(m.applied)
		m.applied = append(m.applied, applied{d, args, x})
		found := a(x)
		m.applied = m.applied[:n]
		return found
	}
}

// recordFor finds the operators that a property is made of.
func (c *compiler) recordFor(e syntax.Expr, p place, depth int) {
	if depth > 40 {
		return
	}
	switch x := e.(type) {
	case *syntax.Paren:
		c.recordFor(x.Inner, p, depth+1)
	case *syntax.Junction:
		for _, item := range x.Items {
			c.recordFor(item, p, depth+1)
		}
	case *syntax.Quantified:
		c.recordFor(x.Body, c.hidden(x.Bounds, p), depth+1)
	case *syntax.Action:
		c.recordFor(x.Body, p, depth+1)
	case *syntax.Apply:
		if len(x.Path) == 0 && p.env.find(x.Name) == nil && p.scope.Find(x.Name) == nil {
			for _, arg := range x.Args {
				c.recordFor(arg, p, depth+1)
			}
			return
		}
		if d, q, u := c.operatorOf(x, p); d != nil && !d.Recursive && len(d.Params) == len(u.args) && d.At.Source != nil {
			if c.recorded[d.At] {
				return
			}
			c.recorded[d.At] = true
			for _, param := range d.Params {
				q = c.hide(q, param.Text)
			}
			c.recordFor(d.Body, q, depth+1)
		}
	}
}

// prover compiles proofs that a step is one of a relation.
type prover struct{ *compiler }

// witnesses finds the ways in which an operator that was applied proves a relation: each reports whether it does.
func (c prover) witnesses(e syntax.Expr, p place, list []loop, slots []int, depth int, found *[]func(*ctx) bool) {
	if depth > 40 {
		return
	}
	switch x := e.(type) {
	case *syntax.Paren:
		c.witnesses(x.Inner, p, list, slots, depth+1, found)
	case *syntax.Junction:
		if !x.And {
			for _, item := range x.Items {
				c.witnesses(item, p, list, slots, depth+1, found)
			}
		}
	case *syntax.Quantified:
		if x.Kind != `\E` || slices.ContainsFunc(x.Bounds, func(b syntax.Bound) bool { return b.Pattern || b.Set == nil }) {
			return
		}
		q, more, _ := c.loops(x.Bounds, p, c.whereOf(e, p))
		slots = slices.Clone(slots)
		for _, b := range x.Bounds {
			for _, n := range b.Names {
				slots = append(slots, q.env.find(n.Text).slot)
			}
		}
		c.witnesses(x.Body, q, append(list[:len(list):len(list)], more...), slots, depth+1, found)
	case *syntax.Apply:
		if len(x.Path) == 0 && p.env.find(x.Name) == nil && p.scope.Find(x.Name) == nil {
			return
		}
		d, q, u := c.operatorOf(x, p)
		if d == nil || d.Recursive || len(d.Params) != len(u.args) || slices.ContainsFunc(d.Params, func(p syntax.Param) bool { return p.Arity > 0 }) {
			return
		}
		if c.recorded[d.At] {
			*found = append(*found, c.witness(d, u, list, slots))
		}
		to, begin := c.given(d.Params, q, u)
		if len(begin) == 0 { // arguments that are names alone
			c.witnesses(d.Body, to, list, slots, depth+1, found)
		}
	}
}

// witness reports whether an application of d proves one whose arguments use names that go through sets.
func (c prover) witness(d *scope.Def, u call, list []loop, slots []int) func(*ctx) bool {
	matches := make([]func(*ctx, value.Value) bool, len(u.args))
	for i, arg := range u.args {
		matches[i] = c.match(arg, u.from, slots)
	}
	return func(x *ctx) bool {
		for _, a := range x.m.applied {
			if !sameOperator(a.d, d) {
				continue
			}
			for _, s := range slots {
				x.slots[s] = nil
			}
			proven := true
			for i := 0; i < len(matches) && proven; i++ {
				proven = matches[i](x, a.args[i].eval(a.x))
			}
			for i := 0; i < len(list) && proven; i++ {
				v := x.slots[slots[i]]
				proven = v != nil && value.Contains(list[i].set.eval(x), v)
			}
			if proven {
				return true
			}
		}
		return false
	}
}

// match gives the names in an argument the values that make it one that is known. An argument that is neither a name nor a tuple of names must not use them.
func (c prover) match(arg syntax.Expr, p place, slots []int) func(*ctx, value.Value) bool {
	e, q := c.through(arg, p)
	switch t := e.(type) {
	case *syntax.Apply:
		b := q.env.find(t.Name)
		if len(t.Args) == 0 && len(t.Path) == 0 && b != nil && b.op == nil && b.lazy == nil && b.always == nil &&
			b.depth == c.depth && slices.Contains(slots, b.slot) {
			slot := b.slot
			return func(x *ctx, v value.Value) bool {
				if x.slots[slot] == nil {
					x.slots[slot] = v
					return true
				}
				return value.Equal(x.slots[slot], v)
			}
		}
	case *syntax.Tuple:
		parts := make([]func(*ctx, value.Value) bool, len(t.Items))
		for i, item := range t.Items {
			parts[i] = c.match(item, q, slots)
		}
		return func(x *ctx, v value.Value) bool {
			tuple, ok := v.(*value.Tuple)
			if !ok || len(tuple.Items) != len(parts) {
				return false
			}
			for i, part := range parts {
				if !part(x, tuple.Items[i]) {
					return false
				}
			}
			return true
		}
	}
	n := c.expr(arg, p)
	if n.inner > 0 {
		return func(*ctx, value.Value) bool { return false }
	}
	return func(x *ctx, v value.Value) bool { return value.Equal(n.eval(x), v) }
}
