package inproc

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/model"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// phase of a run.
type phase uint8

const (
	setup phase = iota
	warmup
	chaos
	heal
	settling
	final
	over
)

var phaseNames = []string{"setup", "warmup", "chaos", "heal", "settle", "final", "over"}

const never = math.MaxInt64

// director plays phases, faults and probes.
type director struct {
	run      *run
	plan     *fault.Plan
	phase    phase
	phaseEnd int64
	nextStep int64
	turnAt   int64 // the turn that is in the queue, or never
	moment   fault.Moment

	clients    int // at work
	operations uint64
	counts     map[string]uint64
	roles      map[string][]string
	heals      []int64
	healed     int64 // the heal that holds, or 0
	probes     []probe
	broken     bool // an invariant was
}

// probe is where a property stands that must come true.
type probe struct {
	check  *promise
	heal   int64 // the start or heal that it belongs to
	window bool
	done   bool // it has come true, or its time is over
	nextNs int64
}

func (d *director) begin(r *run) {
	d.run, d.plan = r, r.lay.plan.Again()
	d.turnAt = never
	d.enter(setup)
	for i, n := range r.nodes {
		if n.server && len(r.spec.Nodes[i].Command) > 0 {
			r.start(n)
		}
	}
	d.at(r.now + setupNs)
}

// Setup is over when servers wait for messages or for time to pass. It is looked for every setupNs, for setupMaxNs.
const (
	setupNs    = 1_000_000
	setupMaxNs = 1_000_000_000
)

// starting tells whether a node's main process is still at work.
func (n *Node) starting() bool {
	if len(n.threads) == 0 {
		return false
	}
	w := n.threads[0].wait
	return w != receiving && w != sleeping && w != turned
}

// at asks for a turn at a moment.
func (d *director) at(ns int64) {
	if ns < d.turnAt {
		d.turnAt = ns
		d.run.push(ns, pending{kind: turn})
	}
}

func (d *director) enter(p phase) {
	d.phase = p
	d.run.event(callPhase, nil, nil, int64(p), 0, 0, phaseNames[p])
}

// turn does what is due, and asks for the next turn.
func (d *director) turn() {
	r := d.run
	d.turnAt = never
	d.ends()
	for before := phase(math.MaxUint8); before != d.phase && r.failure == nil; {
		before = d.phase
		d.advance()
	}
	if d.phase == chaos && d.nextStep <= r.now {
		d.step()
	}
	d.probe()
	if d.phase == over || r.failure != nil {
		return
	}
	next := d.phaseEnd
	if d.phase == chaos {
		next = min(next, d.nextStep)
		if end, ok := d.plan.NextEndNs(); ok {
			next = min(next, end)
		}
	}
	for i := range d.probes {
		next = min(next, d.probes[i].nextNs)
	}
	if next != never {
		d.at(max(next, r.now+1))
	}
}

// advance goes on to the next phase if the present one is over.
func (d *director) advance() {
	r, f := d.run, &d.run.spec.Faults
	now := r.now
	switch d.phase {
	case setup:
		if now < setupMaxNs && slices.ContainsFunc(r.nodes, func(n *Node) bool { return n.server && n.starting() }) {
			d.phaseEnd = now + setupNs
			return
		}
		r.out.ReadyNs = max(now, 1)
		d.enter(warmup)
		d.phaseEnd = now + f.StartNs
		d.await(r.out.ReadyNs, false)
		for i, n := range r.nodes {
			if !n.server && len(r.spec.Nodes[i].Command) > 0 {
				d.clients++
				r.start(n)
			}
		}
		if r.schedule != nil {
			r.schedule.begin()
		}
	case warmup:
		if now < d.phaseEnd {
			return
		}
		d.enter(chaos)
		d.phaseEnd = r.spec.MaxTimeNs - f.SettleNs - d.patience() - r.spec.MaxTimeNs/10
		if f.StopNs > 0 {
			d.phaseEnd = min(d.phaseEnd, now+f.StopNs)
		} else if len(r.spec.Workloads) == 0 {
			d.phaseEnd = min(d.phaseEnd, now+int64(defaultChaos))
		}
		d.phaseEnd = max(d.phaseEnd, now+1)
		d.plan.Begin(r.src, now)
		d.nextStep = never
		if len(d.plan.Rules) > 0 {
			d.nextStep = now
		}
		d.rates()
	case chaos:
		// A schedule has its steps; otherwise what clients do is what faults are for.
		if now < d.phaseEnd && (r.schedule != nil || d.clients > 0 || len(r.spec.Workloads) == 0) {
			return
		}
		d.enter(heal)
		active := d.plan.Heal(now)
		d.undo(active)
		d.rates()
		if len(active) > 0 || d.plan.Harms() || d.healed == 0 {
			d.mend()
		}
		d.enter(settling)
		d.phaseEnd = now + max(f.SettleNs, 1)
	case settling:
		if now < d.phaseEnd {
			return
		}
		last := r.spec.MaxTimeNs - r.spec.MaxTimeNs/20
		for i := range d.probes {
			p := &d.probes[i]
			if p.window && !p.done && now <= p.heal+p.check.within {
				d.phaseEnd = p.heal + p.check.within + 1
				return
			}
		}
		if d.clients > 0 && now < last {
			d.phaseEnd = min(now+int64(defaultTimeStep), last)
			return
		}
		d.enter(final)
		d.phaseEnd = never
		d.finally()
		d.enter(over)
	}
}

