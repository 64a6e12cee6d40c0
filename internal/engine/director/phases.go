package director

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Phases of a run (DESIGN.md's vocabulary).
const (
	PhaseSetup  = "setup"
	PhaseWarmup = "warmup" // the workload runs, and nothing goes wrong
	PhaseChaos  = "chaos"
	PhaseHeal   = "heal" // the moment in which all faults end; a node that was signalled to stop is waited for
	PhaseSettle = "settle"
	PhaseCheck  = "check" // drivers that announce where they are read back
	PhaseFinal  = "final"
	PhaseOver   = "over"
)

// turnPhase enters the next phase when the present one is over.
func (d *Director) turnPhase(now int64) error {
	switch d.Phase {
	case PhaseSetup:
		return d.endSetup(now)
	case PhaseWarmup:
		d.endWarmup(now)
	case PhaseChaos:
		return d.endChaos(now)
	case PhaseHeal:
		return d.endHeal(now)
	case PhaseSettle:
		return d.endSettle(now)
	case PhaseCheck:
		return d.endCheck(now)
	case PhaseFinal:
		d.endFinal()
	}
	return nil
}

func (d *Director) endSetup(now int64) error {
	d.SetupLook = never // what still waits for a time says so below
	for i := range d.Nodes {
		if d.awaited(i) {
			return nil
		}
	}
	if d.awaitsSetup(now) || d.awaitsStarts(now) {
		return nil
	}
	if waits, err := d.awaitsOwn(now); waits || err != nil {
		return err
	}
	if d.Hold {
		d.Held, d.HeldNs = true, now
		return nil
	}
	return d.startWorkload(now)
}

// startWorkload ends the setup and starts the workload.
func (d *Director) startWorkload(now int64) error {
	d.tape.Ready()
	d.drawLength()
	d.SetupEnd, d.SetupLook = never, never
	for _, l := range d.spec.Workloads {
		if l.Announces && (d.ReadyEnd == never || d.ReadyEnd < now+l.ReadyNs) {
			d.ReadyEnd = now + l.ReadyNs
		}
	}
	if d.ReadyEnd == never {
		d.schedule(now)
	}
	d.enter(PhaseWarmup)
	d.out.ReadyNs = max(now, 1) // 0 is that setup never ended
	d.awaitLife(d.out.ReadyNs)
	for i := range d.spec.Properties {
		if d.probesOften(&d.spec.Properties[i]) {
			d.Probes[i].NextNs = now
		}
	}
	return d.beginWorkload()
}

// schedule sets the ends of warmup and chaos. Their lengths count from now on.
func (d *Director) schedule(now int64) {
	d.ChaosEnd = d.spec.MaxTimeNs - max(d.spec.Faults.SettleNs, d.patience()) - d.readBack() - d.reserve()
	d.ChaosEnd = max(d.ChaosEnd, now+(d.spec.MaxTimeNs-now)/2) // where time is short, half of what is left
	if d.spec.Faults.StopNs > 0 {
		d.ChaosEnd = min(d.ChaosEnd, now+d.spec.Faults.StopNs)
	}
	d.ChaosEnd = max(d.ChaosEnd, now+1)
	d.WarmupEnd = min(now+d.spec.Faults.StartNs+d.Length.CalmNs, d.ChaosEnd)
	if most := d.Length.ChaosNs; most > 0 {
		d.ChaosEnd = min(d.ChaosEnd, d.WarmupEnd+most)
	}
}

func (d *Director) endWarmup(now int64) {
	if d.ReadyEnd != never && (now >= d.ReadyEnd || d.all(func(a *Announcer) bool { return a.Ready })) {
		d.ReadyEnd = never
		d.schedule(now)
		d.warnUnready()
	}
	if now < d.WarmupEnd && !d.allDone() {
		return
	}
	d.WarmupEnd = never
	d.enter(PhaseChaos)
	d.out.ChaosNs = max(now, 1)
	d.Plan.BeginChaos(d.tape, now)
	if speed := d.spec.Faults.DiskSpeed; speed != "" && d.spec.Faults.Enabled {
		for i, s := range d.Plan.Disks(d.tape, speed) {
			d.act.Disk(d.Plan.Servers[i], s)
		}
	}
	if len(d.Plan.Rules) > 0 {
		d.NextStep = now
	}
	d.act.Rates()
}

func (d *Director) endChaos(now int64) error {
	if now < d.ChaosEnd && (d.Whole || d.Drivers > 0 && !d.allDone() || len(d.spec.Workloads) == 0 && !d.allEnded()) {
		return nil
	}
	d.ChaosEnd, d.NextStep = never, never
	d.enter(PhaseHeal)
	d.out.ChaosEndNs, d.out.ChaosEndEvent = now, d.act.Events()
	d.Plan.Unreached(d.Moment())
	active := d.Plan.Heal(now)
	if d.undo(active); d.err != nil {
		return d.err
	}
	d.Hurt = len(active) > 0 || d.Plan.Harms()
	d.act.Rates()
	return nil
}

func (d *Director) endHeal(now int64) error {
	if d.stopping() {
		return nil
	}
	d.enter(PhaseSettle)
	if d.Hurt || d.Healed == 0 || d.recovers() { // else the last heal still counts
		d.heal(now)
	}
	d.SettleEnd = now + max(d.spec.Faults.SettleNs, 1)
	return d.startRecovery()
}

func (d *Director) endSettle(now int64) error {
	if now < d.SettleEnd {
		return nil
	}
	for i := range d.Probes { // liveness has its whole timeout
		p := &d.spec.Properties[i]
		if d.Probes[i].Heal != 0 && !d.Probes[i].Proven && now < d.Probes[i].Heal+p.Timeout() {
			d.SettleEnd = d.Probes[i].Heal + p.Timeout()
			return nil
		}
	}
	latest := d.latest() - d.readBack()
	if end := min(d.unsettled(), latest); now < end {
		d.SettleEnd = end
		return nil
	}
	if now < latest && d.awaitsServers(now) {
		d.SettleEnd = min(now+d.look(), latest)
		return nil
	}
	if d.Drivers > 0 && now < latest && !d.readersWait() {
		d.SettleEnd = min(now+d.look(), latest)
		return nil
	}
	if end := min(d.workSettled(), latest); now < end {
		d.SettleEnd = end
		return nil
	}
	d.SettleEnd = never
	if slices.ContainsFunc(d.Announcers, func(a Announcer) bool { return a.Tag != 0 && !a.Over }) {
		d.enter(PhaseCheck)
		d.CheckEnd = d.latest()
		d.tell()
		return nil
	}
	return d.final(now)
}

// endCheck waits for the drivers, which read back.
func (d *Director) endCheck(now int64) error {
	if d.Drivers > 0 && now < d.CheckEnd {
		return nil
	}
	d.CheckEnd = never
	return d.final(now)
}

// final begins the checks of the end.
func (d *Director) final(now int64) error {
	d.enter(PhaseFinal)
	d.out.NotUp = d.notUp()
	for i := range d.spec.Properties {
		if p := &d.spec.Properties[i]; probes(p) && !waitsForHeals(p) {
			d.Probes[i].NextNs = now
		}
	}
	return d.probe(now)
}

func (d *Director) endFinal() {
	for i := range d.Probes {
		if d.Probes[i].Running || d.Probes[i].NextNs != never {
			return
		}
	}
	d.enter(PhaseOver)
}

// reserve is the time that is kept for the final phase, and latest the moment at which that begins whatever is under way.
func (d *Director) reserve() int64 { return min(int64(1e9), d.spec.MaxTimeNs/10) }
func (d *Director) latest() int64  { return d.spec.MaxTimeNs - d.reserve() }

// look is how often settle looks whether drivers have ended.
func (d *Director) look() int64 {
	if d.inProcess { // where drivers end within a step of the heal, and a run takes no longer than a second does
		return 100e6
	}
	return 1e9
}

// Programs whose engine reports whether they are still starting are looked at every startingNs, for startingMaxNs.
const (
	startingNs    = 1_000_000
	startingMaxNs = 1_000_000_000
)

// awaitsStarts reports whether setup waits for a server that is starting.
func (d *Director) awaitsStarts(now int64) bool {
	if now >= startingMaxNs {
		return false
	}
	for i := range d.spec.Nodes {
		if d.spec.Nodes[i].Role == world.Server && d.act.Starting(i) {
			d.SetupLook = d.act.Now() + startingNs // the programs started just now may have taken time
			return true
		}
	}
	return false
}

// allEnded reports whether every main process is over for good: then there is nothing to wait for.
func (d *Director) allEnded() bool {
	for i := range d.Nodes {
		if s := &d.Nodes[i]; s.Launches > 0 && s.Status != Ended {
			return false
		}
	}
	return true
}

func (d *Director) enter(phase string) {
	d.Phase = phase
	d.act.Happen("", "phase", 0, phase)
}

// patience is how long the slowest property may take after the last heal.
func (d *Director) patience() int64 {
	longest := int64(0)
	for i := range d.spec.Properties {
		longest = max(longest, d.spec.Properties[i].WatchedNs())
	}
	return longest
}
