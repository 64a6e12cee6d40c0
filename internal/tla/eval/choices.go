package eval

import (
	"maps"

	"github.com/bloodhound-dst/bloodhound/internal/tla/failure"
	"github.com/bloodhound-dst/bloodhound/internal/tla/scope"
	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// Choice describes the values of a definition's parameter in the next-state relation.
type Choice struct {
	Parameter string
	Set       string        // the text of the set that a member of is taken, or of the only value; empty: it is neither
	Members   []value.Value // the first members; none if they depend on a state, or on another choice
}

// Reached is a definition that is a part of the next-state relation, as it is used there first.
type Reached struct {
	Choices []Choice
	Text    string // of the definition's body, in one line
	// Divided means that other definitions are alternatives of it: a step of this one may be of any of them.
	Divided bool
}

// Relation gives the definitions that the next-state relation is divided in by \E and \/, by their names. Those of instances are not among them.
func Relation(s *Spec) map[string]*Reached {
	s.compiling.Lock()
	defer s.compiling.Unlock()
	r := &relation{s, map[string]*Reached{}}
	for _, p := range s.relation {
		r.walk(p.expr, p.place.scope, nil, nil)
	}
	return r.reached
}

type relation struct {
	spec    *Spec
	reached map[string]*Reached
}

// chosen is an expression that a name is a member of, or equal to.
type chosen struct {
	of     syntax.Expr
	within *scope.Scope
	only   bool
}

func (r *relation) walk(e syntax.Expr, within *scope.Scope, bound map[string]chosen, around *Reached) {
	switch e := e.(type) {
	case *syntax.Paren:
		r.walk(e.Inner, within, bound, around)
	case *syntax.Junction:
		for _, item := range e.Items {
			if !e.And {
				r.walk(item, within, bound, around)
			}
		}
	case *syntax.Quantified:
		if e.Kind != `\E` {
			return
		}
		inner := maps.Clone(bound)
		if inner == nil {
			inner = map[string]chosen{}
		}
		for _, b := range e.Bounds {
			for _, n := range b.Names {
				if delete(inner, n.Text); !b.Pattern {
					inner[n.Text] = chosen{b.Set, within, false}
				}
			}
		}
		r.walk(e.Body, within, inner, around)
	case *syntax.Apply:
		d := within.Find(e.Name)
		if instead := d.Given(); instead != nil {
			d = instead
		}
		if len(e.Path) > 0 || d == nil || d.Kind != scope.Operator || d.Body == nil || d.Bounds != nil || d.Recursive || len(d.Params) != len(e.Args) {
			return
		}
		if around != nil {
			around.Divided = true
		}
		if r.reached[d.Name] != nil {
			return
		}
		now := &Reached{}
		r.reached[d.Name] = now
		if source := d.Place.Scope.File(); source != nil {
			now.Text = source.Excerpt(source.Spans[d.Body])
		}
		params := map[string]chosen{}
		for i, p := range d.Params {
			c := chosen{e.Args[i], within, true}
			if name, ok := e.Args[i].(*syntax.Apply); ok && len(name.Args) == 0 {
				if b, ok := bound[name.Name]; ok {
					c = b
				}
			}
			params[p.Text] = c
			now.Choices = append(now.Choices, r.choice(p.Text, c))
		}
		r.walk(d.Body, d.Place.Scope, params, now)
	}
}

// mostMembers bounds Choice.Members.
const mostMembers = 64

func (r *relation) choice(name string, c chosen) Choice {
	made := Choice{Parameter: name}
	if source := c.within.File(); source != nil {
		made.Set = source.Excerpt(source.Spans[c.of])
	}
	whole := c.of
	if less, ok := c.of.(*syntax.Apply); ok && less.Name == `\` && len(less.Args) == 2 {
		whole = less.Args[0] // what is left out often depends on another choice
	}
	var n node
	size := 0
	err := failure.Catch(func() {
		n, size = r.spec.compiler.alone(func() node { return r.spec.compiler.expr(whole, place{scope: c.within}) })
	})
	if err != nil || n.level > constantLevel || n.fresh {
		if err != nil && c.only { // a value that depends on another choice
			made.Set = ""
		}
		return made
	}
	ev := NewEvaluator(r.spec)
	err = ev.run(func() {
		v := n.eval(ev.frame(&Operator{size: size}, nil))
		switch {
		case c.only:
			made.Members = []value.Value{v}
		case !value.Finite(v):
			if one := value.Int(1); value.Contains(v, one) {
				made.Members = []value.Value{one}
			}
		default:
			value.Each(v, func(m value.Value) bool {
				made.Members = append(made.Members, m)
				return len(made.Members) < mostMembers
			})
		}
	})
	if err != nil {
		made.Members = nil
	}
	return made
}
