// Package cause finds out from which moment on a run was likely to fail. A run keeps its choices up to a cut point and is made again many
// times with new random choices after it: the share of these runs that fail is how likely the failure was at that moment. Where the share
// jumps from one choice to the next, that choice has decided the run (the moment of no return). The package knows runs only by a
// function that makes one.
package cause

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/splitmix"
)

// Point is how likely the failure is from a cut point on, as further runs show: of so many Runs, Failed have failed.
type Point struct {
	// AtNs is the virtual time from which on choices are left to chance; what is chosen at that time is left to it already.
	AtNs   int64 `json:"at_ns"`
	Failed int   `json:"failed"`
	Runs   int   `json:"runs"`
	// Low and High are the 95 % confidence interval of the probability (Clopper and Pearson, "The Use of Confidence or Fiducial Limits", 1934).
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Share is the part of the runs that have failed.
func (p *Point) Share() float64 {
	if p.Runs == 0 {
		return 0
	}
	return float64(p.Failed) / float64(p.Runs)
}

// Jump is the step between two neighbouring cut points at which the failure becomes likely: what was chosen at the time of Before is
// left to chance by Before, and kept by After. The runs of both points were made after the step had been chosen, so that their
// intervals do not suffer from that choice.
type Jump struct {
	Before Point `json:"before"`
	After  Point `json:"after"`
	// Clear says that the two intervals do not meet: the step is no accident of the sample.
	Clear bool `json:"clear"`
}

// Result holds the failure rates that a Search measured, and the largest step between them.
type Result struct {
	Points []Point `json:"points"` // in the order of time
	// Jump is the largest step. It is nil if there is none: chance decided nothing, or not enough runs were made.
	Jump *Jump `json:"jump,omitempty"`
	Runs int   `json:"runs"`
	// Ended is why the search ended early; empty if it did not.
	Ended string `json:"ended,omitempty"`
}

// Search makes runs of a failing run that differ from it behind cut points.
type Search struct {
	// FromNs and ToNs bound the cut points: the end of setup, say, and the failure. Moments are the virtual times at which something was
	// chosen; cut points lie there, and at eleven times in equal distances.
	FromNs, ToNs int64
	Moments      []int64
	// Sample makes the run that leaves to chance, as seed says, what is chosen at a virtual time and later, and reports whether it fails.
	// Several goroutines call it.
	Sample  func(ctx context.Context, atNs int64, seed uint64) (failed bool, err error)
	Seed    uint64
	Workers int
	MaxRuns int
	MaxTime time.Duration
	// Progress, if not nil, is given the number of runs so far.
	Progress func(runs int)
}

// How many runs are made: of the points that are looked at first, of each point, and of the two at the jump, beside those.
const (
	firstPoints = 11
	pointRuns   = 10
	jumpRuns    = 40
	maxSettled  = 4    // times that fresh runs are made
	finest      = 1000 // the part of the time to look at below which it is not halved
)

// errBudget ends a search whose runs or time are used up.
var errBudget = errors.New("the budget ended")

// Find makes the runs. An error is one of Sample's; the end of ctx or of the budget ends the search early.
func (s *Search) Find(ctx context.Context) (*Result, error) {
	f := finder{Search: s, result: &Result{}, points: map[int64]*Point{}}
	for _, at := range s.Moments {
		if at > s.FromNs && at < s.ToNs {
			f.moments = append(f.moments, at)
		}
	}
	slices.Sort(f.moments)
	f.moments = slices.Compact(f.moments)
	if s.MaxTime > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, s.MaxTime, errBudget)
		defer cancel()
	}
	err := f.find(ctx)
	for _, at := range f.known() {
		p := f.points[at]
		p.Low, p.High = Interval(p.Failed, p.Runs)
		f.result.Points = append(f.result.Points, *p)
	}
	switch {
	case errors.Is(err, errBudget), err != nil && context.Cause(ctx) != nil:
		f.result.Ended = "it was interrupted"
		if errors.Is(err, errBudget) || errors.Is(context.Cause(ctx), errBudget) {
			f.result.Ended = errBudget.Error()
		}
		err = nil
	}
	return f.result, err
}

// finder is a search that is under way.
type finder struct {
	*Search
	result  *Result
	moments []int64          // those within the bounds
	points  map[int64]*Point // those that were sampled, by their time
}

func (f *finder) find(ctx context.Context) error {
	for k := range firstPoints {
		if err := f.sample(ctx, f.FromNs+(f.ToNs-f.FromNs)*int64(k)/(firstPoints-1)); err != nil {
			return err
		}
	}
	for settled := 0; ; {
		a, b := f.step()
		if at, ok := f.between(a, b); ok {
			if err := f.sample(ctx, at); err != nil {
				return err
			}
			continue
		}
		if settled++; settled > maxSettled {
			return nil
		}
		if done, err := f.settle(ctx, a, b, settled); done || err != nil {
			return err
		}
	}
}

