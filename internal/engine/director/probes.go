package director

import (
	"fmt"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Probe is the progress of probing one property.
type Probe struct {
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

// probesOften lists the properties that are probed while faults are injected and after; an agreement is judged in the end alone, and so is a function
// that does not say what comes true.
func (d *Director) probesOften(p *world.Property) bool {
	return !d.inProcess && p.Check.Type.Kind().Often() && !waitsForHeals(p)
}

// waitsForHeals reports whether a property is probed after the start and after heals alone, until it has proven itself. One that
// must hold while some faults last is probed all the time.
func waitsForHeals(p *world.Property) bool { return p.Kind == world.Liveness && !p.Tolerant() }

// probe starts the checks that are due.
func (d *Director) probe(now int64) error {
	for i := range d.Probes {
		s, p := &d.Probes[i], &d.spec.Properties[i]
		if s.NextNs > now || s.Running {
			continue
		}
		s.NextNs = never
		if s.Hung != "" || waitsForHeals(p) && (s.Heal == 0 || s.Proven) {
			continue
		}
		if code, text, ok := d.act.Ask(i, d.Phase == PhaseFinal); ok {
			j := Job{Kind: JobProbe, Index: i, StartNs: now, Heal: s.Heal, Phase: d.Phase}
			d.judge(&j, &Notice{Event: d.act.Events(), TimeNs: now}, record.Probe{ExitCode: code, Output: text})
			continue
		}
		node := Checker(d.spec)
		if node < 0 {
			return fmt.Errorf("property %s: there is no client node to run its check on", p.Name)
		}
		s.Running, s.Again = true, false
		timeout := probeTimeoutNs
		if p.Check.Type.Kind().AsksNodes { // it asks one node after the other
			timeout *= int64(max(len(p.Check.Nodes), 1))
		}
		if err := d.startProbe(Job{Kind: JobProbe, Node: node, Index: i, Deadline: now + timeout, Heal: s.Heal}, &p.Check, nil); err != nil {
			return err
		}
	}
	return nil
}

// awaitLife begins a time within which each liveness property must prove itself.
func (d *Director) awaitLife(now int64) {
	for i := range d.spec.Properties {
		if p := &d.spec.Properties[i]; probes(p) && p.Kind == world.Liveness {
			d.Probes[i].Heal, d.Probes[i].Proven, d.Probes[i].NextNs = now, false, now
		}
	}
}

// soonest is the part of its interval that a probe keeps away from the one before it, whatever happens: a storm of faults
// is no storm of probes.
const soonest = 10

// probeSoon lets the checks run that look often: something has happened that they may show.
func (d *Director) probeSoon() {
	if d.Phase != PhaseWarmup && d.Phase != PhaseChaos && d.Phase != PhaseHeal && d.Phase != PhaseSettle && d.Phase != PhaseCheck {
		return
	}
	for i := range d.Probes {
		s, p := &d.Probes[i], &d.spec.Properties[i]
		switch {
		case !d.probesOften(p) || p.Check.Type.Kind().Even: // metrics are scraped at even times
		case s.Running:
			s.Again = true
		default:
			s.NextNs = min(s.NextNs, max(d.act.Now(), s.EndNs+intervalOf(p)/soonest))
		}
	}
	d.Due = 0
}

// intervalOf is how long a check rests between two runs.
func intervalOf(p *world.Property) int64 {
	if p.Check.IntervalNs > 0 {
		return p.Check.IntervalNs
	}
	return int64(1e9)
}

// Checker is the node that probes run on: a client that no fault touches.
func Checker(spec *world.Spec) int {
	found := -1
	for i := range spec.Nodes {
		if spec.Nodes[i].Role == world.Checker {
			return i
		}
		if spec.Nodes[i].Role == world.Client && found < 0 {
			found = i
		}
	}
	return found
}

// probed takes in the result of a check.
func (d *Director) probed(j *Job, n *Notice, scrapes []world.Scraped) {
	s := &d.Probes[j.Index]
	code := n.Status >> 8
	if n.Status&0x7f != 0 {
		code = 128 + n.Status&0x7f
	}
	output := strings.Join(d.LogTail[n.Tag], "\n")
	switch {
	case s.Hung != "":
		code, output = world.ProbeHung, s.Hung
	case code != world.ProbeHolds && code != world.ProbeViolated:
		output = d.besides(output, j.Node)
	}
	d.forgetLog(n.Tag)
	d.judge(j, n, record.Probe{ExitCode: code, Output: output, Scrapes: scrapes})
}

// judge records the result of a check, and decides when the next one follows.
func (d *Director) judge(j *Job, n *Notice, found record.Probe) {
	s, p := &d.Probes[j.Index], &d.spec.Properties[j.Index]
	s.Running, s.EndNs = false, d.act.Now()
	found.Property, found.Phase, found.Event, found.StartNs, found.EndNs, found.AfterHealNs = p.Name, j.Phase, n.Event, j.StartNs, n.TimeNs, j.Heal
	d.out.Probes = append(d.out.Probes, found)
	interval := intervalOf(p)
	if s.Again {
		interval = max(interval/soonest, 1)
	}
	if p.Kind == world.Liveness && found.ExitCode == 0 && j.Heal == s.Heal {
		s.Proven = true
	}
	switch {
	case s.Hung != "":
		s.NextNs = never
	case waitsForHeals(p):
		if s.Heal != 0 && !s.Proven {
			s.NextNs = d.act.Now() + interval
			if d.Phase == PhaseFinal {
				s.NextNs = never
			}
		}
	case p.Check.Type.Kind().Even && d.Phase != PhaseFinal:
		s.NextNs = max(j.StartNs+interval, d.act.Now())
	case d.Phase == PhaseWarmup || d.Phase == PhaseChaos || d.Phase == PhaseSettle || d.Phase == PhaseCheck:
		s.NextNs = d.act.Now() + interval
	case d.Phase == PhaseFinal && j.Phase != PhaseFinal:
		s.NextNs = d.act.Now()
	}
}

// Hung ends a check that computes without end. Such a check costs real time, and the next one would cost it again.
func (d *Director) Hung(n *Notice) {
	j := &d.Jobs[n.Tag-1]
	if j.Kind == JobProber {
		d.proberHung(n)
		return
	}
	if j.Kind == JobOperator {
		d.Warn(record.CommandWarning + fmt.Sprintf("a command run on %s computes without end, and was killed: %s", d.spec.Nodes[j.Node].Name, n.Text))
		d.act.KillTagged(n.Tag)
		return
	}
	d.Probes[j.Index].Hung = string(n.Text)
	if !d.act.Alive(j.Proc) { // the check has ended and left it behind
		d.out.Probes = append(d.out.Probes, record.Probe{Property: d.spec.Properties[j.Index].Name, Phase: j.Phase, Event: n.Event, StartNs: j.StartNs,
			EndNs: n.TimeNs, AfterHealNs: j.Heal, ExitCode: world.ProbeHung, Output: string(n.Text)})
	}
	d.act.KillTagged(n.Tag)
}
