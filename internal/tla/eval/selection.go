package eval

import (
	"slices"
	"strconv"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/tla/scope"
	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
)

// selection goes from a definition to a part of it, as F!2!<<, F(1)!(x)!3 and F!label do.
type selection struct {
	c    *compiler
	name string // of the definition
	expr syntax.Expr
	// place is where the names of expr are looked up: parameters and bound names stand for what the selection gives them.
	place place
	from  place         // of the selection
	units []syntax.Unit // the definitions of LETs on the way
	left  int           // selectors that are not taken yet, with the one that is being taken
	// last are the parameters of the last selector, whose arguments are those of the part.
	last []syntax.Param
}

// part finds the part of a definition that selectors behind its name select.
func (c *compiler) part(d *scope.Def, q place, a *syntax.Apply, at int, from place) (*scope.Def, place) {
	s := &selection{c: c, name: d.Name, expr: d.Body, from: from, place: place{env: placeAt(d.Place).env, inst: q.inst, scope: d.Place.Scope}}
	selectors := append(slices.Clone(a.Path[at+1:]), syntax.Step{Name: syntax.Name{Pos: a.Pos, Text: a.Name}, Args: a.Args})
	s.left = len(selectors) + 1
	s.bind(d.Params, a.Path[at], "the operator "+d.Name)
	if d.Bounds != nil {
		s.expr = &syntax.FunctionOf{Pos: d.At.Pos, Bounds: d.Bounds, Body: d.Body}
	}
	for len(selectors) > 0 {
		s.left = len(selectors)
		selectors = selectors[s.step(selectors):]
	}
	if len(s.units) > 0 {
		s.expr = &syntax.Let{Pos: s.expr.Position(), Units: s.units, Body: s.expr}
	}
	where := scope.Where{Source: c.file(s.place), Pos: s.expr.Position()}
	part := &scope.Def{Kind: scope.Operator, Name: d.Name + "!" + a.Name, At: where, Params: s.last, Body: s.expr, Place: s.place.site(), Part: true}
	compiledOf(part).varies = true
	return part, s.place
}

func (s *selection) fail(at syntax.Step) {
	s.c.fail(s.from, at.Pos, "%s!%s selects no part of what %s stands for", s.name, at.Text, s.name)
}

// bind has parameters stand for the arguments of a selector.
func (s *selection) bind(params []syntax.Param, by syntax.Step, what string) {
	if len(params) != len(by.Args) {
		s.c.fail(s.from, by.Pos, "%s needs %s, and has %d", what, plural.Count(len(params), "argument"), len(by.Args))
	}
	if s.left == 1 {
		s.last = params
		return
	}
	for i, param := range params {
		s.place = s.c.bind(s.place, param.Text, s.c.standing(param.Arity, by.Args[i], s.from))
	}
}

// names are parameters for the names of bounds.
func names(bounds []syntax.Bound) (list []syntax.Param) {
	for _, b := range bounds {
		for _, n := range b.Names {
			list = append(list, syntax.Param{Name: n})
		}
	}
	return list
}

// step takes the next selector, or the next two, and reports how many.
func (s *selection) step(selectors []syntax.Step) int {
	first := selectors[0]
	for {
		p, ok := s.expr.(*syntax.Paren)
		if !ok || p.Label == first.Text {
			break
		}
		s.expr = p.Inner
	}
	if l := labelled(s.expr, first.Text); l != nil {
		s.bind(l.Params, first, "the label "+l.Label)
		s.expr = l.Inner
		return 1
	}
	if let, ok := s.expr.(*syntax.Let); ok && s.defined(let, first) {
		return 1
	}
	switch e := s.expr.(type) {
	case *syntax.Case:
		if len(selectors) < 2 {
			s.fail(first)
		}
		s.expr = s.arm(e, first, selectors[1])
		return 2
	case *syntax.Quantified:
		s.within(e.Bounds, e.Body, first)
	case *syntax.Choose:
		s.within([]syntax.Bound{e.Bound}, e.Body, first)
	case *syntax.SetFilter:
		s.within([]syntax.Bound{e.Bound}, e.Body, first)
	case *syntax.SetMap:
		s.within(e.Bounds, e.Body, first)
	case *syntax.FunctionOf:
		s.within(e.Bounds, e.Body, first)
	case *syntax.Lambda:
		s.inside(e.Params, e.Body, first)
	default:
		parts := partsOf(e)
		k := s.number(first, len(parts))
		if k == 0 {
			s.fail(first)
		}
		s.expr = parts[k-1]
	}
	return 1
}

