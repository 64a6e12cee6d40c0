package search_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/enginetest"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// meeting is a world whose bug needs three kinds of faults at once.
func meeting() *world.Spec {
	rule := func(kind world.FaultKind, targets ...string) world.FaultRule {
		return world.FaultRule{Kind: kind, RatePPM: 8000, MinNs: 10e6, MaxNs: 40e6, Targets: targets}
	}
	return &world.Spec{
		Nodes: []world.Node{{Name: "n1", Role: world.Server, Env: []string{"FAKE=" + enginetest.Meeting}}, {Name: "n2", Role: world.Server},
			{Name: "load", Role: world.Client}},
		TimeStepNs: 10e6,
		Workloads:  []world.Workload{{Node: "load", Clients: 2, Operations: 60}},
		Faults: world.Faults{Enabled: true,
			Rules: []world.FaultRule{rule("partition", "n1", "n2"), rule("pause", "n1", "n2"), rule("slow_disk", "n1", "n2")}},
	}
}

// play makes a run of the fake engine, and says what a search learns of it.
func play(t *testing.T, spec *world.Spec, c search.Candidate, number uint64) (*search.Run, *record.Outcome) {
	t.Helper()
	o, err := engine.Run(enginetest.New(), spec, c.Tape, engine.Options{Behaviour: true, Draws: search.Watched})
	if err != nil {
		t.Fatal(err)
	}
	seen := &search.Seen{Injections: search.InjectionsOf(o.Decisions), Draws: o.Draws, Texts: o.Reached}
	for _, f := range o.Reached {
		seen.Reached = append(seen.Reached, f.ID)
	}
	return &search.Run{Number: number, Candidate: c, Seen: seen}, o
}

// lost reports whether a get did not return what was put last.
func lost(o *record.Outcome) bool {
	last := map[string]string{}
	for _, h := range o.History {
		switch {
		case h.Type == history.Invoke:
		case h.Op == "put":
			last[h.Key] = h.Input
		case h.Output != last[h.Key]:
			return true
		}
	}
	return false
}

// first is the number of the first run that shows the bug, or most.
func first(t *testing.T, name string, spec *world.Spec, seed, most uint64) uint64 {
	t.Helper()
	s, err := search.New(name, spec, seed, search.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	var runs []*search.Run
	for i := range most {
		if i >= search.DefaultFeedbackDelay {
			s.Learn(runs[i-search.DefaultFeedbackDelay])
		}
		c, answer := s.Next(i)
		if answer != search.Here {
			t.Fatalf("%s: run %d: answer %v", name, i, answer)
		}
		r, o := play(t, spec, c, i)
		if lost(o) {
			return i
		}
		runs = append(runs, r)
	}
	return most
}

func TestGuidedFindsWhatNeedsThreeFaultsSooner(t *testing.T) {
	const most = 2000
	median := func(name string) uint64 {
		var all []uint64
		for seed := range uint64(9) {
			all = append(all, first(t, name, meeting(), seed, most))
		}
		slices.Sort(all)
		t.Log(name, all)
		return all[len(all)/2]
	}
	random, guided := median(search.Random), median(search.Guided)
	if random < 2*guided {
		t.Errorf("random needs %d runs and coverage-guided %d", random, guided)
	}
}

// A mutant is a real mutation: what its edits do not name is the same as in its parent's run.
func TestMutantsKeepTheirSeed(t *testing.T) {
	spec := meeting()
	s, err := search.New(search.Guided, spec, 3, search.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	tapes := map[string]tape.Tape{}
	var mutants int
	for i := range uint64(300) {
		c, _ := s.Next(i)
		tapes[search.NameOf(c.Tape)] = c.Tape
		if c.Origin.Parent != "" {
			mutants++
			parent, ok := tapes[c.Origin.Parent]
			if !ok || parent.Seed != c.Tape.Seed {
				t.Fatalf("run %d is %+v of %+v", i, c, parent)
			}
			if fmt.Sprint(parent) == fmt.Sprint(c.Tape) {
				t.Errorf("run %d, %s, is its parent", i, c.Origin.Mutation)
			}
		}
		r, _ := play(t, spec, c, i)
		s.Learn(r)
	}
	if mutants < 200 {
		t.Errorf("%d mutants in 300 runs", mutants)
	}
}

// What a search keeps does not grow with the length of a campaign, whatever runs reach.
func TestTheCorpusStaysBounded(t *testing.T) {
	s, err := search.New(search.Guided, meeting(), 5, search.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	kept := map[string]bool{}
	for i := range uint64(3000) {
		c, _ := s.Next(i)
		seen := &search.Seen{Reached: []uint64{i + 1}, Near: []coverage.Nearness{{Name: "n", Distance: 1 / float64(i+2)}}}
		for k := range uint64(5) {
			seen.Injections = append(seen.Injections, tape.Decision{Stream: "fault/pause/n1", Index: i%50 + k, N: 17, Value: 1 + k})
		}
		seen.Draws = []tape.Draws{{Stream: "fault/pause/n1", To: 60, N: 17}}
		s.Learn(&search.Run{Number: i, Candidate: c, Seen: seen})
		came, left := s.(search.Keeper).Changes()
		for _, e := range came {
			kept[e.Name] = true
		}
		for _, name := range left {
			if !kept[name] {
				t.Fatalf("%s left and was not there", name)
			}
			delete(kept, name)
		}
		if n := s.Standing().Corpus; n > 1000 || n != len(kept) || len(c.Tape.Edits) > 1500 {
			t.Fatalf("run %d: %d entries, %d kept, a tape of %d edits", i, n, len(kept), len(c.Tape.Edits))
		}
	}
	if n := s.Standing(); n.Corpus != 1000 || n.Features != 3000 || n.Near[0].Distance != 1.0/3001 {
		t.Errorf("%+v", n)
	}
}

// Each strategy has a name of its own and what a campaign needs of it, and those that users choose say what they do.
func TestKinds(t *testing.T) {
	for i, k := range search.Kinds {
		if k.Name == "" || k.New == nil || (k.Next == "") != k.Scheduled ||
			slices.ContainsFunc(search.Kinds[:i], func(o search.Kind) bool { return o.Name == k.Name }) {
			t.Errorf("%+v", k)
		}
		if k.Learns() && !k.Scheduled && !k.Uses(search.KeyFeedbackDelay) {
			t.Errorf("%s learns and has no feedback delay", k.Name)
		}
	}
	if !search.Known(search.Default) || search.Known("") || search.KindOf("luck").Uses(search.KeyLength) {
		t.Error("the default is unknown, or an unknown strategy is not")
	}
}
