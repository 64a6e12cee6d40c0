package search

import (
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// A run that drew more than is kept has strikes in streams of which no draws are known.
func TestStrikesOfUnknownGroundStayWhereTheyAre(t *testing.T) {
	const stream = "fault/crash/n1"
	ter := &terrain{at: map[string]int{}, stepNs: 1e7}
	ter.add(ground{stream: stream, kind: "crash", rule: 1, steps: true})
	for run := range uint64(20) {
		m := &draft{terrain: ter, dice: newDice(1, run), strikes: []tape.Decision{{Stream: stream, Index: 3, N: 17, Value: 1}}}
		if move(m, nil) {
			t.Fatalf("it was moved: %v", m.strikes)
		}
	}
}
