package eval

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/tla/scope"
	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// frame is the context that is some frames further out.
func (x *ctx) frame(hops int) *ctx {
	for ; hops > 0; hops-- {
		x = x.up
	}
	return x
}

// reference is the value of a name that is bound around.
func (c *compiler) reference(e *env) node {
	hops := c.depth - e.depth
	switch {
	case e.always != nil:
		n := *e.always
		if c.primed && n.level > constantLevel && e.expr != nil {
			return c.expr(e.expr, e.place)
		}
		if hops > 0 {
			eval, test := n.eval, n.test
			n.excepts, n.except = 0, nil
			n.eval = func(x *ctx) value.Value { return eval(x.frame(hops)) }
			if test != nil {
				n.test = func(x *ctx) bool { return test(x.frame(hops)) }
			}
		}
		return n
	case e.lazy != nil:
		if c.primed && e.lazy.level > constantLevel && e.expr != nil {
			return c.expr(e.expr, e.place)
		}
		slot, fill := e.slot, e.lazy.eval
		n := node{level: e.lazy.level, height: e.lazy.height, reach: max(reach(e.born), e.lazy.reach), inner: e.lazy.inner}
		n.fresh, n.freed, n.self, n.next = e.lazy.fresh, e.lazy.freed, e.lazy.self, e.lazy.next
		if hops == 0 {
			n.eval = func(x *ctx) value.Value {
				if v := x.slots[slot]; v != nil {
					return v
				}
				v := fill(x)
				x.slots[slot] = v
				return v
			}
			return n
		}
		n.eval = func(x *ctx) value.Value {
			x = x.frame(hops)
			if v := x.slots[slot]; v != nil {
				return v
			}
			v := fill(x)
			x.slots[slot] = v
			return v
		}
		return n
	}
	slot := e.slot
	n := node{reach: reach(e.born), inner: e.born}
	switch hops {
	case 0:
		n.eval = func(x *ctx) value.Value { return x.slots[slot] }
	case 1:
		n.eval = func(x *ctx) value.Value { return x.up.slots[slot] }
	default:
		n.eval = func(x *ctx) value.Value { return x.frame(hops).slots[slot] }
	}
	return n
}

// bindArgument binds a parameter to an argument, compiled where the argument is. It gives the slot that must be emptied when the operator is
// used again, or -1.
func (c *compiler) bindArgument(to place, param syntax.Param, arg syntax.Expr, from place) (place, int) {
	if param.Arity > 0 {
		return c.bind(to, param.Text, binding{slot: -1, op: c.operator(arg, from, param.Arity)}), -1
	}
	n := c.expr(arg, from)
	b := binding{slot: -1, expr: arg, place: from}
	if n.reach == 0 && n.level == constantLevel && !n.fresh && !n.self || n.level >= actionLevel || c.cheap(arg, from) {
		b.always = &n
		return c.bind(to, param.Text, b), -1
	}
	b.lazy, b.slot = &n, c.slot()
	return c.bind(to, param.Text, b), b.slot
}

// cheap reports whether an expression is a name whose value is at hand.
func (c *compiler) cheap(e syntax.Expr, p place) bool {
	a, ok := e.(*syntax.Apply)
	if !ok || len(a.Args) > 0 || len(a.Path) > 0 {
		return false
	}
	if b := p.env.find(a.Name); b != nil {
		return b.op == nil
	}
	d := p.scope.Find(a.Name)
	return d != nil && d.Kind == scope.Variable
}

