package director

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Quiet is a time without faults that programs have asked for, in the chaos phase.
type Quiet struct {
	Holders []int64 // tags of drivers that have faults off until they say otherwise, or end
	EndNs   int64   // the latest end that was asked for
	On      bool
	StepNs  int64 // when faults were to be drawn next, as they went off
}

// Asked takes in a request of a program of the world. Direct acts on it.
func (d *Director) Asked(n *Notice) {
	q := &d.Quiet
	text := strings.TrimSpace(string(n.Text))
	switch {
	case text == world.FaultsOffLine:
		q.hold(n.Tag)
	case text == world.FaultsOnLine:
		q.release(n.Tag)
	case strings.HasPrefix(text, world.QuietLine):
		seconds, err := strconv.ParseFloat(text[len(world.QuietLine):], 64)
		if err == nil && seconds > 0 {
			q.EndNs = max(q.EndNs, n.TimeNs+int64(min(seconds*1e9, math.MaxInt64/4)))
		}
	}
}

func (q *Quiet) hold(tag int64) {
	if !slices.Contains(q.Holders, tag) {
		q.Holders = append(q.Holders, tag)
	}
}

func (q *Quiet) release(tag int64) {
	q.Holders = slices.DeleteFunc(q.Holders, func(h int64) bool { return h == tag })
}

// dueNs is when a quiet period ends by itself.
func (q *Quiet) dueNs() int64 {
	if q.On && len(q.Holders) == 0 {
		return q.EndNs
	}
	return never
}

// quiet begins and ends quiet periods: faults are undone as at the end of the chaos phase, and continue afterwards.
func (d *Director) quiet(now int64) error {
	q := &d.Quiet
	wanted := len(q.Holders) > 0 || now < q.EndNs
	switch {
	case d.Phase != PhaseChaos:
		q.On = false
	case wanted && d.Plan.On:
		q.On = true
		d.act.Happen("", "quiet", 0, "faults off")
		active := d.Plan.Heal(now)
		if d.undo(active); d.err != nil {
			return d.err
		}
		q.StepNs, d.NextStep = d.NextStep, never
		d.act.Rates()
		if (len(active) > 0 || d.Plan.Harms()) && !d.stopping() { // else once that is over
			d.heal(now)
		}
	case !wanted && q.On:
		q.On = false
		d.act.Happen("", "quiet", 0, "faults on")
		d.Plan.Resume()
		d.act.Rates()
		d.NextStep = max(q.StepNs, now+max(d.spec.TimeStepNs, 1))
		if d.Plan.Harms() { // they are there at once: what was healed no longer is
			d.unheal()
		}
	}
	return nil
}
