package check

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/sdk"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// commitWorld has the model of examples/conformance, and rules for what its programs write.
func commitWorld() *world.Spec {
	folder := filepath.Join("..", "..", "examples", "conformance")
	s := &world.Spec{}
	for _, name := range []string{"coordinator", "p1", "p2", "p3"} {
		s.Nodes = append(s.Nodes, world.Node{Name: name, Role: world.Server})
	}
	s.Nodes = append(s.Nodes, world.Node{Name: "driver", Role: world.Client})
	s.Properties = []world.Property{{Name: "conforms", Kind: world.Safety, Check: world.Check{Type: world.Conformance, Mapping: &world.Mapping{
		Spec: filepath.Join(folder, "Commit.tla"), Config: filepath.Join(folder, "Commit.cfg"), LeftOut: 0.05, Lines: `^\w`,
		Rules: []world.ModelRule{
			{Log: `^prepared`, Action: "Prepare", Args: []string{"node"}},
			{Log: `^vote (?P<p>\w+) makes (?P<n>\d+)`, Action: "Vote", Args: []string{"p"}, Shows: []world.Shown{{Operator: "Votes", Is: "int(n)"}}},
			{Log: `^decide (?P<what>\w+)`, Node: "coordinator", Action: "Decide", Args: []string{"what"}},
			{Log: `^learned (?P<what>\w+)`, Action: "Learn", Args: []string{"node", "what"}},
			{Crash: true, Action: "Crash", Args: []string{"node"}},
			{Restart: true, Action: "Recover", Args: []string{"node"}},
			{Log: `^idle`, Ignore: "it only waits"},
		}}}}}
	return s
}

// logged makes a run of lines such as "5 p1 prepared": the virtual time, the node, the text. The event's number is ten times the time.
func logged(lines ...string) *record.Outcome {
	out := &record.Outcome{Reason: record.Finished, VirtualNs: 1000}
	for _, l := range lines {
		words := strings.SplitN(l, " ", 3)
		at := int64(0)
		for _, d := range words[0] {
			at = 10*at + int64(d-'0')
		}
		out.Log = append(out.Log, record.LogLine{Position: record.PositionAt(uint64(10 * at)), TimeNs: at, Node: words[1], Stream: "stdout", Text: words[2]})
	}
	return out
}

