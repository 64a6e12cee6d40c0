package liveness

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/tla/visited"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// Graph has the states that were seen, by number, with what leads from each to which, and which atoms of temporal formulas are true in each step.
type Graph struct {
	times  []When // of the atoms: when each is evaluated
	words  int    // of atoms
	first  []int
	to     []int32
	atoms  []uint64 // words of them a step
	here   []uint64 // what is true in the present state
	failed []error  // why an atom is not known
	toHere map[int32]bool
	// Under VIEW a state stands for all that the view takes as the same, and several steps may lead from one to another. What is
	// true in those states must be the same, too, so that a behaviour of the graph is one of the specification.
	Viewed bool
	whole  []uint64 // of each state: the fingerprint of the one that was found first
	facts  []uint64 // words of what is true in it
	looked visited.Fingerprints
	apart  []bool // atoms that are not the same in two states that the view takes as one
}

// NewGraph makes a graph whose steps record which atoms are true in them; times says when each atom is evaluated.
func NewGraph(times []When, viewed bool) *Graph {
	words := (len(times) + 63) / 64
	return &Graph{times: times, words: words, here: make([]uint64, words), failed: make([]error, len(times)), toHere: map[int32]bool{},
		Viewed: viewed, apart: make([]bool, len(times))}
}

// Oracle reports whether an atom is true in a state, or in the step from s to next.
type Oracle func(atom int, s, next []value.Value) (bool, error)

// Found looks at a state that was reached, under VIEW: whether the same atoms are true in it as in the one that stands for it.
func (g *Graph) Found(is Oracle, s []value.Value, id int32) {
	whole := value.Hash(s)
	if int(id) == len(g.whole) {
		g.whole = append(g.whole, whole)
		g.facts = append(g.facts, make([]uint64, g.words)...)
		g.evaluate(is, OfState, s, nil, g.factsOf(id))
		return
	}
	if whole == g.whole[id] {
		return
	}
	if _, isNew := g.looked.Add(whole); !isNew {
		return
	}
	facts := make([]uint64, g.words)
	g.evaluate(is, OfState, s, nil, facts)
	for i := range g.apart {
		if (facts[i/64]^g.factsOf(id)[i/64])&(1<<(i%64)) != 0 {
			g.apart[i] = true
		}
	}
}

// factsOf returns the facts that are true in a state, under VIEW.
func (g *Graph) factsOf(id int32) []uint64 { return g.facts[int(id)*g.words:][:g.words] }

// BeginState opens the steps from a state.
func (g *Graph) BeginState(is Oracle, s []value.Value) {
	g.first = append(g.first, len(g.to))
	clear(g.toHere)
	if g.Viewed {
		copy(g.here, g.factsOf(int32(len(g.first)-1)))
		return
	}
	clear(g.here)
	g.evaluate(is, OfState, s, nil, g.here)
}

// End closes the steps from a state, all of which are known.
func (g *Graph) End(is Oracle, s []value.Value) {
	if !slices.Contains(g.times, OfExpanded) {
		return
	}
	late := make([]uint64, g.words)
	g.evaluate(is, OfExpanded, s, nil, late)
	for i := g.first[len(g.first)-1]; i < len(g.to); i++ {
		for k, word := range late {
			g.atoms[i*g.words+k] |= word
		}
	}
}

// Edge adds a step from the state that was begun last.
func (g *Graph) Edge(is Oracle, s, next []value.Value, to int32) {
	if g.toHere[to] && !g.Viewed {
		return
	}
	before := g.toHere[to]
	g.toHere[to] = true
	g.to = append(g.to, to)
	g.atoms = append(g.atoms, g.here...)
	last := len(g.atoms) - g.words
	g.evaluate(is, OfStep, s, next, g.atoms[last:])
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
func (g *Graph) evaluate(is Oracle, when When, s, next []value.Value, facts []uint64) {
	for i := range g.times {
		if g.times[i] != when || g.failed[i] != nil {
			continue
		}
		ok, err := is(i, s, next)
		g.failed[i] = err
		if ok {
			facts[i/64] |= 1 << (i % 64)
		}
	}
}

// Edges counts the steps.
func (g *Graph) Edges() int { return len(g.to) }

// steps are those from a state: the first and the one after the last.
func (g *Graph) steps(state int32) (int, int) {
	if int(state)+1 < len(g.first) {
		return g.first[state], g.first[state+1]
	}
	return g.first[state], len(g.to)
}

func (g *Graph) is(step, atom int) bool {
	return g.atoms[step*g.words+atom/64]&(1<<(atom%64)) != 0
}

// asked are the atoms that are known from states alone.
func (g *Graph) asked() []uint64 {
	set := make([]uint64, g.words)
	for i, when := range g.times {
		if when != OfExpanded {
			set[i/64] |= 1 << (i % 64)
		}
	}
	return set
}

// equalIn reports whether the same of some atoms are true.
func equalIn(ask, is, others []uint64) bool {
	for k, word := range ask {
		if (is[k]^others[k])&word != 0 {
			return false
		}
	}
	return true
}

// Target is the state that a step leads to.
func (g *Graph) Target(step int) int32 { return g.to[step] }

// IsApart reports whether an atom is not the same in two states that the view takes as one.
func (g *Graph) IsApart(atom int) bool { return g.apart[atom] }

// Failure says why an atom is not known; nil if it is.
func (g *Graph) Failure(atom int) error { return g.failed[atom] }

// Unmet has a place for each step from a state, for matches.
func (g *Graph) Unmet(id int32) []bool {
	first, last := g.steps(id)
	return make([]bool, last-first)
}

// Matches reports, under VIEW, whether the step from s to next is like one from id, the state that stands for s, to another one, and notes in met which.
func (g *Graph) Matches(holds Oracle, id int32, s, next []value.Value, to int32, met []bool) (found bool) {
	ask, facts := g.asked(), slices.Clone(g.factsOf(id))
	g.evaluate(holds, OfStep, s, next, facts)
	first, last := g.steps(id)
	for step := first; step < last; step++ {
		if g.to[step] == to && equalIn(ask, facts, g.atoms[step*g.words:]) {
			met[step-first], found = true, true
		}
	}
	return found
}

// Like reports whether the same atoms are true in a step from s to next as in one of the graph, but for those that are only known once all successors are.
func (g *Graph) Like(holds Oracle, step int, s, next []value.Value) bool {
	facts := make([]uint64, g.words)
	g.evaluate(holds, OfState, s, nil, facts)
	g.evaluate(holds, OfStep, s, next, facts)
	return equalIn(g.asked(), facts, g.atoms[step*g.words:])
}
