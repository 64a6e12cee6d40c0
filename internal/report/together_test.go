package report

import (
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/explore"
)

// A reason that several properties have is said once, and all of them are named.
func TestReasonsAreSaidOnce(t *testing.T) {
	got := Judgement(explore.Status{Unknown: []string{"a: max_time: 60 s were over", "no run was finished",
		"b: max_time: 60 s were over", "c: other", "d: max_time: 60 s were over"}}, 1)
	want := "UNKNOWN: a, b, d: max_time: 60 s were over\n         no run was finished\n         c: other"
	if got != want {
		t.Errorf("%s\nwant:\n%s", got, want)
	}
}
