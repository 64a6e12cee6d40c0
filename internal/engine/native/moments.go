//go:build linux && amd64

package native

import (
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// striker has the Director inject faults where programs are.
type striker struct{ w *World }

func (m striker) Entering(node kernel.NodeID, call string, files []string) {
	m.after(node, m.w.director.Entering(m.name(node), call, files...))
}

func (m striker) Returned(node kernel.NodeID, call string, files []string) {
	m.after(node, m.w.director.Returned(m.name(node), call, files...))
}

func (m striker) Counted(node kernel.NodeID) { m.after(node, m.w.director.Counted(m.name(node))) }

func (m striker) Replied(node, client kernel.NodeID) {
	if m.w.spec.Nodes[client].Role == world.Client {
		m.after(node, m.w.director.Replied(m.name(node)))
	}
}

func (m striker) Listens(node kernel.NodeID, port int) { m.w.director.Listens(int(node), port) }

func (m striker) Answers(node, client kernel.NodeID) {
	if m.w.spec.Nodes[client].Role == world.Client {
		m.w.director.AnsweredClient(int(node))
	}
}

func (m striker) Transfers(from, to kernel.NodeID) {
	if m.w.spec.Nodes[to].Role == world.Server && from != to {
		m.after(from, m.w.director.Transfers(m.name(from), m.name(to)))
	}
}

func (m striker) Waits(node kernel.NodeID, call string, files []string) (id int, part, of int64) {
	return m.w.director.Waits(m.name(node), call, files...)
}

func (m striker) Strike(id int) { m.failed(m.w.director.Strike(id)) }

func (m striker) name(node kernel.NodeID) string { return m.w.spec.Nodes[node].Name }

// after notes whether a fault waits for further calls of a node.
func (m striker) after(node kernel.NodeID, err error) {
	m.failed(err)
	m.w.kernel.Nodes[node].Between = m.w.director.Plan.Opened(m.name(node))
}

func (m striker) failed(err error) {
	if err != nil && m.w.failure == nil {
		m.w.failure = err
	}
}
