package rank

import (
	"math"
	"testing"
)

func TestAgainstBest(t *testing.T) {
	same := func(x float64) []float64 { return []float64{x, x, x} }
	samples := [][][]float64{
		{same(2), same(8)},           // the first choice is the best one, four times
		{same(10), same(10)},         // both are
		{same(math.Inf(1)), same(5)}, // the first one never gets there in 100 runs
	}
	mean, worst := AgainstBest(samples, 100)
	for i, want := range []float64{math.Cbrt(20), math.Cbrt(4)} {
		if m := mean[i]; !near(m.Value, want) || !near(m.Low, want) || !near(m.High, want) {
			t.Errorf("choice %d: %+v, want %v without spread", i, m, want)
		}
	}
	if worst[0] != 20 || worst[1] != 4 {
		t.Errorf("the worst are %v", worst)
	}
	spread, _ := AgainstBest([][][]float64{{{1, 2, 3, 4, 5, 6, 7, 8}, same(1)}}, 100)
	if m := spread[0]; !near(m.Value, 4.5) || m.Low >= m.Value || m.High <= m.Value {
		t.Errorf("%+v has no spread around 4.5", m)
	}
	if mean, worst := AgainstBest(nil, 100); mean != nil || worst != nil {
		t.Error("something was computed of nothing")
	}
}
