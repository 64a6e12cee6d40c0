package container

import (
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

func TestDeliverable(t *testing.T) {
	spec := &world.Spec{Faults: world.Faults{Enabled: true, Rules: []world.FaultRule{
		{Kind: "partition", RatePPM: 1, ByUser: true}, {Kind: "fsync_fail", RatePPM: 1, ByUser: true}, {Kind: "power_loss", RatePPM: 1},
		{Kind: "crash", RatePPM: 1, ByUser: true, Trigger: world.Trigger{At: []string{"write"}}}, {Kind: "clock_skew", RatePPM: 1}, {Kind: "clog"},
		{Kind: "pause", RatePPM: 1, ByUser: true, Trigger: world.Trigger{Moment: world.AfterReply}}, {Kind: "restart", RatePPM: 1,
			Trigger: world.Trigger{Moment: world.InRecovery}},
	}, DiskSpeed: "hdd"}}
	own, warnings := capabilities.Supported(spec)
	if got := strings.Join(warnings, "\n"); !strings.Contains(got, "skipped: fsync_fail, power_loss, clock_skew;") ||
		!strings.Contains(got, "skipping rules at system calls") {
		t.Errorf("left out: %s", got)
	}
	if own.Faults.Rules[0].RatePPM != 1 || own.Faults.Rules[1].RatePPM != 0 || spec.Faults.Rules[1].RatePPM != 1 ||
		len(own.Faults.Rules) != len(spec.Faults.Rules) {
		t.Errorf("%+v of %+v", own.Faults.Rules, spec.Faults.Rules)
	}
	for _, i := range []int{2, 3, 4, 6, 7} {
		if own.Faults.Rules[i].RatePPM != 0 {
			t.Errorf("rule %d is not left out", i)
		}
	}
	all := capabilities.Validate(spec)
	if len(all) != 4 || all[0].Name != "fsync_fail" || all[1].Name != "write" || all[2].Name != "pause" ||
		all[3].Name != world.DiskSpeedKey || all[0].Remedy == "" {
		t.Errorf("%+v", all)
	}
	if spec.Faults.Mode = world.Harsh; len(capabilities.Validate(spec)) != 3 {
		t.Error("the speeds of disks of a preset are refused")
	}
	if spec.Faults.Enabled = false; len(capabilities.Validate(spec)) != 0 {
		t.Error("faults that are off are refused")
	}
	for kind := range capabilities.Faults {
		if !fault.Known(kind) {
			t.Errorf("there is no kind %s", kind)
		}
	}
}

func TestOrphaned(t *testing.T) {
	now, long := time.Now(), time.Now().Add(-time.Hour)
	for _, c := range []struct {
		b    belongings
		want bool
	}{
		{belongings{networks: []string{"n"}, newest: now}, false}, // a run that begins
		{belongings{networks: []string{"n"}, newest: long}, true},
		{belongings{keepers: []string{"a", "b"}, running: 1, newest: long}, false},
		{belongings{keepers: []string{"a", "b"}, nodes: []string{"c"}, newest: now}, true},
	} {
		if got := c.b.orphaned(); got != c.want {
			t.Errorf("%+v: %v", c.b, got)
		}
	}
}

func TestStatusOf(t *testing.T) {
	for code, want := range map[int]int{0: 0, 3: 3 << 8, 128: 128 << 8, 137: 9, 139: 11, 255: 255 << 8} {
		if got := statusOf(code); got != want {
			t.Errorf("exit code %d is the wait status %#x, not %#x", code, got, want)
		}
	}
}
