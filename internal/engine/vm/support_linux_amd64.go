package vm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// kinds are the faults that this engine injects.
var kinds = []world.FaultKind{fault.Partition, fault.Clog, fault.SlowLink, fault.Reset, fault.Delay, fault.Drop, fault.Duplicate, fault.Reorder, fault.Corrupt,
	fault.Crash, fault.PowerLoss, fault.Restart, fault.Pause, fault.OOM, fault.DiskFull}

func injects(r *world.FaultRule) bool { return !r.OnCalls() && has(r.Kind) }

// has reports whether this engine injects a kind of fault on this machine.
func has(k world.FaultKind) bool {
	return slices.Contains(kinds, k) && (k != fault.PowerLoss || canLosePower())
}

// canLosePower reports whether nodes can have disks.
func canLosePower() bool {
	_, ok := findMke2fs()
	return ok
}

// losesPower reports whether a node's disk may lose its power in a world.
func losesPower(spec *world.Spec) bool {
	return spec.Faults.Enabled && slices.ContainsFunc(spec.Faults.Rules, func(r world.FaultRule) bool {
		return r.Kind == fault.PowerLoss && r.RatePPM > 0 && injects(&r)
	})
}

// supported is a Spec without faults of presets that this engine does not inject, with warnings if there are such.
func supported(spec *world.Spec) (*world.Spec, []string) {
	able := func(r *world.FaultRule) bool { return r.ByUser || injects(r) || !fault.Known(r.Kind) }
	moments := slices.ContainsFunc(spec.Faults.Rules, func(r world.FaultRule) bool { return r.RatePPM > 0 && r.OnCalls() && !able(&r) })
	own, left := fault.LeaveOut(spec, able)
	own, _ = fault.AnySpeed(own)
	var warnings []string
	if moments {
		warnings = append(warnings, "the engine vm injects no faults at what programs do, so the rules of the preset at such moments are left out")
	}
	left = slices.DeleteFunc(left, has)
	if len(left) > 0 {
		warnings = append(warnings, fmt.Sprintf("the engine vm does not inject %s, which the preset of faults has", world.FaultNames(left)))
	}
	return own, warnings
}

// Validate finds what a Spec asks for and this engine does not have.
func (*Engine) Validate(spec *world.Spec, _ engine.Options) error {
	all := engine.Unscheduled(spec, "vm")
	for i := range spec.Faults.Rules {
		r := &spec.Faults.Rules[i]
		if r.RatePPM == 0 || !r.ByUser || injects(r) || !fault.Known(r.Kind) {
			continue
		}
		m := engine.Mistake{Part: engine.PartFault, Name: string(r.Kind), Problem: "the engine vm does not inject " + string(r.Kind),
			Remedy: "leave it out, or use --engine native"}
		if r.OnCalls() {
			m.Name, m.Problem = cmp.Or(strings.Join(r.At, ","), string(r.Kind)),
				"the engine vm injects no faults at what programs do: system calls, replies, recoveries"
		}
		if r.Kind == fault.PowerLoss && !r.OnCalls() {
			m.Problem, m.Remedy = "the engine vm makes the disks of nodes by mke2fs, which is not there",
				"install it (apt-get install e2fsprogs), leave the fault out, or use --engine native"
		}
		all = append(all, m)
	}
	if spec.Faults.DiskSpeed != "" && spec.Faults.Mode != world.Harsh {
		all = append(all, engine.Mistake{Part: engine.PartFault, Name: world.DiskSpeedKey,
			Problem: "the engine vm does not set the speed of disks", Remedy: "leave it out, or use --engine native"})
	}
	if len(all) > 0 {
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
