package fault

import (
	"reflect"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

func TestSentences(t *testing.T) {
	for _, c := range []struct {
		text string
		want world.FaultRule
	}{
		{"crash rate 0.5%", world.FaultRule{Kind: "crash", RatePPM: 5000}},
		{"crash on n1, n2 at fsync,fdatasync of *.wal rate 0.1 for 500ms..3s max 2",
			world.FaultRule{Kind: "crash", RatePPM: 100_000, Targets: []string{"n1", "n2"},
				Trigger: world.Trigger{At: []string{"fsync", "fdatasync"}, Path: "*.wal"},
				MinNs:   500e6, MaxNs: 3e9, Max: 2}},
		{"partition on n1-n2 one way after 5s while leader max 1",
			world.FaultRule{Kind: "partition", RatePPM: tape.Certain, Targets: []string{"n1-n2"}, LinkEffect: world.LinkEffect{OneWay: true}, Max: 1,
				When: `(time_s >= 5) and (role == "leader")`}},
		{"pause after event 1000 when node == 'n1' or struck > 2",
			world.FaultRule{Kind: "pause", RatePPM: tape.Certain, When: `(event >= 1000) and (node == 'n1' or struck > 2)`}},
		{"clock_skew rate 1% by 100ms..2s", world.FaultRule{Kind: "clock_skew", RatePPM: 10_000, Least: 100e6, Most: 2e9}},
		{"clock_drift on n1 rate 1 by 200ppm", world.FaultRule{Kind: "clock_drift", RatePPM: tape.Certain, Targets: []string{"n1"}, Least: 200e3, Most: 200e3}},
		{"power_loss during fsync of *.wal",
			world.FaultRule{Kind: "power_loss", RatePPM: tape.Certain,
				Trigger: world.Trigger{Moment: world.During, At: []string{"fsync"}, Path: "*.wal"}}},
		{"crash after fsync, fdatasync of *.wal after 5s after event 7 rate 1%", world.FaultRule{Kind: "crash", RatePPM: 10_000,
			Trigger: world.Trigger{Moment: world.AfterCall, At: []string{"fsync", "fdatasync"}, Path: "*.wal"}, When: "(time_s >= 5) and (event >= 7)"}},
		{"power_loss after reply nth 3 while leader",
			world.FaultRule{Kind: "power_loss", RatePPM: tape.Certain,
				Trigger: world.Trigger{Moment: world.AfterReply, NthFrom: 3, NthTo: 3}, When: `role == "leader"`}},
		{"crash between fsync, fdatasync of *.tmp and rename of *.snap max 1",
			world.FaultRule{Kind: "crash", RatePPM: tape.Certain,
				Trigger: world.Trigger{Moment: world.Between, At: []string{"fsync", "fdatasync"}, Path: "*.tmp", Then: []string{"rename"},
					ThenPath: "*.snap"}, Max: 1}},
		{"crash at fsync of *.wal nth 1..200",
			world.FaultRule{Kind: "crash", RatePPM: tape.Certain,
				Trigger: world.Trigger{At: []string{"fsync"}, Path: "*.wal", NthFrom: 1, NthTo: 200}}},
		{`run "etcdctl put k 'a b'" on n1 rate 1% max 2`, world.FaultRule{Kind: "run", RatePPM: 10_000, Targets: []string{"n1"}, Max: 2,
			Command: []string{"etcdctl", "put", "k", "a b"}}},
		{`run 'sh -c "a | b"' after 5s`, world.FaultRule{Kind: "run", RatePPM: tape.Certain, When: "time_s >= 5", Command: []string{"sh", "-c", "a | b"}}},
		{"rollback on n1 rate 1% by 5s..20s", world.FaultRule{Kind: "rollback", RatePPM: 10_000, Targets: []string{"n1"}, Least: 5e9, Most: 20e9}},
		{"upgrade shape rolling rate 1%", world.FaultRule{Kind: "upgrade", RatePPM: 10_000, LinkEffect: world.LinkEffect{Shape: "rolling"}}},
		{"crash from start rate 1%", world.FaultRule{Kind: "crash", RatePPM: 10_000, FromStart: true}},
		{"drop rate 1 while role=leader", world.FaultRule{Kind: "drop", RatePPM: tape.Certain, When: `role == "leader"`}},
	} {
		c.want.ByUser = true
		got, err := Parse(c.text)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got %+v, %v\nwant %+v", c.text, got, err, c.want)
		}
	}
}

