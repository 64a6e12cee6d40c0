package main

import (
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/bench/contest/comparison"
	"github.com/bloodhound-dst/bloodhound/internal/explore/trial"
)

// Sizes of failures are compared by their medians, of those that were shrunk.
func TestSizesOfFailures(t *testing.T) {
	s := &comparison.Settings{Strategies: []string{beforeVersion, afterVersion}, Bugs: []comparison.Bug{{Name: "bug own", Variant: ownFaults}, {Name: "bug harsh", Variant: "harsh"}}}
	shrunk := func(version string, from, to int) trial.Trial {
		return trial.Trial{Bug: "bug own", Strategy: version, Found: true, Shrunk: &trial.Shrunk{
			From: trial.Size{Operations: from, Faults: 9, Decisions: 50}, To: trial.Size{Operations: to, Faults: 1, Decisions: 2}, CPUNs: 4e9}}
	}
	done := []trial.Trial{shrunk(beforeVersion, 100, 40), shrunk(beforeVersion, 200, 60), shrunk(beforeVersion, 300, 80), {Bug: "bug own", Strategy: beforeVersion}}
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
