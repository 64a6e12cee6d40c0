package eval

import (
	"errors"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/tla/library"
	"github.com/bloodhound-dst/bloodhound/internal/tla/scope"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// Evaluator evaluates a specification. It is not for several goroutines at once; a Spec may have several.
type Evaluator struct {
	spec     *Spec
	x        *ctx
	TLC      registers
	seen     [1]value.Value // what VIEW shows of a state
	renaming *value.Renaming
	met      guarded
	slots    []value.Value // of an operator's frame
	Partial  State         // a successor that an action did not complete
	search   enumeration
}

// enumeration describes a search for states.
type enumeration struct {
	f       func(State) error // gets them
	stopped error             // what it returned
	initial bool              // else successors
	action  string            // that leads to them; empty: the one of the next-state relation that is being evaluated
	at      *scope.Where
}

// NewEvaluator makes an evaluator.
func NewEvaluator(s *Spec) *Evaluator {
	ev := &Evaluator{spec: s}
	ev.x = &ctx{slots: make([]value.Value, s.size), m: &machine{tlc: &ev.TLC, only: every}}
	ev.x.m.emit = ev.emit
	return ev
}

// ErrStop ends an enumeration of states without an error.
var ErrStop = errors.New("stop")

// run calls f and makes what goes wrong in it an error with its place.
func (ev *Evaluator) run(f func()) (err error) {
	t, m := &ev.TLC, ev.x.m
	depth, top, inside, then, between, middles, goals, applied, reads := t.depth, t.top, t.inside, m.then, m.between, m.middles, m.goals, m.applied, m.reads
	defer func() {
		if r := recover(); r != nil {
			switch r := r.(type) {
			case *value.Error:
				err = ev.explained(r)
			case interrupted:
				err = ErrStop
			default:
				panic(r)
			}
			// Evaluations under way around this one continue.
			t.depth, t.top, t.inside, m.then, m.between, m.middles, m.goals, m.applied, m.reads = depth, top, inside, then,
				between, middles, goals, applied, reads
		}
	}()
	f()
	return nil
}

func (ev *Evaluator) value(n node) (v value.Value, err error) {
	err = ev.run(func() { v = library.Settled(n.eval(ev.x)) })
	return v, err
}

// Evaluate calls what evaluates something later, if that is not nil.
func (ev *Evaluator) Evaluate(later func()) error {
	if later == nil {
		return nil
	}
	return ev.run(later)
}

// Initial calls f with each initial state, until f returns an error. The state is valid during the call: f copies what it keeps.
func (ev *Evaluator) Initial(f func(State) error) error {
	if ev.spec.init == nil {
		return nil
	}
	m := ev.x.m
	m.cur, m.nxt, m.moment = make(State, len(ev.spec.Variables)), nil, moment{}
	if ev.spec.draws {
		ev.TLC.drawn = 0
	}
	return ev.enumerate(ev.spec.init, ev.x, enumeration{f: f, initial: true, at: &ev.spec.start})
}

// Successors calls f with each state that an action may lead to from s, until f returns an error. A state may come more than once, and is
// valid during the call: f copies what it keeps.
func (ev *Evaluator) Successors(s State, action *Action, f func(State) error) error {
	return ev.successors(s, action.number, action.number, f)
}

// AllSuccessors is Successors of all actions, in the order in which TLC takes them. Acting is the one that leads to a state. ends is called where an action has
// generated states between the steps of compositions.
func (ev *Evaluator) AllSuccessors(s State, f func(State) error, ends func()) error {
	m := ev.x.m
	m.ends = ends
	defer func() { m.ends = nil }()
	if !ev.spec.draws {
		return ev.successors(s, every, 0, f)
	}
	stopped := false
	each := func(next State) error {
		err := f(next)
		stopped = err != nil
		return err
	}
	for i := range ev.spec.Actions {
		if err := ev.successors(s, i, i, each); err != nil || stopped {
			return err
		}
	}
	return nil
}

func (ev *Evaluator) successors(s State, only, first int, f func(State) error) error {
	if len(ev.spec.Actions) == 0 {
		return nil
	}
	m := ev.x.m
	m.cur = s
	if len(m.nxt) != len(s) {
		m.nxt = make(State, len(s))
	}
	clear(m.nxt)
	m.composed = 0
	m.begins()
	m.only, m.acting = only, first
	if ev.spec.draws { // chance is the same again where a behaviour is printed, or compared
		span := ev.spec.Actions[first].Span
		ev.TLC.drawn = value.Hash(s) + uint64(span.First.Line)<<32 + uint64(span.First.Column)
	}
	return ev.enumerate(ev.spec.next, ev.x, enumeration{f: f})
}

// Acting is the number of the action that leads to the state that Successors has found, or that is being evaluated.
func (ev *Evaluator) Acting() int { return ev.x.m.acting }

// Times is how often TLC would generate the state that Successors has found.
func (ev *Evaluator) Times() int { return ev.x.m.times }

// Ahead is how many of the successors that were counted so far TLC would generate later: by further ways to make conditions true,
// which it takes one after the other.
func (ev *Evaluator) Ahead() int { return ev.x.m.counted - ev.x.m.open - ev.x.m.once }

// Composed is how many states between the steps of compositions TLC would have counted since the last call in the same enumeration.
func (ev *Evaluator) Composed() int {
	n := ev.x.m.composed
	ev.x.m.composed = 0
	return n
}

// incomplete fails with the variables of a state that have no value.
func (ev *Evaluator) incomplete(s State, what string) {
	var names []string
	for i, v := range s {
		if v == nil {
			names = append(names, ev.spec.Variables[i])
		}
	}
	if len(names) == 1 {
		value.Fail("%s The following variable is not assigned: %s.", what, names[0])
	}
	value.Fail("%s The following variables are not assigned: %s.", what, strings.Join(names, ", "))
}

// enumerate looks for all states that an action, or the initial predicate, finds in a frame.
func (ev *Evaluator) enumerate(find act, x *ctx, what enumeration) error {
	m := ev.x.m
	m.times, m.once, m.open, m.counted = 1, 0, 0, 0
	around := ev.search
	ev.search = what
	err := ev.run(func() { find(x) })
	stopped := ev.search.stopped
	ev.search = around
	if err != nil {
		return err
	}
	if errors.Is(stopped, ErrStop) {
		return nil
	}
	return stopped
}

// emit hands on a state that was found. It reports whether the search is to end.
func (ev *Evaluator) emit() bool {
	m, e := ev.x.m, &ev.search
	so := m.goal(e.initial)
	m.once++
	m.counted += m.times
	for _, v := range so {
		if v == nil {
			ev.Partial = slices.Clone(so)
			what := "The initial state is not completely specified by the initial predicate."
			switch m.at = e.at; {
			case e.initial:
			case e.action != "":
				what = "Successor state is not completely specified by action " + e.action + "."
			default:
				a := &ev.spec.Actions[m.acting]
				m.at = &a.at
				what = "Successor state is not completely specified by action " + a.Name + " of the next-state relation."
			}
			ev.incomplete(so, what)
		}
	}
	e.stopped = e.f(so)
	return e.stopped != nil
}

// Holds reports whether a formula holds in a state, or in the step from s to next.
func (ev *Evaluator) Holds(f *Formula, s, next State) (holds bool, err error) {
	m := ev.x.m
	before := m.enter(s, next)
	m.read = 0
	if f.whole {
		m.changed = difference(s, next, same)
	}
	err = ev.run(func() { holds = f.test(ev.x) })
	m.leave(before)
	return holds, err
}

// Fingerprint distinguishes states: equal for states that are equal under the specification's VIEW and SYMMETRY.
func (ev *Evaluator) Fingerprint(s State) (fp uint64, err error) {
	err = ev.run(func() { fp = ev.fingerprint(s) })
	return fp, err
}

// Viewed is equal for states that are equal under the specification's VIEW.
func (ev *Evaluator) Viewed(s State) (fp uint64, err error) {
	err = ev.run(func() { fp = value.Hash(ev.view(s)) })
	return fp, err
}

// view returns the value of the specification's VIEW in a state, or the whole state if there is no VIEW.
func (ev *Evaluator) view(s State) []value.Value {
	if ev.spec.view == nil {
		return s
	}
	m := ev.x.m
	before := m.enter(s, nil)
	ev.seen[0] = library.Settled(ev.spec.view.eval(ev.x))
	m.leave(before)
	return ev.seen[:]
}

func (ev *Evaluator) fingerprint(s State) uint64 {
	seen := ev.view(s)
	if len(ev.spec.parts.Symmetry) == 0 {
		return value.Hash(seen)
	}
	if ev.renaming == nil {
		ev.renaming = value.NewRenaming(ev.spec.waysOfSymmetry(ev.x.m.pause), ev.x.m.pause)
	}
	return ev.renaming.Least(seen)
}

// All is the first of some formulas that does not hold in a state, or in the step from s to next; nil if all do.
func (ev *Evaluator) All(formulas []Formula, s, next State) (*Formula, error) {
	for i := range formulas {
		ok, err := ev.Holds(&formulas[i], s, next)
		if err != nil {
			return nil, err
		}
		if !ok {
			return &formulas[i], nil
		}
	}
	return nil, nil
}

// Remain is the first of some formulas that does not hold in a state, where all held in the one that leads to it; nil if all do.
// Conjuncts that depend on none of the variables that have changed are not evaluated: reads has those that each was ever seen to
// read, of each formula, and is nil at first.
func (ev *Evaluator) Remain(formulas []Formula, reads [][]uint64, s State, changed uint64) (broken *Formula, err error) {
	x := ev.x
	before := x.m.enter(s, nil)
	err = ev.run(func() {
		for i := range formulas {
			if reads[i] == nil {
				reads[i] = make([]uint64, len(formulas[i].parts))
			}
			for k, part := range formulas[i].parts {
				seen := &reads[i][k]
				if changed&*seen == 0 && *seen != 0 && !part.fresh {
					continue
				}
				x.m.read = 0
				if !part.test(x) {
					broken = &formulas[i]
					return
				}
				*seen |= x.m.read
			}
		}
	})
	x.m.leave(before)
	return broken, err
}

// Viewed reports whether the specification has a VIEW.
func (s *Spec) Viewed() bool { return s.view != nil }

// ViewVaries reports whether what VIEW shows of a state may be another thing each time.
func (s *Spec) ViewVaries() bool { return s.view.fresh }

// ChangedIn are the variables that are not one value in memory in two states.
func ChangedIn(s, next State) uint64 { return difference(s, next, identical) }
