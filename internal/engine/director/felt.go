package director

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Felt is a fault that took a node down and that a client has seen: in the end of a connection, a refused one, or an answer that never came.
type Felt struct {
	Fault  int
	Client int
	Failed bool // an operation of the client has failed since
}

// maxFelt bounds what is remembered of faults whose node has not started again.
const maxFelt = 1000

// Feel notes that a client has seen a fault, if it is one that took a node down.
func (d *Director) Feel(client int, k world.FaultKind, id int) {
	if fault.RowOf(k).Ends != fault.NoEnd && len(d.Felt) < maxFelt &&
		!slices.ContainsFunc(d.Felt, func(f Felt) bool { return f.Fault == id && f.Client == client }) {
		d.Felt = append(d.Felt, Felt{Fault: id, Client: client})
	}
}

// failed notes that operations of a client have failed.
func (d *Director) failed(client int, events []history.Event) {
	if len(d.Felt) == 0 || !slices.ContainsFunc(events, func(e history.Event) bool { return e.Type == history.Fail || e.Type == history.Info }) {
		return
	}
	for i := range d.Felt {
		d.Felt[i].Failed = d.Felt[i].Failed || d.Felt[i].Client == client
	}
	d.settleFelt()
}

// settleFelt counts as observed what made an operation fail and whose node runs again: the program that has started has to
// live with what its clients did meanwhile.
func (d *Director) settleFelt() {
	if len(d.Felt) == 0 {
		return
	}
	injections := d.Plan.Ledger.Injections
	d.Felt = slices.DeleteFunc(d.Felt, func(f Felt) bool {
		i := slices.IndexFunc(injections, func(s fault.Injection) bool { return s.ID == f.Fault })
		if i < 0 || injections[i].Observed != 0 {
			return true
		}
		node := d.nodeID(injections[i].Target)
		if !f.Failed || node < 0 || d.Nodes[node].Status != Running {
			return false
		}
		d.Plan.Ledger.Observed(f.Fault, d.act.Events()+1)
		return true
	})
}
