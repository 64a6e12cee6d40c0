// Package tla reads, evaluates and checks specifications in TLA+ (Lamport, Specifying Systems, 2002, and TLA+ Version 2), as TLC does: modules
// and configuration files are the same, and so is what they mean.
package tla

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// State has a value for each variable of a specification, in the order of Spec.Variables.
type State []value.Value

// Spec is a specification with values for its constants. It is not changed once it is made; an Evaluator works on it.
type Spec struct {
	Variables         []string
	Actions           []Action
	Invariants        []Formula
	InitialProperties []Formula // hold of initial states
	StepProperties    []Formula // hold of each step
	Properties        []Property
	Constraints       []Formula
	ActionConstraints []Formula
	Assumptions       []Formula
	CheckDeadlock     bool
	Postconditions    []Formula
	Possible          []Formula // states, or steps, one of which is to be met: _POSSIBLE
	Notes             []string  // what has no effect: in the configuration, or of two definitions of one name

	init     act
	start    where // of the initial predicate
	size     int
	view     *node
	periodic *Formula // false is a mistake, whatever else it is
	alias    *node
	symmetry []map[*value.Model]value.Value
	draws    bool // it depends on chance
	fairness []fairness
	assumed  *temporal  // what the specification says of behaviours besides fairness; nil: nothing
	atoms    []Formula  // of temporal formulas
	times    []atomTime // when each is evaluated

	config   *Config
	relation []part // that the actions are parts of

	compiling sync.Mutex // guards what compiles operators that are asked for later
	compiler  *compiler
	root      *scope
}

// Action is a part of the next-state relation: what stands between the \/ and \E at its outside.
type Action struct {
	Name   string // of the definition
	Module string
	File   string
	Span   syntax.Span
	act    act
	args   []node // of the definition; none if they are not known before a state is
	at     where
}

// Formula is a named formula of states, or of steps.
type Formula struct {
	Name  string
	test  func(*ctx) bool
	at    where
	fresh bool // it depends on more than the state
	whole bool // it is compiled for steps whose states are both complete
	next  bool // it has primes; told of what a configuration names
	parts []conjunct
}

// conjunct is a part of an invariant or of a constraint, which are true if all of theirs are.
type conjunct struct {
	test  func(*ctx) bool
	fresh bool // it depends on more than the state
}

// Load reads a module with all that it extends and instances, from its folder and those of a library, and gives its constants the values of a
// configuration. Errors are of type *syntax.Error where a place in a module or in the configuration is at fault.
func Load(file string, config *Config, library ...string) (*Spec, error) {
	l := newLoader(nil, append([]string{filepath.Dir(file)}, library...)...)
	var s *Spec
	err := catch(func() {
		name := moduleOf(file)
		root := l.module(name, where{&source{file: file}, syntax.Pos{}}, nil, nil)
		if root.source == nil {
			l.fail(where{&source{file: file}, syntax.Pos{}}, "there is no such module")
		}
		l.resolve()
		l.giveLog(config)
		s = l.spec(root, config)
	})
	return s, err
}

// configure puts the constants of a configuration in their places.
func (l *loader) configure(root *scope, config *Config) {
	text := &source{file: config.File, text: config.text}
	for _, a := range config.Constants {
		if a.Value != nil && a.Module == "" && len(a.Arguments) == 0 {
			l.giveValue(root, config, a, where{text, a.Pos})
		}
	}
	l.giveApplications(root, config)
	for _, a := range config.Constants {
		if a.Value != nil && a.Module != "" && len(a.Arguments) == 0 {
			l.overrideWithin(root, a, &def{kind: constant, name: a.Name, value: l.constantOf(a.Value, where{text, a.Pos})}, where{text, a.Pos})
		}
	}
	for _, a := range config.Constants {
		if a.Operator != "" && a.Module == "" {
			l.override(root, config, a, where{text, a.Pos})
		}
	}
	for _, a := range config.Constants {
		if a.Operator != "" && a.Module != "" {
			at := where{text, a.Pos}
			l.overrideWithin(root, a, l.substitute(root, config, a, at), at)
		}
	}
	var missing []*def
	for _, d := range root.names {
		if d.kind == constant && d.given() == nil {
			missing = append(missing, d)
		}
	}
	slices.SortFunc(missing, func(a, b *def) int {
		return cmp.Or(cmp.Compare(a.at.pos.Line, b.at.pos.Line), cmp.Compare(a.name, b.name))
	})
	for _, d := range missing {
		l.fail(d.at, "the constant %s has no value: give it one in the configuration, as CONSTANT %s = 3", d.name, d.name)
	}
}

