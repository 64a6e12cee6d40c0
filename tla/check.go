package tla

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/tla/eval"
	"github.com/bloodhound-dst/bloodhound/internal/tla/liveness"
	"github.com/bloodhound-dst/bloodhound/internal/tla/visited"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// mostCompared is how many fingerprints are sorted to find the closest.
const mostCompared = 1 << 24

// collisions estimates how likely two states had one fingerprint.
func (c *checker) collisions() (e Collisions) {
	e.Calculated = float64(c.r.Distinct) * float64(c.r.Generated-c.r.Distinct) / math.Exp2(64)
	if n := c.known.Len(); n < 2 || n > mostCompared {
		return e
	}
	if closest := c.known.Closest(); c.known.Err() == nil {
		e.Observed = 1 / float64(closest)
	}
	return e
}

// checker goes through the states of a specification.
type checker struct {
	spec   *Spec
	ev     *eval.Evaluator
	o      Options
	r      *Report
	began  time.Time
	told   time.Time
	asked  time.Time // when _PERIODIC was evaluated
	memory memory
	paused int

	known    visited.Fingerprints  // of each state that was seen
	parent   visited.Column[int32] // -1: an initial state
	queue    visited.Queue
	starts   int                         // of the states are initial
	key      func(State) (uint64, error) // distinguishes states
	graph    *liveness.Graph             // for temporal properties
	is       liveness.Oracle             // of its atoms
	automata []*liveness.Automaton       // of the properties, as far as they were needed
	same     visited.Fingerprints        // under SYMMETRY, which the graph cannot use
	image    []bool                      // of the states of the graph: another one stands for it under SYMMETRY, and it counts for nothing
	unlike   error                       // why no property of behaviours can be judged under VIEW

	level int // of the states whose successors are being found; initial states have level 1
	// The variables that each conjunct of each invariant and of each constraint was ever seen to read.
	invariantReads, constraintReads [][]uint64

	missing []*eval.Formula // what is under _POSSIBLE and was not met yet
	counts  []int           // how often each of what is under _POSSIBLE was met; -1: it was not looked for; nil: nobody asks

	visits int   // states that were found, one or several times at once
	at     int32 // whose successors are being found
	from   State
	some   bool // it has one

	successor func(State) error // follows
	ends      func()            // composed

	expanded int // states whose successors are all known

	allowed  bool // some step, by the action constraints
	taken    bool // the state that is visited is new, and no constraint leaves it out
	unqueued int  // states that were taken, and whose successors would not have been looked for
}

func newChecker(spec *Spec, o Options) *checker {
	now := time.Now()
	c := &checker{spec: spec, ev: eval.NewEvaluator(spec), o: o, r: &Report{}, began: now, told: now, asked: now, at: -1}
	c.memory.read = newHeap()
	for i := range spec.Actions {
		c.r.Actions = append(c.r.Actions, ActionCount{Action: &spec.Actions[i]})
	}
	for i := range eval.PartsOf(spec).Possible {
		c.missing = append(c.missing, &eval.PartsOf(spec).Possible[i])
		if eval.PartsOf(spec).Counted {
			c.counts = append(c.counts, -1)
		}
	}
	if c.counts != nil {
		c.ev.TLC.Possible = c.counted
	}
	c.ev.TLC.Seen = c.before
	c.invariantReads, c.constraintReads = make([][]uint64, len(eval.PartsOf(spec).Invariants)), make([][]uint64, len(eval.PartsOf(spec).Constraints))
	c.ev.TLC.Print, c.ev.TLC.Named, c.ev.TLC.Level, c.ev.TLC.Pause = o.Print, c.named, 0, c.full
	c.ev.TLC.Behaviour, c.successor, c.ends = c.behaviour, c.follows, c.composed
	return c
}

// Check visits every reachable state, breadth first, and then checks the temporal properties on the graph of states. It
// returns an error for a mistake in the specification: an expression that has no value. Report.Behaviour then leads to
// it.
func Check(spec *Spec, o Options) (*Report, error) {
	return newChecker(spec, o).check()
}

