package eval

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/tla/library"
	"github.com/bloodhound-dst/bloodhound/internal/tla/scope"
	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// call is an operator that is used, with its arguments where they stand.
type call struct {
	name string
	args []syntax.Expr
	from place
	at   *scope.Where
}

func (c *compiler) apply(e *syntax.Apply, p place) node {
	u := call{e.Name, e.Args, p, &scope.Where{Source: c.file(p), Pos: e.Pos}}
	if len(e.Path) == 0 {
		if b := p.env.find(e.Name); b != nil {
			return c.bound(b, u)
		}
	}
	d, q := c.lookup(e, p)
	return c.use(d, q, u)
}

// bound is the use of a name that is bound around.
func (c *compiler) bound(b *env, u call) node {
	if b.op != nil {
		return c.invoke(b.op, u)
	}
	if len(u.args) > 0 {
		c.failAt(u.at, "%s is not an operator: it takes no arguments", u.name)
	}
	return c.reference(b)
}

func (c *compiler) failAt(at *scope.Where, format string, args ...any) {
	c.fail(place{scope: &scope.Scope{Source: at.Source}}, at.Pos, format, args...)
}

func (c *compiler) invoke(op *closure, u call) node {
	if op.def == nil && op.body != nil {
		return c.inline(&scope.Def{Kind: scope.Operator, Name: op.name, Params: op.params, Body: op.body}, op.place, u)
	}
	u.name = op.name
	q := op.place
	if op.def != nil && placeAt(op.def.Place).env != nil {
		q.env = placeAt(op.def.Place).env
		q.scope = op.def.Place.Scope
		q.inst = placeAt(op.def.Place).inst
	}
	return c.use(op.def, q, u)
}

// use is the use of what a name stands for. q is where its definition's names are looked up.
func (c *compiler) use(d *scope.Def, q place, u call) node {
	if d == nil {
		return c.core(u)
	}
	if instead := d.Given(); instead != nil {
		d = instead
		q = place{scope: d.Place.Scope}
	}
	if d.Value != nil {
		c.arity(d, 0, u)
		return constNode(d.Value)
	}
	switch d.Kind {
	case scope.Constant:
		c.failAt(u.at, "the constant %s has no value: give it one in the configuration, as CONSTANT %s = 3", d.Name, d.Name)
	case scope.Variable:
		c.arity(d, 0, u)
		return c.variable(d, u.at)
	case scope.Operator:
		c.arity(d, len(d.Params), u)
		switch {
		case d.Body == nil:
			c.failAt(u.at, "%s is declared RECURSIVE and not defined", d.Name)
		case d.Recursive && len(d.Params) > 0:
			return c.recursive(d, q, u)
		case len(d.Params) == 0:
			return c.definition(d, q, u)
		}
		return c.inline(d, q, u)
	case scope.Substituted:
		around := place{inst: q.inst, scope: d.Place.Scope}
		if len(d.Params) > 0 {
			return c.invoke(c.operator(d.Body, around, len(d.Params)), u)
		}
		c.arity(d, 0, u)
		i := c.freed(d, around)
		if c.primed && i >= 0 {
			return c.next(i, d.Name, u.at)
		}
		n := c.expr(d.Body, around)
		if d.StandsIn && c.variableOf(d.Body, around) < 0 {
			n.freed = true
		}
		if i >= 0 {
			n.level = max(n.level, stateLevel) // its next value may be another one, even if this one is constant
		}
		if d.Steady && n.level > constantLevel {
			c.failAt(u.at, "the value of the constant %s of an instance depends on the state: it must be constant, since the "+
				"instanced module has variables or actions", d.Name)
		}
		return n
	case scope.Parameter:
		b := q.inst.find(d.Name)
		if b == nil {
			c.failAt(u.at, "the parameter %s has no value here", u.name)
		}
		return c.bound(b, u)
	case scope.Native:
		return c.native(d, u)
	case scope.Unsupported:
		c.failAt(u.at, "the operator %s is not supported", d.Name)
	}
	c.failAt(u.at, "%s is an instance of a module, not an expression: %s!Name is one", u.name, u.name)
	return node{}
}

func (c *compiler) arity(d *scope.Def, n int, u call) {
	if len(u.args) != n {
		c.failAt(u.at, "%s needs %s, and has %d", d.Name, plural.Count(n, "argument"), len(u.args))
	}
}

