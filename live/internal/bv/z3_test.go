package bv_test

import (
	"math/rand"
	"os"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
	"github.com/bloodhound-dst/bloodhound/live/internal/bv"
	"github.com/bloodhound-dst/bloodhound/live/internal/bv/smtlib"
)

// Random queries have the answers of z3, and z3's models satisfy them by Eval: of widths up to 64, with all operators. In every
// fourth one all inputs are fixed, so that it compares values.
func TestAgainstZ3(t *testing.T) {
	path := needs.Program(t, "z3")
	count := 600
	if os.Getenv("BLOODHOUND_SOAK") != "" {
		count = 50000
	}
	shapes := [][]uint8{{64}, {32, 8}, {16, 16, 16}, {8, 8, 8, 8}, {64, 32, 1}, {13, 24, 50}, {12, 12}}
	results := map[bv.Result]int{}
	var p *smtlib.Process
	var b bv.Builder
	solvers := make([]*bv.Solver, 2)
	r := rand.New(rand.NewSource(31))
	for i := range count {
		widths := shapes[i/100%len(shapes)]
		if i%100 == 0 { // an input has one width in a Builder
			b.Reset()
			for n := range solvers {
				solvers[n] = bv.NewSolver(&b, widths)
				solvers[n].SATOnly = n == 1
			}
			if p != nil {
				p.Close()
			}
			var err error
			if p, err = smtlib.Start(path); err != nil {
				t.Fatal(err)
			}
		}
		var list []*bv.Expr
		for range 1 + r.Intn(4) {
			list = append(list, bv.RandomCondition(&b, r, widths, 1+r.Intn(4)))
		}
		seed := bv.RandomValues(r, widths)
		if i%4 == 0 {
			for n, w := range widths {
				list = append(list, b.Eq(b.Input(n, w, 0), b.Const(seed[n], w)))
			}
			seed = bv.RandomValues(r, widths)
		}
		_, result, err := p.Compare(solvers[i/4%2], seed, list, 500)
		if err != nil {
			t.Fatalf("query %d: %v", i, err)
		}
		results[result]++
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	t.Log(results)
	if results[bv.Sat] < count/5 || results[bv.Unsat] < count/5 || results[bv.Unknown] > count/20 {
		t.Errorf("the queries are of too few kinds: %v", results)
	}
}
