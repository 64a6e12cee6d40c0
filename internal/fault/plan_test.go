package fault

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

const stepNs = 10_000_000

func threeNodes(rules ...world.FaultRule) *world.Spec {
	return &world.Spec{
		Nodes: []world.Node{{Name: "n1", Role: world.Server}, {Name: "n2", Role: world.Server},
			{Name: "n-3", Role: world.Server}, {Name: "load", Role: world.Client}},
		Faults: world.Faults{Enabled: true, Rules: rules},
	}
}

func mustPlan(t *testing.T, spec *world.Spec) *Plan {
	t.Helper()
	p, err := New(spec)
	if err != nil {
		t.Fatal(err)
	}
	p.BeginChaos(tape.NewSource(tape.Tape{}), 0)
	return p
}

// play runs steps of a plan and writes down what starts and what ends.
func play(p *Plan, src Chooser, steps int) string {
	var b strings.Builder
	for i := range steps {
		now := int64(i) * stepNs
		for _, a := range p.Ended(now) {
			fmt.Fprintf(&b, "%dms end %d %s %s\n", now/1e6, a.ID, a.Kind, a.Target)
		}
		for _, a := range p.Step(src, &Moment{NowNs: now}) {
			fmt.Fprintf(&b, "%dms %d %s %s %dms %v\n", now/1e6, a.ID, a.Kind, a.Target, a.DurationNs/1e6, a.Directions)
			p.Ledger.Begun(&a, uint64(i))
			p.Ledger.Delivered(&a)
		}
	}
	return b.String()
}

