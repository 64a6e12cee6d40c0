package search

import (
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// A run that drew more than is kept has faults in streams of which no draws are known.
func TestInjectionsOfUnknownDimensionStayWhereTheyAre(t *testing.T) {
	const stream = "fault/crash/n1"
	ter := &space{at: map[string]int{}, stepNs: 1e7}
	ter.add(dimension{stream: stream, kind: "crash", rule: 1, steps: true})
	for run := range uint64(20) {
		m := &draft{space: ter, dice: newDice(1, run), injections: []tape.Decision{{Stream: stream, Index: 3, N: 17, Value: 1}}}
		if move(m, nil) {
			t.Fatalf("it was moved: %v", m.injections)
		}
	}
}
