package container

import (
	"fmt"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/container/hand"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// capabilities are the faults of this engine, with what they need of the kernel.
var capabilities = engine.Capabilities{Engine: "container", Faults: map[world.FaultKind]engine.Capability{
	fault.Partition: {Features: []string{hand.LacksFilter}},
	fault.SlowLink:  {Features: []string{hand.LacksFilter, hand.LacksNetem}},
	fault.Reset:     {Features: []string{hand.LacksReset}},
	fault.DNSFail:   {Features: []string{hand.LacksFilter}},
	fault.Drop:      {Features: []string{hand.LacksFilter}},
	fault.Delay:     {Features: []string{hand.LacksFilter, hand.LacksNetem}},
	fault.Duplicate: {Features: []string{hand.LacksFilter, hand.LacksNetem}},
	fault.Corrupt:   {Features: []string{hand.LacksFilter, hand.LacksNetem}},
	fault.Crash:     {},
	fault.Restart:   {},
	fault.Run:       {},
	fault.Pause:     {},
	fault.DiskFull:  {},
	fault.ClockSkew: {Missing: missingFaker, OnRequest: true},
	fault.ClockJump: {Missing: missingFaker, OnRequest: true},
}}

func missingFaker() *engine.Lack {
	if faker() != "" {
		return nil
	}
	return &engine.Lack{Problem: "clock faults need libfaketime, which is not installed",
		Remedy: "install it (`apt-get install libfaketime`), leave the rule out, or use --engine native"}
}

// lacking reports a fault that cannot be had for lack of a feature of the kernel.
func lacking(kind world.FaultKind, feature, why string) error {
	return fmt.Errorf("the fault %s needs %s, which this kernel does not offer to containers (%s); %s, leave the fault out, or use --engine native",
		kind, feature, why, remedies[feature])
}

var remedies = map[string]string{
	hand.LacksFilter: "load it with `modprobe nf_tables`",
	hand.LacksNetem:  "load it with `modprobe -a sch_htb sch_netem`",
	hand.LacksReset:  "use a kernel built with CONFIG_INET_DIAG_DESTROY",
}
