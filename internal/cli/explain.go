package cli

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/cause"
	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/database"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// Budgets of an explanation that are not set.
const (
	defaultExplainRuns = 1000
	defaultExplainTime = 2 * time.Minute
)

func explainVerb(a *console.App) *cobra.Command {
	f := &flags.Set{}
	var url string
	c := &cobra.Command{
		Use:   "explain ID [FOLDER or FILE]",
		Short: "Find the moment from which on a failure was likely",
		Long: `Makes the run of a failure again and again, each time with fresh chance behind another moment of it, and prints how likely the failure
was from each moment on, with 95 % confidence intervals. Where that jumps, a decision was made that the run did not recover from: the
moment of no return. explain names that decision, and the nearest run without it, which holds. The failure's file and its report page
keep the explanation, and so does the store that has the failure: the project's own one, or that of --store, whose dashboard shows it then.
ID may be that of a failure in the store, too.
Exit code 0: the moment is clear; 5: it is not, or the budget ended first; 4: the run does not repeat.`,
		Args: flags.FailureArguments,
		RunE: func(c *cobra.Command, args []string) error { return explainFailure(a, c, f, url, args) },
	}
	f.AddPlacesAndDocument(c)
	c.Flags().Var(flags.NumberFlag{Number: &f.ExplainRuns, From: 1, To: math.MaxInt32, Says: "give the number of runs that may be made, 1 or more"}, "runs",
		fmt.Sprintf("maximum number of runs (default: %d)", defaultExplainRuns))
	c.Flags().Var(program.Time(&f.ExplainTime), "time", fmt.Sprintf("maximum time (default: %s)", defaultExplainTime))
	f.WorkersFlag(c)
	addOriginalFlag(f, c)
	addUpdateFlag(f, c)
	database.StoreFlag(c, &url, " of the project")
	return c
}

// explainDocument is the JSON document of explain.
type explainDocument struct {
	Bloodhound string `json:"bloodhound"`
	Verb       string `json:"verb"`
	ExitCode   int    `json:"exit_code"`
	Failure    string `json:"failure"` // id
	report.Explanation
}

func explainFailure(a *console.App, c *cobra.Command, f *flags.Set, url string, args []string) error {
	args, err := fetchFailure(c.Context(), a, f, url, args)
	if err != nil {
		return err
	}
	p, full, err := loadFailure(a, c, f, args)
	if err != nil {
		return err
	}
	if p.Spec == nil {
		defer os.RemoveAll(p.State)
	}
	if err := project.RequireRepeats(full.Spec, "bloodhound explain"); err != nil {
		return err
	}
	failure := chosenRun(f, full)
	known, err := whereKnown(c.Context(), a, url, p, full)
	if err != nil {
		return err
	}
	s, err := openFailure(a, p, failure)
	if err != nil {
		return explainLacking(p, args[0], full, err)
	}
	defer s.Close()
	show := console.NewProgress(a.Err, false, f.JSON)
	x := explainer{App: a, session: s, failure: failure, workers: p.WorkersOf(int(f.Workers)),
		runs: cmp.Or(int(f.ExplainRuns), defaultExplainRuns), time: cmp.Or(f.ExplainTime, defaultExplainTime),
		changes: func(o *check.Judged) []string { return changesSinceFailure(p, failure, o) }}
	changed := false
	x.changed = func(reply *explore.Reply, v check.Verdict) error {
		if err := changedRun(c.Context(), a, p, s, failure, reply, "explained"); err != nil {
			return err
		}
		changed = true
		full.Renew(program.Version(), reply.Outcome, v, treeNow(s, failure), f.Original)
		return nil
	}
	s.Setup.Snapshots = project.Snapshots(a, f, p, x.workers)
	e, err := x.explain(c.Context(), show)
	show.End()
	if err != nil {
		if c.Context().Err() != nil {
			return project.ErrInterrupted
		}
		return err
	}
	full.Explanation = e
	if changed {
		_, err = storeRenewed(a, p, args[0], full, f.Update)
	} else {
		_, err = storeFailure(p, args[0], full)
	}
	if err != nil {
		return err
	}
	if known != nil {
		if err := recordExplained(c.Context(), a, known, e); err != nil {
			return err
		}
	}
	if e.Jump == nil || !e.Jump.Clear {
		a.Code = check.ExitUnknown
	}
	if f.JSON {
		return a.PrintJSON(explainDocument{program.Version(), "explain", a.Code, full.ID, *e})
	}
	stop := "bloodhound replay " + flags.ShellQuote(args[0]) + flags.ArgumentsOf(f, args[1:])
	if f.Original {
		stop += " --original"
	}
	fmt.Fprint(a.Out, report.Explained(e, stop))
	return nil
}

