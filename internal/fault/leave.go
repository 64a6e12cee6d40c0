package fault

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// LeaveOut is a Spec in which no rule has a chance that an engine is not able to follow, and the kinds of those that had one. Each rule keeps its
// number. The Spec itself stays as it is.
func LeaveOut(spec *world.Spec, able func(*world.FaultRule) bool) (_ *world.Spec, left []world.FaultKind) {
	own := *spec
	own.Faults.Rules = slices.Clone(spec.Faults.Rules)
	for i := range own.Faults.Rules {
		r := &own.Faults.Rules[i]
		if r.RatePPM == 0 || able(r) {
			continue
		}
		r.RatePPM = 0
		if !slices.Contains(left, r.Kind) {
			left = append(left, r.Kind)
		}
	}
	if len(left) == 0 {
		return spec, nil
	}
	return &own, left
}
