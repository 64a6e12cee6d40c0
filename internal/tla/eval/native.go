package eval

import (
	"github.com/bloodhound-dst/bloodhound/internal/tla/library"
	"github.com/bloodhound-dst/bloodhound/internal/tla/scope"
	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// compiles is how the evaluator compiles the use of a special operator.
type compiles = func(c *compiler, d *scope.Def, u call) node

func (c *compiler) native(d *scope.Def, u call) node {
	b := d.Native
	args := func(n int) []node {
		c.arity(d, n, u)
		return c.all(u.args, u.from)
	}
	at := u.at
	switch {
	case b.None != nil:
		args(0)
		return constNode(b.None)
	case b.One != nil:
		a := args(1)
		return node{eval: func(x *ctx) value.Value {
			v := a[0].eval(x)
			x.m.at = at
			return b.One(v)
		}}.dependingOn(a...)
	case b.Two != nil:
		a := args(2)
		f, first, second := b.Two, a[0].eval, a[1].eval
		return node{eval: func(x *ctx) value.Value {
			v, w := first(x), second(x)
			x.m.at = at
			return f(v, w)
		}}.dependingOn(a...)
	case b.Three != nil:
		a := args(3)
		return node{eval: func(x *ctx) value.Value {
			u, v, w := a[0].eval(x), a[1].eval(x), a[2].eval(x)
			x.m.at = at
			return b.Three(u, v, w)
		}}.dependingOn(a...)
	case b.Test != nil:
		a := args(1)
		return testNode(func(x *ctx) bool {
			v := a[0].eval(x)
			x.m.at = at
			return b.Test(v)
		}, a...)
	case b.Compare != nil:
		a := args(2)
		f, first, second := b.Compare, a[0].eval, a[1].eval
		return testNode(func(x *ctx) bool {
			v, w := first(x), second(x)
			x.m.at = at
			return f(v, w)
		}, a...)
	}
	if b.Special != nil {
		return b.Special.(compiles)(c, d, u)
	}
	c.arity(d, b.Arguments, u)
	switch {
	case b.Effect != nil:
		args := c.all(u.args, u.from)
		return node{fresh: true, eval: func(x *ctx) value.Value {
			values := evalAll(x, args)
			x.m.at = at
			return b.Effect(values)
		}}.dependingOn(args...)
	case b.Draw != nil:
		c.draws = true
		args := c.all(u.args, u.from)
		return node{fresh: true, eval: func(x *ctx) value.Value {
			values := make([]value.Value, len(args))
			for i := range args {
				values[i] = args[i].eval(x)
			}
			x.m.at = at
			return b.Draw(x.m.tlc.chance, values)
		}}.dependingOn(args...)
	case b.Pick != nil:
		return c.pick(b, u)
	}
	return c.fold(b, u)
}

// operand compiles an operator that is an argument, as a function of values.
func (c *compiler) operand(arg syntax.Expr, from place, arity int, at *scope.Where) (func(x *ctx, args ...value.Value) value.Value, node) {
	op := c.operator(arg, from, arity)
	born := c.born
	p := from
	slots := make([]int, arity)
	u := call{name: op.name, at: at}
	for i := range arity {
		name := string(rune('1' + i)) // no name of TLA+ is a number
		p, slots[i] = c.name(p, name)
		u.args = append(u.args, &syntax.Apply{Pos: at.Pos, Name: name})
	}
	u.from = p
	n := c.invoke(op, u).closed(born)
	return func(x *ctx, args ...value.Value) value.Value {
		for i, s := range slots {
			x.slots[s] = args[i]
		}
		return n.eval(x)
	}, n
}

// pick compiles an operator whose last argument tests items.
func (c *compiler) pick(b *library.Builtin, u call) node {
	last := len(u.args) - 1
	test, tested := c.operand(u.args[last], u.from, 1, u.at)
	args, at := c.all(u.args[:last], u.from), u.at
	return node{eval: func(x *ctx) value.Value {
		values := evalAll(x, args)
		x.m.at = at
		return b.Pick(values, func(v value.Value) bool {
			holds := test(x, v)
			x.m.at = at
			return library.Boolean(holds)
		})
	}}.dependingOn(append(args, tested)...)
}

// fold compiles an operator whose first argument is an operator of two.
func (c *compiler) fold(b *library.Builtin, u call) node {
	f, n := c.operand(u.args[0], u.from, 2, u.at)
	others, at := c.all(u.args[1:], u.from), u.at
	return node{eval: func(x *ctx) value.Value {
		args := make([]value.Value, len(others))
		for i := range others {
			args[i] = others[i].eval(x)
		}
		x.m.at = at
		return b.Fold(args, func(a, b value.Value) value.Value { return f(x, a, b) })
	}}.dependingOn(append(others, n)...)
}