// patience is how long the slowest property may take after the last heal.
func (d *director) patience() int64 {
	longest := int64(0)
	for i := range d.run.def.checks {
		longest = max(longest, d.run.def.checks[i].within)
	}
	return longest
}

// step draws the faults of a time step.
func (d *director) step() {
	r := d.run
	d.nextStep = r.now + max(r.spec.TimeStepNs, 1)
	if r.lay.changes {
		d.rates()
	}
	d.deliver(d.plan.Step(r.src, r.moment()))
}

// ends ends the faults whose time is over.
func (d *director) ends() {
	if end, ok := d.plan.NextEndNs(); !ok || end > d.run.now {
		return
	}
	d.undo(d.plan.Ended(d.run.now))
	if len(d.plan.Active) == 0 && !d.plan.Harms() {
		d.mend()
	}
}

// mend notes a heal: no fault is under way.
func (d *director) mend() {
	d.heals = append(d.heals, d.run.now)
	d.healed = d.run.now
	d.await(d.run.now, true)
}

// await opens the time in which properties must come true.
func (d *director) await(from int64, heal bool) {
	checks := d.run.def.checks
	if d.probes == nil {
		for i := range checks {
			if checks[i].kind == world.Liveness {
				d.probes = append(d.probes, probe{check: &checks[i], nextNs: never})
			}
		}
	}
	for i := range d.probes {
		p := &d.probes[i]
		p.heal, p.window, p.done, p.nextNs = from, true, false, d.run.now
		if !heal {
			p.heal = 0
		}
	}
}

// probe asks the properties that must come true.
func (d *director) probe() {
	r := d.run
	for i := range d.probes {
		p := &d.probes[i]
		if !p.window || p.done || p.nextNs > r.now {
			continue
		}
		from := p.heal
		if from == 0 {
			from = r.out.ReadyNs
		}
		code, text := ask(p.check, false)
		r.out.Probes = append(r.out.Probes, engine.Probe{Property: p.check.name, Phase: phaseNames[d.phase], Event: r.events, StartNs: r.now, EndNs: r.now,
			AfterHealNs: p.heal, ExitCode: code, Output: text})
		if p.done = code == world.ProbeHolds; p.done || r.now >= from+p.check.within {
			p.nextNs = never
			p.done = true
			continue
		}
		p.nextNs = min(r.now+max(int64(checkEvery), p.check.within/64), from+p.check.within)
	}
}

// ask asks a property; in the end, what it says of the whole run.
func ask(c *promise, end bool) (code int, text string) {
	defer func() {
		if e := recover(); e != nil {
			code, text = world.ProbeFailed, panics(c, e)
		}
	}()
	holds := c.holds
	if end && c.follower != nil {
		holds = c.follower.End
	}
	err := holds()
	var divergence *model.Divergence
	switch {
	case err == nil:
		return world.ProbeHolds, ""
	case c.follower != nil && !errors.As(err, &divergence):
		return world.ProbeFailed, err.Error()
	}
	return world.ProbeViolated, err.Error()
}

