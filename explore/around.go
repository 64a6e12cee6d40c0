package explore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/tape"
)

// MaxShift is how many draws of its stream a strike is moved by at most.
const MaxShift = 16

// Around is tape i of those near a failure's: a pure function of its original tape, its smallest one and i. Tape 0 is the
// original; others follow it with the streams of chance beside its faults on seeds of their own, or have the strikes of
// the smallest tape at moments nearby.
func Around(original, smallest tape.Tape, i uint64) tape.Tape {
	if i == 0 {
		return original
	}
	seed := RandomTape(original.Seed, i).Seed
	t := tape.Tape{Seed: original.Seed}
	reseed := func(patterns ...string) {
		for _, p := range patterns {
			t.Edits = append(t.Edits, tape.Edit{Op: tape.Reseed, Stream: p, Seed: seed})
		}
	}
	if i%2 == 1 {
		t.Edits = slices.Clone(original.Edits)
		reseed("net/**", "sched/**")
		return t
	}
	t.Seed = smallest.Seed
	reseed("random/**", "net/**", "sched/**")
	t.Edits = append(t.Edits, tape.Edit{Op: tape.Default, Stream: "fault/**", To: tape.End})
	for k, e := range smallest.Edits {
		if e.Op != tape.Set || !strings.HasPrefix(e.Stream, "fault/") {
			continue
		}
		moves := tape.NewSource(tape.Tape{Seed: seed})
		by := moves.Choose(fmt.Sprintf("move/%d", k), 2*MaxShift+1)
		e.From = max(e.From+by, MaxShift) - MaxShift
		t.Edits = append(t.Edits, e)
	}
	return t
}
