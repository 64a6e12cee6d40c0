package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
)

// A campaign has something to show from its beginning on: before a world is up, in the run without faults, in the first run, and where
// a run takes long.
func TestCampaignLineAtAnyTime(t *testing.T) {
	l := campaignLine{runs: 100}
	say := func(seconds int) string { return console.Line(l.now(time.Duration(seconds)*time.Second), 0, false) }
	for _, step := range []struct {
		what    string
		comes   func()
		seconds int
		want    string
	}{
		{"nothing yet", func() {}, 1, "starting the world, 1s"},
		{"the run without faults", func() {
			l.underWay(&explore.FirstRun{Baseline: true, Progress: explore.Progress{Events: 1200, VirtualNs: 2e9}})
		}, 3, "baseline run (without faults), 1200 events, 2.000000s of virtual time, 3s"},
		{"the first run", func() { l.underWay(&explore.FirstRun{Progress: explore.Progress{Events: 70, VirtualNs: 1e9}}) }, 4,
			"first run, 70 events, 1.000000s of virtual time, 4s"},
		{"a run has ended", func() { l.finished(&explore.Totals{Runs: 10, VirtualNs: 65e9}, 5*time.Second) }, 6,
			"10 of 100 runs, no failure, 2.0 runs/s, 1m5s of virtual time"},
		{"none has ended for long", func() {}, 20, "10 of 100 runs, no failure, the last run ended 15s ago"},
	} {
		step.comes()
		if got := strings.TrimSuffix(say(step.seconds), ", "); got != step.want {
			t.Errorf("%s: %q, want %q", step.what, got, step.want)
		}
	}
}