// giveValue is Name = Value.
func (l *loader) giveValue(root *scope, config *Config, a Assignment, at where) {
	d := l.configured(root, a.Name)
	switch {
	case d == nil:
		// As TLC: nothing uses it, and a declared constant that is misspelt here is missed at the end.
		l.notes = append(l.notes, fmt.Sprintf("%s:%d: module %s neither declares nor defines %s: its value changes nothing", config.File, a.Pos.Line, root.module, a.Name))
		return
	case d.origin == nil:
		l.fail(at, "%s is no constant and no definition", a.Name)
	case len(d.params) > 0:
		l.fail(at, "%s takes %s: give it an operator, as %s <- Name, or its values, as %s(1) = 2", a.Name, arguments(len(d.params)), a.Name, a.Name)
	}
	d.origin.instead = &def{kind: constant, name: a.Name, value: l.constantOf(a.Value, at)}
}

// giveApplications are the values of operators for some arguments each, as F(0) = 1.
func (l *loader) giveApplications(root *scope, config *Config) {
	text := &source{file: config.File, text: config.text}
	operators := map[string]*applications{}
	for _, a := range config.Constants {
		if len(a.Arguments) == 0 {
			continue
		}
		at := where{text, a.Pos}
		var args []value.Value
		for _, e := range a.Arguments {
			args = append(args, l.constantOf(e, at))
		}
		known := operators[a.Module+" "+a.Name]
		if known == nil {
			known = &applications{name: a.Name}
			operators[a.Module+" "+a.Name] = known
			instead := &def{kind: native, name: a.Name, native: &builtin{special: known.compile}}
			d := l.configured(root, a.Name)
			switch {
			case a.Module != "":
				l.overrideWithin(root, a, instead, at)
			case d == nil:
				l.fail(at, "%s is neither declared nor defined in module %s", a.Name, root.module)
			case d.origin == nil:
				l.fail(at, "%s is no constant and no definition", a.Name)
			default:
				if n, _ := arityOf(d); n >= 0 && n != len(args) {
					l.fail(at, "%s takes %s, and is given a value for %d", a.Name, arguments(n), len(args))
				}
				d.origin.instead = instead
			}
		}
		known.arguments, known.values = append(known.arguments, args), append(known.values, l.constantOf(a.Value, at))
	}
}

// applications is an operator that a configuration gives by its values.
type applications struct {
	name      string
	arguments [][]value.Value
	values    []value.Value
}

func (f *applications) compile(c *compiler, d *def, u call) node {
	c.arity(d, len(f.arguments[0]), u)
	args := c.all(u.args, u.from)
	at := u.at
	return node{eval: func(x *ctx) value.Value {
		given := evalAll(x, args)
		x.m.at = at
		for i, known := range f.arguments {
			if slices.EqualFunc(known, given, value.Equal) {
				return f.values[i]
			}
		}
		var shown []string
		for _, v := range given {
			shown = append(shown, value.Short(v))
		}
		value.Fail("%s(%s) has no value: the configuration gives it none", f.name, strings.Join(shown, ", "))
		return nil
	}}.of(args...)
}

// override is Name <- Operator.
func (l *loader) override(root *scope, config *Config, a Assignment, at where) {
	d := l.configured(root, a.Name)
	switch {
	case d == nil:
		l.fail(at, "%s is neither declared nor defined in module %s", a.Name, root.module)
	case d.origin == nil:
		l.fail(at, "%s is no constant and no definition", a.Name)
	}
	other := l.substitute(root, config, a, at)
	want, _ := arityOf(d)
	if have, _ := arityOf(other); want >= 0 && have >= 0 && want != have {
		l.fail(at, "%s <- %s: %s takes %s, and %s %d", a.Name, a.Operator, a.Name, arguments(want), a.Operator, have)
	}
	if d != other {
		d.origin.instead = other
	}
}

