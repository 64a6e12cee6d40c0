package explore

import (
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// A run of ten reads from 1 s to 10 s that is whole, and what takes its worth away: a run alone and a campaign of it have the same judgement.
func TestWhatProvesNothing(t *testing.T) {
	const second = int64(1e9)
	injection := func(kind world.FaultKind, from int64) fault.Injection {
		return fault.Injection{Kind: kind, StartNs: from, EndNs: from + second/10, Observed: 7}
	}
	probed := func(phase string, code int) record.Probe {
		return record.Probe{Property: "up", Phase: phase, ExitCode: code, StartNs: second, EndNs: 2 * second}
	}
	for _, c := range []struct {
		name string
		lack func(spec *world.Spec, out *check.Judged)
		want string // why it is unknown, empty if it holds
		both bool   // a run alone is unknown for that, too
	}{
		{"nothing", func(*world.Spec, *check.Judged) {}, "", true},
		{"setup never ended", func(_ *world.Spec, out *check.Judged) {
			out.Reason, out.Detail, out.History, out.ReadyNs = record.MaxTime, "n1 was not healthy", nil, 0
		}, "passed during setup: n1 was not healthy", true},
		{"a server never comes up", func(_ *world.Spec, out *check.Judged) {
			out.Reason, out.Detail = record.Unstartable, "n1 never comes up"
		}, "n1 never comes up", true},
		{"a server was never up", func(_ *world.Spec, out *check.Judged) { out.NeverUp = []string{"n1 never came up: it ended"} },
			"n1 never came up: it ended", true},
		{"no probe ran", func(_ *world.Spec, out *check.Judged) { out.Probes = nil }, "the check never ran", true},
		{"no probe but the last got an answer", func(_ *world.Spec, out *check.Judged) {
			out.Probes = []record.Probe{probed("chaos", world.ProbeNoAnswer), probed("final", world.ProbeHolds)}
		}, "up: 0 of 1 probes before the final phase got an answer", true},
		{"no read succeeded", func(_ *world.Spec, out *check.Judged) {
			for i := range out.History {
				if h := &out.History[i]; h.Type == history.Ok {
					h.Type = history.Fail
				}
			}
			out.History = append(out.History, history.Event{Number: 101, TimeNs: 11 * second, Client: "c1", Type: history.Invoke, Op: "put", Key: "k"},
				history.Event{Number: 102, TimeNs: 11 * second, Client: "c1", Type: history.Ok, Op: "put", Key: "k"})
		}, `none of 10 operations "get" succeeded`, true},
		{"faults before the work", func(_ *world.Spec, out *check.Judged) {
			out.Ledger.Injections = []fault.Injection{injection(fault.Crash, 0), injection(fault.Crash, 20*second)}
		}, "all 2 faults were active only before the first operation or after the last", true},
		{"faults of a kind that was asked for before the work", func(_ *world.Spec, out *check.Judged) {
			out.Ledger.Injections = []fault.Injection{injection(fault.Crash, 0), injection(fault.Pause, 5*second)}
			out.Ledger.Entries = append(out.Ledger.Entries, fault.Entry{Kind: fault.Pause, Planned: 1, Delivered: 1, Observed: 1})
		}, "fault crash was never injected between the first operation and the last", false},
		{"a fault that nobody observed", func(_ *world.Spec, out *check.Judged) { out.Ledger.Entries[0].Observed = 0 },
			"makes a driver's operation fail and the node runs again (no fault of any kind was observed, so nothing ran under faults)", false},
		{"a fault that nobody observed, beside another one", func(_ *world.Spec, out *check.Judged) {
			out.Ledger.Entries[0].Observed = 0
			out.Ledger.Entries = append(out.Ledger.Entries, fault.Entry{Kind: fault.Pause, Planned: 1, Delivered: 1, Observed: 1})
		}, "", false},
		{"a fault that was never delivered", func(_ *world.Spec, out *check.Judged) {
			out.Ledger.Entries[0].Observed, out.Ledger.Entries[0].Delivered = 0, 0
		}, "(a kind that the configuration names must be delivered)", false},
		{"a fault that nobody observed and that is required", func(spec *world.Spec, out *check.Judged) {
			spec.Faults.Require = []world.FaultKind{"crash"}
			out.Ledger.Entries[0].Observed = 0
		}, "makes a driver's operation fail and the node runs again (faults.require_observed requires it)", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := &world.Spec{MaxTimeNs: 60 * second, Workloads: []world.Workload{{Name: "load", Driver: "command"}},
				Properties: []world.Property{{Name: "reads", Kind: world.Safety,
					Check: world.Check{Type: world.Expression, Subject: world.Subject{Condition: "none(ops, .op == 'lost')"}}},
					{Name: "up", Kind: world.Safety, Check: world.Check{Type: world.HTTPCheck}}},
				Faults: world.Faults{Enabled: true, Rules: []world.FaultRule{{Kind: "crash", RatePPM: 1, ByUser: true}}}}
			out := &check.Judged{Outcome: record.Outcome{Reason: record.Finished, Repeat: record.Repeat{Reproducible: true}, ReadyNs: 1, VirtualNs: 30 * second,
				Drivers: []record.DriverEnd{{Workload: "load"}}, Probes: []record.Probe{probed("chaos", world.ProbeHolds), probed("final", world.ProbeHolds)},
				Ledger: fault.Ledger{Entries: []fault.Entry{{Kind: fault.Crash, Planned: 2, Delivered: 2, Observed: 1}},
					Injections: []fault.Injection{injection(fault.Crash, 5*second)}}}}
			for i := range 10 {
				at, number := int64(i+1)*second, uint64(2*i+1)
				out.History = append(out.History, history.Event{Number: number, TimeNs: at, Client: "c0", Type: history.Invoke, Op: "get", Key: "k"},
					history.Event{Number: number + 1, TimeNs: at + second/2, Client: "c0", Type: history.Ok, Op: "get", Key: "k"})
			}
			c.lack(spec, out)
			out.Judge(spec, false)
			s := Summarise(out)
			campaign := &Totals{}
			campaign.add(s, tape.Tape{Seed: 1})
			for what, status := range map[string]Status{"run": StatusOf(spec, s), "campaign": campaign.Status(spec)} {
				got, want := strings.Join(status.Unknown, "\n"), c.want
				if what == "run" && !c.both {
					want = ""
				}
				if want == "" && (got != "" || status.ExitCode() != check.ExitHolds) || !strings.Contains(got, want) ||
					want != "" && status.ExitCode() != check.ExitUnknown {
					t.Errorf("%s: exit code %d: %q, not %q", what, status.ExitCode(), got, want)
				}
			}
		})
	}
}

