package bv

import (
	"math/rand"
	"slices"
	"testing"
)

// most is a budget that these queries do not use up.
const most = 1 << 30

// every calls f with all values of inputs, until it gives false.
func every(widths []uint8, f func(inputs []uint64) bool) bool {
	in := make([]uint64, len(widths))
	for {
		if !f(in) {
			return false
		}
		i := 0
		for ; i < len(in); i++ {
			if in[i]++; in[i] <= Mask(widths[i]) {
				break
			}
			in[i] = 0
		}
		if i == len(in) {
			return true
		}
	}
}

// possible is the obvious twin of Solve.
func possible(widths []uint8, constraints []*Expr) bool {
	var ev evaluator
	return !every(widths, func(in []uint64) bool {
		ev.beginRound(in)
		for _, e := range constraints {
			if ev.value(e) == 0 {
				return true
			}
		}
		return false
	})
}

var small = [][]uint8{{4, 4}, {8}, {3, 1, 4}, {6, 5}, {2, 2, 2, 2}, {7, 1}, {5, 5}, {8, 4}}

// Answers agree with trying all inputs: for whole queries and their first parts, with one solver for many queries, by
// all steps and by SAT alone.
func TestAgainstAllInputs(t *testing.T) {
	r := rand.New(rand.NewSource(11))
	counts := map[Result]int{}
	var steps struct{ Domain, Repair, SAT, Unknown int }
	for world := range 60 {
		widths := small[world%len(small)]
		var b Builder
		all, alone := NewSolver(&b, widths), NewSolver(&b, widths)
		alone.SATOnly = true
		for range 40 {
			var list []*Expr
			for range 1 + r.Intn(5) {
				list = append(list, randomTerm(r, widths, 1, 1+r.Intn(4)).build(&b, make([]uint64, len(widths))))
			}
			want := Unsat
			if possible(widths, list) {
				want = Sat
			}
			counts[want]++
			seed := randomInputs(r, widths)
			for _, s := range []*Solver{all, alone} {
				model, got := s.Solve(seed, list, most)
				if got != want {
					t.Fatalf("%v is %v, not %v", list, got, want)
				}
				if got == Sat {
					for _, e := range list {
						if Eval(e, model) != 1 {
							t.Fatalf("%v does not hold for %#x", e, model)
						}
					}
				}
			}
		}
		steps.Domain += all.Answers.Domain
		steps.Repair += all.Answers.Repair
		steps.SAT += all.Answers.SAT
	}
	t.Log(counts, steps)
	if counts[Sat] < 300 || counts[Unsat] < 300 || steps.Domain < 100 || steps.Repair < 50 || steps.SAT < 100 {
		t.Errorf("the queries are of too few kinds: %v, %+v", counts, steps)
	}
}

// The gates of each operator are right for each value of its operands: the only value of its result that SAT finds is the one of Eval.
func TestGates(t *testing.T) {
	for _, w := range []uint8{1, 2, 3, 5} {
		var b Builder
		widths := []uint8{w, w, w, 1}
		x, y, z, c := b.Input(0, w, 0), b.Input(1, w, 0), b.Input(2, w, 0), b.Input(3, 1, 0)
		terms := []*Expr{b.Ite(c, x, y), b.Not(x), b.Neg(x)}
		for op := Add; op < ops; op++ {
			if f := constructors[op]; f != nil {
				terms = append(terms, f(&b, x, y), f(&b, x, b.Const(3, w)), f(&b, b.Const(5, w), y))
			}
		}
		for k := uint8(1); k < w; k++ {
			terms = append(terms, b.Extract(b.Add(x, y), k, w-k), b.Concat(b.Extract(x, 0, k), b.Extract(y, 0, w-k)),
				b.SExt(b.Extract(b.Add(x, y), 0, k), w), b.ZExt(b.Extract(b.Add(x, y), 0, k), w))
		}
		for _, e := range terms {
			s := NewSolver(&b, widths)
			s.SATOnly = true
			out := b.ZExt(e, w)
			result := b.Eq(out, z)
			every([]uint8{w, w, 1}, func(in []uint64) bool {
				fixed := []*Expr{result, b.Eq(x, b.Const(in[0], w)), b.Eq(y, b.Const(in[1], w)), b.Eq(c, b.Const(in[2], 1))}
				want := Eval(out, []uint64{in[0], in[1], 0, in[2]})
				model, got := s.Solve(make([]uint64, 4), fixed, most)
				if got != Sat || model[2] != want {
					t.Fatalf("%v for %d: %v, %v, not %d", e, in, got, model, want)
				}
				if _, got := s.Solve(make([]uint64, 4), append(fixed, b.Ne(z, b.Const(want, w))), most); got != Unsat {
					t.Fatalf("%v for %d may be another value than %d: %v", e, in, want, got)
				}
				return true
			})
		}
	}
}