// substitute is what the configuration names to stand in the place of something: a definition, or its value if the configuration gives it one.
func (l *loader) substitute(root *scope, config *Config, a Assignment, at where) *def {
	other := root.find(a.Operator)
	if other == nil {
		l.fail(at, "%s <- %s: %s is not defined in module %s", a.Name, a.Operator, a.Operator, root.module)
	}
	for _, b := range config.Constants {
		if b.Name == a.Operator && b.Operator != "" && b.Module == a.Module && (b.Operator != a.Operator || b.Module != "") {
			l.fail(at, "%s <- %s: the configuration puts %s in the place of %s, too: write %s <- %s", a.Name, a.Operator, b.Operator, a.Operator, a.Name, b.Operator)
		}
	}
	if other.origin != nil && other.origin.instead != nil {
		return other.origin.instead
	}
	return other
}

// configured is what a configuration names: Name, or I!Name of an instance.
func (l *loader) configured(root *scope, name string) *def {
	path := strings.Split(name, "!")
	scope := root
	var instances []*def
	for _, part := range path[:len(path)-1] {
		i := scope.names[part]
		if i == nil || i.kind != instance || len(i.params) > 0 {
			return nil
		}
		instances = append(instances, i)
		scope = i.inner
	}
	d := scope.names[path[len(path)-1]]
	if d == nil {
		return nil
	}
	for _, i := range slices.Backward(instances) {
		d = l.selected(i, d)
	}
	return d
}

// overrideWithin puts something in the place of the body of a definition of one module, wherever that is used.
func (l *loader) overrideWithin(root *scope, a Assignment, other *def, at where) {
	for _, s := range l.scopes {
		if s.module != a.Module || s.up != nil {
			continue
		}
		d := s.names[a.Name]
		if d == nil || d.origin == nil || d.kind == constant {
			break
		}
		want, _ := arityOf(d)
		if have, _ := arityOf(other); want >= 0 && have >= 0 && want != have {
			l.fail(at, "%s <- [%s]%s: %s takes %s, and %s %d", a.Name, a.Module, a.Operator, a.Name, arguments(want), a.Operator, have)
		}
		if d != other {
			d.origin.body.instead = other
		}
		return
	}
	l.fail(at, "%s is not defined in a module %s", a.Name, a.Module)
}

func (l *loader) constantOf(e syntax.Expr, at where) value.Value {
	switch e := e.(type) {
	case *syntax.Number:
		var n int64
		if _, err := fmt.Sscan(e.Text, &n); err != nil {
			l.fail(at, "%s is no integer of 64 bits", e.Text)
		}
		return value.Int(n)
	case *syntax.String:
		return value.Text(e.Text)
	case *syntax.Apply:
		switch e.Name {
		case "TRUE", "FALSE":
			return value.Bool(e.Name == "TRUE")
		}
		return value.ModelValue(e.Name)
	case *syntax.SetEnum:
		var items []value.Value
		for _, i := range e.Items {
			items = append(items, l.constantOf(i, at))
		}
		return value.NewSet(items)
	}
	return nil
}

