package director

import (
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/moments"
)

// Entering injects faults as a program of a node is about to make a system call, before the call has any effect.
func (d *Director) Entering(node, call string, files ...string) error {
	return d.strike(d.Plan.Enter(d.tape, d.Moment(), node, call, files...))
}

// Returned injects faults when a system call of a program has had its effect, before the program runs on.
func (d *Director) Returned(node, call string, files ...string) error {
	return d.strike(d.Plan.Return(d.tape, d.Moment(), node, call, files...))
}

// Replied injects faults when the first bytes of an answer to a client have left a node.
func (d *Director) Replied(node string) error {
	return d.strike(d.Plan.Reply(d.tape, d.Moment(), node))
}

// Transfers injects faults while much is on its way from one server to another.
func (d *Director) Transfers(from, to string) error {
	return d.strike(d.Plan.Transfer(d.tape, d.Moment(), from, to))
}

// Counted injects faults at a system call of a node for whose calls they wait.
func (d *Director) Counted(node string) error {
	return d.strike(d.Plan.CountCall(d.Moment(), node))
}

// Waits draws the fault that begins while a system call waits for the disk: its ID for Strike, 0 for none, and how much of the wait
// passes before, as a part of so many.
func (d *Director) Waits(node, call string, files ...string) (id int, part, of int64) {
	return d.Plan.Wait(d.tape, d.Moment(), node, call, files...)
}

// Strike injects the fault of an ID that Waits has drawn.
func (d *Director) Strike(id int) error { return d.strike(d.Plan.Strike(d.Moment(), id)) }

// strike delivers faults that begin in the middle of what a program does.
func (d *Director) strike(actions []fault.Action) error {
	if len(actions) == 0 {
		return nil
	}
	d.Due = 0 // the ends of what has begun are to be waited for
	return d.deliver(actions)
}

// PhaseOf says where a node is in its life, and whether faults may be injected.
func (d *Director) PhaseOf(node int) (phase moments.Phase, inChaos bool) {
	s, n := &d.Nodes[node], &d.spec.Nodes[node]
	ready := s.Healthy
	if n.Health == nil {
		ready = s.Status == Running && d.act.Now()-s.StartedNs >= upNs
	}
	switch inChaos = d.Phase == PhaseChaos; {
	case !ready && s.Mains > 1:
		phase = moments.Recovery
	case !ready:
		phase = moments.FirstStart
	case inChaos:
		phase = moments.Chaos
	case d.Phase == PhaseSetup || d.Phase == PhaseWarmup:
		phase = moments.Before
	default:
		phase = moments.After
	}
	return phase, inChaos
}
