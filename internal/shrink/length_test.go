package shrink

import (
	"context"
	"slices"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// What makes a run shorter is no decision that may go: without it, runs would be longer and prove nothing about the rest.
func TestARunKeepsItsLength(t *testing.T) {
	needed := tape.Decision{Stream: "fault/crash/n1", Index: 3, N: 65, Value: 1}
	lengths := []tape.Decision{{Stream: world.ChaosStream, N: world.LengthValues, Value: 40},
		{Stream: world.OperationsPrefix + "c0", N: world.LengthValues, Value: 1}}
	all := append(slices.Clone(lengths), needed,
		tape.Decision{Stream: "fault/crash/n1", Index: 7, N: 65, Value: 9},
		tape.Decision{Stream: "sched/n1/0", N: 1024, Value: 5}, tape.Decision{Stream: "net/n1-n2/delay", N: 9, Value: 2})
	long := 0
	try := func(_ context.Context, c Case, _ bool) (*Run, error) {
		var made []tape.Decision
		for _, d := range all {
			if slices.ContainsFunc(c.Tape.Edits, func(e tape.Edit) bool {
				return e.Op == tape.Set && e.Stream == d.Stream && e.From == d.Index && e.Value == d.Value
			}) {
				made = append(made, d)
			}
		}
		for _, d := range lengths {
			if !slices.Contains(made, d) {
				long++
			}
		}
		out := &check.Judged{Outcome: record.Outcome{Decisions: made,
			Ledger: fault.Ledger{Entries: []fault.Entry{{Kind: "crash", Planned: uint64(len(made))}}}}}
		return &Run{Same: slices.Contains(made, needed), Outcome: out}, nil
	}
	s := &Search{Spec: &world.Spec{Nodes: []world.Node{{Name: "n1", Role: world.Server, Command: []string{"x"}}}}, Try: try}
	r, err := s.Shrink(t.Context(), Case{Tape: Bare(tape.Tape{Seed: 1}, all)})
	if err != nil {
		t.Fatal(err)
	}
	if want := append(slices.Clone(lengths), needed); long > 0 || !slices.Equal(r.Outcome.Decisions, want) || !r.Minimal || r.To.Decisions != 1 {
		t.Errorf("%d runs were longer; left are %v, %+v, minimal: %v", long, r.Outcome.Decisions, r.To, r.Minimal)
	}
}
