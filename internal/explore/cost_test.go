package explore

import (
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Each hint comes where its part of the cost is large, and in no campaign without it.
func TestWhatWouldMakeRunsCheaper(t *testing.T) {
	spec := &world.Spec{Faults: world.Faults{SettleNs: 10e9}}
	for _, c := range []struct {
		name string
		make func(*Totals)
		want string // the only hint; none if empty
	}{
		{"balanced", func(*Totals) {}, ""},
		{"a short campaign", func(t *Totals) { t.CPU = CPU{ProgramsNs: 4e9} }, ""},
		{"cheap runs", func(t *Totals) { t.Runs, t.CPU = 1000, CPU{ProgramsNs: 10e9, EngineNs: 1e9} }, ""},
		{"starts", func(t *Totals) { t.Starts, t.StartNs = 10, 6e9 },
			"10 of 10 runs started from boot, and starting took 60 % of the time of runs: let runs start from snapshots"},
		{"few starts that take long", func(t *Totals) { t.Starts, t.StartNs = 4, 6e9 }, ""},
		{"settle", func(t *Totals) { t.TailEvents = 500 }, "50 % of the events come after the chaos phase: shorten faults.settle, which is 10 s"},
		{"probes", func(t *Totals) { t.Evidence.Probes = map[string]check.Probed{"up": {Probes: 600}} }, "60 probes a run, for 100 operations"},
		{"programs", func(t *Totals) { t.CPU = CPU{ProgramsNs: 8e9, EngineNs: 2e9} },
			"the programs take 80 % of the CPU time (100 operations a run, and 100 events)"},
		{"engine", func(t *Totals) { t.CPU = CPU{ProgramsNs: 2e9, EngineNs: 8e9} }, "the engine takes 80 % of the CPU time, for system calls"},
	} {
		totals := &Totals{Runs: 10, Events: 1000, RunWallNs: 10e9, Operations: Operations{Invoked: 1000}, CPU: CPU{ProgramsNs: 5e9, EngineNs: 5e9}}
		c.make(totals)
		got := totals.Cheaper(spec)
		if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], c.want)) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Costs are known where the system tells CPU time, and the share of starts where runs have measured theirs.
func TestCosts(t *testing.T) {
	totals := &Totals{Runs: 4, RunWallNs: 8e9, CPU: CPU{ProgramsNs: 3e9, EngineNs: 1e9}}
	if c, known := totals.Costs(); !known || c != (Costs{RunNs: 1e9, Programs: 75, Start: -1}) {
		t.Errorf("%+v, %v", c, known)
	}
	totals.took(&Reply{StartNs: 2e9})
	if c, _ := totals.Costs(); c.Start != 25 {
		t.Errorf("%+v", c)
	}
	if _, known := (&Totals{Runs: 4}).Costs(); known {
		t.Error("costs are known without CPU time")
	}
}
