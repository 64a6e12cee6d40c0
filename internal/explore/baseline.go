package explore

import (
	"context"
	"fmt"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// Baseline is the result of the baseline run: the run without faults that a campaign begins with. A violation there needs no
// fault, and faults would only hide its cause.
type Baseline struct {
	Done    bool     `json:"done"`
	Unknown []string `json:"unknown,omitempty"` // properties that were not judged, with reasons
}

// baselineRun is the number of the baseline run; all others are below it.
const baselineRun = ^uint64(0)

// baseline makes the baseline run and reports whether the campaign goes on.
func (c *Campaign) baseline(runs, replays context.Context, col *collector) bool {
	f := &c.Setup.Spec.Faults
	if !c.BaselineFirst || !f.Enabled || len(f.Rules) == 0 {
		return true
	}
	jobs, results := make(chan *Job, 1), make(chan *result, 1)
	job := &Job{ID: baselineRun, Tape: fault.Calm(search.RandomTape(c.Seed, 0)), Full: col.feeder.timed() != nil}
	if !c.cover(job, col) {
		return false
	}
	jobs <- job
	close(jobs)
	c.serve(runs, replays, jobs, results)
	r := <-results
	t := col.totals
	col.met(r)
	col.feeder.counted(r)
	mistaken := r.reply != nil && r.reply.Summary.Mistake != ""
	if r.reply != nil && !mistaken {
		t.Baseline.Done = true
		t.Background.calm(r.reply.Summary)
		t.refuse(r.reply.Summary)
		col.feeder.begins(r.reply.Outcome)
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
	return !col.done && (r.reply == nil || !col.stops(r))
}

func (j *Job) String() string { return nameOf(j.ID, j.Tape) }

// String names the run.
func (l Lost) String() string { return nameOf(l.Run, l.Tape) }

// String names the run.
func (u Unrepeatable) String() string { return nameOf(u.Run, u.Tape) }

func nameOf(run uint64, t tape.Tape) string {
	if run == baselineRun {
		return fmt.Sprintf("the run without faults (seed %d)", t.Seed)
	}
	return fmt.Sprintf("run %d (%s)", run, t.Name())
}
