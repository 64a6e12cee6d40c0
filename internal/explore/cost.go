package explore

import (
	"fmt"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Bounds from which on a part of a run's cost is worth a hint, in percent.
const (
	costlyStart  = 40 // of the real time of runs
	costlyTail   = 40 // of their events
	costlyShare  = 70 // of their CPU time
	costlyProbes = 50 // probes for each 100 operations
)

// Below leastCost of CPU time a run, or leastTotal of a campaign, there is nothing to save.
const (
	leastCost  = 50_000_000
	leastTotal = 5_000_000_000
)

// Costs says where the CPU time of a campaign's runs went.
type Costs struct {
	RunNs    int64 // CPU time of a run
	Programs int64 // percent of it that the programs took; the engine took the rest
	Start    int64 // percent of the real time of runs that went into their start, -1 if that is not known
}

// Costs are those of the runs so far; false if the system does not tell.
func (t *Totals) Costs() (c Costs, known bool) {
	ns := t.CPU.Ns()
	if ns == 0 || t.Runs == 0 {
		return c, false
	}
	c = Costs{RunNs: ns / int64(t.Runs), Programs: 100 * t.CPU.ProgramsNs / ns, Start: -1}
	if t.Starts > 0 && t.RunWallNs > 0 {
		c.Start = min(100*t.StartNs/t.RunWallNs, 100)
	}
	return c, true
}

// Cheaper lists what would make runs cheaper, by what they were measured to spend their time on.
func (t *Totals) Cheaper(spec *world.Spec) (list []string) {
	c, known := t.Costs()
	if !known || c.RunNs < leastCost || t.CPU.Ns() < leastTotal {
		return nil
	}
	add := func(format string, arguments ...any) { list = append(list, fmt.Sprintf(format, arguments...)) }
	if c.Start >= costlyStart && t.Runs >= 2 && 2*t.Starts > t.Runs {
		add("%d of %s started from boot, and starting took %d %% of the time of runs: let runs start from "+
			"snapshots (leave out --from-boot, raise --snapshot-memory)", t.Starts, plural.Count(t.Runs, "run"), c.Start)
	}
	if t.Events > 0 && 100*t.TailEvents/t.Events >= costlyTail {
		text := fmt.Sprintf("%d %% of the events come after the chaos phase", 100*t.TailEvents/t.Events)
		if ns := spec.Faults.SettleNs; ns > 0 {
			text += fmt.Sprintf(": shorten faults.settle, which is %g s", float64(ns)/1e9)
		}
		add("%s", text)
	}
	probes := uint64(0)
	for _, p := range t.Evidence.Probes {
		probes += p.Probes
	}
	if probes > t.Runs && probes*100 >= costlyProbes*max(t.Operations.Invoked, 1) {
		add("%s a run, for %s: raise the `interval` of checks that probe", plural.Count(probes/t.Runs, "probe"),
			plural.Count(t.Operations.Invoked/t.Runs, "operation"))
	}
	each := fmt.Sprintf("%s a run, and %s", plural.Count(t.Operations.Invoked/t.Runs, "operation"), plural.Count(t.Events/t.Runs, "event"))
	switch {
	case c.Programs >= costlyShare:
		add("the programs take %d %% of the CPU time (%s): "+
			"fewer operations, smaller data, or an optimised build make a run cheaper", c.Programs, each)
	case 100-c.Programs >= costlyShare:
		add("the engine takes %d %% of the CPU time, for system calls (%s): "+
			"fewer operations, less idle polling and fewer log lines make a run cheaper", 100-c.Programs, each)
	}
	return list
}
