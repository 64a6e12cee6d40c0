package rank

import (
	"math"
	"math/rand/v2"
	"testing"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

// permuted is the slow obvious twin of MannWhitney: it chooses x from all values in every way, and counts how often the mean
// ranks of both samples are at least as far apart.
func permuted(x, y []float64) float64 {
	all := append(append([]float64(nil), x...), y...)
	rank := func(v float64) float64 {
		below, same := 0.0, 0.0
		for _, o := range all {
			if o < v {
				below++
			} else if o == v {
				same++
			}
		}
		return below + (same+1)/2
	}
	n, mean := len(x), float64(len(x))*float64(len(all)+1)/2
	distance := func(chosen []float64) float64 {
		sum := 0.0
		for _, v := range chosen {
			sum += rank(v)
		}
		return math.Abs(sum - mean)
	}
	observed := distance(x)
	ways, far := 0.0, 0.0
	for set := range 1 << len(all) {
		var chosen []float64
		for i, v := range all {
			if set>>i&1 == 1 {
				chosen = append(chosen, v)
			}
		}
		if len(chosen) != n {
			continue
		}
		ways++
		if distance(chosen) >= observed-1e-9 {
			far++
		}
	}
	return far / ways
}

func TestExactIsThatOfAllPermutations(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		sample := func() []float64 {
			list := make([]float64, 1+r.IntN(6))
			for i := range list {
				list[i] = float64(r.IntN(8))
				if list[i] == 7 {
					list[i] = math.Inf(1)
				}
			}
			return list
		}
		x, y := sample(), sample()
		if got, want := MannWhitney(x, y), permuted(x, y); !near(got, want) {
			t.Fatalf("%v against %v: %v, want %v", x, y, got, want)
		}
	}
}

// Known values: of a table of the test's exact distribution, and of a published example.
func TestKnownValues(t *testing.T) {
	for _, c := range []struct {
		x, y []float64
		p    float64
	}{
		{[]float64{1, 2, 3}, []float64{4, 5, 6}, 0.1},                               // 2 of the 20 ways
		{[]float64{1, 2, 3, 4, 5}, []float64{6, 7, 8, 9, 10}, 2.0 / 252},            // the smallest of 5 and 5
		{[]float64{1, 1, 1}, []float64{1, 1, 1}, 1},                                 // nothing to compare
		{[]float64{19, 22, 16, 29, 24}, []float64{20, 11, 17, 12}, 2 * 7.0 / 126.0}, // U = 17 and 3
	} {
		if got := MannWhitney(c.x, c.y); !near(got, c.p) {
			t.Errorf("%v against %v: p is %v, want %v", c.x, c.y, got, c.p)
		}
	}
}

// Beyond the limit the approximation continues where the exact value ends.
func TestApproximationIsNearTheExactValue(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		x, y := make([]float64, 45), make([]float64, 50)
		shift := r.IntN(8)
		for i := range x {
			x[i] = float64(r.IntN(30))
		}
		for i := range y {
			y[i] = float64(r.IntN(30) + shift)
		}
		ranks := doubled(append(append([]float64(nil), x...), y...))
		sum := 0
		for _, k := range ranks[:len(x)] {
			sum += k
		}
		a, e := approximate(ranks, len(x), sum), exact(ranks, len(x), sum)
		if math.Abs(a-e) > 0.01 {
			t.Errorf("%v approximately, %v exactly", a, e)
		}
	}
}

func TestA12(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		x, y []float64
		want float64
	}{
		{[]float64{1, 2}, []float64{3, 4}, 1},
		{[]float64{3, 4}, []float64{1, 2}, 0},
		{[]float64{1, 3}, []float64{2, 3}, 0.625},
		{[]float64{inf, 1}, []float64{inf, inf}, 0.75},
	} {
		if got := A12(c.x, c.y); !near(got, c.want) {
			t.Errorf("%v of %v, %v; want %v", got, c.x, c.y, c.want)
		}
	}
}

func TestQuantile(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		values []float64
		q      float64
		want   float64
	}{
		{[]float64{5}, 0.5, 5},
		{[]float64{4, 1, 3, 2}, 0.5, 2.5},
		{[]float64{4, 1, 3, 2}, 0.25, 1.75},
		{[]float64{1, 2, inf}, 0.5, 2},
		{[]float64{1, 2, inf}, 0.75, inf},
		{[]float64{inf, inf}, 0.5, inf},
	} {
		if got := Quantile(c.values, c.q); got != c.want && !near(got, c.want) {
			t.Errorf("quantile %v of %v is %v, want %v", c.q, c.values, got, c.want)
		}
	}
}
