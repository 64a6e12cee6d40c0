package explore

import (
	"context"
	"fmt"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/moments"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// Baseline is the result of the baseline run: the run without faults that a campaign begins with. A violation there needs no
// fault, and faults would only hide its cause.
type Baseline struct {
	Done    bool     `json:"done"`
	Unknown []string `json:"unknown,omitempty"` // properties that were not judged, with reasons
}

// baselineRun is the number of the baseline run, and those below it are of scouts; all others are far below them.
const (
	baselineRun = ^uint64(0)
	firstScout  = baselineRun - 16
)

// baseline makes the baseline run and reports whether the campaign goes on.
func (c *Campaign) baseline(runs, replays context.Context, col *collector) bool {
	f := &c.Setup.Spec.Faults
	if !c.BaselineFirst || !f.Enabled || len(f.Rules) == 0 {
		return true
	}
	job := &Job{ID: baselineRun, Request: runner.Play(fault.Calm(search.RandomTape(c.Seed, 0))), Full: col.feeder.timed() != nil, Moments: true}
	if !c.cover(job, col) {
		return false
	}
	r := c.alone(runs, replays, job)
	t := col.totals
	col.recordCode(r)
	col.feeder.counted(r)
	mistaken := r.reply != nil && r.reply.Summary.Mistake != ""
	if r.reply != nil && !mistaken {
		t.Baseline.Done = true
		t.Background.addBaseline(r.reply.Summary)
		t.NeverReady, t.DriverFailed = r.reply.Summary.NeverReady, r.reply.Summary.DriverFailed
		t.refuse(r.reply.Summary)
		col.feeder.begins(r.reply.Outcome)
		if m := r.reply.Summary.Moments; m != nil {
			t.Moments = fault.Moments(m)
		}
		for _, v := range r.reply.Summary.Verdicts {
			if v.Status == check.Unknown {
				t.Baseline.Unknown = append(t.Baseline.Unknown, fmt.Sprintf("%s: unknown even without faults: %s", v.Property, v.Reason))
			}
		}
	}
	if r.reply == nil || mistaken || len(Violated(r.reply.Summary.Verdicts)) > 0 || r.differs != "" {
		col.count(r) // like any other: lost, cut short, violated, not repeatable, or with a mistake
	} else {
		col.died(r)
	}
	if r.reply != nil {
		if why := r.reply.Summary.hopeless(); why != "" {
			t.Stopped, col.done = why, true
		}
	}
	goesOn := !col.done && (r.reply == nil || !col.stops(r))
	if goesOn && r.reply != nil {
		return c.derive(runs, replays, col, r.reply)
	}
	return goesOn
}

// alone makes one run.
func (c *Campaign) alone(runs, replays context.Context, job *Job) *result {
	jobs, results := make(chan *Job, 1), make(chan *result, 1)
	jobs <- job
	close(jobs)
	c.serve(runs, replays, jobs, results)
	return <-results
}

// derive adds rules for the moments of the run without faults, and of the strategy's scouts, to the Spec of all further runs, and reports whether the
// campaign goes on.
func (c *Campaign) derive(runs, replays context.Context, col *collector, calm *Reply) bool {
	deriving, ok := col.feeder.strategy.(search.Deriving)
	if !ok || calm.Summary.Moments == nil || !fault.Derives(c.Setup.Spec) {
		return true
	}
	records := []*moments.Record{calm.Summary.Moments}
	for i, t := range deriving.Scouts() {
		r := c.alone(runs, replays, &Job{ID: firstScout + uint64(i), Request: runner.Play(t), Moments: true})
		col.recordCode(r)
		switch {
		case r.reply == nil || r.differs != "" || len(Violated(r.reply.Summary.Verdicts)) > 0:
			if col.count(r); col.done {
				return false
			}
		default:
			col.died(r)
		}
		if r.reply != nil {
			records = append(records, r.reply.Summary.Moments)
		}
	}
	col.totals.Moments = fault.Moments(records...)
	derived := fault.Derive(c.Setup.Spec, records...)
	if len(derived) == 0 {
		return true
	}
	spec := *c.Setup.Spec
	spec.Faults.Rules = slices.Concat(spec.Faults.Rules, derived)
	c.Setup.Spec = &spec
	deriving.Derived(&spec)
	if c.Derived != nil {
		c.Derived(&spec)
	}
	return true
}

func (j *Job) String() string { return nameOf(j.ID, j.Tape) }

// String names the run.
func (l Lost) String() string { return nameOf(l.Run, l.Tape) }

// String names the run.
func (u Unrepeatable) String() string { return nameOf(u.Run, u.Tape) }

func nameOf(run uint64, t tape.Tape) string {
	switch {
	case run == baselineRun:
		return fmt.Sprintf("the run without faults (seed %d)", t.Seed)
	case run >= firstScout:
		return fmt.Sprintf("the run that looks for moments (%s)", t.Name())
	}
	return fmt.Sprintf("run %d (%s)", run, t.Name())
}
