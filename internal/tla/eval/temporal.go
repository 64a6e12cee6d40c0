package eval

import (
	"fmt"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/tla/liveness"
	"github.com/bloodhound-dst/bloodhound/internal/tla/scope"
	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// Property is a part of a temporal formula that is to hold of all behaviours, and that needs more than one step to be refuted.
type Property struct {
	Name    string
	Negated *liveness.Formula
}

// behaviour compiles formulas about behaviours.
type behaviour struct {
	*compiler
	spec *Spec
}

// atom is a formula of a state or step as a part of one about behaviours.
func (b *behaviour) atom(name string, n node, begin []int, at scope.Where) int {
	n = begun(n, begin)
	when := liveness.OfState
	switch {
	case n.next:
		when = liveness.OfStep
	case n.level >= actionLevel:
		when = liveness.OfExpanded
	}
	b.spec.parts.Atoms = append(b.spec.parts.Atoms, Formula{Name: name, test: n.truth(&at), at: at, fresh: n.fresh, whole: when == liveness.OfStep})
	b.spec.parts.Times = append(b.spec.parts.Times, when)
	return len(b.spec.parts.Atoms) - 1
}

// wholly compiles a formula of steps that is only evaluated for two states that are complete.
func (b *behaviour) wholly(e syntax.Expr, p place) node {
	b.whole = true
	n := b.expr(e, p)
	b.whole = false
	return n
}

// level is how much of a behaviour an expression is about.
func (b *behaviour) level(e syntax.Expr, p place) int {
	n, _ := b.alone(func() node { return b.expr(e, p) })
	return n.level
}

// under finds what an expression stands for, with its parameters bound; begin are the slots that must be emptied before it is evaluated.
func (b *behaviour) under(e syntax.Expr, p place, begin []int) (syntax.Expr, place, []int) {
	for range 100 {
		e, p = b.through(e, p)
		switch x := e.(type) {
		case *syntax.Apply:
			if len(x.Args) == 0 && len(x.Path) == 0 || len(x.Path) == 0 && p.env.find(x.Name) == nil && p.scope.Find(x.Name) == nil {
				return e, p, begin
			}
			d, q, u := b.operatorOf(x, p)
			if d == nil || d.Recursive && len(d.Params) > 0 {
				return e, p, begin
			}
			b.arity(d, len(d.Params), u)
			to, slots := b.given(d.Params, q, u)
			e, p, begin = d.Body, to, slices.Concat(begin, slots)
		case *syntax.Let:
			q, slots := b.let(x.Units, p)
			e, p, begin = x.Body, q, slices.Concat(begin, slots)
		default:
			return e, p, begin
		}
	}
	return e, p, begin
}

// mostInstances bounds the members of a set for each of which a temporal formula is made.
const mostInstances = 1 << 16

// each binds the names of a quantifier over constant sets to their members, one after the other.
func (b *behaviour) each(bounds []syntax.Bound, p place, f func(place)) {
	if len(bounds) == 0 {
		f(p)
		return
	}
	first := bounds[0]
	at := scope.Where{Source: p.scope.File(), Pos: first.Names[0].Pos}
	if first.Set == nil {
		b.failAt(&at, "a temporal formula needs \\in and a constant set after the names of its quantifiers")
	}
	n := b.expr(first.Set, p)
	if n.level > constantLevel {
		b.failAt(&at, "the set of a temporal formula's quantifier must be constant")
	}
	b.spec.size = b.size[0]
	set, err := NewEvaluator(b.spec).value(n)
	if err != nil {
		b.failAt(&at, "%v", err)
	}
	var members []value.Value
	b.loader.Located(at, func() {
		value.Each(set, func(v value.Value) bool {
			members = append(members, v)
			if len(members) > mostInstances {
				value.Fail("the set of a temporal formula's quantifier has more than %d members", mostInstances)
			}
			return true
		})
	})
	name := func(q place, n syntax.Name, v value.Value) place {
		known := constNode(v)
		return b.bind(q, n.Text, binding{slot: -1, always: &known})
	}
	var names func(q place, i int)
	names = func(q place, i int) {
		if i == len(first.Names) {
			b.each(bounds[1:], q, f)
			return
		}
		for _, v := range members {
			if first.Pattern {
				var items []value.Value
				b.loader.Located(at, func() { items = value.Items(v) })
				if len(items) != len(first.Names) {
					b.failAt(&at, "%s is not a tuple of %s", value.Short(v), plural.Count(len(first.Names), "item"))
				}
				for k, n := range first.Names {
					q = name(q, n, items[k])
				}
				b.each(bounds[1:], q, f)
				continue
			}
			names(name(q, first.Names[i], v), i+1)
		}
	}
	names(p, 0)
}

// constant evaluates a part of a temporal formula that is the same in all states, such as i # j of \A i, j \in S : i # j =>
// WF_v(A(i, j)). known is false for all else, and for what cannot be evaluated.
func (b *behaviour) constant(e syntax.Expr, p place, begin []int) (holds, known bool) {
	n := begun(b.expr(e, p), begin)
	if n.level > constantLevel || n.fresh || n.self {
		return false, false
	}
	b.spec.size = b.size[0]
	v, err := NewEvaluator(b.spec).value(n)
	if err != nil {
		return false, false
	}
	is, known := v.(value.Bool)
	return bool(is), known
}

// formula compiles a formula about behaviours.
func (b *behaviour) formula(e syntax.Expr, p place, begin []int) *liveness.Formula {
	at := scope.Where{Source: p.scope.File(), Pos: e.Position()}
	if b.level(e, p) < temporalLevel {
		if holds, known := b.constant(e, p, begin); known && holds {
			return liveness.Always
		} else if known {
			return liveness.Never
		}
		n := b.expr(e, p)
		if n.next {
			b.failAt(&at, "an action stands in a temporal formula, where it would distinguish stuttering steps: write [][A]_v, or <><<A>>_v")
		}
		return &liveness.Formula{Connective: liveness.Letter, Atom: b.atom(at.String(), n, begin, at)}
	}
	e, p, begin = b.under(e, p, begin)
	at = scope.Where{Source: p.scope.File(), Pos: e.Position()}
	switch x := e.(type) {
	case *syntax.Junction:
		how, f := liveness.Both, liveness.Always
		if !x.And {
			how, f = liveness.Either, liveness.Never
		}
		for _, item := range x.Items {
			f = liveness.Join(how, f, b.formula(item, p, begin))
		}
		return f
	case *syntax.Quantified:
		how, f := liveness.Both, liveness.Always
		switch x.Kind {
		case `\E`:
			how, f = liveness.Either, liveness.Never
		case `\A`:
		default:
			b.failAt(&at, "%s, the quantifier over behaviours of a variable, is not supported: TLC does not check it, either", x.Kind)
		}
		b.each(x.Bounds, p, func(q place) { f = liveness.Join(how, f, b.formula(x.Body, q, begin)) })
		return f
	case *syntax.Fairness:
		w := b.fairness(x, p, begin)
		enabled, happens := &liveness.Formula{Connective: liveness.Letter, Atom: w.Enabled}, &liveness.Formula{Connective: liveness.Letter, Atom: w.Happens}
		if w.Strong {
			return liveness.Join(liveness.Either, liveness.Eventually(liveness.Henceforth(enabled.Not())), liveness.Henceforth(liveness.Eventually(happens)))
		}
		return liveness.Henceforth(liveness.Eventually(liveness.Join(liveness.Either, enabled.Not(), happens)))
	case *syntax.If:
		cond, then, other := b.formula(x.Cond, p, begin), b.formula(x.Then, p, begin), b.formula(x.Else, p, begin)
		return liveness.Join(liveness.Both, liveness.Join(liveness.Either, cond.Not(), then), liveness.Join(liveness.Either, cond, other))
	case *syntax.Apply:
		part := func(i int) *liveness.Formula { return b.formula(x.Args[i], p, begin) }
		switch x.Name {
		case "[]", "<>":
			inner, q := b.through(x.Args[0], p)
			if a, ok := inner.(*syntax.Action); ok {
				if a.Angle != (x.Name == "<>") {
					b.failAt(&at, "%s needs %s here: the other form distinguishes stuttering steps", x.Name,
						map[string]string{"[]": "[A]_v", "<>": "<<A>>_v"}[x.Name])
				}
				f := &liveness.Formula{Connective: liveness.Letter, Atom: b.atom(at.String(), b.wholly(a, q), begin, at)}
				if a.Angle {
					return liveness.Eventually(f)
				}
				return liveness.Henceforth(f)
			}
			if x.Name == "[]" {
				return liveness.Henceforth(part(0))
			}
			return liveness.Eventually(part(0))
		case "~>":
			return liveness.Henceforth(liveness.Join(liveness.Either, part(0).Not(), liveness.Eventually(part(1))))
		case "~":
			return part(0).Not()
		case "=>":
			return liveness.Join(liveness.Either, part(0).Not(), part(1))
		case "<=>":
			f, g := part(0), part(1)
			return liveness.Join(liveness.Both, liveness.Join(liveness.Either, f.Not(), g), liveness.Join(liveness.Either, f, g.Not()))
		}
		b.failAt(&at, "%s is not supported in a temporal formula", x.Name)
	}
	b.failAt(&at, "this expression is not supported in a temporal formula")
	return nil
}

func (b *behaviour) fairness(x *syntax.Fairness, p place, begin []int) liveness.Fairness {
	at := scope.Where{Source: p.scope.File(), Pos: x.Pos}
	kind := "WF"
	if x.Strong {
		kind = "SF"
	}
	if b.level(x.Body, p) >= temporalLevel {
		b.failAt(&at, "%s_ needs an action, and this is a temporal formula", kind)
	}
	name := fmt.Sprintf("%s at %s", kind, at.String())
	angle := &syntax.Action{Pos: x.Pos, Angle: true, Body: x.Body, Subscript: x.Subscript}
	return liveness.Fairness{
		Enabled: b.atom("ENABLED of "+name, b.enabled(angle, p), begin, at),
		Happens: b.atom("the action of "+name, b.wholly(angle, p), begin, at),
		Strong:  x.Strong,
	}
}

// property takes a property apart: what each state, each step or the first state must be, and what needs more.
func (b *behaviour) property(name string, e syntax.Expr, p place, begin []int) {
	at := scope.Where{Source: p.scope.File(), Pos: e.Position()}
	if b.level(e, p) < temporalLevel {
		n := begun(b.expr(e, p), begin)
		if n.level > stateLevel {
			b.failAt(&at, "%s is a formula of steps: a property needs [][A]_v", name)
		}
		b.spec.parts.InitialProperties = append(b.spec.parts.InitialProperties, Formula{Name: name, test: n.truth(&at), at: at, fresh: n.fresh})
		return
	}
	whole, around, before := e, p, begin
	e, p, begin = b.under(e, p, begin)
	at = scope.Where{Source: p.scope.File(), Pos: e.Position()}
	switch x := e.(type) {
	case *syntax.Junction:
		if x.And {
			for _, item := range x.Items {
				b.property(name, item, p, begin)
			}
			return
		}
	case *syntax.Quantified:
		if x.Kind == `\A` {
			b.each(x.Bounds, p, func(q place) { b.property(name, x.Body, q, begin) })
			return
		}
	case *syntax.Apply:
		if x.Name == "[]" && len(x.Path) == 0 {
			inner, q := b.through(x.Args[0], p)
			a, ok := inner.(*syntax.Action)
			switch {
			case ok && !a.Angle:
				b.spec.parts.StepProperties = append(b.spec.parts.StepProperties,
					Formula{Name: name, test: begun(b.wholly(a, q), begin).truth(&at), at: at, whole: true})
				return
			case b.level(x.Args[0], p) <= stateLevel:
				n := begun(b.expr(x.Args[0], p), begin)
				test := n.truth(&at)
				b.spec.parts.Invariants = append(b.spec.parts.Invariants,
					Formula{Name: name, test: test, at: at, fresh: n.fresh, parts: []conjunct{{test, n.fresh}}})
				return
			}
		}
	}
	b.spec.parts.Properties = append(b.spec.parts.Properties, Property{name, b.formula(whole, around, before).Not()})
}

// assume takes in a conjunct of the specification that is no initial predicate and no [][Next]_v.
func (b *behaviour) assume(e syntax.Expr, p place, begin []int) {
	e, p, begin = b.under(e, p, begin)
	switch x := e.(type) {
	case *syntax.Junction:
		if x.And {
			for _, item := range x.Items {
				b.assume(item, p, begin)
			}
			return
		}
	case *syntax.Quantified:
		if x.Kind == `\A` {
			b.each(x.Bounds, p, func(q place) { b.assume(x.Body, q, begin) })
			return
		}
	case *syntax.Apply:
		if x.Name == "=>" && len(x.Path) == 0 && len(x.Args) == 2 {
			if holds, known := b.constant(x.Args[0], p, begin); known {
				if holds {
					b.assume(x.Args[1], p, begin)
				}
				return
			}
		}
	case *syntax.If:
		if holds, known := b.constant(x.Cond, p, begin); known && holds {
			b.assume(x.Then, p, begin)
			return
		} else if known {
			b.assume(x.Else, p, begin)
			return
		}
	case *syntax.Fairness:
		b.spec.parts.Fairness = append(b.spec.parts.Fairness, b.fairness(x, p, begin))
		return
	}
	f := b.formula(e, p, begin)
	if f.Restricts() {
		at := scope.Where{Source: p.scope.File(), Pos: e.Position()}
		b.failAt(&at, "the specification has a conjunct beside Init and [][Next]_vars that forbids states or steps; beside those, "+
			"only fairness and formulas such as <>P are supported: make it a part of Next, or a CONSTRAINT")
	}
	if b.spec.parts.Assumed == nil {
		b.spec.parts.Assumed = f
	} else {
		b.spec.parts.Assumed = liveness.Join(liveness.Both, b.spec.parts.Assumed, f)
	}
}
