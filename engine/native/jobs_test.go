//go:build linux && amd64

package native_test

import (
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/world"
)

// A node starts in the same moment as the last of those that it waits for, in whichever order they stand.
func TestStartOfWhatWaits(t *testing.T) {
	s := &world.Spec{Dir: "/", StartUnixNs: 1735689600e9, MaxTimeNs: 5e9, TimeStepNs: 10e6, Cost: world.Cost{CallNs: 1000, ClockReadNs: 50}}
	for i, on := range []string{"n2", "n3", ""} {
		n := world.Node{Name: "n" + string(rune('1'+i)), Role: world.Server, Root: "host", WorkingDir: "/tmp", Command: []string{"sh", "-c", "echo up; exec sleep 100"},
			Env: []string{"PATH=/usr/bin:/bin"}, IPv4: "10.77.0.1" + string(rune('0'+i))}
		n.Hostname = n.Name
		if on != "" {
			n.DependsOn = []world.Dependency{{Node: on, Condition: world.Started, Required: true}}
		}
		s.Nodes = append(s.Nodes, n)
	}
	log, out := run(t, s, 1)
	if got := strings.Join(texts(log, "stdout"), " "); got != "up up up" {
		t.Errorf("%q were written, and the world ended by %s %s", got, out.Reason, out.Detail)
	}
}