func TestBadSentences(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "needs a kind"},
		{"explode on n1 rate 1", `unknown kind of fault "explode"`},
		{"crash on n1", "how often"},
		{"crash rate 2", `the rate "2"`},
		{"run on n1 rate 1%", "a command in quotes"},
		{`run "ctl on n1 rate 1%`, "has no closing"},
		{`run "a | b" on n1 rate 1%`, "needs a shell"},
		{`run "" on n1 rate 1%`, "the command is empty"},
		{"crash rate", "followed by a number"},
		{"crash rate 0.0000001", "below one in a million"},
		{"crash rate 1 for 3s..1s", `"3s..1s" is neither a duration`},
		{"crash rate 1 max 0", `"max" must be followed by a number of at least 1`},
		{"crash rate 1 max many", `followed by a number, not by "many"`},
		{"crash on n1, rate", "how often"},
		{"crash on n1,, rate 1", "joined by commas"},
		{"crash of *.wal rate 1", "follows system calls"},
		{"crash at fsync of a of b", `"of" appears twice`},
		{"crash at fsync after reply", "a rule has one moment"},
		{"crash between fsync of *.wal", "followed by two calls"},
		{"crash between fsync and", "followed by system calls"},
		{"crash at fsync nth 0", "neither the number of a call"},
		{"crash at fsync nth 5..2", "nor a range such as 1..200"},
		{"crash at fsync nth", "followed by the number of a call"},
		{"crash rate 1 rate 1", `"rate" appears twice`},
		{"crash rate 1 sometimes", `"sometimes" is not a clause`},
		{"crash one rate 1", `must be followed by "way"`},
		{"crash after 5 s", "followed by a duration"},
		{"crash rate 1% from the start", `"from" must be followed by "start"`},
		{"crash after", "followed by a duration"},
		{"crash rate 1 by 5s", "has no amount"},
		{"clock_skew rate 1 by 200ppm", "is neither a duration"},
		{"clock_drift rate 1 by 5s", "is neither a drift"},
		{"clock_drift rate 1 by 600000ppm", "the maximum is 500000ppm"},
		{"crash when", "followed by a condition"},
		{"crash after 5s after 6s", `"after" appears twice`},
		{"crash after event 5 after event 6", `"after event" appears twice`},
		{"pause rate 1 one way", "have no direction"},
		{"delay rate 1 one way", "write targets as a->b"},
		{"drop rate 1 for 5s", "has no duration"},
		{"delay rate 1 max 3", "not counted"},
	} {
		if r, err := Parse(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v; want %q", c.text, r, err, c.want)
		}
	}
}

// starts are when main programs have started, by node.
type starts map[string]int64

func (s starts) StartedNs(node string) (int64, bool) { ns, ok := s[node]; return ns, ok }

// ReadyNs has nodes be ready a second later.
func (s starts) ReadyNs(node string) (int64, bool) { ns, ok := s[node]; return ns + 1e9, ok }

func (s starts) NeverReady(node string) bool { _, ok := s[node]; return !ok }

