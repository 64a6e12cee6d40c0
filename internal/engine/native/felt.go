//go:build linux && amd64

package native

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/net"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
)

// felt is a strike that took a node down and that a client has seen: in the end of a connection, a refused one, or an answer that never came.
type felt struct {
	Strike int
	Client kernel.NodeID
	Failed bool // an operation of the client has failed since
}

// maxFelt bounds what is remembered of strikes whose node has not started again.
const maxFelt = 1000

// feel notes what a client has seen of strikes that took a node down.
func (w *World) feel(client kernel.NodeID, refs []net.FaultRef) {
	d := w.director
	for _, r := range refs {
		if fault.Of(r.Kind).Ends == fault.NoEnd {
			continue
		}
		if len(d.Felt) < maxFelt && !slices.ContainsFunc(d.Felt, func(f felt) bool { return f.Strike == r.ID && f.Client == client }) {
			d.Felt = append(d.Felt, felt{Strike: r.ID, Client: client})
		}
	}
}

// failed notes that operations of a client have failed.
func (w *World) failed(client kernel.NodeID, events []history.Event) {
	d := w.director
	if len(d.Felt) == 0 || !slices.ContainsFunc(events, func(e history.Event) bool { return e.Type == history.Fail || e.Type == history.Info }) {
		return
	}
	for i := range d.Felt {
		d.Felt[i].Failed = d.Felt[i].Failed || d.Felt[i].Client == client
	}
	w.settleFelt()
}

// settleFelt counts as observed what made an operation fail and whose node runs again: the program that has started has to
// live with what its clients did meanwhile.
func (w *World) settleFelt() {
	d := w.director
	d.Felt = slices.DeleteFunc(d.Felt, func(f felt) bool {
		i := slices.IndexFunc(d.Plan.Ledger.Strikes, func(s fault.Strike) bool { return s.ID == f.Strike })
		if i < 0 || d.Plan.Ledger.Strikes[i].Observed != 0 {
			return true
		}
		node := w.nodeID(d.Plan.Ledger.Strikes[i].Target)
		if !f.Failed || node < 0 || d.Nodes[node].Status != running {
			return false
		}
		d.Plan.Ledger.Observed(f.Strike, w.kernel.Events+1)
		return true
	})
}
