package inproc

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/engine/director"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/model"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// phases are numbered in traces.
var phases = []string{director.PhaseSetup, director.PhaseWarmup, director.PhaseChaos, director.PhaseHeal, director.PhaseSettle,
	director.PhaseFinal, director.PhaseOver}

// setupNs is how long setup lasts at least.
const setupNs = 1_000_000

// actuator acts for the Director of a run.
type actuator struct {
	director.Unable
	director.Blind
	*run
}

func (r *run) actuator() actuator {
	return actuator{Unable: director.Unable{Engine: capabilities.Engine}, run: r}
}

var _ director.Actuator = actuator{}

// direct lets the Director act on whatever is due.
func (r *run) direct() {
	r.fail(r.director.Direct())
	if r.schedule != nil && !r.schedule.begun && r.director.Phase != director.PhaseSetup {
		r.schedule.requestFirstStep()
	}
}

// faultsOver reports whether the chaos phase is over.
func (r *run) faultsOver() bool {
	switch r.director.Phase {
	case director.PhaseSetup, director.PhaseWarmup, director.PhaseChaos:
		return false
	}
	return true
}

func (a actuator) Now() int64     { return a.now }
func (a actuator) Events() uint64 { return a.events }
func (a actuator) Deliver() error { return nil }

func (a actuator) Happen(_, call string, result int64, detail string) uint64 {
	kind, ends := strings.CutPrefix(call, "end ")
	switch {
	case call == "phase":
		return a.event(callPhase, nil, nil, int64(slices.Index(phases, detail)), 0, 0, detail)
	case ends:
		return a.event(callHeal, nil, nil, result, 0, hashText(kind), kind+" "+detail)
	}
	return a.event(callFault, nil, nil, result, 0, hashText(call), call+" "+detail)
}

// Launch starts the program of a node. After a crash it observes that crash with its first call.
func (a actuator) Launch(l *director.Launch) (int64, error) {
	n := a.nodes[l.Node]
	n.tag = l.Tag
	if n.downBy != 0 {
		n.downBy, n.reborn = 0, n.downBy
	}
	a.start(n)
	return 0, nil
}

// Starting reports whether setup waits for a server: until it waits for messages or for time to pass.
func (a actuator) Starting(node int) bool {
	n := a.nodes[node]
	if a.now < setupNs {
		return true
	}
	if !n.server || len(n.threads) == 0 {
		return false
	}
	w := n.threads[0].wait
	return w != receiving && w != sleeping && w != turned
}

func (a actuator) KillNode(node int, by *fault.Action) { a.crash(a.nodes[node], by, "") }

func (a actuator) LosePower(node int, by *fault.Action, stream string) error {
	a.crash(a.nodes[node], by, stream)
	return nil
}

func (a actuator) PowerOn(int) {}

// crash ends the programs of a node. What its disk has not synchronized is lost; of a loss of power, streams of the tape say how much.
func (r *run) crash(n *Node, by *fault.Action, stream string) {
	n.downBy = by.ID
	var take func(string, uint64) uint64
	if stream != "" {
		take = func(what string, k uint64) uint64 { return r.src.Choose(stream+what, k) }
	}
	n.disk.lose(take)
	n.pausedBy, n.late = 0, false
	if r.active == n { // the node is in a call, from which it unwinds
		n.up, n.dying = false, true
	} else {
		r.bury(n)
	}
	r.stepped(Crashed, n, nil)
}

func (a actuator) Pause(node, id int) { a.nodes[node].pausedBy = id }

// Resume gives a node what was due while it was paused.
func (a actuator) Resume(node, id int) (late bool) {
	n := a.nodes[node]
	if n.pausedBy != id {
		return false
	}
	held := n.held
	late = n.server && (len(held) > 0 || n.late)
	n.pausedBy, n.held, n.late = 0, nil, false
	for _, what := range held {
		a.push(a.now, what)
	}
	return late
}

