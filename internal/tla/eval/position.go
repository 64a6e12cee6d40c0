package eval

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/tla/failure"
	"github.com/bloodhound-dst/bloodhound/internal/tla/library"
	"github.com/bloodhound-dst/bloodhound/internal/tla/ndjson"
	"github.com/bloodhound-dst/bloodhound/internal/tla/scope"
	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// A trace specification goes through a log. Where in the log one of its states is, and at which states the log is at its end, is found in what it says:
// the position is what it indexes the log by.

// Trace is how a trace specification goes through its log.
type Trace struct {
	// Ends is the condition under which the log is at its end, as the specification has it.
	Ends string
	// Levels: the specification asks for the number of a state, and so states of different numbers differ.
	Levels bool
	// Replaced are properties that are about how a check continues, which the answer to a log stands for. Unjudged are those that need all of a behaviour.
	Replaced, Unjudged []string
	// Invariants lists the invariants of the specification, except the Positional ones, which only concern the
	// position.
	Invariants, Positional []Formula

	spec     *Spec
	ev       *Evaluator
	logs     *ndjson.Logs
	position *position
	end      func(*ctx) bool
	endSize  int
}

var errReadsNone = errors.New("the specification reads no log: it uses neither ndJsonDeserialize nor JsonDeserialize")

// Position is the name of what the log is indexed by; empty: that is not known.
func (t *Trace) Position() string {
	if t.position == nil {
		return ""
	}
	return t.position.name
}

// Items counts the items that the specification goes through; 0 if that is not known.
func (t *Trace) Items() int {
	if t.position == nil {
		return 0
	}
	return len(t.position.items)
}

// Undecided reports whether nothing but a postcondition shows where the log ends.
func (t *Trace) Undecided() bool { return t.end == nil && t.position == nil }

// Trace finds out how the specification goes through its log. position and end name operators, as Reading has them; they may be empty.
func (ev *Evaluator) Trace(position, end string) (t *Trace, err error) {
	s := ev.spec
	t = &Trace{spec: s, ev: ev, logs: s.compiler.logs}
	s.compiling.Lock()
	defer s.compiling.Unlock()
	parts := slices.Clone(s.relation)
	for _, name := range slices.Concat(s.config.Constraints, s.config.ActionConstraints) {
		parts = append(parts, s.named(name))
	}
	if t.position, err = t.positionOf(position, parts); err != nil {
		return nil, err
	}
	logs := t.logs
	if err := failure.Catch(func() {
		for _, p := range parts {
			t.Levels = t.Levels || (surveyor{s.compiler}).mentions(p.expr, p.place).level
		}
		t.replace(end)
	}); err != nil {
		return nil, err
	}
	t.Levels = t.Levels || t.position != nil && t.position.level
	if len(logs.Opened) > 0 && !slices.ContainsFunc(logs.Opened, func(r *ndjson.Log) bool { return len(r.Lines) > 0 }) {
		return nil, logs.Opened[0].Empty()
	}
	switch {
	case t.end != nil:
	case t.position != nil:
		t.Ends = fmt.Sprintf("%s > %d", t.position.name, len(t.position.items))
	case len(s.parts.Postconditions) > 0:
		t.Ends = "POSTCONDITION " + s.parts.Postconditions[0].Name
	case len(logs.Opened) == 0:
		return nil, errReadsNone
	default:
		return nil, errors.New("the position in the log is not known: the specification indexes its log neither by a variable nor " +
			"by TLCGet(\"level\"); name the position by --position, or the end of the log by --end")
	}
	return t, nil
}

// PositionOf returns how far in the log a state is: its position, or its number if there is none.
func (t *Trace) PositionOf(s State, level int) (n int64, err error) {
	if t.position == nil || t.position.level {
		return int64(level), nil
	}
	if i := t.position.variable; i >= 0 {
		if n, ok := s[i].(value.Int); ok {
			return int64(n), nil
		}
		return 0, fmt.Errorf("%s, the position in the log, is not a number but %s", t.position.name, value.Short(s[i]))
	}
	err = t.evaluateAt(s, level, func(x *ctx) { n = library.Integer(t.position.of.eval(x)) }, t.position.size)
	return n, err
}

// Ended reports whether the log is at its end in a state.
func (t *Trace) Ended(s State, level int, at int64) (done bool, err error) {
	switch {
	case t.end != nil:
		err = t.evaluateAt(s, level, func(x *ctx) { done = t.end(x) }, t.endSize)
		return done, err
	case t.position != nil:
		return at > int64(len(t.position.items)), nil
	}
	return false, nil // the postcondition decides, at the end
}

