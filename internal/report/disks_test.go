package report

import (
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// A story says how fast the disks were that its run drew: a server that is too slow for its load has no other fault.
func TestSpeedsOfDisks(t *testing.T) {
	spec := &world.Spec{TimeStepNs: 1e6,
		Nodes:  []world.Node{{Name: "n1", Role: world.Server, Command: []string{"a"}}, {Name: "n2", Role: world.Server, Command: []string{"a"}}},
		Faults: world.Faults{Enabled: true, DiskSpeed: world.DrawnSpeed}}
	all := tape.Decision{Stream: "speed/disk", N: 5, Value: 4}
	other := tape.Decision{Stream: "speed/disk/n2", N: 5, Value: 1}
	for want, decisions := range map[string][]tape.Decision{
		"": nil,
		"the disk of n1, n2 has the speed hdd: a sync takes 4ms to 200ms":                                                          {all},
		"the disk of n2 has the speed nvme: a sync takes 20µs to 3ms":                                                              {other},
		"the disk of n1 has the speed hdd: a sync takes 4ms to 200ms; the disk of n2 has the speed nvme: a sync takes 20µs to 3ms": {all, other},
	} {
		s := &StoryOf{Spec: spec, Outcome: &check.Judged{Outcome: record.Outcome{Decisions: decisions}}}
		if got := diskSpeeds(s); got != want {
			t.Errorf("%v: %q, want %q", decisions, got, want)
		}
	}
}