// A campaign names kinds of faults that it delivered once or twice, if it made enough runs to expect more.
func TestKindsThatWereHardlyDelivered(t *testing.T) {
	spec := &world.Spec{Faults: world.Faults{Enabled: true}}
	for _, c := range []struct {
		runs uint64
		want bool
	}{{20, true}, {19, false}} {
		totals := &Totals{Runs: c.runs, Faults: fault.Ledger{Entries: []fault.Entry{{Kind: fault.Crash, Planned: 2, Delivered: 2,
			Observed: 2}, {Kind: fault.Pause, Planned: 3, Delivered: 3, Observed: 3}}}}
		if got := strings.Contains(strings.Join(totals.Status(spec).Notices, "\n"),
			"hardly ever delivered in 20 runs: crash (2); run more tapes"); got != c.want {
			t.Errorf("%d runs: %q", c.runs, totals.Status(spec).Notices)
		}
	}
}

// One run says that its tape goes without a kind that the user wrote, where a swarm may be why.
func TestAKindThatASwarmLeavesOut(t *testing.T) {
	for _, c := range []struct {
		swarm   bool
		planned uint64
		byUser  bool
		want    bool
	}{{true, 0, true, true}, {false, 0, true, false}, {true, 1, true, false}, {true, 0, false, false}} {
		spec := &world.Spec{Faults: world.Faults{Enabled: true, Swarm: c.swarm,
			Rules: []world.FaultRule{{Kind: "crash", RatePPM: 1, ByUser: c.byUser}}}}
		s := StatusOf(spec, &Summary{Faults: []fault.Entry{{Kind: fault.Crash, Planned: c.planned}}})
		if got := strings.Contains(strings.Join(s.Notices, "\n"), "no fault of kind crash was planned"); got != c.want {
			t.Errorf("%+v: %q", c, s.Notices)
		}
	}
}

