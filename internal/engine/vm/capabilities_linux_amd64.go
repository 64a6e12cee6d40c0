package vm

import (
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// capabilities are the faults of this engine.
var capabilities = engine.Capabilities{Engine: "vm", Faults: map[world.FaultKind]engine.Capability{
	fault.Partition: {}, fault.Clog: {}, fault.SlowLink: {}, fault.Reset: {}, fault.Delay: {}, fault.Drop: {}, fault.Duplicate: {},
	fault.Reorder: {}, fault.Corrupt: {}, fault.Crash: {}, fault.PowerLoss: {Missing: missingMke2fs}, fault.Restart: {}, fault.Pause: {},
	fault.Upgrade: {}, fault.Downgrade: {}, fault.Run: {},
	fault.OOM: {}, fault.DiskFull: {},
}, Reasons: map[world.FaultKind]string{
	fault.ClockSkew: "its nodes share the clock of one kernel",
	fault.ClockJump: "its nodes share the clock of one kernel",
}}

// missingMke2fs reports a missing mke2fs, which creates the disks that can lose power.
func missingMke2fs() *engine.Lack {
	if _, ok := findMke2fs(); ok {
		return nil
	}
	return &engine.Lack{Problem: "the engine vm needs mke2fs to create the disks of nodes, and it is not installed",
		Remedy: "install it (apt-get install e2fsprogs), leave the fault out, or use --engine native"}
}

// losesPower reports whether a node's disk may lose its power in a world.
func losesPower(spec *world.Spec) bool {
	return spec.Faults.Enabled && slices.ContainsFunc(spec.Faults.Rules, func(r world.FaultRule) bool {
		return r.Kind == fault.PowerLoss && r.RatePPM > 0 && capabilities.Injects(&r)
	})
}

// Validate finds the parts of a Spec that this engine does not support.
func (*Engine) Validate(spec *world.Spec, _ engine.Options) error {
	if all := capabilities.Validate(spec); len(all) > 0 {
		return all
	}
	return nil
}

// Refuses names the first part of a world that this engine does not have, and is empty for a world that it can run.
func Refuses(spec *world.Spec) string {
	if err := New().Validate(spec, engine.Options{}); err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return first
	}
	return ""
}
