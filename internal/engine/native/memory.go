//go:build linux && amd64

package native

import (
	"fmt"
	"path"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/net"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
)

// leak begins a strike of oom: in its first half the node's memory runs out, then the kernel kills.
func (w *World) leak(a fault.Action) {
	i := w.nodeID(a.Node)
	out := a.StartNs + a.DurationNs/2
	w.kernel.Nodes[i].Leak = kernel.Leak{Fault: a.ID, FromNs: a.StartNs, ToNs: out}
	w.director.Nodes[i].KillNs = max(out, 1)
}

// endLeak ends a strike of oom. A node whose main process it has killed, and whose restart policy leaves it at that, starts
// again.
func (w *World) endLeak(a fault.Action) error {
	i := w.nodeID(a.Node)
	w.kernel.Nodes[i].Leak = kernel.Leak{}
	w.director.Nodes[i].KillNs = 0
	if w.director.Nodes[i].downBy(a.ID) {
		return w.startMain(int(i))
	}
	return nil
}

// outOfMemory kills the largest process of a node, as its kernel does when nothing is left.
func (w *World) outOfMemory(i int) error {
	k, s := w.kernel, &w.director.Nodes[i]
	s.KillNs = 0
	node := k.Nodes[i]
	id := node.Leak.Fault
	node.Leak = kernel.Leak{}
	cause := net.FaultRef{Kind: fault.OOM, ID: id}
	k.Cause = cause
	killed, ok := k.KillLargest(kernel.NodeID(i), id)
	k.Cause = net.FaultRef{}
	if !ok {
		return nil
	}
	event := k.Happen(node.Name, "", "oom kill", int64(killed.PID), killed.Program)
	w.log(engine.LogLine{Position: engine.At(event), TimeNs: k.Now, Node: node.Name, Stream: "kernel",
		Text: fmt.Sprintf("Out of memory: Killed process %d (%s) total-vm:%dkB", killed.PID, path.Base(killed.Program), killed.Bytes>>10)}, 0)
	if err := w.notice(); err != nil {
		return err
	}
	if p := k.Procs[s.Main]; s.Status != running || p != nil && !p.Zombie {
		return nil
	}
	k.Restarts(kernel.NodeID(i), cause)
	s.Healthy, s.NextNs = false, never
	delete(w.director.Roles, node.Name)
	if !w.restarts(i, 128+int(unix.SIGKILL)) {
		s.Status, s.DownBy = crashed, id
	}
	return nil
}

// memoryLimit tells people of a process that its node's limit of memory has killed.
func (w *World) memoryLimit(n *kernel.Notice) {
	node := w.kernel.Nodes[n.Node]
	w.log(engine.LogLine{Position: engine.At(n.Event), TimeNs: n.TimeNs, Node: node.Name, Stream: "kernel", Text: string(n.Text)}, n.Tag)
	w.warn(fmt.Sprintf("%s: its memory limit of %s was reached, and %s was killed", node.Name, inMiB(node.Memory.LimitBytes), path.Base(n.Program)))
}

func inMiB(bytes int64) string {
	return strconv.FormatFloat(float64(bytes)/(1<<20), 'f', -1, 64) + " MiB"
}
