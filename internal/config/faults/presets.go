package faults

import (
	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// presetStepNs is the time step that the probabilities of presets are written for. Others scale them, so that a preset
// means the same number of injections a second.
const presetStepNs = 10_000_000

// Modes are the names of the presets, the mildest first.
var Modes = []string{"calm", "moderate", "chaos", world.Harsh, "operator"}

// A preset injects faults into each of its targets at these rates. Three servers and a client have three nodes and six links, so
// that moderate makes about 3 partitions, 1 crash and 1 pause in 30 virtual seconds of chaos, and chaos five times that.
// What only breaks programs that made no such promise is in none of them but harsh: power losses, full disks, and wrong dates
// beyond what a working NTP allows. Errors of disks, and limits of open files, are in no preset.
var presets = map[string][]world.FaultRule{
	"calm": {
		{Kind: "delay", RatePPM: 10_000, MinNs: 1e6, MaxNs: 10e6},
	},
	"moderate": {
		{Kind: "partition", RatePPM: 100, MinNs: 1e9, MaxNs: 5e9},
		{Kind: "clog", RatePPM: 30, MinNs: 500e6, MaxNs: 3e9},
		{Kind: "slow_link", RatePPM: 30, MinNs: 1e9, MaxNs: 5e9},
		{Kind: "delay", RatePPM: 20_000, MinNs: 5e6, MaxNs: 50e6},
		{Kind: "drop", RatePPM: 5_000},
		{Kind: "reset", RatePPM: 30},
		{Kind: "crash", RatePPM: 150, MinNs: 500e6, MaxNs: 3e9},
		{Kind: "pause", RatePPM: 150, MinNs: 100e6, MaxNs: 2e9},
	},
	"chaos": {
		{Kind: "partition", RatePPM: 500, MinNs: 1e9, MaxNs: 8e9},
		{Kind: "clog", RatePPM: 150, MinNs: 500e6, MaxNs: 5e9},
		{Kind: "slow_link", RatePPM: 150, MinNs: 1e9, MaxNs: 8e9},
		{Kind: "delay", RatePPM: 100_000, MinNs: 5e6, MaxNs: 200e6},
		{Kind: "drop", RatePPM: 20_000},
		{Kind: "corrupt", RatePPM: 5_000},
		{Kind: "reset", RatePPM: 150},
		{Kind: "crash", RatePPM: 700, MinNs: 500e6, MaxNs: 5e9},
		{Kind: "pause", RatePPM: 700, MinNs: 100e6, MaxNs: 5e9},
		{Kind: "slow_disk", RatePPM: 300, MinNs: 500e6, MaxNs: 5e9, Least: 5e6, Most: 100e6},
		{Kind: "clock_skew", RatePPM: 300, MinNs: 1e9, MaxNs: 10e9, Least: 10e6, Most: 500e6},
	},
	"harsh": parsed(
		"partition rate 0.0001 for 1s..5s",
		"partition in transfer rate 0.05 for 1s..5s",
		"clog rate 0.00003 for 500ms..3s",
		"slow_link rate 0.00003 for 1s..5s",
		"delay rate 0.02 for 5ms..50ms",
		"drop rate 0.005",
		"reset rate 0.00003",
		"crash rate 0.0001 for 500ms..3s",
		"crash in recovery rate 0.2 for 100ms..1s",
		"crash in transfer rate 0.02 for 500ms..3s",
		"crash after fsync, fdatasync, msync, rename, renameat, renameat2 nth 1..100 rate 0.2 for 500ms..3s",
		"crash after reply nth 1..50 rate 0.1 for 500ms..3s",
		"crash rate 0.00003 shape majority for 500ms..3s",
		"power_loss rate 0.0001 for 500ms..3s",
		"power_loss rate 0.0001 shape majority for 500ms..3s",
		"power_loss in recovery rate 0.1 for 100ms..1s",
		"power_loss during fsync, fdatasync, syncfs, msync nth 1..100 rate 0.3 for 500ms..3s",
		"power_loss after reply nth 1..50 rate 0.2 for 500ms..3s",
		"power_loss after reply nth 1..50 rate 0.3 shape majority for 500ms..3s",
		"power_loss after rename, renameat, renameat2 nth 1..20 rate 0.2 for 500ms..3s",
		"restart rate 0.0001 for 500ms..3s",
		"pause rate 0.0001 for 100ms..2s",
		// Over before the program starts again, since it may refuse to run so
		"disk_full at create, rename, renameat, renameat2, unlink, unlinkat, fallocate rate 0.03 for 100ms..450ms max 1 when up_s > 2",
		"slow_disk rate 0.0001 for 500ms..5s by 5ms..100ms",
		"clock_skew rate 0.0001 for 1s..10s by 10ms..5s",
		"clock_jump rate 0.00003 by 1s..60s",
		"clock_jump after reply nth 1..200 rate 0.1 by 1s..60s",
	),
	// What operators do on a good day. A rollback is not among it: no database promises to survive that.
	"operator": parsed(
		"delay rate 0.02 for 5ms..50ms",
		"restart rate 0.0002 for 500ms..3s",
		"restart rate 0.0002 shape rolling for 500ms..2s",
		"restart rate 0.0001 shape majority for 1s..5s",
		"upgrade rate 0.0002 for 500ms..2s",
		"upgrade rate 0.0003 shape rolling for 500ms..2s max 1",
		"downgrade rate 0.0002 for 500ms..2s",
		"replace rate 0.0002 for 1s..5s max 2",
	),
}

// fits limits a rule of a preset to the nodes that are made for it: those with releases, or with a command for a machine that replaces them.
// It is false if there are none.
func fits(l *load.State, r *world.FaultRule) bool {
	var made func(n *world.Node) bool
	switch r.Kind {
	case fault.Upgrade:
		made = func(n *world.Node) bool { return len(n.Releases) > 0 }
	case fault.Downgrade:
		made = func(n *world.Node) bool { return n.Downgrade }
	case fault.Replace:
		made = func(n *world.Node) bool { return len(n.Replacement) > 0 }
	default:
		return true
	}
	for _, d := range l.Nodes {
		if d.Spec.Role == world.Server && made(&d.Spec) {
			r.Targets = append(r.Targets, d.Spec.Name)
		}
	}
	least, _ := fault.Grouped(r.Shape)
	return len(r.Targets) >= max(least, 1)
}

// parsed reads rules that are ours.
func parsed(sentences ...string) (rules []world.FaultRule) {
	for _, text := range sentences {
		r, err := fault.Parse(text)
		if err != nil {
			panic("preset: " + text + ": " + err.Error())
		}
		r.ByUser = false
		rules = append(rules, r)
	}
	return rules
}

// scale turns a probability for presetStepNs into that for another step.
func scale(ppm uint64, stepNs int64) uint64 {
	return min(max(uint64(float64(ppm)*float64(stepNs)/presetStepNs), 1), 1_000_000)
}
