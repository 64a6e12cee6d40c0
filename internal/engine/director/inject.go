package director

import (
	"errors"

	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// inject ends faults whose time is over, and begins those that a time step draws.
func (d *Director) inject(now int64) error {
	if end, ok := d.Plan.NextEndNs(); ok && end <= now {
		ended := d.Plan.Ended(now)
		d.undo(ended)
		if len(ended) > 0 {
			d.healIfCalm(now)
		}
	}
	if d.NextStep > now || d.err != nil {
		return d.err
	}
	d.NextStep = d.act.Now() + max(d.spec.TimeStepNs, 1) // what has started just now may have taken time
	d.lookReady()
	if d.changes || d.spares && d.someNeverReady() {
		d.act.Rates()
	}
	if err := d.deliver(d.Plan.Step(d.tape, d.Moment())); err != nil {
		return err
	}
	return d.act.Deliver()
}

// healIfCalm notes a heal if no fault is left.
func (d *Director) healIfCalm(now int64) {
	if len(d.Plan.Active) == 0 && !d.Plan.Harms() && !d.stopping() {
		d.heal(now)
	}
}

// Moment returns the current facts that conditions of faults can test. The next call overwrites them.
func (d *Director) Moment() *fault.Moment {
	d.moment = fault.Moment{NowNs: d.act.Now(), Event: d.act.Events(), Operations: d.Operations, Logs: d.Counts, Roles: d.Roles,
		Mains: d, Conditions: d.conditions}
	return &d.moment
}

// Call draws the fault that a call on a disk meets.
func (d *Director) Call(c *fault.Call) fault.Harm {
	h := d.Plan.Call(d.tape, d.Moment(), c)
	if h.Kind != "" {
		d.harmed(c.Node, h.Kind)
	}
	return h
}

// Packet gives the faults that packets of a direction suffer now.
func (d *Director) Packet(from, to string) fault.Rates { return d.Plan.Packet(d.Moment(), from, to) }

// InjectByID injects the fault of an ID that a call has met, such as the loss of power in the middle of a write.
func (d *Director) InjectByID(id int) error {
	a, ok := d.Plan.ByID(id)
	if !ok {
		return nil
	}
	return d.strike([]fault.Action{a})
}

// InjectNow injects a fault that a person asks for, whatever the tape draws.
func (d *Director) InjectNow(r world.FaultRule) error {
	actions, err := d.Plan.Now(d.spec, r, d.Moment())
	if err != nil {
		return err
	}
	if err := d.deliver(actions); err != nil {
		return err
	}
	d.Due = 0 // the end of the fault may come before what was due
	return d.act.Deliver()
}

// deliver performs injections. What was not delivered does not count.
func (d *Director) deliver(actions []fault.Action) error {
	if d.Plan.Broken != "" {
		return errors.New(d.Plan.Broken)
	}
	reset := false
	for i := range actions {
		a := &actions[i]
		row := fault.RowOf(a.Kind)
		if row.Instant { // nothing to undo: what it ends shows before it
			if row.Inject(d.effects, a) {
				d.began(a)
				d.Plan.Ledger.Delivered(a)
				reset = true
			}
			continue
		}
		d.unheal()
		d.began(a)
		d.probeSoon()
		if row.Inject(d.effects, a) {
			d.Plan.Ledger.Delivered(a)
		}
		if d.err != nil {
			return d.err
		}
	}
	if reset {
		d.healIfCalm(d.act.Now())
	}
	return nil
}

func (d *Director) began(a *fault.Action) {
	d.Plan.Ledger.Begun(a, d.act.Happen("", string(a.Kind), int64(a.ID), a.Target))
	d.act.Injected(a)
}

// undo ends faults whose time is over.
func (d *Director) undo(actions []fault.Action) {
	for i := range actions {
		a := &actions[i]
		d.act.Happen("", "end "+string(a.Kind), int64(a.ID), a.Target)
		d.act.Undone(a)
		d.probeSoon()
		if end := fault.RowOf(a.Kind).End; end != nil {
			end(d.effects, a)
		}
		if d.err != nil {
			return
		}
	}
}

// effects provides the effects of the rows in the table of faults: acts of the engine, and decisions of the Director.
type effects struct {
	fault.Acts
	d *Director
}

func (e effects) Lies(k world.FaultKind, from, to string) fault.Action {
	return e.d.Plan.Lies(k, from, to)
}

// TakeDown ends the programs of a node, or signals them to end.
func (e effects) TakeDown(a *fault.Action) {
	d := e.d
	i := d.nodeID(a.Node)
	row := fault.RowOf(a.Kind)
	if row.Ends == fault.Stopped {
		d.stop(i, a)
		return
	}
	s := &d.Nodes[i]
	d.ranLong(i, d.act.Now())
	s.Status, s.Healthy, s.NextNs, s.DownBy = Crashed, false, never, a.ID
	switch row.Ends {
	case fault.Unplugged:
		s.Losses++
		if err := d.act.LosePower(i, a, fault.LossStreams(a.Node, s.Losses)); err != nil {
			d.fail(err)
			return
		}
	case fault.Replaced:
		s.Replaced, s.Hooks = true, 0
		if err := d.act.Reimage(i, a, EmptyDisk); err != nil {
			d.fail(err)
			return
		}
	default:
		d.act.KillNode(i, a)
	}
	d.forgetRoles(a.Node)
}

func (e effects) BringUp(a *fault.Action) {
	d := e.d
	i := d.nodeID(a.Node)
	s := &d.Nodes[i]
	if fault.RowOf(a.Kind).PowersOff() {
		d.act.PowerOn(i)
	}
	if s.StopBy == a.ID {
		s.Healed = true
	}
	if s.downBy(a.ID) && len(d.spec.Nodes[i].Command) > 0 {
		d.Plan.Recover(d.tape, d.Moment(), a.Node)
		d.fail(d.startMain(i))
	}
}

func (e effects) Halt(a *fault.Action) { e.d.act.Pause(e.d.nodeID(a.Node), a.ID) }

func (e effects) GoOn(a *fault.Action) {
	if e.d.act.Resume(e.d.nodeID(a.Node), a.ID) { // what it does next would have been done earlier: its clock shows it
		e.d.Plan.Ledger.Observed(a.ID, e.d.act.Events()+1)
	}
}

// fail keeps an error that ends the run.
func (d *Director) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

// forgetRoles takes note that a node's programs have ended.
func (d *Director) forgetRoles(node string) {
	delete(d.Roles, node)
	d.act.RoleChanged(node)
}

// heal notes that no fault is under way.
func (d *Director) heal(now int64) {
	d.Heals = append(d.Heals, now)
	d.Healed = now
	d.awaitLife(now)
}

// unheal makes the last heal void, as a fault begins: the next one is what counts.
func (d *Director) unheal() {
	d.Healed = 0
	for i := range d.Probes {
		d.Probes[i].Heal = 0
	}
}
