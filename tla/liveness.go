package tla

import (
	"errors"
	"fmt"
	"slices"
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
}

func newGraph(spec *Spec) *graph {
	words := (len(spec.atoms) + 63) / 64
	return &graph{spec: spec, words: words, here: make([]uint64, words), failed: make([]error, len(spec.atoms)), toHere: map[int32]bool{}}
}

// begin opens the steps from a state.
func (g *graph) begin(ev *Evaluator, s State) {
	g.first = append(g.first, len(g.to))
	clear(g.toHere)
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
		for k, bits := range late {
			g.atoms[i*g.words+k] |= bits
		}
	}
}

// edge adds a step from the state that was begun last.
func (g *graph) edge(ev *Evaluator, s, next State, to int32) {
	if g.toHere[to] {
		return
	}
	g.toHere[to] = true
	g.to = append(g.to, to)
	g.atoms = append(g.atoms, g.here...)
	g.evaluate(ev, ofStep, s, next, g.atoms[len(g.atoms)-g.words:])
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
	for i := range c.spec.Properties {
		p := &c.spec.Properties[i]
		f := p.negated
		if c.spec.assumed != nil {
			f = join(both, c.spec.assumed, f)
		}
		if err := c.unknownIn(f); err != nil {
			c.r.Unchecked = append(c.r.Unchecked, Unchecked{p.Name, err})
			continue
		}
		a, err := automatonOf(f, c.pause)
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
			c.r.Unchecked = append(c.r.Unchecked, Unchecked{p.Name, err})
			continue
		}
		way, back := s.lasso()
		if way == nil {
			continue
		}
		trace, err := c.walk(way)
		if err != nil {
			return err
		}
		if err := c.violated(&Violation{Kind: TemporalViolated, Name: p.Name, Trace: trace, Back: back}); err != nil {
			return err
		}
	}
	c.r.Checked = true
	return nil
}

// unknownIn is why a formula, with the fairness of the specification, cannot be judged.
func (c *checker) unknownIn(f *temporal) error {
	for _, w := range c.spec.fairness {
		for _, atom := range []int{w.enabled, w.happens} {
			if err := c.graph.failed[atom]; err != nil {
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
			return c.graph.failed[f.atom]
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

// lasso finds a behaviour: states that lead to the one at back, and a circle from there that returns to it.
func (s *search) lasso() (way []int32, back int) {
	var roots []point
	for i := range s.initial {
		roots = append(roots, s.point(int32(i), 0))
	}
	set := s.fair(roots, nil)
	if set == nil {
		return nil, 0
	}
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
	for _, p := range prefix {
		state, _ := s.split(p)
		way = append(way, state)
	}
	back = len(way)
	for _, p := range circle[:len(circle)-1] {
		state, _ := s.split(p)
		way = append(way, state)
	}
	return s.shorten(way, back)
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
