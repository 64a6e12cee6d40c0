// Package eval evaluates specifications. It compiles expressions to functions of a state and the next one, actions to functions
// that find successor states, and assembles a Spec from a module and a configuration; an Evaluator runs it.
//
//   - spec.go, configure.go, assemble.go: from a module and a configuration to a Spec
//   - compile.go, expressions.go, apply.go, names.go, core.go, native.go: expressions
//   - action.go, action_recursive.go, early.go, ways.go: actions, and how often TLC counts what they find
//   - temporal.go: temporal formulas to those of package liveness
//   - remember.go, unchanged.go, witness.go: what need not be evaluated again
//   - evaluator.go, step.go, steps.go, position.go, refusals.go: what searches ask
package eval

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/bloodhound-dst/bloodhound/internal/tla/cells"
	"github.com/bloodhound-dst/bloodhound/internal/tla/failure"
	"github.com/bloodhound-dst/bloodhound/internal/tla/library"
	"github.com/bloodhound-dst/bloodhound/internal/tla/ndjson"
	"github.com/bloodhound-dst/bloodhound/internal/tla/scope"
	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// Levels of expressions (Specifying Systems, section 17.2).
const (
	constantLevel = iota
	stateLevel
	actionLevel
	temporalLevel
)

// machine is the state of one evaluation: a state, and the next one as far as it is known.
type machine struct {
	cur, nxt []value.Value
	at       *scope.Where      // of the operation that was begun last, for errors
	then     []func(*ctx) bool // what follows the members of a \A in an action, and the recursive operators around
	goals    [][]value.Value   // next states that compositions are compared with
	between  []around          // compositions that are being taken
	middles  [][]middle        // and the states between their steps
	composed int               // how many of those were generated
	ends     func()            // is called where an action has generated some; may be nil
	only     int               // the number of the action that is looked for, or every
	acting   int               // the number of the action that is being evaluated
	emit     func() bool       // is called for each successor; true ends the search
	times    int               // how often TLC would generate the successor that is being found: see ways
	once     int               // how many successors were found since the innermost condition that is true in several ways, in one of them
	open     int               // and before it, each since the one around
	counted  int               // and in all, each as often as TLC would generate it once all ways were taken
	guarded  *guarded          // what Step counts; may be nil
	applied  []applied
	read     uint64       // the variables of the present state that were read: see bitOf
	readNext uint64       // and those of the next one
	changed  uint64       // those that the next state does not leave as they are, where both are complete
	reads    *cells.Reads // records what of the present state is read; may be nil
	moment   moment
	clock    uint64       // the last number of a moment
	known    []remembered // of definitions, by their numbers
	tlc      *registers
}

// around has the states as they were before a composition.
type around struct{ cur, nxt []value.Value }

// ctx is a frame: the values of parameters and bound names of a root expression or of one call of a recursive operator.
type ctx struct {
	slots  []value.Value
	up     *ctx
	m      *machine
	call   *scope.Call // of a recursive operator
	caller *ctx        // the frame of the recursive operator that was evaluated before
}

// node is a compiled expression.
type node struct {
	eval  func(*ctx) value.Value
	test  func(*ctx) bool // for what is Boolean; may be nil
	level int
	inner int  // the number of the innermost name around that it uses: 0 if none, at least that if it binds names itself
	reach int  // 0 if it uses no name that is bound around it; else the larger, the further out the name is bound
	fresh bool // must be evaluated each time: it has effects, or chance
	freed bool // uses what stands for a variable of another module and is none of ours: within ENABLED it has a next value of its own
	self  bool // calls a recursive operator that is being compiled
	next  bool // asks for the next state
	known value.Value
	// of is the number of a variable plus 1 if this is that variable, and bare its value without noting that it was read.
	variable int
	bare     func(*ctx) value.Value
	// excepts is the number of a variable plus 1 if this is [v EXCEPT ...] of that variable, and except its value without noting
	// that all of the variable was read.
	excepts int
	except  func(*ctx) value.Value
	// height is how deep expressions are in each other: what evaluating it takes of the stack.
	height int
}

