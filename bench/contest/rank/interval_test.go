package rank

import (
	"math"
	"testing"
)

func TestHolm(t *testing.T) {
	got := Holm([]float64{0.04, 0.01, 0.03, 0.005})
	for i, want := range []float64{0.06, 0.03, 0.06, 0.02} {
		if math.Abs(got[i]-want) > 1e-12 {
			t.Errorf("%v at %d, want %v", got[i], i, want)
		}
	}
	if got := Holm([]float64{0.6, 0.7}); got[0] != 1 || got[1] != 1 {
		t.Errorf("no p is above 1: %v", got)
	}
}

// The bounds are where the binomial distribution has a tail of 2.5 %, to be looked up in tables.
func TestShare(t *testing.T) {
	for _, c := range []struct {
		found, n  int
		low, high float64
	}{{15, 20, 0.5090, 0.9134}, {20, 20, 0.8316, 1}, {0, 20, 0, 0.1684}, {1, 2, 0.0126, 0.9874}, {0, 0, 0, 1}} {
		if got := Share(c.found, c.n); math.Abs(got.Low-c.low) > 1e-4 || math.Abs(got.High-c.high) > 1e-4 {
			t.Errorf("%d of %d: %v, want %v to %v", c.found, c.n, got, c.low, c.high)
		}
	}
}

// Of samples from a distribution whose ratio of medians is known, some 38 of 40 intervals hold it.
func TestMedianRatio(t *testing.T) {
	d := draws(7)
	exponential := func(mean float64) []float64 {
		list := make([]float64, 20)
		for i := range list {
			list[i] = -mean * math.Log((float64(d.below(1<<30))+1)/(1<<30))
		}
		return list
	}
	held := 0
	for range 40 {
		if _, i := MedianRatio(exponential(1), exponential(5), math.Inf(1)); i.Low <= 5 && 5 <= i.High {
			held++
		}
	}
	if held < 34 {
		t.Errorf("%d of 40 intervals hold the ratio", held)
	}
	inf := math.Inf(1)
	if ratio, i := MedianRatio([]float64{1, 2, 3}, []float64{inf, inf, inf}, 10); !math.IsInf(ratio, 1) || i.Low != 10/3.0 || !math.IsInf(i.High, 1) {
		t.Errorf("base finds nothing: %v %v", ratio, i)
	}
	if ratio, i := MedianRatio([]float64{inf, inf}, []float64{inf, inf}, 10); !math.IsNaN(ratio) || i.Low != 0 || !math.IsInf(i.High, 1) {
		t.Errorf("neither finds anything: %v %v", ratio, i)
	}
}

func TestRates(t *testing.T) {
	often, seldom := make([]Work, 20), make([]Work, 20)
	for i := range often {
		often[i], seldom[i] = Work{true, uint64(5 + i%5)}, Work{i%2 == 0, 100}
	}
	// 1 in 7 runs against 1 in 200.
	if i := Middle(Rates(often, seldom)); i.Low > 200.0/7 || i.High < 200.0/7 || i.Low < 15 || i.High > 70 {
		t.Errorf("%v", i)
	}
}
