package failures

import (
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/report"
)

func TestJudgeReplay(t *testing.T) {
	v := check.Verdict{Property: "p", Status: check.Violated, Reason: "get returned 3"}
	other := check.Verdict{Property: "q", Status: check.Violated}
	f := &report.Failure{Hash: "aa", Failure: failure.Failure{Signature: v.Signature()}, Verdict: v}
	repeats := record.Repeat{Reproducible: true}
	changed := []string{"/bin/a has changed"}
	for _, c := range []struct {
		name    string
		s       explore.Summary
		changes []string
		want    string
		code    int
	}{
		{"the same", explore.Summary{Hash: "aa", Repeat: repeats, Verdicts: []check.Verdict{v}}, nil, "replayed", check.ExitViolated},
		{"another check", explore.Summary{Hash: "aa", Repeat: repeats}, nil, "the check or its property has changed", check.ExitUnknown},
		{"another run, the same violation", explore.Summary{Hash: "bb", Repeat: repeats, Verdicts: []check.Verdict{v}}, changed,
			"VIOLATED again", check.ExitViolated},
		{"another violation", explore.Summary{Hash: "bb", Repeat: repeats, Verdicts: []check.Verdict{other}}, changed, "in another way", check.ExitViolated},
		{"gone after a change", explore.Summary{Hash: "bb", Repeat: repeats}, changed, "stale", check.ExitUnknown},
		{"gone without a change", explore.Summary{Hash: "bb", Repeat: repeats}, nil, "NOT REPRODUCIBLE", check.ExitNotReproducible},
		{"cannot repeat", explore.Summary{Hash: "bb"}, changed, "NOT REPRODUCIBLE", check.ExitNotReproducible},
	} {
		text, code := judgeReplay(f, &explore.Reply{Summary: &c.s}, c.changes)
		if code != c.code || !strings.Contains(text, c.want) {
			t.Errorf("%s: %d %q, want %d %q", c.name, code, text, c.code, c.want)
		}
	}
}
