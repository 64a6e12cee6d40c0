//go:build linux && amd64

package native_test

import (
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// A node is ready when it listens where it is expected to, when it answers a client, or after a second, and a
// condition can ask for that.
func TestWhenNodesAreReady(t *testing.T) {
	const asked = 200e6 // when n2 asks n1 for the first time
	for _, c := range []struct {
		name       string
		ports      []int
		client     world.Role
		least, max int64 // when the fault begins
	}{
		{"any port", nil, world.Client, 1, asked},
		{"the port that is named", []int{7000}, world.Client, 1, asked},
		{"an answer to a client", []int{7001}, world.Client, asked, 500e6},
		{"an answer to another server", []int{7001}, world.Server, 1e9, 1100e6},
	} {
		s := kept(t, "pause on n1 for 10ms max 1 when ready_s > 0")
		s.Nodes[0].Ports, s.Nodes[1].Role = c.ports, c.client
		_, _, out := playSeed(t, s, 1)
		list := out.Ledger.Injections
		if len(list) != 1 || list[0].Kind != fault.Pause || list[0].StartNs < c.least || list[0].StartNs > c.max {
			t.Errorf("%s: %+v, want one pause from %d to %d", c.name, list, c.least, c.max)
		}
	}
}
