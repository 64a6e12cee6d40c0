package tla

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// registers are what TLCGet and TLCSet work on, and where Print writes.
type registers struct {
	simulating bool
	exit       bool // the specification wants the check to end: TLCSet("exit", TRUE)
	values     map[int64]value.Value
	level      int
	named      func(name string) value.Value
	print      func(string)
	random     func() uint64
	depth      int  // of the expressions of recursive operators and functions that are evaluated in each other
	top        *ctx // the innermost frame of these operators
	drawn      uint64
	inside     *machine    // of the function or set, told by a rule, that is being evaluated
	pause      func() bool // is asked now and then whether the evaluation is to end
	ticks      uint32
	// behaviour is the one that led to the present state, which is its last.
	behaviour func(cur State) ([]State, error)
	// counterexample is what POSTCONDITION may ask for.
	counterexample func() value.Value
}

func printed(c *compiler, d *def, u call, of int, result func([]value.Value) value.Value) node {
	c.arity(d, of, u)
	args := c.all(u.args, u.from)
	return node{fresh: true, eval: func(x *ctx) value.Value {
		values := evalAll(x, args)
		if x.m.tlc != nil && x.m.tlc.print != nil {
			text := values[0].String()
			if of == 2 {
				text += "  " + values[1].String()
			}
			x.m.tlc.print(text)
		}
		return result(values)
	}}.of(args...)
}

