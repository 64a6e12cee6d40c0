//go:build linux && amd64

package native

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// quiet is a time without faults that programs have asked for, in the chaos phase.
type quiet struct {
	Holders []int64 // tags of drivers that have faults off until they say otherwise, or end
	EndNs   int64   // the latest end that was asked for
	On      bool
	StepNs  int64 // when faults were to be drawn next, as they went off
}

// asked takes in a request of a program of the world. direct acts on it.
func (w *World) asked(n *kernel.Notice) {
	q := &w.director.Quiet
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

func (q *quiet) hold(tag int64) {
	if !slices.Contains(q.Holders, tag) {
		q.Holders = append(q.Holders, tag)
	}
}

func (q *quiet) release(tag int64) {
	q.Holders = slices.DeleteFunc(q.Holders, func(h int64) bool { return h == tag })
}

// dueNs is when a quiet time ends by itself.
func (q *quiet) dueNs() int64 {
	if q.On && len(q.Holders) == 0 {
		return q.EndNs
	}
	return never
}

// hush begins and ends quiet times: strikes are undone as at the end of the chaos phase, and go on afterwards.
func (w *World) hush(now int64) error {
	d := w.director
	q := &d.Quiet
	wanted := len(q.Holders) > 0 || now < q.EndNs
	switch {
	case d.Phase != phaseChaos:
		q.On = false
	case wanted && d.Plan.On:
		q.On = true
		w.kernel.Happen("", "", "quiet", 0, "faults off")
		active := d.Plan.Heal(now)
		if err := w.undo(active); err != nil {
			return err
		}
		q.StepNs, d.NextStep = d.NextStep, never
		w.setRates()
		if (len(active) > 0 || d.Plan.Harms()) && !d.stopping() { // else once that is over
			w.healed(now)
		}
	case !wanted && q.On:
		q.On = false
		w.kernel.Happen("", "", "quiet", 0, "faults on")
		d.Plan.Resume()
		w.setRates()
		d.NextStep = max(q.StepNs, now+max(w.spec.TimeStepNs, 1))
		if d.Plan.Harms() { // they strike at once: what was healed no longer is
			d.unheal()
		}
	}
	return nil
}
