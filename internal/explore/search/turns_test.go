package search

import (
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/fault"
)

// A moment that comes a thousand times has more turns than one that comes once, but not many more, and each has its turns.
func TestTurnsGrowSlowly(t *testing.T) {
	for count, want := range map[float64]int{0.5: 1, 1: 1, 3: 1, 4: 2, 16: 3, 64: 4, 1000: 5, 1024: 6} {
		if got := turnsOf(count); got != want {
			t.Errorf("a moment that comes %g times has %d turns, not %d", count, got, want)
		}
	}
	r := row{seed: 1}
	for i, turns := range []int{1, 1, 1, 5} {
		r.derived = append(r.derived, derivedRule{rated: rated{number: i + 1, kind: fault.Crash}, turns: turns})
	}
	tried := map[int]int{}
	for i := range uint64(400) {
		for _, o := range r.inTurn(i) {
			tried[o.number]++
		}
	}
	for number := 1; number <= 3; number++ {
		if rare, often := tried[number], tried[4]; rare < 60 || often < 2*rare {
			t.Errorf("rules were tried %v times", tried)
		}
	}
}
