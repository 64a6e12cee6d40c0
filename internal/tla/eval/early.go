package eval

import (
	"github.com/bloodhound-dst/bloodhound/internal/tla/failure"
	"github.com/bloodhound-dst/bloodhound/internal/tla/scope"
	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// early is a condition that the body of a \E begins with. It is evaluated as soon as the names that it uses have values, and not
// again for each value of those that it does not use: \E x, y : P /\ Q(x) /\ R(x, y) asks for P once, and for Q once for each x.
// The order of the conditions stays, so that one which makes sure that the next can be evaluated still does.
type early struct {
	level int // of the loop after whose name it is evaluated; -1: before all, once there is a member at all
	test  func(*ctx) bool
}

// early finds the conditions that a body begins with. born is how many names were bound before those of the loops.
func (c *compiler) early(e syntax.Expr, p place, list []loop, born int) []early {
	if c.guards != nil || c.assigning {
		return nil // Step counts each guard where it is
	}
	var found []early
	c.leading(e, p, nil, 0, func(n node, test func(*ctx) bool) bool {
		level := -1
		if len(found) > 0 {
			level = found[len(found)-1].level
		}
		for k := range list {
			if n.inner > born && (k == 0 || n.inner > list[k-1].born) {
				level = max(level, k)
			}
		}
		if level == len(list)-1 {
			return false // where the body itself is
		}
		found = append(found, early{level, test})
		return true
	})
	return found
}

// leading calls f with the conditions that an action begins with, until it returns false. begin are the slots that must be
// emptied before. It reports whether all of the action was such conditions.
func (c *compiler) leading(e syntax.Expr, p place, begin []int, depth int, f func(node, func(*ctx) bool) bool) bool {
	if depth > 30 {
		return false
	}
	switch x := e.(type) {
	case *syntax.Paren:
		return c.leading(x.Inner, p, begin, depth+1, f)
	case *syntax.Junction:
		if x.And {
			for _, item := range x.Items {
				if !c.leading(item, p, begin, depth+1, f) {
					return false
				}
			}
			return true
		}
	}
	var n node
	if failure.Catch(func() { n = c.expr(e, p) }) == nil && n.level <= stateLevel && !n.fresh && !n.self {
		n = begun(n, begin)
		return f(n, n.truth(c.whereOf(e, p)))
	}
	if x, ok := e.(*syntax.Apply); ok && (len(x.Path) > 0 || p.env.find(x.Name) != nil || p.scope.Find(x.Name) != nil) {
		if d, q, u := c.operatorOf(x, p); d != nil && !d.Recursive && len(d.Params) == len(u.args) {
			to, slots := c.given(d.Params, q, u)
			return c.leading(d.Body, to, append(begin[:len(begin):len(begin)], slots...), depth+1, f)
		}
	}
	return false
}

// some is \E: it looks for a member of each set with which the body finds what it looks for.
func some(list []loop, conditions []early, at *scope.Where, body act) act {
	if len(list) == 1 && len(conditions) == 0 {
		return someOf(list[0], at, body)
	}
	return func(x *ctx) bool {
		values := make([]value.Value, len(list))
		for i, l := range list {
			values[i] = l.set.eval(x)
		}
		x.m.at = at
		asked, refused, found := false, false, false
		holds := func(level int) bool {
			for _, e := range conditions {
				if e.level == level && !e.test(x) {
					return false
				}
			}
			return true
		}
		var from func(i int) bool
		from = func(i int) bool {
			if i == len(list) {
				found = body(x)
				return !found
			}
			return value.Each(values[i], func(v value.Value) bool {
				x.m.tick()
				list[i].bind(x, v)
				if !asked {
					asked = true
					if refused = !holds(-1); refused {
						return false
					}
				}
				return !holds(i) || from(i+1)
			})
		}
		from(0)
		return found
	}
}

// someOf is \E over one set.
func someOf(l loop, at *scope.Where, body act) act {
	set, bind := l.set.eval, l.bind
	return func(x *ctx) bool {
		s := set(x)
		x.m.at = at
		if s, ok := s.(*value.Set); ok {
			for _, v := range s.Items {
				x.m.tick()
				bind(x, v)
				if body(x) {
					return true
				}
			}
			return false
		}
		return !value.Each(s, func(v value.Value) bool {
			x.m.tick()
			bind(x, v)
			return !body(x)
		})
	}
}
