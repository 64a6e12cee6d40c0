package linear

import (
	"hash/maphash"
	"slices"

	"github.com/anishathalye/porcupine"
)

// Spec is the sequential specification of an object whose state is an S.
type Spec[S comparable] struct {
	Initial S
	// Step reports whether operations of a class are legal in a state, and the state after them. It is a pure function.
	Step func(state S, class int32) (S, bool)
	// Bytes is about what it takes to remember a state; nil means little.
	Bytes func(S) int64
	// Unlike says that hardly two operations are of one class, so that there is little to gain by remembering their steps.
	Unlike bool
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
	answer, culprit := sweep(ops, &m.graph, 0, func(steps int64) bool {
		left -= steps
		return left >= 0 && b.spend(steps, 0)
	})
	if b.Reached != "" {
		return Undecided, -1
	}
	if answer != Undecided {
		return answer, culprit
	}
	model := m.model(len(ops), b)
	if spec.Unlike {
		model = spec.model(len(ops), b)
	}
	return depthFirst(ops, model, b), -1
}

// DepthFirst decides by Porcupine alone: the slow and general way.
func DepthFirst[S comparable](ops []Op, spec Spec[S], b *Budget) Answer {
	return depthFirst(ops, newMachine(ops, spec, b).model(len(ops), b), b)
}

func depthFirst(ops []Op, model porcupine.Model, b *Budget) Answer {
	switch legal := porcupine.CheckOperations(model, asPorcupine(ops)); {
	case legal:
		return Legal
	case b.Reached != "":
		return Undecided
	}
	return Illegal
}

// Longest is the longest order that could be built of an illegal history; ok reports whether there is one and it was
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

// entryBytes is the size of an entry in Porcupine's cache for a history of count operations: their bitset, and the entry itself.
func entryBytes(count int) int64 { return int64(count/64+1)*8 + 160 }

// model asks the specification at each step, and does not remember where steps lead.
func (s Spec[S]) model(count int, b *Budget) porcupine.Model {
	entry := entryBytes(count)
	seed := maphash.MakeSeed()
	return porcupine.Model{
		Init: func() any { return s.Initial },
		Step: func(state, class, _ any) (bool, any) {
			next, ok := s.Step(state.(S), class.(int32))
			cost := int64(0)
			if ok {
				cost = entry + s.Bytes(next)
			}
			if !b.Spend(cost) {
				return false, state
			}
			return ok, next
		},
		Equal: func(x, y any) bool { return x.(S) == y.(S) },
		Hash:  func(state any) uint64 { return maphash.Comparable(seed, state.(S)) },
	}
}

// model counts each step against the budget. When it is used up no step is legal any more, and the search unwinds.
func (m *machine[S]) model(count int, b *Budget) porcupine.Model {
	entry := entryBytes(count)
	return porcupine.Model{
		Init: func() any { return int32(0) },
		Step: func(state, class, _ any) (bool, any) {
			next := m.step(state.(int32), class.(int32))
			cost := entry
			if next == illegal {
				cost = 0
			}
			if !b.Spend(cost) {
				return false, state
			}
			return next != illegal, next
		},
		Equal: func(x, y any) bool { return x.(int32) == y.(int32) },
		Hash: func(state any) uint64 {
			const golden = 0x9e3779b97f4a7c15
			return uint64(uint32(state.(int32))) * golden
		},
	}
}

// machine asks a specification, and numbers the states that were reached.
type machine[S comparable] struct {
	graph
	spec   Spec[S]
	states []S
	number map[S]int32
}

// graph remembers the steps between states. It is no matter of its kind of states, so that a search runs as fast as it
// can.
type graph struct {
	budget  *Budget
	classes int
	rows    [][]int32        // by state and class, where there are few classes: state, illegal or untried
	known   map[uint64]int32 // the same by both, where there are many
	ask     func(state, class int32) int32
}

const (
	illegal    = -1
	untried    = -2
	maxClasses = 256 // in rows
	stepBytes  = 40  // what a remembered step takes
)

func newMachine[S comparable](ops []Op, spec Spec[S], b *Budget) *machine[S] {
	m := &machine[S]{graph: graph{budget: b}, spec: spec, number: map[S]int32{}}
	m.ask = m.find
	for i := range ops {
		m.classes = max(m.classes, int(ops[i].Class)+1)
	}
	if m.classes > maxClasses {
		m.known = map[uint64]int32{}
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
	if m.known == nil {
		m.budget.Bytes -= int64(4 * m.classes)
		row := make([]int32, m.classes)
		for i := range row {
			row[i] = untried
		}
		m.rows = append(m.rows, row)
	}
	return n
}

// find asks the specification.
func (m *machine[S]) find(state, class int32) int32 {
	s, ok := m.spec.Step(m.states[state], class)
	if !ok {
		return illegal
	}
	if s == m.states[state] {
		return state
	}
	if n, seen := m.number[s]; seen {
		return n
	}
	return m.enter(s)
}

// step is the state after an operation of a class, or illegal.
func (g *graph) step(state, class int32) int32 {
	if g.known == nil {
		if next := g.rows[state][class]; next != untried {
			return next
		}
	}
	return g.learn(state, class)
}

func (g *graph) learn(state, class int32) int32 {
	if g.known == nil {
		next := g.ask(state, class)
		g.rows[state][class] = next
		return next
	}
	at := uint64(uint32(state))<<32 | uint64(uint32(class))
	next, ok := g.known[at]
	if !ok {
		g.budget.Bytes -= stepBytes
		next = g.ask(state, class)
		g.known[at] = next
	}
	return next
}
