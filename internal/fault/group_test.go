package fault

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

func servers(n int, rules ...world.FaultRule) *world.Spec {
	s := &world.Spec{Nodes: []world.Node{{Name: "load", Role: world.Client}}, Faults: world.Faults{Enabled: true, Rules: rules}}
	for i := range n {
		s.Nodes = append(s.Nodes, world.Node{Name: fmt.Sprintf("n%d", i+1), Role: world.Server})
	}
	return s
}

// injections lists all the ways in which a rule injects into its one target.
func injections(t *testing.T, n int, r world.FaultRule) []Action {
	t.Helper()
	r.Kind, r.RatePPM = Partition, tape.Certain
	p := mustPlan(t, servers(n, r))
	rule := &p.Rules[0]
	if len(rule.Targets) != 1 {
		t.Fatalf("%d targets", len(rule.Targets))
	}
	var list []Action
	for k := range rule.shapes(&rule.Targets[0]) {
		var a Action
		p.aim(&a, rule, &rule.Targets[0], k)
		list = append(list, a)
	}
	return list
}

func TestHalvesOfAGroup(t *testing.T) {
	var got []string
	for _, a := range injections(t, 4, world.FaultRule{LinkEffect: world.LinkEffect{Shape: Halves}}) {
		got = append(got, a.Target)
		one, two, _ := strings.Cut(a.Target, " | ")
		for _, x := range strings.Split(one, ",") {
			for _, y := range strings.Split(two, ",") {
				if !slices.Contains(a.Directions, Direction{x, y}) || !slices.Contains(a.Directions, Direction{y, x}) {
					t.Errorf("%s: %s still reaches %s: %v", a.Target, x, y, a.Directions)
				}
			}
		}
		if want := 2 * (strings.Count(one, ",") + 1) * (strings.Count(two, ",") + 1); len(a.Directions) != want {
			t.Errorf("%s: %d cuts, want %d: %v", a.Target, len(a.Directions), want, a.Directions)
		}
	}
	want := []string{"n1,n3,n4 | n2", "n1,n2,n4 | n3", "n1,n4 | n2,n3", "n1,n2,n3 | n4", "n1,n3 | n2,n4", "n1,n2 | n3,n4", "n1 | n2,n3,n4"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	var oneWay []string
	for _, a := range injections(t, 2, world.FaultRule{LinkEffect: world.LinkEffect{Shape: Halves, OneWay: true}}) {
		oneWay = append(oneWay, fmt.Sprint(a.Target, a.Directions))
	}
	if want := []string{"n1 |> n2[{n1 n2}]", "n1 <| n2[{n2 n1}]"}; !slices.Equal(oneWay, want) {
		t.Errorf("one way: %q, want %q", oneWay, want)
	}
}

// With three servers a bridge is the smallest partition that is not transitive.
func TestBridge(t *testing.T) {
	var got []string
	for _, a := range injections(t, 3, world.FaultRule{LinkEffect: world.LinkEffect{Shape: Bridge}}) {
		got = append(got, fmt.Sprint(a.Target, a.Directions))
	}
	want := []string{"n2 | n3 over n1[{n2 n3} {n3 n2}]", "n1 | n3 over n2[{n1 n3} {n3 n1}]", "n1 | n2 over n3[{n1 n2} {n2 n1}]"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	five := injections(t, 5, world.FaultRule{LinkEffect: world.LinkEffect{Shape: Bridge}})
	if len(five) != 5*7 {
		t.Errorf("%d bridges of five servers, want 35", len(five))
	}
	for i := range five {
		if slices.ContainsFunc(five[:i], func(a Action) bool { return a.Target == five[i].Target }) {
			t.Errorf("%s comes twice", five[i].Target)
		}
	}
}

// In a ring each node hears a majority, itself included, and no two hear the same one.
func TestRing(t *testing.T) {
	for n := 3; n <= 9; n++ {
		rings := injections(t, n, world.FaultRule{LinkEffect: world.LinkEffect{Shape: Ring}})
		if want := []int{2, 6, 24, 120, 720, 720, 720}[n-3]; len(rings) != want {
			t.Errorf("%d rings of %d servers, want %d", len(rings), n, want)
		}
		seen := map[string]bool{}
		for _, a := range rings {
			if seen[a.Target] {
				t.Errorf("%s comes twice", a.Target)
			}
			seen[a.Target] = true
			heard := map[string]bool{}
			for i := range n {
				me := fmt.Sprintf("n%d", i+1)
				var set []string
				for j := range n {
					if from := fmt.Sprintf("n%d", j+1); !slices.Contains(a.Directions, Direction{from, me}) {
						set = append(set, from)
					}
				}
				if len(set) != n/2+1 || !slices.Contains(set, me) {
					t.Fatalf("%s: %s hears %v", a.Target, me, set)
				}
				heard[strings.Join(set, ",")] = true
			}
			if len(heard) != n {
				t.Fatalf("%s: only %d different majorities", a.Target, len(heard))
			}
		}
	}
}

// A group has a stream of its own, one injection at a time, and a heal.
func TestGroupIsATarget(t *testing.T) {
	p := mustPlan(t, servers(3,
		world.FaultRule{Kind: "partition", RatePPM: 1, LinkEffect: world.LinkEffect{Shape: Halves}, MinNs: 15e6, MaxNs: 30e6},
		world.FaultRule{Kind: "partition", RatePPM: 1,
			LinkEffect: world.LinkEffect{Shape: Bridge}, Targets: []string{"n3", "n2", "n1"}, MinNs: 20e6, MaxNs: 20e6},
		world.FaultRule{Kind: "partition", RatePPM: 1, LinkEffect: world.LinkEffect{Shape: Links}, MinNs: 10e6, MaxNs: 10e6}))
	set := func(stream string, step, value uint64) tape.Edit {
		return tape.Edit{Op: tape.Set, Stream: stream, From: step, Value: value}
	}
	got := play(p, tape.NewSource(tape.Tape{Edits: []tape.Edit{
		{Op: tape.Default, Stream: "**"},
		set("fault/partition-halves/servers", 1, 1),
		set("fault/partition-halves/servers", 2, 17), // under way already
		set("fault/partition-halves/servers", 3, 17),
		set("fault/partition-bridge/n3,n2,n1", 3, 1),
		set("fault/partition/n1-n2", 4, 1),
	}}), 6)
	want := `10ms 1 partition n1,n3 | n2 15ms [{n1 n2} {n2 n1} {n3 n2} {n2 n3}]
30ms end 1 partition n1,n3 | n2
30ms 2 partition n1,n2 | n3 15ms [{n1 n3} {n3 n1} {n2 n3} {n3 n2}]
30ms 3 partition n2 | n1 over n3 20ms [{n2 n1} {n1 n2}]
40ms 4 partition n1-n2 10ms [{n1 n2} {n2 n1}]
50ms end 2 partition n1,n2 | n3
50ms end 3 partition n2 | n1 over n3
50ms end 4 partition n1-n2
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestWrongShapes(t *testing.T) {
	for _, c := range []struct {
		rule world.FaultRule
		n    int
		want string
	}{
		{world.FaultRule{Kind: "clog", LinkEffect: world.LinkEffect{Shape: Halves}}, 3, "clog has no shape"},
		{world.FaultRule{Kind: "slow_disk", LinkEffect: world.LinkEffect{Shape: Majority}}, 3, "slow_disk has no shape"},
		{world.FaultRule{Kind: "crash", LinkEffect: world.LinkEffect{Shape: Ring}}, 3, "crash has no shape ring"},
		{world.FaultRule{Kind: "partition", LinkEffect: world.LinkEffect{Shape: Majority}}, 3, "use halves"},
		{world.FaultRule{Kind: "crash", LinkEffect: world.LinkEffect{Shape: Majority}}, 2, "at least 3 servers"},
		{world.FaultRule{Kind: "crash", LinkEffect: world.LinkEffect{Shape: Majority}}, 13, "at most 12 servers"},
		{world.FaultRule{Kind: "partition", LinkEffect: world.LinkEffect{Shape: "thirds"}}, 3, `unknown shape "thirds"`},
		{world.FaultRule{Kind: "partition", LinkEffect: world.LinkEffect{Shape: Links}, Targets: []string{"n1"}}, 3, "chooses its own targets"},
		{world.FaultRule{Kind: "partition", LinkEffect: world.LinkEffect{Shape: Bridge}}, 2, "at least 3 servers, but there are 2"},
		{world.FaultRule{Kind: "partition", LinkEffect: world.LinkEffect{Shape: Ring, OneWay: true}}, 3, "no direction"},
		{world.FaultRule{Kind: "partition", LinkEffect: world.LinkEffect{Shape: Halves}, Targets: []string{"n1", "load"}}, 3, `"load" is not a server`},
		{world.FaultRule{Kind: "partition", LinkEffect: world.LinkEffect{Shape: Halves}, Targets: []string{"n1", "n1"}}, 3, `"n1" is listed twice`},
		{world.FaultRule{Kind: "partition", LinkEffect: world.LinkEffect{Shape: Halves}}, 33, "at most 32 servers"},
		{world.FaultRule{Kind: "partition", LinkEffect: world.LinkEffect{Shape: Halves}, When: `role == "leader"`}, 3, "roles.n1"},
	} {
		c.rule.RatePPM = 1
		if _, err := New(servers(c.n, c.rule)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.rule, err, c.want)
		}
	}
}

// A majority goes at once: each set of servers that is one is drawn, those that are down already are left out, and no second one goes before
// they are back.
func TestMajority(t *testing.T) {
	r := world.FaultRule{Kind: "power_loss", LinkEffect: world.LinkEffect{Shape: Majority}, RatePPM: tape.Certain, MinNs: 5e6, MaxNs: 5e6, Max: 2}
	seen := map[string]int{}
	for seed := range uint64(200) {
		p := mustPlan(t, threeNodes(r, world.FaultRule{Kind: "crash", RatePPM: tape.Certain, Targets: []string{"n2"}, When: "time_s > 1"}))
		src := tape.NewSource(tape.Tape{Seed: seed})
		var nodes []string
		for _, a := range p.Step(src, &Moment{}) {
			if a.Kind != PowerLoss || a.Node != a.Target || a.DurationNs != 5e6 {
				t.Fatalf("%+v", a)
			}
			nodes = append(nodes, a.Node)
		}
		seen[strings.Join(nodes, " ")]++
		if a := p.Step(src, &Moment{NowNs: 1e6}); len(a) > 0 {
			t.Fatalf("again before they are back: %+v", a)
		}
		p.Ended(10e6)
		if p.Step(src, &Moment{NowNs: 20e6}); p.Rules[0].Injected != 2 {
			t.Fatalf("injected %d times", p.Rules[0].Injected)
		}
		p.Ended(60e6)
		if a := p.Step(src, &Moment{NowNs: 70e6}); len(a) > 0 {
			t.Fatalf("more often than allowed: %+v", a)
		}
	}
	want := []string{"n1 n2", "n1 n-3", "n2 n-3", "n1 n2 n-3"}
	for _, nodes := range want {
		if seen[nodes] < 20 {
			t.Errorf("%q is drawn %d of 200 times", nodes, seen[nodes])
		}
	}
	if len(seen) != len(want) {
		t.Errorf("drawn %v", seen)
	}
	p := mustPlan(t, threeNodes(r))
	p.Active = append(p.Active, Action{ID: 9, Kind: Crash, Target: "n1", Node: "n1", DurationNs: 1e9})
	for _, a := range p.Step(tape.NewSource(tape.Tape{Seed: 1}), &Moment{}) {
		if a.Node == "n1" {
			t.Error("a server that is down loses its power")
		}
	}
}
