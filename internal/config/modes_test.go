package config

import (
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// A configuration without faults has those that its user asks for, and those of a campaign otherwise. What a configuration says of faults stays.
func TestFaultsOfCampaigns(t *testing.T) {
	const nodes = "bloodhound.yaml\nnodes:\n  a: {command: x}\n"
	for _, c := range []struct {
		faults, asked, usual, mode string
		enabled, byDefault         bool
	}{
		{"", "", "", "", false, false},
		{"", "", world.Harsh, world.Harsh, true, true},
		{"", "calm", world.Harsh, "calm", true, false},
		{"faults: {mode: moderate}", "", world.Harsh, "moderate", true, false},
		{"faults: {mode: moderate}", world.Harsh, "", world.Harsh, true, false},
		{"faults: {enabled: false}", "", world.Harsh, "", false, false},
		{"faults: {settle: 3s}", "", world.Harsh, "", true, false},
		{"faults: {process: {crash_probability: 0.1}}", "", world.Harsh, "", true, false},
	} {
		r := loaded(t, Options{Path: project(t, nodes+c.faults+"\n"), FaultMode: c.asked, UsualFaultMode: c.usual})
		f := &r.Spec.Faults
		if f.Mode != c.mode || f.Enabled != c.enabled || r.UsualFaults != c.byDefault {
			t.Errorf("%q with mode %q, usually %q: mode %q, enabled %t, usual %t", c.faults, c.asked, c.usual, f.Mode, f.Enabled, r.UsualFaults)
		}
		if (c.mode != "") != f.Injects("crash") && c.faults != "faults: {process: {crash_probability: 0.1}}" && c.mode != "calm" {
			t.Errorf("%q: %d rules", c.faults, len(f.Rules))
		}
	}
	same := loaded(t, Options{Path: project(t, nodes+"faults: {mode: harsh}\n")})
	usual := loaded(t, Options{Path: project(t, nodes), UsualFaultMode: world.Harsh})
	if len(same.Spec.Faults.Rules) != len(usual.Spec.Faults.Rules) || same.Spec.Faults.SettleNs != usual.Spec.Faults.SettleNs ||
		same.Spec.Faults.Swarm != usual.Spec.Faults.Swarm {
		t.Errorf("%+v\n%+v", same.Spec.Faults, usual.Spec.Faults)
	}
}

// Who chooses a preset has not asked for full disks in particular: a program that stops for one, and says so, has done nothing
// wrong. Who writes that fault gets each end.
func TestFullDisksOfPresets(t *testing.T) {
	for faults, allowed := range map[string]int{
		"{mode: harsh}":    len(world.Promises),
		"{mode: moderate}": 0,
		"{mode: harsh, disk: {full_probability: 0.1}}":           0,
		"{mode: harsh, rules: [disk_full on a after 5s for 1s]}": 0,
		"{disk: {full_probability: 0.1}}":                        0,
		"{mode: harsh, disk: {enabled: false}}":                  0,
		"{mode: harsh, process: {crash_probability: 0.1}}":       len(world.Promises),
	} {
		r := loaded(t, Options{Path: project(t, "bloodhound.yaml\nnodes:\n  a: {command: x}\nfaults: "+faults+"\n")})
		if len(r.Spec.Allow) != allowed {
			t.Errorf("%s: %+v, want %d", faults, r.Spec.Allow, allowed)
		}
	}
}
