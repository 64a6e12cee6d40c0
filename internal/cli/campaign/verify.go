package campaign

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/cli/stored"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/filedigest"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// defaultVerifyRuns is how often verify runs a tape by default, and at least.
const defaultVerifyRuns = 2

func verifyVerb(a *console.App) *cobra.Command {
	f := &flags.Set{}
	c := &cobra.Command{
		Use:   "verify [FOLDER or FILE]",
		Short: "Run one seed several times and compare the runs event by event",
		Long: "Run one seed several times, each in a process of its own, and compare the complete traces. If two " +
			"runs differ, print the first event that differs.\n\n" +
			"Bloodhound places breakpoints in the programs' code. Every second run places them " +
			"elsewhere. If a program reads its own code, these runs therefore differ from the others. The command checks only whether the runs are " +
			"identical. If they violate a property, it names the property.",
		Args: flags.OneArgument,
		RunE: func(c *cobra.Command, args []string) error { return verifyProject(a, c, f, args) },
	}
	f.AddPlacesAndDocument(c)
	f.AddOneTape(c)
	f.AddRuns(c, defaultVerifyRuns, "how many runs to compare", "give the number of runs to compare, 2 or more")
	return c
}

// VerifyDocument is the JSON document of verify.
type VerifyDocument struct {
	Bloodhound string       `json:"bloodhound"`
	Verb       string       `json:"verb"`
	ExitCode   int          `json:"exit_code"`
	Judgement  string       `json:"judgement"`
	Tape       tape.Tape    `json:"tape"`
	Runs       uint64       `json:"runs"` // finished
	Hash       string       `json:"hash"` // of the first run
	Events     uint64       `json:"events"`
	VirtualNs  int64        `json:"virtual_ns"`
	WallNs     []int64      `json:"wall_ns"` // of each run
	Reason     string       `json:"reason,omitempty"`
	Difference *differences `json:"difference,omitempty"`
	// Violated are the properties that the first run violates, and Unknown why it would be unknown. They are not judged here.
	Violated []string `json:"violated,omitempty"`
	Unknown  []string `json:"unknown,omitempty"`
}

// differences is where two runs of one tape part.
type differences struct {
	Run uint64 `json:"run"` // which one differs from run 1
	// Event is the place of the first event that differs, counted from 1. First and Other are its text in run 1
	// and in the run that differs; empty where a trace has ended. Before are the last events that are equal.
	Event  uint64   `json:"event,omitempty"`
	First  string   `json:"first,omitempty"`
	Other  string   `json:"other,omitempty"`
	Before []string `json:"before,omitempty"`
	// Summary lists the differences of the runs as a whole.
	Summary string `json:"summary,omitempty"`
	// ReadsCode says that a program reads its own code: without other breakpoints in it, the run is the same once more.
	ReadsCode bool `json:"reads_code,omitempty"`
	// Changes are files of this machine or the project that changed while the runs were made.
	Changes []string `json:"changes,omitempty"`
}

func verifyProject(a *console.App, c *cobra.Command, f *flags.Set, args []string) error {
	f.AsWritten = true
	p, err := project.Load(c.Context(), a, f, args)
	if err != nil {
		return err
	}
	if err := project.RequireRepeats(p.Spec, "bloodhound verify"); err != nil {
		return err
	}
	t, err := project.TapeOf(f, c, p)
	if err != nil {
		return err
	}
	if err := p.Build(c.Context(), a); err != nil {
		return err
	}
	s, err := p.Open()
	if err != nil {
		return err
	}
	defer s.Close()

	doc := VerifyDocument{Bloodhound: program.Version(), Verb: "verify", Tape: t}
	if err := doc.repeat(c.Context(), a, f, p, s, t); err != nil {
		return err
	}
	doc.judge()
	a.Code = doc.ExitCode
	if f.JSON {
		return a.PrintJSON(doc)
	}
	doc.print(a.Out)
	return nil
}

