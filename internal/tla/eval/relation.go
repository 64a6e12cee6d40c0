package eval

import (
	"github.com/bloodhound-dst/bloodhound/internal/tla/scope"
	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
)

// nextRelation compiles a next-state relation, which is divided in actions by \/, \E and the operators that it uses. All of them
// are one act, which takes them in the order of TLC: for each member of an \E all actions under it.
type nextRelation struct {
	*compiler
	found    func(a leaf) act // an action, and how it goes on with a successor
	compiled func(a leaf)     // may be nil
	count    int              // of actions
}

// leaf is an action of a next-state relation.
type leaf struct {
	number int
	name   string // of the definition
	args   []node // of the definition
	expr   syntax.Expr
	at     scope.Where
}

// every is the number that stands for all actions.
const every = -1

// compileParts compiles the parts of a specification's formula that are next-state relations.
func (r *nextRelation) compileParts(parts []part) act {
	var acts []act
	for _, n := range parts {
		acts = append(acts, emptied(r.actions(n.expr, n.place, leaf{name: "Next"}, false), n.begin))
	}
	return first(acts)
}

// first takes one act after the other until one ends the search.
func first(acts []act) act {
	if len(acts) == 1 {
		return acts[0]
	}
	return func(x *ctx) bool {
		for _, a := range acts {
			if a(x) {
				return true
			}
		}
		return false
	}
}

// actions compiles a part of the relation. Within whole TLC knows no actions: it takes the part as one of them. Elsewhere it
// evaluates the arguments of operators before it looks for states, if all of them are constant, so that a condition among them is
// true in one way.
func (r *nextRelation) actions(e syntax.Expr, p place, around leaf, whole bool) act {
	c := r.compiler
	at := scope.Where{Source: c.file(p), Pos: e.Position()}
	switch x := e.(type) {
	case *syntax.Paren:
		return r.actions(x.Inner, p, around, whole)
	case *syntax.Junction:
		if !x.And {
			var acts []act
			for _, item := range x.Items {
				acts = append(acts, r.actions(item, p, around, whole))
			}
			return first(acts)
		}
	case *syntax.Quantified:
		if x.Kind == `\E` {
			born, from := c.born, r.count
			q, list, _ := c.loops(x.Bounds, p, &at)
			for _, l := range list {
				whole = whole || l.set.level > constantLevel
			}
			early := c.early(x.Body, q, list, born)
			return only(from, r, some(list, early, &at, r.actions(x.Body, q, around, whole)))
		}
	case *syntax.Let:
		q, begin := c.let(x.Units, p)
		return emptied(r.actions(x.Body, q, around, whole), begin)
	case *syntax.Apply:
		if len(x.Path) == 0 && p.env.find(x.Name) == nil && p.scope.Find(x.Name) == nil {
			break
		}
		d, q, u := c.operatorOf(x, p)
		if d == nil || d.Recursive {
			break
		}
		c.depthOf(d, u)
		defer func() { compiledOf(d).reached-- }()
		c.arity(d, len(d.Params), u)
		to, begin := c.given(d.Params, q, u)
		defer c.within(d, u.at)()
		around.name, around.args = d.Name, c.constants(d.Params, to)
		if whole = whole || !c.steady(d.Params, to); !whole {
			for _, param := range d.Params {
				to.env.find(param.Text).settled = true
			}
		}
		whole = whole || d.Place.Scope.Instanced()
		return c.record(d, u, emptied(r.actions(d.Body, to, around, whole), begin))
	}
	around.number, around.expr, around.at = r.count, e, at
	r.count++
	a := c.act(e, p, r.found(around))
	if r.compiled != nil {
		r.compiled(around)
	}
	number := around.number
	return func(x *ctx) bool {
		m := x.m
		if m.only != every && m.only != number {
			return false
		}
		m.acting = number
		found := a(x)
		if m.composed > 0 && m.ends != nil {
			m.ends()
		}
		return found
	}
}

// alone is one action of a relation, by its number.
func alone(relation act, number int) act {
	return func(x *ctx) bool {
		before := x.m.only
		x.m.only = number
		found := relation(x)
		x.m.only = before
		return found
	}
}

// only passes over an act whose actions, which begin with a number, are not the one that is looked for.
func only(from int, r *nextRelation, a act) act {
	end := r.count
	return func(x *ctx) bool {
		if o := x.m.only; o != every && (o < from || o >= end) {
			return false
		}
		return a(x)
	}
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

// steady reports whether all that was given for some parameters is constant.
func (c *compiler) steady(params []syntax.Param, to place) bool {
	for _, param := range params {
		e, p := syntax.Expr(&syntax.Apply{Pos: param.Pos, Name: param.Text}), to
		if op := to.env.find(param.Text).op; op != nil && op.def == nil {
			e, p = op.body, op.place
			for _, q := range op.params {
				p = c.hide(p, q.Text)
			}
		} else if op != nil {
			if e, p = op.def.Body, placeAt(op.def.Place); e == nil {
				continue // an operator of the language or of a standard module
			}
			for _, q := range op.def.Params {
				p = c.hide(p, q.Text)
			}
		}
		if c.levelOf(e, p) > constantLevel || c.selectsVariable(e, p) {
			return false
		}
	}
	return true
}

// selectsVariable reports whether an expression has a part of a definition of an instance that names a variable of the instanced
// module. SANY does not ask what stands for that variable.
func (c *compiler) selectsVariable(e syntax.Expr, p place) bool {
	found := false
	surveyor{c}.survey(e, p, map[syntax.Expr]bool{}, func(x syntax.Expr, q place) {
		a, ok := x.(*syntax.Apply)
		if !ok || len(a.Path) == 0 || found {
			return
		}
		d, r, _ := c.operatorOf(a, q)
		if d == nil || !d.Part || !d.Place.Scope.Instanced() {
			return
		}
		for _, param := range d.Params {
			r = c.hide(r, param.Text)
		}
		surveyor{c}.survey(d.Body, r, map[syntax.Expr]bool{}, func(y syntax.Expr, s place) {
			if b, ok := y.(*syntax.Apply); ok && len(b.Path) == 0 && s.env.find(b.Name) == nil {
				v := s.scope.Find(b.Name)
				found = found || v != nil && v.Kind == scope.Substituted && v.StandsIn
			}
		})
	})
	return found
}

// levelOf is the level of an expression.
func (c *compiler) levelOf(e syntax.Expr, p place) int {
	n, _ := c.alone(func() node { return c.expr(e, p) })
	return n.level
}
