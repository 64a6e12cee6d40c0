package search

import (
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// A strategy that is shared plays what others found now and then, keeps a holdout of random tapes, and goes on where a campaign ended.
func TestShared(t *testing.T) {
	inner := Tapes("inner", func(run uint64) tape.Tape { return tape.Tape{Seed: 1_000_000 + run} })
	s := NewShared(inner, 7)
	s.Adopt(Entry{Name: "a", Tape: tape.Tape{Seed: 1}}, Entry{Name: "b", Tape: tape.Tape{Seed: 2}})
	next, adopted := uint64(1_000_000), []string{}
	holdout := map[uint64]bool{}
	for campaign := range 3 {
		if campaign > 0 {
			s.Again(func() bool { return false })
		}
		for run := range uint64(25) {
			c, answer := s.Next(run)
			if answer != Here {
				t.Fatalf("run %d: answer %d", run, answer)
			}
			switch c.Origin.Strategy {
			case HoldoutOrigin:
				if !c.FromBoot || len(c.Tape.Edits) > 0 || holdout[c.Tape.Seed] {
					t.Fatalf("a run of the holdout: %+v", c)
				}
				holdout[c.Tape.Seed] = true
			case AdoptedOrigin:
				adopted = append(adopted, c.Origin.Parent)
			default:
				if c.Tape.Seed != next || c.FromBoot {
					t.Fatalf("run %d has the tape %+v, not the next one of the inner strategy", run, c.Tape)
				}
				next++
			}
		}
	}
	s.Again(func() bool { return true })
	if _, answer := s.Next(0); answer != Here {
		t.Error("a campaign that is over makes no run")
	}
	if _, answer := s.Next(1); answer != Exhausted {
		t.Error("a campaign that is over goes on")
	}
	next++
	if len(holdout) != 7 || len(adopted) != 2 || next != 1_000_000+76-9 {
		t.Fatalf("%d of a holdout, adopted %q, %d of the inner strategy", len(holdout), adopted, next-1_000_000)
	}
}