func TestConforms(t *testing.T) {
	round := []string{"1 p1 prepared", "2 p2 prepared", "3 coordinator vote p1 makes 1", "4 p3 prepared",
		"5 coordinator vote p2 makes 2", "6 coordinator vote p3 makes 3",
		"7 coordinator decide commit", "8 p1 learned commit", "9 p2 learned commit", "10 p3 learned commit"}
	without := func(i int) []string { return slices.Delete(slices.Clone(round), i, i+1) }
	with := func(i int, line string) []string { return slices.Insert(slices.Clone(round), i, line) }
	crash := func(out *record.Outcome, kind world.FaultKind, node string, from, to int64) *record.Outcome {
		out.Ledger.Injections = append(out.Ledger.Injections, fault.Injection{Kind: kind, Target: node, Event: uint64(10*from) + 5, StartNs: from, EndNs: to})
		return out
	}
	lost := logged(round[:7]...)
	lost.LogLost = 3
	broken := logged(round[:6]...)
	broken.LogLost = 3
	broken.Log = append(broken.Log, record.LogLine{Position: record.PositionAt(61), TimeNs: 6, Node: "p1", Stream: "stdout", Text: "learned abort"})
	for _, c := range []struct {
		name   string
		out    *record.Outcome
		change func(*world.Mapping)
		status Status
		want   string
	}{
		{"all is as in the model", logged(round...), nil, Holds, "events: 10 mapped"},
		{"a decision too early", logged(without(5)...), nil, Violated,
			`step 6, Decide("commit"), is not allowed by the model: what = "commit" => votes = Participants is false (Commit, line 30, column 6)`},
		{"another count of votes", logged(slices.Concat(round[:4], []string{"5 coordinator vote p2 makes 3"})...), nil, Violated,
			`step 5, Vote("p2"), is not allowed by the model: Votes() is 2 after it, but the system shows 3`},
		{"a crash that loses the votes", crash(logged(round...), fault.PowerLoss, "coordinator", 5, 6), nil, Violated,
			`Votes() is 1 after it, but the system shows 3`},
		{"a crash of a participant", crash(logged(round...), fault.Crash, "p1", 5, 6), nil, Holds, "events: 12 mapped"},
		{"one that lasts to the end", crash(logged(round...), fault.Crash, "p1", 11, 2000), nil, Holds, "events: 11 mapped"},
		{"faults that take no server down", crash(crash(logged(round...), fault.Pause, "p1", 5, 6), fault.Crash, "driver", 5, 6),
			nil, Holds, "events: 10 mapped"},
		{"crashes without a rule", crash(logged(round...), fault.Crash, "p1", 5, 6), func(m *world.Mapping) { m.Rules = slices.Delete(m.Rules, 4, 6) }, Unknown,
			"16.7 % of the events were left out, but only 5.0 % may be (MostLeftOut of model.Options, left_out of a check): 10 mapped, " +
				"1 not modelled (crash of p1), 1 not modelled (restart of p1)"},
		{"lines without a rule", logged(with(3, "3 p1 hello")...), nil, Unknown,
			"9.1 % of the events were left out, but only 5.0 % may be (MostLeftOut of model.Options, left_out of a check): " +
				"10 mapped, 1 not modelled (log of p1)"},
		{"lines that are ignored", logged(with(3, "3 p1 idle")...), nil, Unknown, "1 ignored (it only waits)"},
		{"as many as may be", logged(with(3, "3 p1 idle")...), func(m *world.Mapping) { m.LeftOut = 0.1 }, Holds,
			"events: 10 mapped, 1 ignored (it only waits)"},
		{"lines that are no events", logged(with(3, "3 p1 > hello")...), nil, Holds, "events: 10 mapped; 1 log lines are not events"},
		{"no line is an event", crash(logged(round...), fault.Crash, "p1", 5, 6), func(m *world.Mapping) { m.Lines = "^nothing" }, Unknown,
			"none of 10 lines in the servers' logs is an event: `lines: '^nothing'` matches none"},
		{"there are no lines", crash(logged(), fault.Crash, "p1", 5, 6), nil, Holds, "events: 2 mapped"},
		{"no rule is about lines", crash(logged(round...), fault.Crash, "p1", 5, 6),
			func(m *world.Mapping) { m.Lines, m.Rules = "^nothing", m.Rules[4:6] }, Holds, "10 log lines are not events"},
		{"lines of clients", logged(with(3, "3 driver hello")...), nil, Holds, "events: 10 mapped"},
		{"the first rule decides", logged(round...), func(m *world.Mapping) {
			m.Rules = slices.Insert(m.Rules, 0, world.ModelRule{Log: "^learned", Node: "p.", Action: "Recover", Args: []string{"node"}})
		}, Holds, "events: 10 mapped"},
		{"a rule for another node", logged(round...), func(m *world.Mapping) { m.Rules[2].Node = "p1" }, Violated, "Learn"},
		{"a log that is cut", lost, nil, Unknown, "3 log lines were not kept"},
		{"a divergence before that", broken, nil, Violated, `Learn("p1", "abort")`},
		{"an argument that is no number", logged("1 p1 prepared"),
			func(m *world.Mapping) { m.Rules[0].Args = []string{"int(line)"} }, Unknown, "events[0], at p1: prepared: args[0]: "},
		{"nothing happened", logged(), nil, Unknown, "no event of the run was mapped to a step of the model"},
		{"no such file", logged(round...), func(m *world.Mapping) { m.Spec = "Missing.tla" }, Unknown, "the model cannot be loaded: stat Missing.tla"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := commitWorld()
			if c.change != nil {
				c.change(s.Properties[0].Check.Mapping)
			}
			v := Judge(s, c.out)[0]
			if v.Status != c.status || !strings.Contains(strings.Join(append(v.Evidence, v.Reason), "\n"), c.want) {
				t.Errorf("%s: %s\n%s", v.Status, v.Reason, strings.Join(v.Evidence, "\n"))
			}
		})
	}
}

