//go:build linux && amd64

package native

import (
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Phases of a run (DESIGN.md's vocabulary).
const (
	phaseSetup  = "setup"
	phaseWarmup = "warmup" // the workload runs, and nothing goes wrong
	phaseChaos  = "chaos"
	phaseHeal   = "heal" // the moment in which all faults end; a node that was told to stop is waited for
	phaseSettle = "settle"
	phaseFinal  = "final"
	phaseOver   = "over"
)

// turnPhase goes on to the next phase when the present one is over.
func (w *World) turnPhase(now int64) error {
	d, f := w.director, &w.spec.Faults
	switch d.Phase {
	case phaseSetup:
		for i := range d.Nodes {
			if w.awaited(i) {
				return nil
			}
		}
		if w.awaitsSetup(now) {
			return nil
		}
		d.SetupEnd = never
		d.ChaosEnd = w.spec.MaxTimeNs - max(f.SettleNs, w.patience()) - min(int64(1e9), w.spec.MaxTimeNs/10)
		d.ChaosEnd = max(d.ChaosEnd, now+(w.spec.MaxTimeNs-now)/2) // where time is short, half of it
		if f.StopNs > 0 {
			d.ChaosEnd = min(d.ChaosEnd, now+f.StopNs)
		}
		d.ChaosEnd = max(d.ChaosEnd, now+1)
		d.WarmupEnd = min(now+f.StartNs, d.ChaosEnd)
		w.enter(phaseWarmup)
		w.outcome.ReadyNs = max(now, 1) // 0 is that setup never ended
		w.awaitLife(w.outcome.ReadyNs)
		for i := range w.spec.Properties {
			if probesOften(&w.spec.Properties[i]) {
				d.Probes[i].NextNs = now
			}
		}
		return w.startDrivers()
	case phaseWarmup:
		if now < d.WarmupEnd {
			return nil
		}
		d.WarmupEnd = never
		w.enter(phaseChaos)
		d.Plan.Begin(w.tape, now)
		if len(d.Plan.Rules) > 0 {
			d.NextStep = now
		}
		w.setRates()
	case phaseChaos:
		if now < d.ChaosEnd && (d.Drivers > 0 || len(w.spec.Workloads) == 0 && !d.allEnded()) {
			return nil
		}
		d.ChaosEnd, d.NextStep = never, never
		w.enter(phaseHeal)
		active := d.Plan.Heal(now)
		if err := w.undo(active); err != nil {
			return err
		}
		d.Hurt = len(active) > 0 || d.Plan.Harms()
		w.setRates()
	case phaseHeal:
		if d.stopping() {
			return nil
		}
		w.enter(phaseSettle)
		if d.Hurt || d.Healed == 0 || w.recovers() { // else the last heal still counts
			w.healed(now)
		}
		d.SettleEnd = now + max(f.SettleNs, 1)
		return w.startRecovery()
	case phaseSettle:
		if now < d.SettleEnd {
			return nil
		}
		for i := range d.Probes { // liveness has its whole timeout
			p := &w.spec.Properties[i]
			if d.Probes[i].Heal != 0 && !d.Probes[i].Proven && now < d.Probes[i].Heal+timeoutOf(p) {
				d.SettleEnd = d.Probes[i].Heal + timeoutOf(p)
				return nil
			}
		}
		if end := min(w.unsettled(), w.spec.MaxTimeNs-int64(1e9)); now < end {
			d.SettleEnd = end
			return nil
		}
		if d.Drivers > 0 && now < w.spec.MaxTimeNs-int64(1e9) {
			d.SettleEnd = min(now+int64(1e9), w.spec.MaxTimeNs-int64(1e9))
			return nil
		}
		d.SettleEnd = never
		w.enter(phaseFinal)
		for i := range w.spec.Properties {
			if p := &w.spec.Properties[i]; probes(p) && p.Kind != world.Liveness {
				d.Probes[i].NextNs = now
			}
		}
		return w.probe(now)
	case phaseFinal:
		for i := range d.Probes {
			if d.Probes[i].Running || d.Probes[i].NextNs != never {
				return nil
			}
		}
		w.enter(phaseOver)
	}
	return nil
}

// allEnded reports whether every main process is over for good: then there is nothing to wait for.
func (d *director) allEnded() bool {
	for i := range d.Nodes {
		if s := &d.Nodes[i]; s.Launches > 0 && s.Status != ended {
			return false
		}
	}
	return true
}

func (w *World) enter(phase string) {
	w.director.Phase = phase
	w.kernel.Happen("", "", "phase", 0, phase)
}

// patience is how long the slowest property may take after the last heal.
func (w *World) patience() int64 {
	longest := int64(0)
	for i := range w.spec.Properties {
		longest = max(longest, watched(&w.spec.Properties[i]))
	}
	return longest
}

func timeoutOf(p *world.Property) int64 {
	if p.TimeoutNs > 0 {
		return p.TimeoutNs
	}
	return int64(30e9)
}