// act continues with what follows for each way to make an action true. It reports whether the search is to end.
type act func(*ctx) bool

// env is a list of names that are bound around an expression, from the inside out.
type env struct {
	name string
	up   *env
	binding
}

// binding is the meaning of such a name.
type binding struct {
	slot   int   // unless always is set
	depth  int   // of the frame
	born   int   // how many names were bound before
	lazy   *node // fills the slot at the first use
	always *node // is evaluated each time instead of a slot
	op     *closure
	expr   syntax.Expr // as which it was given, to look through it
	place  place
	// TLC has the value of what was given before it looks for states: a condition is true in one way.
	settled bool
}

// closure is an operator with what is around it.
type closure struct {
	name   string
	params []syntax.Param
	body   syntax.Expr
	place  place
	def    *scope.Def
}

// special is a recursive operator, compiled for what it was given.
type special struct {
	def      *scope.Def
	env      *env
	inst     *env
	args     recursiveArguments
	prime    bool
	depth    int // of its frame
	size     int
	body     node
	act      act // its body, if that is an action
	enabling *enabling
}

// place is where the names of an expression are looked up: parameters and bound names, parameters of instances, names of the module.
type place struct {
	env, inst *env
	scope     *scope.Scope
}

// bindings are the names that are bound around what a scope keeps for the evaluator.
type bindings struct{ env, inst *env }

func (p place) site() scope.Site {
	if p.env == nil && p.inst == nil {
		return scope.Site{Scope: p.scope}
	}
	return scope.Site{Scope: p.scope, Bound: bindings{p.env, p.inst}}
}

func placeAt(s scope.Site) place {
	around, _ := s.Bound.(bindings)
	return place{around.env, around.inst, s.Scope}
}

// compiled holds the compiled parts of a definition.
type compiled struct {
	shared   [2]*special // a recursive operator that needs nothing from outside, for this state and the next
	constant *node       // an operator without parameters that is constant
	varies   bool        // it is not
	costly   bool        // it is of a state, and worth being remembered: states has it for this state and the next
	states   [2]*node
	reached  int // how deep the compiler is in its body
}

func compiledOf(d *scope.Def) *compiled {
	if d.Compiled == nil {
		d.Compiled = &compiled{}
	}
	return d.Compiled.(*compiled)
}

type compiler struct {
	loader     *scope.Loader
	logs       *ndjson.Logs
	variables  []*scope.Def
	primed     bool
	assigning  bool // Init: what is not primed gets its value
	targets    int  // how often a variable that gets a value was met
	depth      int
	size       []int   // slots of each open frame
	live       []bound // the slots of names that are bound around what is being compiled, and perhaps of more
	active     []*special
	acting     []*special  // those whose bodies are being compiled as actions
	counts     []*counting // functions and operators whose ways are being compiled
	born       int
	via        *scope.Use                      // of the operator whose body is compiled
	reached    map[*scope.Source]*scope.Source // by way of it
	nested     int                             // expressions around what is being compiled, also of the definitions that use it
	bodies     int                             // of operators that were compiled, once for each use
	remembers  int                             // definitions whose values are remembered
	whole      bool                            // a formula of steps is compiled, which is only evaluated where both states are complete
	recorded   map[scope.Where]bool            // operators whose applications are recorded for properties
	guards     *[]*placed                      // of the action that is being compiled for Step; nil: they are not counted
	enabling   *enabling                       // the ENABLED that is being compiled, or nil
	draws      bool                            // something depends on chance
	registered bool                            // something reads a register that is named by a text
	// coreOperators holds the operators of the language that are passed as arguments.
	coreOperators map[coreKey]*closure
	measures      bool // of guards, how far they are from being true
	compares      bool // also what gives a variable a value that it has already counts as a condition
}