func init() {
	modules["TLC"] = map[string]*builtin{
		"Print": {special: func(c *compiler, d *def, u call) node {
			return printed(c, d, u, 2, func(v []value.Value) value.Value { return v[1] })
		}},
		"PrintT": {special: func(c *compiler, d *def, u call) node {
			return printed(c, d, u, 1, func([]value.Value) value.Value { return value.Bool(true) })
		}},
		"Assert": {special: func(c *compiler, d *def, u call) node {
			c.arity(d, 2, u)
			args := c.all(u.args, u.from)
			holds, at := args[0].truth(u.at), u.at
			return testNode(func(x *ctx) bool {
				if !holds(x) {
					message := args[1].eval(x)
					x.m.at = at
					said := value.Short(message)
					panic(&value.Error{Message: "Assert is false: " + said, Asserted: said})
				}
				return true
			}, args...)
		}},
		"JavaTime": {special: func(c *compiler, d *def, u call) node {
			return node{fresh: true, eval: func(*ctx) value.Value { return value.Int(0) }}
		}},
		":>": {two: func(a, b value.Value) value.Value {
			return value.FunctionOf([]value.Value{settled(a)}, []value.Value{settled(b)})
		}},
		"@@":            {two: value.Merge},
		"Permutations":  {one: permutations},
		"RandomElement": drawn(1, func(r *registers, args []value.Value) value.Value { return r.member(args[0]) }),
		"SortSeq":       {special: sortSeq},
		"Any":           {none: &value.Infinite{Name: "Any", Has: func(value.Value) (bool, bool) { return true, true }}},
		"ToString":      {one: func(v value.Value) value.Value { return value.Text(v.String()) }},
		"TLCEval":       {one: settled},
		"TLCGet": {special: func(c *compiler, d *def, u call) node {
			c.arity(d, 1, u)
			key := c.expr(u.args[0], u.from)
			at := u.at
			return node{fresh: true, level: actionLevel, eval: func(x *ctx) value.Value {
				k := key.eval(x)
				x.m.at = at
				return x.m.tlc.get(k)
			}}.of(key)
		}},
		"TLCSet": {special: func(c *compiler, d *def, u call) node {
			c.arity(d, 2, u)
			args := c.all(u.args, u.from)
			at := u.at
			return node{fresh: true, level: actionLevel, eval: func(x *ctx) value.Value {
				k, v := args[0].eval(x), settled(args[1].eval(x))
				x.m.at = at
				x.m.tlc.set(k, v)
				return value.Bool(true)
			}}.of(args...)
		}},
	}
	modules["TLCExt"] = map[string]*builtin{
		"AssertEq":    {compare: func(a, b value.Value) bool { return value.Equal(a, b) }},
		"AssertError": {special: assertError}, "Trace": {special: trace}, "TLCDefer": nil, "PickSuccessor": nil, "TLCEvalDefinition": nil,
		"CounterExample": {special: counterExample},
		"ToTrace":        {one: toTrace},
		"TLCGetOrDefault": {special: func(c *compiler, d *def, u call) node {
			c.arity(d, 2, u)
			args := c.all(u.args, u.from)
			at := u.at
			return node{fresh: true, level: actionLevel, eval: func(x *ctx) value.Value {
				return x.m.tlc.getOr(args[0].eval(x), args[1].eval(x), x.m, at)
			}}.of(args...)
		}},
		"TLCGetAndSet": {special: func(c *compiler, d *def, u call) node {
			c.arity(d, 4, u)
			key, val, other := c.expr(u.args[0], u.from), c.expr(u.args[2], u.from), c.expr(u.args[3], u.from)
			f, n := c.operand(u.args[1], u.from, 2, u.at)
			at := u.at
			return node{fresh: true, level: actionLevel, eval: func(x *ctx) value.Value {
				k := key.eval(x)
				old := x.m.tlc.getOr(k, other.eval(x), x.m, at)
				v := settled(f(x, old, val.eval(x)))
				x.m.at = at
				x.m.tlc.set(k, v)
				return old
			}}.of(key, val, other, n)
		}},
		"TLCNoOp": {one: func(v value.Value) value.Value { return v }},
		"TLCModelValue": {one: func(v value.Value) value.Value {
			s, ok := v.(*value.String)
			if !ok {
				value.Fail("TLCModelValue needs a string, and not the %s %s", value.Kind(v), value.Short(v))
			}
			return value.ModelValue(s.Text)
		}},
		"TLCCache": {two: func(v, _ value.Value) value.Value { return v }},
		"TLCFP":    {one: func(v value.Value) value.Value { return value.Int(int32(v.Fingerprint())) }},
	}
	modules["Bags"] = map[string]*builtin{
		"IsABag":   {test: isBag},
		"BagToSet": {one: value.Domain},
		"SetToBag": {one: func(s value.Value) value.Value {
			return bagOf(value.Explicit(s).Items, func(value.Value) int64 { return 1 })
		}},
		"BagIn":       {compare: func(e, b value.Value) bool { return value.Contains(value.Domain(b), e) }},
		"EmptyBag":    {none: value.EmptyTuple},
		"CopiesIn":    {two: func(e, b value.Value) value.Value { return value.Int(copies(b, e)) }},
		`\oplus`:      {two: func(a, b value.Value) value.Value { return bagSum(a, b, 1) }},
		`\ominus`:     {two: func(a, b value.Value) value.Value { return bagSum(a, b, -1) }},
		`\sqsubseteq`: {compare: subBag},
		"BagUnion": {one: func(s value.Value) value.Value {
			sum := value.Value(value.EmptyTuple)
			value.Each(s, func(b value.Value) bool { sum = bagSum(sum, b, 1); return true })
			return sum
		}},
		"BagCardinality": {one: func(b value.Value) value.Value {
			n := int64(0)
			value.Each(value.Domain(b), func(e value.Value) bool { n += copies(b, e); return true })
			return value.Int(n)
		}},
		"SubBag": {one: subBags},
		"BagOfAll": {special: func(c *compiler, d *def, u call) node {
			c.arity(d, 2, u)
			f, n := c.operand(u.args[0], u.from, 1, u.at)
			at := u.at
			b := c.expr(u.args[1], u.from)
			return node{eval: func(x *ctx) value.Value {
				bag := b.eval(x)
				x.m.at = at
				sum := value.Value(value.EmptyTuple)
				value.Each(value.Domain(bag), func(e value.Value) bool {
					image := settled(f(x, e))
					sum = bagSum(sum, value.FunctionOf([]value.Value{image}, []value.Value{value.Int(copies(bag, e))}), 1)
					return true
				})
				return sum
			}}.of(n, b)
		}},
	}
}

