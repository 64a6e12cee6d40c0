package campaign

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
		{"nothing yet", func() {}, 1, "starting the system, 1s"},
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

// The line of a campaign says what counts first, what is new for a while, and when the campaign ends.
func TestCampaignLine(t *testing.T) {
	l := campaignLine{runs: 100, timeout: time.Minute}
	totals := &explore.Totals{Runs: 10, VirtualNs: 65e9}
	at := func(runs uint64, seconds int, p explore.Point) string {
		totals.Runs, p.Run = runs, runs
		totals.Curve.Points = append(totals.Curve.Points, p)
		return console.Line(l.parts(totals, time.Duration(seconds)*time.Second), 0, false)
	}
	for _, c := range []struct {
		runs    uint64
		seconds int
		p       explore.Point
		want    string
	}{
		{10, 5, explore.Point{Behaviours: 7, Code: 1},
			"10 of 100 runs, no failure, 55s left, new: 7 behaviours and 1 block of code, 2.0 runs/s, 1m5s of virtual time"},
		{14, 7, explore.Point{Behaviours: 7, Code: 1},
			"14 of 100 runs, no failure, 53s left, new: 7 behaviours and 1 block of code, 2.0 runs/s, 1m5s of virtual time"},
		{20, 10, explore.Point{Behaviours: 7, Code: 1}, "20 of 100 runs, no failure, 50s left, 2.0 runs/s, 1m5s of virtual time"},
		{80, 40, explore.Point{Behaviours: 8, Code: 1, Failures: 2},
			"80 of 100 runs, 1 failure, 20s left, new: 2 kinds of failure and 1 behaviour, 2.0 runs/s, 1m5s of virtual time"},
	} {
		if c.p.Failures > 0 {
			totals.Failures = []*explore.Failure{{}}
		}
		if got := at(c.runs, c.seconds, c.p); strings.TrimSuffix(got, ", ") != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	parts := []console.Part{{Text: "80 of 100 runs", Colour: console.Bold}, {Text: "1 failure", Colour: console.Red}, {Text: "a long rest of the line"}}
	if got := console.Line(parts, 40, true); got != "\x1b[1m80 of 100 runs\x1b[0m, \x1b[1;31m1 failure\x1b[0m" {
		t.Errorf("in 40 columns: %q", got)
	}
}