func TestConditions(t *testing.T) {
	moment := func(edit func(m *Moment)) *Moment {
		m := &Moment{NowNs: 7e9, Event: 1000, Operations: 40, Logs: map[string]uint64{"elected": 2}, Roles: map[string][]string{"n1": {"leader"}}}
		if edit != nil {
			edit(m)
		}
		return m
	}
	for _, c := range []struct {
		when string
		m    *Moment
		want []string
	}{
		{"", moment(nil), []string{"n1", "n2", "n-3"}},
		{"event >= 1001", moment(nil), nil},
		{"event >= 1000", moment(nil), []string{"n1", "n2", "n-3"}},
		{"time_s >= 5", moment(nil), []string{"n1", "n2", "n-3"}}, // chaos began at 2 s
		{"time_s >= 5", moment(func(m *Moment) { m.NowNs = 6e9 }), nil},
		{`role == "leader"`, moment(nil), []string{"n1"}},
		{`role != "leader" and "leader" in values(roles)`, moment(nil), []string{"n2", "n-3"}},
		{`role != "leader" and "leader" in values(roles)`, moment(func(m *Moment) { m.Roles = nil }), nil},
		{`role == "leader"`, moment(func(m *Moment) { m.Roles["n1"] = []string{"leader", "writer"} }), []string{"n1"}},
		{`role != "leader"`, moment(func(m *Moment) { m.Roles["n1"] = []string{"leader", "writer"} }), []string{"n2", "n-3"}},
		{`"writer" == role and "leader" == roles.n1`, moment(func(m *Moment) { m.Roles["n1"] = []string{"leader", "writer"} }), []string{"n1"}},
		{`role in ["leader", "observer"]`, moment(func(m *Moment) { m.Roles["n1"] = []string{"leader", "writer"} }), []string{"n1"}},
		{`role not in ["leader", "observer"]`, moment(func(m *Moment) { m.Roles["n1"] = []string{"leader", "writer"} }), []string{"n2", "n-3"}},
		{`role == ""`, moment(nil), []string{"n2", "n-3"}},
		{`role startsWith "w"`, moment(func(m *Moment) { m.Roles["n1"] = []string{"leader", "writer"} }), []string{"n1"}},
		{`roles["n1"] == "leader" and roles[node] != "leader"`,
			moment(func(m *Moment) { m.Roles["n1"] = []string{"leader", "writer"} }), []string{"n2", "n-3"}},
		{`role == "" and "leader" in values(roles)`, moment(func(m *Moment) { m.Roles["n1"] = []string{"leader", "writer"} }), []string{"n2", "n-3"}},
		{"logs.elected == 2 and operations > 39", moment(nil), []string{"n1", "n2", "n-3"}},
		{"logs.nothing > 0", moment(nil), nil},
		{"active == 0", moment(nil), []string{"n1"}}, // then the first is under way
		{"up_s > 2", moment(nil), nil},
		{"up_s > 2", moment(func(m *Moment) {
			m.Mains = starts{"n1": 4e9, "n2": 6e9}
		}), []string{"n1"}},
		{"ready_s == 0", moment(nil), []string{"n1", "n2", "n-3"}},
		{"ready_s == 2", moment(func(m *Moment) {
			m.Mains = starts{"n1": m.NowNs - 3e9, "n2": m.NowNs - 2e9}
		}), []string{"n1"}},
		{`node matches "^n[0-9]$"`, moment(nil), []string{"n1", "n2"}},
	} {
		p, err := New(threeNodes(world.FaultRule{Kind: "crash", RatePPM: tape.Certain, When: c.when, MinNs: 1, MaxNs: 1}))
		if err != nil {
			t.Fatal(err)
		}
		src := tape.NewSource(tape.Tape{Seed: 1})
		p.BeginChaos(src, 2e9)
		var got []string
		for _, a := range p.Step(src, c.m) {
			got = append(got, a.Target)
		}
		if !reflect.DeepEqual(got, c.want) || p.Broken != "" {
			t.Errorf("%s: injected %v, want %v %s", c.when, got, c.want, p.Broken)
		}
	}
}

func TestBadConditions(t *testing.T) {
	for _, c := range []struct {
		rule world.FaultRule
		want string
	}{
		{world.FaultRule{When: "roel == 'leader'"}, "unknown name roel"},
		{world.FaultRule{When: "event"}, "must be true or false"},
		{world.FaultRule{When: "now().Unix() > 3"}, "unknown"},
		{world.FaultRule{When: strings.Repeat(" ", MaxConditionBytes) + "true"}, "the limit is"},
		{world.FaultRule{Trigger: world.Trigger{At: []string{"write"}, Path: "[a"}}, "not a valid pattern"},
		{world.FaultRule{Trigger: world.Trigger{Path: "*.wal"}}, "list some with at"},
		{world.FaultRule{Trigger: world.Trigger{At: []string{"fsync"}, Moment: world.Between, Then: []string{"rename"}, ThenPath: "[a"}},
			"not a valid pattern"},
		{world.FaultRule{Trigger: world.Trigger{At: []string{"fsync"}, Moment: world.Between}}, `"between" needs system calls`},
		{world.FaultRule{Trigger: world.Trigger{Moment: world.AfterCall}}, `"after" needs system calls`},
		{world.FaultRule{Trigger: world.Trigger{At: []string{"fsync"}, Moment: world.During}}, "simulation.cost.sync_ns"},
		{world.FaultRule{Trigger: world.Trigger{At: []string{"rename"}, Moment: world.During}}, "rename does not wait for the disk"},
		{world.FaultRule{Trigger: world.Trigger{NthFrom: 1, NthTo: 3}}, `"nth" counts system calls`},
	} {
		c.rule.Kind, c.rule.RatePPM = "crash", 1
		if _, err := New(threeNodes(c.rule)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.rule, err, c.want)
		}
	}
	if _, err := New(threeNodes(world.FaultRule{Kind: "drop", RatePPM: 1, Trigger: world.Trigger{At: []string{"write"}}})); err == nil {
		t.Error("a fault of packets is injected at a system call")
	}
	if _, err := New(threeNodes(world.FaultRule{Kind: "fsync_fail", RatePPM: 1,
		Trigger: world.Trigger{Moment: world.AfterCall, At: []string{"fsync"}}})); err == nil || !strings.Contains(err.Error(), `use "at"`) {
		t.Errorf("a failure of calls is injected after one: %v", err)
	}
	p := mustPlan(t, threeNodes(world.FaultRule{Kind: "crash", RatePPM: tape.Certain, When: "1 / struck > 100 and node[9:] == '' and event % struck == 0"}))
	p.Step(tape.NewSource(tape.Tape{}), &Moment{})
	if p.Broken == "" {
		t.Error("a condition that cannot be evaluated is not reported")
	}
}

