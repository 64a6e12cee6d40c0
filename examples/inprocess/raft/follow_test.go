package raft

import (
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/inprocess"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/sim"
)

var modelled = Options{Servers: 3, Learners: 1, Spares: 1, Reconfigure: true, Compact: 3, Keep: 1, Load: 1, Steps: 300,
	Faults: []string{"crash rate 1% for 50ms..300ms", "drop rate 5%", "duplicate rate 5%", "reorder rate 10%"}}

// modelWorld has the servers of a world followed in the specification.
func modelWorld(t *testing.T, o Options, network bool, view string) inprocess.Engine {
	t.Helper()
	var err error
	if o.Model, err = Specification(o, network, view); err != nil {
		t.Fatal(err)
	}
	e, err := inprocess.New("raft", World(o))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// judged reports whether the run of a seed conforms.
func judged(t *testing.T, e inprocess.Engine, seed uint64) check.Verdict {
	t.Helper()
	out, err := engine.Run(e, e.Spec(), tape.Tape{Seed: seed}, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range check.Judge(e.Spec(), out) {
		if v.Property == conforms {
			return v
		}
	}
	t.Fatalf("seed %d: conformance was not judged", seed)
	return check.Verdict{}
}

// The library does what its specification says, with and without what the network holds.
func TestConforms(t *testing.T) {
	for _, c := range []struct {
		name    string
		options Options
	}{
		{"as it is", Options{}},
		{"five servers", Options{Servers: 5, Steps: 200}},
		{"snapshots", Options{Compact: 3, Keep: 1, Steps: 200, Load: 2}},
		{"changes of who the members are", Options{Servers: 3, Learners: 1, Spares: 1, Reconfigure: true, Steps: 300}},
		{"both", Options{Servers: 3, Spares: 2, Reconfigure: true, Compact: 3, Keep: 1, Load: 1, Steps: 300}},
		{"a rough network", Options{Faults: []string{"crash rate 1% for 50ms..300ms", "drop rate 5%", "duplicate rate 5%", "reorder rate 10%"}}},
		{"small messages", Options{Load: 3, Inflight: 2, MessageBytes: 40, ReadyBytes: 60, UncommittedBytes: 100}},
		{"all of it", modelled},
	} {
		for _, network := range []bool{true, false} {
			t.Run(c.name, func(t *testing.T) {
				var err error
				if c.options.Model, err = Specification(c.options, network, ""); err != nil {
					t.Fatal(err)
				}
				sim.Campaign{Runs: 8, Doubles: -1}.Test(t, World(c.options))
			})
		}
	}
}

// Runs that are rare: a server that knows a leader refuses a candidate of the same term; one crashes right after it has applied a configuration.
func TestRareRuns(t *testing.T) {
	for _, c := range []struct {
		options Options
		seeds   []uint64
	}{
		{Options{Servers: 5, Steps: 200}, []uint64{125, 141, 169}},
		{modelled, []uint64{313, 1653, 1901, 2019}},
	} {
		for _, network := range []bool{true, false} {
			e := modelWorld(t, c.options, network, "")
			for _, seed := range c.seeds {
				if v := judged(t, e, seed); v.Status != check.Holds {
					t.Errorf("network %t, seed %d: %s", network, seed, v.Reason)
				}
			}
		}
	}
}

// Views show less of the states than there is, each less than the next.
func TestViews(t *testing.T) {
	var counts []int
	for _, view := range []string{"Coarse", "Middle", "Raw"} {
		e := modelWorld(t, Options{}, false, view)
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

// What is remembered of earlier steps is what the specification says.
func TestWhatIsRememberedHolds(t *testing.T) {
	inprocess.Doubt = true
	defer func() { inprocess.Doubt = false }()
	for _, o := range []Options{{}, modelled} {
		for _, network := range []bool{true, false} {
			e := modelWorld(t, o, network, "Middle")
			for seed := range uint64(10) {
				out, err := engine.Run(e, e.Spec(), tape.Tape{Seed: seed}, engine.Options{Behaviour: true})
				if err != nil {
					t.Fatal(err)
				}
				for _, v := range check.Judge(e.Spec(), out) {
					if v.Status == check.Violated { // as if a server panics
						t.Fatalf("seed %d: %s: %s", seed, v.Property, v.Reason)
					}
				}
			}
		}
	}
}

// A mapping that lacks an action is found out, whichever it is.
func TestEachActionMatters(t *testing.T) {
	for _, action := range []string{"ApplyChange", "Restart", "Timeout", "SendVote", "BecomeLeader", "StepDownToFollower", "Propose", "Acknowledge", "Commit", "SendAppend", "SendHeartbeat",
		"SendSnap", "Ready", "Consider", "Handle", "Answer", "Refuse", "Restore", "FastForward", "Lose", "Duplicate", "AddNewServer", "AddLearner", "DeleteServer", "Change", "LearnTerm"} {
		o := modelled
		o.Untold = action
		e := modelWorld(t, o, true, "")
		found := false
		for seed := uint64(0); seed < 400 && !found; seed++ {
			if v := judged(t, e, seed); v.Status != check.Holds {
				found = true
				t.Logf("%s: seed %d: %s", action, seed, v.Reason)
			}
		}
		if !found {
			t.Errorf("nothing shows that %s is not mapped", action)
		}
	}
}
