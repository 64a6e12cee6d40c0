package cause

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"
)

func TestInterval(t *testing.T) {
	for _, c := range []struct {
		failed, runs int
		low, high    float64 // from tables
	}{{0, 10, 0, 0.3085}, {10, 10, 0.6915, 1}, {5, 10, 0.1871, 0.8129}, {1, 20, 0.0013, 0.2487}, {40, 40, 0.9119, 1}} {
		low, high := Interval(c.failed, c.runs)
		if math.Abs(low-c.low) > 5e-4 || math.Abs(high-c.high) > 5e-4 {
			t.Errorf("%d of %d: %.4f to %.4f, want %.4f to %.4f", c.failed, c.runs, low, high, c.low, c.high)
		}
	}
	// Intervals are honest: they have the probability in at least 95 of 100 samples.
	for _, p := range []float64{0.02, 0.3, 0.5, 0.9} {
		for _, runs := range []int{10, 40} {
			in := 0.0
			for k := 0; k <= runs; k++ {
				if low, high := Interval(k, runs); low <= p && p <= high {
					in += atMost(k, runs, p) - func() float64 {
						if k == 0 {
							return 0
						}
						return atMost(k-1, runs, p)
					}()
				}
			}
			if in < 0.95 {
				t.Errorf("a probability of %v lies in the interval of %.3f of all samples of %d", p, in, runs)
			}
		}
	}
}

// decided makes runs whose failure is likely as a function of the time of their cut.
func decided(moments []int64, likely func(at int64) float64, runs *atomic.Int64) *Search {
	return &Search{FromNs: 100, ToNs: 1_000_000, Moments: moments, Seed: 1, Workers: 2, Sample: func(_ context.Context, at int64, seed uint64) (bool, error) {
		runs.Add(1)
		return rand.New(rand.NewPCG(seed, 2)).Float64() < likely(at), nil
	}}
}

// The choice that decides is found among many, and its two intervals have the true probabilities.
func TestJump(t *testing.T) {
	var moments []int64
	for i := range 1000 {
		moments = append(moments, 100+int64(i)*997)
	}
	inside, all := 0, 0
	for trial := range 100 {
		culprit := moments[10*trial+3]
		likely := func(at int64) float64 {
			if at <= culprit { // it is drawn again
				return 0.1
			}
			return 0.9
		}
		var runs atomic.Int64
		s := decided(moments, likely, &runs)
		s.Seed = uint64(trial)
		r, err := s.Find(context.Background())
		if err != nil || r.Ended != "" || r.Runs != int(runs.Load()) {
			t.Fatal(r, err, runs.Load())
		}
		if r.Jump == nil || !r.Jump.Clear {
			t.Errorf("trial %d: no jump: %+v", trial, r)
			continue
		}
		if r.Jump.Before.AtNs != culprit {
			t.Errorf("trial %d: the jump is at %d, not %d", trial, r.Jump.Before.AtNs, culprit)
		}
		for _, p := range []Point{r.Jump.Before, r.Jump.After} {
			all++
			if v := likely(p.AtNs); p.Low <= v && v <= p.High {
				inside++
			}
		}
	}
	if inside < all*95/100 {
		t.Errorf("%d of %d intervals have the probability", inside, all)
	}
}

// Where chance decides nothing, or each choice a little, no jump is claimed to be clear.
func TestNoJump(t *testing.T) {
	var moments []int64
	for i := range 1000 {
		moments = append(moments, 100+int64(i)*997)
	}
	for _, c := range []struct {
		name   string
		likely func(at int64) float64
		none   bool
	}{
		{"always", func(int64) float64 { return 1 }, true},
		{"never", func(int64) float64 { return 0 }, true},
		{"slowly", func(at int64) float64 { return float64(at) / 1e6 }, false},
	} {
		clear := 0
		for trial := range 20 {
			var runs atomic.Int64
			s := decided(moments, c.likely, &runs)
			s.Seed = uint64(trial)
			r, err := s.Find(context.Background())
			if err != nil || c.none && r.Jump != nil {
				t.Fatalf("%s: %+v %v", c.name, r, err)
			}
			if r.Jump != nil && r.Jump.Clear {
				clear++
			}
		}
		if clear > 2 {
			t.Errorf("%s: %d of 20 jumps are said to be clear", c.name, clear)
		}
	}
}

func TestBudget(t *testing.T) {
	var runs atomic.Int64
	s := decided([]int64{200, 300}, func(int64) float64 { return 0.5 }, &runs)
	s.MaxRuns = 25
	if r, err := s.Find(context.Background()); err != nil || r.Runs != 25 || r.Ended == "" || len(r.Points) != 3 || r.Points[2].Runs != 5 {
		t.Errorf("%+v %v", r, err)
	}
	s = decided(nil, func(int64) float64 { return 0.5 }, &runs)
	s.MaxTime = time.Millisecond
	s.Sample = func(ctx context.Context, _ int64, _ uint64) (bool, error) { <-ctx.Done(); return false, ctx.Err() }
	if r, err := s.Find(context.Background()); err != nil || r.Ended == "" || r.Jump != nil {
		t.Errorf("%+v %v", r, err)
	}
	broken := errors.New("broken")
	s.Sample = func(context.Context, int64, uint64) (bool, error) { return false, broken }
	if _, err := s.Find(context.Background()); !errors.Is(err, broken) {
		t.Error(err)
	}
}