// operator is the operator that an argument names, or its LAMBDA.
func (c *compiler) operator(arg syntax.Expr, p place, arity int) *closure {
	switch a := arg.(type) {
	case *syntax.Lambda:
		if len(a.Params) != arity {
			c.fail(p, a.Pos, "the LAMBDA takes %s, where an operator of %d is needed", plural.Count(len(a.Params), "argument"), arity)
		}
		return &closure{name: "LAMBDA", params: a.Params, body: a.Body, place: p}
	case *syntax.Apply:
		if len(a.Args) == 0 {
			if len(a.Path) == 0 {
				if b := p.env.find(a.Name); b != nil && b.op != nil {
					return b.op
				}
			}
			d, q := c.lookup(a, p)
			if d != nil && d.Kind == scope.Parameter {
				if b := p.inst.find(d.Name); b != nil && b.op != nil {
					return b.op
				}
			}
			if d != nil && d.Kind == scope.Substituted {
				return c.operator(d.Body, place{inst: q.inst, scope: d.Place.Scope}, arity)
			}
			if instead := d.Given(); instead != nil {
				d = instead
				q = place{inst: q.inst, scope: d.Place.Scope}
			}
			if d == nil {
				return c.coreOperator(a, p, arity)
			}
			if d.Kind == scope.Operator && len(d.Params) != arity {
				c.fail(p, a.Pos, "the operator %s takes %s, where one of %d is needed", a.Name, plural.Count(len(d.Params), "argument"), arity)
			}
			return &closure{name: a.Name, def: d, place: q}
		}
	}
	c.fail(p, arg.Position(), "an operator of %s is needed here: its name, or a LAMBDA", plural.Count(arity, "argument"))
	return nil
}

