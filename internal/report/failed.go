package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/loglines"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
)

// storyReasons bounds the reasons for which operations were not ok in a story.
const storyReasons = 5

// failedOperations are operations that were not ok for a reason.
type failedOperations struct {
	typ     history.Type
	reason  string
	count   int
	firstNs int64
}

// failedStory prints why operations were not ok up to the violation, and since when: what a system answers says much about its state.
func failedStory(b *strings.Builder, s *StoryOf) {
	at := cmp.Or(s.Verdict.TimeNs, s.Outcome.VirtualNs)
	var list []failedOperations
	where := map[string]int{}
	for i := range s.Outcome.History {
		e := &s.Outcome.History[i]
		if e.Type != history.Fail && e.Type != history.Info || e.TimeNs > at {
			continue
		}
		key := string(e.Type) + loglines.Template(e.Error)
		k, known := where[key]
		if !known {
			k = len(list)
			where[key] = k
			list = append(list, failedOperations{e.Type, orElse(e.Error, "no reason given"), 0, e.TimeNs})
		}
		list[k].count++
	}
	if len(list) == 0 {
		return
	}
	slices.SortStableFunc(list, func(x, y failedOperations) int { return cmp.Compare(y.count, x.count) })
	b.WriteString("\noperations that were not ok (info: the outcome is unknown)\n")
	for i, f := range list {
		if i == storyReasons {
			fmt.Fprintf(b, "  ... for %s more\n", plural.Count(len(list)-i, "reason"))
			break
		}
		fmt.Fprintf(b, "  %4d %-4s  from %s on: %s\n", f.count, f.typ, Seconds(f.firstNs), clip(f.reason))
	}
}
