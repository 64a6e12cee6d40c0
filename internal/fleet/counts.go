package fleet

import (
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
)

// How often counts are recorded: a worker that is killed loses those of a tenth of its life, or of countLast.
const (
	countShare = 10 // of the worker's age
	countLast  = 10 * time.Minute
)

// count counts the verdicts of a run, and its faults. A violation that does not come again is unknown.
func (c *course) count(r *explore.Ran) {
	c.counted.Runs++
	for _, e := range r.Summary.Faults {
		c.counted.Fault(string(e.Kind)).Add(e.Planned, e.Delivered, e.Observed)
	}
	for _, v := range r.Summary.Verdicts {
		p := c.counted.Property(v.Property)
		p.Kind = v.Kind
		switch {
		case v.Status == check.Holds:
			p.Holds++
		case v.Status == check.Violated && r.Varies == "":
			p.Violated++
		case v.Status == check.NotYet:
			p.NotYet++
		default:
			p.Unknown++
		}
	}
}

// flushCounts records the counts of all runs.
func (c *course) flushCounts() {
	if c.countedAt = time.Now(); c.counted.Runs > 0 {
		c.counted.AtMs = now()
		c.worker.write(c.counted.Entry(c.test, c.place.Code, c.place.Env, c.worker.ID))
	}
}
