package eval

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/tla/failure"
	"github.com/bloodhound-dst/bloodhound/internal/tla/scope"
	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
)

// evaluated reports whether TLC evaluates a definition without parameters once, before it looks for states, so that it is one
// condition, however many ways there are for it to be true. It does so with constants alone, of the specification and not of a
// LET, and not with parts of definitions and those that instances make in each place anew.
func (c *compiler) evaluated(e *syntax.Apply, op *scope.Def, p place) bool {
	switch b := p.env.find(e.Name); {
	case op.Part:
		return false
	case len(e.Path) > 0:
		for i, s := range e.Path {
			if len(s.Args) > 0 {
				return false
			}
			if d := p.scope.Find(s.Text); i == 0 && d != nil && d.Reevaluated() {
				return false
			}
		}
	case b != nil: // a definition of a LET, or an argument
		return false
	case op.Reevaluated():
		return false
	}
	return c.constant(e, op, p) && !c.namesVariable(e, p)
}

// constant reports whether a definition is a constant.
func (c *compiler) constant(e *syntax.Apply, op *scope.Def, p place) bool {
	if syntax.Primes(op.Body) {
		return false
	}
	var n node
	return failure.Catch(func() { c.alone(func() node { n = c.expr(e, p); return n }) }) == nil && n.level == constantLevel && !n.self
}

// namesVariable reports whether a definition has the name of one of the specification's variables. TLC does not take it for a
// constant then, even if something constant stands for a variable of that name in an instance.
func (c *compiler) namesVariable(e *syntax.Apply, p place) bool {
	found := false
	surveyor{c}.survey(e, p, map[syntax.Expr]bool{}, func(x syntax.Expr, _ place) {
		if a, ok := x.(*syntax.Apply); ok && len(a.Path) == 0 {
			found = found || slices.ContainsFunc(c.variables, func(d *scope.Def) bool { return d.Name == a.Name })
		}
	})
	return found
}
