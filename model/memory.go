package model

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/splitmix"
	"github.com/bloodhound-dst/bloodhound/tla"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// memory remembers what actions lead to, and what expressions are, in states that a follower has been in: runs of a search are alike, and so most of their steps
// were taken before. States and arguments are told apart by 64-bit fingerprints, as in TLC.
type memory struct {
	points  map[uint64]*point
	steps   map[call]*outcome
	shown   map[call]value.Value
	asked   int   // steps that were looked for
	found   int   // of these
	useless bool  // too few are found: nothing is kept
	scratch []int // variables that every step begins with their first values
	first   tla.State
	swept   tla.State
}

// point is a state of the specification.
type point struct {
	state  tla.State
	print  uint64
	view   uint64 // fingerprint of its view
	viewed bool
}

// call is an operator with its arguments in a state, by their fingerprints.
type call struct{ state, operator uint64 }

// outcome is what a step of an action leads to.
type outcome struct {
	next    []*point
	met     tla.GuardsSeen
	refused *tla.Guard
}

const (
	mostPoints = 50_000
	mostCalls  = 400_000
	// Of the steps that are looked for, one of leastFound must be there for remembering to pay.
	leastFound = 4
)

func newMemory() *memory {
	return &memory{points: map[uint64]*point{}, steps: map[call]*outcome{}, shown: map[call]value.Value{}}
}

// calling is a call in a state.
func calling(p *point, operator uint64, args []value.Value) call {
	return call{p.print, splitmix.Mix(operator ^ value.Hash(args)*splitmix.Gamma)}
}

// at gives the point of a state, which it copies.
func (m *memory) at(s tla.State) *point {
	if len(m.scratch) > 0 {
		m.swept = append(m.swept[:0], s...)
		for _, i := range m.scratch {
			m.swept[i] = m.first[i]
		}
		s = m.swept
	}
	print := value.Hash(s)
	if p := m.points[print]; p != nil {
		return p
	}
	p := &point{state: slices.Clone(s), print: print}
	if !m.useless {
		m.points[print] = p
	}
	return p
}

// step gives what a call is known to lead to, or nil.
func (m *memory) step(c call) *outcome {
	m.asked++
	o := m.steps[c]
	if o != nil {
		m.found++
	}
	return o
}

// rest makes room, between runs.
func (m *memory) rest() {
	if len(m.points) < mostPoints && len(m.steps)+len(m.shown) < mostCalls {
		return
	}
	m.useless = m.found*leastFound < m.asked
	m.asked, m.found = 0, 0
	clear(m.points)
	clear(m.steps)
	clear(m.shown)
}