// coreKey names an operator of the language.
type coreKey struct {
	name  string
	arity int
}

// enabling is an ENABLED that is being compiled: ENABLED A in an instanced module asks whether there is any next state of that module, whatever ours may be
// (Specifying Systems, section 17.8).
type enabling struct {
	scope *scope.Scope       // of the ENABLED
	next  map[*scope.Def]int // numbers, behind those of our variables, of next values of what stands for a variable there and is none of ours; -1: it is ours
}

func newCompiler(l *scope.Loader, logs *ndjson.Logs) *compiler {
	return &compiler{loader: l, logs: logs, variables: l.VariableDefs, size: []int{0}}
}

func (c *compiler) whereOf(e syntax.Expr, p place) *scope.Where {
	return &scope.Where{Source: c.file(p), Pos: e.Position()}
}

func (c *compiler) fail(p place, pos syntax.Pos, format string, args ...any) {
	panic(failure.Wrap(scope.ErrorAt(scope.Where{Source: c.file(p), Pos: pos}, fmt.Sprintf(format, args...))))
}

func (c *compiler) slot() int {
	s := c.size[c.depth]
	c.size[c.depth]++
	c.live = append(c.live, bound{c.depth, s})
	return s
}

// beginFrame opens a frame within the present one.
func (c *compiler) beginFrame() {
	c.depth++
	c.size = append(c.size, 0)
}

// end ends it, and gives its size.
func (c *compiler) end() int {
	size := c.size[c.depth]
	c.size = c.size[:c.depth]
	c.depth--
	for len(c.live) > 0 && c.live[len(c.live)-1].depth > c.depth {
		c.live = c.live[:len(c.live)-1]
	}
	return size
}

// bound is the slot of a name, in the frame of some depth.
type bound struct{ depth, slot int }

// around returns the slots that a value needs which is evaluated after its expression: the slots of the names in scope,
// for each frame from the innermost one out. The other slots belong to other expressions, and values that kept them
// would keep each other alive forever.
func (c *compiler) around() [][]int {
	frames := make([][]int, c.depth+1)
	for _, b := range c.live {
		if hops := c.depth - b.depth; hops >= 0 {
			frames[hops] = append(frames[hops], b.slot)
		}
	}
	return frames
}

// bind adds a name to a place.
func (c *compiler) bind(p place, name string, b binding) place {
	c.born++
	b.born, b.depth = c.born, c.depth
	p.env = &env{name, p.env, b}
	return p
}

// name binds a name to a slot that is filled before its use.
func (c *compiler) name(p place, name string) (place, int) {
	s := c.slot()
	return c.bind(p, name, binding{slot: s}), s
}

func reach(born int) int { return math.MaxInt - born }

// closed is a node with the names that were bound since then taken as its own.
func (n node) closed(born int) node {
	if n.reach < reach(born) {
		n.reach = 0
	}
	return n
}

func (e *env) find(name string) *env {
	for ; e != nil; e = e.up {
		if e.name == name {
			return e
		}
	}
	return nil
}

func constNode(v value.Value) node {
	n := node{eval: func(*ctx) value.Value { return v }, known: v}
	if b, ok := v.(value.Bool); ok {
		n.test = func(*ctx) bool { return bool(b) }
	}
	return n
}

// truth is a node as a test.
func (n node) truth(at *scope.Where) func(*ctx) bool {
	if n.test != nil {
		return n.test
	}
	eval := n.eval
	return func(c *ctx) bool {
		v := eval(c)
		b, ok := v.(value.Bool)
		if !ok {
			c.m.at = at
			value.Fail("%s is %s, where a Boolean is needed", value.Short(v), value.AKind(v))
		}
		return bool(b)
	}
}

func testNode(test func(*ctx) bool, parts ...node) node {
	n := node{test: test, eval: func(c *ctx) value.Value { return value.Bool(test(c)) }}
	return n.dependingOn(parts...)
}