// number returns the number of the part that a selector selects, from 1 to parts, or 0 if it selects none.
func (s *selection) number(by syntax.Step, parts int) int {
	k, err := strconv.Atoi(by.Text)
	switch {
	case by.Text == "<<" && parts > 0:
		return 1
	case by.Text == ">>" && parts == 2:
		return 2
	case err == nil && k >= 1 && k <= parts && len(by.Args) == 0:
		return k
	}
	return 0
}

// inside goes to the body of what binds names, by (values for them).
func (s *selection) inside(params []syntax.Param, body syntax.Expr, by syntax.Step) {
	if by.Text != "(" {
		s.fail(by)
	}
	s.bind(params, by, "what binds names")
	s.expr = body
}

// within goes to the body of what goes through sets, or to one of the sets.
func (s *selection) within(bounds []syntax.Bound, body syntax.Expr, by syntax.Step) {
	if k := s.number(by, len(bounds)); k > 0 && bounds[k-1].Set != nil {
		s.expr = bounds[k-1].Set
		return
	}
	s.inside(names(bounds), body, by)
}

// arm is the condition or the value of an arm of CASE.
func (s *selection) arm(e *syntax.Case, which, side syntax.Step) syntax.Expr {
	arms := e.Arms
	if e.Other != nil {
		arms = append(slices.Clone(arms), syntax.Arm{Value: e.Other})
	}
	k, half := s.number(which, len(arms)), s.number(side, 2)
	switch {
	case k == 0:
		s.fail(which)
	case half == 2:
		return arms[k-1].Value
	case half == 0 || arms[k-1].Cond == nil:
		s.fail(side)
	}
	return arms[k-1].Cond
}

// defined goes to the definition of a name in LET, if there is one.
func (s *selection) defined(let *syntax.Let, by syntax.Step) bool {
	for _, u := range let.Units {
		switch u := u.(type) {
		case *syntax.Operator:
			if u.Text != by.Text {
				continue
			}
			s.bind(u.Params, by, "the operator "+u.Text)
			s.expr = u.Body
		case *syntax.Function:
			if u.Text != by.Text {
				continue
			}
			s.expr = &syntax.Apply{Pos: u.Pos, Name: u.Text}
		default:
			continue
		}
		s.units = append(s.units, let.Units...)
		return true
	}
	if s.number(by, 1) == 1 {
		s.units = append(s.units, let.Units...)
		s.expr = let.Body
		return true
	}
	return false
}

// labelled finds the expression with a label. It looks not into those that have another label.
func labelled(e syntax.Expr, label string) (found *syntax.Paren) {
	root := true
	syntax.Inspect(e, func(e syntax.Expr) bool {
		p, ok := e.(*syntax.Paren)
		if ok && found == nil && p.Label == label {
			found = p
		}
		within := found == nil && (root || !ok || p.Label == "")
		root = false
		return within
	})
	return found
}

// partsOf are the parts of an expression that numbers select.
func partsOf(e syntax.Expr) []syntax.Expr {
	values := func(fields []syntax.FieldValue) (list []syntax.Expr) {
		for _, f := range fields {
			list = append(list, f.Value)
		}
		return list
	}
	switch e := e.(type) {
	case *syntax.Junction:
		if last := len(e.Items) - 1; e.Infix && last > 1 { // a /\ b /\ c is (a /\ b) /\ c
			return []syntax.Expr{&syntax.Junction{Pos: e.Pos, And: e.And, Items: e.Items[:last], Infix: true}, e.Items[last]}
		}
		return e.Items
	case *syntax.Apply:
		return e.Args
	case *syntax.If:
		return []syntax.Expr{e.Cond, e.Then, e.Else}
	case *syntax.SetEnum:
		return e.Items
	case *syntax.Tuple:
		return e.Items
	case *syntax.Product:
		return e.Sets
	case *syntax.FunctionSet:
		return []syntax.Expr{e.Domain, e.Range}
	case *syntax.Index:
		if len(e.Args) > 1 {
			return []syntax.Expr{e.Function, &syntax.Tuple{Pos: e.Pos, Items: e.Args}}
		}
		return []syntax.Expr{e.Function, e.Args[0]}
	case *syntax.Field:
		return []syntax.Expr{e.Record, &syntax.String{Pos: e.Pos, Text: e.Name}}
	case *syntax.Record:
		return values(e.Fields)
	case *syntax.RecordSet:
		return values(e.Fields)
	case *syntax.Except:
		return []syntax.Expr{e.Function}
	case *syntax.Action:
		return []syntax.Expr{e.Body, e.Subscript}
	case *syntax.Fairness:
		return []syntax.Expr{e.Subscript, e.Body}
	}
	return nil
}