// Constraints on single inputs are decided by domains alone, and as trying all values decides.
func TestDomains(t *testing.T) {
	r := rand.New(rand.NewSource(12))
	counts := map[Result]int{}
	for range 4000 {
		widths := []uint8{uint8(2 + r.Intn(7))}
		w := widths[0]
		var b Builder
		x := b.Input(0, w, 0)
		var list []*Expr
		for range 1 + r.Intn(6) {
			low := uint8(r.Intn(int(w)))
			part := b.Extract(x, low, uint8(1+r.Intn(int(w-low))))
			k := b.Const(interesting(r, part.Width), part.Width)
			f := []func(x, y *Expr) *Expr{b.Ne, b.Ne, b.Ne, b.Eq, b.Ult, b.Ule, b.Slt, b.Sle}[r.Intn(8)]
			e := f(part, k)
			if r.Intn(2) == 0 {
				e = f(k, part)
			}
			list = append(list, e)
		}
		s := NewSolver(&b, widths)
		seed := randomInputs(r, widths)
		model, got := s.Solve(seed, list, most)
		counts[got]++
		if want := possible(widths, list); want != (got == Sat) {
			t.Fatalf("%v is %v", list, got)
		}
		rest, _ := s.narrow(list)
		if got != Sat || len(rest) > 0 || s.Answers.Domain == 0 {
			continue
		}
		every(widths, func(in []uint64) bool {
			distance := func(v uint64) uint64 { return max(v, seed[0]) - min(v, seed[0]) }
			if s.holds(in, list) && distance(in[0]) < distance(model[0]) {
				t.Fatalf("%v: %d is nearer to %d than %d", list, in, seed, model)
			}
			return true
		})
	}
	if counts[Sat] < 500 || counts[Unsat] < 500 {
		t.Error(counts)
	}
}

// Random clauses near the ratio at which they are as often possible as not, as trying all values decides; with restarts, deletion
// of clauses and moves of the arena on the way.
func TestClauses(t *testing.T) {
	r := rand.New(rand.NewSource(13))
	counts := map[Result]int{}
	reduced := 0
	for i := range 400 {
		n := 4 + r.Intn(9)
		hard := i%20 == 0
		if hard {
			n = 120
		}
		s := newSAT()
		s.keepLearnt = 20
		var wanted []int32
		for range n {
			wanted = append(wanted, s.newVariable().v())
		}
		var clauses [][]lit
		for range int(4.26*float64(n)) - 3 {
			var c []lit
			for len(c) < 3 {
				if l := lit(2*(1+r.Intn(n)) + r.Intn(2)); !slices.Contains(c, l) && !slices.Contains(c, l.not()) {
					c = append(c, l)
				}
			}
			clauses = append(clauses, c)
			s.add(c...)
		}
		for range 4 {
			assumptions := []lit{lit(2*(1+r.Intn(n)) + r.Intn(2)), lit(2*(1+r.Intn(n)) + r.Intn(2))}
			got := s.solve(assumptions, wanted, most)
			counts[got]++
			good := func(value func(l lit) bool) bool {
				for _, l := range assumptions {
					if !value(l) {
						return false
					}
				}
				for _, c := range clauses {
					if !slices.ContainsFunc(c, value) {
						return false
					}
				}
				return true
			}
			if got == Sat && !good(func(l lit) bool { return s.values[l] > 0 }) {
				t.Fatal("values that do not satisfy the clauses")
			}
			if got == Unsat && !hard {
				every([]uint8{uint8(n)}, func(in []uint64) bool {
					if good(func(l lit) bool { return (in[0]>>(l.v()-1)^uint64(l))&1 == 1 }) {
						t.Fatalf("unsat, but %b satisfies the clauses", in[0])
					}
					return true
				})
			}
		}
		reduced += s.keepLearnt - 20
	}
	if counts[Sat] < 300 || counts[Unsat] < 300 || reduced == 0 {
		t.Errorf("%v, %d clauses deleted", counts, reduced)
	}
}

// The same queries in the same order have the same answers, to the bit.
func TestSameAnswers(t *testing.T) {
	run := func() (all [][]uint64) {
		r := rand.New(rand.NewSource(14))
		var b Builder
		widths := []uint8{32, 16, 8}
		s := NewSolver(&b, widths)
		for range 60 {
			var list []*Expr
			for range 1 + r.Intn(4) {
				list = append(list, randomTerm(r, widths, 1, 3).build(&b, make([]uint64, 3)))
			}
			model, result := s.Solve(randomInputs(r, widths), list, 200)
			all = append(all, append(model, uint64(result)))
		}
		return all
	}
	first := run()
	for i, answer := range run() {
		if !slices.Equal(answer, first[i]) {
			t.Fatalf("query %d: %v, and %v before", i, answer, first[i])
		}
	}
}