func (c *compiler) variable(d *scope.Def, at *scope.Where) node {
	i := d.Index
	name := d.Name
	if c.primed {
		return c.next(i, name, at)
	}
	level := stateLevel
	if c.assigning {
		level = actionLevel
	}
	bit := bitOf(i)
	bare := func(x *ctx) value.Value {
		x.m.read |= bit
		if cur := x.m.cur; i < len(cur) {
			if v := cur[i]; v != nil {
				return v
			}
			x.m.at = at
			value.Fail("the variable %s has no value yet", name)
		}
		x.m.at = at
		value.Fail("the variable %s has no value here: there is no state", name)
		return nil
	}
	return node{level: level, variable: i + 1, bare: bare, eval: func(x *ctx) value.Value {
		m := x.m
		if m.reads != nil {
			m.reads.Whole(i)
		}
		if i < len(m.cur) && m.cur[i] != nil {
			m.read |= bit
			return m.cur[i]
		}
		return bare(x)
	}}
}

// next is a variable of the next state.
func (c *compiler) next(i int, name string, at *scope.Where) node {
	bit := bitOf(i)
	bare := func(x *ctx) value.Value {
		x.m.readNext |= bit
		if nxt := x.m.nxt; i < len(nxt) {
			if v := nxt[i]; v != nil {
				return v
			}
			x.m.at = at
			value.Fail("%s' has no value yet", name)
		}
		x.m.at = at
		value.Fail("%s' has no value here: there is no next state", name)
		return nil
	}
	n := node{level: actionLevel, next: true, eval: bare}
	if i < len(c.variables) {
		n.variable, n.bare = i+1, bare
		n.eval = func(x *ctx) value.Value {
			if r := x.m.reads; r != nil { // it may have parts of the present one
				r.Whole(i)
			}
			return bare(x)
		}
	}
	return n
}

// freed is the number of the next value, within ENABLED, of what stands for a variable of the module around it and is none of ours, or is ours and stands for
// two; -1 for all else.
func (c *compiler) freed(d *scope.Def, around place) int {
	if c.enabling == nil || !d.StandsIn || len(d.Params) > 0 || !d.Encloses(c.enabling.scope) || around.inst.find(d.Instance()) != nil {
		return -1
	}
	next := c.enabling.next
	i, known := next[d]
	if !known {
		next[d] = -1 // while that is found out
		if i = -1; c.standsForMany(d, around) {
			i = len(c.variables)
			for _, k := range next {
				i = max(i, k+1)
			}
		}
		next[d] = i
	}
	return i
}

// standsForMany reports whether the next value of what stands for a variable is another one than that of a variable of ours: it is none, or it stands for
// a second variable of its module, too.
func (c *compiler) standsForMany(d *scope.Def, around place) bool {
	i := c.variableOf(d.Body, around)
	if i < 0 {
		return true
	}
	for _, other := range d.Replaced() {
		if other != d && other.StandsIn && len(other.Params) == 0 &&
			c.variableOf(other.Body, place{inst: around.inst, scope: other.Place.Scope}) == i {
			return true
		}
	}
	return false
}

// alone compiles in a frame of its own that nothing is around.
func (c *compiler) alone(f func() node) (node, int) {
	around := *c
	c.depth, c.size, c.live, c.primed, c.assigning, c.active, c.whole = 0, []int{0}, nil, false, false, nil, false
	defer func() {
		c.depth, c.size, c.live, c.primed, c.assigning, c.active, c.whole = around.depth, around.size, around.live, around.primed,
			around.assigning, around.active, around.whole
		c.via, c.reached, c.enabling = around.via, around.reached, around.enabling
	}()
	n := f()
	return n, c.size[0]
}