// coreOperator is an operator of the language as an argument: what it makes of its operands.
func (c *compiler) coreOperator(a *syntax.Apply, p place, arity int) *closure {
	key := coreKey{a.Name, arity}
	if known := c.coreOperators[key]; known != nil {
		return known
	}
	op := &closure{name: a.Name, place: place{scope: p.scope}}
	var operands []syntax.Expr
	for i := range arity {
		name := string(rune('1' + i)) // no name of TLA+ is a number
		op.params = append(op.params, syntax.Param{Name: syntax.Name{Pos: a.Pos, Text: name}})
		operands = append(operands, &syntax.Apply{Pos: a.Pos, Name: name})
	}
	op.body = &syntax.Apply{Pos: a.Pos, Name: a.Name, Args: operands}
	if and := a.Name == `/\`; (and || a.Name == `\/`) && arity == 2 {
		op.body = &syntax.Junction{Pos: a.Pos, And: and, Items: operands}
	}
	if c.coreOperators == nil {
		c.coreOperators = map[coreKey]*closure{}
	}
	c.coreOperators[key] = op
	return op
}

// standing is a parameter as its argument, which is evaluated each time.
func (c *compiler) standing(arity int, arg syntax.Expr, from place) binding {
	if arity > 0 {
		return binding{slot: -1, op: c.operator(arg, from, arity)}
	}
	n := c.expr(arg, from)
	return binding{slot: -1, always: &n, expr: arg, place: from}
}

// lookup finds what a name stands for, and where its definition's names are looked up. Core operators have no definition: nil.
func (c *compiler) lookup(a *syntax.Apply, p place) (*scope.Def, place) {
	within := p.scope
	q := place{inst: p.inst}
	first := true
	var instances []*scope.Def
	for i, s := range a.Path {
		var d *scope.Def
		if first {
			if b := p.env.find(s.Text); b != nil && b.op != nil {
				d = b.op.def
			}
		}
		if b := p.env.find(s.Text); d == nil && first && b != nil && b.op == nil && b.expr != nil { // a definition of LET
			d = &scope.Def{Kind: scope.Operator, Name: s.Text, Body: b.expr, Place: b.place.site()}
		}
		if d == nil {
			if first {
				d = within.Find(s.Text)
			} else {
				d = within.Names[s.Text]
			}
		}
		if d == nil {
			c.fail(p, s.Pos, "%s is not defined", s.Text)
		}
		if d.Kind == scope.Operator && d.Body != nil { // Inv!2 is a part of the definition of Inv
			return c.part(d, q, a, i, p)
		}
		if d.Kind != scope.Instance || d.Inner == nil {
			c.fail(p, s.Pos, "%s is not an instance of a module: %s! cannot select from it", s.Text, s.Text)
		}
		if len(s.Args) != len(d.Params) {
			c.fail(p, s.Pos, "%s needs %s, and has %d", s.Text, plural.Count(len(d.Params), "argument"), len(s.Args))
		}
		for i, param := range d.Params {
			b := c.standing(param.Arity, s.Args[i], p)
			c.born++
			b.born, b.depth = c.born, c.depth
			q.inst = &env{d.Keys[param.Text], q.inst, b}
		}
		if c.enabling != nil && first && d.Encloses(c.enabling.scope) && !d.Encloses(p.scope) { // an argument of ENABLED, from outside of the instance
			q.inst = &env{name: d.Instance(), up: q.inst}
		}
		within, first = d.Inner, false
		instances = append(instances, d)
	}
	var d *scope.Def
	if len(a.Path) > 0 {
		if d = within.Names[a.Name]; d == nil {
			c.fail(p, a.Pos, "%s is not defined in module %s", a.Name, within.Module)
		}
		for _, i := range slices.Backward(instances) {
			d = c.loader.Selected(i, d)
		}
	} else {
		d = within.Find(a.Name)
	}
	q.scope = within
	if d != nil {
		q.env = placeAt(d.Place).env
		if d.Place.Scope != nil {
			q.scope = d.Place.Scope
		}
	}
	return d, q
}

// let binds the definitions of a LET. It gives the slots that are to be emptied when the LET begins.
func (c *compiler) let(units []syntax.Unit, p place) (place, []int) {
	var begin []int
	recursive := map[string]*scope.Def{}
	for _, u := range units {
		at := scope.Where{Source: c.file(p), Pos: syntax.Pos{}}
		switch u := u.(type) {
		case syntax.Recursive:
			for _, r := range u.List {
				at.Pos = r.Pos
				d := &scope.Def{Kind: scope.Operator, Name: r.Text, At: at, Recursive: true, Params: make([]syntax.Param, r.Arity)}
				recursive[r.Text] = d
				p = c.bind(p, r.Text, binding{slot: -1, op: &closure{name: r.Text, def: d}})
			}
		case *syntax.Operator:
			at.Pos = u.Pos
			if d := recursive[u.Text]; d != nil {
				d.Params, d.Body, d.Place = u.Params, u.Body, p.site()
				continue
			}
			if len(u.Params) > 0 {
				d := &scope.Def{Kind: scope.Operator, Name: u.Text, At: at, Params: u.Params, Body: u.Body, Place: p.site()}
				p = c.bind(p, u.Text, binding{slot: -1, op: &closure{name: u.Text, def: d, place: p}})
				continue
			}
			q, slot := c.bindArgument(p, syntax.Param{Name: u.Name}, u.Body, p)
			if p = q; slot >= 0 {
				begin = append(begin, slot)
			}
		case *syntax.Function:
			at := &scope.Where{Source: c.file(p), Pos: u.Pos}
			n := kept(c.function(u.Text, u.Bounds, u.Body, p, at))
			b := binding{slot: -1}
			if n.reach == 0 && n.level == constantLevel && !n.self && !n.fresh || n.level >= actionLevel {
				b.always = &n
			} else {
				b.lazy, b.slot = &n, c.slot()
				begin = append(begin, b.slot)
			}
			b.expr = &letFunction{u}
			b.place = p
			p = c.bind(p, u.Text, b)
		case *syntax.Instance:
			s := &scope.Scope{Module: p.scope.Module, Names: map[string]*scope.Def{}, Up: p.scope}
			c.loader.Instance(s, u, p.site(), func(pos syntax.Pos) scope.Where { return scope.Where{Source: c.file(p), Pos: pos} })
			p = c.bind(p, u.Text, binding{slot: -1, op: &closure{name: u.Text, def: s.Names[u.Text]}})
		}
	}
	return p, begin
}

// letFunction is the definition of a function within LET, for when its value is needed of the next state.
type letFunction struct{ *syntax.Function }

func (f *letFunction) Position() syntax.Pos { return f.Pos }