// trace is the behaviour up to the present state, as a sequence of records with the variables' values.
func trace(c *compiler, d *def, u call) node {
	c.arity(d, 0, u)
	at := u.at
	var names []value.Value
	for _, v := range c.variables {
		names = append(names, value.Text(v.name))
	}
	return node{fresh: true, level: actionLevel, eval: func(x *ctx) value.Value {
		x.m.at = at
		if x.m.tlc.behaviour == nil || len(x.m.cur) == 0 {
			value.Fail("Trace has no value here: there is no behaviour")
		}
		x.m.anything()()
		states, err := x.m.tlc.behaviour(x.m.cur)
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
func counterExample(c *compiler, d *def, u call) node {
	c.arity(d, 0, u)
	at := u.at
	return node{fresh: true, level: actionLevel, eval: func(x *ctx) value.Value {
		x.m.at = at
		if x.m.tlc.counterexample == nil {
			value.Fail("CounterExample has a value in POSTCONDITION only")
		}
		return x.m.tlc.counterexample()
	}}
}

// toTrace is the sequence of a counterexample's states.
func toTrace(v value.Value) value.Value {
	var numbers, states []value.Value
	value.Each(value.Apply(v, value.Text("state")), func(s value.Value) bool {
		numbers, states = append(numbers, value.Apply(s, value.Int(1))), append(states, value.Apply(s, value.Int(2)))
		return true
	})
	return value.FunctionOf(numbers, states)
}

// getOr is what a register has, or a value if nothing was put there.
func (r *registers) getOr(key, other value.Value, m *machine, at *where) value.Value {
	m.at = at
	if k, ok := key.(value.Int); ok && r.values[int64(k)] == nil {
		return settled(other)
	}
	return r.get(key)
}

// assertError tells whether an expression cannot be evaluated. The text of the error is this program's, so it is not compared.
func assertError(c *compiler, d *def, u call) node {
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
		value.Fail("TLCGet(%d): nothing was put there by TLCSet", k)
	case *value.String:
		switch k.Text {
		case "stats":
			return r.statistics()
		case "level":
			return value.Int(r.level)
		case "config":
			if r.simulating {
				return walking
			}
			return configuration
		case "-Dtlc2.tool.impl.Tool.cdot": // compositions of actions are always evaluated
			return value.Text("true")
		}
		if r.named != nil {
			if v := r.named(k.Text); v != nil {
				return v
			}
		}
		value.Fail("TLCGet(%s) is not supported: there are level, stats, diameter, distinct, queue, generated, duration, config, and numbers", k)
	}
	value.Fail("TLCGet needs a number or a string, and not %s", value.Short(key))
	return nil
}

// statistics is TLCGet("stats"): all that is counted.
func (r *registers) statistics() value.Value {
	var names, values []value.Value
	for _, name := range []string{"diameter", "distinct", "duration", "generated", "queue"} {
		if r.named == nil {
			break
		}
		if v := r.named(name); v != nil {
			names, values = append(names, value.Text(name)), append(values, v)
		}
	}
	return value.FunctionOf(names, values)
}

// configuration and walking are TLCGet("config"): how a check and a simulation go on.
var configuration, walking = configurationOf("bfs"), configurationOf("simulate")

func configurationOf(mode string) value.Value {
	return value.FunctionOf(
		[]value.Value{value.Text("mode"), value.Text("depth"), value.Text("deadlock"), value.Text("symmetry"), value.Text("traces"), value.Text("seed"), value.Text("fingerprint"), value.Text("worker"), value.Text("aril"), value.Text("sched"), value.Text("install")},
		[]value.Value{value.Text(mode), value.Int(-1), value.Bool(true), value.Bool(false), value.Int(-1), value.Int(0), value.Int(0), value.Int(1), value.Int(0), value.Text("none"), value.Text("")})
}

func (r *registers) set(key, v value.Value) {
	k, ok := key.(value.Int)
	if !ok {
		if s, ok := key.(*value.String); ok && s.Text == "exit" {
			r.exit = r.exit || v == value.Value(value.Bool(true))
			return
		}
		value.Fail("TLCSet(%s, ...) is not supported: the register is a number", value.Short(key))
	}
	if r.values == nil {
		r.values = map[int64]value.Value{}
	}
	r.values[int64(k)] = v
}

// permutations is the set of functions from a set onto itself.
func permutations(s value.Value) value.Value {
	domain := value.Explicit(s)
	if n := len(domain.Items); n > 9 {
		value.Fail("Permutations of %d members are too many", n)
	}
	var list []value.Value
	orders(domain.Items, func(order []value.Value) { list = append(list, value.NewFunction(domain, order)) })
	return value.NewSet(list)
}

// orders gives the items in each order.
func orders(items []value.Value, give func(order []value.Value)) {
	var from func(taken, left []value.Value)
	from = func(taken, left []value.Value) {
		if len(left) == 0 {
			give(slices.Clone(taken))
			return
		}
		for i, v := range left {
			rest := append(slices.Clone(left[:i]), left[i+1:]...)
			from(append(taken, v), rest)
		}
	}
	from(nil, items)
}

func sortSeq(c *compiler, d *def, u call) node {
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
			case boolean(f(x, a, b)):
				return -1
			case boolean(f(x, b, a)):
				return 1
			}
			return 0
		})
		return value.NewTuple(items)
	}}.of(s, n)
}