// repeat makes the runs until one differs from the first.
func (d *VerifyDocument) repeat(ctx context.Context, a *console.App, f *flags.Set, p *project.Project, s *project.Session, t tape.Tape) error {
	var first *explore.Summary
	var files map[string]string // of the first run
	began := filedigest.Now()
	reference := filepath.Join(s.Setup.Scratch, "trace-1")
	for run := uint64(1); run <= f.Runs && d.Difference == nil; run++ {
		file := reference
		if run > 1 {
			file = filepath.Join(s.Setup.Scratch, "trace-2")
		}
		job := &explore.Job{ID: run, Request: runner.Play(t), Full: true, Progress: !f.JSON, Contrast: run%2 == 0,
			Trace: &explore.Trace{File: file, Format: "text"}}
		reply, err := project.OneRun(ctx, a, s, job, f.JSON)
		if err != nil {
			return fmt.Errorf("run %d: %w", run, err)
		}
		if ctx.Err() != nil {
			return fmt.Errorf("run %d: %w", run, project.ErrInterrupted)
		}
		now := reply.Summary
		d.Runs++
		d.WallNs = append(d.WallNs, now.WallNs)
		if !now.Repeat.Reproducible && d.Reason == "" {
			d.Reason = now.Repeat.Reason
		}
		if !f.JSON {
			fmt.Fprintf(a.Out, "run %d of %d: trace hash %s, %s, "+
				"%.2fs\n", run, f.Runs, now.Hash, plural.Count(now.Events, "event"), float64(now.WallNs)/1e9)
		}
		if run == 1 {
			first, files = now, reply.Outcome.Files
			d.Hash, d.Events, d.VirtualNs = now.Hash, now.Events, now.VirtualNs
			for _, v := range explore.Violated(now.Verdicts) {
				d.Violated = append(d.Violated, v.Property)
			}
			if d.Violated == nil {
				d.Unknown = explore.StatusOf(p.Spec, now).Unknown
			}
			continue
		}
		p, err := explore.Compare(reference, file)
		if err != nil {
			return console.Failed(err)
		}
		if p != nil {
			d.Difference = &differences{Event: p.Event, First: p.First, Other: p.Other, Before: p.Before}
		}
		if summary := explore.Differs(first, now); summary != "" || d.Difference != nil {
			if d.Difference == nil {
				d.Difference = &differences{}
			}
			d.Difference.Run, d.Difference.Summary = run, summary
			d.Difference.Changes = filedigest.Meanwhile(began, files, reply.Outcome.Files)
			if job.Contrast {
				if d.Difference.ReadsCode, err = project.ReadsCode(ctx, a, s, t, first, f.JSON); err != nil {
					return fmt.Errorf("the repetition of run 1: %w", err)
				}
			}
		}
	}
	return nil
}

func (d *VerifyDocument) judge() {
	switch {
	case d.Difference != nil && d.Difference.ReadsCode:
		d.ExitCode, d.Judgement = check.ExitNotReproducible, fmt.Sprintf("NOT REPRODUCIBLE: run %d differs from "+
			"run 1: %s", d.Difference.Run, explore.ReadsCode)
	case d.Difference != nil:
		d.ExitCode, d.Judgement = check.ExitNotReproducible, fmt.Sprintf("NOT REPRODUCIBLE: run %d differs from run 1", d.Difference.Run)
	case d.Reason != "":
		d.ExitCode, d.Judgement = check.ExitNotReproducible,
			fmt.Sprintf("NOT REPRODUCIBLE: %s %s equal, but the engine reports: "+
				"%s", plural.Count(d.Runs, "run"), plural.Verb(d.Runs, "was", "were"), d.Reason)
	default:
		d.ExitCode, d.Judgement = check.ExitHolds, fmt.Sprintf("reproducible: %s of seed %d are equal, event by event (%s, trace hash %s)",
			plural.Count(d.Runs, "run"), d.Tape.Own(), plural.Count(d.Events, "event"), d.Hash)
	}
}

func (d *VerifyDocument) print(w io.Writer) {
	fmt.Fprintln(w)
	if x := d.Difference; x != nil {
		side := func(text string) string {
			if text == "" {
				return "(the trace has ended)"
			}
			return text
		}
		if x.Event > 0 {
			fmt.Fprintf(w, "the first difference is event %d\n", x.Event)
			for _, line := range x.Before {
				fmt.Fprintf(w, "    both   %s\n", line)
			}
			fmt.Fprintf(w, "  - run 1  %s\n  + run %d  %s\n", side(x.First), x.Run, side(x.Other))
		}
		if x.Summary != "" {
			fmt.Fprintf(w, "  %s\n", x.Summary)
		}
		if x.Event == 0 {
			fmt.Fprintln(w, "  the traces are equal event by event; no field of an event differs")
		}
		if len(x.Changes) > 0 {
			fmt.Fprintln(w, "\nchanged during the runs, which may be the cause")
			stored.PrintChanges(w, x.Changes)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w, d.Judgement)
	if len(d.Violated) > 0 {
		fmt.Fprintf(w, "  (the run violates %s; verify only judges whether runs repeat, see `bloodhound "+
			"run`)\n", strings.Join(d.Violated, ", "))
	}
	if len(d.Unknown) > 0 {
		fmt.Fprintf(w, "  (the run proves no property: %s; verify only judges whether runs "+
			"repeat)\n", strings.Join(d.Unknown, "; "))
	}
}
