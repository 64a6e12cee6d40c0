package fault

import (
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

func callPlan(t *testing.T, rules ...world.FaultRule) *Plan {
	t.Helper()
	p, err := New(&world.Spec{MaxTimeNs: 60e9, Nodes: []world.Node{{Name: "n1", Role: world.Server}, {Name: "n2", Role: world.Server}},
		Faults: world.Faults{Enabled: true, Rules: rules}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Whatever the tape says, a call is cut where its kind may cut it, and all places are reached.
func TestCutsOfCalls(t *testing.T) {
	for _, c := range []struct {
		kind  world.FaultKind
		call  Call
		least int // bytes that get through, from
		most  int // to
		step  int
		bits  bool // it is Bit that is chosen, not Bytes
	}{
		{PartialWrite, Call{Op: Write, Bytes: 2}, 1, 1, 1, false},
		{PartialWrite, Call{Op: Write, Bytes: 17}, 1, 16, 1, false},
		{TornWrite, Call{Op: Write, Bytes: 4096}, 512, 3584, 512, false},
		{TornWrite, Call{Op: Write, Offset: 500, Bytes: 13}, 12, 12, 1, false},
		{TornWrite, Call{Op: Write, Offset: 100, Bytes: 1000}, 412, 924, 512, false},
		{ReadCorrupt, Call{Op: Read, Bytes: 3}, 0, 23, 1, true},
	} {
		c.call.Node = "n1"
		got := map[int]bool{}
		for seed := range uint64(2000) {
			p := callPlan(t, world.FaultRule{Kind: c.kind, RatePPM: tape.Certain})
			p.BeginChaos(tape.NewSource(tape.Tape{}), 0)
			h := p.Call(tape.NewSource(tape.Tape{Seed: seed}), &Moment{}, &c.call)
			if h.Kind != c.kind {
				t.Fatalf("%s %+v: %+v", c.kind, c.call, h)
			}
			at := h.Bytes
			if c.bits {
				at = h.Bit
			}
			if at < c.least || at > c.most || (at-c.least)%c.step != 0 {
				t.Fatalf("%s %+v is cut at %d", c.kind, c.call, at)
			}
			got[at] = true
		}
		if want := (c.most-c.least)/c.step + 1; len(got) != want {
			t.Errorf("%s %+v is cut at %d places, want %d", c.kind, c.call, len(got), want)
		}
	}
}

// What cannot be cut, or is another's, draws nothing.
func TestCallsThatAreSpared(t *testing.T) {
	rules := []world.FaultRule{}
	for _, k := range KindsOf(func(r *Row) bool { return r.Place == OnCall }) {
		rules = append(rules, world.FaultRule{Kind: k, RatePPM: tape.Certain, Targets: []string{"n1"}})
	}
	for _, c := range []struct {
		call Call
		on   bool
		want int // draws
	}{
		{Call{Node: "n1", Op: Write, Bytes: 1}, true, 1},                // write_fail
		{Call{Node: "n1", Op: Write, Offset: 1, Bytes: 511}, true, 2},   // and partial_write
		{Call{Node: "n1", Op: Write, Offset: 511, Bytes: 2}, true, 3},   // and torn_write
		{Call{Node: "n1", Op: Read, Bytes: 1}, true, 2},                 // read_fail, read_corrupt
		{Call{Node: "n1", Op: Sync}, true, 1},                           // fsync_fail
		{Call{Node: "n2", Op: Write, Bytes: 4096}, true, 0},             // no target
		{Call{Node: "n1", Op: Write, Offset: 0, Bytes: 4096}, false, 0}, // no chaos
	} {
		p := callPlan(t, rules...)
		if c.on {
			p.BeginChaos(tape.NewSource(tape.Tape{}), 0)
		}
		src := tape.NewSource(tape.Tape{Seed: 1})
		p.Call(src, &Moment{}, &c.call)
		if n := len(src.Decisions()); n != c.want {
			t.Errorf("%+v: %d draws, want %d", c.call, n, c.want)
		}
	}
}

// Amounts of either sign are reached from the least to the most.
func TestAmounts(t *testing.T) {
	r := Rule{Row: rank(ClockSkew), Least: 100, Most: 800}
	seen := map[int64]bool{}
	for k := range RowOf(ClockSkew).amounts() {
		seen[r.amount(k)] = true
	}
	if len(seen) != 2*AmountSteps || !seen[100] || !seen[-100] || !seen[800] || !seen[-800] {
		t.Errorf("amounts are %v", seen)
	}
}

// A rule about openings knows a call by its own name, and by create if it asks for a file to be made. It spares reads and writes.
func TestOpeningsByName(t *testing.T) {
	open := Call{Node: "n1", Name: "openat", Op: Open, Path: "/data/1.wal"}
	create := open
	create.Makes = true
	for _, c := range []struct {
		rule string
		call Call
		hit  string // the call that the ledger counts; empty if the call succeeds
	}{
		{"open_fail", open, "openat"},
		{"open_fail", create, "create"},
		{"open_fail at openat of *.wal", open, "openat"},
		{"open_fail at openat of *.wal", create, "create"},
		{"open_fail at create of *.wal", open, ""},
		{"open_fail at create of *.wal", create, "create"},
		{"open_fail at create of *.sst", create, ""},
		{"open_fail at creat of *.wal", create, ""},
		{"open_fail on n2", create, ""},
		{"open_fail nth 2", create, ""},
		{"open_fail", Call{Node: "n1", Name: "write", Op: Write, Path: "/data/1.wal", Bytes: 5}, ""},
		{"write_fail", create, ""},
	} {
		rule, err := Parse(c.rule + " rate 1")
		if err != nil {
			t.Fatal(err)
		}
		p := callPlan(t, rule)
		src := tape.NewSource(tape.Tape{})
		p.BeginChaos(src, 0)
		got := ""
		if p.Call(src, &Moment{}, &c.call).Kind == OpenFail {
			got = p.Ledger.Hits[0].Call
		}
		if got != c.hit {
			t.Errorf("%s: %+v hits %q, want %q", c.rule, c.call, got, c.hit)
		}
	}
}
