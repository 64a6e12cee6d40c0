package stored

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/cause"
	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/fleet"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// Budgets of an explanation that are not set.
const (
	DefaultExplainRuns = 1000
	DefaultExplainTime = 2 * time.Minute
)

// Explainer makes the runs that explain a failure.
type Explainer struct {
	*console.App
	Session *project.Session
	Failure *report.Failure
	Workers int
	Runs    int           // may be made
	Time    time.Duration // may be taken
	// Changed is told of a run that is not the stored one and violates the property as well; nil if such a run is not explained.
	Changed func(*explore.Reply, check.Verdict) error
	Changes func(*check.Judged) []string // since the failure was stored; may be nil
}

// Explain makes the runs that find the moment at which the failure was decided.
func (x *Explainer) Explain(ctx context.Context, show *console.Progress) (*report.Explanation, error) {
	again, err := x.Session.Run(ctx, &explore.Job{Request: runner.Play(x.Failure.Tape), Full: true}, nil)
	if err != nil {
		return nil, err
	}
	o := again.Outcome
	at := slices.IndexFunc(o.Verdicts, func(v check.Verdict) bool {
		return v.Status == check.Violated && v.Property == x.Failure.Verdict.Property
	})
	switch {
	case !o.Repeat.Reproducible:
		return nil, program.WithCode(check.ExitNotReproducible,
			fmt.Errorf("failure %s cannot be explained: its run does not repeat: %s", x.Failure.ID, o.Repeat.Reason))
	case at < 0 || o.Hash != x.Failure.Hash && x.Changed == nil:
		return nil, program.WithCode(check.ExitUnknown, x.unexplained(o))
	case len(o.DecisionsNs) != len(o.Decisions):
		return nil, fmt.Errorf("failure %s cannot be explained: its engine does not record when decisions are made", x.Failure.ID)
	case o.Hash != x.Failure.Hash:
		if err := x.Changed(again, o.Verdicts[at]); err != nil {
			return nil, err
		}
	}
	NoteLooked(x.App, x.Failure.Spec, o)
	to := o.Verdicts[at].TimeNs
	if to == 0 {
		to = o.VirtualNs
	}
	whole := *x.Failure.Spec
	whole.EndNs = 0 // the further runs do not end early
	x.Session.Setup.Spec = &whole
	pool := explore.NewPool(x.Session.Setup, x.Session.Command, x.Workers)
	defer pool.Close()
	search := &cause.Search{FromNs: max(o.ReadyNs, 1), ToNs: to + 1, Moments: moments(o), Seed: x.Failure.Tape.Own(),
		Workers: x.Workers, MaxRuns: x.Runs, MaxTime: x.Time,
		Progress: func(runs int) {
			show.Show(func(elapsed time.Duration) string {
				return fmt.Sprintf("explaining %s: %s in %s", x.Failure.ID, plural.Count(runs, "run"), elapsed.Round(time.Second))
			})
		},
		Sample: func(ctx context.Context, atNs int64, seed uint64) (bool, error) {
			job := &explore.Job{Request: runner.Play(x.Failure.Tape.Behind(atNs, seed))}
			job.Along, job.PartNs = true, atNs
			reply, err := pool.Do(ctx, job)
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
func (x *Explainer) unexplained(o *check.Judged) error {
	why := "its run has changed"
	if x.Changes != nil {
		why = "its run has changed and no longer shows the violation\n" + WhyChanged(x.Changes(o))
	}
	return fmt.Errorf("failure %s cannot be explained: %s\n  `bloodhound replay --all` tries similar runs", x.Failure.ID, why)
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
func (x *Explainer) fails(r *explore.Reply) bool {
	return slices.ContainsFunc(explore.Violated(r.Summary.Verdicts), func(v check.Verdict) bool { return v.Property == x.Failure.Verdict.Property })
}

// pairTries bounds the runs that are made to find one that holds.
const pairTries = 20

// pair finds the run that holds nearest to the failure's: without the decisions of the jump, or else with new random choices after it.
func (x *Explainer) pair(ctx context.Context, e *report.Explanation, seed uint64) (*report.Pair, error) {
	t := x.Failure.Tape
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
		reply, err := x.Session.Run(ctx, &explore.Job{Request: runner.Play(p.Tape)}, nil)
		if err != nil {
			return nil, err
		}
		if x.fails(reply) || !reply.Summary.Repeat.Reproducible {
			continue
		}
		p.Hash = reply.Summary.Hash
		p.Fails, p.Holds, err = differByTape(ctx, x.Session, t, p.Tape)
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
		if _, err := s.Run(ctx, &explore.Job{Request: runner.Play(t), Trace: &explore.Trace{File: name, Format: "text"}}, nil); err != nil {
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

// ExplanationOf is an explanation as a store has it.
func ExplanationOf(r *report.Explanation) (e fleet.Explanation, err error) {
	e.Hash, e.Clear = r.Hash, r.Jump != nil && r.Jump.Clear
	e.JSON, err = json.Marshal(r)
	return e, err
}