// definition is an operator without parameters. If it is constant it is evaluated once, however often it is used.
func (c *compiler) definition(d *scope.Def, q place, u call) node {
	if k := compiledOf(d).constant; k != nil && q.inst == nil && (!k.freed || c.enabling == nil) {
		return *k
	}
	compile := func() node {
		if d.Bounds != nil {
			return kept(c.function(d.Name, d.Bounds, d.Body, q, &d.At))
		}
		return c.expr(d.Body, q)
	}
	if c.depthOf(d, u); compiledOf(d).reached > 0 {
		defer func() { compiledOf(d).reached-- }()
	}
	if q.inst == nil && q.env == nil && !compiledOf(d).varies {
		end := c.using(d.Name, nil, nil) // the value is that of all uses
		n, size := c.alone(func() node { c.enabling = nil; return compile() })
		end()
		if n.level == constantLevel && !n.self {
			eval := n.eval
			once := func(x *ctx) value.Value { return eval(&ctx{slots: make([]value.Value, size), m: x.m}) }
			if n.fresh {
				once = drawnOnce(d.Name, once)
			}
			k := kept(node{eval: once, freed: n.freed})
			compiledOf(d).constant = &k
			if !n.freed || c.enabling == nil {
				return k
			}
			return compile()
		}
		compiledOf(d).varies = true
		compiledOf(d).costly = n.level == stateLevel && !n.fresh && !n.self && !n.next && (d.Bounds != nil || costly(d.Body))
	}
	if compiledOf(d).costly && q.inst == nil && q.env == nil && !c.assigning && (c.enabling == nil || !c.primed) {
		primed := 0
		if c.primed {
			primed = 1
		}
		if compiledOf(d).states[primed] == nil {
			end := c.using(d.Name, nil, nil)
			n, size := c.alone(func() node { c.primed = primed == 1; return compile() })
			end()
			if n.level > stateLevel+primed || n.fresh || n.self {
				panic("a definition whose value depends on how it is used")
			}
			n = c.remember(n, size, primed == 1)
			compiledOf(d).states[primed] = &n
		}
		return *compiledOf(d).states[primed]
	}
	defer c.within(d, u.at)()
	return compile()
}

// drawnOnce evaluates a constant that has effects, or chance, as TLC does: once for all. What it draws depends on its name, and
// not on the order of evaluation, unless a simulation has a seed.
func drawnOnce(name string, eval func(*ctx) value.Value) func(*ctx) value.Value {
	start := value.Text(name).Fingerprint()
	return func(x *ctx) value.Value {
		t := x.m.tlc
		before := t.drawn
		t.drawn = start
		v := library.Settled(eval(x))
		t.drawn = before
		return v
	}
}

// maxNested bounds how deep expressions may be in each other when those of definitions stand in the places of their uses.
const maxNested = 40_000

// maxBodies bounds the bodies that are compiled in the places of their uses. Definitions that use each other twice, and so on, double them.
const maxBodies = 1 << 20

// depthOf counts how deep the compiler is in a definition's body.
func (c *compiler) depthOf(d *scope.Def, u call) {
	if c.bodies++; c.bodies > maxBodies {
		c.failAt(u.at, "definitions use each other in more than %d places: use %s fewer times, or give its value a name with LET", maxBodies, d.Name)
	}
	if compiledOf(d).reached++; compiledOf(d).reached > 60 {
		c.failAt(u.at, "%s uses itself: declare it by RECURSIVE", d.Name)
	}
}

// inline compiles an operator's body in the place of its use.
func (c *compiler) inline(d *scope.Def, q place, u call) node {
	c.arity(d, len(d.Params), u)
	c.depthOf(d, u)
	defer func() { compiledOf(d).reached-- }()
	born := c.born
	to, begin := c.given(d.Params, q, u)
	defer c.within(d, u.at)()
	return begun(c.expr(d.Body, to).closed(born), begin)
}

func (c *compiler) given(params []syntax.Param, q place, u call) (place, []int) {
	var begin []int
	for i, param := range params {
		to, slot := c.bindArgument(q, param, u.args[i], u.from)
		if q = to; slot >= 0 {
			begin = append(begin, slot)
		}
	}
	return q, begin
}

// emptied empties slots before it evaluates.
func emptied[F ~func(*ctx) T, T any](eval F, slots []int) F {
	if len(slots) == 0 {
		return eval
	}
	return func(x *ctx) T {
		for _, s := range slots {
			x.slots[s] = nil
		}
		return eval(x)
	}
}

