//go:build linux && amd64

package native_test

import (
	"os"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/record"
)

// What the programs of testdata/compat see must not depend on the schedule: each tape gives the same transcript, and the
// same tape gives the same trace. BLOODHOUND_SOAK asks for many tapes.
//
//ci:series
func TestCompatOnAnyTape(t *testing.T) {
	seeds := uint64(2)
	if os.Getenv("BLOODHOUND_SOAK") != "" {
		seeds = 30
	}
	eachProgram(t, "compat", func(t *testing.T, _, source string) {
		program := compile(t, source)
		preempted := func(seed uint64) ([]string, *record.Outcome) {
			spec := aloneSpec(program)
			spec.Sched.PreemptPPM = 50_000
			log, out := run(t, spec, seed)
			return texts(log, ""), out
		}
		first, a := preempted(1)
		_, b := preempted(1)
		if !a.Repeat.Reproducible || a.Hash != b.Hash {
			t.Errorf("one tape, two traces: %s and %s, %+v", a.Hash, b.Hash, a.Repeat)
		}
		for seed := uint64(2); seed <= seeds; seed++ {
			if lines, _ := preempted(seed); len(lines) == 0 || difference(first, lines) != "" {
				t.Errorf("tape %d shows something else (outside: tape 1, inside: tape %d):\n%s", seed, seed, difference(first, lines))
			}
		}
	})
}
