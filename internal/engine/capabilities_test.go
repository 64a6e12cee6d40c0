package engine

import (
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// An engine that injects two kinds, one of which needs a program, and one only on request.
var few = Capabilities{Engine: "few", Faults: map[world.FaultKind]Capability{
	fault.Crash:     {},
	fault.PowerLoss: {Missing: func() *Lack { return &Lack{"a disk is missing", "install a disk"} }},
	fault.ClockSkew: {OnRequest: true},
}}

func TestCapabilities(t *testing.T) {
	rule := func(kind world.FaultKind, byUser bool, at ...string) world.FaultRule {
		return world.FaultRule{Kind: kind, RatePPM: 1, ByUser: byUser, Trigger: world.Trigger{At: at}}
	}
	for name, test := range map[string]struct {
		rule    world.FaultRule
		mistake string // of Validate
		kept    bool   // by Supported
	}{
		"injected":            {rule(fault.Crash, true), "", true},
		"injected, of preset": {rule(fault.Crash, false), "", true},
		"other":               {rule(fault.Pause, true), "fault pause: the engine few does not inject pause; it injects crash, power_loss, clock_skew", false},
		"other, of preset":    {rule(fault.Pause, false), "", false},
		"lacking":             {rule(fault.PowerLoss, true), "fault power_loss: a disk is missing\n  install a disk", false},
		"lacking, of preset":  {rule(fault.PowerLoss, false), "", false},
		"on request":          {rule(fault.ClockSkew, true), "", true},
		"not requested":       {rule(fault.ClockSkew, false), "", false},
		"at a call":           {rule(fault.Crash, true, "fsync", "write"), "fault fsync,write: the engine few cannot inject faults at a system call", false},
		"unknown":             {rule("earthquake", true), "", true}, // whoever prepares the run refuses it
	} {
		spec := &world.Spec{Faults: world.Faults{Enabled: true, Rules: []world.FaultRule{test.rule}}}
		text := ""
		if all := few.Validate(spec); len(all) > 0 {
			text = all.Error()
		}
		if test.mistake == "" && text != "" || !strings.HasPrefix(text, test.mistake) {
			t.Errorf("%s: %q", name, text)
		}
		own, warnings := few.Supported(spec)
		if kept := own.Faults.Rules[0].RatePPM > 0; kept != test.kept || kept != (len(warnings) == 0) {
			t.Errorf("%s: kept %v, %q", name, kept, warnings)
		}
		spec.Faults.Enabled = false
		if all := few.Validate(spec); len(all) > 0 {
			t.Errorf("%s: faults that are off are refused: %v", name, all)
		}
	}
}

func TestSettingsOfCapabilities(t *testing.T) {
	spec := &world.Spec{Faults: world.Faults{Enabled: true, DiskSpeed: "hdd"}}
	spec.Sched.CPUs = 4
	all := few.Validate(spec)
	if len(all) != 2 || all[0].Name != "cpus" || all[1].Name != world.DiskSpeedKey {
		t.Errorf("%+v", all)
	}
	if own, _ := few.Supported(spec); own.Faults.DiskSpeed != "" || spec.Faults.DiskSpeed == "" {
		t.Error("the speed of disks is kept, or taken from the user's Spec")
	}
	whole := Capabilities{Engine: "whole", AtCalls: true, DiskSpeed: true, Schedule: true, Reasons: map[world.FaultKind]string{fault.OOM: "it has no memory"}}
	spec.Faults.Rules = []world.FaultRule{{Kind: fault.OOM, RatePPM: 1, ByUser: true}, {Kind: fault.Crash, RatePPM: 1, ByUser: true,
		Trigger: world.Trigger{At: []string{"fsync"}}}}
	if all := whole.Validate(spec); len(all) != 1 || all[0].Problem != "the engine whole does not inject oom: it has no memory" {
		t.Errorf("%+v", all)
	}
	if n := len(whole.Kinds()); n != len(fault.Kinds())-1 {
		t.Errorf("%d kinds", n)
	}
}
