package director

import (
	"fmt"
	"maps"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// DefaultEvents is how many events a run of programs may have, unless its Spec says otherwise.
const DefaultEvents = 50_000_000

// Limits of what an outcome keeps.
const (
	maxHistory = 2_000_000
	// maxHistoryBytes bounds what drivers write about operations.
	maxHistoryBytes = 256 << 20
)

// Over reports why a run ends, or has come to where it was to stop, after so many events and at this time; nothing if it goes on. mostEvents is the limit
// of events, and 0 is none. The outcome gets the detail.
func (d *Director) Over(until engine.Until, events uint64, nowNs int64, mostEvents uint64) record.Reason {
	limit := func(format string, most any) record.Reason {
		d.out.Detail = fmt.Sprintf(format, most)
		return record.Limit
	}
	switch {
	case d.Unstartable != "":
		d.out.Detail = d.Unstartable
		return record.Unstartable
	case d.Phase == PhaseOver:
		return record.Finished
	case nowNs >= d.spec.MaxTimeNs:
		if d.Phase == PhaseSetup {
			d.out.Detail = d.Unready()
		}
		return record.MaxTime
	case until.Event > 0 && events >= until.Event, until.TimeNs > 0 && nowNs >= until.TimeNs:
		return record.ReachedUntil
	case mostEvents > 0 && events >= mostEvents:
		return limit("the limit of %d events", mostEvents)
	case len(d.out.History) >= maxHistory:
		return limit("the limit of %d records in the history", maxHistory)
	case d.HistoryBytes > maxHistoryBytes:
		return limit("the limit of %d MB in the history", maxHistoryBytes>>20)
	}
	return ""
}

// Sum writes into the outcome what the run has drawn from its tape so far, and what the Director knows of it.
func (d *Director) Sum(t *tape.Source) {
	o := d.out
	o.Tape = t.Tape()
	o.Decisions, o.DecisionsNs = slices.Clone(t.Decisions()), slices.Clone(t.Times())
	o.Draws, o.DrawsLost = slices.Clone(t.Draws()), t.DrawsLost()
	o.Ledger = d.Plan.Ledger
	o.Heals = slices.Clone(d.Heals)
	o.NeverUp = d.NeverUp()
	o.NeverReady = d.neverWereReady()
	o.LogCounts = maps.Clone(d.Counts)
	if l := d.Length; !l.Full() {
		o.Length = &l
	}
}
