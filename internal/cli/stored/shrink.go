package stored

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
	"github.com/bloodhound-dst/bloodhound/internal/shrink"
)

// Budgets of shrinking that are not set.
const (
	DefaultShrinkRuns = 1000
	defaultShrinkCPU  = 2 * time.Minute // of all failures of a campaign together
)

// KeepSmaller restores the smallest run that was known before a failure was shrunk again, if it is smaller and still shows the failure.
func KeepSmaller(ctx context.Context, a *console.App, s *project.Session, failure *report.Failure, known *report.Smallest) bool {
	if known == nil || !known.Shrunk.To.Less(failure.Smallest.Shrunk.To) {
		return false
	}
	setup := *s.Setup
	setup.Spec = failure.Spec
	pool := explore.NewPool(&setup, s.Command, 1)
	defer pool.Close()
	again, err := tries(pool, failure.Signature, nil)(ctx, shrink.Case{Tape: known.Tape, Cut: known.Cut}, true)
	if err != nil || !again.Same {
		return false
	}
	failure.Smallest = known
	return true
}

// ShrinkBudget bounds the shrinking of a failure.
type ShrinkBudget struct {
	Workers int
	Runs    int           // for one failure
	cpu     time.Duration // CPU time of all runs
	Time    time.Duration // 0 means unlimited
}

// ShrinkBudgetOf returns the budget that the flags set.
func ShrinkBudgetOf(f *flags.Set, workers int) ShrinkBudget {
	b := ShrinkBudget{Workers: workers, Runs: DefaultShrinkRuns, cpu: defaultShrinkCPU}
	if f.ShrinkRuns > 0 {
		b.Runs = int(f.ShrinkRuns)
	}
	if f.ShrinkCPU > 0 {
		b.cpu = f.ShrinkCPU
	}
	b.Time = f.ShrinkTime
	return b
}

// shrinkLine is the line of progress of shrinking.
func shrinkLine(id string, p *shrink.Progress, elapsed, idle time.Duration) []console.Part {
	size := p.Size
	parts := []console.Part{
		{Text: "shrinking " + id, Colour: console.Bold},
		{Text: plural.Count(size.Faults, "fault")},
		{Text: plural.Count(size.Operations, "operation")},
		{Text: plural.Count(size.Decisions, "decision") + " left"},
		{Text: plural.Count(p.Runs, "run")},
		{Text: elapsed.Round(time.Second).String()},
		{Text: p.Stage, Colour: console.Grey},
	}
	if idle > idleShown {
		parts = append(parts, console.Part{Text: "nothing smaller for " + idle.Round(time.Second).String()})
	}
	return parts
}

// idleShown is the time without a smaller run from which the line of progress shows it.
const idleShown = 20 * time.Second

// ShrinkFailure makes the smallest run of a failure smaller, or else the original one, and takes it into the failure.
func ShrinkFailure(ctx context.Context, a *console.App, s *project.Session, failure *report.Failure, b ShrinkBudget,
	show *console.Progress) (*shrink.Result, error) {
	setup := *s.Setup
	setup.Spec = failure.Spec
	pool := explore.NewPool(&setup, s.Command, b.Workers)
	defer pool.Close()
	if failure.Background == nil {
		failure.Background = &explore.Background{}
	}
	smaller, smallest := time.Now(), shrink.Size{}
	search := &shrink.Search{Spec: failure.Spec, Found: &failure.Tape, Try: tries(pool, failure.Signature, failure.Background),
		Workers: b.Workers, MaxRuns: b.Runs, MaxCPU: b.cpu, MaxTime: b.Time,
		Progress: func(p shrink.Progress) {
			if p.Size != smallest {
				smaller, smallest = time.Now(), p.Size
			}
			show.ShowParts(func(elapsed time.Duration) []console.Part {
				return shrinkLine(failure.ID, &p, elapsed, time.Since(smaller))
			})
		}}
	from := shrink.Case{Tape: failure.Tape}
	if small := failure.Smallest; small != nil {
		from = shrink.Case{Tape: small.Tape, Cut: small.Cut}
	}
	r, err := search.Shrink(ctx, from)
	if errors.Is(err, shrink.ErrGone) && failure.Smallest != nil {
		failure.Smallest = nil
		r, err = search.Shrink(ctx, shrink.Case{Tape: failure.Tape})
	}
	if err != nil {
		return nil, err
	}
	failure.Shrink(r)
	return r, nil
}

// tries makes runs on a pool and says which of them show a failure. The others belong to its background, if it has one.
func tries(pool *explore.Pool, signature string, background *explore.Background) shrink.Try {
	var mu sync.Mutex
	return func(ctx context.Context, c shrink.Case, proof bool) (*shrink.Run, error) {
		reply, err := pool.Do(ctx, &explore.Job{Request: runner.Request{Candidate: search.Candidate{Tape: c.Tape, FromBoot: proof}, Cut: &c.Cut, Along: true}})
		if err != nil {
			return nil, err
		}
		if v := explore.ShownExactly(reply.Summary.Verdicts, signature); v != nil && reply.Outcome != nil {
			return &shrink.Run{Same: reply.Summary.Repeat.Reproducible, Outcome: reply.Outcome, Verdict: *v, CPUNs: reply.CPU.Ns()}, nil
		}
		if background != nil {
			mu.Lock()
			background.Add(reply.Summary)
			mu.Unlock()
		}
		return &shrink.Run{CPUNs: reply.CPU.Ns()}, nil
	}
}