// dependingOn adds the dependencies of the parts to the node's own.
func (n node) dependingOn(parts ...node) node {
	for _, p := range parts {
		n.level = max(n.level, p.level)
		n.reach = max(n.reach, p.reach)
		n.inner = max(n.inner, p.inner)
		n.fresh = n.fresh || p.fresh
		n.freed = n.freed || p.freed
		n.self = n.self || p.self
		n.next = n.next || p.next
		n.height = max(n.height, p.height)
	}
	n.height++
	return n
}

// kept evaluates a constant expression at most once.
func kept(n node) node {
	if n.level > constantLevel || n.reach > 0 || n.fresh || n.self || n.known != nil {
		return n
	}
	var cell atomic.Pointer[value.Value]
	eval := n.eval
	n.eval = func(c *ctx) value.Value {
		if v := cell.Load(); v != nil {
			return *v
		}
		t := c.m.tlc
		ticks, budget := t.Ticks, t.budget
		t.budget = 0 // who evaluates a constant first needs no more of it than others
		v := eval(c)
		t.Ticks, t.budget = ticks, budget
		cell.Store(&v)
		return v
	}
	if n.test != nil {
		all := n.eval
		n.test = func(c *ctx) bool { return bool(all(c).(value.Bool)) }
	}
	return n
}

func (c *compiler) all(list []syntax.Expr, p place) []node {
	nodes := make([]node, len(list))
	for i, e := range list {
		nodes[i] = c.expr(e, p)
	}
	return nodes
}

func evalAll(c *ctx, nodes []node) []value.Value {
	list := make([]value.Value, len(nodes))
	for i := range nodes {
		list[i] = library.Settled(nodes[i].eval(c))
	}
	return list
}

// expr compiles an expression.
func (c *compiler) expr(e syntax.Expr, p place) node {
	if c.nested++; c.nested > maxNested {
		c.fail(p, e.Position(), "expressions, counting the definitions that they use, are nested more than %d deep", maxNested)
	}
	live := len(c.live)
	n := c.compile(e, p)
	c.nested--
	c.live = c.live[:live]
	switch e.(type) {
	case *syntax.Number, *syntax.String:
		return n
	}
	return kept(n)
}

