package liveness

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// The atoms of these tests: two of states, one that reports whether an action is enabled, and one that reports whether a step is of that action.
const (
	p = iota
	q
	enabled
	happens
)

// world is a small graph of states at random.
type world struct {
	moves   [][]int32 // from each state; it may also stay
	is      [][3]bool // p, q and enabled of each state
	actions map[[2]int32]bool
}

func randomWorld(r *rand.Rand) *world {
	w := &world{actions: map[[2]int32]bool{}}
	n := 1 + r.IntN(4)
	for s := range n {
		var to []int32
		for t := range n {
			if t != s && r.IntN(2) == 0 {
				to = append(to, int32(t))
				w.actions[[2]int32{int32(s), int32(t)}] = r.IntN(2) == 0
			}
		}
		w.moves = append(w.moves, append(to, int32(s)))
		can := false
		for _, t := range to {
			can = can || w.actions[[2]int32{int32(s), t}]
		}
		w.is = append(w.is, [3]bool{r.IntN(2) == 0, r.IntN(2) == 0, can})
	}
	return w
}

// holds evaluates an atom in a step.
func (w *world) holds(atom int, from, to int32) bool {
	if atom == happens {
		return w.actions[[2]int32{from, to}]
	}
	return w.is[from][atom]
}

func (w *world) graph() *Graph {
	g := NewGraph([]When{OfState, OfState, OfState, OfStep}, false)
	oracle := func(atom int, s, next []value.Value) (bool, error) {
		from := int32(s[0].(value.Int))
		if next == nil {
			return w.holds(atom, from, from), nil
		}
		return w.holds(atom, from, int32(next[0].(value.Int))), nil
	}
	state := func(i int32) []value.Value { return []value.Value{value.Int(i)} }
	for s := range int32(len(w.moves)) {
		g.BeginState(oracle, state(s))
		for _, t := range w.moves[s] {
			g.Edge(oracle, state(s), state(t), t)
		}
		g.End(oracle, state(s))
	}
	return g
}

func randomFormula(r *rand.Rand, depth int) *Formula {
	if depth == 0 {
		f := &Formula{Connective: Letter, Atom: r.IntN(2)}
		if r.IntN(2) == 0 {
			return f.Not()
		}
		return f
	}
	f := randomFormula(r, depth-1)
	switch r.IntN(5) {
	case 0:
		return Henceforth(f)
	case 1:
		return Eventually(f)
	case 2:
		return Join(Both, f, randomFormula(r, depth-1))
	case 3:
		return Join(Either, f, randomFormula(r, depth-1))
	}
	return f.Not()
}

// fulfils evaluates a formula in each step of a lasso, the last state of which leads to the one at back: U by the least fixed point, R by the greatest.
func (w *world) fulfils(f *Formula, way []int32, back int) []bool {
	is := make([]bool, len(way))
	after := func(i int) int {
		if i+1 == len(way) {
			return back
		}
		return i + 1
	}
	if f.Connective == truth {
		for i := range is {
			is[i] = true
		}
	}
	switch f.Connective {
	case truth, falsity:
		return is
	case Letter, notLetter:
		for i := range way {
			is[i] = w.holds(f.Atom, way[i], way[after(i)]) == (f.Connective == Letter)
		}
		return is
	}
	a, b := w.fulfils(f.a, way, back), w.fulfils(f.b, way, back)
	for i := range is {
		is[i] = f.Connective == releases
	}
	for range len(way) + 1 {
		for i := len(way) - 1; i >= 0; i-- {
			switch f.Connective {
			case Both:
				is[i] = a[i] && b[i]
			case Either:
				is[i] = a[i] || b[i]
			case until:
				is[i] = b[i] || a[i] && is[after(i)]
			case releases:
				is[i] = b[i] && (a[i] || is[after(i)])
			}
		}
	}
	return is
}

// fair reports whether the cycle of a lasso fulfils a condition of fairness.
func (w *world) fair(f Fairness, way []int32, back int) bool {
	never, always, does := true, true, false
	for i := back; i < len(way); i++ {
		to := way[back]
		if i+1 < len(way) {
			to = way[i+1]
		}
		can := w.holds(f.Enabled, way[i], to)
		never, always, does = never && !can, always && can, does || w.holds(f.Happens, way[i], to)
	}
	if f.Strong {
		return never || does
	}
	return !always || does
}

// exists looks for a lasso of at most so many states that fulfils a formula and is fair, among all there are.
func (w *world) exists(f *Formula, all []Fairness, most int) (found []int32, back int) {
	var from func(way []int32) bool
	from = func(way []int32) bool {
		last := way[len(way)-1]
		for _, t := range w.moves[last] {
			for at, s := range way {
				if s != t || !w.fulfils(f, way, at)[0] {
					continue
				}
				fair := true
				for _, c := range all {
					fair = fair && w.fair(c, way, at)
				}
				if fair {
					found, back = append(found, way...), at
					return true
				}
			}
			if len(way) < most && from(append(way[:len(way):len(way)], t)) {
				return true
			}
		}
		return false
	}
	from([]int32{0})
	return found, back
}

// TestLassos compares the search with all lassos of up to six states, for graphs, formulas and fairness at random: what it finds
// is one, and it finds one if there is one.
func TestLassos(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	found := 0
	for n := range 3000 {
		w, f := randomWorld(r), randomFormula(r, 1+r.IntN(3))
		var all []Fairness
		for range r.IntN(3) {
			all = append(all, Fairness{Enabled: enabled, Happens: happens, Strong: r.IntN(2) == 0})
		}
		about := func() string { return fmt.Sprintf("case %d: %+v, fairness %+v", n, *w, all) }
		a, err := NewAutomaton(f, func() {})
		if err != nil {
			t.Fatal(about(), err)
		}
		s, err := NewSearch(w.graph(), a, 1, all)
		if err != nil {
			t.Fatal(about(), err)
		}
		way, _, back := s.Lasso()
		if way == nil {
			if other, at := w.exists(f, all, 6); other != nil {
				t.Errorf("%s: nothing is found, and there is %v, back to %d", about(), other, at)
			}
			continue
		}
		found++
		if way[0] != 0 || !w.fulfils(f, way, back)[0] {
			t.Errorf("%s: %v, back to %d, does not fulfil the formula", about(), way, back)
		}
		for _, c := range all {
			if !w.fair(c, way, back) {
				t.Errorf("%s: %v, back to %d, is not fair", about(), way, back)
			}
		}
	}
	if found < 500 || found > 2900 {
		t.Errorf("%d of 3000 searches find a lasso: the test has lost its balance", found)
	}
}