func (c *checker) check() (*Report, error) {
	spec := c.spec
	if len(eval.PartsOf(spec).Properties) > 0 {
		c.graph, c.is = liveness.NewGraph(eval.PartsOf(spec).Times, spec.Viewed()), c.oracle(c.ev)
		c.r.Viewed = spec.Viewed()
	}
	c.key = c.keys(c.ev)
	c.useDisk()
	err := c.asserted(c.all())
	if err == nil || errors.Is(err, eval.ErrStop) {
		err = c.post()
	}
	if errors.Is(err, eval.ErrStop) {
		err = nil
	}
	if c.r.Left = c.left(); c.r.Stopped == "" && !c.finished() {
		c.r.Left = c.queued() - c.unqueued
	}
	return c.r, err
}

// asserted makes a false Assert that a behaviour leads to a violation.
func (c *checker) asserted(err error) error {
	a := (*eval.Assertion)(nil)
	if !errors.As(err, &a) || len(c.r.Behaviour) == 0 {
		return err
	}
	c.r.Violations = append(c.r.Violations, &Violation{Kind: AssertViolated, Name: a.Said, Trace: c.r.Behaviour, Back: -1, Cause: a.Err})
	c.r.Behaviour = nil
	return eval.ErrStop
}

// left counts the states whose successors are not all known.
func (c *checker) left() int { return c.known.Len() - c.expanded }

// queued counts the states whose successors were not looked for.
func (c *checker) queued() int { return c.known.Len() - int(c.at) - 1 }

// finished reports whether all states were seen.
func (c *checker) finished() bool {
	return c.r.Stopped == "" && (len(c.r.Violations) == 0 || c.o.Continue)
}

func (c *checker) all() error {
	for i := range eval.PartsOf(c.spec).Assumptions {
		f := &eval.PartsOf(c.spec).Assumptions[i]
		ok, err := c.ev.Holds(f, nil, nil)
		if err != nil {
			return err
		}
		if !ok {
			if err := c.violated(&Violation{Kind: AssumptionViolated, Name: f.Name, Back: -1}); err != nil {
				return err
			}
		}
	}
	if err := c.ev.Initial(c.starting); err != nil || !c.finished() {
		return err
	}
	c.r.Initial, c.starts = c.r.Distinct, c.known.Len()
	c.level = 1
	last := int32(c.known.Len()) // the states before it are at this level or less
	for c.at = 0; int(c.at) < c.known.Len(); c.at++ {
		if c.at == last {
			c.level, last = c.level+1, int32(c.known.Len())
		}
		if c.o.Depth > 0 && c.level >= c.o.Depth {
			c.r.Stopped = fmt.Sprintf("behaviours were followed for %s, as asked for", plural.Count(c.o.Depth, "state"))
			return nil
		}
		if (c.at%64 == 0 || c.ev.TLC.Exit) && c.full() {
			return nil
		}
		c.ev.TLC.Level = c.level
		if err := c.expand(); err != nil || !c.finished() {
			return err
		}
		c.expanded++
	}
	c.at--
	c.r.Complete = true
	c.r.Collisions = c.collisions()
	return c.temporal()
}

// starting takes in an initial state, which has level 1. Before there is one, the level is 0.
func (c *checker) starting(s State) error {
	c.ev.TLC.Level = 1
	err := c.visit(s, -1)
	c.ev.TLC.Level = 0
	return err
}