func isBag(b value.Value) bool {
	switch b.(type) {
	case *value.Tuple, *value.Record, *value.Function, value.Applicable:
	default:
		return false
	}
	return value.Each(value.Domain(b), func(e value.Value) bool {
		n, ok := value.Apply(b, e).(value.Int)
		return ok && n > 0
	})
}

func copies(b, e value.Value) int64 {
	if f, ok := b.(*value.Function); ok {
		if at, found := f.Domain.Find(e); found {
			return integer(f.Values[at])
		}
		return 0
	}
	if !value.Contains(value.Domain(b), e) {
		return 0
	}
	return integer(value.Apply(b, e))
}

// bagOf makes a bag of members that are sorted and differ; those with no copies are left out.
func bagOf(members []value.Value, count func(value.Value) int64) value.Value {
	var keys, values []value.Value
	for _, e := range members {
		if n := count(e); n > 0 {
			keys, values = append(keys, e), append(values, value.Int(n))
		}
	}
	return value.NewFunction(value.SortedSet(keys), values)
}

func bagSum(a, b value.Value, sign int64) value.Value {
	if f, ok := b.(*value.Function); ok && len(f.Values) == 1 { // as messages come and go
		if g, ok := a.(*value.Function); ok && !slices.ContainsFunc(g.Values, isNone) {
			e := f.Domain.Items[0]
			if n, ok := sum(copies(a, e), sign*integer(f.Values[0])); ok {
				return g.With(e, value.Int(n), n > 0)
			}
		}
	}
	members := value.Explicit(value.Union(value.Domain(a), value.Domain(b))).Items
	return bagOf(members, func(e value.Value) int64 {
		n, ok := sum(copies(a, e), sign*copies(b, e))
		if !ok {
			value.Fail("a bag has more copies of %s than fit into 64 bits", value.Short(e))
		}
		return n
	})
}

// isNone tells whether a value is no count of copies in a bag.
func isNone(v value.Value) bool {
	n, ok := v.(value.Int)
	return !ok || n <= 0
}

func subBag(a, b value.Value) bool {
	return value.Each(value.Domain(a), func(e value.Value) bool { return copies(a, e) <= copies(b, e) })
}

func subBags(b value.Value) value.Value {
	members := value.Explicit(value.Domain(b)).Items
	size := 1
	for _, e := range members {
		n := int(min(copies(b, e), value.Most)) + 1
		value.AtMost(n)
		size *= n
		value.AtMost(size * len(members))
	}
	list := []value.Value{}
	count := make([]int64, len(members))
	for {
		i := 0
		list = append(list, bagOf(members, func(value.Value) int64 { i++; return count[i-1] }))
		k := len(members) - 1
		for ; k >= 0; k-- {
			if count[k]++; count[k] <= copies(b, members[k]) {
				break
			}
			count[k] = 0
		}
		if k < 0 {
			return value.NewSet(list)
		}
	}
}

// text is the text of a string value.
func text(v value.Value) string {
	s, ok := v.(*value.String)
	if !ok {
		value.Fail("a string is needed, and not the %s %s", value.Kind(v), value.Short(v))
	}
	return s.Text
}
