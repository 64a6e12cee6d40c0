package workload

import (
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// The prober makes each check that executes programs inside the world, but scripts, which start by themselves, and scrapes.
func TestProbers(t *testing.T) {
	for i := range world.CheckKinds {
		k := &world.CheckKinds[i]
		own := k.Basis == world.ByProbes && k.Type != world.Custom && k.Type != world.AlertsCheck
		if (probers[k.Type] != nil) != own {
			t.Errorf("%s: probed %v", k.Type, probers[k.Type] != nil)
		}
	}
}