func (c *compiler) compile(e syntax.Expr, p place) node {
	at := c.whereOf(e, p)
	switch e := e.(type) {
	case *syntax.Number:
		i, err := strconv.ParseInt(e.Text, 10, 64)
		if err != nil {
			c.fail(p, e.Pos, "the number %s is not supported: integers of 64 bits are", e.Text)
		}
		return constNode(value.Int(i))
	case *syntax.String:
		return constNode(value.Text(e.Text))
	case *syntax.Paren:
		return c.compile(e.Inner, p)
	case *syntax.Apply:
		return c.apply(e, p)
	case *syntax.Junction:
		return c.junction(e, p)
	case *syntax.Quantified:
		return c.quantified(e, p, at)
	case *syntax.Choose:
		return c.choose(e, p, at)
	case *syntax.SetEnum:
		items := c.all(e.Items, p)
		return node{eval: func(x *ctx) value.Value {
			list := evalAll(x, items)
			x.m.at = at
			return value.Enumerated(list, func() []value.Value { return evalAll(x, items) })
		}}.dependingOn(items...)
	case *syntax.SetFilter:
		return c.setFilter(e, p, at)
	case *syntax.SetMap:
		return c.setMap(e, p, at)
	case *syntax.FunctionOf:
		return c.function("", e.Bounds, e.Body, p, at)
	case *syntax.FunctionSet:
		a, b := c.expr(e.Domain, p), c.expr(e.Range, p)
		return node{eval: func(x *ctx) value.Value { return &value.Functions{Domain: a.eval(x), Range: b.eval(x)} }}.dependingOn(a, b)
	case *syntax.Index:
		return c.index(e, p, at)
	case *syntax.Field:
		return c.field(e, p, at)
	case *syntax.Record:
		names, values := c.fields(e.Fields, p)
		return node{eval: func(x *ctx) value.Value { return value.NewRecord(names, evalAll(x, values)) }}.dependingOn(values...)
	case *syntax.RecordSet:
		names, values := c.fields(e.Fields, p)
		return node{eval: func(x *ctx) value.Value {
			sets := make([]value.Value, len(values))
			for i := range values {
				sets[i] = values[i].eval(x)
			}
			return &value.Records{Names: names, Sets: sets}
		}}.dependingOn(values...)
	case *syntax.Except:
		return c.except(e, p)
	case *syntax.At:
		b := p.env.find("@")
		if b == nil {
			c.fail(p, e.Pos, "@ has no meaning outside of EXCEPT")
		}
		return c.reference(b)
	case *syntax.Tuple:
		items := c.all(e.Items, p)
		return node{eval: func(x *ctx) value.Value { return value.NewTuple(evalAll(x, items)) }}.dependingOn(items...)
	case *syntax.Product:
		sets := c.all(e.Sets, p)
		return node{eval: func(x *ctx) value.Value {
			list := make([]value.Value, len(sets))
			for i := range sets {
				list[i] = sets[i].eval(x)
			}
			return &value.Product{Sets: list}
		}}.dependingOn(sets...)
	case *syntax.Action:
		return c.step(e, p, at)
	case *syntax.Fairness:
		return ofBehaviours("WF_ and SF_", at)
	case *syntax.If:
		return c.conditional(e, p)
	case *syntax.Case:
		return c.cases(e, p, at)
	case *syntax.Let:
		return c.letIn(e, p)
	case *letFunction:
		return c.function(e.Text, e.Bounds, e.Body, p, at)
	case *syntax.Lambda:
		c.fail(p, e.Pos, "a LAMBDA may stand only where an operator is an argument")
	}
	c.fail(p, e.Position(), "%T is not supported here", e)
	panic("unreachable")
}

// setFilter is {x \in S : P}. That of a large set stays symbolic.
func (c *compiler) setFilter(e *syntax.SetFilter, p place, at *scope.Where) node {
	set, born := c.expr(e.Bound.Set, p), c.born
	q, bind := c.pattern(e.Bound, p, at)
	body := c.expr(e.Body, q)
	test := body.truth(c.whereOf(e.Body, q))
	around := c.around()
	return node{eval: func(x *ctx) value.Value {
		s := set.eval(x)
		x.m.at = at
		if value.Size(s) > value.Most {
			held := x.held(around)
			return value.Filter(s, func(v value.Value) bool {
				held.m.tick()
				bind(held, v)
				return bool(held.m.within(func() value.Value { return value.Bool(test(held)) }).(value.Bool))
			})
		}
		return value.Filter(s, func(v value.Value) bool { x.m.tick(); bind(x, v); return test(x) })
	}}.dependingOn(set, body.closed(born))
}

// setMap is {e : x \in S}.
func (c *compiler) setMap(e *syntax.SetMap, p place, at *scope.Where) node {
	born := c.born
	q, each, sets := c.bounds(e.Bounds, p, at)
	body := c.expr(e.Body, q)
	images := func(x *ctx) []value.Value {
		var items []value.Value
		each(x, func() bool {
			items = append(items, library.Settled(body.eval(x)))
			if len(items) > value.Most {
				items = slices.Clip(value.NewSet(items).Items)
				x.m.at = at
				value.AtMost(len(items) + value.Most/8)
			}
			return true
		})
		return items
	}
	return node{eval: func(x *ctx) value.Value {
		items := images(x)
		x.m.at = at
		return value.Enumerated(items, func() []value.Value { return images(x) })
	}}.dependingOn(append(sets, body.closed(born))...)
}

