package inproc

import (
	"fmt"

	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// Mishap reports whether a failure that the node's program makes itself should happen now: for a fake that fails as the real system does. kind
// is its name in the ledger, rate its probability at each call. It is false while no faults may be injected. The failure counts as observed
// when a node receives the next message of this one.
func (n *Node) Mishap(kind string, rate float64) bool {
	n.enterQuiet("Mishap")
	if !(rate >= 0 && rate <= 1) || kind == "" {
		panic(fmt.Sprintf("inproc: Mishap(%q, %v) on node %s; it needs a kind and a chance, from 0 to 1", kind, rate, n.name))
	}
	r := n.run
	plan := r.director.Plan
	// Draw i belongs to call i, whatever the phase.
	if rate == 0 || r.src.Rare("fault/"+kind+"/"+n.name, 2, max(1, uint64(rate*tape.Certain))) == 0 || !plan.On || plan.Calm {
		return false
	}
	plan.Ledger.DeliveredPacket(fault.Kind(kind), 0)
	n.mishap = &ref{kind: fault.Kind(kind), own: true}
	return true
}
