package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/shrink"
)

// Budgets of shrinking that are not set.
const (
	defaultShrinkRuns = 1000
	defaultShrinkCPU  = 2 * time.Minute // of all failures of a campaign together
)

func (a *app) shrinkVerb() *cobra.Command {
	f := &flags{}
	c := &cobra.Command{
		Use:   "shrink ID [FOLDER or FILE]",
		Short: "Shrink the run of a failure",
		Long: `Shrinks the run of a failure while it still violates the property in the same way: fewer faults and other decisions, fewer
operations and nodes, less time. The failure's file keeps the original and the smallest run; replay and report use the smallest.
If the budget ends first, the next shrink continues.
Exit code 0: the smallest run is 1-minimal; 5: the budget ended before that was proven, or the run does not show the failure
any more; 4: it does not repeat.`,
		Args: failureArguments,
		RunE: func(c *cobra.Command, args []string) error { return a.shrink(c, f, args) },
	}
	f.where(c)
	f.shrinking(c)
	f.snapshotFlag(c)
	f.workersFlag(c)
	addSwitch(c, &f.original, "original", "start from the original run again")
	f.updateFlag(c)
	return c
}

// shrinkDocument is the JSON document of shrink.
type shrinkDocument struct {
	Bloodhound string         `json:"bloodhound"`
	Verb       string         `json:"verb"`
	ExitCode   int            `json:"exit_code"`
	Failure    string         `json:"failure"` // id
	File       string         `json:"file"`
	Shrunk     *shrink.Shrunk `json:"shrunk"`
}

func (a *app) shrink(c *cobra.Command, f *flags, args []string) error {
	p, failure, err := a.loadFailure(c, f, args)
	if err != nil {
		return err
	}
	if p.spec == nil {
		defer os.RemoveAll(p.state)
	}
	if err := repeats(failure.Spec, "bloodhound shrink"); err != nil {
		return err
	}
	known := failure.Smallest
	if f.original {
		failure.Smallest = nil
	}
	stored := failure.Small()
	s, err := a.openFailure(p, stored)
	if err != nil {
		return p.lacking(args[0], failure, err)
	}
	defer s.close()
	changed, changes, err := a.replayStored(c.Context(), p, s, stored)
	if err != nil {
		return err
	}
	tree := s.treeNow(stored)
	s.setup.Spec = failure.Spec
	workers := p.workersOf(int(f.workers))
	s.setup.Snapshots = a.snapshots(f, p, workers)
	show := newProgress(a.err, false, f.json)
	b := f.shrinkBudget(workers)
	r, err := a.shrinkFailure(c.Context(), s, failure, b, show)
	show.end()
	if c.Context().Err() != nil && r == nil {
		return errInterrupted
	}
	switch {
	case errors.Is(err, shrink.ErrGone), errors.Is(err, shrink.ErrBare):
		return program.WithCode(check.ExitUnknown,
			fmt.Errorf("failure %s cannot be shrunk: %w\n%s\n  `bloodhound replay --all` searches near it", failure.ID, err, whyChanged(changes)))
	case errors.Is(err, shrink.ErrVaries):
		return program.WithCode(check.ExitNotReproducible, fmt.Errorf("failure %s cannot be shrunk: %w", failure.ID, err))
	case err != nil:
		return failed(err)
	}
	if f.original && a.keepsSmaller(c.Context(), s, failure, known) && !f.json {
		fmt.Fprintf(a.out, "the smallest run that was known is smaller than what the original run came to, and is kept\n")
	}
	if failure.Smallest != known {
		failure.Smallest.Tree = tree
	}
	var path string
	if changed {
		path, err = a.storeRenewed(p, args[0], failure, f.update)
	} else {
		path, err = p.store(args[0], failure)
	}
	if err != nil {
		return err
	}
	shrunk := &failure.Smallest.Shrunk
	if !shrunk.Minimal {
		a.code = check.ExitUnknown
	}
	if f.json {
		return a.printJSON(shrinkDocument{program.Version(), "shrink", a.code, failure.ID, path, shrunk})
	}
	name := args[0]
	if report.IsFailurePath(name) {
		name = path // it may be stored elsewhere
	}
	fmt.Fprintf(a.out, "%s\nreplay\n  bloodhound replay %s%s\n  (stored in %s)\n", report.Shrunk(shrunk), shellQuote(name), argumentsOf(f, args[1:]), path)
	return nil
}