func (l *loader) spec(root *scope, config *Config) *Spec {
	l.configure(root, config)
	c := &compiler{loader: l, variables: l.variableDefs, size: []int{0}}
	s := &Spec{Variables: l.variables, CheckDeadlock: !config.NoDeadlock, compiler: c, root: root, config: config}
	text := &source{file: config.File, text: config.text}
	top := where{text, syntax.Pos{Line: 1, Column: 1}}
	p := place{scope: root}
	namedAt := func(name string, by where) (*syntax.Apply, where) {
		d := root.find(name)
		switch {
		case d == nil:
			l.fail(by, "%s is not defined in module %s", name, root.module)
		case len(d.params) > 0:
			l.fail(by, "%s takes %s, and what is named here takes none: define an operator in module %s that calls it", name, arguments(len(d.params)), root.module)
		}
		return &syntax.Apply{Pos: d.at.pos, Name: name}, d.at
	}
	named := func(name string) (*syntax.Apply, where) { return namedAt(name, config.at(name)) }
	predicateAt := func(name string, by where, what string, most int) Formula {
		e, at := namedAt(name, by)
		n := c.expr(e, p)
		switch {
		case n.level == temporalLevel:
			l.fail(by, "%s is a temporal formula, and not %s: it belongs under PROPERTY", name, what)
		case n.next && most < actionLevel:
			l.fail(by, "%s has primes, and is not %s", name, what)
		}
		return Formula{Name: name, test: n.truth(&at), at: at, fresh: n.fresh, next: n.next}
	}
	predicate := func(name, what string, most int) Formula { return predicateAt(name, config.at(name), what, most) }
	ofState := func(name, what string) Formula {
		f := predicate(name, what, stateLevel)
		e, _ := named(name)
		f.parts = c.conjuncts(e, p)
		return f
	}
	for _, a := range root.assumptions {
		at := a.at
		name := a.name
		if name == "" {
			name = fmt.Sprintf("ASSUME at line %d of %s", at.pos.Line, at.source.file)
		}
		n := c.expr(a.body, a.place)
		if n.level == stateLevel || n.next {
			l.fail(at, "an assumption is about constants: this one has a variable")
		}
		s.Assumptions = append(s.Assumptions, Formula{Name: name, test: n.truth(&at), at: at, fresh: n.fresh})
	}
	var init, next, rest []part
	switch {
	case config.Specification != "" && (config.Init != "" || config.Next != ""):
		l.fail(config.at(cmp.Or(config.Init, config.Next)), "the configuration has SPECIFICATION, and INIT or NEXT besides: remove one of them")
	case config.Specification != "":
		e, _ := named(config.Specification)
		l.split(c, part{e, p, nil}, &init, &next, &rest)
		switch by := config.at(config.Specification); {
		case len(l.variables) == 0:
		case len(init) == 0:
			l.fail(by, "%s says nothing of the first state: a specification is Init /\\ [][Next]_vars", config.Specification)
		case len(next) == 0:
			l.fail(by, "%s says nothing of steps: a specification is Init /\\ [][Next]_vars", config.Specification)
		}
	case config.Init != "" && config.Next != "":
		e, _ := named(config.Init)
		init = []part{{e, p, nil}}
		e, _ = named(config.Next)
		next = []part{{e, p, nil}}
	case config.Init == "" && config.Next == "":
		// Nothing but assumptions is to be checked.
		if len(l.variables) > 0 {
			l.fail(top, "the configuration needs SPECIFICATION, or INIT and NEXT: module %s has variables", root.module)
		}
	default:
		l.fail(top, "INIT and NEXT need each other")
	}
	c.recorded = map[where]bool{}
	for _, name := range config.Properties {
		e, _ := named(name)
		c.recordFor(e, p, 0)
	}
	emit := func(x *ctx) bool { return x.m.emit() }
	if len(init) > 0 {
		c.assigning = true
		a := act(emit)
		for i := len(init) - 1; i > 0; i-- {
			a = actBegun(c.conjunct(init[i].expr, init[i].place, a), init[i].begin)
		}
		a = actBegun(c.act(init[0].expr, init[0].place, a), init[0].begin)
		c.assigning = false
		s.init, s.start = a, where{init[0].place.scope.file(), init[0].expr.Position()}
	}
	s.relation = next
	for _, n := range next {
		c.actionsOf(n, func(name string, args []node, e syntax.Expr, at where, build func(act) act) {
			span, ok := at.source.spans[e]
			if !ok {
				span = syntax.Span{First: at.pos, Last: at.pos}
			}
			s.Actions = append(s.Actions, Action{name, at.source.module, at.source.file, span, build(emit), args, at})
		})
	}
	b := &behaviour{c, s}
	for _, r := range rest {
		b.assume(r.expr, r.place, r.begin)
	}
	for _, name := range config.Properties {
		e, _ := named(name)
		b.property(name, e, p, nil)
	}
	if config.Alias != "" {
		e, _ := named(config.Alias)
		n := c.expr(e, p)
		s.alias = &n
	}
	for _, name := range config.Invariants {
		s.Invariants = append(s.Invariants, ofState(name, "an invariant, which is of one state"))
	}
	for _, name := range config.Constraints {
		s.Constraints = append(s.Constraints, ofState(name, "a constraint, which is of one state"))
	}
	for _, name := range config.ActionConstraints {
		s.ActionConstraints = append(s.ActionConstraints, predicate(name, "a constraint of steps", actionLevel))
	}
	for _, name := range config.Postconditions {
		s.Postconditions = append(s.Postconditions, predicateAt(name, config.postcondition(name), "a postcondition", stateLevel))
	}
	for _, name := range config.Possible {
		s.Possible = append(s.Possible, predicate(name, "what is true in a state or of a step", actionLevel))
	}
	if config.View != "" {
		e, _ := named(config.View)
		n := c.expr(e, p)
		if n.level == temporalLevel || n.next {
			l.fail(config.at(config.View), "%s is no expression of one state, and a view is", config.View)
		}
		s.view = &n
	}
	if name := config.Periodic; name != "" {
		e, at := named(name)
		n := c.expr(e, p)
		if n.level == stateLevel || n.next || n.level == temporalLevel {
			l.fail(config.at(name), "%s has a variable, and what is evaluated now and then has no state", name)
		}
		s.periodic = &Formula{Name: name, at: at, test: func(x *ctx) bool { return n.eval(x) != value.Value(value.Bool(false)) }}
	}
	if config.Reward != "" {
		named(config.Reward)
		at := config.at(config.Reward)
		l.notes = append(l.notes, fmt.Sprintf("%s:%d: _RL_REWARD changes nothing: a simulation here draws steps without learning", config.File, at.pos.Line))
	}
	for _, name := range config.Symmetry {
		e, at := named(name)
		n := c.expr(e, p)
		s.size = c.size[0]
		v, err := s.Evaluator().value(n)
		if err != nil {
			panic(failure{err})
		}
		l.located(at, func() {
			s.symmetry = append(s.symmetry, symmetryOf(v, func(message string) { l.fail(at, "%s", message) })...)
		})
	}
	s.symmetry = group(s.symmetry)
	s.size = c.size[0]
	s.draws = l.draws
	s.Notes = l.notes
	return s
}