// invariants asks what must hold after each step.
func (r *run) invariants() {
	d := &r.director
	if d.broken || len(r.def.checks) == 0 {
		return
	}
	var c *promise
	code, text := world.ProbeHolds, ""
	defer func() {
		if e := recover(); e != nil {
			code, text = world.ProbeFailed, panics(c, e)
		}
		if code != world.ProbeHolds {
			d.broken = true
			r.out.Probes = append(r.out.Probes, engine.Probe{Property: c.name, Phase: phaseNames[d.phase], Event: r.events, StartNs: r.now, EndNs: r.now, ExitCode: code, Output: text})
			r.out.Detail = fmt.Sprintf("%s does not hold", c.name)
			r.ended = engine.Stopped
		}
	}()
	for i := range r.def.checks {
		c = &r.def.checks[i]
		if c.kind != world.Invariant {
			continue
		}
		if err := c.holds(); err != nil {
			code, text = world.ProbeViolated, err.Error()
			return
		}
	}
}

func panics(c *promise, e any) string {
	return fmt.Sprintf("the function of property %q panics: %v", c.name, e)
}

// finally asks what must hold in the end.
func (d *director) finally() {
	r := d.run
	for i := range r.def.checks {
		c := &r.def.checks[i]
		if c.kind == world.Liveness {
			continue
		}
		code, text := ask(c, true)
		r.out.Probes = append(r.out.Probes, engine.Probe{Property: c.name, Phase: phaseNames[final], Event: r.events, StartNs: r.now, EndNs: r.now, ExitCode: code, Output: text})
	}
}

// entering strikes as a program of a node is about to make a call.
func (d *director) entering(n *Node, what string, files []string) {
	if actions := d.plan.Enter(d.run.src, d.run.moment(), n.name, what, files...); len(actions) > 0 {
		d.deliver(actions)
	}
}

// deliver performs strikes.
func (d *director) deliver(actions []fault.Action) {
	r := d.run
	if d.plan.Broken != "" && r.failure == nil {
		r.failure = errors.New(d.plan.Broken)
		return
	}
	for _, a := range actions {
		d.healed = 0
		for i := range d.probes {
			d.probes[i].window, d.probes[i].nextNs = false, never
		}
		event := r.event(callFault, nil, nil, int64(a.ID), 0, hashText(string(a.Kind)), string(a.Kind)+" "+a.Target)
		d.plan.Ledger.Begun(&a, event)
		d.plan.Ledger.Delivered(&a)
		if r.schedule != nil {
			r.schedule.struck(&a)
		}
		n := r.node(a.Node)
		switch a.Kind {
		case fault.Partition, fault.Clog, fault.SlowLink:
			d.links(a)
		case fault.Crash, fault.PowerLoss, fault.TornWrite:
			r.crash(n, &a, nil)
		case fault.Pause:
			n.pausedBy = a.ID
		case fault.ClockSkew, fault.ClockJump, fault.ClockDrift:
			d.setClock(n)
		case fault.DiskFull:
			n.fullBy = a.ID
		case fault.SlowDisk:
			n.slowBy, n.slowNs = a.ID, a.Amount
		}
	}
	d.met()
	if end, ok := d.plan.NextEndNs(); ok {
		d.at(max(end, r.now))
	}
}

// met notes which kinds of faults are under way together.
func (d *director) met() {
	if d.run.reached == nil || len(d.plan.Active) == 0 {
		return
	}
	var kinds []string
	for i := range d.plan.Active {
		kinds = append(kinds, string(d.plan.Active[i].Kind))
	}
	slices.Sort(kinds)
	d.run.reach(coverage.Fault, fmt.Sprint(slices.Compact(kinds)))
}

// torn performs the loss of power in the middle of a write.
func (d *director) torn(n *Node, strike int, w *tornWrite) {
	r := d.run
	a, ok := d.plan.ByID(strike)
	if !ok {
		return
	}
	event := r.event(callFault, nil, nil, int64(a.ID), 0, hashText(string(a.Kind)), string(a.Kind)+" "+a.Target)
	d.plan.Ledger.Begun(&a, event)
	d.plan.Ledger.Delivered(&a)
	d.healed = 0
	if r.schedule != nil {
		r.schedule.struck(&a)
	}
	r.crash(n, &a, w)
	d.at(max(a.EndNs(), r.now))
}