// Events that servers report by an SDK and results of probes become steps, too.
func TestConformsByReportsAndProbes(t *testing.T) {
	s := commitWorld()
	m := s.Properties[0].Check.Mapping
	m.Rules[0] = world.ModelRule{SDK: `^ready {"as":"(?P<who>\w+)"}$`, Action: "Prepare", Args: []string{"who"}}
	m.Rules[3] = world.ModelRule{Probe: `^outcome of (?P<p>\w+) is (?P<what>\w+)`, Outcome: "ok", Action: "Learn", Args: []string{"p", "what"}}
	out := logged("4 coordinator decide abort")
	out.SDK.Events = []sdk.Event{
		{Name: "ready", Sighting: sdk.Sighting{Event: 10, TimeNs: 1, Node: "p1", Details: `{"as":"p1"}`}},
		{Name: "ready", Sighting: sdk.Sighting{Event: 11, TimeNs: 1, Node: "driver", Details: `{"as":"p2"}`}}, // no server
	}
	for _, e := range out.SDK.Events { // engines log them, too
		out.Log = append(out.Log, record.LogLine{Position: record.PositionAt(e.Event), TimeNs: e.TimeNs, Node: e.Node,
			Stream: "sdk", Text: e.Name + " " + e.Details})
	}
	out.Probes = []record.Probe{{Property: "outcome", Output: "of p1 is abort\n", Event: 60, EndNs: 6}}
	v := Judge(s, out)[0]
	if v.Status != Holds || v.Tally.Mapped != 3 {
		t.Errorf("%s: %s, %s", v.Status, v.Reason, v.Tally)
	}
	out.Probes[0].ExitCode = 1
	if v = Judge(s, out)[0]; v.Status != Unknown || !strings.Contains(v.Reason, "1 not modelled (probe of a client)") {
		t.Errorf("a probe that fails matches a rule for those that do not: %s: %s", v.Status, v.Reason)
	}
	out.Probes[0] = record.Probe{Property: "outcome", Output: "of p1 is commit", Event: 60, EndNs: 6}
	if v = Judge(s, out)[0]; v.Status != Violated || !strings.Contains(v.Reason, `Learn("p1", "commit")`) ||
		!strings.Contains(v.Evidence[0], "probe of outcome of p1 is commit") {
		t.Errorf("%s: %s\n%s", v.Status, v.Reason, strings.Join(v.Evidence, "\n"))
	}
	out.Probes, out.SDK.Unread, out.SDK.FirstUnread = nil, 2, "x"
	if v = Judge(s, out)[0]; v.Status != Unknown || !strings.Contains(v.Reason, "2 SDK lines could not be read or were not kept") {
		t.Errorf("%s: %s", v.Status, v.Reason)
	}
}

