package tla

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// A trace specification goes through a log. Where in the log one of its states is, and at which states the log is at its end, is found in what it says:
// the position is what it indexes the log by.

// position tells how far in a log a behaviour is.
type position struct {
	name     string // as the specification has it
	variable int    // which it is; -1: none
	level    bool   // it is the number of the state in the behaviour
	of       node
	size     int // of its frame
	items    []value.Value
}

// mentioned is what an expression is about.
type mentioned struct {
	variables uint64
	counters  bool // how far a check is, which is not of a behaviour
	level     bool
}

// survey calls f with all that an expression is made of, also in definitions that it uses, each of them once. Names that are bound on the way stand for nothing.
func (c *compiler) survey(e syntax.Expr, p place, seen map[syntax.Expr]bool, f func(syntax.Expr, place)) {
	f(e, p)
	inner := func(q place) {
		syntax.Inspect(e, func(x syntax.Expr) bool {
			if x == e {
				return true
			}
			c.survey(x, q, seen, f)
			return false
		})
	}
	params := func(list []syntax.Param, q place) place {
		for _, param := range list {
			q = c.hide(q, param.Text)
		}
		return q
	}
	switch x := e.(type) {
	case *syntax.Quantified:
		p = c.hidden(x.Bounds, p)
	case *syntax.Choose:
		p = c.hidden([]syntax.Bound{x.Bound}, p)
	case *syntax.SetFilter:
		p = c.hidden([]syntax.Bound{x.Bound}, p)
	case *syntax.SetMap:
		p = c.hidden(x.Bounds, p)
	case *syntax.FunctionOf:
		p = c.hidden(x.Bounds, p)
	case *syntax.Lambda:
		p = params(x.Params, p)
	case *syntax.Let:
		q := p
		if catch(func() { q, _ = c.let(x.Units, p) }) != nil { // it uses an operator that is a parameter around it
			for _, u := range x.Units {
				switch u := u.(type) {
				case *syntax.Operator:
					q = c.hide(q, u.Text)
				case *syntax.Function:
					q = c.hide(q, u.Text)
				}
			}
		}
		p = q
		for _, u := range x.Units {
			switch u := u.(type) {
			case *syntax.Operator:
				c.survey(u.Body, params(u.Params, p), seen, f)
			case *syntax.Function:
				c.survey(u.Body, c.hidden(u.Bounds, p), seen, f)
			}
		}
	case *syntax.Apply:
		if len(x.Path) == 0 && p.env.find(x.Name) == nil && p.scope.find(x.Name) == nil {
			break
		}
		if d, q, _ := c.operatorOf(x, p); d != nil && !seen[d.body] {
			seen[d.body] = true
			c.survey(d.body, params(d.params, q), seen, f)
		}
	}
	inner(p)
}

// register is the name that an expression asks TLCGet for.
func (c *compiler) register(e syntax.Expr, p place) string {
	e, p = c.through(e, p)
	a, ok := e.(*syntax.Apply)
	if !ok || a.Name != "TLCGet" || len(a.Args) != 1 {
		return ""
	}
	if s, ok := a.Args[0].(*syntax.String); ok {
		return s.Text
	}
	return ""
}

func (c *compiler) mentions(e syntax.Expr, p place) (m mentioned) {
	c.survey(e, p, map[syntax.Expr]bool{}, func(e syntax.Expr, p place) {
		if a, ok := e.(*syntax.Apply); ok && (len(a.Args) == 0 || a.Name == "TLCGet") {
			switch c.register(a, p) {
			case "level":
				m.level = true
			case "queue", "distinct", "generated", "diameter", "stats":
				m.counters = true
			case "":
				if i := c.variableOf(a, p); i >= 0 {
					m.variables |= bitOf(i)
				}
			}
		}
	})
	return m
}

// indexed is a use of a sequence by what may be a position.
type indexed struct {
	position
	sequence node
}

