package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Capabilities lists the faults and settings that an engine can apply. Each engine declares it once.
type Capabilities struct {
	Engine string // the name after --engine
	// Faults has the kinds that the engine injects. If nil, it injects every kind that has no entry in Reasons. Reasons says why
	// the engine cannot inject a kind.
	Faults  map[world.FaultKind]Capability
	Reasons map[world.FaultKind]string

	AtCalls   bool // faults at system calls, replies and recoveries
	DiskSpeed bool // faults.disk_speed
	Schedule  bool // simulation.switches and simulation.cpus
}

// Capability says what an engine needs for one kind of fault.
type Capability struct {
	// Missing names what this machine lacks, with the remedy; nil or a nil result means nothing.
	Missing func() *Lack
	// Features are parts of a kernel that only a started world can try out.
	Features []string
	// OnRequest leaves the fault out of presets, since some programs cannot run under it.
	OnRequest bool
}

// Lack is a program that must be on the machine for a kind of fault.
type Lack struct{ Problem, Remedy string }

func (c Capability) missing() *Lack {
	if c.Missing == nil {
		return nil
	}
	return c.Missing()
}

// capability returns what the engine needs for a kind of fault, and whether it injects it at all.
func (c *Capabilities) capability(k world.FaultKind) (Capability, bool) {
	if c.Faults == nil {
		return Capability{}, fault.Known(k) && c.Reasons[k] == ""
	}
	capability, ok := c.Faults[k]
	return capability, ok
}

// Kinds lists the faults that the engine injects, in the order of the table of faults.
func (c *Capabilities) Kinds() (kinds []world.FaultKind) {
	for _, k := range fault.Kinds() {
		if _, ok := c.capability(k); ok {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// Has reports whether the engine injects a kind of fault on this machine.
func (c *Capabilities) Has(k world.FaultKind) bool {
	capability, ok := c.capability(k)
	return ok && capability.missing() == nil
}

// Injects reports whether the engine can follow a rule on this machine.
func (c *Capabilities) Injects(r *world.FaultRule) bool {
	return c.Has(r.Kind) && (c.AtCalls || !r.OnCalls()) && (r.ByUser || !c.Faults[r.Kind].OnRequest)
}

// remedy is the advice for faults and settings that another engine supports.
const remedy = "leave it out, or use --engine native"

// Validate finds the settings and the rules of a user that the engine cannot follow. Rules of presets are not the user's, and
// Supported leaves them out.
func (c *Capabilities) Validate(spec *world.Spec) (all Mistakes) {
	if !c.Schedule {
		all = c.schedule(spec)
	}
	if !spec.Faults.Enabled {
		return all
	}
	for i := range spec.Faults.Rules {
		if r := &spec.Faults.Rules[i]; r.RatePPM > 0 && r.ByUser && fault.Known(r.Kind) && !c.Injects(r) {
			all = append(all, c.mistake(r))
		}
	}
	if !c.DiskSpeed && spec.Faults.DiskSpeed != "" && spec.Faults.Mode != world.Harsh {
		all = append(all, Mistake{Part: PartFault, Name: world.DiskSpeedKey,
			Problem: fmt.Sprintf("the engine %s cannot set disk speed", c.Engine), Remedy: remedy})
	}
	return all
}

// schedule finds the settings of threads and CPUs.
func (c *Capabilities) schedule(spec *world.Spec) (all Mistakes) {
	for _, s := range []struct {
		key string
		set bool
	}{{"switches", spec.Sched.Blocks > 0}, {"cpus", spec.Sched.CPUs > 0 && spec.Sched.Blocks == 0}} {
		if s.set {
			all = append(all, Mistake{Part: PartSimulation, Name: s.key,
				Problem: fmt.Sprintf("the engine %s does not support simulation.%s", c.Engine, s.key), Remedy: remedy})
		}
	}
	return all
}

// mistake says why the engine cannot follow a rule.
func (c *Capabilities) mistake(r *world.FaultRule) Mistake {
	m := Mistake{Part: PartFault, Name: string(r.Kind), Remedy: remedy}
	capability, ok := c.capability(r.Kind)
	switch lack := capability.missing(); {
	case c.Reasons[r.Kind] != "":
		m.Problem = fmt.Sprintf("the engine %s does not inject %s: %s", c.Engine, r.Kind, c.Reasons[r.Kind])
	case !ok:
		m.Problem = fmt.Sprintf("the engine %s does not inject %s; it injects %s", c.Engine, r.Kind, world.FaultNames(c.Kinds()))
	case r.OnCalls() && !c.AtCalls:
		m.Name = cmp.Or(strings.Join(r.At, ","), m.Name)
		m.Problem = fmt.Sprintf("the engine %s cannot inject faults at a system call, a reply or a recovery, because it does not "+
			"see what programs do", c.Engine)
	case lack != nil:
		m.Problem, m.Remedy = lack.Problem, lack.Remedy
	}
	return m
}

// Supported returns the Spec without the rules that the engine cannot follow, and with disks as fast as the machine's if it cannot
// set their speed. Warnings name the omitted rules. The others keep their numbers.
func (c *Capabilities) Supported(spec *world.Spec) (own *world.Spec, warnings []string) {
	if !c.DiskSpeed {
		spec, _ = fault.AnySpeed(spec)
	}
	if !spec.Faults.Enabled {
		return spec, nil
	}
	own, left := fault.LeaveOut(spec, func(r *world.FaultRule) bool { return c.Injects(r) || !fault.Known(r.Kind) })
	if slices.ContainsFunc(spec.Faults.Rules, func(r world.FaultRule) bool { return r.RatePPM > 0 && r.OnCalls() && !c.AtCalls }) {
		warnings = append(warnings, fmt.Sprintf("skipping rules at system calls, replies and recoveries: the engine %s does not see "+
			"them", c.Engine))
	}
	// Rules of these kinds without a moment stay.
	left = slices.DeleteFunc(left, func(k world.FaultKind) bool { return c.Has(k) && !c.Faults[k].OnRequest })
	if len(left) > 0 {
		warnings = append(warnings, c.LeftOut(left))
	}
	return own, warnings
}

// LeftOut warns of kinds of faults that a preset has and the engine does not inject.
func (c *Capabilities) LeftOut(kinds []world.FaultKind) string {
	return fmt.Sprintf("the engine %s does not inject these faults, so they are skipped: %s; --engine native injects them", c.Engine, world.FaultNames(kinds))
}
