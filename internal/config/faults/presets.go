package faults

import (
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// presetStepNs is the time step that the probabilities of presets are written for. Others scale them, so that a preset
// means the same number of injections a second.
const presetStepNs = 10_000_000

// A preset injects faults into each of its targets at these rates. Three servers and a client have three nodes and six links, so
// that moderate makes about 3 partitions, 1 crash and 1 pause in 30 virtual seconds of chaos, and chaos five times that.
// What only breaks programs that made no such promise is in no preset: power losses, errors of disks, and wrong dates
// beyond what a working NTP allows.
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
}

// scale turns a probability for presetStepNs into that for another step.
func scale(ppm uint64, stepNs int64) uint64 {
	return min(max(uint64(float64(ppm)*float64(stepNs)/presetStepNs), 1), 1_000_000)
}