func symmetryOf(v value.Value, fail func(string)) []map[*value.Model]value.Value {
	var list []map[*value.Model]value.Value
	value.Each(v, func(f value.Value) bool {
		m := map[*value.Model]value.Value{}
		moves := false
		value.Each(value.Domain(f), func(x value.Value) bool {
			from, ok := x.(*value.Model)
			if !ok {
				fail("SYMMETRY needs permutations of model values, and not of " + value.Short(x))
			}
			to := value.Apply(f, x)
			m[from] = to
			moves = moves || to != value.Value(from)
			return true
		})
		if moves {
			list = append(list, m)
		}
		return true
	})
	return list
}

// group has all that the permutations make one after the other, without the one that moves nothing.
func group(list []map[*value.Model]value.Value) []map[*value.Model]value.Value {
	key := func(m map[*value.Model]value.Value) string {
		var moved []string
		for from, to := range m {
			if to != value.Value(from) {
				moved = append(moved, from.Name+">"+to.String())
			}
		}
		slices.Sort(moved)
		return strings.Join(moved, " ")
	}
	known := map[string]bool{"": true}
	var all []map[*value.Model]value.Value
	for at, more := 0, list; ; at++ {
		for _, m := range more {
			if k := key(m); !known[k] {
				known[k] = true
				all = append(all, m)
			}
		}
		if at == len(all) {
			return all
		}
		more = nil
		for _, m := range list {
			product := map[*value.Model]value.Value{}
			for from, to := range all[at] {
				product[from] = value.Renamed(to, m)
			}
			for from, to := range m {
				if _, ok := product[from]; !ok {
					product[from] = to
				}
			}
			more = append(more, product)
		}
	}
}

// part is a conjunct of a specification's formula.
type part struct {
	expr  syntax.Expr
	place place
	begin []int // the slots that must be emptied before it is evaluated
}

