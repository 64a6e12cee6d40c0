package tally

import (
	"testing"

	"github.com/bloodhound-dst/bloodhound/sim"
	"github.com/bloodhound-dst/bloodhound/sim/inproc"
)

func TestForms(t *testing.T) {
	sim.Test(t, func(w *inproc.World) {
		w.Client("clerk", func(p *inproc.Process) {
			p.Operation(inproc.Op{Kind: "count"}, func() (string, error) {
				p.Assert(Forms() == 55, "each goroutine ran")
				return "", nil
			})
		})
	})
}

func TestTally(t *testing.T) {
	sim.Test(t, func(w *inproc.World) {
		w.Client("clerk", func(p *inproc.Process) {
			p.Operation(inproc.Op{Kind: "count"}, func() (string, error) {
				votes, total := New().All("ann", 3)
				p.Assert(total == 3, "each vote is counted in the total")
				p.Assert(votes == 3, "each vote is counted for its name")
				return "", nil
			})
		})
	})
}
