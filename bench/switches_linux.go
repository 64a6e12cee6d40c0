//go:build linux && amd64

package main

import (
	"fmt"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/config"
	"github.com/bloodhound-dst/bloodhound/internal/cpus"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// switches compares the CPU time of runs in which blocks are watched with that of runs of the same tapes without, in turn.
func (b *bench) switches() ([]row, error) {
	const tapes, blocks, ratePPM = 15, 64, 40_000
	loaded, err := config.Load(config.Options{Path: "../examples/quickstart/fixed.yaml"})
	if err != nil {
		return nil, err
	}
	variants := []world.Sched{{CPUs: 4}, {CPUs: 4, Blocks: blocks, SwitchPPM: 1}, {CPUs: 4, Blocks: blocks, SwitchPPM: ratePPM}}
	var ratios, events [3][]float64
	for seed := range uint64(tapes) {
		var first float64
		for i, sched := range variants {
			spec := *loaded.Spec
			sched.PreemptPPM = spec.Sched.PreemptPPM
			spec.Sched = sched
			before := cpus.Used()
			o, err := engine.Run(native.New(), &spec, tape.Tape{Seed: seed + 1}, engine.Options{Dir: b.dir, Driver: b.program})
			if err != nil {
				return nil, err
			}
			took := (cpus.Used() - before).Seconds()
			if i == 0 {
				first = took
			}
			ratios[i] = append(ratios[i], took/first)
			events[i] = append(events[i], float64(o.Events))
		}
	}
	show := func(i int, what, aim string) row {
		list := slices.Sorted(slices.Values(ratios[i]))
		slices.Sort(events[i])
		return row{what, fmt.Sprintf("%.2f", list[tapes/2]), aim,
			fmt.Sprintf("CPU time, median of %d tapes, from %.2f to %.2f; %.0f events", tapes, list[0], list[tapes-1], events[i][tapes/2])}
	}
	return []row{
		show(1, fmt.Sprintf("`fixed.yaml` with %d blocks watched and no switch, to the same without (4 CPUs are seen)", blocks), "1.3"),
		show(2, fmt.Sprintf("the same with switches at a rate of %.2f, which are other runs", float64(ratePPM)/tape.Certain), ""),
	}, nil
}
