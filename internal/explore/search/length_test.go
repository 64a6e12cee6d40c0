package search

import (
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// long is a world whose runs last long beside what its faults take.
func long() *world.Spec {
	spec := stepped()
	spec.Engine, spec.Workloads = world.Native, []world.Workload{{Name: "load", Driver: "command"}}
	spec.Properties = []world.Property{{Name: "linearizable", Kind: world.Safety, Check: world.Check{Type: world.Linearizability}}}
	for i := range spec.Faults.Rules {
		spec.Faults.Rules[i].MinNs, spec.Faults.Rules[i].MaxNs = 10*spec.TimeStepNs, 30*spec.TimeStepNs
	}
	return spec
}

const wholeEvents = 32_000

// campaign plays runs of swarm, of which the outcome is what shows says, and returns their tapes.
func campaign(t *testing.T, spec *world.Spec, set Settings, runs uint64, shows func(class int, run uint64) *Seen) (s *swarm, tapes []tape.Tape) {
	t.Helper()
	strategy, err := New(Swarm, spec, 3, set)
	if err != nil {
		t.Fatal(err)
	}
	s = strategy.(*swarm)
	step := spec.TimeStepNs
	s.Learn(&Run{Number: Baseline, Seen: &Seen{Events: wholeEvents}})
	s.Begins(Calm{ReadyNs: 1, ChaosNs: 1 + 50*step, HealNs: 1 + 50*step + 10_000*step, Drained: true, Clients: []Client{{"c0", 1000}, {"c1", 500}}})
	learned := uint64(0)
	for run := range runs {
		c, answer := s.Next(run)
		for ; answer == Wait; c, answer = s.Next(run) {
			if learned == run {
				t.Fatalf("run %d waits for runs that come later", run)
			}
			s.Learn(&Run{Number: learned, Candidate: Candidate{Tape: tapes[learned]}, Seen: shows(classOf(s, tapes[learned]), learned)})
			learned++
		}
		tapes = append(tapes, c.Tape)
		if delay := s.FeedbackDelay(); delay > 0 && run >= delay {
			for learned <= run-delay {
				s.Learn(&Run{Number: learned, Candidate: Candidate{Tape: tapes[learned]}, Seen: shows(classOf(s, tapes[learned]), learned)})
				learned++
			}
		}
	}
	return s, tapes
}

// classOf reads the class of a run from its tape.
func classOf(s *swarm, t tape.Tape) int {
	for _, e := range t.Edits {
		if e.Stream == world.ChaosStream {
			for class := 1; class <= maxShortest; class++ {
				if e.Value == uint64(2*(10_000>>class)) {
					return class
				}
			}
		}
	}
	return fullLength
}

func inProportion(class int, _ uint64) *Seen { return &Seen{Events: wholeEvents >> class} }

// A campaign begins with short runs, all lengths get about the same time before there is feedback, and full ones never less than their share.
func TestLengths(t *testing.T) {
	s, tapes := campaign(t, long(), Settings{OneBoot: true}, 200, inProportion)
	cost, full := float64(wholeEvents), float64(wholeEvents)
	var whole []tape.Tape
	for i, tp := range tapes {
		class := classOf(s, tp)
		if i == 0 && class != len(s.lengths.arms)-1 {
			t.Errorf("the first run is of class %d of %d", class, len(s.lengths.arms))
		}
		if cost += float64(int(wholeEvents) >> class); class == fullLength {
			full += wholeEvents
			whole = append(whole, tp)
		}
		if full < cost*0.22 {
			t.Fatalf("after %d runs %.0f of %.0f are of full length", i+1, full, cost)
		}
		for _, e := range tp.Edits {
			if client, ok := strings.CutPrefix(e.Stream, world.OperationsPrefix); ok &&
				(class == fullLength || e.Value > map[string]uint64{"c0": 1001, "c1": 501}[client]) {
				t.Errorf("run %d of class %d: %+v", i, class, e)
			}
		}
	}
	if len(whole) < 2 || len(whole[0].Edits) != 0 || whole[0].Seed != 3 {
		t.Errorf("the first run of full length is not that of the campaign's seed: %v", whole)
	}
	again, tapesAgain := campaign(t, long(), Settings{OneBoot: true}, 200, inProportion)
	if !slices.EqualFunc(tapes, tapesAgain,
		func(a, b tape.Tape) bool { return a.Seed == b.Seed && slices.Equal(a.Edits, b.Edits) }) || len(again.Standing().Lengths) != len(s.lengths.arms) {
		t.Error("the same campaign plays other tapes")
	}
}

// The first short run shows what shortness alone saves. Later ones vary other things too.
func TestTheFirstShortRun(t *testing.T) {
	s, _ := campaign(t, long(), Settings{}, 1, inProportion)
	class := len(s.lengths.arms) - 1
	for run := range uint64(2) {
		later, idle := 0, 0
		for i := range uint64(200) {
			for _, e := range s.lengths.edits(run, class, newDice(i, run)) {
				switch {
				case e.Stream == world.CalmStream:
					later++
				case strings.HasPrefix(e.Stream, world.OperationsPrefix) && e.Value == 1:
					idle++
				}
			}
		}
		if first := run == firstShort; first != (later == 0) || first != (idle == 0) {
			t.Errorf("of 200 runs that could be number %d, %d have later faults, and %d clients do nothing", run, later, idle)
		}
	}
}

// The length whose runs show what is new gets most of the time that full ones leave.
func TestABanditChoosesLengths(t *testing.T) {
	for _, good := range []int{1, 2, 3} {
		s, tapes := campaign(t, long(), Settings{}, 600, func(class int, run uint64) *Seen {
			seen := inProportion(class, run)
			for k := uint64(0); class == good && k < 8>>class+2; k++ {
				seen.Reached = append(seen.Reached, 10*run+k)
			}
			return seen
		})
		costs := make([]float64, len(s.lengths.arms))
		for _, tp := range tapes[100:] {
			class := classOf(s, tp)
			costs[class] += float64(int(wholeEvents) >> class)
		}
		for class, cost := range costs {
			if class != fullLength && class != good && cost > costs[good]/2 {
				t.Errorf("class %d shows what is new, and the time goes to %v", good, costs)
			}
		}
	}
}

// Runs keep their full length where a short one costs no less, where the user asks for it, and where they could not be judged.
func TestFullLength(t *testing.T) {
	plain := long()
	plain.Properties[0].Check.Type = world.Expression
	for name, c := range map[string]struct {
		spec  *world.Spec
		set   Settings
		shows func(int, uint64) *Seen
		short int
	}{
		"no saving":  {long(), Settings{}, func(int, uint64) *Seen { return &Seen{Events: wholeEvents} }, 1},
		"lost":       {long(), Settings{}, func(int, uint64) *Seen { return nil }, 1},
		"asked for":  {long(), Settings{FullLength: true}, inProportion, 0},
		"few runs":   {long(), Settings{Runs: 10}, inProportion, 0},
		"expression": {plain, Settings{}, inProportion, 0},
	} {
		s, tapes := campaign(t, c.spec, c.set, 40, c.shows)
		short, seeds := 0, map[uint64]bool{}
		for _, tp := range tapes {
			if classOf(s, tp) != fullLength {
				short++
			} else if len(tp.Edits) == 0 {
				seeds[tp.Seed] = true
			}
		}
		if short != c.short || !seeds[3] || len(s.Standing().Lengths) != 0 || s.FeedbackDelay() != 0 {
			t.Errorf("%s: %d of %d runs are short, the campaign's seed is played: %v", name, short, len(tapes), seeds[3])
		}
	}
}

// luby is the definition.
func luby(i int) int {
	for k := 1; ; k++ {
		switch {
		case i == 1<<k-1:
			return 1 << (k - 1)
		case 1<<(k-1) <= i && i < 1<<k-1:
			return luby(i - 1<<(k-1) + 1)
		}
	}
}

func TestLuby(t *testing.T) {
	for i := 1; i < 1000; i++ {
		if got := 1 << lubyPower(uint64(i)); got != luby(i) {
			t.Fatalf("number %d is %d, not %d", i, got, luby(i))
		}
	}
}