// A rule with at draws once for each call that it is about, whatever else is called.
func TestRulesAtCalls(t *testing.T) {
	spec := threeNodes(world.FaultRule{Kind: "crash", RatePPM: tape.Certain, Trigger: world.Trigger{At: []string{"fsync", "rename"}, Path: "*.wal"},
		Max: 1, Targets: []string{"n1", "n2"}})
	p := mustPlan(t, spec)
	src := tape.NewSource(tape.Tape{Seed: 1})
	if want := []Watch{{Call: "fsync", Entered: true}, {Call: "rename", Entered: true}}; !reflect.DeepEqual(p.Watches(), want) {
		t.Errorf("calls %v", p.Watches())
	}
	if a := p.Step(src, &Moment{}); a != nil {
		t.Errorf("it injects once a time step: %+v", a)
	}
	for _, c := range []struct {
		node, call, file string
		want             int
	}{{"n1", "write", "/d/a.wal", 0}, {"n1", "fsync", "/d/a.log", 0}, {"n-3", "fsync", "/d/a.wal", 0},
		{"n2", "rename", "/d/a.wal", 1}, {"n1", "fsync", "/d/a.wal", 0}} {
		if got := p.Enter(src, &Moment{}, c.node, c.call, c.file); len(got) != c.want {
			t.Errorf("%+v: %+v", c, got)
		}
	}
	if got := p.Enter(src, &Moment{}, "n2", "fsync", "/d/b.log", "/d/c.log"); len(got) != 0 {
		t.Errorf("neither name: %+v", got)
	}
	if d := src.Decisions(); len(d) != 2 || d[0].Stream != "fault/crash@fsync+rename/n2" || d[0].Index != 0 || d[1].Stream != "fault/crash@fsync+rename/n1" {
		t.Errorf("decisions %+v", d)
	}
	for _, c := range []struct {
		pattern, file string
		want          bool
	}{{"*.wal", "/var/lib/x.wal", true}, {"/var/*/x.wal", "/var/lib/x.wal", true}, {"/var/*.wal", "/var/lib/x.wal", false}, {"", "", true}} {
		r := Rule{At: []string{"fsync"}, Path: c.pattern}
		if r.about("fsync", c.file) != c.want {
			t.Errorf("%q matches %q: %v", c.pattern, c.file, !c.want)
		}
	}
}

// A call with two names is one opportunity, and a condition is asked about the name that the pattern matches, the new one first.
func TestRulesAtCallsWithTwoNames(t *testing.T) {
	for _, c := range []struct {
		rule, from, to string
		want           int
	}{
		{"crash on n1 at rename of /d/a", "/d/a", "/d/b", 1},
		{"crash on n1 at rename of /d/b", "/d/a", "/d/b", 1},
		{"crash on n1 at rename of *.tmp when path == '/d/a.tmp'", "/d/a.tmp", "/d/b", 1},
		{"crash on n1 at rename of *.tmp when path == '/d/b.tmp'", "/d/a.tmp", "/d/b.tmp", 1},
		{"crash on n1 at rename when path == '/d/a'", "/d/a", "/d/b", 0},
		{"crash on n1 at rename of /d/c", "/d/a", "/d/b", 0},
	} {
		r, err := Parse(c.rule)
		if err != nil {
			t.Fatal(err)
		}
		r.RatePPM = tape.Certain
		src := tape.NewSource(tape.Tape{Seed: 1})
		p := mustPlan(t, threeNodes(r))
		if got := p.Enter(src, &Moment{}, "n1", "rename", c.to, c.from); len(got) != c.want {
			t.Errorf("%s, from %s to %s: %+v", c.rule, c.from, c.to, got)
		}
	}
}

