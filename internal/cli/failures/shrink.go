package failures

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/cli/stored"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
	"github.com/bloodhound-dst/bloodhound/internal/shrink"
)

func shrinkVerb(a *console.App) *cobra.Command {
	f := &flags.Set{}
	c := &cobra.Command{
		Use:   "shrink ID [FOLDER or FILE]",
		Short: "Shrink a failure further",
		Long: "Make a failure's run smaller (fewer faults, operations and nodes, less time) as long as it still violates" +
			" the property in the same way. The failure's file keeps the original and the smallest run; replay" +
			" and report use the smallest.\n\n" +
			"If shrinking reaches a limit before the run is minimal, the next shrink continues from there.",
		Args: flags.FailureArguments,
		RunE: func(c *cobra.Command, args []string) error { return shrinkStored(a, c, f, args) },
	}
	f.AddPlacesAndDocument(c)
	stored.AddShrinking(f, c)
	f.AddSnapshotMemory(c)
	f.AddWorkers(c)
	flags.AddSwitch(c, &f.Original, "original", "start from the original run again")
	stored.AddUpdate(f, c)
	return c
}

// ShrinkDocument is the JSON document of shrink.
type ShrinkDocument struct {
	Bloodhound string         `json:"bloodhound"`
	Verb       string         `json:"verb"`
	ExitCode   int            `json:"exit_code"`
	Failure    string         `json:"failure"` // id
	File       string         `json:"file"`
	Shrunk     *shrink.Shrunk `json:"shrunk"`
}

func shrinkStored(a *console.App, c *cobra.Command, f *flags.Set, args []string) error {
	p, failure, err := stored.LoadFailure(a, c, f, args)
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
	s, err := stored.OpenFailure(a, p, small)
	if err != nil {
		return stored.ExplainLacking(p, args[0], failure, err)
	}
	defer s.Close()
	changed, changes, err := replayStored(c.Context(), a, p, s, small)
	if err != nil {
		return err
	}
	tree := stored.TreeNow(s, small)
	s.Setup.Spec = failure.Spec
	workers := p.WorkersOf(int(f.Workers))
	s.Setup.Snapshots = project.Snapshots(a, f, p, workers)
	show := console.NewProgress(a.Err, false, f.JSON)
	b := stored.ShrinkBudgetOf(f, workers)
	r, err := stored.ShrinkFailure(c.Context(), a, s, failure, b, show)
	show.End()
	if c.Context().Err() != nil && r == nil {
		return project.ErrInterrupted
	}
	switch {
	case errors.Is(err, shrink.ErrGone), errors.Is(err, shrink.ErrBare):
		return program.WithCode(check.ExitUnknown,
			fmt.Errorf("failure %s cannot be shrunk: %w\n%s\n  `bloodhound replay --all` tries similar runs", failure.ID, err, stored.WhyChanged(changes)))
	case errors.Is(err, shrink.ErrVaries):
		return program.WithCode(check.ExitNotReproducible, fmt.Errorf("failure %s cannot be shrunk: %w", failure.ID, err))
	case err != nil:
		return console.Failed(err)
	}
	if f.Original && stored.KeepSmaller(c.Context(), a, s, failure, known) && !f.JSON {
		fmt.Fprintf(a.Out, "kept the previous smallest run, which is smaller\n")
	}
	if failure.Smallest != known {
		failure.Smallest.Tree = tree
	}
	var path string
	if changed {
		path, err = stored.StoreRenewed(a, p, args[0], failure, f.Update)
	} else {
		path, err = stored.StoreFailure(p, args[0], failure)
	}
	if err != nil {
		return err
	}
	shrunk := &failure.Smallest.Shrunk
	if !shrunk.Minimal {
		a.Code = check.ExitUnknown
	}
	if f.JSON {
		return a.PrintJSON(ShrinkDocument{program.Version(), "shrink", a.Code, failure.ID, path, shrunk})
	}
	name := args[0]
	if report.IsFailurePath(name) {
		name = path // it may be stored elsewhere
	}
	fmt.Fprintf(a.Out, "%s\nreplay\n  bloodhound replay %s%s\n  (stored in %s)\n",
		report.Shrunk(shrunk), flags.ShellQuote(name), flags.ArgumentsOf(f, args[1:]), path)
	return nil
}

// replayStored makes the run of a failure before it is shrunk, and reports whether it has changed, and what else has.
func replayStored(ctx context.Context, a *console.App, p *project.Project, s *project.Session, small *report.Failure) (
	changed bool, changes []string, err error) {
	reply, err := s.Run(ctx, &explore.Job{Request: runner.Play(small.Tape), Full: true}, nil)
	if err != nil || reply.Summary.Hash == small.Hash {
		return false, nil, err
	}
	changes = stored.ChangesSince(p, small, reply.Outcome)
	if explore.Shown(reply.Summary.Verdicts, small.Signature) == nil {
		return true, changes, nil // the original run may show it
	}
	return true, changes, stored.ChangedRun(ctx, a, p, s, small, reply, "shrunk")
}