func TestBudget(t *testing.T) {
	var b Builder
	x, y := b.Input(0, 32, 0), b.Input(1, 32, 0)
	// A product of two primes, as a number of 64 bits.
	k := func(v uint64) *Expr { return b.Const(v, 32) }
	hard := []*Expr{
		b.Eq(b.Mul(b.ZExt(x, 64), b.ZExt(y, 64)), b.Const(4294967291*4294967279, 64)),
		b.Ult(k(1), x), b.Ult(k(1), y),
	}
	s := NewSolver(&b, []uint8{32, 32})
	if _, got := s.Solve([]uint64{2, 2}, hard, 100); got != Unknown || s.Answers.Unknown != 1 {
		t.Errorf("factors of a product of primes: %v after 100 conflicts", got)
	}
	if s.blaster.conflicts > 100 {
		t.Errorf("%d conflicts", s.blaster.conflicts)
	}
	easy := []*Expr{b.Eq(b.Mul(x, k(3)), k(21)), b.Eq(b.UDiv(k(1000), y), k(90))}
	if model, got := s.Solve([]uint64{2, 2}, easy, 10000); got != Sat || model[0] != 7 || model[1] != 11 {
		t.Errorf("%v, %d", got, model)
	}
}

// Inputs that constraints do not concern, and those that need not change, keep their values.
func TestModelsAreNear(t *testing.T) {
	var b Builder
	widths := []uint8{8, 8, 32, 16}
	x, y, z := b.Input(0, 8, 0), b.Input(1, 8, 0), b.Input(2, 32, 0)
	for _, alone := range []bool{false, true} {
		s := NewSolver(&b, widths)
		s.SATOnly = alone
		seed := []uint64{10, 20, 0xdeadbeef, 7}
		model, got := s.Solve(seed, []*Expr{b.Ult(b.Add(x, y), b.Const(5, 8)), b.Ne(z, b.Const(3, 32))}, most)
		if changed := truth(model[0] != 10) + truth(model[1] != 20); got != Sat || changed != 1 || model[2] != seed[2] || model[3] != 7 {
			t.Errorf("%v: %v, %#x", alone, got, model)
		}
	}
}

// A solver outlives the expressions of its Builder, and a number of gates that is too large to keep.
func TestSolverIsRecycled(t *testing.T) {
	var b Builder
	s := NewSolver(&b, []uint8{64, 64})
	s.SATOnly = true
	for i := range 30 {
		if i == 15 {
			b.Reset()
		}
		x, y := b.Input(0, 64, 0), b.Input(1, 64, 0)
		k := b.Const(uint64(1000+i), 64)
		model, got := s.Solve([]uint64{77, 88}, []*Expr{b.Eq(b.Mul(x, k), b.Mul(b.Const(12345, 64), k)), b.Eq(b.UDiv(x, k), y)}, most)
		if got != Sat || model[0]*uint64(1000+i) != 12345*uint64(1000+i) {
			t.Fatal(i, got, model)
		}
		if len(s.blaster.vars) > variablesKept+(growth+1)*30000 {
			t.Fatalf("%d variables", len(s.blaster.vars))
		}
	}
}

func TestSolveRefusesOtherInputs(t *testing.T) {
	var b Builder
	for name, f := range map[string]func(){
		"a short seed": func() { NewSolver(&b, []uint8{8}).Solve(nil, nil, most) },
		"another width": func() {
			NewSolver(&b, []uint8{8}).Solve([]uint64{0}, []*Expr{b.Ult(b.Input(0, 16, 0), b.Input(1, 16, 0))}, most)
		},
		"no truth value": func() { NewSolver(&b, []uint8{8}).Solve([]uint64{0}, []*Expr{b.Input(2, 8, 0)}, most) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s was taken", name)
				}
			}()
			f()
		}()
	}
}

// A query of too many gates is given up; one that has room beside no other gates gets it.
func TestTooManyGates(t *testing.T) {
	var b Builder
	x, y := b.Input(0, 64, 0), b.Input(1, 64, 0)
	quotients := func(n int) *Expr {
		e := x
		for i := range n {
			e = b.UDiv(e, b.Xor(y, b.Const(uint64(i)<<8, 64)))
		}
		return b.Ne(e, b.Const(1, 64))
	}
	s := NewSolver(&b, []uint8{64, 64})
	s.SATOnly = true
	seed := []uint64{5, 7}
	for _, c := range []struct {
		quotients int
		want      Result
	}{{1, Sat}, {8, Sat}, {200, Unknown}, {1, Sat}} {
		if _, got := s.Solve(seed, []*Expr{quotients(c.quotients)}, 1000); got != c.want {
			t.Errorf("%d quotients: %v, not %v", c.quotients, got, c.want)
		}
		if s.blaster != nil && len(s.blaster.vars) > variablesMax+50000 {
			t.Errorf("%d variables", len(s.blaster.vars))
		}
	}
}
