package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// stepped is a world of two nodes that crash, inside one process.
func stepped() *world.Spec {
	return &world.Spec{Engine: world.InProcess, Nodes: []world.Node{{Name: "n1", Role: world.Server}, {Name: "n2", Role: world.Server}}, TimeStepNs: 1e7,
		Faults: world.Faults{Enabled: true, Rules: []world.FaultRule{{Kind: "crash", RatePPM: 10_000, MinNs: 1e7, MaxNs: 5e7, Targets: []string{"n1", "n2"}}}}}
}

func make1(t *testing.T, name string) Strategy {
	t.Helper()
	s, err := New(name, stepped(), 1, Settings{Coverage: true, Nearness: true})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// told is a run of a tape that was 100 steps long, as a search with some guide learns of it.
func told(s Strategy, number uint64, c Candidate, features ...coverage.Feature) *Run {
	seen := &Seen{Draws: []tape.Draws{{Stream: channels, To: 100, N: 4096}, {Stream: amounts, To: 100, N: 5},
		{Stream: "fault/crash/n1", To: 100, N: 17}, {Stream: "fault/crash/n2", To: 100, N: 17}}}
	for _, f := range features {
		if s.(Watcher).Watches(f.Domain) {
			seen.Reached, seen.Texts = append(seen.Reached, f.ID), append(seen.Texts, f)
		}
	}
	return &Run{Number: number, Candidate: c, Seen: seen}
}

// Each guide keeps the runs that reach something new of its kind, and no others.
func TestGuidesKeepWhatIsNewToThem(t *testing.T) {
	domains := []coverage.Domain{coverage.Trace, coverage.Line, coverage.ModelState, coverage.ModelEdge, coverage.ModelGuard, coverage.ModelWhole, coverage.Log}
	for guide, keeps := range map[string][]coverage.Domain{
		"":            {coverage.ModelState, coverage.ModelEdge, coverage.ModelGuard, coverage.Log},
		GuideTrace:    {coverage.Trace},
		GuideLine:     {coverage.Line},
		GuideState:    {coverage.ModelState},
		GuideEdge:     {coverage.ModelEdge},
		GuideWhole:    {coverage.ModelWhole, coverage.ModelState},
		GuideGuard:    {coverage.ModelGuard},
		GuideCombined: {coverage.Line, coverage.ModelState, coverage.ModelEdge, coverage.ModelGuard, coverage.Log},
	} {
		name := Guided
		if guide != "" {
			name += ":" + guide
		}
		s := make1(t, name).(*guided)
		for i, d := range domains {
			before := len(s.byName)
			f := coverage.New(d, "x")
			s.Learn(told(s, uint64(2*i), Candidate{Tape: tape.Tape{Seed: uint64(i)}}, f))
			if kept := len(s.byName) > before; kept != slices.Contains(keeps, d) {
				t.Errorf("%s: a new feature of domain %s is kept: %v", name, d, kept)
			}
			before = len(s.byName)
			s.Learn(told(s, uint64(2*i+1), Candidate{Tape: tape.Tape{Seed: 100 + uint64(i)}}, f))
			if len(s.byName) > before {
				t.Errorf("%s: a feature of domain %s is new twice", name, d)
			}
		}
		// How close a run came to a violation, and to what a model has besides, is of the guide combined; the latter also of guard.
		for i, n := range []coverage.Nearness{{Name: "p", Distance: 0.5}, {Name: "guide: Lead", Distance: 0.5, Domain: coverage.ModelGoal}} {
			r := told(s, uint64(98+i), Candidate{Tape: tape.Tape{Seed: uint64(98 + i)}})
			r.Near = []coverage.Nearness{n}
			before := len(s.byName)
			s.Learn(r)
			if kept := len(s.byName) > before; kept != (guide == "" || guide == GuideCombined || guide == GuideGuard && i == 1) {
				t.Errorf("%s: a run that came close to %s is kept: %v", name, n.Name, kept)
			}
		}
		if s.Name() != name || s.Standing().Strategy != name {
			t.Errorf("%s is called %s and %s", name, s.Name(), s.Standing().Strategy)
		}
	}
}

// Parents are chosen by distances only where runs differ in them.
func TestDistancesThatNeverChangeLeadNowhere(t *testing.T) {
	g := make1(t, Guided).(*guided)
	for i, distance := range []float64{0.5, 0.5, 0.5, 0.4} {
		r := told(g, uint64(i), Candidate{Tape: tape.Tape{Seed: uint64(i)}}, coverage.New(coverage.Log, fmt.Sprint(i)))
		r.Near = []coverage.Nearness{{Name: "p", Distance: distance}}
		g.Learn(r)
		if e := g.closest(newDice(1, uint64(i))); (e != nil) != (distance == 0.4) {
			t.Errorf("after the distance %v a parent is chosen by it: %v", distance, e != nil)
		}
	}
}

func TestNamesOfGuides(t *testing.T) {
	for name, says := range map[string]string{
		"luck":                               "there are random, coverage-guided",
		"random:state":                       "the strategy random does not learn from runs, so it takes no guide; use coverage-guided:state",
		"modelfuzz:luck":                     `unknown guide "luck"; there are trace, line, state, edge, whole, guard, combined`,
		"modelfuzz:":                         `unknown guide ""`,
		":state":                             "unknown strategy",
		"modelfuzz+luck":                     `modelfuzz has no option "luck"; options are unguided, swap-crashes, swap-choices`,
		"random+future":                      `random has no option "future"; options are x1, x2`,
		"random+x2+x4":                       "only one number",
		"swarm+x2":                           "takes no options",
		"random+x8":                          "",
		"coverage-guided+rates":              "",
		"modelfuzz+unguided":                 "",
		"coverage-guided:edge+unguided+move": "",
		"enumerated":                         "in Campaign.Schedules, which is empty",
		"enumerated:state":                   "does not learn from runs",
		"coverage-guided+move+move":          "twice",
		"coverage-guided:state+reseed":       "",
		"modelfuzz:edge+swap-counts":         "",
		"":                                   "",
	} {
		_, err := New(name, stepped(), 1, Settings{})
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%q: %v", name, err)
		}
	}
	native := stepped()
	native.Engine = ""
	for name, says := range map[string]string{
		"modelfuzz":             "worlds inside one process",
		"coverage-guided:state": "there is none: set exploration.guide, add a property whose check is of type model",
	} {
		if _, err := New(name, native, 1, Settings{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s in another world: %v", name, err)
		}
	}
	native.Properties = append(native.Properties, world.Property{Check: world.Check{Type: world.Conformance}})
	for _, name := range []string{"coverage-guided:state", "coverage-guided:edge"} {
		if _, err := New(name, native, 1, Settings{}); err != nil {
			t.Errorf("%s in a world that is followed in a model: %v", name, err)
		}
	}
	native.Properties, native.Guide = nil, &world.Mapping{}
	for _, name := range []string{"coverage-guided:state", "coverage-guided:edge", "coverage-guided:combined",
		"coverage-guided:trace", "coverage-guided:line"} {
		if _, err := New(name, native, 1, Settings{}); err != nil {
			t.Errorf("%s in a world with a guide: %v", name, err)
		}
	}
}

// values returns the first hundred draws of a stream.
func values(tp tape.Tape, stream string, n uint64) []uint64 {
	s := tape.NewSource(tp)
	var list []uint64
	for range 100 {
		list = append(list, s.Choose(stream, n))
	}
	return list
}

// sorted has the same values in an order of their own.
func sorted(list []uint64) []uint64 {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}

func differing(a, b []uint64) int {
	n := 0
	for i := range a {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}

// mutants has modelfuzz learn of one run with crashes, and gives the mutants of it.
func mutants(t *testing.T, name string) (parent tape.Tape, list []Candidate) {
	t.Helper()
	s := make1(t, name)
	parent = tape.Tape{Seed: 42}
	var features []coverage.Feature
	for _, text := range []string{"a", "b", "c", "d"} {
		features = append(features, coverage.New(coverage.ModelState, text))
	}
	r := told(s, 5, Candidate{Tape: parent}, features...)
	r.Injections = []tape.Decision{{Stream: "fault/crash/n1", Index: 10, N: 17, Value: 3}, {Stream: "fault/crash/n2", Index: 30, N: 17, Value: 9}}
	s.Learn(r)
	for run := uint64(fuzzPopulation); run < fuzzReseed; run++ {
		if c, answer := s.Next(run); answer != Here {
			t.Fatalf("%s waits", name)
		} else if c.Origin.Parent != "" {
			list = append(list, c)
		}
	}
	if n := len(list); n < fuzzLeast*len(features) || n > fuzzMost*len(features) {
		t.Fatalf("%s makes %d mutants of %d new features", name, n, len(features))
	}
	return parent, list
}

// What modelfuzz swaps is swapped, and all else is the same run.
func TestMutantsAreSwaps(t *testing.T) {
	parent, list := mutants(t, "modelfuzz+swap-crashes")
	for _, c := range list {
		set := map[tape.Decision]bool{}
		for _, e := range c.Tape.Edits {
			if e.Op != tape.Set {
				t.Fatalf("%+v", e)
			}
			set[tape.Decision{Stream: e.Stream, Index: e.From, Value: e.Value}] = true
		}
		there := func(stream string, i, v uint64) bool {
			return set[tape.Decision{Stream: stream, Index: i, Value: v}]
		}
		swapped := there("fault/crash/n1", 30, 3) && there("fault/crash/n1", 10, 0) && there("fault/crash/n2", 10, 9) && there("fault/crash/n2", 30, 0)
		if c.Tape.Seed != parent.Seed || len(set) != 4 || !swapped {
			t.Fatalf("%+v", c.Tape)
		}
	}
	for _, c := range []struct {
		word, stream, other string
		n, m                uint64
	}{{SwapChoices, channels, amounts, 4096, 5}, {SwapCounts, amounts, channels, 5, 4096}} {
		parent, list := mutants(t, "modelfuzz+"+c.word)
		was, most := values(parent, c.stream, c.n), 0
		for _, m := range list {
			is := values(m.Tape, c.stream, c.n)
			most = max(most, differing(was, is))
			if !slices.Equal(sorted(was), sorted(is)) {
				t.Errorf("%s: other values, and not the same ones in another order", c.word)
			}
			if !slices.Equal(values(parent, c.other, c.m), values(m.Tape, c.other, c.m)) || m.Tape.Seed != parent.Seed {
				t.Errorf("%s changes what it should not", c.word)
			}
		}
		if least := 12; most < least || most > 2*fuzzSwaps {
			t.Errorf("%s: %d of 100 draws differ at most; 20 swaps should change %d to 40", c.word, most, least)
		}
	}
	if _, list := mutants(t, "modelfuzz+random-mutants"); list[0].Tape.Seed == 42 || len(list[0].Tape.Edits) > 0 {
		t.Errorf("a random mutant is %+v", list[0].Tape)
	}
}

// All but random-mutants make up a mutant, and the queue ends after 200 runs.
func TestModelfuzzCombinesAndBeginsAnew(t *testing.T) {
	_, list := mutants(t, ModelFuzz)
	if list[0].Origin.Mutation != "swap-crashes, swap-choices, swap-counts" {
		t.Errorf("%+v", list[0].Origin)
	}
	s := make1(t, ModelFuzz).(*fuzz)
	for run := range uint64(3 * fuzzReseed) {
		c, _ := s.Next(run)
		if at := run % fuzzReseed; (at < fuzzPopulation) != (c.Origin.Parent == "") {
			t.Fatalf("run %d comes from %+v", run, c.Origin)
		}
		s.Learn(told(s, run, c, coverage.New(coverage.ModelState, string(rune('a'+run)))))
	}
	if s.Standing().Features != 3*fuzzReseed {
		t.Errorf("%+v", s.Standing())
	}
}

// A mutant has the turns of clients and the random numbers of its parent.
func TestMutantsKeepRequestsAndChance(t *testing.T) {
	const turns, random = "sched/turn/client", "random/n1"
	_, list := mutants(t, ModelFuzz)
	parent := list[0].Tape
	parent.Edits = nil
	for _, name := range []string{ModelFuzz, "modelfuzz:state+swap-counts"} {
		_, list = mutants(t, name)
		for _, m := range list {
			if !slices.Equal(values(parent, turns, 2), values(m.Tape, turns, 2)) {
				t.Fatalf("%s: the client has other turns", name)
			}
			if !slices.Equal(values(parent, random, 1000), values(m.Tape, random, 1000)) {
				t.Fatalf("%s: nodes draw other random numbers", name)
			}
		}
	}
	if a, b := list[0].Tape, list[1].Tape; slices.Equal(a.Edits, b.Edits) {
		t.Error("two mutants are one")
	}
}

// A world without a schedule is no world for modelfuzz, and the search says so.
func TestModelfuzzNeedsASchedule(t *testing.T) {
	s := make1(t, ModelFuzz)
	s.Learn(&Run{Number: 1, Seen: &Seen{}})
	if u := s.Standing().Unknown; len(u) != 1 || !strings.Contains(u[0], "Settings.Schedule") {
		t.Errorf("%q", u)
	}
}

// The future of a run is other chance from some step on, and nothing before it.
func TestFutureKeepsThePast(t *testing.T) {
	ter, err := newSpace(stepped())
	if err != nil {
		t.Fatal(err)
	}
	ter.addDraws([]tape.Draws{{Stream: channels, To: 100, N: 4096}})
	parent := tape.Tape{Seed: 3}
	for run := range uint64(50) {
		m := &draft{space: ter, dice: newDice(1, run), seed: parent.Seed, injections: []tape.Decision{{Stream: "fault/crash/n1", Index: 50, N: 17, Value: 1}}}
		future(m, nil)
		from := int(m.edits[0].From)
		mutant := tape.Tape{Seed: m.seed, Edits: m.edits}
		for _, stream := range []string{channels, amounts, "fault/crash/n2"} {
			was, is := values(parent, stream, 1000), values(mutant, stream, 1000)
			if !slices.Equal(was[:from], is[:from]) || differing(was[from:], is[from:]) < (100-from)*9/10 {
				t.Fatalf("%s from step %d on:\n%v\n%v", stream, from, was, is)
			}
		}
		given := tape.NewSource(mutant)
		for i := range 100 {
			if v := given.Given(chances, 1<<32); v != 0 != (i == from) {
				t.Fatalf("the chance of nodes is %d at step %d, and the future begins at %d", v, i, from)
			}
		}
		if left := len(m.injections); left != 0 && from <= 50 || left == 0 && from > 50 {
			t.Errorf("%d injections are left, from step %d on", left, from)
		}
	}
}

// Words of coverage-guided are the only changes that it makes.
func TestWordsChooseMutations(t *testing.T) {
	s := make1(t, "coverage-guided+future+choices").(*guided)
	s.Learn(told(s, 0, Candidate{Tape: tape.Tape{Seed: 4}}, coverage.New(coverage.ModelState, "a")))
	seen := map[string]bool{}
	for run := range uint64(200) {
		c, _ := s.Next(run)
		for _, kind := range strings.Split(c.Origin.Mutation, ", ") {
			seen[kind] = true
		}
	}
	if !seen["future"] || !seen["choices"] || len(seen) != 3 { // and random tapes
		t.Errorf("%v", seen)
	}
}

// Schedules are played in their order, again and again, each time with other chance.
func TestEnumeratedSchedules(t *testing.T) {
	edit := func(i uint64) []tape.Edit { return []tape.Edit{{Op: tape.Set, Stream: channels, From: i, Value: 7}} }
	s, err := New(Enumerated, stepped(), 1, Settings{Schedules: [][]tape.Edit{edit(0), edit(1), edit(2)}})
	if err != nil || s.FeedbackDelay() > 0 {
		t.Fatal(err)
	}
	seeds := map[uint64]bool{}
	for run := range uint64(7) {
		c, _ := s.Next(run)
		seeds[c.Tape.Seed] = true
		if len(c.Tape.Edits) != 1 || c.Tape.Edits[0].From != run%3 {
			t.Errorf("run %d plays %+v", run, c.Tape)
		}
	}
	if len(seeds) != 7 {
		t.Errorf("%d seeds in 7 runs", len(seeds))
	}
}
