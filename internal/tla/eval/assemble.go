package eval

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/tla/config"
	"github.com/bloodhound-dst/bloodhound/internal/tla/failure"
	"github.com/bloodhound-dst/bloodhound/internal/tla/library"
	"github.com/bloodhound-dst/bloodhound/internal/tla/ndjson"
	"github.com/bloodhound-dst/bloodhound/internal/tla/scope"
	"github.com/bloodhound-dst/bloodhound/internal/tla/symmetry"
	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// assemble makes the specification that a configuration chooses from a module.
func assemble(loader *scope.Loader, root *scope.Scope, logs *ndjson.Logs, config *config.Config) *Spec {
	l := &assembly{Loader: loader, root: root, config: config, place: place{scope: root}}
	l.misspelt()
	l.configure()
	l.c = newCompiler(loader, logs)
	l.settle()
	l.s = &Spec{Variables: l.Variables, CheckDeadlock: !config.NoDeadlock, compiler: l.c, root: root, config: config}
	l.assume()
	init, next, rest := l.behaviours()
	l.c.recorded = map[scope.Where]bool{}
	for _, name := range config.Properties {
		l.c.recordFor(l.reference(name), l.place, 0)
	}
	l.steps(init, next)
	b := &behaviour{l.c, l.s}
	for _, r := range rest {
		b.assume(r.expr, r.place, r.begin)
	}
	for _, name := range config.Properties {
		b.property(name, l.reference(name), l.place, nil)
	}
	always := len(l.s.parts.Invariants) // of properties: as in TLC, they are looked at after those under INVARIANT
	l.formulas()
	invariants := l.s.parts.Invariants
	l.s.parts.Invariants = slices.Concat(invariants[always:], invariants[:always])
	l.views()
	l.symmetries()
	l.s.size = l.c.size[0]
	l.s.draws = l.c.draws
	l.s.parts.Counted = l.c.registered
	l.s.Notes = l.Notes
	return l.s
}

// misspelt looks for a statement of the configuration that was taken for one of the names before it, since it is misspelt.
func (l *assembly) misspelt() {
	c := l.config
	for _, list := range [][]string{c.Invariants, c.Properties, c.Constraints, c.ActionConstraints, c.Symmetry, c.Possible, c.Postconditions} {
		for _, name := range list {
			if meant := config.Meant(name); meant != "" && l.root.Find(name) == nil {
				at := l.named(name)
				l.Fail(at, "%s is not a configuration statement%s", name, meant)
			}
		}
	}
}

// definition is the use of an operator that is named at a place, and where it is defined.
func (l *assembly) definition(name string, by scope.Where) (*syntax.Apply, scope.Where) {
	d := l.root.Find(name)
	switch {
	case d == nil:
		l.Fail(by, "%s is not defined in module %s", name, l.root.Module)
	case len(d.Params) > 0:
		l.Fail(by, "%s takes %s, and an operator that is named here takes none: define one in module %s that calls it", name,
			plural.Count(len(d.Params), "argument"), l.root.Module)
	}
	return &syntax.Apply{Pos: d.At.Pos, Name: name}, d.At
}

// reference is the use of an operator that the configuration names.
func (l *assembly) reference(name string) *syntax.Apply {
	e, _ := l.definition(name, l.named(name))
	return e
}

// predicate is a formula of the level most, or below, that is named at a place.
func (l *assembly) predicate(name string, by scope.Where, what string, most int) Formula {
	e, at := l.definition(name, by)
	n := l.c.expr(e, l.place)
	switch {
	case n.level == temporalLevel:
		l.Fail(by, "%s is a temporal formula, and not %s: it belongs under PROPERTY", name, what)
	case n.next && most < actionLevel:
		l.Fail(by, "%s has primes, and is not %s", name, what)
	}
	return Formula{Name: name, test: n.truth(&at), at: at, fresh: n.fresh, Next: n.next}
}

// ofStates is a formula of one state, with its conjuncts.
func (l *assembly) ofStates(name, what string) Formula {
	f := l.predicate(name, l.named(name), what, stateLevel)
	f.parts = l.c.conjuncts(l.reference(name), l.place)
	return f
}