// between is the next cut point to look at between two neighbouring ones: the middle one of the moments there, or, where nothing was chosen
// at the first of the two, the time in the middle.
func (f *finder) between(a, b int64) (at int64, ok bool) {
	i, known := slices.BinarySearch(f.moments, a)
	if known {
		i++
	}
	k, _ := slices.BinarySearch(f.moments, b)
	switch {
	case i < k:
		return f.moments[i+(k-i)/2], true
	case !known && b-a > (f.ToNs-f.FromNs)/finest:
		return a + (b-a)/2, true
	}
	return 0, false
}

// known are the times of the points that were sampled, in order.
func (f *finder) known() []int64 { return slices.Sorted(maps.Keys(f.points)) }

// step is the pair of neighbouring points between which the failure becomes likely: the change point of a curve that has one level before
// and a higher one after it, by maximum likelihood over all runs, so that no sample decides alone. Of equal ones it is the last.
func (f *finder) step() (a, b int64) {
	known := f.known()
	most := math.Inf(-1)
	for k := 1; k < len(known); k++ {
		before, after := f.sum(known[:k]), f.sum(known[k:])
		if after.Share() < before.Share() {
			continue
		}
		if by := before.likelihood() + after.likelihood(); by >= most {
			a, b, most = known[k-1], known[k], by
		}
	}
	return a, b
}

// sum counts the runs of several points.
func (f *finder) sum(times []int64) (p Point) {
	for _, at := range times {
		p.Failed, p.Runs = p.Failed+f.points[at].Failed, p.Runs+f.points[at].Runs
	}
	return p
}

// likelihood is the logarithm of the probability that the runs come out as they did, if each fails with a probability that is their share.
func (p *Point) likelihood() float64 {
	term := func(n int, share float64) float64 {
		if n == 0 {
			return 0
		}
		return float64(n) * math.Log(share)
	}
	return term(p.Failed, p.Share()) + term(p.Runs-p.Failed, 1-p.Share())
}

// settle makes fresh runs on both sides of the step that was found, and reports whether that is the end. A step that they do not confirm
// may have been one of the samples: the runs count as others do, and the search goes on.
func (f *finder) settle(ctx context.Context, a, b int64, attempt int) (done bool, err error) {
	known := f.known()
	k := max(slices.Index(known, b), 0)
	if before, after := f.sum(known[:k]), f.sum(known[k:]); a == b || after.Share() <= before.Share() {
		return true, nil
	}
	j := &Jump{Before: Point{AtNs: a}, After: Point{AtNs: b}}
	for from := uint64(attempt) << 32; err == nil && j.After.Runs < jumpRuns; from += pointRuns { // a budget that ends leaves both with runs
		for _, p := range []*Point{&j.Before, &j.After} {
			if err == nil {
				err = f.runs(ctx, p, pointRuns, from)
			}
			p.Low, p.High = Interval(p.Failed, p.Runs)
		}
	}
	if f.result.Jump = nil; j.After.Share() > j.Before.Share() {
		f.result.Jump = j
	}
	if j.Clear = j.After.Low > j.Before.High; j.Clear || err != nil {
		return true, err
	}
	for _, p := range []*Point{&j.Before, &j.After} {
		q := f.points[p.AtNs]
		q.Failed, q.Runs = q.Failed+p.Failed, q.Runs+p.Runs
	}
	return false, nil
}

// sample looks at a cut point, if that was not done.
func (f *finder) sample(ctx context.Context, at int64) error {
	if f.points[at] != nil {
		return nil
	}
	p := &Point{AtNs: at}
	err := f.runs(ctx, p, pointRuns, 0)
	if p.Runs > 0 {
		f.points[at] = p
	}
	return err
}

// runs makes so many runs of a cut point, with seeds from a number on.
func (f *finder) runs(ctx context.Context, p *Point, runs int, from uint64) error {
	short := runs
	if f.MaxRuns > 0 {
		short = min(runs, f.MaxRuns-f.result.Runs)
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	var first error
	next := 0
	for range max(f.Workers, 1) {
		all.Go(func() {
			for {
				mu.Lock()
				k := next
				next++
				over := k >= short || first != nil || ctx.Err() != nil
				mu.Unlock()
				if over {
					return
				}
				failed, err := f.Sample(ctx, p.AtNs, splitmix.Mix(f.Seed+splitmix.Mix(uint64(p.AtNs))+from+uint64(k)))
				mu.Lock()
				switch {
				case err != nil:
					first = err
				default:
					p.Runs++
					f.result.Runs++
					if failed {
						p.Failed++
					}
					if f.Progress != nil {
						f.Progress(f.result.Runs)
					}
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	switch {
	case first != nil:
		return first
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case short < runs:
		return errBudget
	}
	return nil
}
