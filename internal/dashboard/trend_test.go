package dashboard

import (
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/records"
)

// A trend counts the runs of search and holdout on all codes by time, and its drawing shows those that failed in red.
func TestTrend(t *testing.T) {
	v := records.NewView()
	if trendOf(v.Test("t")) != nil || !strings.Contains(string(sparkline(nil)), "no runs yet") {
		t.Error("a test without runs has a trend")
	}
	for code, spans := range map[records.ID][]records.Span{
		"a": {{AtMs: 1_000, Ms: 1_000, Phase: records.Search, Runs: 40}, {Seq: 1, AtMs: 5_000, Ms: 10, Phase: records.Search, Runs: 10, Violated: 1}},
		"b": {{AtMs: 24_000, Ms: 10, Phase: records.Holdout, Runs: 20}, {Seq: 1, AtMs: 23_900, Phase: "replay", Runs: 9, Violated: 9}},
	} {
		for _, s := range spans {
			v.AddEntry(s.Entry("t", code, "e", "w"))
		}
	}
	r := trendOf(v.Test("t"))
	want := make([]trendPart, trendParts)
	want[1], want[5], want[23] = trendPart{40, 0}, trendPart{10, 1}, trendPart{20, 0}
	if r.FromMs != 0 || r.ToMs != 24_000 || len(r.Parts) != trendParts {
		t.Fatalf("%+v", r)
	}
	for i := range want {
		if r.Parts[i] != want[i] {
			t.Errorf("part %d: %+v, want %+v", i, r.Parts[i], want[i])
		}
	}
	drawn := string(sparkline(r))
	if strings.Count(drawn, `class="runs"`) != 3 || strings.Count(drawn, `class="failed"`) != 1 || !strings.Contains(drawn, "70 runs, 1 of them failed") {
		t.Error(drawn)
	}
}

// Where there is no bound, the page says why.
func TestRiskInWords(t *testing.T) {
	few := riskOf(records.Risk{Class: records.AnyFeature, Runs: 3, News: 2, After: 1, Bound: 1, Not: "few"}, 0)
	want := "Not enough runs yet: 1 holdout run since the last one that showed something new, and at least 6 are needed."
	if few.Lack != "not enough runs yet" || few.Says != want {
		t.Errorf("%+v", few)
	}
	varies := riskOf(records.Risk{Class: records.AnyFeature, Runs: 1200, Bound: 1, Not: "varying"}, 3)
	if varies.Lack != "unknown: runs did not repeat" || varies.Says != "Unknown: 3 of 1,200 holdout runs did not repeat, so they give no bound." {
		t.Errorf("%+v", varies)
	}
	for bound, want := range map[float64]string{0.0005: "under 1 in 2,000", 0.1: "under 1 in 10", 0.412: "under 42 %"} {
		if got := boundText(bound); got != want {
			t.Errorf("%v: %s, want %s", bound, got, want)
		}
	}
}