// positions finds what indexes sequences that do not change.
func (c *compiler) positions(parts []part) []indexed {
	var found []indexed
	for _, whole := range parts {
		seen := map[syntax.Expr]bool{}
		c.survey(whole.expr, whole.place, seen, func(e syntax.Expr, p place) {
			x, ok := e.(*syntax.Index)
			if !ok || len(x.Args) != 1 {
				return
			}
			var u indexed
			var n int
			err := catch(func() {
				_, n = c.alone(func() node {
					arg := x.Args[0]
					u.variable = c.variableOf(arg, p)
					u.level = c.register(arg, p) == "level"
					u.of, u.sequence = c.expr(arg, p), c.expr(x.Function, p)
					switch {
					case u.variable >= 0:
						u.name = c.variables[u.variable].name
					case u.level:
						u.name = `TLCGet("level")`
					default:
						u.name = c.file(p).excerpt(c.file(p).spans[arg])
					}
					return node{}
				})
			})
			ofState := u.of.level == stateLevel && u.of.reach == 0 && !u.of.fresh && !u.of.next
			if err == nil && (u.level || ofState) && u.sequence.level == constantLevel && u.sequence.reach == 0 && !u.sequence.fresh {
				u.size = n
				found = append(found, u)
			}
		})
	}
	return found
}

// alone is a frame for what was compiled alone.
func (ev *Evaluator) alone(size int) *ctx { return &ctx{slots: make([]value.Value, size), m: ev.x.m} }

// findPosition finds what a specification indexes its log by. A sequence is of the log if its items are; others are taken only if they are as long. The
// error is that there are several such positions.
func (s *Spec) findPosition(ev *Evaluator, parts []part) (*position, error) {
	var found []indexed
	if err := catch(func() { found = s.compiler.positions(parts) }); err != nil {
		return nil, err
	}
	best := map[string]*position{}
	kept := map[string]bool{}
	logs := &s.compiler.loader.logs
	var failed error
	for i := range found {
		u := &found[i]
		var v value.Value
		if err := ev.run(func() { v = u.sequence.eval(ev.alone(u.size)) }); err != nil {
			failed = cmp.Or(failed, err) // if there is no other, that is why
			continue
		}
		t, ok := v.(*value.Tuple)
		if !ok || len(t.Items) == 0 {
			continue
		}
		own := !slices.ContainsFunc(t.Items, func(v value.Value) bool { r, _ := logs.lineOf(v); return r == nil })
		long := slices.ContainsFunc(logs.read, func(r *recording) bool { return len(r.items.Items) == len(t.Items) })
		if old := best[u.name]; own || long && !kept[u.name] {
			if old != nil && kept[u.name] && len(old.items) >= len(t.Items) {
				continue
			}
			u.items = t.Items
			best[u.name], kept[u.name] = &u.position, own
		}
	}
	if slices.Contains(slices.Collect(maps.Values(kept)), true) {
		for name := range kept {
			if !kept[name] {
				delete(best, name)
			}
		}
	}
	var variables, others []string
	for _, name := range slices.Sorted(maps.Keys(best)) {
		switch p := best[name]; {
		case p.variable >= 0:
			variables = append(variables, name)
		case !p.level:
			others = append(others, name)
		}
	}
	switch {
	case len(variables) == 1:
		return best[variables[0]], nil
	case len(variables) > 1:
		return nil, fmt.Errorf("the specification goes through its log by %s and by %s: say which is the position, by --position NAME", variables[0], variables[1])
	case len(others) == 1:
		return best[others[0]], nil
	case len(others) > 1:
		return nil, fmt.Errorf("the specification goes through its log by %s and by %s: define the position as an operator, and name it by --position", others[0], others[1])
	}
	if p := best[`TLCGet("level")`]; p != nil {
		return p, nil
	}
	return nil, failed
}

// ending takes [] and <> away from a formula about how a check goes on: what is left, asked in a state when nothing is left to be done, tells whether the log is
// at its end there. It is nil if the formula is of another form.
func (b *behaviour) ending(e syntax.Expr, p place, begin []int) func(*ctx) bool {
	at := where{p.scope.file(), e.Position()}
	if b.level(e, p) < temporalLevel {
		return begun(b.expr(e, p), begin).truth(&at)
	}
	e, p, begin = b.under(e, p, begin)
	switch x := e.(type) {
	case *syntax.Junction:
		parts := make([]func(*ctx) bool, len(x.Items))
		for i, item := range x.Items {
			if parts[i] = b.ending(item, p, begin); parts[i] == nil {
				return nil
			}
		}
		return func(y *ctx) bool {
			for _, part := range parts {
				if part(y) != x.And {
					return !x.And
				}
			}
			return x.And
		}
	case *syntax.Apply:
		switch x.Name {
		case "[]", "<>":
			return b.ending(x.Args[0], p, begin)
		case "~>":
			return b.ending(x.Args[1], p, begin)
		case "=>":
			left, right := b.ending(x.Args[0], p, begin), b.ending(x.Args[1], p, begin)
			if left != nil && right != nil {
				return func(y *ctx) bool { return !left(y) || right(y) }
			}
		}
	}
	return nil
}
