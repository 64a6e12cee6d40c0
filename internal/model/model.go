// Package model follows a run of a system in its TLA+ specification. The code that follows the run reports steps: actions of the specification with their
// arguments. Each must be one that the specification allows in the state that it is in by then; one that is not is a divergence, reported with the guard that
// refused it. The states, steps and guards that runs meet guide a search to what it has not reached.
//
// The package only ever computes the successors by one action with arguments that are known, never for all: terms, indices and numbers of nodes
// need no bound, and nothing is enumerated before the first step.
package model

import (
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/splitmix"
	"github.com/bloodhound-dst/bloodhound/internal/tla/cells"
	"github.com/bloodhound-dst/bloodhound/internal/tla/eval"
	"github.com/bloodhound-dst/bloodhound/tla"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// Options of a Model.
type Options struct {
	// View names an operator without parameters that is the part of a state that a search distinguishes; empty is the whole state.
	View string
	// Library has folders of further modules.
	Library []string
	// Scratch names variables that only matter within a step: each begins with the value that they have in the initial states, which must be one.
	Scratch []string
	// MostStates bounds in how many states at once the specification may be for one run: 64. More make the run's conformance unknown.
	MostStates int
	// MostLeftOut is the share of events that may be ignored or without a model before the conformance of a run is unknown: 0.05.
	MostLeftOut float64
	// Forget names an action whose steps are passed over, as by a mapping that lacks it. Tests of a mapping forget each of
	// Actions in turn: runs must then leave the model, or be unknown.
	Forget string
	// Lenient passes over steps that the specification refuses, and observations by Saw of states that it is not in, and follows
	// on from where it was, as ModelFuzz does. It is for guides: the conformance of such a run is unknown.
	Lenient bool
	// Doubt has all evaluated also what is remembered of earlier steps, and panics if it is otherwise. It is for tests, and slow.
	Doubt bool
}

const (
	mostStates  = 64
	mostLeftOut = 0.05
)

// Model is a specification that runs are followed in. Several followers may use it at once.
type Model struct {
	spec *tla.Spec
	view *eval.Operator
	o    Options
	idle sync.Pool // of followers
	// goals compiles, once, what a search may try to reach.
	goals func() (*eval.Goals, error)
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
	m := &Model{spec: spec, o: o, goals: sync.OnceValues(func() (*eval.Goals, error) { return eval.GoalsOf(spec) })}
	if m.o.MostStates <= 0 {
		m.o.MostStates = mostStates
	}
	if m.o.MostLeftOut <= 0 {
		m.o.MostLeftOut = mostLeftOut
	}
	if o.View != "" {
		var err error
		if m.view, err = eval.ExpressionOf(spec, o.View); err != nil {
			return nil, &viewError{err}
		}
		if len(m.view.Params) > 0 {
			return nil, &viewError{fmt.Errorf("the view %s takes %s; it must take none", o.View, plural.Count(len(m.view.Params), "argument"))}
		}
	}
	if o.Forget != "" && !slices.Contains(m.Actions(), o.Forget) {
		if _, err := eval.ActionOf(spec, o.Forget); err != nil {
			return nil, fmt.Errorf("the action to forget: %w; use one of %s", err, strings.Join(m.Actions(), ", "))
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

// valueOf converts a bool, an integer, a string or a slice of such (a sequence) to a value of the specification.
func valueOf(v any) value.Value {
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
			items[i] = valueOf(v[i])
		}
		return value.NewTuple(items)
	}
	panic(fmt.Sprintf("%T cannot be a value of a specification; use bool, int, string, []any or value.Value", v))
}

// Divergence is the first step of a run that the specification does not allow.
type Divergence struct {
	Step   int    // its number, from 1 on
	Action string // with its arguments
	// Guard is the condition that was false, if one was; otherwise Saw reports what the system showed that the specification does not have.
	Guard *tla.Guard
	Saw   string
	// Operator is the one whose value Saw is about.
	Operator string
	State    string // one of those that the specification was in
}

func (d *Divergence) Error() string {
	text := fmt.Sprintf("step %d, %s, is not allowed by the model", d.Step, d.Action)
	switch {
	case d.Guard != nil:
		text += fmt.Sprintf(": %s is false (%s, line %d, column %d)", d.Guard.Text, d.Guard.Module, d.Guard.Span.First.Line, d.Guard.Span.First.Column)
	case d.Saw != "":
		text += ": " + d.Saw
	}
	return text + "\nin the state\n" + d.State
}

// What a run does that its specification does not: a step, or what the system shows after one.
var (
	refusedStep = failure.Declare("model/step")  // the action, and the condition that was false, with its module
	otherState  = failure.Declare("model/state") // the step before, and the operator whose value is another one
)

// Cause is the divergence without what varies from run to run.
func (d *Divergence) Cause() failure.Cause {
	action, _, _ := strings.Cut(d.Action, "(")
	switch {
	case d.Guard != nil:
		return refusedStep.Cause(action, d.Guard.Text, d.Guard.Module)
	case d.Saw != "":
		return otherState.Cause(action, d.Operator)
	}
	return refusedStep.Cause(action)
}

// Unknown says why it is not known whether a run conforms.
type Unknown struct{ Why string }

func (u *Unknown) Error() string { return u.Why }

// Follower is one run in the states of its model. It is not for several goroutines at once. A nil Follower ignores all calls, so
// that code need not check whether it is followed.
type Follower struct {
	// Kept holds data of the caller that a follower carries from run to run.
	Kept any

	model   *Model
	ev      *eval.Evaluator
	first   []tla.State // the initial ones
	initial []*point
	actions map[string]*action
	shows   map[string]*show
	viewed  *show
	memory  *memory

	states, next []*point // those that the specification may be in
	spare        []*point
	fresh        tla.State // that the present step was evaluated to lead to; empty if it was remembered
	reads        cells.Reads
	steps        int
	last         string // the last step, for messages, and its arguments
	lastArgs     []value.Value
	args         []value.Value
	tally        coverage.Tally
	passed       int // what was passed over
	failed       error
	view         uint64
	came         uint64 // the hash of the action that led here and was not looked at yet; 0: none
	unseen       bool   // the present state was not looked at yet
	reached      table[struct{}]
	features     []coverage.Feature
	measures     bool      // in this run
	near         *nearness // nil before any run is measured
}

// action is one of the specification, with what of its guards was met in all runs of a follower.
type action struct {
	*eval.Operator
	hash uint64
	told []uint64        // in the present run, as memory.mets
	met  eval.GuardsSeen // in the present step
}

// show is an expression of states.
type show struct {
	*eval.Operator
	hash uint64
}

// Follow begins to follow a run. The error is one of the specification's initial states.
func (m *Model) Follow() (*Follower, error) {
	if f, ok := m.idle.Get().(*Follower); ok {
		f.Restart()
		return f, nil
	}
	f := &Follower{model: m, ev: eval.NewEvaluator(m.spec), actions: map[string]*action{}, shows: map[string]*show{}}
	if n := len(m.spec.Variables); n > cells.Most {
		return nil, fmt.Errorf("the specification has %s; a run can be followed in at most %d", plural.Count(n, "variable"), cells.Most)
	}
	if m.view != nil {
		f.viewed = &show{m.view, coverage.ID(coverage.ModelState, "the view "+m.view.Name)}
	}
	var initial []tla.State
	err := f.ev.Initial(func(s tla.State) error {
		if len(initial) >= m.o.MostStates {
			return fmt.Errorf("the specification has more than %d initial states; choose a configuration with fewer", m.o.MostStates)
		}
		initial = append(initial, slices.Clone(s))
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(initial) == 0 {
		return nil, fmt.Errorf("the specification has no initial state")
	}
	f.memory = newMemory(m.spec, initial)
	f.reads.Cells = f.memory.cells
	for _, name := range m.o.Scratch {
		i := slices.Index(m.spec.Variables, name)
		if i < 0 {
			return nil, fmt.Errorf("the specification has no variable %s", name)
		}
		for _, s := range initial {
			if !value.Equal(s[i], initial[0][i]) {
				return nil, fmt.Errorf("the variable %s has several initial values, such as %s and %s, but a scratch variable must have one",
					name, initial[0][i], s[i])
			}
		}
		f.memory.scratch[i] = true
	}
	f.first = initial
	f.makeInitial()
	f.Restart()
	return f, nil
}

// Release gives a follower back, for other runs. It must not be used after that.
func (f *Follower) Release() { f.model.idle.Put(f) }

// Restart begins another run.
func (f *Follower) Restart() {
	if f.memory.makeRoom() {
		f.makeInitial()
	}
	f.drop(f.states)
	f.states = f.states[:0]
	for _, p := range f.initial {
		f.states = append(f.states, f.copied(p))
	}
	f.steps, f.last, f.tally, f.passed, f.failed = 0, "the initial state", coverage.Tally{}, 0, nil
	f.reached.empty()
	f.features = f.features[:0]
	for _, a := range f.actions {
		clear(a.told)
	}
	f.view, f.came, f.unseen, f.measures = 0, 0, true, false
}

// makeInitial makes the initial states of runs.
func (f *Follower) makeInitial() {
	f.initial = f.initial[:0]
	for _, s := range f.first {
		p := f.memory.newPoint(s)
		if !slices.ContainsFunc(f.initial, func(q *point) bool { return q.print == p.print }) {
			f.initial = append(f.initial, p)
		}
	}
}

// copied is a state of its own that is like another.
func (f *Follower) copied(p *point) *point {
	q := &point{}
	if last := len(f.spare) - 1; last >= 0 {
		q, f.spare = f.spare[last], f.spare[:last]
	}
	q.copy(p)
	return q
}

// drop gives states back that are no longer of use.
func (f *Follower) drop(list []*point) { f.spare = append(f.spare, list...) }

// Ignore counts an event that stands for no step, for a reason.
func (f *Follower) Ignore(reason string) {
	if f != nil {
		count(&f.tally.Ignored, reason)
	}
}

// Unmodelled counts an event that the specification should have a step for, and has none.
func (f *Follower) Unmodelled(kind string) {
	if f != nil {
		count(&f.tally.Unmodelled, kind)
	}
}

func count(tally *map[string]int, name string) {
	if *tally == nil {
		*tally = map[string]int{}
	}
	(*tally)[name]++
}

// action is the one of a name that a method was given, and binds arguments for it. It is nil once the run is not followed any more, and for the one to forget.
func (f *Follower) action(method, name string, args []any) *action {
	if f == nil || f.failed != nil || name == f.model.o.Forget {
		return nil
	}
	f.bind(args)
	a := f.actions[name]
	if a == nil {
		op, err := eval.ActionOf(f.model.spec, name)
		if err != nil {
			f.failed = mistake(fmt.Sprintf("%s; the actions are %s", plain(err), strings.Join(f.model.Actions(), ", ")), method,
				[]string{strconv.Quote(name)}, f.args)
			return nil
		}
		a = &action{Operator: op, hash: coverage.ID(coverage.ModelEdge, name),
			told: packed(make(eval.GuardsSeen, len(op.Guards))), met: make(eval.GuardsSeen, len(op.Guards))}
		f.actions[name] = a
	}
	if len(args) != len(a.Params) {
		f.failed = mistake(number(a.Operator, args), method, []string{strconv.Quote(name)}, f.args)
		return nil
	}
	return a
}

// number is the error for a wrong number of arguments.
func number(op *eval.Operator, args []any) string {
	return fmt.Sprintf("%s needs %s, and has %d", op.Name, plural.Count(len(op.Params), "argument"), len(args))
}

func (f *Follower) bind(args []any) {
	f.args = f.args[:0]
	for _, v := range args {
		f.args = append(f.args, valueOf(v))
	}
}

// Abandon ends the following: the system has done what the specification has no word for, and what comes after it means nothing
// there. It is not known then whether the run conforms.
func (f *Follower) Abandon(why string) {
	if f != nil && f.failed == nil {
		f.failed = &Unknown{why}
	}
}

// Step is an action that the system has taken. After a divergence nothing is followed any more. A name that the specification does not have, or arguments in
// a wrong number, are mistakes of the caller: Err is a *Mistake then.
func (f *Follower) Step(name string, args ...any) {
	a := f.action("Step", name, args)
	if a == nil {
		return
	}
	f.look()
	f.steps++
	f.tally.Mapped++
	if len(f.states) == 1 { // as nearly always
		if o, err := f.lead(f.states[0], a); err == nil && o.next.to == o.next.from+1 {
			f.memory.apply(f.states[0], &f.memory.changes[o.next.from])
			for i, v := range f.fresh { // as they were just evaluated, so that they need not be joined
				if f.states[0].joined[i] == nil {
					f.states[0].joined[i] = v
				}
			}
			f.taken(name, a)
			return
		}
	}
	var refused *tla.Guard
	f.next = f.next[:0]
	for _, p := range f.states {
		o, err := f.leads(p, a)
		if err != nil {
			f.failed = f.passing(fmt.Errorf("step %d, %s: %w", f.steps, f.named(name), err))
			return
		}
		if refused == nil {
			refused = a.guard(o.refused)
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
	f.drop(f.next)
	f.taken(name, a)
}

// taken notes the step that f.args are of.
func (f *Follower) taken(name string, a *action) {
	f.last, f.came, f.unseen = name, a.hash, true
	f.args, f.lastArgs = f.lastArgs, f.args
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

// Repeat is an action that the system may have taken any number of times, also none: what it does at once and the specification
// does in several steps. It counts as no event; the Step that follows it reports which of the states remain.
func (f *Follower) Repeat(name string, args ...any) {
	a := f.action("Repeat", name, args)
	if a == nil {
		return
	}
	f.states, f.next = f.next, f.states // what is reached is among those that it is reached from
	for i := 0; i < len(f.next); i++ {
		if _, err := f.leads(f.next[i], a); err != nil {
			f.failed = f.passing(fmt.Errorf("after step %d, %s: %w", f.steps, f.named(name), err))
			break
		}
	}
	f.states, f.next = f.next, f.states
}

// leads adds the states that an action leads to from p with the present arguments, each once.
func (f *Follower) leads(p *point, a *action) (*outcome, error) {
	o, err := f.lead(p, a)
	if err != nil {
		return nil, err
	}
	for i := o.next.from; i < o.next.to; i++ {
		q := f.copied(p)
		f.memory.apply(q, &f.memory.changes[i])
		if slices.ContainsFunc(f.next, func(p *point) bool { return p.print == q.print }) {
			f.spare = append(f.spare, q)
			continue
		}
		if len(f.next) >= f.model.o.MostStates {
			return nil, f.tooMany()
		}
		f.next = append(f.next, q)
	}
	return o, nil
}

// lead returns the outcome of an action in p with the present arguments.
func (f *Follower) lead(p *point, a *action) (*outcome, error) {
	call := key(a.hash, f.args)
	f.fresh = f.fresh[:0]
	o := f.memory.recall(p, call)
	if o == nil {
		var err error
		if o, err = f.evaluated(p, a, call); err != nil {
			return nil, err
		}
	} else if f.model.o.Doubt {
		f.doubt(p, a, o)
	}
	f.guards(a, f.memory.mets.lists[o.met])
	return o, nil
}

// evaluated evaluates an action in p and remembers the outcome.
func (f *Follower) evaluated(p *point, a *action, call uint64) (*outcome, error) {
	m, met := f.memory, a.met
	clear(met)
	o := outcome{next: part{from: int32(len(m.changes))}, value: -1}
	r := f.watch()
	err := f.ev.Step(m.state(p), a.Operator, f.args, met, func(s tla.State) error {
		if m.change(p, s, r, o.next.from); len(m.changes)-int(o.next.from) > f.model.o.MostStates {
			return f.tooMany()
		}
		f.fresh = append(f.fresh[:0], s...)
		return nil
	})
	o.met, o.next.to = m.mets.number(met), int32(len(m.changes))
	if err != nil {
		f.guards(a, m.mets.lists[o.met])
		return nil, err
	}
	o.refused = a.number(f.ev.Refused(a.Operator))
	return m.remember(p, call, r, o), nil
}

// guard is one by its number, and number that of one: -1 for none.
func (a *action) guard(number int32) *tla.Guard {
	if number < 0 {
		return nil
	}
	return &a.Guards[number]
}

func (a *action) number(g *tla.Guard) int32 {
	for i := range a.Guards {
		if &a.Guards[i] == g {
			return int32(i)
		}
	}
	return -1
}

// watch begins to note what the next evaluation depends on, if that is of use.
func (f *Follower) watch() *cells.Reads {
	if f.memory.useless {
		f.ev.Watch(nil)
		return nil
	}
	f.reads.Clear()
	f.ev.Watch(&f.reads)
	return &f.reads
}

// doubt evaluates what was remembered, without memory.
func (f *Follower) doubt(p *point, a *action, o *outcome) {
	m, met, kept := f.memory, make(eval.GuardsSeen, len(a.Guards)), *o
	first := int32(len(m.changes))
	f.ev.Watch(nil)
	err := f.ev.Step(m.state(p), a.Operator, f.args, met, func(s tla.State) error { m.change(p, s, nil, first); return nil })
	states := func(from, to int32) map[uint64]bool {
		set := map[uint64]bool{}
		for i := from; i < to; i++ {
			q := f.copied(p)
			m.apply(q, &m.changes[i])
			set[q.print] = true
			f.spare = append(f.spare, q)
		}
		return set
	}
	want, got := states(first, int32(len(m.changes))), states(kept.next.from, kept.next.to)
	if err != nil || !maps.Equal(got, want) || m.mets.number(met) != kept.met || a.number(f.ev.Refused(a.Operator)) != kept.refused {
		panic(fmt.Sprintf("%s is remembered wrongly: it has %d next states, and %d are remembered (%v), in the state\n%s",
			f.named(a.Name), len(want), len(got), err, f.text(p)))
	}
}

func (f *Follower) tooMany() error {
	return &Unknown{fmt.Sprintf("the specification may be in more than %s: report more of what the system shows, with Saw",
		plural.Count(f.model.o.MostStates, "state"))}
}

// named is the present step with its arguments.
func (f *Follower) named(name string) string { return applied(name, f.args) }

func applied(name string, args []value.Value) string {
	texts := make([]string, len(args))
	for i, v := range args {
		texts[i] = v.String()
	}
	return name + "(" + strings.Join(texts, ", ") + ")"
}

func (f *Follower) text(p *point) string {
	return strings.TrimRight(f.model.spec.Text(tla.Step{State: f.memory.state(p)}), "\n")
}

// Saw reports what the system showed after the last step: the value of an operator of the specification for some arguments.
// States of the specification in which it has another one are left; when none remains, that is a divergence.
func (f *Follower) Saw(want any, operator string, args ...any) {
	if f == nil || f.failed != nil {
		return
	}
	f.bind(args)
	seen := valueOf(want)
	op := f.shows[operator]
	if op == nil {
		e, err := eval.ExpressionOf(f.model.spec, operator)
		if err != nil {
			f.failed = mistake(plain(err), "Saw", []string{seen.String(), strconv.Quote(operator)}, f.args)
			return
		}
		op = &show{e, coverage.ID(coverage.ModelState, operator)}
		f.shows[operator] = op
	}
	if len(args) != len(op.Params) {
		f.failed = mistake(number(op.Operator, args), "Saw", []string{seen.String(), strconv.Quote(operator)}, f.args)
		return
	}
	print := seen.Fingerprint()
	kept := f.next[:0]
	var other value.Value
	for _, p := range f.states {
		o, err := f.shown(p, op, f.args)
		switch {
		case err != nil:
			if f.failed = f.passing(err); f.failed != nil {
				return
			}
		case o.print == print:
			kept = append(kept, p)
		case other == nil:
			other = f.memory.values[o.value]
		}
	}
	f.next = kept
	switch {
	case len(kept) == len(f.states):
	case len(kept) > 0:
		for _, p := range f.states {
			if !slices.Contains(kept, p) {
				f.spare = append(f.spare, p)
			}
		}
		f.states, f.next = kept, f.states
	case f.model.o.Lenient:
		f.passed++
	default:
		p, last := f.states[len(f.states)-1], f.last
		if f.steps > 0 {
			last = applied(last, f.lastArgs)
		}
		f.failed = &Divergence{Step: f.steps, Action: last, Operator: operator,
			Saw: fmt.Sprintf("%s is %s after it, but the system shows %s", f.named(operator), other, seen), State: f.text(p)}
		f.drop(f.states)
		f.states = f.states[:0]
	}
}

// shown is the value of an operator in p.
func (f *Follower) shown(p *point, op *show, args []value.Value) (*outcome, error) {
	m, call := f.memory, key(op.hash, args)
	o := m.recall(p, call)
	if o != nil && !f.model.o.Doubt {
		return o, nil
	}
	var r *cells.Reads
	if o == nil {
		r = f.watch()
	} else {
		f.ev.Watch(nil)
	}
	v, err := f.ev.Value(m.state(p), op.Operator, args...)
	if err != nil {
		return nil, err
	}
	print := v.Fingerprint()
	switch {
	case o == nil:
		return m.remember(p, call, r, outcome{value: m.number(v, print), print: print}), nil
	case o.print != print:
		panic(fmt.Sprintf("%s is remembered wrongly: it is %s and not %s, in the state\n%s", f.named(op.Name), v, m.values[o.value], f.text(p)))
	}
	return o, nil
}

// Err is a *Divergence if the run has left the model, an *Unknown if it cannot be followed, a *Mistake if a call means nothing in
// the specification, another error if the specification cannot be evaluated, and nil as long as all steps are the model's.
func (f *Follower) Err() error {
	if f == nil {
		return nil
	}
	return f.failed
}

// End returns the result for the whole run: Err, or an *Unknown if nothing was mapped or too much was left out.
func (f *Follower) End() error {
	switch {
	case f.failed != nil:
		return f.failed
	case f.passed > 0:
		return &Unknown{fmt.Sprintf("the specification refused %s of the run, which were skipped", plural.Count(f.passed, "step"))}
	case f.tally.Mapped == 0:
		return &Unknown{"no event of the run was mapped to a step of the model"}
	case f.tally.LeftOut() > f.model.o.MostLeftOut:
		return &Unknown{fmt.Sprintf("%.1f %% of the events were left out, but only %.1f %% may be (MostLeftOut of model.Options, left_out of a check): %s",
			100*f.tally.LeftOut(), 100*f.model.o.MostLeftOut, &f.tally)}
	}
	return nil
}

// Tally reports what became of the events so far.
func (f *Follower) Tally() *coverage.Tally { return &f.tally }

// look takes in the state that a step led to, as a state and as a step from the one before, once all is known that the system showed of that state.
func (f *Follower) look() {
	if !f.unseen || len(f.states) == 0 {
		return
	}
	f.unseen = false
	p := f.states[0]
	fp := p.print
	if f.model.view != nil {
		if !p.viewed {
			o, err := f.shown(p, f.viewed, nil)
			if err != nil {
				f.failed = err
				return
			}
			p.view, p.viewed, p.shows = o.print, true, *f.memory.depends(o)
		}
		fp = p.view
		f.reach(coverage.ModelWhole, splitmix.Mix(p.print^wholeSeed))
	}
	f.reach(coverage.ModelState, splitmix.Mix(fp^stateSeed))
	if f.came != 0 {
		f.reach(coverage.ModelEdge, splitmix.Mix(splitmix.Mix(f.view^edgeSeed)^f.came^fp))
	}
	f.view = fp
	if f.measures {
		f.near.addState(f.memory, p)
	}
}

const (
	stateSeed = 0x5354
	wholeSeed = 0x5748
	edgeSeed  = 0x4544
	guardSeed = 0x4755
)

func (f *Follower) guards(a *action, met []uint64) {
	for k, word := range met {
		fresh := word &^ a.told[k]
		a.told[k] |= word
		for ; fresh != 0; fresh &= fresh - 1 {
			at := bits.TrailingZeros64(fresh)
			guard, seen := k*guardsInWord+at/2, uint64(1)<<(at%2)
			f.reach(coverage.ModelGuard, splitmix.Mix(a.hash^guardSeed<<16^uint64(guard)<<2^seen))
		}
	}
}

func (f *Follower) reach(d coverage.Domain, id uint64) {
	before := f.reached.used
	if f.reached.add(id); f.reached.used > before {
		f.features = append(f.features, coverage.Feature{ID: id, Domain: d})
	}
}

// Reached are the features that the run has met in the model, each once, in the order in which they were met: states under the view, steps between them, and
// guards that were true and false, each kind in a domain of its own. They have no text. It is valid until the next call of the follower.
func (f *Follower) Reached() []coverage.Feature {
	f.look()
	return f.features
}
