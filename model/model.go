// Package model follows a run of a system in its TLA+ specification. What the system does is told as steps: actions of the specification with their
// arguments. Each must be one that the specification allows in the state that it is in by then; one that is not is a divergence, told with the guard that
// refused it. The states, steps and guards that runs meet tell a search where it has not been.
//
// The specification is only ever asked for the successors by one action with arguments that are known, never for all: terms, indices and numbers of nodes
// need no bound, and nothing is enumerated before the first step.
package model

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/bloodhound-dst/bloodhound/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/splitmix"
	"github.com/bloodhound-dst/bloodhound/tla"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// Options of a Model.
type Options struct {
	// View names an operator without parameters that shows of a state what is worth telling apart; empty is all of it.
	View string
	// Library has folders of further modules.
	Library []string
	// Scratch names variables that only matter within a step: each begins with the value that they have in the initial states, which must be one.
	Scratch []string
	// MostStates bounds in how many states at once the specification may be for one run: 64. More make the run's conformance unknown.
	MostStates int
	// MostLeftOut is the share of events that may be ignored or without a model before the conformance of a run is unknown: 0.05.
	MostLeftOut float64
	// Forget names an action whose steps are passed over, as by a mapping that lacks it. Tests of a mapping forget each of Actions in turn: runs must then leave the
	// model, or be unknown.
	Forget string
	// Lenient passes over steps that the specification refuses, and what Saw tells of states that it is not in, and follows on from where it was, as ModelFuzz does. It is
	// for guides: the conformance of such a run is unknown.
	Lenient bool
}

const (
	mostStates  = 64
	mostLeftOut = 0.05
)

// Model is a specification that runs are followed in. Several followers may use it at once.
type Model struct {
	spec *tla.Spec
	view *tla.Operator
	o    Options
	idle sync.Pool // of followers
}

// Load reads a specification and its configuration file.
func Load(file, config string, o Options) (*Model, error) {
	c, err := tla.ReadConfig(config)
	if err != nil {
		return nil, err
	}
	spec, err := tla.Load(file, c, o.Library...)
	if err != nil {
		return nil, err
	}
	return New(spec, o)
}

// New makes a model of a specification.
func New(spec *tla.Spec, o Options) (*Model, error) {
	m := &Model{spec: spec, o: o}
	if m.o.MostStates <= 0 {
		m.o.MostStates = mostStates
	}
	if m.o.MostLeftOut <= 0 {
		m.o.MostLeftOut = mostLeftOut
	}
	if o.View != "" {
		var err error
		if m.view, err = spec.Expression(o.View); err != nil {
			return nil, &viewError{err}
		}
		if len(m.view.Params) > 0 {
			return nil, &viewError{fmt.Errorf("the view %s takes %d arguments; it must take none", o.View, len(m.view.Params))}
		}
	}
	return m, nil
}

// viewError is a mistake in the view of a model.
type viewError struct{ err error }

func (e *viewError) Error() string { return e.err.Error() }
func (e *viewError) Unwrap() error { return e.err }

