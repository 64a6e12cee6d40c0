package strategies

import (
	"testing"

	"github.com/bloodhound-dst/bloodhound/bench/strategies/caspaxos"
	"github.com/bloodhound-dst/bloodhound/bench/strategies/livelock"
	"github.com/bloodhound-dst/bloodhound/bench/strategies/membership"
	commit "github.com/bloodhound-dst/bloodhound/bench/strategies/two-phase-commit"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/processes"
	"github.com/bloodhound-dst/bloodhound/sim/inproc"
)

// Equal seeds give equal trace hashes in separate processes.
func TestProcessesAgree(t *testing.T) {
	processes.Agree(t, map[string]func(*inproc.World){
		"caspaxos":         caspaxos.World(false, nil),
		"livelock":         livelock.World(livelock.None, nil),
		"membership":       membership.World(false, nil),
		"two-phase-commit": commit.World(commit.None, nil),
	})
}
