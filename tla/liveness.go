package tla

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sort"

	"github.com/bloodhound-dst/bloodhound/internal/splitmix"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// graph has the states that were seen, by number, with what leads from each to which, and which atoms of temporal formulas are true in each step.
type graph struct {
	spec   *Spec
	words  int // of atoms
	first  []int
	to     []int32
	atoms  []uint64 // words of them a step
	here   []uint64 // what is true in the present state
	failed []error  // why an atom is not known
	toHere map[int32]bool
	// Under VIEW a state stands for all that the view takes as the same, and several steps may lead from one to another. What is true in those states must be the
	// same, too, so that a behaviour of the graph is one of the specification.
	viewed bool
	whole  []uint64 // of each state: the fingerprint of the one that was found first
	facts  []uint64 // words of what is true in it
	looked fingerprints
	apart  []bool // atoms that are not the same in two states that the view takes as one
}

func newGraph(spec *Spec) *graph {
	words := (len(spec.atoms) + 63) / 64
	return &graph{spec: spec, words: words, here: make([]uint64, words), failed: make([]error, len(spec.atoms)), toHere: map[int32]bool{},
		viewed: spec.view != nil, apart: make([]bool, len(spec.atoms))}
}

// found looks at a state that was reached, under VIEW: whether the same atoms are true in it as in the one that stands for it.
func (g *graph) found(ev *Evaluator, s State, id int32) {
	whole := value.Hash(s)
	if int(id) == len(g.whole) {
		g.whole = append(g.whole, whole)
		g.facts = append(g.facts, make([]uint64, g.words)...)
		g.evaluate(ev, ofState, s, nil, g.of(id))
		return
	}
	if whole == g.whole[id] {
		return
	}
	if _, isNew := g.looked.add(whole); !isNew {
		return
	}
	is := make([]uint64, g.words)
	g.evaluate(ev, ofState, s, nil, is)
	for i := range g.apart {
		if (is[i/64]^g.of(id)[i/64])&(1<<(i%64)) != 0 {
			g.apart[i] = true
		}
	}
}

// of is what is true in a state, under VIEW.
func (g *graph) of(id int32) []uint64 { return g.facts[int(id)*g.words:][:g.words] }

// begin opens the steps from a state.
func (g *graph) begin(ev *Evaluator, s State) {
	g.first = append(g.first, len(g.to))
	clear(g.toHere)
	if g.viewed {
		copy(g.here, g.of(int32(len(g.first)-1)))
		return
	}
	clear(g.here)
	g.evaluate(ev, ofState, s, nil, g.here)
}

// end closes the steps from a state, all of which are known.
func (g *graph) end(ev *Evaluator, s State) {
	if !slices.Contains(g.spec.times, ofExpanded) {
		return
	}
	late := make([]uint64, g.words)
	g.evaluate(ev, ofExpanded, s, nil, late)
	for i := g.first[len(g.first)-1]; i < len(g.to); i++ {
		for k, word := range late {
			g.atoms[i*g.words+k] |= word
		}
	}
}

// edge adds a step from the state that was begun last.
func (g *graph) edge(ev *Evaluator, s, next State, to int32) {
	if g.toHere[to] && !g.viewed {
		return
	}
	before := g.toHere[to]
	g.toHere[to] = true
	g.to = append(g.to, to)
	g.atoms = append(g.atoms, g.here...)
	last := len(g.atoms) - g.words
	g.evaluate(ev, ofStep, s, next, g.atoms[last:])
	if !before {
		return
	}
	for i := g.first[len(g.first)-1]; i < len(g.to)-1; i++ {
		if g.to[i] == to && slices.Equal(g.atoms[i*g.words:][:g.words], g.atoms[last:]) {
			g.to, g.atoms = g.to[:len(g.to)-1], g.atoms[:last]
			return
		}
	}
}

// evaluate finds out which atoms that are evaluated then are true.
func (g *graph) evaluate(ev *Evaluator, when atomTime, s, next State, is []uint64) {
	for i := range g.spec.atoms {
		if g.spec.times[i] != when || g.failed[i] != nil {
			continue
		}
		ok, err := ev.Holds(&g.spec.atoms[i], s, next)
		g.failed[i] = err
		if ok {
			is[i/64] |= 1 << (i % 64)
		}
	}
}

