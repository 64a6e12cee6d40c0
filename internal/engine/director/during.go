package director

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// shortlyNs is how long after a fault a program may still end because of it: at its next write, or when it has tried
// again for some time.
const shortlyNs = 5_000_000_000

// Harmed is when a call on the disk of a node has last met a kind of fault.
type Harmed struct {
	Node string
	Kind world.FaultKind
	AtNs int64
}

// harmed notes that a call on the disk of a node has met a fault.
func (d *Director) harmed(node string, k world.FaultKind) {
	at := slices.IndexFunc(d.Harmed, func(h Harmed) bool { return h.Node == node && h.Kind == k })
	if at < 0 {
		at = len(d.Harmed)
		d.Harmed = append(d.Harmed, Harmed{Node: node, Kind: k})
	}
	d.Harmed[at].AtNs = d.act.Now()
}

// during are the kinds of faults that a node suffers at a time, or has until shortly before, in the table's order.
func (d *Director) during(node string, nowNs int64) (kinds []world.FaultKind) {
	if d.Plan == nil {
		return nil
	}
	suffers := map[world.FaultKind]bool{}
	for _, h := range d.Harmed {
		if h.Node == node && nowNs-h.AtNs <= shortlyNs {
			suffers[h.Kind] = true
		}
	}
	for i := range d.Plan.Ledger.Injections {
		s := &d.Plan.Ledger.Injections[i]
		cutOff := slices.ContainsFunc(s.Directions, func(c fault.Direction) bool { return c.From == node || c.To == node })
		touches := s.Node == node || cutOff
		if touches && s.StartNs <= nowNs && nowNs-s.EndNs <= shortlyNs {
			suffers[s.Kind] = true
		}
	}
	for _, k := range fault.Kinds() {
		if suffers[k] {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// upAgain notes that a node runs again whose main process had ended by itself.
func (d *Director) upAgain(i int) {
	for k := range slices.Backward(d.out.Crashes) {
		if c := &d.out.Crashes[k]; c.Main && c.Node == d.spec.Nodes[i].Name {
			if c.UpNs == 0 {
				c.UpNs = d.act.Now()
			}
			return
		}
	}
}
