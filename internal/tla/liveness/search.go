package liveness

import (
	"fmt"
	"math/bits"
	"sort"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
)

// Search looks for a behaviour that an automaton accepts and that is fair, in the product of the graph and the automaton.
type Search struct {
	*Graph
	*Automaton
	initial int
	weak    []Fairness
	strong  []Fairness
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

// has reports whether all of some conditions are in the set.
func (m marks) has(o marks) bool { return o.without(m) == marks{} }

// meets reports whether two sets share a condition.
func (m marks) meets(o marks) bool { return m.without(o) != m }

// point is a state of the graph with one of the automaton: state*len(automaton.states) + its number.
type point int64

// NewSearch begins a search for a behaviour from one of the first states of a graph.
func NewSearch(g *Graph, a *Automaton, initial int, all []Fairness) (*Search, error) {
	s := &Search{Graph: g, Automaton: a, initial: initial}
	for _, f := range all {
		if f.Strong {
			s.strong = append(s.strong, f)
		} else {
			s.weak = append(s.weak, f)
		}
	}
	if n := max(a.untils+len(s.weak), len(s.strong)); n > mostMarks {
		return nil, fmt.Errorf("it has %s of fairness, and up to %d are supported", plural.Count(n, "condition"), mostMarks)
	}
	for i := range a.untils + len(s.weak) {
		s.wanted.set(i)
	}
	for i := 0; i < len(a.states); i++ { // all states of the automaton, so that points have numbers
		a.movesFrom(int32(i))
	}
	return s, nil
}

func (s *Search) point(state, q int32) point { return point(state)*point(len(s.states)) + point(q) }

func (s *Search) split(p point) (state, q int32) {
	return int32(p / point(len(s.states))), int32(p % point(len(s.states)))
}

// each calls f for all moves from a point, until it returns false: where to, which conditions it meets, and by which step.
func (s *Search) each(p point, f func(to point, met marks, step int) bool) {
	state, q := s.split(p)
	first, last := s.steps(state)
	for step := first; step < last; step++ {
		var met marks
		for k, w := range s.weak {
			if !s.is(step, w.Enabled) || s.is(step, w.Happens) {
				met.set(s.untils + k)
			}
		}
	moves:
		for _, m := range s.movesFrom(q) {
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

// strongly reports which conditions of strong fairness a step enables, and which of their actions it is.
func (s *Search) strongly(step int) (enabled, happens marks) {
	for k, w := range s.strong {
		if s.is(step, w.Enabled) {
			enabled.set(k)
		}
		if s.is(step, w.Happens) {
			happens.set(k)
		}
	}
	return enabled, happens
}

// Lasso finds a behaviour: states that lead to the one at back, and a cycle from there that returns to it. by are the steps from each to the next.
func (s *Search) Lasso() (way []int32, by []int, back int) {
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
	cycle := []point{entry}
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
		cycle = append(cycle, append(part[1:], end)...)
		here = end
	}
	if part, end := s.path([]point{here}, func(p point, _ marks, step int) bool { return step >= 0 && p == entry }, set); len(cycle) == 1 || here != entry {
		cycle = append(cycle, append(part[1:], end)...)
	}
	points := append(prefix, cycle...)
	for i, p := range points[:len(points)-1] {
		state, _ := s.split(p)
		way, by = append(way, state), append(by, s.bestStep(p, points[i+1]))
	}
	if back = len(prefix); !s.Viewed {
		way, back = s.shorten(way, back)
	}
	return way, by, back
}

// mostNear is how many points are searched again for a counterexample that is closer.
const mostNear = 1 << 17

// nearest is such a set as fair finds that lies as close to the roots as there is one, and not further than the one that was found: a behaviour through it is
// short, where a search in depth finds what is far away.
func (s *Search) nearest(roots []point, found map[point]bool) map[point]bool {
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

// bestStep returns the step between two points that meets the most conditions.
func (s *Search) bestStep(from, to point) (step int) {
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
func (s *Search) best(from, to point) (met, happened marks) {
	s.each(from, func(p point, m marks, step int) bool {
		if p == to {
			_, h := s.strongly(step)
			met, happened = met.with(m), happened.with(h)
		}
		return true
	})
	return met, happened
}

// shorten takes what repeats itself out of the cycle's beginning: states that the way to it ends with already.
func (s *Search) shorten(way []int32, back int) ([]int32, int) {
	for back > 0 && way[back-1] == way[len(way)-1] {
		way, back = way[:len(way)-1], back-1
	}
	return way, back
}

// path is the shortest way from one of some points over a move that is wanted, within a set if one is given: the points before the last, and the
// last. A root itself may be wanted; then step is -1.
func (s *Search) path(roots []point, wanted func(p point, met marks, step int) bool, within map[point]bool) ([]point, point) {
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
func (s *Search) fair(roots []point, within map[point]bool) map[point]bool {
	var found map[point]bool
	s.components(roots, within, func(points []point) bool {
		set := make(map[point]bool, len(points))
		for _, p := range points {
			set[p] = true
		}
		var met, enabled, happens marks
		cycle := false
		for _, p := range points {
			s.pause()
			s.each(p, func(to point, m marks, step int) bool {
				if set[to] {
					cycle = true
					e, h := s.strongly(step)
					met, enabled, happens = met.with(m), enabled.with(e), happens.with(h)
				}
				return true
			})
		}
		switch missing := enabled.without(happens); {
		case !cycle || !met.has(s.wanted):
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
func (s *Search) components(roots []point, within map[point]bool, f func([]point) bool) {
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