// steps are those from a state: the first and the one after the last.
func (g *graph) steps(state int32) (int, int) {
	if int(state)+1 < len(g.first) {
		return g.first[state], g.first[state+1]
	}
	return g.first[state], len(g.to)
}

func (g *graph) is(step, atom int) bool {
	return g.atoms[step*g.words+atom/64]&(1<<(atom%64)) != 0
}

// pauseEvery is how many steps of a search lie between two looks at its limits.
const pauseEvery = 1 << 12

// pause looks at the limits of the check now and then, and panics with ErrStop if one is reached.
func (c *checker) pause() {
	if c.paused++; c.paused%pauseEvery == 0 && c.full() {
		panic(failure{ErrStop})
	}
}

// temporal looks for a behaviour that breaks a temporal property, for each.
func (c *checker) temporal() (err error) {
	if c.graph == nil {
		return nil
	}
	if stopped := catch(func() { err = c.judgeTemporal() }); stopped != nil {
		return stopped
	}
	return err
}

func (c *checker) judgeTemporal() error {
	c.r.Edges = len(c.graph.to)
	if err := c.compare(); errors.Is(err, ErrStop) {
		return err
	} else if err != nil {
		c.unlike = fmt.Errorf("VIEW takes states as one of which one cannot be evaluated; check the property without VIEW: %w", err)
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
func (c *checker) automaton(i int, f *temporal) (*automaton, error) {
	if c.automata == nil {
		c.automata = make([]*automaton, len(c.spec.Properties))
	}
	if c.automata[i] != nil {
		return c.automata[i], nil
	}
	a, err := automatonOf(f, c.pause)
	c.automata[i] = a
	return a, err
}

// judgeProperties looks in the graph for a behaviour that breaks a property, for each. retrace has the states of the graph with some numbers, each of which leads to
// the next.
func (c *checker) judgeProperties(retrace func(way []int32) ([]Step, error)) error {
	for i := range c.spec.Properties {
		p := &c.spec.Properties[i]
		f := p.negated
		if c.spec.assumed != nil {
			f = join(both, c.spec.assumed, f)
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
		var s *search
		if err == nil {
			if failed := catch(func() { s, err = newSearch(c, a) }); failed != nil {
				err = failed
			}
		}
		if errors.Is(err, ErrStop) {
			return err
		}
		if err != nil {
			c.unjudged(p.Name, err)
			continue
		}
		way, by, back := s.lasso()
		if way == nil {
			continue
		}
		var trace []Step
		if c.graph.viewed {
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

// errUnlike is why properties are not checked under a VIEW that hides what matters for the next steps.
var errUnlike = errors.New("VIEW takes states as one from which the next steps differ; check the property without VIEW")

// asked are the atoms that are known from states alone.
func (g *graph) asked() []uint64 {
	set := make([]uint64, g.words)
	for i, when := range g.spec.times {
		if when != ofExpanded {
			set[i/64] |= 1 << (i % 64)
		}
	}
	return set
}

// leastCompared is how many states without VIEW are compared at least: breadth first, and on a way at random.
var leastCompared = 300

// compare goes through states as they are, without VIEW, breadth first and then on a long way at random: the same must be true in them, and the same steps possible,
// as in the state of the graph that the view takes each as. Where those are all states that is certain, else likely.
func (c *checker) compare() error {
	g := c.graph
	if !g.viewed || c.spec.view.fresh {
		return nil
	}
	ev := c.another()
	ev.TLC.level = 1
	var known fingerprints
	var queue []State
	if err := ev.Initial(func(s State) error {
		if in, err := c.leaves(ev, nil, s); err != nil || !in {
			return err
		}
		if _, isNew := known.add(value.Hash(s)); isNew {
			queue = append(queue, slices.Clone(s))
		}
		return nil
	}); err != nil {
		return err
	}
	most := leastCompared + len(c.known.keys)
	at := 0
	for ; at < len(queue) && at < most && c.unlike == nil; at++ {
		list, err := c.alike(ev, queue[at])
		if err != nil {
			return err
		}
		for _, s := range list {
			if _, isNew := known.add(value.Hash(s)); isNew {
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
			if _, isNew := known.add(value.Hash(s)); isNew {
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

// leaves tells whether the constraints leave a state that another leads to.
func (c *checker) leaves(ev *Evaluator, from, s State) (bool, error) {
	out, err := ev.all(c.spec.Constraints, s, nil)
	if err == nil && out == nil && from != nil {
		out, err = ev.all(c.spec.ActionConstraints, from, s)
	}
	return err == nil && out == nil, err
}

// alike compares a state with the one of the graph that VIEW takes it as, and gives its successors.
func (c *checker) alike(ev *Evaluator, s State) (next []State, err error) {
	if c.full() {
		return nil, ErrStop
	}
	g := c.graph
	id, err := c.numberOf(ev, s)
	if err != nil || id < 0 {
		return nil, err
	}
	g.found(ev, s, id)
	first, last := g.steps(id)
	ask, met, is := g.asked(), make([]bool, last-first), make([]uint64, g.words)
	same := func(t State, to int32) {
		copy(is, g.of(id))
		g.evaluate(ev, ofStep, s, t, is)
		found := false
		for step := first; step < last; step++ {
			if g.to[step] == to && equalIn(ask, is, g.atoms[step*g.words:]) {
				met[step-first], found = true, true
			}
		}
		if !found {
			c.unlike = errUnlike
		}
	}
	for i := range c.spec.Actions {
		if err := ev.Successors(s, &c.spec.Actions[i], func(t State) error {
			if in, err := c.leaves(ev, s, t); err != nil || !in {
				return err
			}
			to, err := c.numberOf(ev, t)
			if err != nil || to < 0 {
				return err
			}
			same(t, to)
			next = append(next, slices.Clone(t))
			return nil
		}); err != nil {
			return nil, err
		}
	}
	if same(s, id); slices.Contains(met, false) {
		c.unlike = errUnlike
	}
	return next, nil
}

// equalIn tells whether the same of some atoms are true.
func equalIn(ask, is, others []uint64) bool {
	for k, word := range ask {
		if (is[k]^others[k])&word != 0 {
			return false
		}
	}
	return true
}

// numberOf is the state of the graph that VIEW takes a state as; -1 if there is none.
func (c *checker) numberOf(ev *Evaluator, s State) (int32, error) {
	fp, err := ev.viewed(s)
	if err != nil {
		return -1, err
	}
	id, ok := c.known.find(fp)
	if !ok {
		c.unlike = errUnlike
		return -1, nil
	}
	return id, nil
}

// follow finds a behaviour whose states are under VIEW those that numbers stand for, by steps of the graph. What leads from the last one back is followed twice: its
// end is the state at back as VIEW shows it, and may be another one.
func (c *checker) follow(way []int32, by []int, back int) ([]Step, int, error) {
	g := c.graph
	ev := c.another()
	ask := g.asked()
	is := make([]uint64, g.words)
	like := func(step int, s, next State) bool {
		clear(is)
		g.evaluate(ev, ofState, s, nil, is)
		g.evaluate(ev, ofStep, s, next, is)
		return equalIn(ask, is, g.atoms[step*g.words:])
	}
	var steps []Step
	look := func(action *Action, to int32, fits func(State) bool) func(State) error {
		return func(s State) error {
			ev.TLC.level = len(steps) + 1
			fp, err := ev.viewed(s)
			ev.TLC.level = max(len(steps), 1)
			if err != nil || fp != c.known.keys[to] || !fits(s) {
				return err
			}
			steps = append(steps, Step{Action: action, State: slices.Clone(s)})
			return ErrStop
		}
	}
	ev.TLC.level = 1
	if err := ev.Initial(look(nil, way[0], func(State) bool { return true })); err != nil {
		return nil, 0, err
	}
	for at, rounds := 0, 0; rounds < 2; {
		c.pause()
		n, from := len(steps), steps[len(steps)-1].State
		ev.TLC.level = n
		here, step := way[at], by[at]
		if at++; at == len(way) {
			at, rounds = back, rounds+1
		}
		if g.to[step] == here && like(step, from, from) {
			steps = append(steps, Step{State: from})
			continue
		}
		for i := range c.spec.Actions {
			fits := func(s State) bool { return like(step, from, s) }
			if err := ev.Successors(from, &c.spec.Actions[i], look(&c.spec.Actions[i], g.to[step], fits)); err != nil {
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

// moving leaves out what stutters of a behaviour whose circle goes from one step up to another, and is followed twice. Only if all of the circle stutters one state is it.
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

// unknownIn is why a formula, with the fairness of the specification, cannot be judged.
func (c *checker) unknownIn(f *temporal) error {
	known := func(atom int) error {
		if c.graph.apart[atom] {
			return fmt.Errorf("VIEW takes states as one that differ in %s; check the property without VIEW", c.spec.atoms[atom].Name)
		}
		return c.graph.failed[atom]
	}
	for _, w := range c.spec.fairness {
		for _, atom := range []int{w.enabled, w.happens} {
			if err := known(atom); err != nil {
				return err
			}
		}
	}
	var look func(f *temporal) error
	look = func(f *temporal) error {
		switch f.connective {
		case truth, falsity:
			return nil
		case letter, notLetter:
			return known(f.atom)
		}
		if err := look(f.a); err != nil {
			return err
		}
		return look(f.b)
	}
	return look(f)
}

// search looks for a behaviour that an automaton accepts and that is fair, in the product of the graph and the automaton.
type search struct {
	*graph
	*automaton
	initial int
	weak    []fairness
	strong  []fairness
	wanted  marks // all conditions that must be met again and again: of the automaton's U, and of weak fairness
}

// marks are a set of conditions.
type marks [mostMarks / 64]uint64

const mostMarks = 256

func (m *marks) set(i int) { m[i/64] |= 1 << (i % 64) }

func (m marks) with(o marks) marks {
	for i := range m {
		m[i] |= o[i]
	}
	return m
}

func (m marks) without(o marks) marks {
	for i := range m {
		m[i] &^= o[i]
	}
	return m
}

func (m marks) count() int {
	n := 0
	for _, word := range m {
		n += bits.OnesCount64(word)
	}
	return n
}

// has tells whether all of some conditions are in the set.
func (m marks) has(o marks) bool { return o.without(m) == marks{} }

// meets tells whether two sets share a condition.
func (m marks) meets(o marks) bool { return m.without(o) != m }

// point is a state of the graph with one of the automaton: state*len(automaton.states) + its number.
type point int64

func newSearch(c *checker, a *automaton) (*search, error) {
	s := &search{graph: c.graph, automaton: a, initial: c.starts}
	for _, f := range c.spec.fairness {
		if f.strong {
			s.strong = append(s.strong, f)
		} else {
			s.weak = append(s.weak, f)
		}
	}
	if n := max(a.untils+len(s.weak), len(s.strong)); n > mostMarks {
		return nil, fmt.Errorf("it has %d conditions of fairness, and up to %d are supported", n, mostMarks)
	}
	for i := range a.untils + len(s.weak) {
		s.wanted.set(i)
	}
	for i := 0; i < len(a.states); i++ { // all states of the automaton, so that points have numbers
		a.from(int32(i))
	}
	return s, nil
}

func (s *search) point(state, q int32) point { return point(state)*point(len(s.states)) + point(q) }

func (s *search) split(p point) (state, q int32) {
	return int32(p / point(len(s.states))), int32(p % point(len(s.states)))
}

// each calls f for all moves from a point, until it returns false: where to, which conditions it meets, and by which step.
func (s *search) each(p point, f func(to point, met marks, step int) bool) {
	state, q := s.split(p)
	first, last := s.steps(state)
	for step := first; step < last; step++ {
		var met marks
		for k, w := range s.weak {
			if !s.is(step, w.enabled) || s.is(step, w.happens) {
				met.set(s.untils + k)
			}
		}
	moves:
		for _, m := range s.from(q) {
			for _, atom := range m.is {
				if !s.is(step, atom) {
					continue moves
				}
			}
			for _, atom := range m.not {
				if s.is(step, atom) {
					continue moves
				}
			}
			if !f(s.point(s.to[step], m.to), met.with(marks{m.done}), step) {
				return
			}
		}
	}
}

// strongly tells which conditions of strong fairness a step enables, and which of their actions it is.
func (s *search) strongly(step int) (enabled, happens marks) {
	for k, w := range s.strong {
		if s.is(step, w.enabled) {
			enabled.set(k)
		}
		if s.is(step, w.happens) {
			happens.set(k)
		}
	}
	return enabled, happens
}

// lasso finds a behaviour: states that lead to the one at back, and a circle from there that returns to it. by are the steps from each to the next.
func (s *search) lasso() (way []int32, by []int, back int) {
	var roots []point
	for i := range s.initial {
		roots = append(roots, s.point(int32(i), 0))
	}
	set := s.fair(roots, nil)
	if set == nil {
		return nil, nil, 0
	}
	set = s.nearest(roots, set)
	prefix, entry := s.path(roots, func(p point, _ marks, _ int) bool { return set[p] }, nil)
	circle := []point{entry}
	var met, happened, enabled marks
	for p := range set {
		s.each(p, func(to point, _ marks, step int) bool {
			if set[to] {
				e, _ := s.strongly(step)
				enabled = enabled.with(e)
			}
			return true
		})
	}
	here := entry
	for !met.has(s.wanted) || !happened.has(enabled) {
		part, end := s.path([]point{here}, func(p point, m marks, step int) bool {
			if step < 0 {
				return false
			}
			_, h := s.strongly(step)
			return !met.has(m) || h.meets(enabled.without(happened))
		}, set)
		// The moves of this part count, too; the last one is the one that was looked for.
		for i := range part {
			next := end
			if i+1 < len(part) {
				next = part[i+1]
			}
			m, h := s.best(part[i], next)
			met, happened = met.with(m), happened.with(h)
		}
		circle = append(circle, append(part[1:], end)...)
		here = end
	}
	if part, end := s.path([]point{here}, func(p point, _ marks, step int) bool { return step >= 0 && p == entry }, set); len(circle) == 1 || here != entry {
		circle = append(circle, append(part[1:], end)...)
	}
	points := append(prefix, circle...)
	for i, p := range points[:len(points)-1] {
		state, _ := s.split(p)
		way, by = append(way, state), append(by, s.by(p, points[i+1]))
	}
	if back = len(prefix); !s.viewed {
		way, back = s.shorten(way, back)
	}
	return way, by, back
}

// mostNear is how many points are gone through anew for a counterexample that is closer.
const mostNear = 1 << 17

// nearest is such a set as fair finds that lies as close to the roots as there is one, and not further than the one that was found: a behaviour through it is
// short, where a search in depth finds what is far away.
func (s *search) nearest(roots []point, found map[point]bool) map[point]bool {
	var near []point // by distance
	var ends []int   // of each distance, in near
	known := map[point]bool{}
	left := len(found)
	add := func(p point) {
		if !known[p] {
			known[p] = true
			near = append(near, p)
			if found[p] {
				left--
			}
		}
	}
	for _, p := range roots {
		add(p)
	}
	for from := 0; ; {
		to := len(near)
		ends = append(ends, to)
		if left == 0 {
			break
		}
		for _, p := range near[from:to] {
			s.pause()
			if s.each(p, func(to point, _ marks, _ int) bool { add(to); return true }); len(near) > mostNear {
				return found
			}
		}
		from = to
	}
	sort.Search(len(ends)-1, func(distance int) bool {
		within := make(map[point]bool, ends[distance])
		for _, p := range near[:ends[distance]] {
			within[p] = true
		}
		set := s.fair(roots, within)
		if set != nil {
			found = set
		}
		return set != nil
	})
	return found
}

// by is the step between two points that meets the most conditions.
func (s *search) by(from, to point) (step int) {
	most := -1
	s.each(from, func(p point, m marks, i int) bool {
		if _, h := s.strongly(i); p == to && m.count()+h.count() > most {
			most, step = m.count()+h.count(), i
		}
		return true
	})
	return step
}

// best are the conditions that some move between two points meets.
func (s *search) best(from, to point) (met, happened marks) {
	s.each(from, func(p point, m marks, step int) bool {
		if p == to {
			_, h := s.strongly(step)
			met, happened = met.with(m), happened.with(h)
		}
		return true
	})
	return met, happened
}

// shorten takes what repeats itself out of the circle's beginning: states that the way to it ends with already.
func (s *search) shorten(way []int32, back int) ([]int32, int) {
	for back > 0 && way[back-1] == way[len(way)-1] {
		way, back = way[:len(way)-1], back-1
	}
	return way, back
}

// path is the shortest way from one of some points over a move that is wanted, within a set if one is given: the points before the last, and the
// last. A root itself may be wanted; then step is -1.
func (s *search) path(roots []point, wanted func(p point, met marks, step int) bool, within map[point]bool) ([]point, point) {
	came := map[point]point{}
	var queue []point
	for _, r := range roots {
		if wanted(r, marks{}, -1) {
			return nil, r
		}
		if _, ok := came[r]; !ok {
			came[r] = -1
			queue = append(queue, r)
		}
	}
	for len(queue) > 0 {
		s.pause()
		p := queue[0]
		queue = queue[1:]
		found, end := false, point(0)
		s.each(p, func(to point, met marks, step int) bool {
			if within != nil && !within[to] {
				return true
			}
			if wanted(to, met, step) {
				found, end = true, to
				return false
			}
			if _, ok := came[to]; !ok {
				came[to] = p
				queue = append(queue, to)
			}
			return true
		})
		if found {
			var way []point
			for ; p >= 0; p = came[p] {
				way = append([]point{p}, way...)
			}
			return way, end
		}
	}
	panic("a component of a graph that is not connected")
}

// fair finds a set of points that are connected with each other and in which a behaviour can meet all conditions again and again, or nil.
// within bounds the points to look at, if it is not nil.
func (s *search) fair(roots []point, within map[point]bool) map[point]bool {
	var found map[point]bool
	s.components(roots, within, func(points []point) bool {
		set := make(map[point]bool, len(points))
		for _, p := range points {
			set[p] = true
		}
		var met, enabled, happens marks
		circle := false
		for _, p := range points {
			s.pause()
			s.each(p, func(to point, m marks, step int) bool {
				if set[to] {
					circle = true
					e, h := s.strongly(step)
					met, enabled, happens = met.with(m), enabled.with(e), happens.with(h)
				}
				return true
			})
		}
		switch missing := enabled.without(happens); {
		case !circle || !met.has(s.wanted):
		case missing == marks{}:
			found = set
		default: // what is enabled and never happens must not be enabled: without those points, others may do
			var rest []point
			for _, p := range points {
				state, _ := s.split(p)
				first, _ := s.steps(state)
				if e, _ := s.strongly(first); e.meets(missing) {
					delete(set, p)
				} else {
					rest = append(rest, p)
				}
			}
			if len(rest) > 0 {
				found = s.fair(rest, set)
			}
		}
		return found == nil
	})
	return found
}

// components finds the strongly connected components that can be reached (Tarjan, Depth-first search and linear graph algorithms, 1972), until f
// returns false.
func (s *search) components(roots []point, within map[point]bool, f func([]point) bool) {
	type visit struct {
		p     point
		moves []point
		at    int
	}
	index := map[point]int32{}
	low := map[point]int32{}
	on := map[point]bool{}
	var stack []point
	var calls []visit
	open := func(p point) {
		s.pause()
		index[p] = int32(len(index))
		low[p] = index[p]
		on[p] = true
		stack = append(stack, p)
		v := visit{p: p}
		s.each(p, func(to point, _ marks, _ int) bool {
			if within == nil || within[to] {
				v.moves = append(v.moves, to)
			}
			return true
		})
		calls = append(calls, v)
	}
	for _, r := range roots {
		if _, ok := index[r]; ok {
			continue
		}
		open(r)
		for len(calls) > 0 {
			v := &calls[len(calls)-1]
			if v.at < len(v.moves) {
				to := v.moves[v.at]
				v.at++
				if _, ok := index[to]; !ok {
					open(to)
				} else if on[to] {
					low[v.p] = min(low[v.p], index[to])
				}
				continue
			}
			p := v.p
			calls = calls[:len(calls)-1]
			if len(calls) > 0 {
				up := calls[len(calls)-1].p
				low[up] = min(low[up], low[p])
			}
			if low[p] != index[p] {
				continue
			}
			at := len(stack) - 1
			for stack[at] != p {
				at--
			}
			component := append([]point(nil), stack[at:]...)
			stack = stack[:at]
			for _, q := range component {
				delete(on, q)
			}
			if !f(component) {
				return
			}
		}
	}
}