// replayStored makes the run of a failure before it is shrunk, and reports whether it has changed, and what else has.
func (a *app) replayStored(ctx context.Context, p *project, s *session, stored *report.Failure) (changed bool, changes []string, err error) {
	reply, err := s.run(ctx, &explore.Job{Tape: stored.Tape, Full: true}, nil)
	if err != nil || reply.Summary.Hash == stored.Hash {
		return false, nil, err
	}
	changes = p.changes(stored, reply.Outcome)
	if explore.Shown(reply.Summary.Verdicts, stored.Signature) == nil {
		return true, changes, nil // the original run may show it
	}
	return true, changes, a.changedRun(ctx, p, s, stored, reply, "shrunk")
}

// keepsSmaller gives a failure the smallest run back that was known before its original run was shrunk again, if that is smaller and still shows the
// failure.
func (a *app) keepsSmaller(ctx context.Context, s *session, failure *report.Failure, known *report.Smallest) bool {
	if known == nil || !known.Shrunk.To.Less(failure.Smallest.Shrunk.To) {
		return false
	}
	setup := *s.setup
	setup.Spec = failure.Spec
	pool := explore.NewPool(&setup, s.command, 1)
	defer pool.Close()
	again, err := tries(pool, failure.Signature, nil)(ctx, shrink.Case{Tape: known.Tape, Cut: known.Cut}, true)
	if err != nil || !again.Same {
		return false
	}
	failure.Smallest = known
	return true
}

// store writes a failure where a command has found it: in the file that it named, or in the state folder by its id.
func (p *project) store(name string, f *report.Failure) (path string, err error) {
	if path = name; !report.IsFailurePath(path) {
		path = f.Path(p.state)
	}
	if err := report.Write(path, f); err != nil {
		return "", failed(err)
	}
	return path, nil
}

// shrinkBudget bounds the shrinking of a failure.
type shrinkBudget struct {
	workers int
	runs    int           // for one failure
	cpu     time.Duration // CPU time of all runs
	time    time.Duration // 0 is no bound
}

func (f *flags) shrinkBudget(workers int) shrinkBudget {
	b := shrinkBudget{workers: workers, runs: defaultShrinkRuns, cpu: defaultShrinkCPU}
	if f.shrinkRuns > 0 {
		b.runs = int(f.shrinkRuns)
	}
	if f.shrinkCPU > 0 {
		b.cpu = f.shrinkCPU
	}
	b.time = f.shrinkTime
	return b
}

// shrinkLine is the line of progress of shrinking.
func shrinkLine(id string, p *shrink.Progress, elapsed time.Duration) []part {
	size := p.Size
	return []part{
		{"shrinking " + id, bold},
		{plural.Count(size.Faults, "fault"), noColour},
		{plural.Count(size.Operations, "operation"), noColour},
		{plural.Count(size.Decisions, "decision") + " left", noColour},
		{plural.Count(p.Runs, "run"), noColour},
		{elapsed.Round(time.Second).String(), noColour},
		{"now " + p.Stage, grey},
	}
}

// shrinkFailure makes the smallest run of a failure smaller, or else the original one, and takes it into the failure.
func (a *app) shrinkFailure(ctx context.Context, s *session, failure *report.Failure, b shrinkBudget, show *progress) (*shrink.Result, error) {
	setup := *s.setup
	setup.Spec = failure.Spec
	pool := explore.NewPool(&setup, s.command, b.workers)
	defer pool.Close()
	if failure.Background == nil {
		failure.Background = &explore.Background{}
	}
	search := &shrink.Search{Spec: failure.Spec, Found: &failure.Tape, Try: tries(pool, failure.Signature, failure.Background),
		Workers: b.workers, MaxRuns: b.runs, MaxCPU: b.cpu, MaxTime: b.time,
		Progress: func(p shrink.Progress) {
			show.showParts(func(elapsed time.Duration) []part { return shrinkLine(failure.ID, &p, elapsed) })
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
		reply, err := pool.Do(ctx, &explore.Job{Tape: c.Tape, Cut: &c.Cut, FromBoot: proof, Along: true})
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