func TestSwarmMasksKinds(t *testing.T) {
	spec := threeNodes(world.FaultRule{Kind: "crash", RatePPM: tape.Certain}, world.FaultRule{Kind: "pause", RatePPM: tape.Certain, Targets: []string{"n2"}},
		world.FaultRule{Kind: "drop", RatePPM: 1})
	spec.Faults.Swarm = true
	seen := map[string]int{}
	for seed := range uint64(400) {
		p, err := New(spec)
		if err != nil {
			t.Fatal(err)
		}
		src := tape.NewSource(tape.Tape{Seed: seed})
		p.BeginChaos(src, 0)
		p.Step(src, &Moment{})
		key := ""
		for _, k := range []world.FaultKind{Crash, Pause} {
			if p.Ledger.entry(k).Planned > 0 {
				key += string(k) + " "
			}
		}
		if p.Harms() {
			key += "drop"
		}
		if p.Harms() != (p.Packet(&Moment{}, "n1", "n2")[DropRate].PPM > 0) {
			t.Fatal("Harms and Packet do not agree")
		}
		seen[key]++
	}
	// Every subset but none at all; a crash keeps a pause from being injected into the same node.
	if len(seen) < 5 || seen[""] > 0 {
		t.Errorf("subsets %v", seen)
	}
	// The decisions of a tape that plays by default mask nothing.
	p := mustPlan(t, spec)
	src := tape.NewSource(tape.Tape{Edits: []tape.Edit{{Op: tape.Default, Stream: "**"}, {Op: tape.Set, Stream: "fault/crash/n1", Value: 1}}})
	p.BeginChaos(src, 0)
	if a := p.Step(src, &Moment{}); len(a) != 1 {
		t.Errorf("an injection that is set does not happen: %+v", a)
	}
}

func TestCalmTapes(t *testing.T) {
	spec := threeNodes(world.FaultRule{Kind: "crash", RatePPM: tape.Certain}, world.FaultRule{Kind: "drop", RatePPM: tape.Certain})
	p := mustPlan(t, spec)
	if src := tape.NewSource(tape.Tape{Seed: 3}); len(p.Step(src, &Moment{})) != 3 || !p.Harms() {
		t.Fatal("the tape has no faults")
	}
	p, _ = New(spec)
	src := tape.NewSource(Calm(tape.Tape{Seed: 3}))
	p.BeginChaos(src, 0)
	if a := p.Step(src, &Moment{}); a != nil || p.Harms() || p.Packet(&Moment{}, "n1", "n2") != (Rates{}) {
		t.Errorf("a baseline tape injects: %+v", a)
	}
}

// A rule is written as it is read.
func TestSentence(t *testing.T) {
	for _, text := range []string{
		"crash rate 0.05",
		"crash on n1, n2 at fsync of *.wal rate 0.1 for 500ms..3s max 1 when (time_s >= 5) and (role == \"leader\")",
		"partition on n1->n2 for 1s one way when time_s >= 5",
		"partition rate 0.01 shape halves",
		"clock_drift rate 0.000001 by 200ppm..500000ppm",
		"slow_disk on n1 by 5ms when operations > 100 and logs.elected < 2",
		"write_fail of /data/* rate 1",
		"power_loss on n1 during fsync of *.wal rate 0.1",
		"power_loss after reply nth 1..50 for 500ms..3s",
		"crash after rename of *.snap max 1 when time_s >= 5",
		"crash between fsync, fdatasync of *.tmp and rename of *.snap nth 7",
	} {
		r, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := Sentence(&r); got != text {
			t.Errorf("%q is written %q", text, got)
		}
	}
	if got := Sentence(&world.FaultRule{Kind: "crash", Text: "crash on n1 after 5s"}); got != "crash on n1 after 5s" {
		t.Errorf("a rule has the words that it was written with, not %q", got)
	}
}