// split takes Init /\ [][Next]_v /\ what else is said of behaviours apart.
func (l *loader) split(c *compiler, whole part, init, next, rest *[]part) {
	e, p := c.through(whole.expr, whole.place)
	under := func(e syntax.Expr, p place, slots []int) part { return part{e, p, slices.Concat(whole.begin, slots)} }
	if n, _ := c.alone(func() node { return c.expr(e, p) }); n.level < temporalLevel {
		*init = append(*init, under(e, p, nil))
		return
	}
	switch x := e.(type) {
	case *syntax.Junction:
		if x.And {
			for _, item := range x.Items {
				l.split(c, under(item, p, nil), init, next, rest)
			}
			return
		}
	case *syntax.Let:
		q, slots := c.let(x.Units, p)
		l.split(c, under(x.Body, q, slots), init, next, rest)
		return
	case *syntax.Apply:
		if x.Name == "[]" && len(x.Path) == 0 {
			inner, q := c.through(x.Args[0], p)
			if a, ok := inner.(*syntax.Action); ok && !a.Angle {
				if len(*next) > 0 {
					l.fail(where{q.scope.file(), a.Pos}, "the specification has a second [][Next]_vars: join both actions in one")
				}
				*next = append(*next, under(a.Body, q, nil))
				return
			}
			break
		}
		if d, q, u := c.operatorOf(x, p); d != nil { // Fairness(i)
			to, slots := c.given(d.params, q, u)
			l.split(c, under(d.body, to, slots), init, next, rest)
			return
		}
	}
	*rest = append(*rest, under(e, p, nil))
}

// conjuncts takes a formula of states apart, also where names stand for conjunctions.
func (c *compiler) conjuncts(e syntax.Expr, p place) (parts []conjunct) {
	switch x := e.(type) {
	case *syntax.Paren:
		return c.conjuncts(x.Inner, p)
	case *syntax.Junction:
		if x.And {
			for _, item := range x.Items {
				parts = append(parts, c.conjuncts(item, p)...)
			}
			return parts
		}
	case *syntax.Apply:
		if len(x.Args) > 0 {
			break
		}
		if inner, _ := c.through(x, p); !isConjunction(inner) {
			break // what its value is may be remembered
		}
		if d, q, u := c.operatorOf(x, p); d != nil && !d.recursive && len(d.params) == 0 {
			c.depthOf(d, u)
			defer func() { d.reached-- }()
			defer c.within(d, u.at)()
			return c.conjuncts(d.body, q)
		}
	}
	n := c.expr(e, p)
	return []conjunct{{n.truth(c.at(e, p)), n.fresh}}
}

func isConjunction(e syntax.Expr) bool {
	j, ok := e.(*syntax.Junction)
	return ok && j.And
}

// actionsOf are the actions of a part of the specification's formula.
func (c *compiler) actionsOf(n part, found func(name string, args []node, e syntax.Expr, at where, build func(act) act)) {
	c.actions(n.expr, n.place, "Next", nil, func(name string, args []node, e syntax.Expr, at where, build func(act) act) {
		found(name, args, e, at, func(next act) act { return actBegun(build(next), n.begin) })
	})
}

// actions finds the parts of a next-state relation, and tells how each is compiled before what follows it.
func (c *compiler) actions(e syntax.Expr, p place, name string, args []node, found func(name string, args []node, e syntax.Expr, at where, build func(act) act)) {
	at := where{c.file(p), e.Position()}
	switch x := e.(type) {
	case *syntax.Paren:
		c.actions(x.Inner, p, name, args, found)
		return
	case *syntax.Junction:
		if !x.And {
			for _, item := range x.Items {
				c.actions(item, p, name, args, found)
			}
			return
		}
	case *syntax.Quantified:
		if x.Kind == `\E` {
			born := c.born
			q, list, _ := c.loops(x.Bounds, p, &at)
			early, here := c.early(x.Body, q, list, born), at
			c.actions(x.Body, q, name, args, func(name string, args []node, e syntax.Expr, at where, build func(act) act) {
				found(name, args, e, at, func(next act) act {
					return some(list, early, &here, build(next))
				})
			})
			return
		}
	case *syntax.Apply:
		if len(x.Path) == 0 && p.env.find(x.Name) == nil && p.scope.find(x.Name) == nil {
			break
		}
		d, q, u := c.operatorOf(x, p)
		if d == nil || d.recursive {
			break
		}
		c.depthOf(d, u)
		c.arity(d, len(d.params), u)
		to, begin := c.given(d.params, q, u)
		end := c.within(d, u.at)
		c.actions(d.body, to, d.name, c.constants(d.params, to), func(name string, args []node, e syntax.Expr, at where, build func(act) act) {
			found(name, args, e, at, func(next act) act { return c.record(d, u, actBegun(build(next), begin)) })
		})
		end()
		d.reached--
		return
	}
	found(name, args, e, at, func(next act) act { return c.act(e, p, next) })
}

