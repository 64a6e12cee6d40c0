package container

import (
	"cmp"
	"fmt"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/container/hand"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// delivery has the kinds of faults that this engine delivers, with what they need of the kernel.
var delivery = map[world.FaultKind][]string{
	fault.Partition: {hand.LacksFilter},
	fault.SlowLink:  {hand.LacksFilter, hand.LacksNetem},
	fault.Reset:     {hand.LacksReset},
	fault.DNSFail:   {hand.LacksFilter},
	fault.Drop:      {hand.LacksFilter},
	fault.Delay:     {hand.LacksFilter, hand.LacksNetem},
	fault.Duplicate: {hand.LacksFilter, hand.LacksNetem},
	fault.Corrupt:   {hand.LacksFilter, hand.LacksNetem},
	fault.Crash:     {},
	fault.Restart:   {},
	fault.Pause:     {},
	fault.DiskFull:  {},
	fault.ClockSkew: {},
	fault.ClockJump: {},
}

func delivers(k world.FaultKind) bool { _, ok := delivery[k]; return ok }

// kinds lists what this engine delivers, in the order of the table of faults.
func kinds() (list []world.FaultKind) {
	for _, k := range fault.Kinds() {
		if delivers(k) {
			list = append(list, k)
		}
	}
	return list
}

// deliverable is a Spec without the rules of kinds that this engine does not deliver, and those kinds.
func deliverable(spec *world.Spec) (*world.Spec, []world.FaultKind) {
	return fault.LeaveOut(spec, func(r *world.FaultRule) bool {
		return !spec.Faults.Enabled || fault.Known(r.Kind) && delivers(r.Kind) && !r.OnCalls() &&
			(!isClock(r.Kind) || r.ByUser && faker() != "") // not every program bears libfaketime: the user must want it
	})
}

func leftOut(kinds []world.FaultKind) string {
	return fmt.Sprintf("not injected, since the container engine cannot: %s; --engine native injects them", world.FaultNames(kinds))
}

// undeliverable finds settings and rules that the user has written and that this engine cannot follow.
func undeliverable(spec *world.Spec) engine.Mistakes {
	all := engine.Unscheduled(spec, "container")
	for i := range spec.Faults.Rules {
		r := &spec.Faults.Rules[i]
		if !spec.Faults.Enabled || r.RatePPM == 0 || !r.ByUser || !fault.Known(r.Kind) {
			continue
		}
		m := engine.Mistake{Part: engine.PartFault, Name: string(r.Kind)}
		switch {
		case !delivers(r.Kind):
			m.Problem = fmt.Sprintf("the container engine cannot inject %s: it injects %s", r.Kind, world.FaultNames(kinds()))
		case isClock(r.Kind) && faker() == "":
			m.Problem = fmt.Sprintf("%s needs libfaketime, which is not on this machine", r.Kind)
			m.Remedy = "install it (`apt-get install libfaketime`), leave the rule out, or use --engine native"
		case r.OnCalls():
			m.Problem = fmt.Sprintf("the container engine cannot inject %s at what a program does, such as a system call or a reply: it does not see that",
				r.Kind)
		default:
			continue
		}
		m.Remedy = cmp.Or(m.Remedy, "leave the rule out, or use --engine native")
		all = append(all, m)
	}
	if spec.Faults.Enabled && spec.Faults.DiskSpeed != "" && spec.Faults.Mode != world.Harsh {
		all = append(all, engine.Mistake{Part: engine.PartFault, Name: world.DiskSpeedKey,
			Problem: "the container engine does not set the speed of disks", Remedy: "leave it out, or use --engine native"})
	}
	return all
}

// lacking reports a fault that cannot be had for lack of a feature of the kernel.
func lacking(kind world.FaultKind, feature, why string) error {
	return fmt.Errorf("the fault %s needs %s, which this kernel does not have for containers (%s); %s, leave the fault out, or use --engine native",
		kind, feature, why, remedies[feature])
}

var remedies = map[string]string{
	hand.LacksFilter: "load it with `modprobe nf_tables`",
	hand.LacksNetem:  "load it with `modprobe -a sch_htb sch_netem`",
	hand.LacksReset:  "take a kernel with CONFIG_INET_DIAG_DESTROY",
}