// A run names the faults whose time its chaos phase did not reach, by rule where a kind has several.
func TestAwaited(t *testing.T) {
	late := func(kind world.FaultKind) fault.Entry { return fault.Entry{Kind: kind, Unreached: 1} }
	s := StatusOf(&world.Spec{}, &Summary{
		Faults: []fault.Entry{late(fault.Pause), late(fault.Crash), {Kind: fault.Restart}, {Kind: fault.Partition, Planned: 1, Unreached: 1}},
		FaultRules: []fault.RuleEntry{{Rule: 1, Text: "crash after 20s", Entry: late(fault.Crash)},
			{Rule: 2, Text: "crash rate 1%", Entry: fault.Entry{Kind: fault.Crash}},
			{Rule: 3, Text: "partition after 9s", Entry: late(fault.Partition)},
			{Rule: 4, Text: "partition rate 1%", Entry: fault.Entry{Kind: fault.Partition, Planned: 1}}},
	})
	var names []string
	for _, n := range s.Notices {
		if name, _, ok := strings.Cut(n, ": the chaos phase ended before"); ok {
			names = append(names, name)
		}
	}
	if want := []string{`fault "crash after 20s"`, `fault "partition after 9s"`, "fault pause"}; !slices.Equal(names, want) {
		t.Errorf("%q in %q", names, s.Notices)
	}
}

// A property that must hold although some faults last, and that never met one, gets a notice; what runs left out is kept.
func TestWhatRunsWithstood(t *testing.T) {
	spec := &world.Spec{Faults: world.Faults{Enabled: true},
		Properties: []world.Property{{Name: "p", Kind: world.Liveness, Check: world.Check{Type: world.Custom,
			Tolerance: world.Tolerance{While: "majority connected"}}}}}
	for _, withstood := range []uint64{0, 3} {
		totals := &Totals{Runs: 2}
		for run := range uint64(2) {
			totals.verdict(&check.Verdict{Property: "p", Status: check.Holds, Withstood: withstood * run,
				LeftOut: []string{"one", "two"}}, tape.Tape{Seed: run})
		}
		if got := strings.Contains(strings.Join(totals.Status(spec).Notices, "\n"),
			"p: the property never had to hold during a fault"); got != (withstood == 0) {
			t.Errorf("withstood %d: %q", withstood, totals.Status(spec).Notices)
		}
		if want := "p: judged only in part in 2 of 2 runs; the first of them left out one; two"; !slices.Contains(totals.Status(spec).Notices, want) {
			t.Errorf("%q has no %q", totals.Status(spec).Notices, want)
		}
		if p := totals.Properties[0]; p.Partial != 2 || len(p.LeftOut) != 2 || p.Withstood != withstood {
			t.Errorf("%+v", p)
		}
	}
}

