package search_test

import (
	"fmt"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// Of ten random runs one boots by itself, two are of their own from the end of setup on, and the others branch from these behind the first fault. Where it
// comes late or never, and where nothing is known of the run without faults, all are of their own.
func TestRandomRunsBranchBehindTheFirstFault(t *testing.T) {
	const stepNs, healNs = 10e6, 400e6
	spec := meeting() // the fake engine makes time step i when i+1 steps have passed, and reads the clock up to a millisecond later
	strategy := func() search.Strategy {
		s, err := search.New(search.Random, spec, 7, search.Settings{OneBoot: true})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	plain, branching := strategy(), strategy()
	branching.(search.Timed).Begins(search.Calm{ReadyNs: stepNs, HealNs: healNs})
	var head search.Candidate
	var first fault.Injection
	branches, late := 0, 0
	for i := range uint64(100) {
		own, _ := plain.Next(i)
		c, _ := branching.Next(i)
		if own.PartNs != 0 {
			t.Errorf("run %d branches at %d ns, and nothing is known of the run without faults", i, own.PartNs)
		}
		_, o := play(t, spec, c, i)
		if i%5 == 1 {
			if head, first = c, (fault.Injection{}); len(o.Ledger.Injections) > 0 {
				first = o.Ledger.Injections[0]
			}
			if known := first.StartNs > 0 && first.StartNs < healNs/2; known != (c.PartNs > 0) ||
				known && (first.StartNs >= c.PartNs || first.StartNs < c.PartNs-stepNs) {
				t.Errorf("run %d has its first fault at %d ns, and others branch at %d ns", i, first.StartNs, c.PartNs)
			}
		}
		if i%10 == 0 || i%5 == 1 || head.PartNs == 0 {
			if fmt.Sprint(c.Tape) != fmt.Sprint(own.Tape) {
				t.Errorf("run %d is of its own, and has the tape %v, not %v", i, c.Tape, own.Tape)
			}
			if i%5 != 1 && i%10 != 0 {
				late++
			}
			continue
		}
		branches++
		if want := head.Tape.Behind(head.PartNs, own.Tape.Own()); fmt.Sprint(c.Tape) != fmt.Sprint(want) || c.PartNs != head.PartNs {
			t.Errorf("run %d is %+v, and branches from %+v", i, c, head)
		}
		if got := o.Ledger.Injections; len(got) == 0 || got[0].StartNs != first.StartNs || got[0].Target != first.Target {
			t.Errorf("run %d has not the first fault of the run that it branches from, %+v: %+v", i, first, got)
		}
	}
	if branches < 20 || late < 5 {
		t.Errorf("%d of 70 runs branch, and %d are of their own since the first fault comes late", branches, late)
	}
}

// Whatever a strategy is asked for in between, a run has one tape.
func TestBranchesAreAFunctionOfTheirNumber(t *testing.T) {
	tapes := map[uint64]tape.Tape{}
	for _, order := range [][]uint64{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {12, 4, 9, 2, 11, 7, 3, 5, 8}} {
		s, err := search.New(search.Random, meeting(), 3, search.Settings{OneBoot: true})
		if err != nil {
			t.Fatal(err)
		}
		s.(search.Timed).Begins(search.Calm{HealNs: 1e9})
		for _, i := range order {
			c, _ := s.Next(i)
			if known, ok := tapes[i]; ok && fmt.Sprint(known) != fmt.Sprint(c.Tape) {
				t.Errorf("run %d has the tape %v, and then %v", i, known, c.Tape)
			}
			tapes[i] = c.Tape
		}
	}
}