// Actions are the names of the specification's actions, each once.
func (m *Model) Actions() []string {
	var names []string
	for i := range m.spec.Actions {
		if name := m.spec.Actions[i].Name; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Name is a model value: what a configuration file names without quotes.
func Name(name string) value.Value { return value.ModelValue(name) }

// Of is a value of the specification: of a bool, an integer, a string, a slice of such (a sequence), or one that is a value already.
func Of(v any) value.Value {
	switch v := v.(type) {
	case value.Value:
		return v
	case bool:
		return value.Bool(v)
	case int:
		return value.Int(v)
	case int64:
		return value.Int(v)
	case uint64:
		return value.Int(v)
	case string:
		return value.Text(v)
	case []any:
		items := make([]value.Value, len(v))
		for i := range v {
			items[i] = Of(v[i])
		}
		return value.NewTuple(items)
	}
	panic(fmt.Sprintf("%T is no value of a specification: bool, int, string, []any and value.Value are", v))
}

// Divergence is the first step of a run that the specification does not allow.
type Divergence struct {
	Step   int    // its number, from 1 on
	Action string // with its arguments
	// Guard is the condition that was false, if one was; otherwise Saw tells what the system showed that the specification does not have.
	Guard *tla.Guard
	Saw   string
	State string // one of those that the specification was in
}

func (d *Divergence) Error() string {
	text := fmt.Sprintf("step %d, %s, is not one of the model", d.Step, d.Action)
	switch {
	case d.Guard != nil:
		text += fmt.Sprintf(": %s is false (%s, line %d, column %d)", d.Guard.Text, d.Guard.Module, d.Guard.Span.First.Line, d.Guard.Span.First.Column)
	case d.Saw != "":
		text += ": " + d.Saw
	}
	return text + "\nin the state\n" + d.State
}

// Unknown is why it is not known whether a run conforms.
type Unknown struct{ Why string }

func (u *Unknown) Error() string { return u.Why }

// Follower is one run in the states of its model. It is not for several goroutines at once. What a nil one is told it passes over, so that code need not ask whether
// it is followed.
type Follower struct {
	model   *Model
	ev      *tla.Evaluator
	initial []tla.State
	actions map[string]*action
	shows   map[string]*show
	memory  *memory

	states, next []*point // those that the specification may be in
	steps        int
	last         string // the last step, for messages
	args         []value.Value
	tally        coverage.Tally
	passed       int // what was passed over
	failed       error
	view         uint64
	came         uint64 // the hash of the action that led here and was not looked at yet; 0: none
	unseen       bool   // the present state was not looked at yet
	reached      map[uint64]bool
	features     []coverage.Feature
}

// action is one of the specification, with what of its guards was met in all runs of a follower.
type action struct {
	*tla.Operator
	hash uint64
	told tla.GuardsSeen // in the present run
}

// show is an expression of states.
type show struct {
	*tla.Operator
	hash uint64
}

// Follow begins to follow a run. The error is one of the specification's initial states.
func (m *Model) Follow() (*Follower, error) {
	if f, ok := m.idle.Get().(*Follower); ok {
		f.Restart()
		return f, nil
	}
	f := &Follower{model: m, ev: m.spec.Evaluator(), actions: map[string]*action{}, shows: map[string]*show{}, memory: newMemory(), reached: map[uint64]bool{}}
	err := f.ev.Initial(func(s tla.State) error {
		if len(f.initial) >= m.o.MostStates {
			return fmt.Errorf("the specification has more than %d initial states; choose a configuration with fewer", m.o.MostStates)
		}
		f.initial = append(f.initial, slices.Clone(s))
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(f.initial) == 0 {
		return nil, fmt.Errorf("the specification has no initial state")
	}
	for _, name := range m.o.Scratch {
		i := slices.Index(m.spec.Variables, name)
		if i < 0 {
			return nil, fmt.Errorf("the specification has no variable %s", name)
		}
		for _, s := range f.initial {
			if !value.Equal(s[i], f.initial[0][i]) {
				return nil, fmt.Errorf("the variable %s has several initial values, %s and %s among them, and a scratch variable must have one", name, f.initial[0][i], s[i])
			}
		}
		f.memory.scratch = append(f.memory.scratch, i)
	}
	f.memory.first = f.initial[0]
	f.Restart()
	return f, nil
}

// Release gives a follower back, for other runs. It must not be used after that.
func (f *Follower) Release() { f.model.idle.Put(f) }

// Restart begins another run.
func (f *Follower) Restart() {
	f.memory.rest()
	f.states = f.states[:0]
	for _, s := range f.initial {
		f.states = append(f.states, f.memory.at(s))
	}
	f.steps, f.last, f.tally, f.passed, f.failed = 0, "the initial state", coverage.Tally{}, 0, nil
	clear(f.reached)
	f.features = f.features[:0]
	for _, a := range f.actions {
		clear(a.told)
	}
	f.view, f.came, f.unseen = 0, 0, true
}

// Ignore counts an event that stands for no step, for a reason.
func (f *Follower) Ignore(reason string) {
	if f == nil {
		return
	}
	if f.tally.Ignored == nil {
		f.tally.Ignored = map[string]int{}
	}
	f.tally.Ignored[reason]++
}

// Unmodelled counts an event that the specification should have a step for, and has none.
func (f *Follower) Unmodelled(kind string) {
	if f == nil {
		return
	}
	if f.tally.Unmodelled == nil {
		f.tally.Unmodelled = map[string]int{}
	}
	f.tally.Unmodelled[kind]++
}

// action is the one of a name, and binds arguments for it. It is nil once the run is not followed any more, and for the one to forget.
func (f *Follower) action(name string, args []any) *action {
	if f == nil || f.failed != nil || name == f.model.o.Forget {
		return nil
	}
	a := f.actions[name]
	if a == nil {
		op, err := f.model.spec.Action(name)
		if err != nil {
			f.failed = err
			return nil
		}
		a = &action{Operator: op, hash: coverage.ID(coverage.ModelEdge, name), told: make(tla.GuardsSeen, len(op.Guards))}
		f.actions[name] = a
	}
	f.bind(args)
	return a
}

func (f *Follower) bind(args []any) {
	f.args = f.args[:0]
	for _, v := range args {
		f.args = append(f.args, Of(v))
	}
}

// Abandon ends the following: the system has done what the specification has no word for, and what comes after it means nothing there. It is not known then whether
// the run conforms.
func (f *Follower) Abandon(why string) {
	if f.failed == nil {
		f.failed = &Unknown{why}
	}
}

// Step is an action that the system has taken. After a divergence nothing is followed any more. A name that the specification does not have, or arguments in
// a wrong number, are mistakes of the caller: Err tells them.
func (f *Follower) Step(name string, args ...any) {
	a := f.action(name, args)
	if a == nil {
		return
	}
	f.look()
	f.steps++
	f.tally.Mapped++
	var refused *tla.Guard
	f.next = f.next[:0]
	for _, p := range f.states {
		o, err := f.lead(p, a)
		if err != nil {
			f.failed = f.passing(fmt.Errorf("step %d, %s: %w", f.steps, f.named(name), err))
			return
		}
		if refused == nil {
			refused = o.refused
		}
	}
	if len(f.next) == 0 {
		if f.model.o.Lenient {
			f.passed++
			return
		}
		f.failed = &Divergence{Step: f.steps, Action: f.named(name), Guard: refused, State: f.text(f.states[0])}
		return
	}
	f.states, f.next = f.next, f.states
	f.last, f.came, f.unseen = name, a.hash, true
}

// passing passes over what went wrong, if it may.
func (f *Follower) passing(err error) error {
	var unknown *Unknown
	if !f.model.o.Lenient || errors.As(err, &unknown) {
		return err
	}
	f.passed++
	return nil
}

// Repeat is an action that the system may have taken any number of times, also none: what it does at once and the specification does in several steps. It counts
// as no event; the Step that follows it tells which of the states remain.
func (f *Follower) Repeat(name string, args ...any) {
	a := f.action(name, args)
	if a == nil {
		return
	}
	f.states, f.next = f.next, f.states // what is reached is among those that it is reached from
	for i := 0; i < len(f.next); i++ {
		if _, err := f.lead(f.next[i], a); err != nil {
			f.failed = f.passing(fmt.Errorf("after step %d, %s: %w", f.steps, f.named(name), err))
			break
		}
	}
	f.states, f.next = f.next, f.states
}

// lead adds the states that an action leads to from p with the present arguments, each once.
func (f *Follower) lead(p *point, a *action) (*outcome, error) {
	c := calling(p, a.hash, f.args)
	o := f.memory.step(c)
	if o == nil {
		o = &outcome{met: make(tla.GuardsSeen, len(a.Guards))}
		err := f.ev.Step(p.state, a.Operator, f.args, o.met, func(s tla.State) error {
			if q := f.memory.at(s); !slices.Contains(o.next, q) {
				if len(o.next) >= f.model.o.MostStates {
					return f.tooMany()
				}
				o.next = append(o.next, q)
			}
			return nil
		})
		f.guards(a, o.met)
		if err != nil {
			return nil, err
		}
		o.refused = f.ev.Refused(a.Operator)
		if !f.memory.useless {
			f.memory.steps[c] = o
		}
	} else {
		f.guards(a, o.met)
	}
	for _, q := range o.next {
		if !slices.ContainsFunc(f.next, func(p *point) bool { return p.print == q.print }) {
			if len(f.next) >= f.model.o.MostStates {
				return nil, f.tooMany()
			}
			f.next = append(f.next, q)
		}
	}
	return o, nil
}

func (f *Follower) tooMany() error {
	return &Unknown{fmt.Sprintf("the specification may be in more than %d states: tell more of what the system shows, by Saw", f.model.o.MostStates)}
}

// named is the present step with its arguments.
func (f *Follower) named(name string) string {
	texts := make([]string, len(f.args))
	for i, v := range f.args {
		texts[i] = v.String()
	}
	return name + "(" + strings.Join(texts, ", ") + ")"
}

func (f *Follower) text(p *point) string {
	return strings.TrimRight(f.model.spec.Text(tla.Step{State: p.state}), "\n")
}

// Saw tells what the system showed after the last step: the value of an operator of the specification for some arguments. States of the specification in which
// it has another one are left; when none remains, that is a divergence.
func (f *Follower) Saw(want any, operator string, args ...any) {
	if f == nil || f.failed != nil {
		return
	}
	op := f.shows[operator]
	if op == nil {
		e, err := f.model.spec.Expression(operator)
		if err != nil {
			f.failed = err
			return
		}
		op = &show{e, coverage.ID(coverage.ModelState, operator)}
		f.shows[operator] = op
	}
	f.bind(args)
	seen := Of(want)
	kept := f.states[:0]
	var other value.Value
	var last *point
	for _, p := range f.states {
		c := calling(p, op.hash, f.args)
		v := f.memory.shown[c]
		if v == nil {
			var err error
			if v, err = f.ev.Value(p.state, op.Operator, f.args...); err != nil {
				if f.failed = f.passing(err); f.failed != nil {
					return
				}
				continue
			}
			if !f.memory.useless {
				f.memory.shown[c] = v
			}
		}
		if value.Equal(v, seen) {
			kept = append(kept, p)
			continue
		}
		if other == nil {
			other = v
		}
		last = p
	}
	if len(kept) == 0 && f.model.o.Lenient {
		f.passed++
		return
	}
	f.states = kept
	if len(kept) == 0 {
		f.failed = &Divergence{Step: f.steps, Action: f.last, Saw: fmt.Sprintf("%s is %s after it, and the system shows %s", f.named(operator), other, seen), State: f.text(last)}
	}
}

// Err is a *Divergence if the run has left the model, an *Unknown if it cannot be followed, another error if the specification cannot be evaluated, and nil as long as
// all steps are the model's.
func (f *Follower) Err() error { return f.failed }

// End is what is to be said of the whole run: Err, or an *Unknown if nothing was mapped or too much was left out.
func (f *Follower) End() error {
	switch {
	case f.failed != nil:
		return f.failed
	case f.passed > 0:
		return &Unknown{fmt.Sprintf("%d times the run did what the specification refuses, which was passed over", f.passed)}
	case f.tally.Mapped == 0:
		return &Unknown{"no event of the run was mapped to a step of the model"}
	case f.tally.LeftOut() > f.model.o.MostLeftOut:
		return &Unknown{fmt.Sprintf("%.1f %% of the events were left out, and %.1f %% may be: %s", 100*f.tally.LeftOut(), 100*f.model.o.MostLeftOut, &f.tally)}
	}
	return nil
}

// Tally tells what became of the events so far.
func (f *Follower) Tally() *coverage.Tally { return &f.tally }

// look takes in the state that a step led to, as a state and as a step from the one before, once all is known that the system showed of it.
func (f *Follower) look() {
	if !f.unseen || len(f.states) == 0 {
		return
	}
	f.unseen = false
	p := f.states[0]
	if !p.viewed {
		p.view, p.viewed = p.print, true
		if f.model.view != nil {
			v, err := f.ev.Value(p.state, f.model.view)
			if err != nil {
				f.failed = err
				return
			}
			p.view = v.Fingerprint()
		}
	}
	fp := p.view
	if f.model.view != nil {
		f.reach(coverage.ModelWhole, splitmix.Mix(p.print^wholeSeed))
	}
	f.reach(coverage.ModelState, splitmix.Mix(fp^stateSeed))
	if f.came != 0 {
		f.reach(coverage.ModelEdge, splitmix.Mix(splitmix.Mix(f.view^edgeSeed)^f.came^fp))
	}
	f.view = fp
}

const (
	stateSeed = 0x5354
	wholeSeed = 0x5748
	edgeSeed  = 0x4544
	guardSeed = 0x4755
)

func (f *Follower) guards(a *action, seen tla.GuardsSeen) {
	for i, met := range seen {
		if fresh := met &^ a.told[i]; fresh != 0 {
			a.told[i] |= met
			for _, bit := range []uint8{1, 2} {
				if fresh&bit != 0 {
					f.reach(coverage.ModelGuard, splitmix.Mix(a.hash^guardSeed<<16^uint64(i)<<2^uint64(bit)))
				}
			}
		}
	}
}

func (f *Follower) reach(d coverage.Domain, id uint64) {
	if !f.reached[id] {
		f.reached[id] = true
		f.features = append(f.features, coverage.Feature{ID: id, Domain: d})
	}
}

// Reached are the features that the run has met in the model, each once, in the order in which they were met: states under the view, steps between them, and
// guards that were true and false, each kind in a domain of its own. They have no text. It is valid until the next call of the follower.
func (f *Follower) Reached() []coverage.Feature {
	f.look()
	return f.features
}
