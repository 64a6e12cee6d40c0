package bank

import (
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/sim"
	"github.com/bloodhound-dst/bloodhound/sim/fake"
)

var failing = fake.Failures{Before: 0.1, After: 0.1}

// Serializable transfers that look whether they were made keep all money, whatever commits, crashes and messages do.
func TestBranches(t *testing.T) {
	sim.Test(t, Branches(Options{Named: true, Failures: failing, Faults: []string{
		"crash on db rate 1% for 50ms..500ms", "power_loss on db at fsync rate 1% for 50ms..500ms", "drop rate 1%", "delay rate 1%"}}))
}

// Without names, commits that fail before they took effect are harmless.
func TestCommitsThatFailBeforeShowNothing(t *testing.T) {
	sim.Campaign{Runs: 300}.Test(t, Branches(Options{Failures: fake.Failures{Before: 0.3}}))
}

// What is wrong, what it breaks, and the faults that it takes.
func TestWhatBranchesGetWrong(t *testing.T) {
	for name, c := range map[string]struct {
		o      Options
		sign   string
		kind   string // of the faults that are left
		faults int
	}{
		"a transfer is made twice": {Options{Failures: failing}, "no transfer is made twice", "db_fails_after", 1},
		"updates are lost":         {Options{Level: fake.ReadCommitted, Named: true}, "the sum of all accounts stays the same", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := sim.Campaign{Dir: t.TempDir()}.Run(t.Context(), "branches", Branches(c.o))
			if err != nil {
				t.Fatal(err)
			}
			if r.Status != sim.Violated || !strings.Contains(r.Failures[0].Signature, c.sign) {
				t.Fatalf("%s:\n%s", r.Status, r.Text())
			}
			if small := r.Failures[0].Smallest; small.Nodes == 0 || small.Faults != c.faults || !strings.Contains(r.Text(), c.kind) {
				t.Errorf("not %d faults are left:\n%s", c.faults, r.Text())
			}
		})
	}
}
