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
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
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

func shrinkVerb(a *console.App) *cobra.Command {
	f := &flags.Set{}
	c := &cobra.Command{
		Use:   "shrink ID [FOLDER or FILE]",
		Short: "Shrink the run of a failure",
		Long: `Shrinks the run of a failure while it still violates the property in the same way: fewer faults and other decisions, fewer
operations and nodes, less time. The failure's file keeps the original and the smallest run; replay and report use the smallest.
If the budget ends first, the next shrink continues.
Exit code 0: the smallest run is 1-minimal; 5: the budget ended before that was proven, or the run does not show the failure
any more; 4: it does not repeat.`,
		Args: flags.FailureArguments,
		RunE: func(c *cobra.Command, args []string) error { return shrinkStored(a, c, f, args) },
	}
	f.AddPlacesAndDocument(c)
	addShrinkFlags(f, c)
	f.SnapshotFlag(c)
	f.WorkersFlag(c)
	flags.AddSwitch(c, &f.Original, "original", "start from the original run again")
	addUpdateFlag(f, c)
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

func shrinkStored(a *console.App, c *cobra.Command, f *flags.Set, args []string) error {
	p, failure, err := loadFailure(a, c, f, args)
	if err != nil {
		return err
	}
	if p.Spec == nil {
		defer os.RemoveAll(p.State)
	}
	if err := project.RequireRepeats(failure.Spec, "bloodhound shrink"); err != nil {
		return err
	}
	known := failure.Smallest
	if f.Original {
		failure.Smallest = nil
	}
	small := failure.Small()
	s, err := openFailure(a, p, small)
	if err != nil {
		return explainLacking(p, args[0], failure, err)
	}
	defer s.Close()
	changed, changes, err := replayStored(c.Context(), a, p, s, small)
	if err != nil {
		return err
	}
	tree := treeNow(s, small)
	s.Setup.Spec = failure.Spec
	workers := p.WorkersOf(int(f.Workers))
	s.Setup.Snapshots = project.Snapshots(a, f, p, workers)
	show := console.NewProgress(a.Err, false, f.JSON)
	b := shrinkBudgetOf(f, workers)
	r, err := shrinkFailure(c.Context(), a, s, failure, b, show)
	show.End()
	if c.Context().Err() != nil && r == nil {
		return project.ErrInterrupted
	}
	switch {
	case errors.Is(err, shrink.ErrGone), errors.Is(err, shrink.ErrBare):
		return program.WithCode(check.ExitUnknown,
			fmt.Errorf("failure %s cannot be shrunk: %w\n%s\n  `bloodhound replay --all` searches near it", failure.ID, err, whyChanged(changes)))
	case errors.Is(err, shrink.ErrVaries):
		return program.WithCode(check.ExitNotReproducible, fmt.Errorf("failure %s cannot be shrunk: %w", failure.ID, err))
	case err != nil:
		return console.Failed(err)
	}
	if f.Original && keepsSmaller(c.Context(), a, s, failure, known) && !f.JSON {
		fmt.Fprintf(a.Out, "the smallest run that was known is smaller than what the original run came to, and is kept\n")
	}
	if failure.Smallest != known {
		failure.Smallest.Tree = tree
	}
	var path string
	if changed {
		path, err = storeRenewed(a, p, args[0], failure, f.Update)
	} else {
		path, err = storeFailure(p, args[0], failure)
	}
	if err != nil {
		return err
	}
	shrunk := &failure.Smallest.Shrunk
	if !shrunk.Minimal {
		a.Code = check.ExitUnknown
	}
	if f.JSON {
		return a.PrintJSON(shrinkDocument{program.Version(), "shrink", a.Code, failure.ID, path, shrunk})
	}
	name := args[0]
	if report.IsFailurePath(name) {
		name = path // it may be stored elsewhere
	}
	fmt.Fprintf(a.Out, "%s\nreplay\n  bloodhound replay %s%s\n  (stored in %s)\n", report.Shrunk(shrunk), flags.ShellQuote(name), flags.ArgumentsOf(f, args[1:]), path)
	return nil
}

// replayStored makes the run of a failure before it is shrunk, and reports whether it has changed, and what else has.
func replayStored(ctx context.Context, a *console.App, p *project.Project, s *project.Session, small *report.Failure) (changed bool, changes []string, err error) {
	reply, err := s.Run(ctx, &explore.Job{Tape: small.Tape, Full: true}, nil)
	if err != nil || reply.Summary.Hash == small.Hash {
		return false, nil, err
	}
	changes = changesSinceFailure(p, small, reply.Outcome)
	if explore.Shown(reply.Summary.Verdicts, small.Signature) == nil {
		return true, changes, nil // the original run may show it
	}
	return true, changes, changedRun(ctx, a, p, s, small, reply, "shrunk")
}

// keepsSmaller gives a failure the smallest run back that was known before its original run was shrunk again, if that is smaller and still shows the
// failure.
func keepsSmaller(ctx context.Context, a *console.App, s *project.Session, failure *report.Failure, known *report.Smallest) bool {
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

// storeFailure writes a failure where a command has found it: in the file that it named, or in the state folder by its id.
func storeFailure(p *project.Project, name string, f *report.Failure) (path string, err error) {
	if path = name; !report.IsFailurePath(path) {
		path = f.Path(p.State)
	}
	if err := report.Write(path, f); err != nil {
		return "", console.Failed(err)
	}
	return path, nil
}

// shrinkBudgetOf bounds the shrinking of a failure.
type shrinkBudget struct {
	workers int
	runs    int           // for one failure
	cpu     time.Duration // CPU time of all runs
	time    time.Duration // 0 is no bound
}

func shrinkBudgetOf(f *flags.Set, workers int) shrinkBudget {
	b := shrinkBudget{workers: workers, runs: defaultShrinkRuns, cpu: defaultShrinkCPU}
	if f.ShrinkRuns > 0 {
		b.runs = int(f.ShrinkRuns)
	}
	if f.ShrinkCPU > 0 {
		b.cpu = f.ShrinkCPU
	}
	b.time = f.ShrinkTime
	return b
}

// shrinkLine is the line of progress of shrinking.
func shrinkLine(id string, p *shrink.Progress, elapsed time.Duration) []console.Part {
	size := p.Size
	return []console.Part{
		{Text: "shrinking " + id, Colour: console.Bold},
		{Text: plural.Count(size.Faults, "fault"), Colour: console.NoColour},
		{Text: plural.Count(size.Operations, "operation"), Colour: console.NoColour},
		{Text: plural.Count(size.Decisions, "decision") + " left", Colour: console.NoColour},
		{Text: plural.Count(p.Runs, "run"), Colour: console.NoColour},
		{Text: elapsed.Round(time.Second).String(), Colour: console.NoColour},
		{Text: "now " + p.Stage, Colour: console.Grey},
	}
}

// shrinkFailure makes the smallest run of a failure smaller, or else the original one, and takes it into the failure.
func shrinkFailure(ctx context.Context, a *console.App, s *project.Session, failure *report.Failure, b shrinkBudget, show *console.Progress) (*shrink.Result, error) {
	setup := *s.Setup
	setup.Spec = failure.Spec
	pool := explore.NewPool(&setup, s.Command, b.workers)
	defer pool.Close()
	if failure.Background == nil {
		failure.Background = &explore.Background{}
	}
	search := &shrink.Search{Spec: failure.Spec, Found: &failure.Tape, Try: tries(pool, failure.Signature, failure.Background),
		Workers: b.workers, MaxRuns: b.runs, MaxCPU: b.cpu, MaxTime: b.time,
		Progress: func(p shrink.Progress) {
			show.ShowParts(func(elapsed time.Duration) []console.Part { return shrinkLine(failure.ID, &p, elapsed) })
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