// A model that only guides judges nothing: where a run leaves it is reported with the event and the rule.
func TestGuide(t *testing.T) {
	s := commitWorld()
	s.Guide, s.Properties = s.Properties[0].Check.Mapping, nil
	s.Guide.Rules[2].At = "bloodhound.yaml:31"
	judged := func(out *record.Outcome, unwatched ...coverage.Domain) (*Judged, map[coverage.Domain]int) {
		j, counts := &Judged{Outcome: *out}, map[coverage.Domain]int{}
		j.Judge(s, true, unwatched...)
		for _, f := range j.Reached {
			counts[f.Domain]++
		}
		return j, counts
	}
	j, counts := judged(logged("1 p1 prepared", "2 coordinator vote p1 makes 1", "3 p2 prepared", "4 coordinator decide abort"))
	if j.Guide == nil || j.Guide.Mapped != 4 || j.Guide.Left+j.Guide.Failed != "" || counts[coverage.ModelState] != 5 ||
		counts[coverage.ModelEdge] != 4 || counts[coverage.Trace] != 1 {
		t.Errorf("%+v %v", j.Guide, counts)
	}
	early := logged("1 p1 prepared", "2 coordinator decide commit", "3 p2 prepared")
	j, counts = judged(early, coverage.Trace)
	want := `step 2, Decide("commit"), is not allowed by the model: what = "commit" => votes = Participants is false (Commit, line 30, column 6); the event is 0.000000 s (event 20) coordinator: decide commit, ` +
		`mapped by bloodhound.yaml:31, events[2] (log: '^decide (?P<what>\w+)' of coordinator); if the program is right, correct the rule or the specification`
	if j.Guide.Left != want || counts[coverage.ModelState] != 2 || counts[coverage.Trace] != 0 {
		t.Errorf("%+v %v", j.Guide, counts)
	}
	for _, v := range j.Verdicts {
		if v.Status != Holds {
			t.Errorf("%+v", v)
		}
	}
	if j, _ = judged(logged("1 p1 nothing that is known")); j.Guide.Mapped != 0 || j.Guide.Tally.Rules[0] != 0 {
		t.Errorf("%+v", j.Guide)
	}
}

// A search learns how close a run came to what the model has besides: here two votes of three are there for a commit, and nobody has learnt of one.
func TestNearInModels(t *testing.T) {
	out := logged("1 p1 prepared", "2 coordinator vote p1 makes 1", "3 p2 prepared", "4 coordinator vote p2 makes 2")
	s := commitWorld()
	s.Guide = s.Properties[0].Check.Mapping
	j := &Judged{Outcome: *out}
	j.Judge(s, true)
	near := map[string]coverage.Nearness{}
	for _, n := range j.Near {
		near[n.Name] = n
	}
	for _, of := range []string{"guide", "conforms"} {
		if n := near[of+": Decide possible"]; n.Distance != 0 || n.Domain != coverage.ModelGoal || n.Says != "it was" {
			t.Errorf("%+v", n)
		}
		if n := near[of+": Learn possible"]; n.Distance <= 0 || n.Distance >= 1 || n.Says != "decision = what was false" {
			t.Errorf("%+v", n)
		}
		if n := near[of+": Agreed false"]; n.Distance <= 0 || n.Distance >= 1 {
			t.Errorf("%+v", n)
		}
	}
	j = &Judged{Outcome: *out}
	if j.Judge(s, true, coverage.ModelGoal); len(j.Near) > 0 {
		t.Errorf("measured though nothing learns of it: %v", j.Near)
	}
}

// The order of events has neither their times nor what varies in lines.
func TestOrdered(t *testing.T) {
	s := commitWorld()
	first := ordered(s, logged("1 p1 took 5 ms", "2 p2 done", "3 driver x"))
	for want, out := range map[bool]*record.Outcome{true: logged("1 p1 took 77 ms", "9 p2 done"), false: logged("1 p2 done", "2 p1 took 5 ms")} {
		if (ordered(s, out) == first) != want {
			t.Errorf("the same order: want %v", want)
		}
	}
}

// Whichever action nothing is mapped to any more, the verdict does not stay "holds".
func TestConformsNeedsEachAction(t *testing.T) {
	out := logged("1 p1 prepared", "2 p2 prepared", "3 coordinator vote p1 makes 1", "4 p3 prepared",
		"5 coordinator vote p2 makes 2", "6 coordinator vote p3 makes 3",
		"7 coordinator decide commit", "8 p1 learned commit", "9 p2 learned commit", "10 p3 learned commit")
	out.Ledger.Injections = []fault.Injection{{Kind: fault.Crash, Target: "p1", Event: 55, StartNs: 5, EndNs: 6}}
	for i, r := range commitWorld().Properties[0].Check.Mapping.Rules {
		s := commitWorld()
		m := s.Properties[0].Check.Mapping
		m.Rules = slices.Delete(m.Rules, i, i+1)
		v := Judge(s, out)[0]
		if want := r.Action == ""; (v.Status == Holds) != want {
			t.Errorf("without the rule for %q: %s %s", r.Action, v.Status, v.Reason)
		}
	}
}

