package search

import (
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// A strategy that is shared plays what others found now and then, keeps a holdout of random tapes, and goes on where a campaign ended.
func TestShared(t *testing.T) {
	inner := Tapes("inner", func(run uint64) tape.Tape { return tape.Tape{Seed: 1_000_000 + run} })
	s := NewShared(inner, 7)
	s.Adopt(Entry{Name: "a", Tape: tape.Tape{Seed: 1}})
	s.AdoptKnown(Entry{Name: "b", Tape: tape.Tape{Seed: 2}}, nil) // by a strategy that learns from runs alone
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

// What others have reached is not new, and the runs that they kept are parents of mutants, without a run.
func TestGuidedAdopts(t *testing.T) {
	spec := &world.Spec{Nodes: []world.Node{{Name: "n1", Role: world.Server}},
		Faults: world.Faults{Enabled: true, Rules: []world.FaultRule{{Kind: "crash", RatePPM: 1000, Targets: []string{"n1"}, ByUser: true}}}}
	inner, err := New(Guided, spec, 1, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	s := NewShared(inner, 2)
	first := tape.Tape{Seed: 99}
	s.Know([]uint64{1, 2})
	s.AdoptKnown(Entry{Version: EntryVersion, Name: NameOf(first), Tape: first}, []uint64{3})
	s.Changes()
	mutants := 0
	for run := range uint64(500) {
		c, _ := s.Next(run)
		if c.Origin.Parent == NameOf(first) && c.Origin.Mutation != "" {
			mutants++
		}
		reached := []uint64{1, 3}
		if run == 400 {
			reached = append(reached, 4)
		}
		s.Learn(&Run{Number: run, Candidate: c, Seen: &Seen{Reached: reached, Draws: drawsOf(c.Tape)}})
		if came, _ := s.Changes(); (len(came) == 1) != (run == 400) {
			t.Fatalf("run %d, which reaches %d: kept %v", run, reached, came)
		}
	}
	if mutants < 100 {
		t.Errorf("%d mutants of the adopted run", mutants)
	}
}

// drawsOf are those of a world that crashes now and then.
func drawsOf(tp tape.Tape) []tape.Draws {
	src := tape.NewSource(tp)
	src.Watch(Watched)
	for range 100 {
		src.Rare("fault/crash/n1", 17, 1000)
	}
	return src.Draws()
}
