package raft

import (
	"testing"

	"github.com/bloodhound-dst/bloodhound/check"
	"github.com/bloodhound-dst/bloodhound/coverage"
	"github.com/bloodhound-dst/bloodhound/engine"
	"github.com/bloodhound-dst/bloodhound/engine/inproc"
	"github.com/bloodhound-dst/bloodhound/sim"
	"github.com/bloodhound-dst/bloodhound/tape"
)

func specification(t *testing.T, network bool) *Model {
	t.Helper()
	m, err := Specification(3, 3, network, "")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The library does what its specification says, with and without what the network holds.
func TestConforms(t *testing.T) {
	for _, network := range []bool{true, false} {
		sim.Campaign{Runs: 100}.Test(t, World(Options{Model: specification(t, network)}))
	}
}

// Views show less of the states than there is, each less than the next.
func TestViews(t *testing.T) {
	var counts []int
	for _, view := range []string{"Coarse", "Middle", "Raw"} {
		m, err := Specification(3, 3, false, view)
		if err != nil {
			t.Fatal(err)
		}
		e, err := inproc.New("raft", World(Options{Model: m}))
		if err != nil {
			t.Fatal(err)
		}
		reached := map[uint64]bool{}
		for seed := range uint64(10) {
			out, err := engine.Run(e, e.Spec(), tape.Tape{Seed: seed}, engine.Options{Behaviour: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range out.Reached {
				if f.Domain == coverage.ModelState {
					reached[f.ID] = true
				}
			}
		}
		counts = append(counts, len(reached))
	}
	if !(2*counts[0] < counts[1] && counts[1] < counts[2]) {
		t.Errorf("%v states", counts)
	}
}

// A mapping that lacks an action is found out, whichever it is.
func TestEachActionMatters(t *testing.T) {
	m := specification(t, true)
	for _, action := range []string{"Restart", "Timeout", "SendVote", "BecomeLeader", "StepDownToFollower", "Propose", "Acknowledge", "Commit", "SendAppend", "SendHeartbeat",
		"Ready", "Consider", "Handle", "Answer", "Lose"} {
		e, err := inproc.New("raft", World(Options{Model: m, without: action}))
		if err != nil {
			t.Fatal(err)
		}
		spec := e.Spec()
		found := false
		for seed := uint64(0); seed < 300 && !found; seed++ {
			out, err := engine.Run(e, spec, tape.Tape{Seed: seed}, engine.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range check.Judge(spec, out) {
				if v.Property == conforms && v.Status != engine.Holds {
					found = true
					t.Logf("%s: seed %d: %s", action, seed, v.Reason)
				}
			}
		}
		if !found {
			t.Errorf("nothing shows that %s is not mapped", action)
		}
	}
}