func (a actuator) way(c fault.Direction) *link { return a.link(a.node(c.From), a.node(c.To)) }

func (a actuator) Block(c fault.Direction, id int) { a.way(c).blockedBy = id }

func (a actuator) Clog(c fault.Direction, id int) {
	l := a.way(c)
	if l.clogBy = id; id == 0 {
		waiting := l.clogged
		l.clogged = nil
		for _, what := range waiting {
			a.push(a.now, what)
		}
	}
}

func (a actuator) Slow(c fault.Direction, on *fault.Action) { a.way(c).slow = *on }

func (a actuator) FillDisk(node string, id int) { a.node(node).fullBy = id }

func (a actuator) SlowDisk(node string, id int, ns int64) {
	n := a.node(node)
	n.slowBy, n.slowNs = id, ns
}

func (a actuator) Clock(f *fault.Action)      { a.setClock(a.node(f.Node)) }
func (a actuator) RightClock(f *fault.Action) { a.setClock(a.node(f.Node)) }

// setClock makes a node's clock as wrong as the faults that lie on it.
func (r *run) setClock(n *Node) {
	var extra, ahead int64
	last := 0
	for i := range r.director.Plan.Active {
		a := &r.director.Plan.Active[i]
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
	n.clock.set(r.now, extra, ahead, last)
}

// Rates has links ask which faults their messages suffer.
func (a actuator) Rates() {
	for i := range a.links {
		if l := &a.links[i]; l.lay != nil {
			a.rate(l)
		}
	}
}

func (a actuator) RoleChanged(string) {}

func (a actuator) Logged(l record.LogLine) {
	if a.opts.Log != nil {
		a.opts.Log(l)
	}
}

func (a actuator) Injected(f *fault.Action) {
	if a.schedule != nil {
		a.schedule.injected(f)
	}
	a.noteFaultKinds()
}

func (a actuator) Undone(f *fault.Action) {
	if a.schedule != nil {
		a.schedule.healed(f)
	}
}

// noteFaultKinds notes which kinds of faults are active together.
func (r *run) noteFaultKinds() {
	if r.reached == nil || len(r.director.Plan.Active) == 0 {
		return
	}
	var kinds []string
	for i := range r.director.Plan.Active {
		kinds = append(kinds, string(r.director.Plan.Active[i].Kind))
	}
	slices.Sort(kinds)
	r.reach(coverage.Fault, fmt.Sprint(slices.Compact(kinds)))
}

// Ask calls the function of a property.
func (a actuator) Ask(property int, end bool) (code int, text string, ok bool) {
	i := slices.IndexFunc(a.def.checks, func(c promise) bool { return c.name == a.spec.Properties[property].Name })
	if i < 0 {
		return 0, "", false
	}
	code, text = ask(&a.def.checks[i], end)
	return code, text, true
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
	if r.broken || len(r.def.checks) == 0 || r.amidst() {
		return
	}
	var c *promise
	code, text := world.ProbeHolds, ""
	defer func() {
		if e := recover(); e != nil {
			code, text = world.ProbeFailed, panics(c, e)
		}
		if code != world.ProbeHolds {
			r.broken = true
			r.out.Probes = append(r.out.Probes,
				record.Probe{Property: c.name, Phase: r.director.Phase, Event: r.events, StartNs: r.now, EndNs: r.now, ExitCode: code, Output: text})
			r.out.Detail = fmt.Sprintf("%s does not hold", c.name)
			r.ended = record.Stopped
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

// fail keeps an error that ends the run.
func (r *run) fail(err error) {
	if err != nil && r.failure == nil {
		r.failure = err
	}
}

// clientEnded notes that the program of a client has ended.
func (r *run) clientEnded(n *Node, code int, said string) {
	r.director.DriverEnded(n.tag, record.DriverEnd{Workload: n.name, TimeNs: r.now, ExitCode: code, Said: said})
}
