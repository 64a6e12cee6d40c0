// Package runner makes one run: it boots a world, advances it and judges what happened. The command line, worker processes and tests of
// package sim make their runs here.
package runner

import (
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/filedigest"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Run is a run in progress.
type Run struct {
	engine.World
	Reason record.Reason // why the last Advance returned

	spec    *world.Spec
	options engine.Options
	began   time.Time
	until   record.Position
}

// Boot boots the world of a run. The caller closes it.
func Boot(e engine.Engine, spec *world.Spec, t tape.Tape, o engine.Options) (*Run, error) {
	r := &Run{spec: spec, options: o, began: time.Now()}
	w, err := e.Boot(spec, t, o)
	if err != nil {
		return nil, err
	}
	r.World = w
	return r, nil
}

// Advance runs the world to a position, or to its end if the position is zero. Spec.EndNs bounds every run.
func (r *Run) Advance(until record.Position) (err error) {
	r.until = until
	r.Reason, err = r.World.Advance(engine.Until{Position: until, TimeNs: r.spec.EndNs})
	return err
}

// Record is the record of the run so far, without verdicts.
func (r *Run) Record() *check.Judged {
	j := &check.Judged{Outcome: *r.Outcome()}
	j.Reason = r.Reason
	if r.options.Driver != "" {
		j.Driver, _ = filedigest.Sum(r.options.Driver, nil)
	}
	if j.WallNs == 0 {
		j.WallNs = time.Since(r.began).Nanoseconds()
	}
	if m, ok := r.World.(engine.Modelled); ok {
		j.Models = m.Models()
	}
	return j
}

// Judge is the record of the run with verdicts. A run that stopped before its end, at the position of Advance or by
// Options.Interrupt, gets none: its final checks are missing.
func (r *Run) Judge() *check.Judged {
	j := r.Record()
	if !r.cut(j) {
		j.Judge(r.spec, r.options.Behaviour, r.options.Unwatched...)
	}
	return j
}

func (r *Run) cut(j *check.Judged) bool {
	if r.Reason == record.ReachedUntil && r.until.Event > 0 && j.Events >= r.until.Event {
		return true
	}
	select {
	case <-r.options.Interrupt:
		return r.Reason == record.Stopped
	default:
		return false
	}
}

// Do makes a run from its boot to its verdicts.
func Do(e engine.Engine, spec *world.Spec, t tape.Tape, o engine.Options, until record.Position) (*check.Judged, error) {
	r, err := Boot(e, spec, t, o)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if err := r.Advance(until); err != nil {
		return nil, err
	}
	j := r.Judge()
	return j, r.Close()
}
