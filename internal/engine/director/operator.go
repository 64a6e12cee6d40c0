package director

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/config/shell"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
)

// What operators do to nodes: they change releases, restore snapshots and run commands.

// EmptyDisk is the number of the image of a node's disk as it was before the node first started. Snapshots have the ID of their fault.
const EmptyDisk = 0

// keepsDisk reports whether a fault may need the disk of a node as it is before its main process starts for the first time.
func (d *Director) keepsDisk(i int) bool {
	return d.Nodes[i].Mains == 0 && d.Plan.Aims(fault.Replace, d.spec.Nodes[i].Name)
}

// ChangeRelease stops a node, which starts again by releases later, or earlier if by is negative.
func (e effects) ChangeRelease(a *fault.Action, by int) bool {
	d := e.d
	i := d.nodeID(a.Node)
	s, n := &d.Nodes[i], &d.spec.Nodes[i]
	if to := s.Release + by; to < 0 || to > len(n.Releases) || s.Status != Running {
		d.Plan.Down(a.ID, d.act.Now()) // nothing is to be waited for
		return false
	}
	s.Step = by
	e.TakeDown(a)
	return true
}

// TakeSnapshot copies the disk of a node, for later.
func (e effects) TakeSnapshot(a *fault.Action) {
	d := e.d
	i := d.nodeID(a.Node)
	if err := d.act.TakeImage(i, a.ID); err != nil {
		d.fail(err)
		return
	}
	d.Nodes[i].RestoreNs, d.Nodes[i].RestoreBy = max(a.StartNs+a.Amount, 1), a.ID
	d.Due = 0
}

// restoreSnapshot gives a node the disk that its snapshot has. A node that a fault has taken down meanwhile keeps its own.
func (d *Director) restoreSnapshot(i int) {
	s, name := &d.Nodes[i], d.spec.Nodes[i].Name
	id := s.RestoreBy
	s.RestoreNs = 0
	at := slices.IndexFunc(d.Plan.Active, func(a fault.Action) bool { return a.ID == id })
	if at < 0 || s.Status != Running || s.StopBy != 0 {
		return
	}
	a := d.Plan.Active[at]
	d.act.Happen("", "restore", int64(id), name)
	s.Status, s.Healthy, s.NextNs, s.DownBy = Crashed, false, never, id
	if err := d.act.Reimage(i, &a, id); err != nil {
		d.fail(err)
		return
	}
	d.Plan.Ledger.Restored(&a, d.act.Now())
	d.forgetRoles(name)
	d.probeSoon()
}

// EndRollback starts the node of a rollback again, and gives its snapshot up.
func (e effects) EndRollback(a *fault.Action) {
	d := e.d
	i := d.nodeID(a.Node)
	s := &d.Nodes[i]
	if s.RestoreBy == a.ID {
		s.RestoreNs, s.RestoreBy = 0, 0
	}
	d.act.DropImage(i, a.ID)
	if s.downBy(a.ID) {
		e.BringUp(a)
	}
}

// RunCommand starts a command on a node, as its user and in its working directory.
func (e effects) RunCommand(a *fault.Action) bool {
	d := e.d
	i := d.nodeID(a.Node)
	n := &d.spec.Nodes[i]
	if d.Nodes[i].Status != Running {
		return false
	}
	env := append(slices.Clone(n.Env), "BLOODHOUND_NODE="+n.Name)
	job := Job{Kind: JobOperator, Node: i, Index: a.ID, Deadline: a.StartNs + a.DurationNs}
	_, err := d.launch(n, job, a.Command, env, "operator", "operator")
	var start *StartError
	if errors.As(err, &start) {
		d.Warn(record.CommandWarning + fmt.Sprintf("run %q on %s could not start: %s; name a program that the node has", shell.Join(a.Command), n.Name, start))
		return false
	}
	if err != nil {
		d.fail(err)
	}
	return err == nil
}

// commandEnded takes in the end of a command that RunCommand has started.
func (d *Director) commandEnded(n *Notice, j *Job) {
	tail := d.LogTail[n.Tag]
	d.forgetLog(n.Tag)
	d.Plan.EndNow(j.Index, n.TimeNs)
	d.Due = 0
	late := n.TimeNs >= j.Deadline
	switch killed := n.ByFault || n.Status&0x7f == sigKill; {
	case killed && !late: // with its node, or since its fault was healed
		return
	case n.Status == 0:
		d.Plan.Ledger.Observed(j.Index, n.Event)
		return
	}
	how := "ended with " + sickness(n.Status, tail)
	if late {
		how = fmt.Sprintf("was killed after %v; write a longer `for`", time.Duration(j.Deadline-j.StartNs))
	}
	at := slices.IndexFunc(d.Plan.Ledger.Injections, func(x fault.Injection) bool { return x.ID == j.Index })
	if at >= 0 {
		d.Warn(record.CommandWarning + fmt.Sprintf("run %q on %s %s", shell.Join(d.Plan.Ledger.Injections[at].Command), d.spec.Nodes[j.Node].Name, how))
	}
}

// EndCommand ends a command that still runs.
func (e effects) EndCommand(a *fault.Action) {
	d := e.d
	for _, i := range d.Live {
		if j := &d.Jobs[i]; j.Kind == JobOperator && j.Index == a.ID {
			d.act.KillTagged(int64(i + 1))
		}
	}
}
