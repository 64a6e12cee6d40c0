package dashboard

import (
	"maps"
	"net/url"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/store"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/dashboardtest"
)

// What failures mean for the newest code of their tests, in the database of dashboardtest.
func TestFindings(t *testing.T) {
	v := records.NewView()
	list, _ := dashboardtest.Entries()
	for _, e := range list {
		v.AddEntry(e)
	}
	data, err := buildOverview(&ask{view: v, now: dashboardtest.Now})
	if err != nil {
		t.Fatal(err)
	}
	o := data.(*Overview)
	got := map[string]string{}
	for _, f := range o.Failures {
		got[f.Test.Name+": "+f.Reason] = string(f.Finding)
	}
	want := map[string]string{
		"store: a write that was acknowledged is lost": "ongoing",  // in the newest code and in the one before
		"store: a read goes back in time":              "new",      // twice, in the newest code alone
		"store: n2 ended with SIGSEGV":                 "rare",     // once in all the runs of the newest code
		"store: n1 ended with exit code 2":             "unclear",  // the tape makes another run on the newest code
		"store: no leader 10 s after the last fault":   "resolved", // a clean replay on the newest code
		"canary: a planted bug":                        "rare",
		"late: stuck":                                  "rare", // in the newest code that the test was run on
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
	tallies := map[records.Finding]int{}
	for _, x := range o.Findings {
		tallies[x.Finding] = x.N
	}
	if want := map[records.Finding]int{"new": 1, "ongoing": 1, "rare": 2, "unclear": 1, "resolved": 1}; !maps.Equal(tallies, want) {
		t.Errorf("without the canary: %v", tallies)
	}
	if last := &o.Failures[len(o.Failures)-1]; last.Word() != expected || o.Failures[0].Word() != string(o.Failures[0].Finding) {
		t.Errorf("the canary's failure is %s, the first one %s", last.Word(), o.Failures[0].Word())
	}
	data, err = buildOverview(&ask{view: v, now: dashboardtest.Now, query: url.Values{"finding": {"rare"}}})
	if err != nil {
		t.Fatal(err)
	}
	if rare := data.(*Overview); len(rare.Failures) != tallies["rare"] {
		t.Errorf("%d failures are listed as rare, and %d counted", len(rare.Failures), tallies["rare"])
	}
	for _, row := range o.Tests {
		if behind := row.Behind != nil && row.Behind.Name == "c0ffee12ab" &&
			row.Code.Name == "8d4e6b2a0c"; behind != (row.Name == dashboardtest.Late) || row.Name == dashboardtest.Waiting && row.State != waiting {
			t.Errorf("%s: %s, %+v", row.Name, row.State, row.Behind)
		}
	}
}

// A comparison of builds says where a failure was not tried.
func TestChangeInWords(t *testing.T) {
	for want, row := range map[string]compareRow{
		"in both":                                {Change: records.UnchangedChange, A: records.Reproduced, B: records.Reproduced},
		"in B, not tried in A":                   {Change: records.NewChange, B: records.Reproduced},
		"new in B":                               {Change: records.NewChange, A: records.Clean, B: records.Reproduced},
		"in B, unclear in A":                     {Change: records.NewChange, A: records.Diverged, B: records.Reproduced},
		"clean in B":                             {Change: records.FixedChange, A: records.Reproduced, B: records.Clean},
		"not tried in B":                         {Change: records.UnclearChange, A: records.Reproduced},
		"clean in B, but in another environment": {Change: records.UnclearChange, A: records.Reproduced, B: records.Clean},
		"unclear in B":                           {Change: records.UnclearChange, A: records.Reproduced, B: records.Varies},
	} {
		if got := row.Says(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := (&compareRow{B: records.Clean}).Says(); got != "clean in B" {
		t.Errorf("a failure that was tried in B alone is %s", got)
	}
}

// The newest code that follows another, on its line of development.
func TestLastBehind(t *testing.T) {
	v := records.NewView()
	code := func(commit, line, dirty, parent string, at int64) records.ID {
		c := records.Code{Commit: commit, Line: line, Dirty: dirty, CommitMs: at}
		v.AddEntry(c.Entry())
		v.AddEntry((&records.Commit{ID: commit, Parents: []string{parent}}).Entry())
		return c.ID()
	}
	a, b, c := code("a", "main", "", "", 1), code("b", "main", "", "a", 2), code("c", "main", "", "b", 3)
	pr := code("p", "pr", "", "c", 4)
	changed := code("c", "main", "x", "b", 5)
	other := code("z", "main", "", "", 6)
	for of, want := range map[records.ID]records.ID{a: c, b: c, c: "", pr: "", changed: "", other: "", "unknown": ""} {
		if got := v.LastBehind(of); got != want {
			t.Errorf("%s: %s, want %s", of, got, want)
		}
	}
}

// The state of a test is that of its newest code.
func TestStates(t *testing.T) {
	a, b := records.Code{Commit: "a", CommitMs: 1}, records.Code{Commit: "b", CommitMs: 2}
	runs := func(c records.Code) store.Entry {
		return (&records.Span{Phase: records.Search, Runs: 9}).Entry("t", c.ID(), "e", "w")
	}
	fails := func(c records.Code, faultless bool) store.Entry {
		return (&records.Failure{Failure: failure.Failure{Signature: "p: a/s"}, Code: c.ID(), Env: "e", Level: records.Raw,
			Worker: "w", Faultless: faultless}).Entry("t")
	}
	clean := (&records.Replay{Code: b.ID(), Env: "e", Result: records.Clean}).Entry("t", records.FailureID("t", "p: a/s"))
	canary := (&records.Test{Name: "t", Canary: true}).Entry()
	canary.Key = "test/t"
	for _, test := range []struct {
		name string
		list []store.Entry
		want string
	}{
		{"no run", nil, waiting},
		{"runs", []store.Entry{runs(b)}, holds},
		{"a failure", []store.Entry{runs(b), fails(b, false)}, violated},
		{"a failure without faults", []store.Entry{runs(b), fails(b, true)}, unusable},
		{"without faults in the older code only", []store.Entry{runs(b), fails(a, true), fails(b, false)}, violated},
		{"without faults in the older code, and fixed", []store.Entry{runs(b), fails(a, true), clean}, holds},
		{"a canary", []store.Entry{canary, runs(b), fails(b, true)}, caught},
		{"a canary that is silent", []store.Entry{canary, runs(b)}, silent},
	} {
		v := records.NewView()
		for _, e := range append(test.list, a.Entry(), b.Entry(), (&records.Commit{ID: "b", Parents: []string{"a"}}).Entry()) {
			v.AddEntry(e)
		}
		if row, _ := rowOf(v, v.Test("t")); row.State != test.want {
			t.Errorf("%s: %s, want %s", test.name, row.State, test.want)
		}
	}
}
