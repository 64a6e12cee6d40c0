package director

import (
	"fmt"
	"path"

	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
)

// Leak begins a fault of oom: in its first half the node's memory runs out, then the kernel kills.
func (e effects) Leak(a *fault.Action) {
	i := e.d.nodeID(a.Node)
	out := a.StartNs + a.DurationNs/2
	e.d.act.Leak(i, a.ID, a.StartNs, out)
	e.d.Nodes[i].LeakBy, e.d.Nodes[i].KillNs = a.ID, max(out, 1)
}

// EndLeak ends a fault of oom. A node whose main process it has killed, and whose restart policy leaves it at that, starts
// again.
func (e effects) EndLeak(a *fault.Action) {
	d := e.d
	i := d.nodeID(a.Node)
	d.act.EndLeak(i)
	d.Nodes[i].KillNs = 0
	if d.Nodes[i].downBy(a.ID) {
		d.fail(d.startMain(i))
	}
}

// outOfMemory kills the largest process of a node, as its kernel does when nothing is left.
func (d *Director) outOfMemory(i int) error {
	s, name := &d.Nodes[i], d.spec.Nodes[i].Name
	s.KillNs = 0
	id := s.LeakBy
	d.act.EndLeak(i)
	killed, ok := d.act.KillLargest(i, id)
	if !ok {
		return nil
	}
	event := d.act.Happen(name, "oom kill", int64(killed.PID), killed.Program)
	d.Log(record.LogLine{Position: record.PositionAt(event), TimeNs: d.act.Now(), Node: name, Stream: "kernel",
		Text: fmt.Sprintf("Out of memory: Killed process %d (%s) total-vm:%dkB", killed.PID, path.Base(killed.Program), killed.Bytes>>10)}, 0)
	if err := d.act.Deliver(); err != nil {
		return err
	}
	if s.Status != Running || d.act.Alive(s.Main) {
		return nil
	}
	d.act.Restarts(i, id)
	s.Healthy, s.NextNs = false, never
	delete(d.Roles, name)
	if !d.restarts(i, 128+sigKill) {
		s.Status, s.DownBy = Crashed, id
	}
	return nil
}
