//go:build linux && amd64

package native

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// probeState is where the probing of one property stands.
type probeState struct {
	NextNs  int64
	Running bool
	Again   bool  // something has happened since the running one began: the next one follows soon
	EndNs   int64 // when the last one ended
	Heal    int64 // the heal, or the start, after which a liveness property still has to prove itself; 0 none
	Proven  bool
	Hung    string // how the last one computed without end: no other one follows
}

// probeTimeoutNs bounds one execution of a check.
const probeTimeoutNs = int64(10e9)

func probes(p *world.Property) bool { return p.Check.Type.Probes() }

// probesOften tells the properties that are probed while faults strike and after; an agreement is judged in the end alone.
func probesOften(p *world.Property) bool {
	return probes(p) && p.Kind != world.Liveness && p.Check.Type != world.Agreement
}

// probe starts the checks that are due.
func (w *World) probe(now int64) error {
	d := w.director
	for i := range d.Probes {
		s, p := &d.Probes[i], &w.spec.Properties[i]
		if s.NextNs > now || s.Running {
			continue
		}
		s.NextNs = never
		if s.Hung != "" || p.Kind == world.Liveness && (s.Heal == 0 || s.Proven) {
			continue
		}
		node := w.checker()
		if node < 0 {
			return fmt.Errorf("property %s: there is no client node to run its check on", p.Name)
		}
		s.Running, s.Again = true, false
		timeout := probeTimeoutNs
		if p.Check.Type == world.Agreement { // it asks one node after the other
			timeout *= int64(max(len(p.Check.Nodes), 1))
		}
		if err := w.startProbe(job{Kind: jobProbe, Node: node, Index: i, Deadline: now + timeout, Heal: s.Heal}, &p.Check, nil); err != nil {
			return err
		}
	}
	return nil
}

// awaitLife begins a time within which each liveness property must prove itself.
func (w *World) awaitLife(now int64) {
	for i := range w.spec.Properties {
		if p := &w.spec.Properties[i]; probes(p) && p.Kind == world.Liveness {
			w.director.Probes[i].Heal, w.director.Probes[i].Proven, w.director.Probes[i].NextNs = now, false, now
		}
	}
}

// soonest is the part of its interval that a probe keeps away from the one before it, whatever happens: a storm of faults
// is no storm of probes.
const soonest = 10

// probeSoon lets the checks run that look often: something has happened that they may show.
func (w *World) probeSoon() {
	d := w.director
	if d.Phase != phaseWarmup && d.Phase != phaseChaos && d.Phase != phaseHeal && d.Phase != phaseSettle {
		return
	}
	for i := range d.Probes {
		s, p := &d.Probes[i], &w.spec.Properties[i]
		switch {
		case !probesOften(p):
		case s.Running:
			s.Again = true
		default:
			s.NextNs = min(s.NextNs, max(w.kernel.Now, s.EndNs+intervalOf(p)/soonest))
		}
	}
	d.due = 0
}

// intervalOf is how long a check rests between two runs.
func intervalOf(p *world.Property) int64 {
	if p.Check.IntervalNs > 0 {
		return p.Check.IntervalNs
	}
	return int64(1e9)
}

// checker is the node that probes run on: a client that no fault touches.
func (w *World) checker() int {
	found := -1
	for i := range w.spec.Nodes {
		if w.spec.Nodes[i].Role == world.Checker {
			return i
		}
		if w.spec.Nodes[i].Role == world.Client && found < 0 {
			found = i
		}
	}
	return found
}

// probed takes in the result of a check.
func (w *World) probed(j *job, n *kernel.Notice) {
	d := w.director
	s, p := &d.Probes[j.Index], &w.spec.Properties[j.Index]
	s.Running, s.EndNs = false, w.kernel.Now
	code := n.Status >> 8
	if n.Status&0x7f != 0 {
		code = 128 + n.Status&0x7f
	}
	output := strings.Join(d.LogTail[n.Tag], "\n")
	switch {
	case s.Hung != "":
		code, output = world.ProbeHung, s.Hung
	case code != world.ProbeHolds && code != world.ProbeViolated:
		output = w.besides(output, j.Node)
	}
	w.outcome.Probes = append(w.outcome.Probes, engine.Probe{Property: p.Name, Phase: j.Phase, Event: n.Event, StartNs: j.StartNs, EndNs: n.TimeNs,
		AfterHealNs: j.Heal, ExitCode: code, Output: output})
	delete(d.LogTail, n.Tag)
	interval := intervalOf(p)
	if s.Again {
		interval = max(interval/soonest, 1)
	}
	switch {
	case s.Hung != "":
		s.NextNs = never
	case p.Kind == world.Liveness:
		if code == 0 && j.Heal == s.Heal {
			s.Proven = true
		}
		if s.Heal != 0 && !s.Proven {
			s.NextNs = w.kernel.Now + interval
			if d.Phase == phaseFinal {
				s.NextNs = never
			}
		}
	case d.Phase == phaseWarmup || d.Phase == phaseChaos || d.Phase == phaseSettle:
		s.NextNs = w.kernel.Now + interval
	case d.Phase == phaseFinal && j.Phase != phaseFinal:
		s.NextNs = w.kernel.Now
	}
}

// hung ends a check that computes without end. Such a check costs real time, and the next one would cost it again.
func (w *World) hung(n *kernel.Notice) {
	j := &w.director.Jobs[n.Tag-1]
	if j.Kind == jobProber {
		w.proberHung(n)
		return
	}
	w.director.Probes[j.Index].Hung = string(n.Text)
	if w.kernel.Procs[j.Proc] == nil { // the check has ended and left it behind
		w.outcome.Probes = append(w.outcome.Probes, engine.Probe{Property: w.spec.Properties[j.Index].Name, Phase: j.Phase, Event: n.Event, StartNs: j.StartNs,
			EndNs: n.TimeNs, AfterHealNs: j.Heal, ExitCode: world.ProbeHung, Output: string(n.Text)})
	}
	for _, id := range slices.Sorted(maps.Keys(w.kernel.Procs)) {
		if p := w.kernel.Procs[id]; p != nil && p.Tag == n.Tag {
			w.kernel.KillProc(p)
		}
	}
}
