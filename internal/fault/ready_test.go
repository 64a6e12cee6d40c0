package fault

import (
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

const often = tape.Certain - 1 // a rate that every draw of these tests meets

// What a rate draws spares nodes that have not been ready, and what asks for them does not.
func TestRatesSpareNodesThatWereNeverReady(t *testing.T) {
	for _, c := range []struct {
		name  string
		rule  world.FaultRule
		spare bool
	}{
		{"a rate", world.FaultRule{Kind: "crash", RatePPM: often}, true},
		{"a rate at a call", world.FaultRule{Kind: "crash", RatePPM: often, Trigger: world.Trigger{At: []string{"fsync"}}}, true},
		{"a rate on a link", world.FaultRule{Kind: "partition", RatePPM: often, Targets: []string{"n1-n2"}}, true},
		{"a rate on a link of a client", world.FaultRule{Kind: "clog", RatePPM: often, Targets: []string{"load-n1"}}, true},
		{"a rate on a group", world.FaultRule{Kind: "partition", RatePPM: often, LinkEffect: world.LinkEffect{Shape: Halves}}, true},
		{"a rate of a majority", world.FaultRule{Kind: "pause", RatePPM: often, LinkEffect: world.LinkEffect{Shape: Majority}}, true},
		{"a rate with a condition", world.FaultRule{Kind: "crash", RatePPM: often, When: "up_s >= 0"}, true},
		{"a rate from the start", world.FaultRule{Kind: "crash", RatePPM: often, FromStart: true}, false},
		{"a rate with a condition on readiness", world.FaultRule{Kind: "crash", RatePPM: often, When: "ready_s == 0"}, false},
		{"the number of a call", world.FaultRule{Kind: "crash", RatePPM: often, Trigger: world.Trigger{At: []string{"fsync"}, NthFrom: 1, NthTo: 1}},
			false},
		{"always", world.FaultRule{Kind: "crash", RatePPM: tape.Certain}, false},
	} {
		for _, version := range []int{0, world.FairFaults} {
			for _, ready := range []bool{false, true} {
				spec := threeNodes(c.rule)
				spec.RulesVersion = version
				p := mustPlan(t, spec)
				src := tape.NewSource(tape.Tape{Seed: 1})
				m := &Moment{NowNs: 1e9, Mains: starts{}}
				if ready {
					m.Mains = starts{"n1": 0, "n2": 0, "n-3": 0, "load": 0}
				}
				injected := len(p.Step(src, m)) + len(p.Enter(src, m, "n1", "fsync", "/wal"))
				want := !c.spare || ready || version < world.FairFaults
				if (injected > 0) != want {
					t.Errorf("%s, rules %d, ready %v: %d faults", c.name, version, ready, injected)
				}
				if decisions := len(src.Decisions()); decisions == 0 {
					t.Errorf("%s, rules %d, ready %v: nothing was drawn, so later draws would move", c.name, version, ready)
				}
			}
		}
	}
}

// A client is never waited for.
func TestClientsAreNotSpared(t *testing.T) {
	spec := threeNodes(world.FaultRule{Kind: "clog", RatePPM: often, Targets: []string{"load-n1"}})
	spec.RulesVersion = world.FairFaults
	p := mustPlan(t, spec)
	m := &Moment{NowNs: 1e9, Mains: seen{"n1": true}}
	if got := p.Step(tape.NewSource(tape.Tape{Seed: 1}), m); len(got) != 1 {
		t.Errorf("%d faults, want 1", len(got))
	}
}

// seen says of servers whether they were ready.
type seen map[string]bool

func (s seen) StartedNs(string) (int64, bool) { return 0, true }
func (s seen) ReadyNs(string) (int64, bool)   { return 0, false }
func (s seen) NeverReady(node string) bool    { ready, known := s[node]; return known && !ready }

// Packets and calls on disks are spared as well.
func TestPacketsAndCallsOfNodesThatWereNeverReady(t *testing.T) {
	spec := threeNodes(world.FaultRule{Kind: "drop", RatePPM: often}, world.FaultRule{Kind: "write_fail", RatePPM: often})
	spec.RulesVersion = world.FairFaults
	p := mustPlan(t, spec)
	if !p.Spares() {
		t.Error("what packets suffer does not depend on readiness")
	}
	src := tape.NewSource(tape.Tape{Seed: 1})
	m := &Moment{NowNs: 1e9, Mains: seen{"n1": true, "n2": false, "n-3": true}}
	write := func(node string) bool {
		return p.Call(src, m, &Call{Node: node, Name: "write", Op: Write, Path: "/a", Bytes: 8}).Kind != ""
	}
	if write("n2") || !write("n1") {
		t.Error("a write of a node that was never ready fails, or one of another node does not")
	}
	for _, way := range []struct {
		from, to string
		drops    bool
	}{{"n1", "n-3", true}, {"n1", "n2", false}, {"n2", "n1", false}, {"load", "n2", false}, {"load", "n1", true}} {
		if r := p.Packet(m, way.from, way.to); (r[DropRate].PPM > 0) != way.drops {
			t.Errorf("%s->%s: %d ppm", way.from, way.to, r[DropRate].PPM)
		}
	}
}

// A rule that was derived from a moment reaches it in the first start, too.
func TestDerivedRulesReachTheFirstStart(t *testing.T) {
	r := world.FaultRule{Kind: "crash", RatePPM: often, Trigger: world.Trigger{Moment: world.AfterCall, At: []string{"fsync"}}, Derived: true}
	if sparing(&r) {
		t.Error("it spares nodes that were never ready")
	}
	if r.Derived = false; !sparing(&r) {
		t.Error("one that was not derived does not spare them")
	}
}
