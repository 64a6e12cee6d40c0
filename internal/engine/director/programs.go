package director

import (
	"fmt"
	"slices"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Warn keeps a warning, once.
func (d *Director) Warn(text string) {
	if !slices.Contains(d.out.Warnings, text) {
		d.out.Warnings = append(d.out.Warnings, text)
	}
}

// Reported takes in what a driver has written about operations. A driver may have ended by then, and a process that it started
// continue.
func (d *Director) Reported(n *Notice) {
	d.HistoryBytes += len(n.Text)
	var events []history.Event
	for _, e := range history.Stamp(n.Text, n.Event, n.TimeNs) {
		if e.Type.IsMark() {
			wrong := d.mark(n.Tag, &e)
			if wrong == "" {
				continue
			}
			e = history.Event{Number: e.Number, TimeNs: e.TimeNs, Type: history.Broken, Error: fmt.Sprintf("%v: %s", history.ErrBroken, wrong)}
		}
		if e.Type == history.Invoke {
			d.Operations++
			for _, i := range d.OperatedOn(&e) {
				d.Plan.Operate(d.tape, d.Moment(), d.spec.Nodes[i].Name, e.Op)
			}
		}
		d.answered(n.Node, &e)
		events = append(events, e)
	}
	d.out.History = append(d.out.History, events...)
	if n.Tag != 0 && len(events) > 0 && !d.Jobs[n.Tag-1].Reported {
		j := &d.Jobs[n.Tag-1]
		j.Reported = true
		for i := range d.out.Drivers {
			if end := &d.out.Drivers[i]; j.Kind == JobDriver && end.Workload == d.spec.Workloads[j.Index].Name {
				end.Silent = false
			}
		}
	}
	d.failed(n.Node, events)
}

// OperatedOn are the servers that an operation may concern: the one that the driver names, or else all of them.
func (d *Director) OperatedOn(e *history.Event) (nodes []int) {
	for i := range d.spec.Nodes {
		n := &d.spec.Nodes[i]
		if n.Role == world.Client {
			continue
		}
		if n.Name == e.Node {
			return []int{i}
		}
		nodes = append(nodes, i)
	}
	return nodes
}

// receiver is an engine that knows what drivers read from connections.
type receiver interface {
	// Received is the last event at which a driver on a node read bytes from a connection to another node.
	Received(node int) uint64
}

// answered notes operations that a driver reports as ok although it has read nothing from another node since their begin. An operation whose
// begin and end are reported one after the other was reported when it was over.
func (d *Director) answered(node int, e *history.Event) {
	act, knows := d.act.(receiver)
	if !knows {
		return
	}
	if e.Type == history.Invoke {
		if d.Invoked == nil {
			d.Invoked = map[string]uint64{}
		}
		d.Invoked[e.Client] = e.Number
		return
	}
	invoked, known := d.Invoked[e.Client]
	delete(d.Invoked, e.Client)
	if known && e.Type == history.Ok && e.Number > invoked+1 && act.Received(node) < invoked && len(d.out.Unanswered) < record.MaxUnanswered {
		d.out.Unanswered = append(d.out.Unanswered, e.Number)
	}
}

// Overflowed takes in that the engine has not read the rest of what a check prints.
func (d *Director) Overflowed(n *Notice, limit int) {
	d.Warn(fmt.Sprintf("the output of a %s on node %s exceeds %d bytes, and the rest was not read; make it write less",
		n.Stream, d.spec.Nodes[n.Node].Name, limit))
}

// Observed records that a program under test sees what a fault does to it now: one with an ID, or one that packets or calls meet.
func (d *Director) Observed(k world.FaultKind, id, rule int) {
	if l := &d.Plan.Ledger; id != 0 {
		l.Observed(id, d.act.Events()+1)
	} else {
		l.ObservedPacket(k, rule, d.act.Events()+1)
	}
}

// Unready names what setup waits for, if it has not ended.
func (d *Director) Unready() string {
	if d.Phase != PhaseSetup {
		return ""
	}
	return d.unready()
}
