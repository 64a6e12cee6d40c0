package examples

import (
	"testing"

	"github.com/bloodhound-dst/bloodhound/examples/inprocess/bank"
	"github.com/bloodhound-dst/bloodhound/examples/inprocess/checkout"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/processes"
	"github.com/bloodhound-dst/bloodhound/sim/fake"
	"github.com/bloodhound-dst/bloodhound/sim/inproc"
)

// Equal seeds give equal trace hashes in separate processes.
func TestProcessesAgree(t *testing.T) {
	processes.Agree(t, map[string]func(*inproc.World){
		"bank": bank.World(true),
		"branches": bank.Branches(bank.Options{Named: true, Failures: fake.Failures{Before: 0.05, After: 0.05},
			Faults: []string{"crash on db rate 1% for 50ms..500ms", "power_loss on db at fsync rate 1% for 50ms..500ms", "drop rate 1%", "delay rate 1%"}}),
		"checkout": checkout.World(checkout.Options{Keys: true, Before: 0.05, After: 0.05,
			Faults: []string{"crash on shop rate 1% for 50ms..500ms", "drop rate 1%"}}),
	})
}
