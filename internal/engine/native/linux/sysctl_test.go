//go:build linux && amd64

package linux

import (
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/net"
	"github.com/bloodhound-dst/bloodhound/internal/world"
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
		if kind, ok := writableSysctl(name); !ok || !kind.Acts {
			t.Errorf("%s has an effect, but is no name, or not said to act", name)
		}
	}
}

// What a setting shows before anybody has set it is what it is: to set that changes nothing. Each that acts shows.
func TestDefaultSysctls(t *testing.T) {
	var all []world.Sysctl
	for path, text := range fixedSynth {
		if name, in := strings.CutPrefix(path, "/proc/sys/"); in {
			if kind, ok := writableSysctl(world.SysctlName(name)); ok {
				value, err := kind.Read(text)
				if err != nil || value+"\n" != text {
					t.Errorf("%s shows %q, which reads as %q, %v", path, text, value, err)
				}
				all = append(all, world.Sysctl{Name: kind.Name, Value: value})
			}
		}
	}
	for name := range sysctlEffects {
		if !slices.ContainsFunc(all, func(s world.Sysctl) bool { return s.Name == name }) {
			t.Errorf("%s does not show", name)
		}
	}
	n := &Node{Name: "n1"}
	tuning, err := Tune(n, all)
	if err != nil {
		t.Fatal(err)
	}
	if *tuning != net.DefaultTuning() {
		t.Errorf("the network's are %+v, not %+v", *tuning, net.DefaultTuning())
	}
	if *n.IPC != DefaultIPC() || n.PIDMax != defaultPIDMax {
		t.Errorf("System V's are %+v, not %+v, numbers of processes end at %d", *n.IPC, DefaultIPC(), n.PIDMax)
	}
}

func TestWrongSysctls(t *testing.T) {
	for _, c := range []world.Sysctl{{Name: "vm.swappy", Value: "1"}, {Name: "net.core.somaxconn"},
		{Name: "net.ipv4.ip_local_port_range", Value: "2 1"}, {Name: "kernel.sem", Value: "1"}} {
		if tuning, err := Tune(&Node{Name: "n1"}, []world.Sysctl{c}); err == nil {
			t.Errorf("%v is taken as %+v", c, tuning)
		}
	}
}