// begun empties slots before a node is evaluated.
func begun(n node, slots []int) node {
	eval, test := n.eval, n.test
	if n.except != nil {
		n.except = emptied(n.except, slots)
	}
	switch len(slots) {
	case 0:
		return n
	case 1:
		slot := slots[0]
		n.eval = func(x *ctx) value.Value {
			x.slots[slot] = nil
			return eval(x)
		}
		if test != nil {
			n.test = func(x *ctx) bool {
				x.slots[slot] = nil
				return test(x)
			}
		}
		return n
	}
	n.eval = emptied(eval, slots)
	if test != nil {
		n.test = emptied(test, slots)
	}
	return n
}

// recursive is the use of an operator that calls itself: its body is compiled once for what it is given, and each call has a frame.
func (c *compiler) recursive(d *scope.Def, q place, u call) node {
	args, to := c.recursiveArguments(d, q, u, false)
	for _, s := range slices.Backward(c.active) {
		if s.is(d, q, args) && s.prime == c.primed {
			n := c.enter(s, args.values, u.at)
			n.self = true
			return n
		}
	}
	if args.none() && q.env == nil && q.inst == nil && !c.assigning && (c.enabling == nil || !c.primed) {
		at := 0
		if c.primed {
			at = 1
		}
		if compiledOf(d).shared[at] == nil {
			prime := c.primed
			s := &special{def: d, prime: prime}
			compiledOf(d).shared[at] = s
			_, s.size = c.alone(func() node {
				c.primed, c.enabling = prime, nil
				c.special(s, q)
				return node{}
			})
		}
		if s := compiledOf(d).shared[at]; !s.body.freed || c.enabling == nil {
			n := c.enterAt(s, args.values, u.at, -1)
			return n.dependingOn(node{level: s.body.level, fresh: s.body.fresh, freed: s.body.freed, self: s.body.eval == nil})
		}
	}
	s := &special{def: d, env: q.env, inst: q.inst, args: args, prime: c.primed, depth: c.depth + 1}
	c.beginFrame()
	born := c.born
	c.special(s, to)
	s.size = c.end()
	n := c.enter(s, args.values, u.at).dependingOn(s.body.closed(born))
	n.self = len(c.active) > 0 && n.self
	return n
}

// special compiles the body of a recursive operator. Its frame is open.
func (c *compiler) special(s *special, q place) {
	q = c.recursiveParameters(s, q)
	c.active = append(c.active, s)
	defer c.using(s.def.Name, nil, s)()
	s.body = c.expr(s.def.Body, q)
	c.active = c.active[:len(c.active)-1]
	s.body.self = s.body.self && len(c.active) > 0
}

func sameOperators(a, b []*closure) bool {
	return slices.EqualFunc(a, b, func(x, y *closure) bool {
		return x == y || x.def != nil && x.def == y.def && x.place == y.place ||
			x.def == nil && y.def == nil && x.body == nil && y.body == nil && x.name == y.name
	})
}

// deepest is how deep expressions may be in each other as recursive operators and functions are evaluated: less than 1 kB of the stack for each.
// The stack may have 512 MB.
const deepest = 250_000

// deeper begins the evaluation of a recursive operator or function. What it adds to the depth is to be taken off at the end.
func (x *ctx) deeper(name string, height int, at *scope.Where) {
	if x.m.tlc.depth += height; x.m.tlc.depth > deepest {
		x.m.at = at
		value.Fail("%s uses itself without an end, or too many times to be evaluated", name)
	}
}

func (c *compiler) enter(s *special, args []node, at *scope.Where) node {
	return c.enterAt(s, args, at, c.depth-(s.depth-1))
}

// enterAt calls a recursive operator whose surrounding frame is some hops away from the caller's; with -1 there is none.
func (c *compiler) enterAt(s *special, args []node, at *scope.Where, hops int) node {
	call := &scope.Call{Special: s, At: at}
	return node{eval: func(x *ctx) value.Value {
		slots := make([]value.Value, s.size)
		for i := range args {
			slots[i] = args[i].eval(x)
		}
		t := x.m.tlc
		x.m.tick()
		y := &ctx{slots: slots, m: x.m, call: call, caller: t.top}
		if hops >= 0 {
			y.up = x.frame(hops)
		}
		height := s.body.height + 2
		x.deeper(s.def.Name, height, at)
		t.top = y
		v := s.body.eval(y)
		t.top = y.caller
		t.depth -= height
		return v
	}}.dependingOn(args...)
}