// field is r.name.
func (c *compiler) field(e *syntax.Field, p place, at *scope.Where) node {
	r, name := c.expr(e.Record, p), value.Text(e.Name)
	variable, bare := r.variable-1, r.bare
	if variable < 0 {
		bare = r.eval
	}
	return node{eval: func(x *ctx) value.Value {
		v := bare(x)
		if variable >= 0 && x.m.reads != nil {
			x.m.reads.Argument(variable, v, name)
		}
		if r, ok := v.(*value.Record); ok {
			if i := r.Field(name); i >= 0 {
				return r.Values[i]
			}
		}
		x.m.at = at
		c.logs.Lacks(v, name)
		return value.Apply(v, name)
	}}.dependingOn(r)
}

// step is [A]_v or <<A>>_v.
func (c *compiler) step(e *syntax.Action, p place, at *scope.Where) node {
	a, same := c.expr(e.Body, p), c.unchanged(e.Subscript, p)
	test, angle := a.truth(at), e.Angle
	if c.whole {
		var proofs []func(*ctx) bool
		prover{c}.witnesses(e.Body, p, nil, nil, 0, &proofs)
		full := test
		test = func(x *ctx) bool {
			for _, proves := range proofs {
				if proves(x) {
					return true
				}
			}
			return full(x)
		}
	}
	return testNode(func(x *ctx) bool {
		if angle {
			return !same.test(x) && test(x)
		}
		return same.test(x) || test(x)
	}, a, same)
}

// conditional is IF THEN ELSE.
func (c *compiler) conditional(e *syntax.If, p place) node {
	cond, a, b := c.expr(e.Cond, p), c.expr(e.Then, p), c.expr(e.Else, p)
	test := cond.truth(c.whereOf(e.Cond, p))
	n := node{eval: func(x *ctx) value.Value {
		if test(x) {
			return a.eval(x)
		}
		return b.eval(x)
	}}
	if a.test != nil && b.test != nil {
		n.test = func(x *ctx) bool {
			if test(x) {
				return a.test(x)
			}
			return b.test(x)
		}
	}
	return n.dependingOn(cond, a, b)
}

// letIn is LET IN.
func (c *compiler) letIn(e *syntax.Let, p place) node {
	born := c.born
	q, begin := c.let(e.Units, p)
	body := c.expr(e.Body, q).closed(born)
	if len(begin) == 0 {
		return body
	}
	n := node{eval: emptied(body.eval, begin)}
	if body.test != nil {
		n.test = emptied(body.test, begin)
	}
	if body.except != nil {
		n.excepts, n.except = body.excepts, emptied(body.except, begin)
	}
	return n.dependingOn(body)
}

// ofBehaviours stands for a formula about behaviours, which has no value in a state.
func ofBehaviours(what string, at *scope.Where) node {
	return node{level: temporalLevel, eval: func(x *ctx) value.Value {
		x.m.at = at
		value.Fail("%s: a temporal formula has no value in one state", what)
		return nil
	}}
}

// held is a frame that stays as it is now, for values that outlive the evaluation.
func (x *ctx) held(around [][]int) *ctx {
	x.m.read, x.m.readNext = AllVariables, AllVariables // what will be read is not known
	x.m.anything()()
	m := *x.m
	m.cur, m.nxt, m.reads = slices.Clone(m.cur), slices.Clone(m.nxt), nil
	return x.heldBy(&m, around)
}

func (x *ctx) heldBy(m *machine, around [][]int) *ctx {
	if x == nil || len(around) == 0 {
		return nil
	}
	h := &ctx{slots: make([]value.Value, len(x.slots)), up: x.up.heldBy(m, around[1:]), m: m}
	for _, s := range around[0] {
		h.slots[s] = x.slots[s]
	}
	return h
}

// again is a held frame for one more evaluation.
func (x *ctx) again() *ctx { return &ctx{slots: slices.Clone(x.slots), up: x.up, m: x.m} }
