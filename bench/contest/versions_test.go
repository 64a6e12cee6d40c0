package main

import (
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/bench/contest/comparison"
	"github.com/bloodhound-dst/bloodhound/bench/contest/trial"
)

// Sizes of failures are compared by their medians, of those that were shrunk.
func TestSizesOfFailures(t *testing.T) {
	s := &comparison.Settings{Strategies: []string{beforeVersion, afterVersion},
		Bugs: []comparison.Bug{{Name: "bug own", Variant: ownFaults}, {Name: "bug harsh", Variant: "harsh"}}}
	shrunk := func(version string, from, to int) trial.Trial {
		return trial.Trial{Bug: "bug own", Strategy: version, Found: true, Shrunk: &trial.Shrunk{
			From: trial.Size{Operations: from, Faults: 9, Decisions: 50}, To: trial.Size{Operations: to, Faults: 1, Decisions: 2}, CPUNs: 4e9}}
	}
	done := []trial.Trial{shrunk(beforeVersion, 100, 40), shrunk(beforeVersion, 200, 60), shrunk(beforeVersion, 300, 80),
		{Bug: "bug own", Strategy: beforeVersion}}
	want := "| `bug` | operations 200 -> 60, faults 9 -> 1, decisions 50 -> 2, 4 s of CPU, 3 failures | none |\n"
	if text := shrunkTable(s, ownFaults, done); !strings.HasSuffix(text, want) || strings.Count(text, "\n") != 3 {
		t.Errorf("got\n%swant\n%s", text, want)
	}
}

// The section of faults is taken out of a configuration, with its lines and comments, and nothing else.
func TestFaultsAreTakenOut(t *testing.T) {
	text := "nodes:\n  n1: {}\n\nfaults:\n  # mild\n  mode: calm\n\n  rules:\n    - x\nproperties: []\n"
	if got := faultsSection.ReplaceAllString(text, ""); got != "nodes:\n  n1: {}\n\nproperties: []\n" {
		t.Errorf("got %q", got)
	}
	if got := faultsSection.ReplaceAllString("faults: {mode: calm}\nname: x\n", ""); got != "name: x\n" {
		t.Errorf("got %q", got)
	}
}

// A comparison that was interrupted has tables of what there is: a bug without a trial, and none at all.
func TestTablesOfTheTrialsThereAre(t *testing.T) {
	s := &comparison.Settings{Runs: 40, Strategies: []string{afterVersion}, Bugs: []comparison.Bug{
		{Name: "one harsh", Variant: "harsh"}, {Name: "one calm", Variant: "calm"}, {Name: "two harsh", Variant: "harsh"}, {Name: "two calm", Variant: "calm"}}}
	one := trial.Trial{Bug: "one harsh", Strategy: afterVersion, Found: true, Runs: 3, CPUNs: 2e9}
	for _, done := range [][]trial.Trial{nil, {one}} {
		text := faultsTable(s, []string{"calm", "harsh"}, done)
		if !strings.Contains(text, "| `two` | 0 of 0 | 0 of 0 |\n") || strings.Contains(text, "1 of 1") != (done != nil) {
			t.Errorf("%d trials:\n%s", len(done), text)
		}
	}
	s.Strategies = []string{beforeVersion, afterVersion}
	if text := versionsTable(s, "harsh", []trial.Trial{one}); !strings.Contains(text, "| `one` | 0 of 0 | 2 s, 3 runs, 1 of 1 |  |\n") {
		t.Errorf("got\n%s", text)
	}
}