// explainer makes the runs that explain a failure.
type explainer struct {
	*console.App
	session *project.Session
	failure *report.Failure
	workers int
	runs    int           // may be made
	time    time.Duration // may be taken
	// changed is told of a run that is not the stored one and violates the property as well; nil if such a run is not explained.
	changed func(*explore.Reply, check.Verdict) error
	changes func(*check.Judged) []string // since the failure was stored; may be nil
}

func (x *explainer) explain(ctx context.Context, show *console.Progress) (*report.Explanation, error) {
	again, err := x.session.Run(ctx, &explore.Job{Tape: x.failure.Tape, Full: true}, nil)
	if err != nil {
		return nil, err
	}
	o := again.Outcome
	at := slices.IndexFunc(o.Verdicts, func(v check.Verdict) bool {
		return v.Status == check.Violated && v.Property == x.failure.Verdict.Property
	})
	switch {
	case !o.Repeat.Reproducible:
		return nil, program.WithCode(check.ExitNotReproducible,
			fmt.Errorf("failure %s cannot be explained: its run does not repeat: %s", x.failure.ID, o.Repeat.Reason))
	case at < 0 || o.Hash != x.failure.Hash && x.changed == nil:
		return nil, program.WithCode(check.ExitUnknown, x.unexplained(o))
	case len(o.DecisionsNs) != len(o.Decisions):
		return nil, fmt.Errorf("failure %s cannot be explained: its engine does not record when decisions are made", x.failure.ID)
	case o.Hash != x.failure.Hash:
		if err := x.changed(again, o.Verdicts[at]); err != nil {
			return nil, err
		}
	}
	noteLooked(x.App, x.failure.Spec, o)
	to := o.Verdicts[at].TimeNs
	if to == 0 {
		to = o.VirtualNs
	}
	whole := *x.failure.Spec
	whole.EndNs = 0 // the further runs do not end early
	x.session.Setup.Spec = &whole
	pool := explore.NewPool(x.session.Setup, x.session.Command, x.workers)
	defer pool.Close()
	search := &cause.Search{FromNs: max(o.ReadyNs, 1), ToNs: to + 1, Moments: moments(o), Seed: x.failure.Tape.Own(),
		Workers: x.workers, MaxRuns: x.runs, MaxTime: x.time,
		Progress: func(runs int) {
			show.Show(func(elapsed time.Duration) string {
				return fmt.Sprintf("explaining %s: %s in %s", x.failure.ID, plural.Count(runs, "run"), elapsed.Round(time.Second))
			})
		},
		Sample: func(ctx context.Context, atNs int64, seed uint64) (bool, error) {
			reply, err := pool.Do(ctx, &explore.Job{Tape: x.failure.Tape.Behind(atNs, seed), Along: true, PartNs: atNs})
			if err != nil {
				return false, err
			}
			return x.fails(reply), nil
		}}
	r, err := search.Find(ctx)
	if err != nil {
		return nil, console.Failed(err)
	}
	if ctx.Err() != nil && len(r.Points) == 0 {
		return nil, project.ErrInterrupted
	}
	e := &report.Explanation{Hash: o.Hash, Result: *r}
	if r.Jump == nil || ctx.Err() != nil {
		return e, nil
	}
	switches := report.SwitchesOf(o)
	for i, d := range o.Decisions {
		if ns := o.DecisionsNs[i]; ns >= r.Jump.Before.AtNs && ns < r.Jump.After.AtNs {
			e.Decided = append(e.Decided, report.Decided{Decision: d, AtNs: ns, What: switches.Says(i)})
		}
	}
	for _, f := range o.Ledger.Injections {
		if f.StartNs >= r.Jump.Before.AtNs && f.StartNs < r.Jump.After.AtNs {
			e.Faults = append(e.Faults, f)
		}
	}
	e.Pair, err = x.pair(ctx, e, search.Seed)
	return e, err
}

