//go:build linux && amd64

package native

import (
	"cmp"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/net"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// stop begins an orderly restart: the main process of a node is told to stop. A node on which none runs is down already.
func (w *World) stop(a fault.Action) error {
	i := int(w.nodeID(a.Node))
	s, n := &w.director.Nodes[i], &w.spec.Nodes[i]
	alone := s.Status != running
	sig := cmp.Or(world.SignalNumber(n.StopSignal), int(unix.SIGTERM))
	s.StopBy, s.GraceNs, s.Healed = a.ID, w.kernel.Now+n.StopGraceNs, false
	w.kernel.Stop(kernel.NodeID(i), net.FaultRef{Kind: a.Kind, ID: a.ID}, sig)
	switch {
	case alone:
		return w.down(i, "stopped")
	case unix.Signal(sig) == unix.SIGKILL:
		return w.down(i, "killed")
	}
	return nil
}

// obeyed deals with the end of a main process that was told to stop.
func (w *World) obeyed(n *kernel.Notice, j *job) error {
	w.crash(n, j, true)
	if w.kernel.Nodes[j.Node].Stopping.Signal != n.Status&0x7f { // else what took the signal has died of it all the same
		w.sawStop(j.Node)
	}
	return w.down(j.Node, "stopped")
}

// overstayed kills what has not stopped in its grace period.
func (w *World) overstayed(i int) error {
	w.sawStop(i)
	return w.down(i, "killed")
}

// sawStop tells the ledger of a program that has taken the signal to stop.
func (w *World) sawStop(i int) {
	if s := w.kernel.Nodes[i].Stopping; s.Taken != 0 {
		w.director.Plan.Ledger.Observed(s.Cause.ID, s.Taken)
	}
}

// down ends what still runs on a node that was told to stop. The node starts again with the end of the fault.
func (w *World) down(i int, how string) error {
	d, k, s := w.director, w.kernel, &w.director.Nodes[i]
	node := k.Nodes[i]
	k.Happen("", "", how, int64(s.StopBy), node.Name)
	s.Status, s.Healthy, s.NextNs, s.DownBy, s.StopBy = crashed, false, never, s.StopBy, 0
	k.Cause = node.Stopping.Cause
	k.KillNode(node.ID)
	k.Cause, node.Stopping = net.FaultRef{}, kernel.Stopping{}
	delete(d.Roles, node.Name)
	w.roleChanged(node.Name)
	d.Plan.Down(s.DownBy, k.Now)
	d.due = 0 // its end is to be waited for
	w.probeSoon()
	if !s.Healed {
		return nil
	}
	if len(w.spec.Nodes[i].Command) > 0 {
		if err := w.startMain(i); err != nil {
			return err
		}
	}
	if d.Phase == phaseChaos && len(d.Plan.Active) == 0 && !d.stopping() && (!d.Plan.On || !d.Plan.Harms()) {
		w.healed(k.Now)
	}
	return nil
}

// stopping tells whether a node was told to stop and has not yet.
func (d *director) stopping() bool {
	return slices.ContainsFunc(d.Nodes, func(s nodeState) bool { return s.StopBy != 0 })
}

// toldToEnd tells whether a process has ended as its node was told to: by the very signal, or by itself after it took it.
func (w *World) toldToEnd(n *kernel.Notice) bool {
	s := w.kernel.Nodes[n.Node].Stopping
	sig := n.Status & 0x7f
	return s.Cause.ID != 0 && (sig == s.Signal || sig == 0 && s.Taken != 0)
}
