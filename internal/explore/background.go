package explore

import (
	"fmt"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/loglines"
)

// Background describes the runs of a campaign that hold, for a story of a failing one to compare it with.
type Background struct {
	Logs loglines.Counts `json:"logs"`
	// Calm are the judgements of the run without faults, by property; empty if there was no such run.
	Calm map[string]string `json:"calm,omitempty"`
}

// Add takes in a run in which no property is violated.
func (b *Background) Add(s *Summary) {
	if s != nil && len(Violated(s.Verdicts)) == 0 {
		b.Logs.Add(s.Templates)
	}
}

// calm takes in the run without faults.
func (b *Background) calm(s *Summary) {
	b.Add(s)
	b.Calm = map[string]string{}
	for i := range s.Verdicts {
		v := &s.Verdicts[i]
		text := string(v.Status)
		if v.Status != check.Holds && v.Reason != "" {
			text = fmt.Sprintf("%s: %s", v.Status, v.Reason)
		}
		b.Calm[v.Property] = text
	}
}
