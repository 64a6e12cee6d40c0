package eval

import (
	"maps"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/splitmix"
	"github.com/bloodhound-dst/bloodhound/internal/tla/library"
	"github.com/bloodhound-dst/bloodhound/internal/tla/scope"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// registers holds the registers of TLCGet and TLCSet, and the output of Print.
type registers struct {
	Simulating bool
	Exit       bool // the specification wants the check to end: TLCSet("exit", TRUE)
	values     map[int64]value.Value
	named      map[string]value.Value // whose names begin with namedRegister
	Level      int
	Named      func(name string) value.Value
	Print      func(string)
	Random     func() uint64
	depth      int  // of the expressions of recursive operators and functions that are evaluated in each other
	top        *ctx // the innermost frame of these operators
	drawn      uint64
	inside     *machine    // of the function or set, given by a rule, that is being evaluated
	Pause      func() bool // reports, now and then, whether the evaluation is to end
	Ticks      uint32
	budget     uint32 // the evaluation ends after so many ticks; 0: it does not
	// behaviour is the one that led to the present state, which is its last.
	Behaviour func(cur State) ([]State, error)
	// Possible counts how often each of what is under _POSSIBLE was met; nil: nobody counts.
	Possible func() value.Value
	// Seen reports whether a state is one that was found before.
	Seen func(State) bool
	// Deferred evaluates what TLCDefer was given last; nil: nothing.
	Deferred func()
	// Counterexample returns the counterexample for a POSTCONDITION that asks for it.
	Counterexample func() value.Value
}

// Registers whose names begin with this are set by TLCSet. The one of possible counts what is under _POSSIBLE.
const (
	namedRegister = "s:"
	possible      = namedRegister + "_possible"
)

func printed(c *compiler, d *scope.Def, u call, of int, result func([]value.Value) value.Value) node {
	c.arity(d, of, u)
	args := c.all(u.args, u.from)
	return node{fresh: true, eval: func(x *ctx) value.Value {
		values := evalAll(x, args)
		if x.m.tlc != nil && x.m.tlc.Print != nil {
			text := values[0].String()
			if of == 2 {
				text += "  " + values[1].String()
			}
			x.m.tlc.Print(text)
		}
		return result(values)
	}}.dependingOn(args...)
}

// trace is the behaviour up to the present state, as a sequence of records with the variables' values.
func trace(c *compiler, d *scope.Def, u call) node {
	c.arity(d, 0, u)
	at := u.at
	var names []value.Value
	for _, v := range c.variables {
		names = append(names, value.Text(v.Name))
	}
	return node{fresh: true, level: actionLevel, eval: func(x *ctx) value.Value {
		x.m.at = at
		if x.m.tlc.Behaviour == nil || len(x.m.cur) == 0 {
			value.Fail("Trace has no value here: there is no behaviour")
		}
		x.m.anything()()
		states, err := x.m.tlc.Behaviour(x.m.cur)
		if err != nil {
			value.Fail("Trace: %v", err)
		}
		items := make([]value.Value, len(states))
		for i, s := range states {
			items[i] = value.FunctionOf(names, s)
		}
		return value.NewTuple(items)
	}}
}

// counterExample is the counterexample that POSTCONDITION asks for.
func counterExample(c *compiler, d *scope.Def, u call) node {
	c.arity(d, 0, u)
	at := u.at
	return node{fresh: true, level: actionLevel, eval: func(x *ctx) value.Value {
		x.m.at = at
		if x.m.tlc.Counterexample == nil {
			value.Fail("CounterExample has a value in POSTCONDITION only")
		}
		return x.m.tlc.Counterexample()
	}}
}

// getOr returns the value of a register, or other if the register is unset.
func (r *registers) getOr(key, other value.Value, m *machine, at *scope.Where) value.Value {
	m.at = at
	unset := false
	switch k := key.(type) {
	case value.Int:
		unset = r.values[int64(k)] == nil
	case *value.String:
		unset = strings.HasPrefix(k.Text, namedRegister) && r.register(k.Text) == nil
	}
	if unset {
		return library.Settled(other)
	}
	return r.get(key)
}

// assertError reports whether an expression cannot be evaluated. The text of the error is this program's, so it is not compared.
func assertError(c *compiler, d *scope.Def, u call) node {
	c.arity(d, 2, u)
	text, e := c.expr(u.args[0], u.from), c.expr(u.args[1], u.from)
	return testNode(func(x *ctx) (failed bool) {
		text.eval(x)
		t := x.m.tlc
		depth, top, inside := t.depth, t.top, t.inside
		defer func() {
			switch r := recover().(type) {
			case nil:
			case *value.Error:
				failed, t.depth, t.top, t.inside = true, depth, top, inside
			default:
				panic(r)
			}
		}()
		e.eval(x)
		return false
	}, text, e)
}

func (r *registers) get(key value.Value) value.Value {
	switch k := key.(type) {
	case value.Int:
		if v := r.values[int64(k)]; v != nil {
			return v
		}
		value.Fail("TLCGet(%d): no TLCSet has set this register", k)
	case *value.String:
		switch k.Text {
		case "stats":
			return r.statistics()
		case "all":
			return r.all()
		case "all:named":
			return r.allNamed()
		case "level":
			return value.Int(r.Level)
		case "config":
			if r.Simulating {
				return walking
			}
			return configuration
		case "-Dtlc2.tool.impl.Tool.cdot": // compositions of actions are always evaluated
			return value.Text("true")
		}
		if r.Named != nil {
			if v := r.Named(k.Text); v != nil {
				return v
			}
		}
		if strings.HasPrefix(k.Text, namedRegister) {
			if v := r.register(k.Text); v != nil {
				return v
			}
			value.Fail("TLCGet(%s): no TLCSet has set this register", value.Short(key))
		}
		value.Fail("TLCGet(%s) is not supported: there are level, stats, diameter, distinct, queue, generated, duration, config, "+
			"all, all:named, numbers, and names that begin with s:", k)
	}
	value.Fail("TLCGet needs a number or a string, and not %s", value.Short(key))
	return nil
}

// register returns the value of a named register, or nil if it is unset.
func (r *registers) register(name string) value.Value {
	if name == possible && r.Possible != nil {
		return r.Possible()
	}
	return r.named[name]
}

// all is TLCGet("all"): of each register with a number what each worker has in it, of which there is one.
func (r *registers) all() value.Value {
	var numbers, values []value.Value
	for _, n := range slices.Sorted(maps.Keys(r.values)) {
		numbers, values = append(numbers, value.Int(n)), append(values, value.NewTuple([]value.Value{r.values[n]}))
	}
	return value.FunctionOf(numbers, values)
}

// allNamed is TLCGet("all:named"): the same of registers with names.
func (r *registers) allNamed() value.Value {
	names := slices.Collect(maps.Keys(r.named))
	if r.Possible != nil && r.Possible() != nil {
		names = append(names, possible)
	}
	slices.Sort(names)
	var keys, values []value.Value
	for _, name := range slices.Compact(names) {
		keys, values = append(keys, value.Text(name)), append(values, value.NewTuple([]value.Value{r.register(name)}))
	}
	return value.FunctionOf(keys, values)
}

// statistics is TLCGet("stats"): all that is counted.
func (r *registers) statistics() value.Value {
	var names, values []value.Value
	for _, name := range []string{"diameter", "distinct", "duration", "generated", "queue"} {
		if r.Named == nil {
			break
		}
		if v := r.Named(name); v != nil {
			names, values = append(names, value.Text(name)), append(values, v)
		}
	}
	return value.FunctionOf(names, values)
}

// configuration and walking are TLCGet("config"): how a check and a simulation continue.
var configuration, walking = configurationOf("bfs"), configurationOf("simulate")

func configurationOf(mode string) value.Value {
	return value.FunctionOf(
		[]value.Value{value.Text("mode"), value.Text("depth"), value.Text("deadlock"), value.Text("symmetry"),
			value.Text("traces"), value.Text("seed"), value.Text("fingerprint"), value.Text("worker"), value.Text("aril"),
			value.Text("sched"), value.Text("install")},
		[]value.Value{value.Text(mode), value.Int(-1), value.Bool(true), value.Bool(false), value.Int(-1), value.Int(0),
			value.Int(0), value.Int(1), value.Int(0), value.Text("none"), value.Text("")})
}

func (r *registers) set(key, v value.Value) {
	k, ok := key.(value.Int)
	if !ok {
		s, ok := key.(*value.String)
		switch {
		case ok && s.Text == "exit":
			r.Exit = r.Exit || v == value.Value(value.Bool(true))
		case ok && strings.HasPrefix(s.Text, namedRegister):
			if r.named == nil {
				r.named = map[string]value.Value{}
			}
			r.named[s.Text] = v
		default:
			value.Fail("TLCSet(%s, ...) is not supported: a register is a number, or a text that begins with s:", value.Short(key))
		}
		return
	}
	if r.values == nil {
		r.values = map[int64]value.Value{}
	}
	r.values[int64(k)] = v
}

func sortSeq(c *compiler, d *scope.Def, u call) node {
	c.arity(d, 2, u)
	s := c.expr(u.args[0], u.from)
	f, n := c.operand(u.args[1], u.from, 2, u.at)
	at := u.at
	return node{eval: func(x *ctx) value.Value {
		seq := s.eval(x)
		x.m.at = at
		items := slices.Clone(value.Items(seq))
		slices.SortStableFunc(items, func(a, b value.Value) int {
			switch {
			case library.Boolean(f(x, a, b)):
				return -1
			case library.Boolean(f(x, b, a)):
				return 1
			}
			return 0
		})
		return value.NewTuple(items)
	}}.dependingOn(s, n)
}

// reads notes that a register is read. Its name may be known only when it is.
func (c *compiler) reads(key node) {
	_, number := key.known.(value.Int)
	name, text := key.known.(*value.String)
	c.registered = c.registered || !number && !text || text && (name.Text == "all:named" || name.Text == possible)
}

// deferred is TLCDefer(e): true, and e is evaluated once a simulation takes the step; in a check it is not.
func deferred(c *compiler, d *scope.Def, u call) node {
	c.arity(d, 1, u)
	e, around := c.expr(u.args[0], u.from), c.around()
	return node{fresh: true, eval: func(x *ctx) value.Value {
		if t := x.m.tlc; t.Simulating {
			held := x.held(around)
			t.Deferred = func() { e.eval(held) }
		}
		return value.Bool(true)
	}}.dependingOn(e)
}

// pickSuccessor is PickSuccessor(e): a question whether to take a step that leads to another state, if e is false. Nobody is there to be asked.
func pickSuccessor(c *compiler, d *scope.Def, u call) node {
	c.arity(d, 1, u)
	e := c.expr(u.args[0], u.from)
	guard, at := e.truth(c.whereOf(u.args[0], u.from)), u.at
	n := testNode(func(x *ctx) bool {
		m := x.m
		seen := m.tlc.Seen != nil && len(m.nxt) > 0 && m.complete(false) && m.tlc.Seen(m.nxt)
		if seen || guard(x) || len(m.nxt) == 0 || !m.complete(false) {
			return true
		}
		m.at = at
		value.Fail("PickSuccessor asks which steps to take, which is not possible here: give it a condition that is true, or leave it out")
		return false
	}, e)
	n.fresh, n.level, n.next = true, max(n.level, actionLevel), true
	return n
}

// chance gives a number below n: of the simulation, or else of a sequence that is the same for each check.
func (r *registers) chance(n uint64) uint64 {
	if r.Random == nil {
		r.drawn++
		return splitmix.Mix(r.drawn*splitmix.Gamma) % n
	}
	return r.Random() % n
}