func (l *assembly) assume() {
	for _, a := range l.root.Assumptions {
		at := a.At
		name := a.Name
		if name == "" {
			name = fmt.Sprintf("ASSUME at line %d of %s", at.Pos.Line, at.Source.File)
		}
		n := l.c.expr(a.Body, placeAt(a.Place))
		if n.level == stateLevel || n.next {
			l.Fail(at, "an assumption is about constants: this one has a variable")
		}
		l.s.parts.Assumptions = append(l.s.parts.Assumptions, Formula{Name: name, test: n.truth(&at), at: at, fresh: n.fresh})
	}
}

// behaviours are the parts of the initial predicate, of the next-state relation, and what else the specification demands of behaviours.
func (l *assembly) behaviours() (init, next, rest []part) {
	config := l.config
	switch {
	case config.Specification != "" && (config.Init != "" || config.Next != ""):
		l.Fail(l.named(cmp.Or(config.Init, config.Next)), "the configuration has SPECIFICATION, and INIT or NEXT besides: remove one of them")
	case config.Specification != "":
		l.split(part{l.reference(config.Specification), l.place, nil}, &init, &next, &rest)
		switch by := l.named(config.Specification); {
		case len(l.Variables) == 0:
		case len(init) == 0:
			l.Fail(by, "%s has no initial predicate: a specification is Init /\\ [][Next]_vars", config.Specification)
		case len(next) == 0:
			l.Fail(by, "%s has no next-state relation: a specification is Init /\\ [][Next]_vars", config.Specification)
		}
	case config.Init != "" && config.Next != "":
		init = []part{{l.reference(config.Init), l.place, nil}}
		next = []part{{l.reference(config.Next), l.place, nil}}
	case config.Init == "" && config.Next == "":
		// Nothing but assumptions is to be checked.
		if len(l.Variables) > 0 {
			l.Fail(l.top(), "the configuration needs SPECIFICATION, or INIT and NEXT: module %s has variables", l.root.Module)
		}
	default:
		l.Fail(l.top(), "INIT and NEXT need each other")
	}
	return init, next, rest
}

// top is the beginning of the configuration.
func (l *assembly) top() scope.Where { return l.placeAt(syntax.Pos{Line: 1, Column: 1}) }

// steps compiles the initial predicate and the actions.
func (l *assembly) steps(init, next []part) {
	c, s := l.c, l.s
	emit := func(x *ctx) bool { return x.m.emit() }
	if len(init) > 0 {
		c.assigning = true
		a := act(emit)
		for i := len(init) - 1; i > 0; i-- {
			a = emptied(c.conjunct(init[i].expr, init[i].place, a), init[i].begin)
		}
		a = emptied(c.act(init[0].expr, init[0].place, a), init[0].begin)
		c.assigning = false
		s.init, s.start = a, scope.Where{Source: init[0].place.scope.File(), Pos: init[0].expr.Position()}
	}
	s.relation = next
	r := nextRelation{compiler: c, found: func(a leaf) act {
		span, ok := a.at.Source.Spans[a.expr]
		if !ok {
			span = syntax.Span{First: a.at.Pos, Last: a.at.Pos}
		}
		s.Actions = append(s.Actions, Action{a.name, a.at.Source.Module, a.at.Source.File, span, len(s.Actions), a.args, a.at})
		return emit
	}}
	s.next = r.compileParts(next)
}

// formulas compiles what the configuration demands of states and of steps.
func (l *assembly) formulas() {
	s, config := l.s, l.config
	if config.Alias != "" {
		n := l.c.expr(l.reference(config.Alias), l.place)
		s.alias = &n
	}
	for _, name := range config.Invariants {
		s.parts.Invariants = append(s.parts.Invariants, l.ofStates(name, "an invariant, which is of one state"))
	}
	for _, name := range config.Constraints {
		s.parts.Constraints = append(s.parts.Constraints, l.ofStates(name, "a constraint, which is of one state"))
	}
	for _, name := range config.ActionConstraints {
		s.parts.ActionConstraints = append(s.parts.ActionConstraints, l.predicate(name, l.named(name), "a constraint of steps", actionLevel))
	}
	for _, name := range config.Postconditions {
		s.parts.Postconditions = append(s.parts.Postconditions, l.predicate(name, l.postcondition(name), "a postcondition", stateLevel))
	}
	for _, name := range config.Possible {
		s.parts.Possible = append(s.parts.Possible, l.predicate(name, l.named(name), "what is true in a state or of a step", actionLevel))
	}
}