// unexplained says why a run that has changed is not explained.
func (x *explainer) unexplained(o *check.Judged) error {
	why := "its run is another one now"
	if x.changes != nil {
		why = "its run is another one now, and does not show the violation\n" + whyChanged(x.changes(o))
	}
	return fmt.Errorf("failure %s cannot be explained: %s\n  `bloodhound replay --all` searches near it", x.failure.ID, why)
}

// moments are the times at which a run may have been decided: of its decisions, and of what clients did.
func moments(o *check.Judged) []int64 {
	list := slices.Clone(o.DecisionsNs)
	for i := range o.History {
		list = append(list, o.History[i].TimeNs)
	}
	return list
}

// fails reports whether a run violates the failure's property.
func (x *explainer) fails(r *explore.Reply) bool {
	return slices.ContainsFunc(explore.Violated(r.Summary.Verdicts), func(v check.Verdict) bool { return v.Property == x.failure.Verdict.Property })
}

// pairTries bounds the runs that are made to find one that holds.
const pairTries = 20

// pair finds the run that holds nearest to the failure's: without the decisions of the jump, or else with fresh chance from there on.
func (x *explainer) pair(ctx context.Context, e *report.Explanation, seed uint64) (*report.Pair, error) {
	t := x.failure.Tape
	undone := tape.Tape{Seed: t.Seed, Edits: slices.Clone(t.Edits)}
	for _, d := range e.Decided {
		undone.Edits = append(undone.Edits, tape.Edit{Op: tape.Set, Stream: d.Stream, From: d.Index})
	}
	for k := range pairTries {
		p := &report.Pair{Tape: undone, Undone: true}
		if k > 0 {
			p.Tape, p.Undone = t.Behind(e.Jump.Before.AtNs, seed+uint64(k)), false
		} else if len(e.Decided) == 0 {
			continue
		}
		reply, err := x.session.Run(ctx, &explore.Job{Tape: p.Tape}, nil)
		if err != nil {
			return nil, err
		}
		if x.fails(reply) || !reply.Summary.Repeat.Reproducible {
			continue
		}
		p.Hash = reply.Summary.Hash
		p.Fails, p.Holds, err = differByTape(ctx, x.session, t, p.Tape)
		return p, err
	}
	return nil, nil
}

// differByTape makes the runs of two tapes and gives the first events in which they differ, as lines of their traces.
func differByTape(ctx context.Context, s *project.Session, tapes ...tape.Tape) (x, y string, err error) {
	var names []string
	for i, t := range tapes {
		name := filepath.Join(s.Setup.Scratch, fmt.Sprintf("pair-%d.trace", i))
		defer os.Remove(name)
		if _, err := s.Run(ctx, &explore.Job{Tape: t, Trace: &explore.Trace{File: name, Format: "text"}}, nil); err != nil {
			return "", "", err
		}
		names = append(names, name)
	}
	p, err := explore.Compare(names[0], names[1])
	if err != nil || p == nil {
		return "", "", err
	}
	return p.First, p.Other, nil
}
