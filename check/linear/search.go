package linear

import (
	"slices"

	"github.com/anishathalye/porcupine"
)

// Spec is the sequential specification of an object whose state is an S.
type Spec[S comparable] struct {
	Initial S
	// Step tells whether operations of a class are legal in a state, and the state after them. It is a pure function.
	Step func(state S, class int32) (S, bool)
	// Bytes is about what it takes to remember a state; nil means little.
	Bytes func(S) int64
}

// Shares of a budget that a sweep may take before the depth-first search has its turn. A sweep that goes well takes a
// few steps for each operation.
const (
	sweepStepsPerOp = 64
	sweepSteps      = 200_000
	sweepShare      = 4 // at most one of so many parts of what is left
)

// Search decides any history of any object. With Illegal comes the operation at whose return no order was left, or -1
// where that is not known.
func Search[S comparable](ops []Op, spec Spec[S], b *Budget) (Answer, int) {
	m := newMachine(ops, spec, b)
	left := min(sweepSteps+sweepStepsPerOp*int64(len(ops)), b.Steps/sweepShare)
	answer, culprit := sweep(ops, 0, m.step, func() bool {
		left--
		return left >= 0 && b.Spend(0)
	})
	if b.Reached != "" {
		return Undecided, -1
	}
	if answer != Undecided {
		return answer, culprit
	}
	return depthFirst(ops, m, b), -1
}

// DepthFirst decides by Porcupine alone: the slow and general way.
func DepthFirst[S comparable](ops []Op, spec Spec[S], b *Budget) Answer {
	return depthFirst(ops, newMachine(ops, spec, b), b)
}

func depthFirst[S comparable](ops []Op, m *machine[S], b *Budget) Answer {
	legal := porcupine.CheckOperations(m.model(len(ops), b), asPorcupine(ops))
	switch {
	case legal:
		return Legal
	case b.Reached != "":
		return Undecided
	}
	return Illegal
}

// Longest is the longest order that could be built of an illegal history; ok tells whether there is one and it was
// found within the budget. Of orders of equal length it is the first one by the indices of its operations.
func Longest[S comparable](ops []Op, spec Spec[S], b *Budget) (order []int, ok bool) {
	m := newMachine(ops, spec, b)
	result, info := porcupine.CheckOperationsVerbose(m.model(len(ops), b), asPorcupine(ops), 0)
	if b.Reached != "" || result != porcupine.Illegal {
		return nil, false
	}
	for _, o := range info.PartialLinearizations()[0] {
		// The library returns them in no certain order.
		if len(o) > len(order) || len(o) == len(order) && slices.Compare(o, order) < 0 {
			order = o
		}
	}
	return order, true
}

func asPorcupine(ops []Op) []porcupine.Operation {
	history := make([]porcupine.Operation, len(ops))
	for i, o := range ops {
		history[i] = porcupine.Operation{Input: o.Class, Call: o.Call, Return: o.Return}
	}
	return history
}

// model counts each step against the budget. When it is used up no step is legal any more, and the search unwinds.
func (m *machine[S]) model(count int, b *Budget) porcupine.Model {
	entry := int64(count/64+1)*8 + 160 // the bitset of a cache entry, and the entry
	return porcupine.Model{
		Init: func() any { return int32(0) },
		Step: func(state, class, _ any) (bool, any) {
			next, ok := m.step(state.(int32), class.(int32))
			cost := entry
			if !ok {
				cost = 0
			}
			if !b.Spend(cost) {
				return false, state
			}
			return ok, next
		},
		Equal: func(x, y any) bool { return x.(int32) == y.(int32) },
		Hash: func(state any) uint64 {
			const golden = 0x9e3779b97f4a7c15
			return uint64(uint32(state.(int32))) * golden
		},
	}
}

// machine numbers the states that were reached and remembers the steps between them.
type machine[S comparable] struct {
	spec   Spec[S]
	budget *Budget
	states []S
	number map[S]int32
	known  map[uint64]int32 // state and class -> state, or illegal
	rows   [][]int32        // the same by state and class, where there are few classes
	width  int              // classes of a row
}

const (
	illegal    = -1
	untried    = -2
	maxClasses = 256 // in rows
)

func newMachine[S comparable](ops []Op, spec Spec[S], b *Budget) *machine[S] {
	m := &machine[S]{spec: spec, budget: b, number: map[S]int32{}}
	for _, o := range ops {
		m.width = max(m.width, int(o.Class)+1)
	}
	if m.width > maxClasses {
		m.width, m.known = 0, map[uint64]int32{}
	}
	m.enter(spec.Initial)
	return m
}

func (m *machine[S]) enter(s S) int32 {
	n := int32(len(m.states))
	m.states = append(m.states, s)
	m.number[s] = n
	m.budget.Bytes -= stepBytes
	if m.spec.Bytes != nil {
		m.budget.Bytes -= m.spec.Bytes(s)
	}
	if m.width > 0 {
		m.budget.Bytes -= int64(4 * m.width)
		row := make([]int32, m.width)
		for i := range row {
			row[i] = untried
		}
		m.rows = append(m.rows, row)
	}
	return n
}

const stepBytes = 40 // what a remembered step takes

func (m *machine[S]) step(state, class int32) (int32, bool) {
	if m.width > 0 {
		if next := m.rows[state][class]; next != untried {
			return next, next >= 0
		}
		next := m.find(state, class)
		m.rows[state][class] = next
		return next, next >= 0
	}
	at := uint64(uint32(state))<<32 | uint64(uint32(class))
	next, ok := m.known[at]
	if !ok {
		m.budget.Bytes -= stepBytes
		next = m.find(state, class)
		m.known[at] = next
	}
	return next, next >= 0
}

// find asks the specification.
func (m *machine[S]) find(state, class int32) int32 {
	s, ok := m.spec.Step(m.states[state], class)
	if !ok {
		return illegal
	}
	if n, seen := m.number[s]; seen {
		return n
	}
	return m.enter(s)
}