// views compiles what is evaluated beside the check.
func (l *assembly) views() {
	s, config := l.s, l.config
	if config.View != "" {
		n := l.c.expr(l.reference(config.View), l.place)
		if n.level == temporalLevel || n.next {
			l.Fail(l.named(config.View), "%s is not an expression over one state, as a view must be", config.View)
		}
		s.view = &n
	}
	if name := config.Periodic; name != "" {
		e, at := l.definition(name, l.named(name))
		n := l.c.expr(e, l.place)
		if n.level == stateLevel || n.next || n.level == temporalLevel {
			l.Fail(l.named(name), "%s has a variable, and _PERIODIC is evaluated without a state", name)
		}
		s.parts.Periodic = &Formula{Name: name, at: at, test: func(x *ctx) bool { return n.eval(x) != value.Value(value.Bool(false)) }}
	}
	if config.Reward != "" {
		l.reference(config.Reward)
		l.Notes = append(l.Notes, fmt.Sprintf("%s:%d: _RL_REWARD changes nothing: a simulation here draws steps without learning",
			config.File, config.PositionOf(config.Reward).Line))
	}
}

// symmetries evaluates SYMMETRY, which needs no state.
func (l *assembly) symmetries() {
	for _, name := range l.config.Symmetry {
		e, at := l.definition(name, l.named(name))
		l.symmetry(e, l.place, at)
	}
}

// symmetry evaluates a set of permutations. Those of Permutations(S) are as many as a check may have time for: two make all of them.
func (l *assembly) symmetry(e syntax.Expr, p place, at scope.Where) {
	s := l.s
	inner, q := l.c.through(e, p)
	if a, ok := inner.(*syntax.Apply); ok {
		if a.Name == `\cup` && len(a.Path) == 0 && len(a.Args) == 2 {
			l.symmetry(a.Args[0], q, at)
			l.symmetry(a.Args[1], q, at)
			return
		}
		d, _ := l.c.lookup(a, q)
		if d != nil && d.Given() == nil && d.Kind == scope.Native && d.Native == library.Modules["TLC"]["Permutations"] && len(a.Args) == 1 {
			members := l.constant(a.Args[0], q)
			l.Located(at, func() {
				library.Permutable(members)
				s.parts.Symmetry = append(s.parts.Symmetry, symmetry.Generators(value.Explicit(members).Items)...)
			})
			return
		}
	}
	v := l.constant(e, p)
	l.Located(at, func() { s.parts.Symmetry = append(s.parts.Symmetry, symmetry.Permutations(v)...) })
}

// constant evaluates an expression that needs no state.
func (l *assembly) constant(e syntax.Expr, p place) value.Value {
	n := l.c.expr(e, p)
	l.s.size = l.c.size[0]
	v, err := NewEvaluator(l.s).value(n)
	if err != nil {
		panic(failure.Wrap(err))
	}
	return v
}

// part is a conjunct of a specification's formula.
type part struct {
	expr  syntax.Expr
	place place
	begin []int // the slots that must be emptied before it is evaluated
}

// split takes Init /\ [][Next]_v /\ what else is said of behaviours apart.
func (l *assembly) split(whole part, init, next, rest *[]part) {
	c := l.c
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
				l.split(under(item, p, nil), init, next, rest)
			}
			return
		}
	case *syntax.Let:
		q, slots := c.let(x.Units, p)
		l.split(under(x.Body, q, slots), init, next, rest)
		return
	case *syntax.Apply:
		if x.Name == "[]" && len(x.Path) == 0 {
			inner, q := c.through(x.Args[0], p)
			if a, ok := inner.(*syntax.Action); ok && !a.Angle {
				if len(*next) > 0 {
					l.Fail(scope.Where{Source: q.scope.File(), Pos: a.Pos}, "the specification has a second [][Next]_vars: join both actions in one")
				}
				*next = append(*next, under(a.Body, q, nil))
				return
			}
			break
		}
		if d, q, u := c.operatorOf(x, p); d != nil { // Fairness(i)
			to, slots := c.given(d.Params, q, u)
			l.split(under(d.Body, to, slots), init, next, rest)
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
		if d, q, u := c.operatorOf(x, p); d != nil && !d.Recursive && len(d.Params) == 0 {
			c.depthOf(d, u)
			defer func() { compiledOf(d).reached-- }()
			defer c.within(d, u.at)()
			return c.conjuncts(d.Body, q)
		}
	}
	n := c.expr(e, p)
	return []conjunct{{n.truth(c.whereOf(e, p)), n.fresh}}
}

func isConjunction(e syntax.Expr) bool {
	j, ok := e.(*syntax.Junction)
	return ok && j.And
}