// constants are the parameters of an operator, if their values depend on no state.
func (c *compiler) constants(params []syntax.Param, to place) (list []node) {
	for _, param := range params {
		if param.Arity > 0 {
			return nil
		}
		n := c.expr(&syntax.Apply{Pos: param.Pos, Name: param.Text}, to)
		if n.level > constantLevel || n.fresh {
			return nil
		}
		list = append(list, n)
	}
	return list
}

// Evaluator evaluates a specification. It is not for several goroutines at once; a Spec may have several.
type Evaluator struct {
	spec     *Spec
	x        *ctx
	TLC      registers
	seen     [1]value.Value // what VIEW shows of a state
	renaming *value.Renaming
	met      guarded
	slots    []value.Value // of an operator's frame
	partial  State         // a successor that an action did not complete
	search   enumeration
}

// enumeration is what states are being looked for.
type enumeration struct {
	f       func(State) error // gets them
	stopped error             // what it returned
	initial bool              // else successors
	action  string            // that leads to them
	part    string            // of what the action is one
	at      *where
}

// Evaluator makes an evaluator.
func (s *Spec) Evaluator() *Evaluator {
	ev := &Evaluator{spec: s}
	ev.x = &ctx{slots: make([]value.Value, s.size), m: &machine{tlc: &ev.TLC}}
	ev.x.m.emit = ev.emit
	return ev
}

// ErrStop ends an enumeration of states without an error.
var ErrStop = errors.New("stop")

// run calls f and makes what goes wrong in it an error with its place.
func (ev *Evaluator) run(f func()) (err error) {
	t, m := &ev.TLC, ev.x.m
	depth, top, inside, then, between, middles, goals, applied, reads := t.depth, t.top, t.inside, m.then, m.between, m.middles, m.goals, m.applied, m.reads
	defer func() {
		if r := recover(); r != nil {
			switch r := r.(type) {
			case *value.Error:
				err = ev.explained(r)
			case interrupted:
				err = ErrStop
			default:
				panic(r)
			}
			// What is under way around it goes on.
			t.depth, t.top, t.inside, m.then, m.between, m.middles, m.goals, m.applied, m.reads = depth, top, inside, then, between, middles, goals, applied, reads
		}
	}()
	f()
	return nil
}

func (ev *Evaluator) value(n node) (v value.Value, err error) {
	err = ev.run(func() { v = n.eval(ev.x) })
	return v, err
}

// Initial calls f with each initial state, until f returns an error. The state is valid during the call: f copies what it keeps.
func (ev *Evaluator) Initial(f func(State) error) error {
	if ev.spec.init == nil {
		return nil
	}
	m := ev.x.m
	m.cur, m.nxt, m.moment = make(State, len(ev.spec.Variables)), nil, moment{}
	if ev.spec.draws {
		ev.TLC.drawn = 0
	}
	return ev.enumerate(ev.spec.init, ev.x, enumeration{f: f, initial: true, at: &ev.spec.start})
}

// Successors calls f with each state that action may lead to from s, until f returns an error. A state may come more than once, and is
// valid during the call: f copies what it keeps.
func (ev *Evaluator) Successors(s State, action *Action, f func(State) error) error {
	m := ev.x.m
	m.cur = s
	if len(m.nxt) != len(s) {
		m.nxt = make(State, len(s))
	}
	clear(m.nxt)
	m.composed = 0
	m.begins()
	if ev.spec.draws { // chance is the same again where a behaviour is told, or compared
		ev.TLC.drawn = value.Hash(s) + uint64(action.Span.First.Line)<<32 + uint64(action.Span.First.Column)
	}
	return ev.enumerate(action.act, ev.x, enumeration{f: f, action: action.Name, part: " of the next-state relation", at: &action.at})
}

