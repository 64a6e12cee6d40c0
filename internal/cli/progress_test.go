package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
)

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
	parts := []console.Part{{Text: "80 of 100 runs", Colour: console.Bold}, {Text: "1 failure", Colour: console.Red}, {Text: "a long rest of the line", Colour: console.NoColour}}
	if got := console.Line(parts, 40, true); got != "\x1b[1m80 of 100 runs\x1b[0m, \x1b[1;31m1 failure\x1b[0m" {
		t.Errorf("in 40 columns: %q", got)
	}
}
