package shrink

import (
	"slices"
	"sync/atomic"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/enginetest"
)

// A budget that is too small for everything is shared: the stages that come late have their turn, and operations get fewer.
func TestABudgetIsShared(t *testing.T) {
	spec := lossy(enginetest.LostWrite)
	for i := range 6 {
		from := Case{Tape: failing(t, spec, i)}
		for _, budget := range []int{40, 60} {
			var stages []string
			s := &Search{Spec: spec, Try: try(spec, new(atomic.Int64)), Workers: 1, MaxRuns: budget, Progress: func(p Progress) {
				if !slices.Contains(stages, p.Stage) {
					stages = append(stages, p.Stage)
				}
			}}
			r, err := s.Shrink(t.Context(), from)
			if err != nil {
				t.Fatal(err)
			}
			for _, stage := range []string{"removing faults", "removing operations", "removing nodes", "trying each decision"} {
				if !slices.Contains(stages, stage) {
					t.Errorf("tape %d, %d runs: %s had no turn, only %q", i, budget, stage, stages)
				}
			}
			if budget == 60 && r.To.Operations*2 > r.From.Operations {
				t.Errorf("tape %d, %d runs: %d operations became %d", i, budget, r.From.Operations, r.To.Operations)
			}
		}
	}
}
