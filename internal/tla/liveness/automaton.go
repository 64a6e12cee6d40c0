package liveness

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/tla/failure"
)

// A temporal formula becomes an automaton that reads steps: its states are sets of formulas that must hold of what is left of a behaviour, and
// its moves say which atoms a step must make true or false, and what must hold of the rest. A behaviour fulfils the formula if it can move on
// forever, and no U is put off forever (Couvreur, On-the-fly verification of linear temporal logic, FM 1999).
type Automaton struct {
	parts  []*Formula // of the formula, by number: those of U and R that may have to hold later, and the formula itself
	states []duty
	moves  [][]move // of each state that was reached
	known  map[duty]int32
	untils int
	ways   int    // that were tried to fulfil formulas
	pause  func() // is called now and then, and may panic
}

// duty is a set of an automaton's parts.
type duty uint64

// move is one way to continue.
type move struct {
	is, not []int // atoms that the step must make true, or false
	to      int32
	done    uint64 // the U that are not put off by this move
}

const mostParts = 64

// MostTried bounds the ways to fulfil formulas that an automaton is made of. One of more has so many moves that no search through it would come to its end.
var MostTried = 1 << 24

// errManyParts says why a property has no automaton.
var errManyParts = fmt.Errorf("it has more than %d temporal operators: check its parts one by one", mostParts)

// NewAutomaton makes the automaton of a formula. It has none if the formula has more U and R than fit.
func NewAutomaton(f *Formula, pause func()) (*Automaton, error) {
	a := &Automaton{known: map[duty]int32{}, pause: pause}
	var number func(*Formula)
	number = func(g *Formula) {
		switch g.Connective {
		case Both, Either:
			number(g.a)
			number(g.b)
		case until, releases:
			if a.part(g) < 0 {
				a.parts = append(a.parts, g)
			}
			number(g.a)
			number(g.b)
		}
	}
	// U first: their numbers are those of the conditions on what is not to be put off.
	number(f)
	slices.SortStableFunc(a.parts, func(x, y *Formula) int { return int(x.Connective) - int(y.Connective) })
	for _, g := range a.parts {
		if g.Connective == until {
			a.untils++
		}
	}
	if a.part(f) < 0 {
		a.parts = append(a.parts, f)
	}
	if len(a.parts) > mostParts {
		return nil, errManyParts
	}
	a.state(1 << a.part(f))
	return a, nil
}

func (a *Automaton) part(f *Formula) int { return slices.Index(a.parts, f) }

func (a *Automaton) state(d duty) int32 {
	if id, ok := a.known[d]; ok {
		return id
	}
	id := int32(len(a.states))
	a.known[d] = id
	a.states = append(a.states, d)
	a.moves = append(a.moves, nil)
	return id
}

// movesFrom returns the moves of a state.
func (a *Automaton) movesFrom(state int32) []move {
	if a.moves[state] == nil {
		a.moves[state] = a.cover(a.states[state])
	}
	return a.moves[state]
}

// way is a move that is being found.
type way struct {
	is, not []int
	next    duty
	putOff  uint64
	seen    duty
}

// cover finds all ways to fulfil formulas by a step and what holds after it. It panics with a failure if there are too many.
func (a *Automaton) cover(d duty) []move {
	moves := []move{}
	found := map[string]bool{}
	var name []byte
	var expand func(left []*Formula, w way)
	expand = func(left []*Formula, w way) {
		if a.ways++; a.ways > MostTried {
			panic(failure.Wrap(fmt.Errorf("there are more than %s to fulfil its temporal operators together: check its parts one by one",
				plural.Count(MostTried, "way"))))
		}
		a.pause()
		if len(left) == 0 {
			m := move{is: slices.Clone(w.is), not: slices.Clone(w.not), to: a.state(w.next), done: ^w.putOff & (1<<a.untils - 1)}
			name = fmt.Append(name[:0], m.to, m.done, m.is, m.not)
			if !found[string(name)] {
				found[string(name)] = true
				moves = append(moves, m)
			}
			return
		}
		f, rest := left[0], left[1:]
		with := func(more ...*Formula) []*Formula { return append(slices.Clone(rest), more...) }
		switch f.Connective {
		case truth:
			expand(rest, w)
		case falsity:
		case Letter, notLetter:
			same, other := &w.is, w.not
			if f.Connective == notLetter {
				same, other = &w.not, w.is
			}
			if slices.Contains(other, f.Atom) {
				return
			}
			if at, ok := slices.BinarySearch(*same, f.Atom); !ok {
				*same = slices.Insert(slices.Clone(*same), at, f.Atom)
			}
			expand(rest, w)
		case Both:
			expand(with(f.a, f.b), w)
		case Either:
			expand(with(f.a), w)
			expand(with(f.b), w)
		default:
			i := a.part(f)
			if w.seen&(1<<i) != 0 {
				expand(rest, w)
				return
			}
			w.seen |= 1 << i
			later := w
			later.next |= 1 << i
			if f.Connective == until {
				expand(with(f.b), w)
				later.putOff |= 1 << i
				expand(with(f.a), later)
				return
			}
			expand(with(f.a, f.b), w)
			expand(with(f.b), later)
		}
	}
	var left []*Formula
	for rest := uint64(d); rest != 0; rest &= rest - 1 {
		left = append(left, a.parts[bits.TrailingZeros64(rest)])
	}
	expand(left, way{})
	return moves
}