// evaluateAt evaluates something in a state with its number.
func (t *Trace) evaluateAt(s State, level int, f func(*ctx), size int) error {
	before, m := t.ev.TLC.Level, t.ev.x.m
	t.ev.TLC.Level = level
	so := m.enter(s, nil)
	err := t.ev.run(func() { f(t.ev.alone(size)) })
	m.leave(so)
	t.ev.TLC.Level = before
	return err
}

// Line is the line of the log on which an item is, by its number from 1 on; 0 if that is not known.
func (t *Trace) Line(item int) (r *ndjson.Log, line int) {
	if r, line := t.logs.LineOf(t.position.items[item-1]); r != nil {
		return r, line
	}
	for _, r := range t.logs.Opened { // of a sequence that was made of the log's items
		if len(r.Lines) == len(t.position.items) {
			return r, r.Lines[item-1]
		}
	}
	return nil, 0
}

// Log is the file that was read.
func (t *Trace) Log() (file string, err error) {
	if len(t.logs.Opened) == 0 {
		return "", errReadsNone
	}
	if t.position != nil {
		if r, _ := t.logs.LineOf(t.position.items[0]); r != nil {
			return r.File, nil
		}
	}
	return t.logs.Opened[0].File, nil
}

// replace finds what is said of the end of the log, and which properties are about how a check continues.
func (t *Trace) replace(end string) {
	s := t.spec
	own := uint64(0)
	if t.position != nil && t.position.variable >= 0 {
		own = bitOf(t.position.variable)
	}
	if end != "" {
		n, size, err := s.stateOperator(end, "the end of the log")
		if err != nil {
			panic(failure.Wrap(err))
		}
		t.end, t.endSize, t.Ends = n.truth(&scope.Where{Source: s.root.File(), Pos: syntax.Pos{Line: 1, Column: 1}}), size, end
	}
	about := func(m mentioned) bool {
		return m.counters || own != 0 && m.variables&^own == 0 && m.variables != 0 || own == 0 && m.level && m.variables == 0
	}
	told := map[string]bool{}
	for _, p := range s.parts.Properties {
		if told[p.Name] {
			continue
		}
		told[p.Name] = true
		named := s.named(p.Name)
		if !about((surveyor{s.compiler}).mentions(named.expr, named.place)) {
			t.Unjudged = append(t.Unjudged, p.Name)
			continue
		}
		t.Replaced = append(t.Replaced, p.Name)
		if t.end != nil {
			continue
		}
		b := &behaviour{s.compiler, s}
		_, size := s.compiler.alone(func() node {
			t.end = b.ending(named.expr, named.place, nil)
			return node{}
		})
		if t.end != nil {
			t.endSize, t.Ends = size, p.Name
		}
	}
	var invariants []Formula
	for _, f := range s.parts.Invariants {
		if slices.Contains(s.config.Invariants, f.Name) {
			named := s.named(f.Name)
			if m := (surveyor{s.compiler}).mentions(named.expr, named.place); about(m) && !m.counters {
				t.Positional = append(t.Positional, f)
				continue
			}
		}
		invariants = append(invariants, f)
	}
	t.Invariants = invariants
}

// positionOf finds the position by its name, or by what the specification says.
func (t *Trace) positionOf(name string, parts []part) (*position, error) {
	s := t.spec
	found, err := s.findPosition(t.ev, parts)
	if name == "" {
		return found, err
	}
	p := &position{name: name, variable: slices.Index(s.Variables, name)}
	switch {
	case p.variable >= 0:
		p.of, p.size = s.compiler.expr(s.named(name).expr, place{scope: s.root}), s.size
	case name == "level":
		p.level = true
	default:
		if p.of, p.size, err = s.stateOperator(name, "the position"); err != nil {
			return nil, err
		}
	}
	if found != nil && err == nil && (found.name == name || found.level && p.level) {
		return found, nil
	}
	logs := s.compiler.logs
	if len(logs.Opened) > 0 {
		p.items = logs.Opened[len(logs.Opened)-1].Items.Items
	}
	switch {
	case len(logs.Opened) == 0:
		return nil, errReadsNone
	case len(p.items) == 0:
		return nil, logs.Opened[len(logs.Opened)-1].Empty()
	}
	return p, nil
}