// crash ends the programs of a node. What its disk has not synchronised is gone.
func (r *run) crash(n *Node, a *fault.Action, torn *tornWrite) {
	n.downBy = a.ID
	var take func(string, uint64) uint64
	if a.Kind != fault.Crash {
		stream := fmt.Sprintf("disk/%s/%d/", n.name, n.disk.losses)
		take = func(what string, k uint64) uint64 { return r.src.Choose(stream+what, k) }
	}
	n.disk.lose(take, torn)
	n.pausedBy, n.late = 0, false
	if r.active == n { // it stands in a call, from which it unwinds
		n.up, n.dying = false, true
	} else {
		r.bury(n)
	}
	r.stepped(Crashed, n, nil)
}

// undo ends strikes.
func (d *director) undo(actions []fault.Action) {
	r := d.run
	for _, a := range actions {
		r.event(callHeal, nil, nil, int64(a.ID), 0, hashText(string(a.Kind)), string(a.Kind)+" "+a.Target)
		if r.schedule != nil {
			r.schedule.healed(&a)
		}
		n := r.node(a.Node)
		switch a.Kind {
		case fault.Partition, fault.Clog, fault.SlowLink:
			d.links(a)
		case fault.Crash, fault.PowerLoss, fault.TornWrite:
			if n.downBy == a.ID {
				n.downBy, n.reborn = 0, a.ID
				if len(r.spec.Nodes[n.id].Command) > 0 {
					r.start(n)
				}
			}
		case fault.Pause:
			if n.pausedBy == a.ID {
				n.pausedBy = 0
				d.release(n, a.ID)
			}
		case fault.ClockSkew, fault.ClockJump, fault.ClockDrift:
			d.setClock(n)
		case fault.DiskFull:
			n.fullBy = 0
		case fault.SlowDisk:
			n.slowBy, n.slowNs = 0, 0
		}
	}
}

// release gives a node what was due while it was paused.
func (d *director) release(n *Node, id int) {
	held, late := n.held, n.late
	n.held, n.late = nil, false
	if (len(held) > 0 || late) && n.server {
		d.run.observed(ref{id: id})
	}
	for _, what := range held {
		d.run.push(d.run.now, what)
	}
}

// setClock makes a node's clock as wrong as the faults that lie on it.
func (d *director) setClock(n *Node) {
	var extra, ahead int64
	last := 0
	for i := range d.plan.Active {
		a := &d.plan.Active[i]
		if a.Node != n.name {
			continue
		}
		switch a.Kind {
		case fault.ClockSkew, fault.ClockJump:
			ahead, last = ahead+a.Amount, a.ID
		case fault.ClockDrift:
			extra, last = extra+a.Amount, a.ID
		}
	}
	n.clock.set(d.run.now, extra, ahead, last)
}

// links tells the network what lies on each direction that a strike concerns, after it has begun or ended.
func (d *director) links(a fault.Action) {
	r := d.run
	for _, c := range a.Cuts {
		l := r.link(r.node(c.From), r.node(c.To))
		now := d.plan.Lies(a.Kind, c.From, c.To)
		switch a.Kind {
		case fault.Partition:
			l.blockedBy = now.ID
		case fault.Clog:
			if l.clogBy = now.ID; now.ID == 0 {
				waiting := l.clogged
				l.clogged = nil
				for _, what := range waiting {
					r.push(r.now, what)
				}
			}
		case fault.SlowLink:
			l.slow = now
		}
	}
}

// rates tells links which faults their messages suffer.
func (d *director) rates() {
	for i := range d.run.links {
		if l := &d.run.links[i]; l.lay != nil {
			d.run.rate(l)
		}
	}
}

// clientEnded takes note that the program of a client is over.
func (d *director) clientEnded(n *Node, code int, said string) {
	r := d.run
	d.clients--
	r.out.Drivers = append(r.out.Drivers, engine.DriverEnd{Workload: n.name, TimeNs: r.now, ExitCode: code, Said: said})
	if d.clients == 0 {
		d.at(r.now)
	}
}
