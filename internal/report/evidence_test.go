package report

import (
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/record"
)

// What is stored of a failure's run has the first lines of its log, and says how many are missing.
func TestEvidenceHasTheLog(t *testing.T) {
	state := t.TempDir()
	for lines, want := range map[int]int{0: 0, 3: 3, 32: 32, 40: 32} {
		o := &check.Judged{Outcome: record.Outcome{Hash: "h"}}
		for range lines {
			o.Log = append(o.Log, record.LogLine{Node: "n1", Stream: "stdout", Text: strings.Repeat("x", 1<<20)})
		}
		if err := SaveEvidence(state, "id", o); err != nil {
			t.Fatal(err)
		}
		e, err := LoadEvidence(state, &Failure{Failure: failure.Failure{ID: "id"}, Hash: "h"})
		if err != nil || len(e.Outcome.Log) != want || e.Outcome.LogLost != uint64(lines-want) {
			t.Errorf("of %d lines %d are there, and %d are reported as lost: %v", lines, len(e.Outcome.Log), e.Outcome.LogLost, err)
		}
		if len(o.Log) != lines {
			t.Errorf("the outcome has lost its log")
		}
	}
}
