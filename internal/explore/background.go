package explore

import (
	"fmt"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/loglines"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/strictjson"
)

// Background describes the runs of a campaign that hold, for a story of a failing one to compare it with.
type Background struct {
	Logs loglines.Counts `json:"logs"`
	// Baseline has the judgements of the run without faults, by property; empty if there was no such run.
	Baseline map[string]string `json:"baseline,omitempty"`
	// Refused lists calls that the engine also refused in passing runs (see RefusedCall), sorted, at most maxRefused of them.
	Refused []string `json:"refused,omitempty"`
}

// UnmarshalJSON also reads backgrounds of earlier builds, which called the run without faults calm.
func (b *Background) UnmarshalJSON(text []byte) error {
	type plain Background
	return strictjson.Renamed(text, (*plain)(b), "calm", &b.Baseline)
}

// maxRefused bounds Background.Refused.
const maxRefused = 64

// RefusedCall identifies a refused call by program, call and errno, whichever node made it.
func RefusedCall(u *record.Unsupported) string { return u.Program + " " + u.Call + " " + u.Errno }

// Add adds a run in which no property is violated.
func (b *Background) Add(s *Summary) {
	if s != nil && len(Violated(s.Verdicts)) == 0 {
		b.Logs.Add(s.Templates)
		for i := range s.Refused {
			name := RefusedCall(&s.Refused[i])
			if at, found := slices.BinarySearch(b.Refused, name); !found && len(b.Refused) < maxRefused {
				b.Refused = slices.Insert(b.Refused, at, name)
			}
		}
	}
}

// addBaseline adds the run without faults.
func (b *Background) addBaseline(s *Summary) {
	b.Add(s)
	b.Baseline = map[string]string{}
	for i := range s.Verdicts {
		v := &s.Verdicts[i]
		text := string(v.Status)
		if v.Status != check.Holds && v.Reason != "" {
			text = fmt.Sprintf("%s: %s", v.Status, v.Reason)
		}
		b.Baseline[v.Property] = text
	}
}
