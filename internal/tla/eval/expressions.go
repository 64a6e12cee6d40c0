package eval

import (
	"strconv"

	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/tla/library"
	"github.com/bloodhound-dst/bloodhound/internal/tla/scope"
	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

func (c *compiler) junction(e *syntax.Junction, p place) node {
	items := c.all(e.Items, p)
	tests := make([]func(*ctx) bool, len(items))
	for i, n := range items {
		tests[i] = n.truth(c.whereOf(e.Items[i], p))
	}
	if len(tests) == 2 {
		a, b := tests[0], tests[1]
		if e.And {
			return c.quickly(e, p, testNode(func(x *ctx) bool { return a(x) && b(x) }, items...))
		}
		return c.quickly(e, p, testNode(func(x *ctx) bool { return a(x) || b(x) }, items...))
	}
	and := e.And
	return c.quickly(e, p, testNode(func(x *ctx) bool {
		for _, t := range tests {
			if t(x) != and {
				return !and
			}
		}
		return and
	}, items...))
}

// pattern binds the names of one bound. What it gives fills them from a member of the set.
func (c *compiler) pattern(b syntax.Bound, p place, at *scope.Where) (place, func(*ctx, value.Value)) {
	slots := make([]int, len(b.Names))
	for i, n := range b.Names {
		p, slots[i] = c.name(p, n.Text)
	}
	if !b.Pattern {
		slot := slots[0]
		return p, func(x *ctx, v value.Value) { x.slots[slot] = v }
	}
	return p, func(x *ctx, v value.Value) {
		items := value.Items(v)
		if len(items) != len(slots) {
			x.m.at = at
			value.Fail("%s is not a tuple of %s", value.Short(v), plural.Count(len(slots), "item"))
		}
		for i, s := range slots {
			x.slots[s] = items[i]
		}
	}
}

// loop is one name, or one tuple of names, that goes through a set.
type loop struct {
	set  node
	bind func(*ctx, value.Value)
	born int // the number of its last name
}

func (c *compiler) loops(bounds []syntax.Bound, p place, at *scope.Where) (place, []loop, []node) {
	var list []loop
	var sets []node
	around := p
	for _, b := range bounds {
		if b.Set == nil {
			c.fail(p, b.Names[0].Pos, "%s has no set: a quantifier without one cannot be evaluated; write \\in S after the name", b.Names[0].Text)
		}
		set := c.expr(b.Set, around)
		sets = append(sets, set)
		if b.Pattern {
			var l loop
			l.set = set
			p, l.bind = c.pattern(b, p, at)
			l.born = c.born
			list = append(list, l)
			continue
		}
		for _, n := range b.Names {
			l := loop{set: set}
			p, l.bind = c.pattern(syntax.Bound{Names: []syntax.Name{n}}, p, at)
			l.born = c.born
			list = append(list, l)
		}
	}
	return p, list, sets
}

// bounds binds names; what it gives goes through all ways to choose members for them, until a function returns false. It reports whether
// none did.
func (c *compiler) bounds(bounds []syntax.Bound, p place, at *scope.Where) (place, func(*ctx, func() bool) bool, []node) {
	q, list, sets := c.loops(bounds, p, at)
	if len(list) == 1 {
		l := list[0]
		return q, func(x *ctx, f func() bool) bool {
			s := l.set.eval(x)
			x.m.at = at
			return value.Each(s, func(v value.Value) bool { x.m.tick(); l.bind(x, v); return f() })
		}, sets
	}
	return q, func(x *ctx, f func() bool) bool {
		values := make([]value.Value, len(list))
		for i, l := range list {
			values[i] = l.set.eval(x)
		}
		x.m.at = at
		var from func(i int) bool
		from = func(i int) bool {
			if i == len(list) {
				return f()
			}
			return value.Each(values[i], func(v value.Value) bool { x.m.tick(); list[i].bind(x, v); return from(i + 1) })
		}
		return from(0)
	}, sets
}

func (c *compiler) quantified(e *syntax.Quantified, p place, at *scope.Where) node {
	if e.Kind == `\AA` || e.Kind == `\EE` {
		return ofBehaviours(e.Kind, at)
	}
	born := c.born
	q, list, sets := c.loops(e.Bounds, p, at)
	body := c.expr(e.Body, q)
	if body.level == temporalLevel {
		return ofBehaviours(e.Kind, at)
	}
	test, all := body.truth(c.whereOf(e.Body, q)), e.Kind == `\A`
	var run func(*ctx) bool
	for i := len(list) - 1; i >= 0; i-- {
		l, next := list[i], test
		if run != nil {
			next = run
		}
		set, bind := l.set.eval, l.bind
		run = func(x *ctx) bool {
			s := set(x)
			x.m.tick()
			if s, ok := s.(*value.Set); ok {
				for _, v := range s.Items {
					bind(x, v)
					if next(x) != all {
						return !all
					}
				}
				return all
			}
			x.m.at = at
			return value.Each(s, func(v value.Value) bool { x.m.tick(); bind(x, v); return next(x) == all }) == all
		}
	}
	return c.quickly(e, p, testNode(run, append(sets, body.closed(born))...))
}

func (c *compiler) choose(e *syntax.Choose, p place, at *scope.Where) node {
	if e.Bound.Set == nil {
		return c.unboundedChoose(e, p, at)
	}
	set, born := c.expr(e.Bound.Set, p), c.born
	q, bind := c.pattern(e.Bound, p, at)
	body := c.expr(e.Body, q)
	test := body.truth(c.whereOf(e.Body, q))
	return node{eval: func(x *ctx) value.Value {
		var found value.Value
		s := set.eval(x)
		if lazy, ok := s.(*value.Subsets); !ok || value.Size(lazy.Base) < 20 {
			x.m.at = at
		}
		value.Each(s, func(v value.Value) bool {
			x.m.tick()
			bind(x, v)
			if test(x) {
				found = v
				return false
			}
			return true
		})
		if found == nil {
			x.m.at = at
			value.Fail("CHOOSE finds no member of %s that fits", value.Short(s))
		}
		return found
	}}.dependingOn(set, body.closed(born))
}

// unboundedChoose takes CHOOSE x : x \notin S, the usual way to name something that is no member, as a model value of its own.
func (c *compiler) unboundedChoose(e *syntax.Choose, p place, at *scope.Where) node {
	if set := c.excluded(e); set != nil {
		other := value.ModelValue(fmt.Sprintf("CHOOSE at %s:%d:%d", filepath.Base(at.Source.File), at.Pos.Line, at.Pos.Column))
		s := c.expr(set, p)
		return node{eval: func(x *ctx) value.Value {
			v := s.eval(x)
			x.m.at = at
			if value.Contains(v, other) {
				value.Fail("CHOOSE without a set: the value that stands for no member, %s, is a member of %s", other, value.Short(v))
			}
			return other
		}}.dependingOn(s)
	}
	return node{eval: func(x *ctx) value.Value {
		x.m.at = at
		value.Fail("CHOOSE without a set cannot be evaluated: write \\in S after the name, or override the definition in the configuration")
		return nil
	}}
}

// excluded is the S of CHOOSE x : x \notin S, or ~(x \in S), where S does not depend on x.
func (c *compiler) excluded(e *syntax.Choose) syntax.Expr {
	body, in := e.Body, `\notin`
	if not, ok := body.(*syntax.Apply); ok && not.Name == "~" && len(not.Args) == 1 {
		body, in = not.Args[0], `\in`
	}
	a, ok := body.(*syntax.Apply)
	if !ok || a.Name != in || len(a.Args) != 2 || e.Bound.Pattern {
		return nil
	}
	x, ok := a.Args[0].(*syntax.Apply)
	if !ok || len(x.Args)+len(x.Path) > 0 || x.Name != e.Bound.Names[0].Text {
		return nil
	}
	return a.Args[1]
}

func (c *compiler) cases(e *syntax.Case, p place, at *scope.Where) node {
	var tests []func(*ctx) bool
	var values, parts []node
	for _, a := range e.Arms {
		cond, v := c.expr(a.Cond, p), c.expr(a.Value, p)
		tests = append(tests, cond.truth(c.whereOf(a.Cond, p)))
		values = append(values, v)
		parts = append(parts, cond, v)
	}
	var other *node
	if e.Other != nil {
		n := c.expr(e.Other, p)
		other = &n
		parts = append(parts, n)
	}
	return node{eval: func(x *ctx) value.Value {
		for i, t := range tests {
			if t(x) {
				return values[i].eval(x)
			}
		}
		if other == nil {
			x.m.at = at
			value.Fail("no arm of CASE is true, and there is no OTHER")
		}
		return other.eval(x)
	}}.dependingOn(parts...)
}

func (c *compiler) index(e *syntax.Index, p place, at *scope.Where) node {
	if len(e.Args) == 1 { // <<a, b>>[1] is a, also where the tuple came as an argument
		if k, ok := e.Args[0].(*syntax.Number); ok {
			t, q := c.through(e.Function, p)
			if tuple, ok := t.(*syntax.Tuple); ok {
				if i, err := strconv.Atoi(k.Text); err == nil && 1 <= i && i <= len(tuple.Items) {
					return c.expr(tuple.Items[i-1], q)
				}
			}
		}
	}
	f, args := c.expr(e.Function, p), c.all(e.Args, p)
	if len(args) > 1 {
		return node{eval: func(x *ctx) value.Value {
			g, key := f.eval(x), value.NewTuple(evalAll(x, args))
			x.m.at = at
			return value.Apply(g, key)
		}}.dependingOn(append(args, f)...)
	}
	if len(args) == 0 {
		c.failAt(at, "f[] has no argument")
	}
	arg := args[0]
	variable, bare := f.variable-1, f.bare
	if variable < 0 {
		bare = f.eval
	}
	return node{eval: func(x *ctx) value.Value {
		g, key := bare(x), arg.eval(x)
		if variable >= 0 && x.m.reads != nil {
			x.m.reads.Argument(variable, g, key)
		}
		switch g := g.(type) {
		case *value.Tuple:
			if n, ok := key.(value.Int); ok && n >= 1 && int(n) <= len(g.Items) {
				return g.Items[n-1]
			}
		case *value.Function:
			if i, ok := g.Domain.Find(key); ok {
				return g.Values[i]
			}
		}
		x.m.at = at
		c.logs.Lacks(g, key)
		return value.Apply(g, key)
	}}.dependingOn(f, arg)
}

func (c *compiler) fields(list []syntax.FieldValue, p place) ([]*value.String, []node) {
	sorted := slices.SortedFunc(slices.Values(list), func(a, b syntax.FieldValue) int { return cmp.Compare(a.Text, b.Text) })
	names := make([]*value.String, len(list))
	values := make([]node, len(list))
	for i, f := range sorted {
		if i > 0 && f.Text == sorted[i-1].Text {
			c.fail(p, f.Pos, "the field %s stands here twice", f.Text)
		}
		names[i], values[i] = value.Text(f.Text), c.expr(f.Value, p)
	}
	return names, values
}

// change is ![keys[0]][keys[1]] = value of an EXCEPT.
type change struct {
	keys  []node
	old   int // slot of @
	value node
	at    *scope.Where
}

// made is v with the change at the keys from number k on. If v is that of a variable, it is noted which argument was read; -1: it is of none.
func (ch *change) made(x *ctx, v value.Value, k, variable int) value.Value {
	if k == len(ch.keys) {
		x.slots[ch.old] = v
		return library.Settled(ch.value.eval(x))
	}
	key := ch.keys[k].eval(x)
	if k == 0 && variable >= 0 {
		x.m.reads.Argument(variable, v, key)
	}
	return value.Replace(v, key, func(old value.Value) value.Value { return ch.made(x, old, k+1, variable) })
}

func (c *compiler) except(e *syntax.Except, p place) node {
	f := c.expr(e.Function, p)
	parts := []node{f}
	var changes []change
	for _, u := range e.Updates {
		ch := change{at: &scope.Where{Source: c.file(p), Pos: u.Pos}}
		for _, place := range u.Places {
			nodes := c.all(place, p)
			parts = append(parts, nodes...)
			key := nodes[0]
			if len(nodes) > 1 {
				key = node{eval: func(x *ctx) value.Value { return value.NewTuple(evalAll(x, nodes)) }}
			}
			ch.keys = append(ch.keys, key)
		}
		born := c.born
		q, slot := c.name(p, "@")
		ch.old, ch.value = slot, c.expr(u.Value, q)
		parts = append(parts, ch.value.closed(born))
		changes = append(changes, ch)
	}
	changing := func(variable int, f func(*ctx) value.Value) func(*ctx) value.Value {
		return func(x *ctx) value.Value {
			v := f(x)
			for i := range changes {
				ch := &changes[i]
				x.m.at = ch.at
				v = ch.made(x, v, 0, variable)
			}
			return v
		}
	}
	n := node{eval: changing(-1, f.eval)}.dependingOn(parts...)
	if f.variable > 0 && !f.next {
		n.excepts, n.except = f.variable, changing(f.variable-1, f.bare)
	}
	return n
}

// function is [bounds |-> body], or, with a name, a function that may use itself.
func (c *compiler) function(name string, bounds []syntax.Bound, body syntax.Expr, p place, at *scope.Where) node {
	if name != "" {
		return c.recursiveFunction(name, bounds, body, p, at)
	}
	born := c.born
	q, list, sets := c.loops(bounds, p, at)
	b := c.expr(body, q)
	around := c.around()
	if len(list) == 1 {
		l := list[0]
		return node{eval: func(x *ctx) value.Value {
			s := l.set.eval(x)
			x.m.at = at
			if value.Size(s) > value.Most {
				held := x.held(around)
				return &rule{domain: s, of: func(v value.Value) value.Value {
					h := held.again()
					l.bind(h, v)
					return h.m.within(func() value.Value { return b.eval(h) })
				}}
			}
			domain := value.Explicit(s)
			values := make([]value.Value, len(domain.Items))
			for i, v := range domain.Items {
				x.m.tick()
				l.bind(x, v)
				values[i] = library.Settled(b.eval(x))
			}
			return value.NewFunction(domain, values)
		}}.dependingOn(append(sets, b.closed(born))...)
	}
	return node{eval: func(x *ctx) value.Value {
		domain := &value.Product{}
		for _, l := range list {
			domain.Sets = append(domain.Sets, l.set.eval(x))
		}
		x.m.at = at
		fill := func(h *ctx, v value.Value) {
			for i, item := range value.Items(v) {
				list[i].bind(h, item)
			}
		}
		if value.Size(domain) > value.Most {
			held := x.held(around)
			return &rule{domain: domain, of: func(v value.Value) value.Value {
				h := held.again()
				fill(h, v)
				return h.m.within(func() value.Value { return b.eval(h) })
			}}
		}
		all := value.Explicit(domain)
		values := make([]value.Value, len(all.Items))
		for i, v := range all.Items {
			x.m.tick()
			fill(x, v)
			values[i] = library.Settled(b.eval(x))
		}
		return value.NewFunction(all, values)
	}}.dependingOn(append(sets, b.closed(born))...)
}

func (c *compiler) recursiveFunction(name string, bounds []syntax.Bound, body syntax.Expr, p place, at *scope.Where) node {
	_, outside, sets := c.loops(bounds, p, at)
	born := c.born
	c.beginFrame()
	q, self := c.name(p, name)
	q, binds := c.parameters(bounds, q, at)
	end := func() {}
	if at.Source != nil && at.Source.Via != nil { // else its definition is noted already
		end = c.using(name, at, nil)
	}
	b := c.expr(body, q)
	end()
	size := c.end()
	names := c.around()
	return node{eval: func(x *ctx) value.Value {
		r := &rule{domain: domainOf(x, outside)}
		around := x.held(names)
		r.of = func(v value.Value) value.Value {
			y := &ctx{slots: make([]value.Value, size), up: around, m: around.m}
			y.slots[self] = r
			bindAll(y, binds, v)
			around.deeper(name, b.height+5, at)
			x.m.tick()
			v = around.m.within(func() value.Value { return b.eval(y) })
			x.m.tlc.depth -= b.height + 5
			return v
		}
		return r
	}}.dependingOn(append(sets, b.closed(born))...)
}

// parameters binds the names of a function's bounds in its frame.
func (c *compiler) parameters(bounds []syntax.Bound, p place, at *scope.Where) (place, []func(*ctx, value.Value)) {
	var binds []func(*ctx, value.Value)
	for _, b := range bounds {
		parts := []syntax.Bound{b}
		if !b.Pattern {
			parts = nil
			for _, n := range b.Names {
				parts = append(parts, syntax.Bound{Names: []syntax.Name{n}})
			}
		}
		for _, part := range parts {
			var bind func(*ctx, value.Value)
			p, bind = c.pattern(part, p, at)
			binds = append(binds, bind)
		}
	}
	return p, binds
}

// bindAll gives the names of a function's bounds their values: an argument, or the items of one.
func bindAll(x *ctx, binds []func(*ctx, value.Value), v value.Value) {
	if len(binds) == 1 {
		binds[0](x, v)
		return
	}
	for i, item := range value.Items(v) {
		binds[i](x, item)
	}
}

// domainOf is the domain of a function.
func domainOf(x *ctx, list []loop) value.Value {
	if len(list) == 1 {
		return list[0].set.eval(x)
	}
	product := &value.Product{}
	for _, l := range list {
		product.Sets = append(product.Sets, l.set.eval(x))
	}
	return product
}
