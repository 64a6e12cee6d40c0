package eval

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/tla/scope"
	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// recursiveArguments are the arguments of a recursive operator. Its body is compiled for those that are no values: operators,
// actions, and variables that an initial predicate may give values. Others are evaluated for each call.
type recursiveArguments struct {
	operators []*closure
	fixed     []fixedArgument
	values    []node
}

// fixedArgument is an argument that stands in the body as it is, by the number of its parameter.
type fixedArgument struct {
	parameter int
	expr      syntax.Expr
	place     place
}

// none reports whether all arguments are values.
func (a *recursiveArguments) none() bool { return len(a.operators)+len(a.fixed) == 0 }

// is reports whether a body was compiled for an operator with these arguments.
func (s *special) is(d *scope.Def, q place, args recursiveArguments) bool {
	return s.def == d && s.env == q.env && s.inst == q.inst && sameOperators(s.args.operators, args.operators) && slices.Equal(s.args.fixed, args.fixed)
}

// recursiveArguments compiles the arguments of a recursive operator. It gives the place of the body, in which those that are fixed are bound.
func (c *compiler) recursiveArguments(d *scope.Def, q place, u call, action bool) (a recursiveArguments, to place) {
	to = q
	for i, param := range d.Params {
		arg := u.args[i]
		if param.Arity > 0 {
			a.operators = append(a.operators, c.operator(arg, u.from, param.Arity))
			continue
		}
		n := c.expr(arg, u.from)
		if syntax.Any(d.Body, func(e syntax.Expr) bool { return primes(e, param.Text) }) {
			c.failAt(&d.At, "%s is RECURSIVE, and primes its parameter %s: give it the next value as an argument", d.Name, param.Text)
		}
		variable := c.assigning && c.variableOf(arg, u.from) >= 0
		if variable || action && n.level >= actionLevel && acts(d.Body, param.Text) {
			e, p := c.through(arg, u.from)
			a.fixed = append(a.fixed, fixedArgument{i, e, p})
			to = c.bind(to, param.Text, binding{slot: -1, always: &n, expr: e, place: p})
			continue
		}
		a.values = append(a.values, n)
	}
	return a, to
}

// primes reports whether an expression asks for the next value of a name.
func primes(e syntax.Expr, name string) bool {
	switch e := e.(type) {
	case *syntax.Apply:
		return len(e.Path) == 0 && (e.Name == "'" || e.Name == "UNCHANGED") && syntax.Names(e, name)
	case *syntax.Action:
		return syntax.Names(e.Subscript, name)
	}
	return false
}

// acts reports whether a name stands for an action in an action.
func acts(e syntax.Expr, name string) bool {
	some := func(list []syntax.Expr) bool {
		return slices.ContainsFunc(list, func(e syntax.Expr) bool { return acts(e, name) })
	}
	switch e := e.(type) {
	case *syntax.Apply:
		return len(e.Path) == 0 && len(e.Args) == 0 && e.Name == name
	case *syntax.Paren:
		return acts(e.Inner, name)
	case *syntax.Junction:
		return some(e.Items)
	case *syntax.Quantified:
		return acts(e.Body, name)
	case *syntax.If:
		return acts(e.Then, name) || acts(e.Else, name)
	case *syntax.Case:
		for _, arm := range e.Arms {
			if acts(arm.Value, name) {
				return true
			}
		}
		return e.Other != nil && acts(e.Other, name)
	case *syntax.Let:
		return acts(e.Body, name)
	}
	return false
}

// recursiveParameters binds the parameters of a recursive operator in its frame, but those that are bound already.
func (c *compiler) recursiveParameters(s *special, q place) place {
	operators := s.args.operators
	for i, param := range s.def.Params {
		switch {
		case param.Arity > 0:
			q = c.bind(q, param.Text, binding{slot: -1, op: operators[0]})
			operators = operators[1:]
		case !slices.ContainsFunc(s.args.fixed, func(f fixedArgument) bool { return f.parameter == i }):
			q, _ = c.name(q, param.Text)
		}
	}
	return q
}

// mostActing bounds for how many different arguments one recursive operator is compiled while it is compiled: it may be given another action each time.
const mostActing = 20

// recursiveAct compiles the use of a recursive operator as an action: what follows it is known when it is called. A condition is nil, or counted.
func (c *compiler) recursiveAct(e *syntax.Apply, p place, d *scope.Def, q place, u call, next act) act {
	if !c.assigning && !c.assigns(e, p) {
		return c.condition(e, p, next)
	}
	before := c.targets
	c.arity(d, len(d.Params), u)
	args, to := c.recursiveArguments(d, q, u, true)
	var s *special
	times := 0
	for _, around := range c.acting {
		if around.def == d {
			times++
		}
		if around.is(d, q, args) && around.enabling == c.enabling {
			s = around
		}
	}
	if s == nil {
		if times > mostActing {
			c.failAt(u.at, "%s is given other operators or actions each time that it uses itself, which is not supported in an action", d.Name)
		}
		s = &special{def: d, env: q.env, inst: q.inst, args: args, depth: c.depth + 1, enabling: c.enabling}
		c.acting = append(c.acting, s)
		c.beginFrame()
		inside := c.recursiveParameters(s, to)
		end := c.using(d.Name, nil, s)
		s.act = c.act(d.Body, inside, (*ctx).resume)
		end()
		s.size = c.end()
		c.acting = c.acting[:len(c.acting)-1]
		if c.assigning && c.targets == before { // it gives no variable its value
			return c.counted(e, p, next)
		}
	}
	return c.enterAct(s, args.values, u.at, next)
}

// actHeight is how deep a recursive operator's action counts as nested: actions are no nodes.
const actHeight = 50

// enterAct calls a recursive operator as an action.
func (c *compiler) enterAct(s *special, args []node, at *scope.Where, next act) act {
	call, hops := &scope.Call{Special: s, At: at}, c.depth-(s.depth-1)
	return func(x *ctx) bool {
		m := x.m
		t := m.tlc
		y := &ctx{slots: make([]value.Value, s.size), up: x.frame(hops), m: m, call: call, caller: t.top}
		for i := range args {
			y.slots[i] = args[i].eval(x)
		}
		m.tick()
		x.deeper(s.def.Name, actHeight, at)
		t.top = y
		m.then = append(m.then, func(*ctx) bool {
			t.top = y.caller
			found := next(x)
			t.top = y
			return found
		})
		found := s.act(y)
		m.then = m.then[:len(m.then)-1]
		t.top = y.caller
		t.depth -= actHeight
		return found
	}
}
