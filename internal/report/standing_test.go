package report

import (
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
)

// What broke, and what gave no sign, is not what a search came near to.
func TestStandingTellsWhatWasReachedAndNear(t *testing.T) {
	var b strings.Builder
	standing(&b, &search.Standing{Strategy: search.Guided, Corpus: 3, Features: 12, Domains: map[coverage.Domain]int{coverage.Log: 8, coverage.Fault: 4},
		Near: []coverage.Nearness{{Name: "a", Distance: 1, Says: "no sign"}, {Name: "b", Distance: 0.5, Says: "half"},
			{Name: "c", Distance: 0.25, Says: "a quarter"}, {Name: "d", Says: "broke"}}})
	want := "  reached: 4 fault, 8 log\n  nearest to a violation: c, 0.250: a quarter\n  nearest to a violation: b, 0.500: half\n"
	if _, got, _ := strings.Cut(b.String(), "\n"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A summary has what a bandit chose, and how often that paid.
func TestStandingHasTheArmsOfABandit(t *testing.T) {
	s := search.Standing{Strategy: "coverage-guided+bandit",
		Mutations: []search.Mutations{{Kind: "add", Made: 9, Kept: 2}, {Kind: "drop", Made: 4}}, Guides: []search.Mutations{{Kind: "edge", Made: 8, Kept: 3}}}
	for strategy, want := range map[string]string{
		"coverage-guided+bandit": "  mutations that led to something new: add 2 of 9, drop 0 of 4\n  guides that led to something new: edge 3 of 8\n",
		"coverage-guided":        "",
	} {
		var b strings.Builder
		s.Strategy = strategy
		standing(&b, &s)
		if _, got, _ := strings.Cut(b.String(), "\n"); got != want {
			t.Errorf("%s: %q, want %q", strategy, got, want)
		}
	}
}