// times is how often TLC would generate the state that Successors has found.
func (ev *Evaluator) times() int { return ev.x.m.times }

// ahead is how many of the successors that were counted so far TLC would generate later: by further ways to make conditions true, which it takes one after the other.
func (ev *Evaluator) ahead() int { return ev.x.m.counted - ev.x.m.open - ev.x.m.once }

// composed is how many states between the steps of compositions TLC would have counted since composed was asked, in the same enumeration.
func (ev *Evaluator) composed() int {
	n := ev.x.m.composed
	ev.x.m.composed = 0
	return n
}

// incomplete fails with the variables of a state that have no value.
func (ev *Evaluator) incomplete(s State, what string) {
	var names []string
	for i, v := range s {
		if v == nil {
			names = append(names, ev.spec.Variables[i])
		}
	}
	if len(names) == 1 {
		value.Fail("%s The following variable is not assigned: %s.", what, names[0])
	}
	value.Fail("%s The following variables are not assigned: %s.", what, strings.Join(names, ", "))
}

// enumerate looks for all states that an action, or the initial predicate, finds in a frame.
func (ev *Evaluator) enumerate(find act, x *ctx, what enumeration) error {
	m := ev.x.m
	m.times, m.once, m.open, m.counted = 1, 0, 0, 0
	around := ev.search
	ev.search = what
	err := ev.run(func() { find(x) })
	stopped := ev.search.stopped
	ev.search = around
	if err != nil {
		return err
	}
	if errors.Is(stopped, ErrStop) {
		return nil
	}
	return stopped
}

// emit hands on a state that was found. It tells whether the search is to end.
func (ev *Evaluator) emit() bool {
	m, e := ev.x.m, &ev.search
	so := m.goal(e.initial)
	m.once++
	m.counted += m.times
	for _, v := range so {
		if v == nil {
			m.at = e.at
			ev.partial = slices.Clone(so)
			what := "The initial state is not completely specified by the initial predicate."
			if !e.initial {
				what = "Successor state is not completely specified by action " + e.action + e.part + "."
			}
			ev.incomplete(so, what)
		}
	}
	e.stopped = e.f(so)
	return e.stopped != nil
}

// Holds tells whether a formula holds in a state, or in the step from s to next.
func (ev *Evaluator) Holds(f *Formula, s, next State) (holds bool, err error) {
	m := ev.x.m
	before := m.enter(s, next)
	m.read = 0
	if f.whole {
		m.changed = difference(s, next, same)
	}
	err = ev.run(func() { holds = f.test(ev.x) })
	m.leave(before)
	return holds, err
}

// Fingerprint tells states apart: equal for states that are equal under the specification's VIEW and SYMMETRY.
func (ev *Evaluator) Fingerprint(s State) (fp uint64, err error) {
	err = ev.run(func() { fp = ev.fingerprint(s) })
	return fp, err
}

// viewed tells apart the states that are not equal under the specification's VIEW.
func (ev *Evaluator) viewed(s State) (fp uint64, err error) {
	err = ev.run(func() { fp = value.Hash(ev.view(s)) })
	return fp, err
}

// view is what the specification's VIEW shows of a state, or all of it.
func (ev *Evaluator) view(s State) []value.Value {
	if ev.spec.view == nil {
		return s
	}
	m := ev.x.m
	before := m.enter(s, nil)
	ev.seen[0] = settled(ev.spec.view.eval(ev.x))
	m.leave(before)
	return ev.seen[:]
}

func (ev *Evaluator) fingerprint(s State) uint64 {
	seen := ev.view(s)
	if len(ev.spec.symmetry) == 0 {
		return value.Hash(seen)
	}
	if ev.renaming == nil {
		ev.renaming = value.NewRenaming(ev.spec.symmetry)
	}
	return ev.renaming.Least(seen)
}
