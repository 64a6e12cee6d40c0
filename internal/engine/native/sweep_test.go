//go:build linux && amd64

package native_test

import (
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/moments"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/sweep"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// A sweep finds each moment that was recorded among the draws of its rules, and strikes there and nowhere else. The rules themselves do not
// change the run.
//
//ci:series
func TestSweepStrikesAtRecordedMoments(t *testing.T) {
	spec := ruled(t, "import time\ntime.sleep(0.2)\n"+busy, asks)
	spec.Nodes[1].Role = world.Client
	l, err := sweep.NewLayout(spec, sweep.Kinds)
	if err != nil {
		t.Fatal(err)
	}
	run := func(spec *world.Spec, tp tape.Tape, recorded bool) *record.Outcome {
		t.Helper()
		out, err := engine.Run(native.New(), spec, tp, engine.Options{Moments: recorded})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	calm := run(l.Spec, l.Tape(5), true)
	without := *l.Spec
	without.Faults.Rules = nil
	if out := run(&without, tape.Tape{Seed: 5}, false); out.Hash != calm.Hash {
		t.Errorf("the rules of a sweep change the run: %s, then %s", out.Hash, calm.Hash)
	}
	series := l.Read(&sweep.Question{Most: moments.MaxSampled}, calm.Moments, calm.Decisions, calm.DecisionsNs)
	reached := map[moments.Class]int{}
	for _, s := range series {
		reached[s.Class] = len(s.Moments)
	}
	for _, s := range calm.Moments.Classes() {
		skipped := s.Act == moments.Map || s.Act == moments.Answer || s.Call == ""
		if s.InChaos > 0 && !skipped && reached[s.Class] != int(s.InChaos) {
			t.Errorf("%d of %d moments can be struck: %+v", reached[s.Class], s.InChaos, s.Class)
		}
	}
	list := sweep.First(series, sweep.Kinds, 1)
	if len(list) < 20 {
		t.Fatalf("%d candidates", len(list))
	}
	for i := 0; i < len(list); i += 4 {
		s := list[i].Last()
		out := run(l.Spec, l.Tape(5, *s), false)
		var struck []fault.Injection
		struck = append(struck, out.Ledger.Injections...)
		// The fault follows the event of the call, or comes in the midst of it.
		if len(struck) != 1 || struck[0].Kind != s.Kind || s.When != world.During && struck[0].Event != s.Event+1 ||
			s.When == world.During && struck[0].Event > s.Event {
			t.Errorf("%s at event %d: %+v", s.ClassName(), s.Event, struck)
		}
	}
}