// What a run reaches in the model is reported, as the view shows it.
func TestModelled(t *testing.T) {
	out := logged("1 p1 prepared", "2 coordinator vote p1 makes 1", "3 p2 prepared", "4 coordinator decide abort")
	s := commitWorld()
	count := func() map[coverage.Domain]int {
		counts := map[coverage.Domain]int{}
		var b coverage.Behaviour
		follow(s, out, false, &b)
		for _, f := range b.Reached {
			counts[f.Domain]++
		}
		return counts
	}
	all := count()
	if all[coverage.ModelState] != 5 || all[coverage.ModelEdge] != 4 || all[coverage.ModelGuard] < 4 || all[coverage.ModelWhole] != 0 {
		t.Errorf("%v", all)
	}
	s.Properties[0].Check.Mapping.View = "Votes"
	if c := count(); c[coverage.ModelState] != 2 || c[coverage.ModelWhole] != 5 || c[coverage.ModelGuard] != all[coverage.ModelGuard] {
		t.Errorf("%v", c)
	}
	s.Properties[0].Check.Type = world.Custom
	if c := count(); len(c) > 0 {
		t.Errorf("%v without a model", c)
	}
}

func TestConformsToOperations(t *testing.T) {
	s := commitWorld()
	m := s.Properties[0].Check.Mapping
	m.Rules = append(m.Rules, world.ModelRule{Operation: "^prepare$", Outcome: "ok", Action: "Prepare", Args: []string{"key"}},
		world.ModelRule{Operation: "^prepare$", Outcome: "invoke", Action: "Recover", Args: []string{"key"}})
	out := logged("5 coordinator vote p1 makes 1")
	out.History = []history.Event{{Number: 11, TimeNs: 1, Client: "c", Type: history.Invoke, Op: "prepare", Key: "p1"},
		{Number: 21, TimeNs: 2, Client: "c", Type: history.Ok, Op: "prepare", Key: "p1"}}
	if v := Judge(s, out)[0]; v.Status != Holds || v.Tally.Mapped != 3 {
		t.Errorf("%s: %s", v.Status, v.Reason)
	}
	out.History[1].Number, out.History[1].TimeNs = 61, 6
	if v := Judge(s, out)[0]; v.Status != Violated || !strings.Contains(v.Reason, `Vote("p1")`) {
		t.Errorf("the vote came before what was voted on: %s: %s", v.Status, v.Reason)
	}
}

func TestConformsIsJudgedAgainByTheLog(t *testing.T) {
	s := commitWorld()
	out := logged("1 p1 prepared", "2 coordinator vote p1 makes 1", "3 coordinator decide commit")
	if v := Again(s, s.Properties, &Judged{Outcome: *out})[0]; v.Status != Violated || !strings.Contains(v.Reason, "votes = Participants is false") {
		t.Errorf("%s: %s", v.Status, v.Reason)
	}
	of := *s.Properties[0].Check.Mapping // as a user has changed it since
	of.Rules = append([]world.ModelRule{{Log: "^decide", Ignore: "not now"}}, of.Rules...)
	of.LeftOut = 0.5
	now := s.Properties[0]
	now.Check.Mapping = &of
	if v := Again(s, []world.Property{now}, &Judged{Outcome: *out})[0]; v.Status != Holds {
		t.Errorf("%s: %s", v.Status, v.Reason)
	}
	out.Log, out.LogLost = out.Log[:1], 2
	if v := Again(s, s.Properties, &Judged{Outcome: *out})[0]; v.Status != Unknown ||
		!strings.Contains(v.Reason, "2 log lines were not kept, so the check followed the run only up to that point") {
		t.Errorf("%s: %s", v.Status, v.Reason)
	}
}
