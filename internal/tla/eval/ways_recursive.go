package eval

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/tla/scope"
	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// counting is a function by its rule, or a recursive operator, whose ways are being compiled. Where it uses itself it counts once
// as long as it is not known whether there can be more; if so, its body is compiled again.
type counting struct {
	self  *env       // of a function: its name, within its body
	op    *scope.Def // or an operator, and what is around it
	env   *env
	inst  *env
	depth int // of its frame
	many  bool
	used  bool // by itself
	count ways // of the body, in a frame of its own
	body  node
	size  int
}

// waysRule is a function by its rule that counts in how many ways its values are true.
type waysRule struct {
	rule
	ways   func(value.Value) int
	counts map[uint64][]argumentCount
}

type argumentCount struct {
	argument value.Value
	count    int
}

// count is a function's count for an argument. Like its values it is found once for each.
func (f *waysRule) count(x value.Value) int {
	if !value.Contains(f.domain, x) {
		value.Apply(f, x) // which fails
	}
	key := x.Fingerprint()
	for _, n := range f.counts[key] {
		if value.Equal(n.argument, x) {
			return n.count
		}
	}
	n := f.ways(x)
	if f.counts == nil {
		f.counts = map[uint64][]argumentCount{}
	}
	f.counts[key] = append(f.counts[key], argumentCount{x, n})
	return n
}

// compileCount compiles the count of a body in a frame of its own, whose first names bind gives. It reports whether the count can be more than 1.
func (c *compiler) compileCount(f *counting, e syntax.Expr, bind func() place) bool {
	c.beginFrame()
	p := bind()
	f.depth = c.depth
	c.counts = append(c.counts, f)
	if f.count, f.many = c.ways(e, p); f.many {
		if f.used {
			f.count, _ = c.ways(e, p)
		}
		f.body = c.expr(e, p)
	}
	c.counts = c.counts[:len(c.counts)-1]
	f.size = c.end()
	return f.many
}

// waysOfValue is ways of f[x] where f is a function by its rule, which may use itself; nil if the count cannot be more than 1. Of
// constant definitions TLC keeps the values, unless they use themselves.
func (c *compiler) waysOfValue(e *syntax.Index, p place) ways {
	at := c.whereOf(e, p)
	to, q := c.through(e.Function, p)
	var name string
	var bounds []syntax.Bound
	var body syntax.Expr
	switch f := to.(type) {
	case *syntax.FunctionOf:
		bounds, body = f.Bounds, f.Body
	case *syntax.Apply:
		if len(f.Args) > 0 {
			return nil
		}
		if b := q.env.find(f.Name); b != nil && len(f.Path) == 0 {
			if i := slices.IndexFunc(c.counts, func(f *counting) bool { return f.self == b }); i >= 0 {
				return c.valueAgain(c.counts[i], e, p)
			}
			let, ok := b.expr.(*letFunction)
			if !ok {
				return nil
			}
			name, bounds, body, q = let.Text, let.Bounds, let.Body, b.place
			break
		}
		d, around := c.lookup(f, q)
		if instead := d.Given(); instead != nil {
			d = instead
			around = place{scope: d.Place.Scope}
		}
		if d == nil || d.Kind != scope.Operator || d.Value != nil || d.Bounds == nil {
			return nil
		}
		name, bounds, body, q = d.Name, d.Bounds, d.Body, around
	default:
		return nil
	}
	if a, ok := e.Function.(*syntax.Apply); ok && p.env.find(a.Name) == nil && c.expr(a, p).level == constantLevel &&
		(name == "" || !syntax.Names(body, name)) {
		return nil
	}
	defer c.using(name, at, nil)()
	_, outside, _ := c.loops(bounds, q, at)
	argument := c.argument(e, p)
	f := &counting{}
	var self int
	var binds []func(*ctx, value.Value)
	if !c.compileCount(f, body, func() place {
		q, self = c.name(q, name)
		f.self = q.env
		q, binds = c.parameters(bounds, q, at)
		return q
	}) {
		return nil
	}
	height := f.body.height + 5
	return func(x *ctx) int {
		g := &waysRule{rule: rule{domain: domainOf(x, outside)}}
		frame := func(v value.Value) *ctx {
			y := &ctx{slots: make([]value.Value, f.size), up: x, m: x.m}
			y.slots[self] = g
			bindAll(y, binds, v)
			x.m.tick()
			x.deeper(name, height, at)
			return y
		}
		g.of = func(v value.Value) value.Value {
			v = f.body.eval(frame(v))
			x.m.tlc.depth -= height
			return v
		}
		g.ways = func(v value.Value) int {
			n := f.count(frame(v))
			x.m.tlc.depth -= height
			return n
		}
		v := argument(x)
		x.m.at = at
		return g.count(v)
	}
}

// argument returns the argument of a function application: a tuple if there are several.
func (c *compiler) argument(e *syntax.Index, p place) func(*ctx) value.Value {
	args := c.all(e.Args, p)
	if len(args) == 1 {
		return args[0].eval
	}
	return func(x *ctx) value.Value { return value.NewTuple(evalAll(x, args)) }
}

// valueAgain is ways of f[x] in the body of f.
func (c *compiler) valueAgain(f *counting, e *syntax.Index, p place) ways {
	if f.used = true; !f.many {
		return nil
	}
	at, hops, argument := c.whereOf(e, p), c.depth-f.depth, c.argument(e, p)
	slot := f.self.slot
	return func(x *ctx) int {
		v := argument(x)
		x.m.at = at
		return x.frame(hops).slots[slot].(*waysRule).count(v)
	}
}

// waysOfRecursive is ways of a recursive operator; nil if the count cannot be more than 1.
func (c *compiler) waysOfRecursive(d *scope.Def, q place, u call) ways {
	c.arity(d, len(d.Params), u)
	var args []node
	for i, param := range d.Params {
		if param.Arity > 0 {
			return nil
		}
		args = append(args, c.expr(u.args[i], u.from))
	}
	i := slices.IndexFunc(c.counts, func(f *counting) bool { return f.op == d && f.env == q.env && f.inst == q.inst })
	if i >= 0 {
		f := c.counts[i]
		if f.used = true; !f.many {
			return nil
		}
		return c.operatorCount(f, args, u, c.depth-f.depth+1)
	}
	f := &counting{op: d, env: q.env, inst: q.inst}
	defer c.using(d.Name, u.at, nil)()
	if !c.compileCount(f, d.Body, func() place {
		for _, param := range d.Params {
			q, _ = c.name(q, param.Text)
		}
		return q
	}) {
		return nil
	}
	return c.operatorCount(f, args, u, 0)
}

// operatorCount calls a recursive operator, around which is the frame that is some hops away.
func (c *compiler) operatorCount(f *counting, args []node, u call, hops int) ways {
	return func(x *ctx) int {
		y := &ctx{slots: make([]value.Value, f.size), up: x.frame(hops), m: x.m}
		for i := range args {
			y.slots[i] = args[i].eval(x)
		}
		x.m.tick()
		height := f.body.height + 2
		x.deeper(f.op.Name, height, u.at)
		n := f.count(y)
		x.m.tlc.depth -= height
		return n
	}
}
