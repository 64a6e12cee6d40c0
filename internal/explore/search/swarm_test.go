package search_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// Each rule is off in about half of the runs, never all at once, and injects more or fewer faults than its rate says.
func TestSwarm(t *testing.T) {
	spec := meeting()
	for i := range spec.Faults.Rules {
		spec.Faults.Rules[i].RatePPM = 40_000
	}
	s, err := search.New(search.Swarm, spec, 5, search.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	const runs = 200
	var counts []int
	together := map[string]bool{}
	for i := range uint64(runs) {
		c, _ := s.Next(i)
		r, _ := play(t, spec, c, i)
		s.Learn(r)
		n := 0
		var kinds []string
		for _, d := range r.Injections {
			n++
			kinds = append(kinds, strings.Split(d.Stream, "/")[1])
		}
		slices.Sort(kinds)
		together[strings.Join(slices.Compact(kinds), " ")] = true
		counts = append(counts, n)
	}
	if len(together) != 8 {
		t.Errorf("only these kinds were met together: %v", together)
	}
	slices.Sort(counts)
	if few, many := counts[runs/10], counts[runs*9/10]; many < 4*max(few, 1) {
		t.Errorf("runs have from %d to %d injections", few, many)
	}
}

// Each thread has a rank of its own, a random one; two calls of all are where a priority drops.
func TestPriority(t *testing.T) {
	s, err := search.New(search.Priority, meeting(), 5, search.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if c, _ := s.Next(0); len(c.Tape.Edits) != 0 {
		t.Errorf("nothing is known, and still there is %v", c.Tape.Edits)
	}
	s.Learn(&search.Run{Seen: &search.Seen{Draws: []tape.Draws{{Stream: "sched/n1/0", To: 9, N: 1025}, {Stream: "sched/n1/0.1", To: 1, N: 1025}, {Stream: "sched/n2/0", To: 90, N: 1025}}}})
	highest, drops := map[string]int{}, map[string]int{}
	for i := range uint64(1000) {
		c, _ := s.Next(i + 1)
		ranks := map[uint64]string{}
		for _, e := range c.Tape.Edits {
			stream, isRank := strings.CutPrefix(e.Stream, "rank/")
			switch {
			case isRank && e.From == 0:
				ranks[e.Value] = stream
			case e.Op == tape.Set && !isRank:
				drops[e.Stream]++
				if e.Value == 0 || e.Value > 512 {
					t.Fatalf("%+v is no drop", e)
				}
			}
		}
		if len(ranks) != 3 {
			t.Fatalf("ranks are %v", ranks)
		}
		highest[ranks[3]]++
	}
	for _, thread := range []string{"n1/0", "n1/0.1", "n2/0"} {
		if n := highest[thread]; n < 280 || n > 390 {
			t.Errorf("%s is first in %d of 1000 runs", thread, n)
		}
	}
	if a, b := drops["sched/n2/0"], drops["sched/n1/0"]; a < 1700 || a > 1850 || b < 130 || b > 230 {
		t.Errorf("drops are not spread by calls: %v", drops)
	}
}
