package search_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// Each rule is off in some runs, never all at once, and runs have from few faults to many, whatever the rate of the rule.
func TestSwarm(t *testing.T) {
	for _, ratePPM := range []uint64{40, 40_000} {
		spec := meeting()
		for i := range spec.Faults.Rules {
			spec.Faults.Rules[i].RatePPM = ratePPM
		}
		s, err := search.New(search.Swarm, spec, 5, search.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		s.(search.Timed).Begins(search.Calm{ReadyNs: 1, HealNs: 1 + spec.Faults.StartNs + 30*spec.TimeStepNs})
		const runs = 300
		var counts []int
		together := map[string]bool{}
		for i := range uint64(runs) {
			c, _ := s.Next(i + 1)
			r, _ := play(t, spec, c, i)
			n := 0
			var kinds []string
			for _, d := range r.Injections {
				if kind := strings.Split(d.Stream, "/")[1]; kind != "rate" {
					n++
					kinds = append(kinds, kind)
				}
			}
			slices.Sort(kinds)
			together[strings.Join(slices.Compact(kinds), " ")] = true
			counts = append(counts, n)
		}
		if len(together) != 8 {
			t.Errorf("at %d ppm only these kinds were met together: %v", ratePPM, together)
		}
		slices.Sort(counts)
		if few, many := counts[runs/10], counts[runs*9/10]; many < 4*max(few, 1) {
			t.Errorf("at %d ppm runs have from %d to %d injections", ratePPM, few, many)
		}
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
	s.Learn(&search.Run{Seen: &search.Seen{Draws: []tape.Draws{{Stream: "sched/n1/0", To: 9, N: 1025},
		{Stream: "sched/n1/0.1", To: 1, N: 1025}, {Stream: "sched/n2/0", To: 90, N: 1025}}}})
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

// With switches in the code of programs, three of eight runs have the seed and the ranks of a run whose points are known, and two
// drops at these points: half of them at a block that several threads came to, and each of the rest as often as any other.
func TestPriorityAtPoints(t *testing.T) {
	spec := meeting()
	spec.Sched.Blocks, spec.Sched.SwitchPPM = 64, 40_000
	s, err := search.New(search.Priority, spec, 5, search.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	threads := []tape.Draws{{Stream: "sched/n1/0", To: 9, N: 1025}, {Stream: "sched/n1/0.1", To: 1, N: 1025}}
	stops := []tape.Draws{{Stream: "switch/n1/0/401000", To: 3, N: 257}, {Stream: "switch/n1/0/402000", To: 1, N: 257},
		{Stream: "switch/n1/0.1/402000", To: 4, N: 257}}
	s.Learn(&search.Run{Number: 1000, Seen: &search.Seen{Draws: threads}})
	kept := func(c search.Candidate) (list []tape.Edit) { // its edits without drops
		for _, e := range c.Tape.Edits {
			if e.Op != tape.Set || strings.HasPrefix(e.Stream, "rank/") {
				list = append(list, e)
			}
		}
		return list
	}
	scout, _ := s.Next(8)
	s.Learn(&search.Run{Number: 8, Candidate: scout, Seen: &search.Seen{Draws: slices.Concat(threads, stops)}})
	quiet := tape.Edit{Op: tape.Default, Stream: "switch/*/*/**", To: tape.End}
	if !slices.Contains(scout.Tape.Edits, quiet) {
		t.Errorf("a scout has switches: %v", scout.Tape.Edits)
	}
	drops, revisits := map[string]int{}, 0
	const runs = 8000
	for i := range uint64(runs) {
		run := 16 + i
		if run%8 == 0 {
			continue // another scout
		}
		c, _ := s.Next(run)
		if c.Origin.Parent == "" {
			if slices.Contains(c.Tape.Edits, quiet) {
				t.Fatalf("run %d has no switches: %v", run, c.Tape.Edits)
			}
			continue
		}
		revisits++
		if c.Tape.Seed != scout.Tape.Seed || !slices.Equal(kept(c), kept(scout)) {
			t.Fatalf("%v has not the seed and the ranks of %v", c.Tape, scout.Tape)
		}
		for _, e := range c.Tape.Edits[len(kept(c)):] {
			if kind := (e.Value - 1) / 16; e.Value == 0 || kind != 0 && kind != 15 {
				t.Fatalf("%+v is no drop", e)
			}
			drops[fmt.Sprint(e.Stream, " ", e.From)]++
		}
	}
	if revisits != runs*3/8 {
		t.Errorf("%d of %d runs drop at points", revisits, runs)
	}
	for _, d := range stops {
		for i := d.From; i < d.To; i++ {
			each := 2 * revisits / 2 / 8 // of the half that is spread over all 8 points
			if strings.HasSuffix(d.Stream, "402000") {
				each += 2 * revisits / 2 / 5
			}
			if n := drops[fmt.Sprint(d.Stream, " ", i)]; n < each*85/100 || n > each*115/100 {
				t.Errorf("%d drops at %s %d, not some %d", n, d.Stream, i, each)
			}
		}
	}
	if notes := s.Standing().Notes; len(notes) != 1 || !strings.Contains(notes[0], "8 points in their own code") {
		t.Error(notes)
	}
}
