package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// The line of a campaign says what counts first, what is new for a while, and when the campaign ends.
func TestCampaignLine(t *testing.T) {
	l := campaignLine{runs: 100, timeout: time.Minute}
	totals := &explore.Totals{Runs: 10, VirtualNs: 65e9}
	at := func(runs uint64, seconds int, p explore.Point) string {
		totals.Runs, p.Run = runs, runs
		totals.Curve.Points = append(totals.Curve.Points, p)
		return line(l.parts(totals, time.Duration(seconds)*time.Second), 0, false)
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
	parts := []part{{"80 of 100 runs", bold}, {"1 failure", red}, {"a long rest of the line", noColour}}
	if got := line(parts, 40, true); got != "\x1b[1m80 of 100 runs\x1b[0m, \x1b[1;31m1 failure\x1b[0m" {
		t.Errorf("in 40 columns: %q", got)
	}
}

// Colours are for terminals only, and for those who want them.
func TestProgressOnATerminal(t *testing.T) {
	needs.Program(t, "script")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	colours := regexp.MustCompile("\x1b\\[[0-9;]+m")
	for _, c := range []struct {
		env      string
		coloured bool
	}{{"NO_COLOR=", true}, {"NO_COLOR=1", false}} {
		out := filepath.Join(t.TempDir(), "typescript")
		cmd := exec.Command("script", "-q", "-e", "-c", self+" -test.run=^TestProgressHere$", out)
		cmd.Env = append(os.Environ(), "TERM=xterm", "BLOODHOUND_PROGRESS_TEST=1", c.env)
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		text, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		if got := colours.Match(text); got != c.coloured || !strings.Contains(string(text), "10 runs") {
			t.Errorf("%s: %q", c.env, text)
		}
	}
}

// TestProgressHere shows progress where TestProgressOnATerminal runs it.
func TestProgressHere(t *testing.T) {
	if os.Getenv("BLOODHOUND_PROGRESS_TEST") == "" {
		t.Skip("it belongs to TestProgressOnATerminal")
	}
	p := newProgress(os.Stderr, false, false)
	p.shown = p.shown.Add(-time.Minute)
	p.showParts(func(time.Duration) []part { return []part{{"10 runs", bold}} })
	p.end()
}