// named is the definition that a configuration names.
func (s *Spec) named(name string) part {
	d := s.root.Find(name)
	return part{&syntax.Apply{Pos: d.At.Pos, Name: name}, place{scope: s.root}, nil}
}

// stateOperator compiles an operator of states that an option names.
func (s *Spec) stateOperator(name, what string) (n node, size int, err error) {
	err = failure.Catch(func() {
		d := s.root.Find(name)
		if d == nil || d.Kind != scope.Operator || len(d.Params) > 0 {
			s.compiler.failAt(&scope.Where{Source: &scope.Source{File: s.root.File().File}, Pos: syntax.Pos{}},
				"module %s has no operator %s without parameters that could be %s", s.root.Module, name, what)
		}
		_, size = s.compiler.alone(func() node {
			n = s.compiler.expr(s.named(name).expr, place{scope: s.root})
			return n
		})
		if n.level == temporalLevel || n.next {
			s.compiler.failAt(&d.At, "%s is not an expression over one state", name)
		}
	})
	return n, size, err
}

// position reports how far in a log a behaviour is.
type position struct {
	name     string // as the specification has it
	variable int    // which it is; -1: none
	level    bool   // it is the number of the state in the behaviour
	of       node
	size     int // of its frame
	items    []value.Value
}

// mentioned summarises what an expression refers to.
type mentioned struct {
	variables uint64
	counters  bool // how far a check is, which is not of a behaviour
	level     bool
}

// surveyor finds out what expressions are about, without evaluating them.
type surveyor struct{ *compiler }

// survey calls f with all that an expression is made of, also in definitions that it uses, each of them once. Names that are
// bound on the way stand for nothing.
func (c surveyor) survey(e syntax.Expr, p place, seen map[syntax.Expr]bool, f func(syntax.Expr, place)) {
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
		if failure.Catch(func() { q, _ = c.let(x.Units, p) }) != nil { // it uses an operator that is a parameter around it
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
		if len(x.Path) == 0 && p.env.find(x.Name) == nil && p.scope.Find(x.Name) == nil {
			break
		}
		if d, q, _ := c.operatorOf(x, p); d != nil && !seen[d.Body] {
			seen[d.Body] = true
			c.survey(d.Body, params(d.Params, q), seen, f)
		}
	}
	inner(p)
}

// register is the name that an expression asks TLCGet for.
func (c surveyor) register(e syntax.Expr, p place) string {
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

func (c surveyor) mentions(e syntax.Expr, p place) (m mentioned) {
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
func (c surveyor) positions(parts []part) []indexed {
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
			err := failure.Catch(func() {
				_, n = c.alone(func() node {
					arg := x.Args[0]
					u.variable = c.variableOf(arg, p)
					u.level = c.register(arg, p) == "level"
					u.of, u.sequence = c.expr(arg, p), c.expr(x.Function, p)
					switch {
					case u.variable >= 0:
						u.name = c.variables[u.variable].Name
					case u.level:
						u.name = `TLCGet("level")`
					default:
						u.name = c.file(p).Excerpt(c.file(p).Spans[arg])
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
	if err := failure.Catch(func() { found = (surveyor{s.compiler}).positions(parts) }); err != nil {
		return nil, err
	}
	best := map[string]*position{}
	kept := map[string]bool{}
	logs := s.compiler.logs
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
		own := !slices.ContainsFunc(t.Items, func(v value.Value) bool { r, _ := logs.LineOf(v); return r == nil })
		long := slices.ContainsFunc(logs.Opened, func(r *ndjson.Log) bool { return len(r.Items.Items) == len(t.Items) })
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
		return nil, fmt.Errorf("the specification indexes its log by %s and by %s: name the position by --position NAME", variables[0], variables[1])
	case len(others) == 1:
		return best[others[0]], nil
	case len(others) > 1:
		return nil, fmt.Errorf("the specification indexes its log by %s and by %s: define the position as an operator, and name it by --position",
			others[0], others[1])
	}
	if p := best[`TLCGet("level")`]; p != nil {
		return p, nil
	}
	return nil, failed
}

// ending takes [] and <> away from a formula about how a check continues: what is left, asked in a state when nothing is left to
// be done, reports whether the log is at its end there. It is nil if the formula is of another form.
func (b *behaviour) ending(e syntax.Expr, p place, begin []int) func(*ctx) bool {
	at := scope.Where{Source: p.scope.File(), Pos: e.Position()}
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
