package bv

import (
	"fmt"
	"slices"
)

// Result is the answer to a query.
type Result uint8

// The answers. Unknown means that the budget was used up.
const (
	Unknown Result = iota
	Sat
	Unsat
)

func (r Result) String() string { return [...]string{"unknown", "sat", "unsat"}[r] }

// Solver finds inputs for which constraints hold. It has the expressions of one Builder. What it has made of an expression, and
// what it has learnt, serves later queries.
//
// A query is answered by the first of three steps that can:
//
//  1. domain.go: what constraints say of single inputs (known bits, a range, excluded values) is put together. An input that has
//     no value left is Unsat; the values next to the current ones may
//     satisfy the rest.
//  2. repair.go: constraints that do not hold are repaired from their root to an input, one input at a time.
//  3. blast.go and sat.go: expressions become gates, and a SAT solver decides.
//
// Each model is checked by Eval before it is returned; one that is wrong is a bug of this package, and a panic.
type Solver struct {
	builder  *Builder
	resets   uint32
	widths   []uint8
	blaster  *blaster
	first    int                // variables after its first query
	support  map[*Expr][]uint32 // inputs of a constraint
	eval     evaluator
	fields   []domain
	repairer repairer
	model    []uint64
	seed     []uint64
	wanted   []int32
	lits     []lit
	stamps   []uint32
	round    uint32

	// Answers says how many queries each step answered.
	Answers struct{ Domain, Repair, SAT, Unknown int }
	// SATOnly leaves out the first two steps.
	SATOnly bool
}

// The gates and clauses of earlier queries, which slow down all later ones, are dropped when there are more variables than
// variablesKept and growth times those of the first query.
const (
	variablesKept = 5000
	growth        = 4
)

// NewSolver is a solver of constraints over inputs of these widths.
func NewSolver(b *Builder, widths []uint8) *Solver {
	return &Solver{builder: b, widths: slices.Clone(widths)}
}

// Solve looks for values of all inputs for which the constraints, which have width 1, hold. They are near seed, the current
// inputs: what the constraints do not concern keeps its value, and an input that can keep its value while the others change does,
// in general. Budget is the most conflicts that the SAT solver may meet; a thousand take some milliseconds for constraints
// without multiplication or division. A query whose gates would be too many is Unknown as well. An earlier query may change which
// model is found, and whether the budget is enough, but neither Sat nor Unsat to the other.
func (s *Solver) Solve(seed []uint64, constraints []*Expr, budget int) ([]uint64, Result) {
	if len(seed) != len(s.widths) {
		panic(fmt.Sprintf("bv: a seed of %d inputs for a solver of %d", len(seed), len(s.widths)))
	}
	s.beginQuery(seed)
	atoms, possible := s.atoms(constraints)
	if !possible {
		s.Answers.Domain++
		return nil, Unsat
	}
	if !s.SATOnly {
		if s.holds(s.seed, atoms) {
			s.Answers.Domain++
			return slices.Clone(s.seed), Sat
		}
		rest, result := s.narrow(atoms)
		switch {
		case result == Unsat:
			s.Answers.Domain++
			return nil, Unsat
		case result == Sat && s.holds(s.model, atoms):
			s.Answers.Domain++
			return s.nearer(atoms), Sat
		case result == Sat && s.repair(rest) && s.holds(s.model, atoms):
			s.Answers.Repair++
			return s.nearer(atoms), Sat
		}
	}
	result := s.decide(atoms, budget)
	switch result {
	case Unknown:
		s.Answers.Unknown++
		return nil, Unknown
	case Unsat:
		s.Answers.SAT++
		return nil, Unsat
	}
	s.Answers.SAT++
	if !s.holds(s.model, atoms) {
		panic(fmt.Sprintf("bv: a model that does not satisfy %v: %#x", constraints, s.model))
	}
	return s.nearer(atoms), Sat
}

// beginQuery prepares a query. It forgets data about expressions that are gone, and gates when there are many.
func (s *Solver) beginQuery(seed []uint64) {
	stale := s.resets != s.builder.resets
	if s.blaster != nil && s.first == 0 {
		s.first = len(s.blaster.vars)
	}
	if s.blaster == nil || stale || len(s.blaster.vars) > variablesKept+growth*s.first {
		s.blaster, s.first = newBlaster(), 0
	}
	if s.support == nil || stale {
		s.support = map[*Expr][]uint32{}
		s.resets = s.builder.resets
	}
	s.seed = s.seed[:0]
	for i, w := range s.widths {
		s.seed = append(s.seed, seed[i]&Mask(w))
	}
}