func TestPlanIsAStory(t *testing.T) {
	p := mustPlan(t, threeNodes(
		world.FaultRule{Kind: "partition", RatePPM: 1, MinNs: 15e6, MaxNs: 30e6},
		world.FaultRule{Kind: "crash", RatePPM: 1, MinNs: 20e6, MaxNs: 20e6},
		world.FaultRule{Kind: "pause", RatePPM: 1, MinNs: 10e6, MaxNs: 10e6}))
	set := func(stream string, step, value uint64) tape.Edit {
		return tape.Edit{Op: tape.Set, Stream: stream, From: step, Value: value}
	}
	got := play(p, tape.NewSource(tape.Tape{Edits: []tape.Edit{
		{Op: tape.Default, Stream: "**"},
		set("fault/partition/n1", 1, 1),      // shortest, from everybody
		set("fault/partition/n1", 2, 1),      // under way already
		set("fault/partition/n1", 4, 32),     // longest, from servers alone
		set("fault/partition/load-n2", 5, 1), // one link of a client
		set("fault/crash/n-3", 2, 1),
		set("fault/pause/n-3", 3, 1), // the node is down: nothing happens
		set("fault/pause/n2", 3, 16),
	}}), 9)
	want := `10ms 1 partition n1 15ms [{n1 n2} {n2 n1} {n1 n-3} {n-3 n1} {n1 load} {load n1}]
20ms 2 crash n-3 20ms []
30ms end 1 partition n1
30ms 3 pause n2 10ms []
40ms end 2 crash n-3
40ms end 3 pause n2
40ms 4 partition n1 30ms [{n1 n2} {n2 n1} {n1 n-3} {n-3 n1}]
50ms 5 partition load-n2 15ms [{load n2} {n2 load}]
70ms end 4 partition n1
70ms end 5 partition load-n2
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	wantEntries := []Entry{{Kind: Partition, Planned: 3, Delivered: 3}, {Kind: Crash, Planned: 1, Delivered: 1},
		{Kind: Pause, Planned: 1, Delivered: 1}}
	if !reflect.DeepEqual(p.Ledger.Entries, wantEntries) {
		t.Errorf("ledger %+v", p.Ledger.Entries)
	}
	if s := p.Ledger.Injections[0]; s.EndNs != 25e6 {
		t.Errorf("partition that lasts 15 ms from 10 ms on ends at %d", s.EndNs)
	}
}

func TestOneWay(t *testing.T) {
	p := mustPlan(t, threeNodes(
		world.FaultRule{Kind: "partition", RatePPM: tape.Certain, Targets: []string{"n1->n-3"}},
		world.FaultRule{Kind: "partition", RatePPM: tape.Certain, LinkEffect: world.LinkEffect{OneWay: true}, Targets: []string{"n1-n2"}}))
	src := tape.NewSource(tape.Tape{Edits: []tape.Edit{
		{Op: tape.Set, Stream: "fault/partition-oneway/n1-n2", From: 0, Value: DurationSteps + 1}}})
	started := p.Step(src, &Moment{})
	if len(started) != 2 {
		t.Fatalf("started %+v", started)
	}
	for _, c := range []struct {
		from, to string
		id       int
	}{{"n1", "n-3", 1}, {"n-3", "n1", 0}, {"n2", "n1", 2}, {"n1", "n2", 0}, {"load", "n1", 0}} {
		if id := p.Blocked(c.from, c.to); id != c.id {
			t.Errorf("Blocked(%s, %s) = %d, want %d", c.from, c.to, id, c.id)
		}
	}
	if healed := p.Heal(5e6); len(healed) != 2 || p.Blocked("n1", "n-3") != 0 || p.Step(src, &Moment{NowNs: 6e6}) != nil {
		t.Errorf("after the heal: healed %+v, blocked %d", healed, p.Blocked("n1", "n-3"))
	}
}

// Removing a rule or a target must leave every other injection where it was, but for those that the removed one kept
// out.
func TestRemovalShiftsNothing(t *testing.T) {
	crash := world.FaultRule{Kind: "crash", RatePPM: 20_000, MinNs: 1e6, MaxNs: 2e6}
	pause := world.FaultRule{Kind: "pause", RatePPM: 20_000, MinNs: 1e6, MaxNs: 2e6, Targets: []string{"n1"}}
	cut := world.FaultRule{Kind: "partition", RatePPM: 5_000, MinNs: 1e6, MaxNs: 9e6}
	injections := func(drop world.FaultKind, spec *world.Spec) []string {
		p := mustPlan(t, spec)
		play(p, tape.NewSource(tape.Tape{Seed: 7}), 2000)
		var list []string
		for _, s := range p.Ledger.Injections {
			if s.Kind != drop {
				list = append(list, fmt.Sprint(s.Kind, s.Target, s.StartNs, s.EndNs))
			}
		}
		return list
	}
	all := injections(Partition, threeNodes(cut, crash, pause))
	if len(all) < 50 {
		t.Fatalf("only %d injections", len(all))
	}
	if got := injections("", threeNodes(crash, pause)); !reflect.DeepEqual(got, all) {
		t.Errorf("without the partition rule: %d injections, with it %d", len(got), len(all))
	}
}

func TestMaxBoundsARule(t *testing.T) {
	p := mustPlan(t, threeNodes(world.FaultRule{Kind: "crash", RatePPM: tape.Certain, Max: 2, MinNs: 1, MaxNs: 1}))
	play(p, tape.NewSource(tape.Tape{Seed: 1}), 50)
	if e := p.Ledger.Entries[0]; e.Planned != 2 {
		t.Errorf("planned %d, want 2", e.Planned)
	}
}

func TestClientsSufferLinkFaultsOnly(t *testing.T) {
	p := mustPlan(t, threeNodes(world.FaultRule{Kind: "crash", RatePPM: 1}, world.FaultRule{Kind: "pause", RatePPM: 1},
		world.FaultRule{Kind: "partition", RatePPM: 1}))
	for _, r := range p.Rules {
		for _, target := range r.Targets {
			if target.Name == "load" {
				t.Errorf("%s affects the client itself", r.Kind)
			}
		}
	}
	if n := len(p.Rules[2].Targets); n != 3+6 {
		t.Errorf("a partition has %d targets, want 3 servers and 6 links", n)
	}
}

// Nodes that share no network have no link that a fault could affect.
func TestLinksOfNetworks(t *testing.T) {
	s := &world.Spec{TimeStepNs: 1, Networks: []world.Network{{Name: "front"}, {Name: "back"}},
		Faults: world.Faults{Enabled: true, Rules: []world.FaultRule{{Kind: Drop, RatePPM: 1}}}}
	for name, networks := range map[string][]string{"web": {"front"}, "app": {"back", "front"}, "db": {"back"}, "alone": nil} {
		n := world.Node{Name: name, Role: world.Server}
		for _, on := range networks {
			n.Attachments = append(n.Attachments, world.Attachment{Network: on})
		}
		s.Nodes = append(s.Nodes, n)
	}
	slices.SortFunc(s.Nodes, func(a, b world.Node) int { return strings.Compare(a.Name, b.Name) })
	p, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	var links []string
	for _, target := range p.Rules[0].Targets {
		links = append(links, target.Name)
	}
	if !slices.Equal(links, []string{"app-db", "app-web"}) {
		t.Errorf("links %q", links)
	}
}

func TestBadTargets(t *testing.T) {
	for _, c := range []struct{ kind, target, want string }{
		{"crash", "load", "only link faults affect clients"},
		{"pause", "n1-n2", "affects nodes"},
		{"partition", "n9", `unknown node or link "n9"; nodes are n1, n2, n-3, load`},
		{"drop", "n1->n1", "with itself"},
	} {
		_, err := New(threeNodes(world.FaultRule{Kind: world.FaultKind(c.kind), RatePPM: 1, Targets: []string{c.target}}))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s on %s: %v, want %q", c.kind, c.target, err, c.want)
		}
	}
}

func TestUnsupportedKindsAreNamed(t *testing.T) {
	p := mustPlan(t, threeNodes(world.FaultRule{Kind: "solar_flare", RatePPM: 5}, world.FaultRule{Kind: "bit_rot"}))
	if !reflect.DeepEqual(p.Unsupported, []world.FaultKind{"solar_flare"}) {
		t.Errorf("unsupported: %v", p.Unsupported)
	}
}

func TestPacketRates(t *testing.T) {
	p := mustPlan(t, threeNodes(
		world.FaultRule{Kind: "drop", RatePPM: 10},
		world.FaultRule{Kind: "drop", RatePPM: 500, Targets: []string{"n1->n2"}},
		world.FaultRule{Kind: "delay", RatePPM: 7, MinNs: 3, MaxNs: 9, Targets: []string{"n2"}}))
	for _, c := range []struct {
		from, to string
		want     Rates
	}{
		{"n1", "n2", Rates{DropRate: {PPM: 500, Rule: 2}, DelayRate: {7, 3, 9, 3}}},
		{"n2", "n1", Rates{DropRate: {PPM: 10, Rule: 1}, DelayRate: {7, 3, 9, 3}}},
		{"load", "n1", Rates{DropRate: {PPM: 10, Rule: 1}}},
		{"n1", "n1", Rates{}},
	} {
		if got := p.Packet(&Moment{}, c.from, c.to); got != c.want {
			t.Errorf("Packet(%s, %s) = %+v, want %+v", c.from, c.to, got, c.want)
		}
	}
	p.Heal(0)
	if got := p.Packet(&Moment{}, "n1", "n2"); got != (Rates{}) {
		t.Errorf("after the heal: %+v", got)
	}
}

// A plan that was encoded and decoded in the middle of a run continues as if nothing had happened.
func TestPlanSurvivesEncoding(t *testing.T) {
	spec := threeNodes(world.FaultRule{Kind: "partition", RatePPM: 30_000, LinkEffect: world.LinkEffect{OneWay: true}},
		world.FaultRule{Kind: "crash", RatePPM: 30_000}, world.FaultRule{Kind: "drop", RatePPM: 3})
	p := mustPlan(t, spec)
	src := tape.NewSource(tape.Tape{Seed: 3})
	play(p, src, 100)
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(p); err != nil {
		t.Fatal(err)
	}
	var q Plan
	if err := gob.NewDecoder(&b).Decode(&q); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(*p, q) {
		t.Fatalf("decoded\n%+v\nwant\n%+v", q, *p)
	}
	other := tape.NewSource(tape.Tape{})
	other.Restore(src.State())
	if got, want := play(&q, other, 300), play(p, src, 300); got != want || len(want) == 0 {
		t.Errorf("the copy went on differently:\n%s\nwant\n%s", got, want)
	}
}

func TestObservedCountsEachInjectionOnce(t *testing.T) {
	var l Ledger
	l.plan(Crash, 0)
	a := Action{ID: 1, Kind: Crash}
	l.Begun(&a, 10)
	l.Delivered(&a)
	l.Observed(1, 12)
	l.Observed(1, 13)
	l.DeliveredPacket(Drop, 0)
	l.ObservedPacket(Drop, 0, 14)
	want := []Entry{{Kind: Drop, Planned: 1, Delivered: 1, Observed: 1, FirstObserved: 14},
		{Kind: Crash, Planned: 1, Delivered: 1, Observed: 1, FirstObserved: 12}}
	if !reflect.DeepEqual(l.Entries, want) {
		t.Errorf("%+v, want %+v", l.Entries, want)
	}
	var sum Ledger
	sum.Add(&l)
	sum.Add(&l)
	if sum.Entries[1].Observed != 2 {
		t.Errorf("sum %+v", sum.Entries)
	}
}

// Where a kind has several rules, the ledger counts each: injections, packets and calls.
func TestRulesAreCounted(t *testing.T) {
	spec := &world.Spec{MaxTimeNs: 1e12, Nodes: []world.Node{{Name: "a", Role: world.Server}, {Name: "b", Role: world.Server}},
		Faults: world.Faults{Enabled: true, Rules: []world.FaultRule{
			{Kind: "crash", RatePPM: tape.Certain, Targets: []string{"a"}, MinNs: 1, MaxNs: 1}, {Kind: "pause", RatePPM: tape.Certain, When: "false"},
			{Kind: "crash", RatePPM: tape.Certain, When: "event > 5"}, {Kind: "write_fail", RatePPM: tape.Certain, Max: 1},
			{Kind: "write_fail", RatePPM: tape.Certain, Trigger: world.Trigger{Path: "x"}},
			{Kind: "drop", RatePPM: 5}, {Kind: "drop", RatePPM: 7, Targets: []string{"a->b"}}}}}
	p, err := New(spec)
	if err != nil {
		t.Fatal(err)
	}
	src := tape.NewSource(tape.Tape{Seed: 1})
	p.BeginChaos(src, 0)
	for _, a := range p.Step(src, &Moment{}) {
		p.Ledger.Begun(&a, 1)
		p.Ledger.Delivered(&a)
		p.Ledger.Observed(a.ID, 2)
	}
	for _, file := range []string{"/x", "/x", "/y"} {
		if h := p.Call(src, &Moment{}, &Call{Node: "a", Name: "write", Op: Write, Path: file, Bytes: 1}); h.Kind != "" {
			p.Ledger.ObservedPacket(h.Kind, h.Rule, 3)
		}
	}
	if r := p.Packet(&Moment{}, "a", "b"); r[DropRate].Rule != 7 || p.Packet(&Moment{}, "b", "a")[DropRate].Rule != 6 {
		t.Errorf("rates %+v", r)
	}
	var sum Ledger
	sum.Add(&Ledger{})
	sum.Add(&p.Ledger)
	var got []string
	for _, r := range sum.Rules {
		got = append(got, fmt.Sprint(r.Rule, " ", r.Text, " ", r.Planned, r.Delivered, r.Observed))
	}
	want := []string{"1 crash on a rate 1 for 1ns 1 1 1", "3 crash when event > 5 0 0 0", "4 write_fail rate 1 max 1 1 1 1", "5 write_fail of x rate 1 1 1 1",
		"6 drop rate 0.000005 0 0 0", "7 drop on a->b rate 0.000007 0 0 0"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// How long the node of a restart is down begins when its programs have ended, whenever that is, and nothing else that stops
// the node is injected meanwhile.
func TestRestartLastsFromTheStop(t *testing.T) {
	p := mustPlan(t, threeNodes(world.FaultRule{Kind: "restart", RatePPM: tape.Certain, Targets: []string{"n1"}, MinNs: 5, MaxNs: 5},
		world.FaultRule{Kind: "crash", RatePPM: tape.Certain, Targets: []string{"n1"}, MinNs: 5, MaxNs: 5}))
	src := tape.NewSource(tape.Tape{Seed: 1})
	p.BeginChaos(src, 0)
	a := p.Step(src, &Moment{NowNs: 10})
	if len(a) != 1 || a[0].Kind != Restart {
		t.Fatalf("%+v", a)
	}
	p.Ledger.Begun(&a[0], 1)
	p.Ledger.Delivered(&a[0])
	if more := p.Step(src, &Moment{NowNs: 20}); len(more) != 0 {
		t.Errorf("a node that stops is hit again: %+v", more)
	}
	if ended := p.Ended(1e18); len(ended) != 0 {
		t.Errorf("it ended before the node was down: %+v", ended)
	}
	p.Down(a[0].ID, 100)
	if end, ok := p.NextEndNs(); !ok || end != 105 || p.Ledger.Injections[0].EndNs != 105 {
		t.Errorf("it ends at %d, the ledger says %d", end, p.Ledger.Injections[0].EndNs)
	}
	if ended := p.Ended(105); len(ended) != 1 {
		t.Errorf("it did not end: %+v", p.Active)
	}
}

// A tape may set the rate of a rule for its run: off, lower or higher. What always happens does so at any rate, and without such
// an edit no seed changes a rate.
func TestRatesOfATape(t *testing.T) {
	spec := threeNodes(world.FaultRule{Kind: "crash", RatePPM: 1000}, world.FaultRule{Kind: "drop", RatePPM: 1000},
		world.FaultRule{Kind: "pause", RatePPM: tape.Certain})
	for v, want := range map[uint64]uint64{0: 1000, RateAsIs: 1000, RateAsIs + 3: 8000, RateAsIs - 2: 250, RateOff + 1: 15, RateChoices - 1: tape.Certain - 1} {
		p := mustPlan(t, spec)
		var edits []tape.Edit
		for rule := 1; rule <= 3; rule++ {
			edits = append(edits, tape.Edit{Op: tape.Set, Stream: RateStream(rule), Value: v})
		}
		p.BeginChaos(tape.NewSource(tape.Tape{Seed: v, Edits: edits}), 0)
		if p.Rules[0].RatePPM != want || p.Packet(&Moment{}, "n1", "n2")[DropRate].PPM != want || p.Rules[2].RatePPM != tape.Certain {
			t.Errorf("%d: %+v", v, p.Rules)
		}
	}
	p := mustPlan(t, spec)
	src := tape.NewSource(tape.Tape{Edits: []tape.Edit{{Op: tape.Set, Stream: RateStream(2), Value: RateOff},
		{Op: tape.Set, Stream: RateStream(3), Value: RateOff}}})
	p.BeginChaos(src, 0)
	if started := p.Step(src, &Moment{}); len(started) > 0 || p.Packet(&Moment{}, "n1", "n2")[DropRate].PPM != 0 || p.Harms() {
		t.Errorf("rules that are off inject: %+v", started)
	}
}

// The ledger has what waits for a time or an event that the chaos phase did not reach.
func TestUnreached(t *testing.T) {
	for when, want := range map[string]uint64{
		After(6e9): 1, After(5e9): 0, AfterEvent(8): 1, AfterEvent(7): 0, All(After(1), AfterEvent(8)): 1, All(After(6e9), `target == "n1"`): 1,
		"time_s > 5.5": 1, "time_s > 6 && true": 1, "time_s > 6 or event > 1": 0, "time_s > operations": 0, "operations > 9": 0, "": 0,
	} {
		p, err := New(threeNodes(world.FaultRule{Kind: "crash", RatePPM: tape.Certain, When: when}, world.FaultRule{Kind: "crash", RatePPM: 1}))
		if err != nil {
			t.Fatal(err)
		}
		p.BeginChaos(tape.NewSource(tape.Tape{}), 10e9)
		p.Unreached(&Moment{NowNs: 15e9, Event: 7})
		if e, r := p.Ledger.Entries[0], p.Ledger.Rules[0]; e.Unreached != want || r.Unreached != want ||
			(e.Awaits() != "") != (want == 1) || p.Ledger.Rules[1].Unreached != 0 {
			t.Errorf("%q: %+v", when, p.Ledger)
		}
		if p.Ledger.plan(Crash, 2); p.Ledger.Entries[0].Awaits() != "" || (p.Ledger.Rules[0].Awaits() != "") != (want == 1) {
			t.Errorf("%q, and another rule strikes: %+v", when, p.Ledger)
		}
	}
}
