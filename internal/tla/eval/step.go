package eval

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/tla/failure"
	"github.com/bloodhound-dst/bloodhound/internal/tla/library"
	"github.com/bloodhound-dst/bloodhound/internal/tla/scope"
	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// Operator is an operator of a specification's module that is evaluated for arguments from outside: an action whose parameters an event binds, or an
// expression of a state.
type Operator struct {
	Name   string
	Params []string
	// Guards are the conditions that its steps depend on, in the order of the text.
	Guards []Guard
	at     scope.Where
	size   int
	slots  []int
	act    act
	expr   *node
}

// Guard is a condition of an action.
type Guard struct {
	File   string
	Module string
	Span   syntax.Span
	Text   string // of the module, in one line
}

// placed is a guard with its number, which is known when all are.
type placed struct {
	Guard
	number  int
	measure measure // of what is missing; nil where nobody asks
}

// guarded counts how far the way to a step went, and which guards were met on it.
type guarded struct {
	seen  []uint8 // of each guard: 1 if it was false, 2 if it was true
	deep  int     // guards on the present way that were true
	best  int     // the most of them before one that was false; -1: none was
	which int     // that one
	// falsified has, if it is not nil, the most guards that were true before each that was false; -1: it never was.
	falsified []int
	// near has the least distance of the guard that was false behind most others; it is set where guards are measured.
	near float64
}

// GuardsSeen records, for each guard of an operator, whether it was ever false (1), ever true (2), both (3) or never reached (0).
type GuardsSeen []uint8

// ActionOf compiles an action of the specification's module for Step. The error is that there is none of that name, or that it takes operators.
func ActionOf(s *Spec, name string) (*Operator, error) { return s.operator(name, true) }

// ExpressionOf compiles an expression of states for Value, such as a view.
func ExpressionOf(s *Spec, name string) (*Operator, error) { return s.operator(name, false) }

func (s *Spec) operator(name string, action bool) (op *Operator, err error) {
	s.compiling.Lock()
	defer s.compiling.Unlock()
	err = failure.Catch(func() {
		d := s.root.Find(name)
		c := s.compiler
		top := scope.Where{Source: s.root.File(), Pos: syntax.Pos{Line: 1, Column: 1}}
		if instead := d.Given(); instead != nil {
			d = instead
		}
		if d == nil || d.Kind != scope.Operator || d.Body == nil || d.Bounds != nil {
			c.failAt(&top, "there is no operator %s with a definition in module %s", name, s.root.Module)
		}
		op = &Operator{Name: name, at: d.At}
		_, op.size = c.alone(func() node {
			p := place{scope: d.Place.Scope}
			for _, param := range d.Params {
				if param.Arity > 0 {
					c.failAt(&d.At, "%s takes an operator as %s: it cannot be evaluated from outside", name, param.Text)
				}
				var slot int
				p, slot = c.name(p, param.Text)
				op.Params, op.slots = append(op.Params, param.Text), append(op.slots, slot)
			}
			if !action {
				n := c.expr(d.Body, p)
				if n.level > stateLevel {
					c.failAt(&d.At, "%s is not an expression over one state", name)
				}
				op.expr = &n
				return n
			}
			var guards []*placed
			c.guards = &guards
			op.act = c.act(d.Body, p, func(x *ctx) bool { return x.m.emit() })
			c.guards = nil
			slices.SortStableFunc(guards, func(a, b *placed) int { // conjuncts are compiled from the last to the first
				return cmp.Or(strings.Compare(a.File, b.File), a.Span.First.Line-b.Span.First.Line, a.Span.First.Column-b.Span.First.Column)
			})
			for i, g := range guards {
				g.number = i
				op.Guards = append(op.Guards, g.Guard)
			}
			return node{}
		})
	})
	return op, err
}

// guard makes a condition of an action one that is counted, and measured if missing is not nil.
func (c *compiler) guard(e syntax.Expr, at *scope.Where, test func(*ctx) bool, missing measure, next act) act {
	if c.guards == nil {
		return func(x *ctx) bool { return test(x) && next(x) }
	}
	span, ok := at.Source.Spans[e]
	if !ok {
		span = syntax.Span{First: at.Pos, Last: at.Pos}
	}
	here := &placed{Guard: Guard{at.Source.File, at.Source.Module, span, at.Source.Excerpt(span)}, measure: missing}
	*c.guards = append(*c.guards, here)
	return func(x *ctx) bool {
		g := x.m.guarded
		if g == nil {
			return test(x) && next(x)
		}
		if !test(x) {
			g.seen[here.number] |= 1
			if here.measure != nil && g.deep >= g.best {
				if d := here.measure(x); g.deep > g.best || d < g.near {
					g.best, g.which, g.near = g.deep, here.number, d
				}
			} else if g.deep > g.best {
				g.best, g.which = g.deep, here.number
			}
			if g.falsified != nil {
				g.falsified[here.number] = max(g.falsified[here.number], g.deep)
			}
			return false
		}
		g.seen[here.number] |= 2
		g.deep++
		found := next(x)
		g.deep--
		return found
	}
}

// Step calls f with each state that an action with these arguments leads to from s, until f returns an error. The state is valid during the call. seen,
// of the length of the action's guards, records which of them were met; it may be nil.
func (ev *Evaluator) Step(s State, op *Operator, args []value.Value, seen GuardsSeen, f func(State) error) error {
	if len(args) != len(op.slots) {
		return fmt.Errorf("%s needs %s, and has %d", op.Name, plural.Count(len(op.slots), "argument"), len(args))
	}
	m := ev.x.m
	m.cur = s
	if len(m.nxt) != len(s) {
		m.nxt = make(State, len(s))
	}
	clear(m.nxt)
	m.begins()
	if seen != nil {
		m.guarded = &ev.met
		ev.met = guarded{seen: seen, best: -1}
		defer func() { m.guarded = nil }()
	}
	return ev.enumerate(op.act, ev.frame(op, args), enumeration{f: f, action: op.Name, at: &op.at})
}

// frame has the arguments of an operator in their places.
func (ev *Evaluator) frame(op *Operator, args []value.Value) *ctx {
	if cap(ev.slots) < op.size {
		ev.slots = make([]value.Value, op.size)
	}
	slots := ev.slots[:op.size]
	clear(slots)
	for i, slot := range op.slots {
		slots[slot] = args[i]
	}
	return &ctx{slots: slots, m: ev.x.m}
}

// Refused is the guard that kept the last Step with a seen from leading further: of those that were false, the one that most others were true before. It
// is nil if none was false.
func (ev *Evaluator) Refused(op *Operator) *Guard {
	if ev.met.best < 0 || ev.met.which >= len(op.Guards) {
		return nil
	}
	return &op.Guards[ev.met.which]
}

// Value evaluates an expression in a state.
func (ev *Evaluator) Value(s State, op *Operator, args ...value.Value) (v value.Value, err error) {
	if len(args) != len(op.slots) {
		return nil, fmt.Errorf("%s needs %s, and has %d", op.Name, plural.Count(len(op.slots), "argument"), len(args))
	}
	m := ev.x.m
	before := m.enter(s, nil)
	err = ev.run(func() { v = library.Settled(op.expr.eval(ev.frame(op, args))) })
	m.leave(before)
	return v, err
}