// atoms splits conjunctions, and leaves out what is there twice or true. It reports whether none is false.
func (s *Solver) atoms(constraints []*Expr) (atoms []*Expr, possible bool) {
	walk := slices.Clone(constraints)
	slices.Reverse(walk)
	s.round++
	for len(walk) > 0 {
		e := walk[len(walk)-1]
		walk = walk[:len(walk)-1]
		checkBool(And, e)
		if n := s.builder.Len() + 1; n > len(s.stamps) {
			s.stamps = append(s.stamps, make([]uint32, max(n, 2*len(s.stamps))-len(s.stamps))...)
		}
		if s.stamps[e.id] == s.round {
			continue
		}
		s.stamps[e.id] = s.round
		switch {
		case e.IsConst(0):
			return nil, false
		case e.Op == Const:
		case e.Op == And:
			walk = append(walk, e.B, e.A)
		case e.Op == Not && e.A.Op == Or:
			walk = append(walk, s.builder.Not(e.A.B), s.builder.Not(e.A.A))
		default:
			atoms = append(atoms, e)
		}
	}
	return atoms, true
}

// holds reports whether inputs satisfy constraints.
func (s *Solver) holds(inputs []uint64, constraints []*Expr) bool {
	s.eval.beginRound(inputs)
	for _, e := range constraints {
		if s.eval.value(e) == 0 {
			return false
		}
	}
	return true
}

// nearer is the model with the current values of all inputs that can have them.
func (s *Solver) nearer(atoms []*Expr) []uint64 {
	changed := 0
	for i := range s.model {
		if s.model[i] != s.seed[i] {
			changed++
		}
	}
	for i := 0; i < len(s.model) && changed > 1; i++ {
		if v := s.model[i]; v != s.seed[i] {
			if s.model[i] = s.seed[i]; !s.holds(s.model, atoms) {
				s.model[i] = v
			} else {
				changed--
			}
		}
	}
	return slices.Clone(s.model)
}

// inputsOf are the numbers of the inputs that a constraint depends on.
func (s *Solver) inputsOf(e *Expr) []uint32 {
	list, ok := s.support[e]
	if !ok {
		s.round++
		walk := []*Expr{e}
		for len(walk) > 0 {
			n := walk[len(walk)-1]
			walk = walk[:len(walk)-1]
			if s.stamps[n.id] == s.round {
				continue
			}
			s.stamps[n.id] = s.round
			for _, x := range [...]*Expr{n.A, n.B, n.C} {
				if x != nil {
					walk = append(walk, x)
				}
			}
			if n.Op == Input {
				if n.Bits >= uint64(len(s.widths)) || s.widths[n.Bits] != n.Width {
					panic(fmt.Sprintf("bv: input %d of %d bits, which the solver has not", n.Bits, n.Width))
				}
				list = append(list, uint32(n.Bits))
			}
		}
		s.support[e] = list
	}
	return list
}

// decide asks the SAT solver. After Sat, s.model has the model.
func (s *Solver) decide(atoms []*Expr, budget int) Result {
	ok := s.literals(atoms)
	if !ok && s.first > 0 { // gates of earlier queries take the place
		s.blaster, s.first = newBlaster(), 0
		ok = s.literals(atoms)
	}
	if !ok {
		s.blaster = nil
		return Unknown
	}
	b := s.blaster
	concerned := make([]bool, len(s.widths))
	for _, e := range atoms {
		for _, n := range s.inputsOf(e) {
			concerned[n] = true
		}
	}
	s.wanted = s.wanted[:0]
	for n, yes := range concerned {
		if !yes {
			continue
		}
		for i, l := range b.inputs[uint64(n)] {
			b.vars[l.v()].negative = s.seed[n]>>i&1 == 0
			s.wanted = append(s.wanted, l.v())
		}
	}
	result := b.solve(s.lits, s.wanted, budget)
	if result == Sat {
		s.model = append(s.model[:0], s.seed...)
		for n, yes := range concerned {
			if !yes {
				continue
			}
			s.model[n] = 0
			for i, l := range b.inputs[uint64(n)] {
				s.model[n] |= truth(b.values[l] > 0) << i
			}
		}
	}
	return result
}

// literals makes gates of constraints. It reports whether there are not too many.
func (s *Solver) literals(atoms []*Expr) bool {
	s.lits = s.lits[:0]
	for _, e := range atoms {
		bits := s.blaster.word(e)
		if bits == nil {
			return false
		}
		s.lits = append(s.lits, bits[0])
	}
	return true
}
