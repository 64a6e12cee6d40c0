package report

import (
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
)

// What programs wrote stays text: it ends no code, makes no links, tags or tables, and notifies nobody.
func TestCommentIsNotCommanded(t *testing.T) {
	const evil = "x` | <img src=x> @someone [a](http://b) ``` **c**\n# d\x1b[0m"
	verdict := check.Verdict{Property: evil, Status: check.Violated, Reason: evil}
	totals := &explore.Totals{Runs: 3,
		Failures: []*explore.Failure{{Failure: failure.Failure{ID: "0123", Property: verdict.Property,
			Headline: failure.Headline(verdict.Reason)}, Verdict: verdict, Runs: 1}},
		Committed: []explore.Committed{{File: evil, Failure: failure.Failure{Property: evil}, Standing: explore.Stale}},
		Unsteady:  []*explore.Unsteady{{Verdict: verdict, Differs: evil, Tries: 3}}}
	var b strings.Builder
	c := CommentOf{Totals: totals, Status: explore.Status{Violated: true, Unknown: []string{evil}, Notices: []string{evil}}, Judgement: "VIOLATED", ExitCode: 1}
	if err := Comment(&b, c); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	if strings.Count(text, "someone") < 6 {
		t.Errorf("it leaves out what programs wrote:\n%s", text)
	}
	if strings.ContainsRune(text, '\x1b') {
		t.Errorf("it has an escape sequence:\n%s", text)
	}
	for line := range strings.SplitSeq(text, "\n") {
		code, escaped := false, false
		for _, r := range line {
			switch {
			case escaped:
				escaped = false
			case r == '`':
				code = !code
			case code:
			case r == '\\':
				escaped = true
			case strings.ContainsRune("<@[", r):
				t.Errorf("%q is not escaped in: %s", r, line)
			}
		}
		if cells := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|"); cells != 0 && cells != 4 {
			t.Errorf("%d bars in: %s", cells, line)
		}
	}
}
