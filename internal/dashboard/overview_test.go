package dashboard

import (
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/store"
)

// The state of a test is that of its newest code.
func TestStates(t *testing.T) {
	a, b := records.Code{Commit: "a", CommitMs: 1}, records.Code{Commit: "b", CommitMs: 2}
	runs := func(c records.Code) store.Entry {
		return (&records.Span{Phase: records.Search, Runs: 9}).Entry("t", c.ID(), "e", "w")
	}
	fails := func(c records.Code, faultless bool) store.Entry {
		return (&records.Failure{Signature: "s", Code: c.ID(), Env: "e", Level: records.Raw, Worker: "w", Faultless: faultless}).Entry("t")
	}
	clean := (&records.Replay{Code: b.ID(), Env: "e", Result: records.Clean}).Entry("t", records.FailureID("s"))
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
			v.Take(e)
		}
		if row, _ := rowOf(v, v.Test("t")); row.State != test.want {
			t.Errorf("%s: %s, want %s", test.name, row.State, test.want)
		}
	}
}
