package sweep_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/moments"
	"github.com/bloodhound-dst/bloodhound/internal/sweep"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// call is a system call of a run: it begins to wait for the disk 500 us before it returns, if it is one of those that do.
type call struct {
	node, name, file string
	timeNs           int64
}

// program is a run of two nodes, in which one of each three calls is a synchronisation.
func program() (list []call) {
	for i := range 90 {
		c := call{node: fmt.Sprintf("n%d", 1+i%2), name: "write", file: fmt.Sprintf("/data/%d.log", i/10), timeNs: int64(i+1) * 1e6}
		switch {
		case i%3 == 0:
			c.name = "fsync"
		case i%5 == 0:
			c.name, c.file = "rename", "/data/CURRENT"
		}
		list = append(list, c)
	}
	return list
}

func servers(names ...string) *world.Spec {
	spec := &world.Spec{MaxTimeNs: 60e9}
	for _, n := range names {
		spec.Nodes = append(spec.Nodes, world.Node{Name: n, Role: world.Server, Command: []string{"server"}})
	}
	return spec
}

// struck is a fault that a run has shown.
type struck struct {
	kind   world.FaultKind
	call   int
	during bool
}

// play makes the calls of a program in the world of a Spec with a tape.
func play(t *testing.T, spec *world.Spec, tp tape.Tape) (record *moments.Record, src *tape.Source, seen []struck) {
	t.Helper()
	plan, err := fault.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	now := int64(0)
	src, record = tape.NewSource(tp), &moments.Record{}
	src.Clock(func() int64 { return now })
	plan.BeginChaos(src, 0)
	for i, c := range program() {
		m := &fault.Moment{NowNs: c.timeNs, Event: uint64(i + 1)}
		end := func(during bool, actions []fault.Action) {
			for _, a := range actions {
				seen = append(seen, struck{a.Kind, i, during})
				plan.Ended(c.timeNs + 1e12) // it is up again at once
			}
		}
		if c.name == "fsync" {
			now = c.timeNs - 500e3
			if id, _, _ := plan.Wait(src, m, c.node, c.name, c.file); id != 0 {
				end(true, plan.Strike(m, id))
			}
		}
		now = c.timeNs
		act := map[string]moments.Act{"fsync": moments.Sync, "rename": moments.Rename}[c.name]
		if act != "" {
			record.Add(&moments.Moment{Class: moments.Class{Node: c.node, Program: "server", Act: act, Call: c.name, File: moments.Template(c.file),
				Phase: moments.Chaos}, Path: c.file, Event: m.Event, TimeNs: now, InChaos: true})
		}
		end(false, plan.Return(src, m, c.node, c.name, c.file))
	}
	return record, src, seen
}

// planned gives the layout of a sweep of the program, and its candidates.
func planned(t *testing.T, most int) (*sweep.Layout, []sweep.Candidate) {
	t.Helper()
	l, err := sweep.NewLayout(servers("n1", "n2"), sweep.Kinds)
	if err != nil {
		t.Fatal(err)
	}
	record, src, seen := play(t, l.Spec, l.Tape(7))
	if len(seen) > 0 {
		t.Fatalf("the run without strikes has %v", seen)
	}
	series := l.Read(&sweep.Question{Most: 128}, record, src.Decisions(), src.Times())
	return l, sweep.First(series, sweep.Kinds, most)
}

// wants is the fault that a strike asks for.
func wants(s *sweep.Strike) struck { return struck{s.Kind, int(s.Event) - 1, s.When == world.During} }

func TestEachCandidateStrikesAtItsMomentAlone(t *testing.T) {
	l, list := planned(t, 1000)
	fsyncs, renames := 30, 0
	for _, c := range program() {
		if c.name == "rename" {
			renames++
		}
	}
	// A crash and a power loss after each moment, and a power loss during each synchronisation.
	if want := 3*fsyncs + 2*renames; len(list) != want {
		t.Errorf("%d candidates, want %d", len(list), want)
	}
	for _, c := range list {
		_, _, seen := play(t, l.Spec, l.Tape(7, c.Strikes...))
		if want := []struck{wants(c.Last())}; !slices.Equal(seen, want) {
			t.Fatalf("%s: %v, want %v", c.Key(), seen, want)
		}
	}
}

func TestSecondStrikeIsInTheSameRun(t *testing.T) {
	l, list := planned(t, 2)
	first := list[0]
	// Whatever comes after the first strike counts as its recovery here.
	var second []sweep.Candidate
	for _, c := range list {
		if s := c.Last(); s.Node == first.Last().Node && s.Kind == first.Last().Kind && s.TimeNs > first.Last().TimeNs {
			recovery := sweep.Recovery{Candidate: first, Series: []sweep.Series{{Class: s.Class, Moments: []sweep.Moment{s.Moment}}}}
			second = append(second, sweep.Second([]sweep.Recovery{recovery}, 2)...)
		}
	}
	if len(second) == 0 {
		t.Fatal("there is no second strike")
	}
	for _, c := range second {
		_, _, seen := play(t, l.Spec, l.Tape(7, c.Strikes...))
		if want := []struck{wants(&c.Strikes[0]), wants(&c.Strikes[1])}; !slices.Equal(seen, want) {
			t.Errorf("%s: %v, want %v", c.Key(), seen, want)
		}
	}
}

// A finding is told by rules that strike alone at the same moment: their number is counted among the calls that they speak of.
func TestRulesOfAStrikeMakeItAlone(t *testing.T) {
	l, list := planned(t, 1000)
	for _, c := range list {
		s := c.Last()
		spec := *l.Spec
		spec.Faults.Rules = []world.FaultRule{s.Rule(0)}
		_, src, seen := play(t, &spec, tape.Tape{Seed: 7})
		nth, err := sweep.NumberOf(&spec, s, src.Decisions(), src.Times())
		if err != nil || len(seen) > 0 {
			t.Fatalf("%s: %v, strikes %v", c.Key(), err, seen)
		}
		spec.Faults.Rules = []world.FaultRule{s.Rule(nth)}
		tp, err := sweep.Parts(&spec, c.Strikes, 7)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, seen := play(t, &spec, tp); !slices.Equal(seen, []struck{wants(s)}) {
			t.Fatalf("%s, %s: %v", c.Key(), fault.Sentence(&spec.Faults.Rules[0]), seen)
		}
		if _, err := fault.Parse(fault.Sentence(&spec.Faults.Rules[0])); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFewMomentsOfAClassAreSpread(t *testing.T) {
	_, all := planned(t, 1000)
	_, few := planned(t, 3)
	of := func(list []sweep.Candidate) map[string][]uint64 {
		classes := map[string][]uint64{}
		for _, c := range list {
			classes[c.Class()] = append(classes[c.Class()], c.Last().Event)
		}
		return classes
	}
	for class, events := range of(all) {
		some := of(few)[class]
		if len(some) != min(3, len(events)) || some[0] != events[0] || some[len(some)-1] != events[len(events)-1] {
			t.Errorf("%s: %v of %v", class, some, events)
		}
	}
}

func TestNothingToSweep(t *testing.T) {
	if _, err := sweep.NewLayout(&world.Spec{Nodes: []world.Node{{Name: "c", Role: world.Client}}}, sweep.Kinds); err == nil {
		t.Error("a world without a server can be swept")
	}
}