// post evaluates POSTCONDITION, which may ask for the first counterexample: after all states, a violation, or what a simulation has walked.
func (c *checker) post() error {
	if c.r.Stopped != "" && !c.ev.TLC.Simulating {
		return nil
	}
	if err := c.impossible(); err != nil || len(eval.PartsOf(c.spec).Postconditions) == 0 {
		return err
	}
	c.ev.TLC.Counterexample = func() value.Value { return counterexample(c.spec, nil) }
	if len(c.r.Violations) > 0 {
		if c.r.Violations[0].Kind == AssumptionViolated && !c.o.Continue {
			return nil // no state was looked for
		}
		c.ev.TLC.Counterexample = func() value.Value { return counterexample(c.spec, c.r.Violations[0]) }
	}
	for i := range eval.PartsOf(c.spec).Postconditions {
		f := &eval.PartsOf(c.spec).Postconditions[i]
		ok, err := c.ev.Holds(f, nil, nil)
		if err == nil && !ok {
			err = c.violated(&Violation{Kind: PostViolated, Name: f.Name, Back: -1})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// possible looks for what the configuration names under _POSSIBLE in a state that is reached, or in the step to it if the action constraints allow that.
func (c *checker) possible(s State, action int, allowed bool) error {
	all := eval.PartsOf(c.spec).Possible
	for i := range all {
		f := &all[i]
		missing := slices.Index(c.missing, f)
		if missing < 0 && c.counts == nil || f.Next && (action < 0 || !allowed) {
			continue
		}
		from, next := s, State(nil)
		if f.Next {
			from, next = c.from, s
		}
		met, err := c.ev.Holds(f, from, next)
		if err != nil {
			return c.within(err, s, action)
		}
		if met && missing >= 0 {
			c.missing = slices.Delete(c.missing, missing, missing+1)
		}
		if c.counts != nil {
			c.counts[i] = max(c.counts[i], 0)
			if met {
				c.counts[i] += c.ev.Times()
			}
		}
	}
	return nil
}

// counted is the register in which TLC counts what is under _POSSIBLE, by names; nil: nothing was looked for.
func (c *checker) counted() value.Value {
	var names, counts []value.Value
	for i, n := range c.counts {
		if n >= 0 {
			names, counts = append(names, value.Text(eval.PartsOf(c.spec).Possible[i].Name)), append(counts, value.Int(n))
		}
	}
	if names == nil {
		return nil
	}
	return value.FunctionOf(names, counts)
}

// before reports whether a state was found before.
func (c *checker) before(s State) bool {
	fp, err := c.reaching(s, c.key)
	if err != nil {
		return false
	}
	_, found := c.known.Find(fp)
	return found
}

// impossible notes what was named under _POSSIBLE and not met among all states.
func (c *checker) impossible() error {
	if len(c.r.Violations) > 0 {
		return nil // not all states were seen
	}
	for _, f := range c.missing {
		what := "it is true in no state"
		if f.Next {
			what = "it is true of no step"
		}
		if err := c.violated(&Violation{Kind: PostViolated, Name: f.Name, Back: -1, Cause: errors.New(what)}); err != nil {
			return err
		}
	}
	return nil
}

// full reports whether a limit was reached, and reports progress about once a second.
func (c *checker) full() bool {
	now := time.Now()
	select {
	case <-c.o.Stop:
		c.r.Stopped = "it was interrupted"
	default:
	}
	if c.ev.TLC.Exit {
		c.r.Stopped = ByExit
	}
	if c.o.Time > 0 && now.Sub(c.began) > c.o.Time {
		c.r.Stopped = fmt.Sprintf("the time of %v is used up", c.o.Time)
	}
	if c.o.Distinct > 0 && c.r.Distinct >= c.o.Distinct {
		c.r.Stopped = fmt.Sprintf("there are %s, and the check was to end at %d", plural.Count(c.r.Distinct, "distinct state"), c.o.Distinct)
	}
	if c.o.MemoryBytes > 0 && c.r.Stopped == "" {
		c.fit()
	}
	if eval.PartsOf(c.spec).Periodic != nil && c.r.Stopped == "" && now.Sub(c.asked) >= periodicEvery {
		c.asked = now
		c.periodic()
	}
	if c.o.Progress != nil && now.Sub(c.told) > time.Second {
		c.told = now
		if c.known.Len() > 0 {
			c.r.Left = c.left()
		}
		c.o.Progress(c.r)
	}
	return c.r.Stopped != ""
}

// periodicEvery is how long it takes until _PERIODIC is evaluated again, as in TLC.
var periodicEvery = time.Minute

// periodic evaluates what the configuration names under _PERIODIC. It may be called while something else is evaluated.
func (c *checker) periodic() {
	ok, err := c.ev.Another().Holds(eval.PartsOf(c.spec).Periodic, nil, nil)
	switch {
	case err != nil:
		c.r.Stopped = fmt.Sprintf("%s, which is under _PERIODIC, cannot be evaluated: %v", eval.PartsOf(c.spec).Periodic.Name, err)
	case !ok:
		c.r.Violations = append(c.r.Violations, &Violation{Kind: AssumptionViolated, Name: eval.PartsOf(c.spec).Periodic.Name, Back: -1})
		c.r.Stopped = eval.PartsOf(c.spec).Periodic.Name + ", which is under _PERIODIC, is false"
	}
}

// violated notes a violation, and ends the check unless the check is to continue after it.
func (c *checker) violated(v *Violation) error {
	c.r.Violations = append(c.r.Violations, v)
	if c.o.Continue {
		return nil
	}
	return eval.ErrStop
}

// constrained is the action constraint that leaves out the step from s to next, or nil.
func (c *checker) constrained(s, next State) (*eval.Formula, error) {
	constraints := eval.PartsOf(c.spec).ActionConstraints
	if len(constraints) == 0 {
		return nil, nil
	}
	out, err := c.holds(constraints, s, next)
	c.allowed = c.allowed || out == nil && err == nil
	c.r.Barred = !c.allowed
	return out, err
}

// expand finds the successors of a state.
func (c *checker) expand() error {
	if c.from, c.some = c.queue.TakeState(int(c.at)), false; c.queue.Err() != nil {
		return c.broken(c.queue.Err())
	}
	if c.graph != nil {
		c.graph.BeginState(c.is, c.from)
	}
	err := c.ev.AllSuccessors(c.from, c.successor, c.ends)
	c.composed()
	if err != nil || !c.finished() {
		var action *Action
		if len(c.spec.Actions) > 0 {
			action = &c.spec.Actions[c.ev.Acting()]
		}
		return c.failed(err, action)
	}
	if !c.some && c.spec.CheckDeadlock {
		trace, err := c.trace(c.at)
		if err != nil {
			return err
		}
		if err := c.violated(&Violation{Kind: Deadlocked, Trace: trace, Back: -1}); err != nil {
			return err
		}
	}
	if c.graph != nil {
		c.graph.Edge(c.is, c.from, c.from, c.at) // a behaviour may stand still forever
		c.graph.End(c.is, c.from)
	}
	return nil
}

// follows takes in a state that the present action leads to.
func (c *checker) follows(next State) error {
	c.some = true
	c.composed()
	err := c.visit(next, c.ev.Acting())
	c.ev.Composed() // of properties, which generate nothing
	return err
}

// composed counts the states between the steps of compositions of the present action.
func (c *checker) composed() {
	if n := c.ev.Composed(); n > 0 {
		c.generated(c.ev.Acting(), n)
	}
}

// failed adds to an error of the specification how its place was reached.
func (c *checker) failed(err error, action *Action) error {
	if err == nil || errors.Is(err, eval.ErrStop) || c.r.Behaviour != nil {
		return err
	}
	trace, traceErr := c.trace(c.at)
	if traceErr == nil && c.ev.Partial != nil {
		trace = append(trace, Step{Action: action, State: c.ev.Partial})
	}
	if traceErr == nil {
		c.r.Behaviour = trace
	}
	return err
}

// holds is Evaluator.all of the check's own evaluator.
func (c *checker) holds(formulas []eval.Formula, s, next State) (*eval.Formula, error) {
	return c.ev.All(formulas, s, next)
}

// remain is Evaluator.remain of a state that the present one leads to, at its level.
func (c *checker) remain(formulas []eval.Formula, reads [][]uint64, s State, changed uint64) (broken *eval.Formula, err error) {
	if len(formulas) == 0 {
		return nil, nil
	}
	c.ev.TLC.Level = c.level + 1 // of the state that is reached
	broken, err = c.ev.Remain(formulas, reads, s, changed)
	c.ev.TLC.Level = max(c.level, 1)
	return broken, err
}

// generated counts states that an action leads to from the present one, or initial ones.
func (c *checker) generated(action, times int) {
	if action >= 0 && len(c.image) > 0 && c.image[c.at] {
		return
	}
	c.r.Generated += times
	if action >= 0 {
		c.r.Actions[action].Generated += times
	}
}

// visit takes in a state that an action leads to from the present one, or an initial one.
func (c *checker) visit(s State, action int) error {
	if c.visits++; c.visits%1024 == 0 && c.full() { // a state may have many successors, and there may be many initial ones
		return eval.ErrStop
	}
	c.generated(action, c.ev.Times())
	changed := eval.AllVariables
	if action >= 0 && !c.o.Continue {
		changed = eval.ChangedIn(c.from, s)
	}
	out, err := c.remain(eval.PartsOf(c.spec).Constraints, c.constraintReads, s, changed)
	in := out == nil // by the constraints of states
	if err == nil && in && action >= 0 {
		out, err = c.constrained(c.from, s)
	}
	if err == nil && in && (len(c.missing) > 0 || c.counts != nil) {
		err = c.possible(s, action, out == nil)
	}
	if err != nil {
		return err
	}
	if c.known.Len() == visited.MostNumbered {
		c.r.Stopped = fmt.Sprintf("the limit of %s is reached", plural.Count(visited.MostNumbered, "distinct state"))
		return eval.ErrStop
	}
	id, isNew := int32(-1), true
	if c.taken = false; out == nil {
		if id, isNew, err = c.numberState(s, action); err != nil {
			return err
		}
		c.taken = isNew
	}
	if isNew && !(id >= 0 && len(c.image) > 0 && c.image[id]) {
		if f, err := c.remain(eval.PartsOf(c.spec).Invariants, c.invariantReads, s, changed); err != nil {
			return c.within(err, s, action)
		} else if f != nil {
			if err := c.refuted(InvariantViolated, f.Name, s, action); err != nil {
				return err
			}
		}
	}
	if action < 0 {
		if f, err := c.holds(eval.PartsOf(c.spec).InitialProperties, s, nil); err != nil {
			return err
		} else if f != nil {
			if err := c.refuted(InitialViolated, f.Name, s, action); err != nil {
				return err
			}
		}
	} else if f, err := c.holds(eval.PartsOf(c.spec).StepProperties, c.from, s); err != nil {
		return c.within(err, s, action)
	} else if f != nil {
		if err := c.refuted(StepViolated, f.Name, s, action); err != nil {
			return err
		}
	}
	if out == nil && c.graph != nil {
		if c.graph.Viewed {
			c.graph.Found(c.is, s, id)
		}
		if action >= 0 {
			c.graph.Edge(c.is, c.from, s, id)
		}
	}
	return nil
}

// seen is the fingerprint of a state that is being reached. The level that a VIEW may ask for is that of this state.
func (c *checker) seen(s State) (fp uint64, err error) {
	return c.reaching(s, c.ev.Fingerprint)
}

func (c *checker) reaching(s State, fingerprint func(State) (uint64, error)) (fp uint64, err error) {
	c.ev.TLC.Level = c.level + 1
	fp, err = fingerprint(s)
	c.ev.TLC.Level = max(c.level, 1)
	return fp, err
}

// keys distinguishes the states of the graph; all states if there is none.
func (c *checker) keys(ev *eval.Evaluator) func(State) (uint64, error) {
	switch {
	case c.graph == nil:
		return ev.Fingerprint
	case c.graph.Viewed:
		return ev.Viewed
	}
	return func(s State) (uint64, error) { return value.Hash(s), nil }
}

// numberState gives a state its number.
func (c *checker) numberState(s State, action int) (id int32, isNew bool, err error) {
	fp, err := c.reaching(s, c.key)
	if err != nil {
		return 0, false, err
	}
	if id, isNew = c.known.Add(fp); c.known.Err() != nil {
		return 0, false, c.broken(c.known.Err())
	}
	if c.o.Reached != nil {
		r := Reached{From: int(c.at) + 1, To: int(id) + 1, State: s, New: isNew}
		if action >= 0 {
			r.Action = &c.spec.Actions[action]
		}
		c.o.Reached(r)
	}
	if !isNew {
		return id, false, nil
	}
	c.parent.Append(c.at)
	c.r.Depth = c.level + 1
	c.queue.Put(s)
	if c.graph != nil && len(eval.PartsOf(c.spec).Symmetry) > 0 {
		if fp, err = c.seen(s); err != nil {
			return 0, false, err
		}
		_, first := c.same.Add(fp)
		c.image = append(c.image, !first)
		if !first {
			return id, true, nil
		}
	}
	c.r.Distinct++
	if action >= 0 {
		c.r.Actions[action].Distinct++
	}
	return id, true, nil
}

// within keeps the behaviour up to a state that a property cannot be evaluated in.
func (c *checker) within(err error, s State, action int) error {
	if trace, failed := c.upTo(s, action); failed == nil {
		c.r.Behaviour = trace
	}
	return err
}

// refuted notes a violation by a state that the present one leads to.
func (c *checker) refuted(kind Kind, name string, s State, action int) error {
	trace, err := c.upTo(s, action)
	if err != nil {
		return err
	}
	err = c.violated(&Violation{Kind: kind, Name: name, Trace: trace, Back: -1})
	if err != nil { // as in TLC, no further way to this state or to those before it is taken, and it is not on the queue
		c.generated(action, -c.ev.Ahead())
		if c.taken {
			c.unqueued = 1
		}
	}
	return err
}

// upTo is the shortest behaviour to the present state, and a step from it.
func (c *checker) upTo(s State, action int) ([]Step, error) {
	if action < 0 {
		return c.shown([]Step{{State: slices.Clone(s)}}), nil
	}
	way, err := c.way(c.at)
	if err != nil {
		return nil, err
	}
	trace, err := c.replay(way)
	return c.shown(append(trace, Step{Action: &c.spec.Actions[action], State: slices.Clone(s)})), err
}

// trace is a shortest behaviour to a state, found again by the fingerprints on its way.
func (c *checker) trace(id int32) ([]Step, error) {
	way, err := c.way(id)
	if err != nil {
		return nil, err
	}
	return c.walk(way)
}

// way has the numbers of the states on a shortest behaviour to one.
func (c *checker) way(id int32) (way []int32, err error) {
	for id >= 0 {
		way = append(way, id)
		if id, err = c.parent.NumberAt(int(id)); err != nil {
			return nil, err
		}
	}
	slices.Reverse(way)
	return way, nil
}

// walk is replay, with what ALIAS says.
func (c *checker) walk(way []int32) ([]Step, error) {
	steps, err := c.replay(way)
	return c.shown(steps), err
}

// behaviour is the way to the present state, with one that it leads to if that is being looked at.
func (c *checker) behaviour(cur State) ([]State, error) {
	way, err := c.way(c.at)
	if err != nil || len(way) == 0 {
		return []State{cur}, err
	}
	steps, err := c.replay(way)
	return eval.StatesTo(steps, cur), err
}

// replay finds the states that numbers stand for, each of which leads to the next.
func (c *checker) replay(way []int32) ([]Step, error) {
	if len(way) == 0 {
		return nil, nil
	}
	ev := c.ev.Another()
	fingerprint := c.keys(ev)
	var steps []Step
	look := func(action *Action) func(State) error {
		return func(s State) error {
			ev.TLC.Level = len(steps) + 1
			fp, err := fingerprint(s)
			ev.TLC.Level = len(steps)
			if err != nil {
				return err
			}
			wanted, err := c.known.Key(way[len(steps)])
			if err != nil {
				return err
			}
			if fp == wanted {
				steps = append(steps, Step{Action: action, State: slices.Clone(s)})
				return eval.ErrStop
			}
			return nil
		}
	}
	ev.TLC.Level = 0
	if err := ev.Initial(look(nil)); err != nil {
		return nil, err
	}
	for len(steps) > 0 && len(steps) < len(way) {
		n := len(steps)
		ev.TLC.Level = n
		if way[n] == way[n-1] {
			steps = append(steps, Step{State: steps[n-1].State})
			continue
		}
		for i := range c.spec.Actions {
			if err := ev.Successors(steps[n-1].State, &c.spec.Actions[i], look(&c.spec.Actions[i])); err != nil {
				return nil, err
			}
			if len(steps) > n {
				break
			}
		}
		if len(steps) == n {
			return nil, fmt.Errorf("the behaviour cannot be printed: state %d was not found again; the specification's next "+
				"states depend on chance or on TLCGet", n+1)
		}
	}
	return steps, nil
}

// shown adds the arguments of actions, and what ALIAS says of each state.
func (c *checker) shown(steps []Step) []Step { return c.ev.Show(1, steps) }

// named is a counter of the check, for TLCGet.
func (c *checker) named(name string) value.Value {
	switch name {
	case "distinct":
		return value.Int(c.r.Distinct)
	case "generated":
		return value.Int(c.r.Generated)
	case "queue":
		return value.Int(c.queued())
	case "diameter":
		return value.Int(c.r.Depth)
	case "duration":
		return value.Int(time.Since(c.began) / time.Second)
	}
	return nil
}
