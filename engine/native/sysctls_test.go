//go:build linux && amd64

package native

import (
	"slices"
	"testing"

	"github.com/bloodhound-dst/bloodhound/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/world"
)

// What is said to have an effect has one, and what has one is said to.
func TestActingSysctls(t *testing.T) {
	for _, name := range world.SysctlNames() {
		kind, _ := world.SysctlOf(name)
		if effect := sysctlEffects[name] != nil || name == "kernel.domainname"; effect != kind.Acts {
			t.Errorf("%s: effect %v, said to act %v", name, effect, kind.Acts)
		}
	}
	for name := range sysctlEffects {
		if !slices.Contains(world.SysctlNames(), name) {
			t.Errorf("%s has an effect, but is no name", name)
		}
	}
}

func TestWrongSysctls(t *testing.T) {
	for _, c := range []world.Sysctl{{Name: "vm.swappiness", Value: "1"}, {Name: "net.core.somaxconn"}, {Name: "net.ipv4.ip_local_port_range", Value: "2 1"}, {Name: "kernel.sem", Value: "1"}} {
		if tuning, err := tune(&kernel.Node{Name: "n1"}, []world.Sysctl{c}); err == nil {
			t.Errorf("%v is taken as %+v", c, tuning)
		}
	}
}
