package fault

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// sparing reports whether a rule leaves nodes alone until they have been ready once. A rule that draws by a rate
// does, unless it asks for the first start: by FromStart, by a moment that it was derived from, by the number of a call, by a condition on readiness, or
// because it follows another fault.
func sparing(r *world.FaultRule) bool {
	byRate := r.RatePPM < tape.Certain
	asks := r.FromStart || r.Derived || r.NthTo > 0 || r.Moment == world.InRecovery || slices.Contains(Asked(r.When).Names, "ready_s")
	return byRate && !asks
}

// spares reports whether a rule leaves a target alone now: of a link either end, of a group any member has not been
// ready yet. The rule has drawn all the same, so that its later draws stay where they are.
func (r *Rule) spares(t *Target, m *Moment) bool {
	if !r.Spares || m.Mains == nil {
		return false
	}
	for _, node := range [...]string{t.A, t.B} {
		if node != "" && m.Mains.NeverReady(node) {
			return true
		}
	}
	return slices.ContainsFunc(t.Members, m.Mains.NeverReady)
}

// AsksReady reports whether it matters when nodes become ready.
func (p *Plan) AsksReady() bool {
	return slices.ContainsFunc(p.Rules, func(r Rule) bool { return r.Spares || r.AsksReady })
}

// Spares reports whether what packets suffer may change when a node becomes ready.
func (p *Plan) Spares() bool {
	return slices.ContainsFunc(p.Rules, func(r Rule) bool { return r.Spares && Table[r.Row].Place == OnPacket })
}
