package tla

import (
	"errors"
	"fmt"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/splitmix"
	"github.com/bloodhound-dst/bloodhound/internal/tla/eval"
	"github.com/bloodhound-dst/bloodhound/internal/tla/failure"
	"github.com/bloodhound-dst/bloodhound/internal/tla/liveness"
	"github.com/bloodhound-dst/bloodhound/internal/tla/visited"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// pauseEvery is how many steps of a search lie between two looks at its limits.
const pauseEvery = 1 << 12

// pause looks at the limits of the check now and then, and panics with ErrStop if one is reached.
func (c *checker) pause() {
	if c.paused++; c.paused%pauseEvery == 0 && c.full() {
		panic(failure.Wrap(eval.ErrStop))
	}
}

// oracle evaluates the atoms of the specification.
func (c *checker) oracle(ev *eval.Evaluator) liveness.Oracle {
	atoms := eval.PartsOf(c.spec).Atoms
	return func(atom int, s, next []value.Value) (bool, error) { return ev.Holds(&atoms[atom], s, next) }
}

// temporal looks for a behaviour that breaks a temporal property, for each.
func (c *checker) temporal() (err error) {
	if c.graph == nil {
		return nil
	}
	if stopped := failure.Catch(func() { err = c.judgeTemporal() }); stopped != nil {
		return stopped
	}
	return err
}

func (c *checker) judgeTemporal() error {
	c.r.Edges = c.graph.Edges()
	if err := c.compare(); errors.Is(err, eval.ErrStop) {
		return err
	} else if err != nil {
		c.unlike = fmt.Errorf("a state that VIEW takes for another one cannot be evaluated; check the property without VIEW: %w", err)
	}
	err := c.judgeProperties(c.walk)
	c.r.Checked = err == nil
	return err
}

// unjudged notes a property that cannot be evaluated.
func (c *checker) unjudged(name string, why error) {
	if !slices.ContainsFunc(c.r.Unchecked, func(u Unchecked) bool { return u.Name == name }) {
		c.r.Unchecked = append(c.r.Unchecked, Unchecked{name, why})
	}
}

// automaton is that for what breaks a property.
func (c *checker) automaton(i int, f *liveness.Formula) (*liveness.Automaton, error) {
	if c.automata == nil {
		c.automata = make([]*liveness.Automaton, len(eval.PartsOf(c.spec).Properties))
	}
	if c.automata[i] != nil {
		return c.automata[i], nil
	}
	a, err := liveness.NewAutomaton(f, c.pause)
	c.automata[i] = a
	return a, err
}

// judgeProperties looks in the graph for a behaviour that breaks a property, for each. retrace has the states of the graph with
// some numbers, each of which leads to the next.
func (c *checker) judgeProperties(retrace func(way []int32) ([]Step, error)) error {
	for i := range eval.PartsOf(c.spec).Properties {
		p := &eval.PartsOf(c.spec).Properties[i]
		f := p.Negated
		if eval.PartsOf(c.spec).Assumed != nil {
			f = liveness.Join(liveness.Both, eval.PartsOf(c.spec).Assumed, f)
		}
		err := c.unlike
		if err == nil {
			err = c.unknownIn(f)
		}
		if err != nil {
			c.unjudged(p.Name, err)
			continue
		}
		a, err := c.automaton(i, f)
		var s *liveness.Search
		if err == nil {
			if failed := failure.Catch(func() { s, err = liveness.NewSearch(c.graph, a, c.starts, eval.PartsOf(c.spec).Fairness) }); failed != nil {
				err = failed
			}
		}
		if errors.Is(err, eval.ErrStop) {
			return err
		}
		if err != nil {
			c.unjudged(p.Name, err)
			continue
		}
		way, by, back := s.Lasso()
		if way == nil {
			continue
		}
		var trace []Step
		if c.graph.Viewed {
			trace, back, err = c.follow(way, by, back)
		} else {
			trace, err = retrace(way)
		}
		if errors.Is(err, errUnlike) {
			c.unjudged(p.Name, err)
			continue
		}
		if err != nil {
			return err
		}
		if err := c.violated(&Violation{Kind: TemporalViolated, Name: p.Name, Trace: trace, Back: back}); err != nil {
			return err
		}
	}
	return nil
}

// errUnlike says why properties are not checked under a VIEW that hides what matters for the next steps.
var errUnlike = errors.New("VIEW takes states for one whose next steps differ; check the property without VIEW")

// leastCompared is how many states without VIEW are compared at least: breadth first, and on a way at random.
var leastCompared = 300

// compare goes through states as they are, without VIEW, breadth first and then on a long way at random: the same must be true in
// them, and the same steps possible, as in the state of the graph that the view takes each as. Where those are all states that is
// certain, else likely.
func (c *checker) compare() error {
	g := c.graph
	if !g.Viewed || c.spec.ViewVaries() {
		return nil
	}
	ev := c.ev.Another()
	ev.TLC.Level = 1
	var known visited.Fingerprints
	var queue []State
	if err := ev.Initial(func(s State) error {
		if in, err := c.leaves(ev, nil, s); err != nil || !in {
			return err
		}
		if _, isNew := known.Add(value.Hash(s)); isNew {
			queue = append(queue, slices.Clone(s))
		}
		return nil
	}); err != nil {
		return err
	}
	most := leastCompared + c.known.Len()
	at := 0
	for ; at < len(queue) && at < most && c.unlike == nil; at++ {
		list, err := c.alike(ev, queue[at])
		if err != nil {
			return err
		}
		for _, s := range list {
			if _, isNew := known.Add(value.Hash(s)); isNew {
				queue = append(queue, s)
			}
		}
	}
	if at == len(queue) {
		c.r.Compared = c.unlike == nil
		return nil
	}
	s := queue[at]
	for i := 0; i < leastCompared && c.unlike == nil; i++ {
		list, err := c.alike(ev, s)
		if err != nil {
			return err
		}
		var fresh []State
		for _, s := range list {
			if _, isNew := known.Add(value.Hash(s)); isNew {
				fresh = append(fresh, s)
			}
		}
		if len(fresh) == 0 {
			fresh = queue[at:]
		}
		s = fresh[splitmix.Mix(uint64(i))%uint64(len(fresh))]
	}
	return nil
}

// leaves reports whether the constraints leave a state that another leads to.
func (c *checker) leaves(ev *eval.Evaluator, from, s State) (bool, error) {
	out, err := ev.All(eval.PartsOf(c.spec).Constraints, s, nil)
	if err == nil && out == nil && from != nil {
		out, err = ev.All(eval.PartsOf(c.spec).ActionConstraints, from, s)
	}
	return err == nil && out == nil, err
}

// alike compares a state with the one of the graph that VIEW takes it as, and gives its successors.
func (c *checker) alike(ev *eval.Evaluator, s State) (next []State, err error) {
	if c.full() {
		return nil, eval.ErrStop
	}
	g, holds := c.graph, c.oracle(ev)
	id, err := c.numberOf(ev, s)
	if err != nil || id < 0 {
		return nil, err
	}
	g.Found(holds, s, id)
	met := g.Unmet(id)
	for i := range c.spec.Actions {
		if err := ev.Successors(s, &c.spec.Actions[i], func(t State) error {
			if in, err := c.leaves(ev, s, t); err != nil || !in {
				return err
			}
			to, err := c.numberOf(ev, t)
			if err != nil || to < 0 {
				return err
			}
			if !g.Matches(holds, id, s, t, to, met) {
				c.unlike = errUnlike
			}
			next = append(next, slices.Clone(t))
			return nil
		}); err != nil {
			return nil, err
		}
	}
	if !g.Matches(holds, id, s, s, id, met) || slices.Contains(met, false) {
		c.unlike = errUnlike
	}
	return next, nil
}

// numberOf is the state of the graph that VIEW takes a state as; -1 if there is none.
func (c *checker) numberOf(ev *eval.Evaluator, s State) (int32, error) {
	fp, err := ev.Viewed(s)
	if err != nil {
		return -1, err
	}
	id, ok := c.known.Find(fp)
	if !ok {
		c.unlike = errUnlike
		return -1, nil
	}
	return id, nil
}

// follow finds a behaviour whose states are under VIEW those that numbers stand for, by steps of the graph. What leads from the
// last one back is followed twice: its end is the state at back as VIEW shows it, and may be another one.
func (c *checker) follow(way []int32, by []int, back int) ([]Step, int, error) {
	g := c.graph
	ev := c.ev.Another()
	holds := c.oracle(ev)
	var steps []Step
	look := func(action *Action, to int32, fits func(State) bool) func(State) error {
		return func(s State) error {
			ev.TLC.Level = len(steps) + 1
			fp, err := ev.Viewed(s)
			ev.TLC.Level = len(steps)
			if err != nil {
				return err
			}
			if wanted, err := c.known.Key(to); err != nil || fp != wanted || !fits(s) {
				return err
			}
			steps = append(steps, Step{Action: action, State: slices.Clone(s)})
			return eval.ErrStop
		}
	}
	ev.TLC.Level = 0
	if err := ev.Initial(look(nil, way[0], func(State) bool { return true })); err != nil {
		return nil, 0, err
	}
	for at, rounds := 0, 0; rounds < 2; {
		c.pause()
		n, from := len(steps), steps[len(steps)-1].State
		ev.TLC.Level = n
		here, step := way[at], by[at]
		if at++; at == len(way) {
			at, rounds = back, rounds+1
		}
		if g.Target(step) == here && g.Like(holds, step, from, from) {
			steps = append(steps, Step{State: from})
			continue
		}
		for i := range c.spec.Actions {
			fits := func(s State) bool { return g.Like(holds, step, from, s) }
			if err := ev.Successors(from, &c.spec.Actions[i], look(&c.spec.Actions[i], g.Target(step), fits)); err != nil {
				return nil, 0, err
			}
			if len(steps) > n {
				break
			}
		}
		if len(steps) == n {
			return nil, 0, errUnlike
		}
	}
	steps, back = moving(steps, back, len(way))
	return c.shown(steps), back, nil
}

// moving leaves out what stutters of a behaviour whose cycle goes from one step up to another, and is followed twice. Only if all
// of the cycle stutters one state is it.
func moving(steps []Step, back, end int) ([]Step, int) {
	list, start := steps[:1:1], 0
	for i, s := range steps[1:] {
		if i+1 == end && len(list)-1 > start || i+1 > end {
			break
		}
		if s.Action != nil {
			list = append(list, s)
		}
		if i+1 <= back {
			start = len(list) - 1
		}
	}
	return list, start
}

// unknownIn says why a formula, with the fairness of the specification, cannot be judged.
func (c *checker) unknownIn(f *liveness.Formula) error {
	known := func(atom int) error {
		if c.graph.IsApart(atom) {
			return fmt.Errorf("VIEW takes states for one that differ in %s; check the property without VIEW", eval.PartsOf(c.spec).Atoms[atom].Name)
		}
		return c.graph.Failure(atom)
	}
	for _, w := range eval.PartsOf(c.spec).Fairness {
		for _, atom := range []int{w.Enabled, w.Happens} {
			if err := known(atom); err != nil {
				return err
			}
		}
	}
	return f.EachAtom(known)
}
