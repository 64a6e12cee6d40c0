package inproc

import (
	"fmt"

	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Mishap reports whether a failure of the node's own program should happen now, for a fake that fails as the real
// system does. kind is its name in the ledger, rate its probability at each call. Mishap returns false while no faults
// may be injected. The failure counts as observed when another node receives the next message from this one.
func (n *Node) Mishap(kind string, rate float64) bool {
	n.enterQuiet("Mishap")
	if !(rate >= 0 && rate <= 1) || kind == "" {
		panic(fmt.Sprintf("inproc: Mishap(%q, %v) on node %s; it needs a kind and a chance, from 0 to 1", kind, rate, n.name))
	}
	ratePPM := uint64(0) // also takes a draw, so that those of later calls do not shift
	if rate > 0 {
		ratePPM = max(1, uint64(rate*tape.Certain))
	}
	if r := n.run; !r.director.Plan.Mishap(r.src, world.FaultKind(kind), n.name, ratePPM) {
		return false
	}
	n.mishap = &ref{kind: world.FaultKind(kind), own: true}
	return true
}
