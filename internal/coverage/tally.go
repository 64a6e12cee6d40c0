package coverage

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Tally counts what became of the events of runs that were followed in a model.
type Tally struct {
	Mapped     int            `json:"mapped"`               // to steps of the model
	Ignored    map[string]int `json:"ignored,omitempty"`    // by the reason
	Unmodelled map[string]int `json:"unmodelled,omitempty"` // by the kind of the event
	Others     int            `json:"others,omitempty"`     // lines of logs that are no events
	Rules      []int          `json:"rules,omitempty"`      // how many events each rule of a mapping has matched
}

// maxTallied bounds the reasons and the kinds that a sum of tallies keeps apart; those beyond it are counted as tallyRest.
const (
	maxTallied = 50
	tallyRest  = "others"
)

// LeftOut is the share of events that were not mapped.
func (t *Tally) LeftOut() float64 {
	out := 0
	for _, n := range t.Ignored {
		out += n
	}
	for _, n := range t.Unmodelled {
		out += n
	}
	if out == 0 {
		return 0
	}
	return float64(out) / float64(out+t.Mapped)
}

// Add takes in another tally.
func (t *Tally) Add(o *Tally) {
	t.Mapped += o.Mapped
	t.Others += o.Others
	t.Rules = append(t.Rules, make([]int, max(0, len(o.Rules)-len(t.Rules)))...)
	for i, n := range o.Rules {
		t.Rules[i] += n
	}
	t.Ignored = sum(t.Ignored, o.Ignored)
	t.Unmodelled = sum(t.Unmodelled, o.Unmodelled)
}

func sum(to, more map[string]int) map[string]int {
	if to == nil && len(more) > 0 {
		to = map[string]int{}
	}
	for _, k := range slices.Sorted(maps.Keys(more)) {
		if _, known := to[k]; !known && len(to) >= maxTallied {
			to[tallyRest] += more[k]
			continue
		}
		to[k] += more[k]
	}
	return to
}

// String lists the counts.
func (t *Tally) String() string {
	parts := []string{fmt.Sprintf("%d mapped", t.Mapped)}
	for _, group := range []struct {
		what   string
		counts map[string]int
	}{{"ignored", t.Ignored}, {"not modelled", t.Unmodelled}} {
		for _, k := range slices.Sorted(maps.Keys(group.counts)) {
			parts = append(parts, fmt.Sprintf("%d %s (%s)", group.counts[k], group.what, k))
		}
	}
	text := strings.Join(parts, ", ")
	if t.Others > 0 {
		text += fmt.Sprintf("; %d log lines are not events", t.Others)
	}
	return text
}
