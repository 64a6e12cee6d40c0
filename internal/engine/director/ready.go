package director

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Whether a node is ready decides which faults it meets (fault.Plan spares a node until it has been ready once) and
// what the condition ready_s is. A healthcheck decides it where there is one. Otherwise a node is ready when it
// listens on the ports that the configuration names for it, or on any port if it names none; when it answers a
// client; or when its main process has run for so long that it seems to need neither.
const (
	// listenNs is how long that is in virtual time, in which computing takes no time.
	listenNs = 1_000_000_000
	// realListenNs is the same where programs take the time that they need.
	realListenNs = 10_000_000_000
	// joinNs is the same for a machine that replaces a node: its command may wait for its cluster first.
	joinNs = 10_000_000_000
)

// awaitReady begins the wait for a node whose main process has just started.
func (d *Director) awaitReady(i int) {
	s, n := &d.Nodes[i], &d.spec.Nodes[i]
	s.ReadyNs, s.Listening = 0, nil
	switch {
	case d.inProcess: // its setup waits for the first work of programs
		d.becameReady(i, d.act.Now())
	case n.Role == world.Server && n.Health == nil:
		d.act.AwaitReady(i, true)
	}
}

// Listens takes in that a program of a node listens on a TCP port that other nodes can reach.
func (d *Director) Listens(i, port int) {
	s, n := &d.Nodes[i], &d.spec.Nodes[i]
	if !d.awaitsReady(i) {
		return
	}
	if slices.Contains(n.Ports, port) && !slices.Contains(s.Listening, port) {
		s.Listening = append(s.Listening, port)
	}
	if len(s.Listening) == len(n.Ports) {
		d.becameReady(i, d.act.Now())
	}
}

// AnsweredClient takes in that a program of a node has answered a client.
func (d *Director) AnsweredClient(i int) {
	if d.awaitsReady(i) {
		d.becameReady(i, d.act.Now())
	}
}

// lookEveryNs is how often engines are asked that do not report when nodes listen.
const lookEveryNs = 100_000_000

// lookReady asks the engine which nodes listen that are not ready yet, where it does not report that by itself.
func (d *Director) lookReady() {
	now := d.act.Now()
	if !d.looks || now < d.LookNs {
		return
	}
	d.LookNs = now + lookEveryNs
	for i := range d.Nodes {
		if d.spec.Nodes[i].Role != world.Server || !d.awaitsReady(i) {
			continue
		}
		for _, port := range d.act.Listening(i) {
			d.Listens(i, port)
		}
	}
}

// awaitsReady reports whether a node runs, and what its programs do shows that it is ready.
func (d *Director) awaitsReady(i int) bool {
	s := &d.Nodes[i]
	return s.Status == Running && s.ReadyNs == 0 && d.spec.Nodes[i].Health == nil
}

// ranLong has a node be ready that has run for long enough by a time.
func (d *Director) ranLong(i int, nowNs int64) {
	bound := int64(listenNs)
	if s := &d.Nodes[i]; s.Replaced && len(d.spec.Nodes[i].Replacement) > 0 {
		bound = joinNs
	}
	if d.spec.Engine == world.VM || d.spec.Engine == world.Container {
		bound = realListenNs
	}
	if at := d.Nodes[i].StartedNs + bound; d.awaitsReady(i) && nowNs >= at {
		d.becameReady(i, at)
	}
}

// becameReady notes that a node is ready since a time.
func (d *Director) becameReady(i int, atNs int64) {
	s := &d.Nodes[i]
	if s.ReadyNs != 0 {
		return
	}
	first := !s.WasReady
	s.ReadyNs, s.WasReady, s.Listening, s.Replaced = max(atNs, 1), true, nil, false
	if !d.inProcess {
		d.act.AwaitReady(i, false)
	}
	if first && d.spares && d.Phase == PhaseChaos {
		d.act.Rates()
	}
}

// ReadyNs gives when a node was ready for the first time since its main program has started, if it runs and has been.
func (d *Director) ReadyNs(node string) (int64, bool) {
	i := d.nodeID(node)
	if i < 0 || d.Nodes[i].Status != Running {
		return 0, false
	}
	d.ranLong(i, d.act.Now())
	return d.Nodes[i].ReadyNs, d.Nodes[i].ReadyNs != 0
}

// NeverReady reports whether a node is a server that has not been ready in this run, and may still become so.
func (d *Director) NeverReady(node string) bool {
	i := d.nodeID(node)
	return i >= 0 && d.neverReady(i)
}

func (d *Director) neverReady(i int) bool {
	s, n := &d.Nodes[i], &d.spec.Nodes[i]
	if s.WasReady || n.Role != world.Server || len(n.Command) == 0 || s.Status == Ended {
		return false
	}
	d.ranLong(i, d.act.Now())
	return !s.WasReady
}

// someNeverReady reports whether there is a server that has not been ready yet.
func (d *Director) someNeverReady() bool {
	for i := range d.Nodes {
		if d.neverReady(i) {
			return true
		}
	}
	return false
}
