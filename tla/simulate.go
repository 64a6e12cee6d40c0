package tla

import (
	"errors"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/splitmix"
	"github.com/bloodhound-dst/bloodhound/internal/tla/eval"
	"github.com/bloodhound-dst/bloodhound/internal/tla/failure"
	"github.com/bloodhound-dst/bloodhound/internal/tla/liveness"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// chance draws numbers in turn.
type chance uint64

func (c *chance) draw() uint64 {
	*c += splitmix.Gamma
	return splitmix.Mix(uint64(*c))
}

func (c *chance) below(n int) int { return int(c.draw() % uint64(n)) }

// walk is one behaviour at random.
type walk struct {
	*checker
	chance chance
	steps  []Step
	first  []eval.Formula // that initial states must meet
	order  []int          // of actions
	found  int
	picked State
}

// Simulate draws behaviours at random and checks the invariants and the properties of initial states and of steps. In
// each state it draws an action, and one of the steps that the action allows, each with equal probability. A temporal
// property is violated if some behaviour breaks it that stays forever in the states of a drawn behaviour, by its steps
// or by stuttering. The part of the property about initial states is left out, as in TLC. Report.Generated counts
// states and Report.Initial behaviours; Report.Distinct is not known.
func Simulate(spec *Spec, o Options, sim Simulation) (*Report, error) {
	if sim.Depth <= 0 {
		sim.Depth = 100
	}
	c := newChecker(spec, o)
	w := &walk{checker: c, chance: chance(sim.Seed)}
	for i := range spec.Actions {
		w.order = append(w.order, i)
	}
	for _, f := range eval.PartsOf(spec).InitialProperties {
		if !slices.ContainsFunc(eval.PartsOf(spec).Properties, func(p eval.Property) bool { return p.Name == f.Name }) {
			w.first = append(w.first, f)
		}
	}
	for _, f := range c.missing {
		c.r.Unchecked = append(c.r.Unchecked, Unchecked{f.Name, errors.New("a simulation does not visit all states")})
	}
	c.missing, c.counts, c.ev.TLC.Possible, c.ev.TLC.Seen = nil, nil, nil, nil
	c.ev.TLC.Random, c.ev.TLC.Simulating = w.chance.draw, true
	c.ev.TLC.Behaviour = func(cur State) ([]State, error) { return eval.StatesTo(w.steps, cur), nil }
	err := c.asserted(w.failed(w.all(sim)))
	if err == nil || errors.Is(err, eval.ErrStop) {
		err = w.failed(w.post())
	}
	if errors.Is(err, eval.ErrStop) {
		err = nil
	}
	return c.r, err
}

// failed adds to an error of the specification how its place was reached.
func (w *walk) failed(err error) error {
	if err != nil && !errors.Is(err, eval.ErrStop) {
		w.r.Behaviour = w.shown(w.steps)
	}
	return err
}

func (w *walk) all(sim Simulation) error {
	if f, err := w.holds(eval.PartsOf(w.spec).Assumptions, nil, nil); err != nil {
		return err
	} else if f != nil {
		return w.violated(&Violation{Kind: AssumptionViolated, Name: f.Name, Back: -1})
	}
	var initial []State
	if err := w.ev.Initial(func(s State) error {
		w.ev.TLC.Level = 1
		defer func() { w.ev.TLC.Level = 0 }()
		out, err := w.holds(eval.PartsOf(w.spec).Constraints, s, nil)
		if err == nil && out == nil {
			initial = append(initial, slices.Clone(s))
		}
		return err
	}); err != nil {
		return err
	}
	if len(initial) == 0 {
		return nil
	}
	for n := 0; sim.Number == 0 || n < sim.Number; n++ {
		w.steps = append(w.steps[:0], Step{State: initial[w.chance.below(len(initial))]})
		w.r.Initial++
		w.r.Generated++
		w.r.Depth = max(w.r.Depth, 1)
		if err := w.judge(); err != nil {
			return err
		}
		for len(w.steps) < sim.Depth {
			if w.r.Generated%256 == 0 && w.full() {
				return nil
			}
			w.ev.TLC.Level = len(w.steps)
			went, err := w.step()
			if err != nil {
				return err
			}
			if !went {
				break
			}
			w.r.Generated++
			w.r.Depth = max(w.r.Depth, len(w.steps))
			if err := w.judge(); err != nil {
				return err
			}
		}
		if err := w.cycles(); err != nil {
			return err
		}
		w.r.Walked++
		if n+1 < sim.Number && w.full() || sim.Number == 0 && w.full() {
			return nil
		}
	}
	return nil
}

// step moves to one of the states that an action which is drawn leads to. It reports whether there was one.
func (w *walk) step() (bool, error) {
	last := w.steps[len(w.steps)-1].State
	some := false
	for i := range w.order {
		k := i + w.chance.below(len(w.order)-i)
		w.order[i], w.order[k] = w.order[k], w.order[i]
		action := &w.spec.Actions[w.order[i]]
		w.found = 0
		w.ev.TLC.Deferred = nil
		deferred := w.ev.TLC.Deferred
		err := w.ev.Successors(last, action, func(next State) error {
			some = true
			w.ev.TLC.Level = len(w.steps) + 1
			f, err := w.holds(eval.PartsOf(w.spec).Constraints, next, nil)
			w.ev.TLC.Level = len(w.steps)
			if err != nil || f != nil {
				return err
			}
			if f, err := w.constrained(last, next); err != nil || f != nil {
				return err
			}
			times := w.ev.Times()
			w.found += times
			if w.chance.below(w.found) < times {
				w.picked = append(w.picked[:0], next...)
				deferred = w.ev.TLC.Deferred
			}
			return nil
		})
		if err != nil {
			return false, err
		}
		if w.found > 0 {
			w.r.Actions[w.order[i]].Generated++
			w.steps = append(w.steps, Step{Action: action, State: slices.Clone(w.picked)})
			return true, w.ev.Evaluate(deferred)
		}
	}
	if !some && w.spec.CheckDeadlock {
		return false, w.violated(&Violation{Kind: Deadlocked, Trace: w.shown(slices.Clone(w.steps)), Back: -1})
	}
	return false, nil
}

// cycles looks for a behaviour among the states that were walked which breaks a temporal property.
func (w *walk) cycles() error {
	if len(eval.PartsOf(w.spec).Properties) == 0 {
		return nil
	}
	ids := map[uint64]int32{}
	var way []int32  // of the states that were walked
	var from [][]int // the steps from each
	var first []int  // where each was walked first
	for i, s := range w.steps {
		fp := value.Hash(s.State)
		id, known := ids[fp]
		if !known {
			id = int32(len(first))
			ids[fp] = id
			first, from = append(first, i), append(from, nil)
		}
		way = append(way, id)
		if i > 0 {
			from[way[i-1]] = append(from[way[i-1]], i)
		}
	}
	g, holds := liveness.NewGraph(eval.PartsOf(w.spec).Times, false), w.oracle(w.ev)
	for id, at := range first {
		s := w.steps[at].State
		w.ev.TLC.Level = at + 1
		g.BeginState(holds, s)
		for _, i := range from[id] {
			g.Edge(holds, s, w.steps[i].State, way[i])
		}
		g.Edge(holds, s, s, int32(id))
		g.End(holds, s)
	}
	w.graph, w.starts = g, 1
	retrace := func(cycle []int32) ([]Step, error) {
		steps := []Step{{State: w.steps[first[cycle[0]]].State}}
		for k := 1; k < len(cycle); k++ {
			step := Step{State: w.steps[first[cycle[k]]].State}
			for _, i := range from[cycle[k-1]] {
				if cycle[k] != cycle[k-1] && way[i] == cycle[k] {
					step.Action = w.steps[i].Action
				}
			}
			steps = append(steps, step)
		}
		return w.shown(steps), nil
	}
	var err error
	if stopped := failure.Catch(func() { err = w.judgeProperties(retrace) }); stopped != nil {
		return stopped
	}
	return err
}

// judge checks what the last step led to.
func (w *walk) judge() error {
	last := w.steps[len(w.steps)-1]
	kind := InvariantViolated
	w.ev.TLC.Level = len(w.steps)
	f, err := w.holds(eval.PartsOf(w.spec).Invariants, last.State, nil)
	if err == nil && f == nil && len(w.steps) == 1 {
		kind = InitialViolated
		f, err = w.holds(w.first, last.State, nil)
	} else if err == nil && f == nil {
		kind = StepViolated
		w.ev.TLC.Level = len(w.steps) - 1
		f, err = w.holds(eval.PartsOf(w.spec).StepProperties, w.steps[len(w.steps)-2].State, last.State)
	}
	if err != nil || f == nil {
		return err
	}
	return w.violated(&Violation{Kind: kind, Name: f.Name, Trace: w.shown(slices.Clone(w.steps)), Back: -1})
}