// Kinds of a preset that were never delivered are listed as not tested. A kind that the user named and that nobody saw is a notice, and a reason for
// unknown where no other fault was seen either.
func TestKindsThatAreNotTested(t *testing.T) {
	spec := &world.Spec{Faults: world.Faults{Enabled: true,
		Rules: []world.FaultRule{{Kind: "crash", RatePPM: 1, ByUser: true}, {Kind: "pause", RatePPM: 1},
			{Kind: "reset", RatePPM: 1}, {Kind: "clog", RatePPM: 1}}}}
	totals := &Totals{Runs: 2, Faults: fault.Ledger{Entries: []fault.Entry{{Kind: fault.Crash, Planned: 1, Delivered: 1},
		{Kind: fault.Pause}, {Kind: fault.Reset, Planned: 3},
		{Kind: fault.Clog, Planned: 1, Delivered: 1, Observed: 1}}}}
	s := totals.Status(spec)
	notices := strings.Join(s.Notices, "\n")
	for _, want := range []string{
		"not tested: kinds of faults of the preset that were never delivered: pause (planned 0 times), reset (planned 3 times; " +
			"there was never a connection to reset)",
		"fault crash was planned 1 times, delivered 1 times and never observed by a program under test",
	} {
		if !strings.Contains(notices, want) {
			t.Errorf("no %q in %q", want, notices)
		}
	}
	if strings.Contains(strings.Join(s.Unknown, "\n"), "fault crash") {
		t.Errorf("unknown: %q", s.Unknown)
	}
	totals.Faults.Entries[3].Observed = 0
	s = totals.Status(spec)
	if !strings.Contains(strings.Join(s.Unknown, "\n"), "fault crash was planned 1 times, delivered 1 times and never observed by a program under test") {
		t.Errorf("no fault was observed, and unknown is %q", s.Unknown)
	}
}

// Runs with faults and without operations, beside runs with operations and without faults, show nothing of operations under faults.
func TestNoRunHadOperationsUnderFaults(t *testing.T) {
	spec := &world.Spec{Properties: []world.Property{{Name: "p", Kind: world.Safety, Check: world.Check{Type: world.Linearizability}}},
		Faults: world.Faults{Enabled: true, Rules: []world.FaultRule{{Kind: "crash", RatePPM: 1, ByUser: true}}}}
	const reason = "no run of 2 had both operations and faults: 1 fault was delivered in runs without operations"
	totals := &Totals{Runs: 2, Faults: fault.Ledger{Entries: []fault.Entry{{Kind: fault.Crash, Planned: 1, Delivered: 1, Observed: 1}}}}
	if s := totals.Status(spec); !strings.Contains(strings.Join(s.Unknown, "\n"), reason) {
		t.Errorf("%q", s.Unknown)
	}
	totals.Evidence.Injected = map[world.FaultKind]check.Injected{"crash": {Faults: 1, DuringWork: 1}}
	if s := totals.Status(spec); strings.Contains(strings.Join(s.Unknown, "\n"), reason) {
		t.Errorf("with one that met an operation: %q", s.Unknown)
	}
}

// One late driver in thirteen runs leaves the judgement of the other twelve, and four do not.
func TestALateDriverInOneRunOfMany(t *testing.T) {
	for _, c := range []struct {
		late    int
		unknown bool
	}{{1, false}, {3, false}, {4, true}} {
		totals := &Totals{Runs: 13}
		for i := range 13 {
			v := &check.Verdict{Property: "p", Status: check.Holds}
			if i < c.late {
				v = &check.Verdict{Property: "p", Status: check.Unknown, Idle: true, Reason: "the driver came late"}
			}
			totals.verdict(v, tape.Tape{Seed: uint64(i)})
		}
		s := totals.Status(&world.Spec{Properties: []world.Property{{Name: "p", Kind: world.Safety}}})
		if got := strings.Contains(strings.Join(s.Unknown, "\n"), "the driver came late"); got != c.unknown {
			t.Errorf("%d of 13 late: unknown %q", c.late, s.Unknown)
		}
		if got := strings.Contains(strings.Join(s.Notices, "\n"), "of 13 runs did too little"); got == c.unknown {
			t.Errorf("%d of 13 late: notices %q", c.late, s.Notices)
		}
	}
}
