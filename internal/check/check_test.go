package check

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/enginetest"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/historytest"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

const second = int64(1_000_000_000)

// clientsOf gives events to the clients of a workload.
func clientsOf(workload string, events []history.Event) []history.Event {
	for i := range events {
		events[i].Client = workload + "/" + events[i].Client
	}
	return events
}

// good is a run in which everything holds; tests spoil one thing in such a run.
func good(t *testing.T) (*world.Spec, *record.Outcome) {
	spec := &world.Spec{
		MaxTimeNs: 300 * second,
		Workloads: []world.Workload{{Name: "load", Driver: "http"}},
		Properties: []world.Property{
			*property("put", "get"),
			{Name: "healthy", Kind: world.Liveness, TimeoutNs: 30 * second, Check: world.Check{Type: world.HTTPCheck}},
			{Name: "pong", Kind: world.Invariant, Check: world.Check{Type: world.RedisCheck}},
			{Name: "script", Kind: world.Safety, Check: world.Check{Type: world.Custom}},
		},
		Faults: world.Faults{Enabled: true, Rules: []world.FaultRule{{Kind: "partition", RatePPM: 10, ByUser: true}}},
	}
	out := &record.Outcome{
		Reason:    record.Finished,
		Repeat:    record.Repeat{Reproducible: true},
		VirtualNs: 100 * second,
		History:   clientsOf("load", historytest.Events(t, "a:put=1 a! b:get b!1")),
		Drivers:   []record.DriverEnd{{Workload: "load"}},
		Heals:     []int64{20 * second, 60 * second},
		Probes: []record.Probe{
			{Property: "healthy", Phase: "chaos", AfterHealNs: 20 * second, StartNs: 21 * second, EndNs: 22 * second, ExitCode: 2},
			{Property: "healthy", Phase: "chaos", AfterHealNs: 20 * second, StartNs: 23 * second, EndNs: 24 * second},
			{Property: "healthy", Phase: "settle", AfterHealNs: 60 * second, StartNs: 61 * second, EndNs: 62 * second, Event: 7},
			{Property: "pong", Phase: "setup", ExitCode: 2}, {Property: "pong", Phase: "chaos"}, {Property: "pong", Phase: "final"},
			{Property: "script", Phase: "chaos"}, {Property: "script", Phase: "final"},
		},
	}
	return spec, out
}

// statuses are the verdicts in short: "p=holds".
func statuses(verdicts []Verdict) string {
	var s []string
	for _, v := range verdicts {
		s = append(s, v.Property+"="+string(v.Status))
	}
	return strings.Join(s, " ")
}

func find(t *testing.T, verdicts []Verdict, property string) Verdict {
	for _, v := range verdicts {
		if v.Property == property {
			return v
		}
	}
	t.Fatalf("no verdict on %s: %v", property, verdicts)
	return Verdict{}
}

func TestGoodRunHolds(t *testing.T) {
	spec, out := good(t)
	want := "p=holds healthy=holds pong=holds script=holds no crash by a signal=holds no panic=holds " +
		"no sanitizer report=holds no unexpected exit=holds"
	if got := statuses(Judge(spec, out)); got != want {
		t.Fatalf("got  %s\nwant %s", got, want)
	}
	if v := find(t, Judge(spec, out), "healthy"); v.Probes != 3 {
		t.Errorf("%d probes counted", v.Probes)
	}
}

// TestDoubt spoils what every "holds" rests on: no verdict may hold then.
func TestDoubt(t *testing.T) {
	cases := []struct {
		name   string
		spoil  func(*world.Spec, *record.Outcome)
		reason string
	}{
		{"time is over", func(s *world.Spec, o *record.Outcome) { o.Reason = record.MaxTime }, "max_time: 300.000000 s of virtual time"},
		{"time is over in setup", func(s *world.Spec, o *record.Outcome) {
			o.Reason, o.Detail = record.MaxTime, "db was not healthy, its last healthcheck ended with exit code 1"
		}, "passed during setup: db was not healthy, its last healthcheck ended with exit code 1; raise max_time"},
		{"a limit", func(s *world.Spec, o *record.Outcome) { o.Reason, o.Detail = record.Limit, "events" }, "limit: events"},
		{"a deadlock", func(s *world.Spec, o *record.Outcome) { o.Reason, o.Detail = record.Deadlock, "n1/0" }, "deadlock: n1/0"},
		{"stopped", func(s *world.Spec, o *record.Outcome) { o.Reason = record.Stopped }, "the run was stopped"},
		{"until", func(s *world.Spec, o *record.Outcome) { o.Reason = record.ReachedUntil }, "asked to stop"},
		{"no reason", func(s *world.Spec, o *record.Outcome) { o.Reason = "" }, "an unknown reason"},
		{"unsupported fault", func(s *world.Spec, o *record.Outcome) {
			s.Faults.Rules = append(s.Faults.Rules, world.FaultRule{Kind: "cosmic_ray", RatePPM: 1})
		}, "cosmic_ray not supported"},
		{"driver failed", func(s *world.Spec, o *record.Outcome) { o.Drivers[0].ExitCode = 3 }, `"load" ended with exit code 3`},
		{"driver killed", func(s *world.Spec, o *record.Outcome) { o.Drivers[0].Signal = "SIGSEGV" }, `"load" was ended by SIGSEGV`},
		{"driver still at work", func(s *world.Spec, o *record.Outcome) { o.Drivers = nil },
			`the driver of workload "load" did not end before the final checks`},
		{"one of two drivers still at work", func(s *world.Spec, o *record.Outcome) {
			s.Workloads = append(s.Workloads, world.Workload{Name: "more", Driver: "command"})
		}, `"more" did not end`},
		{"nothing reported", func(s *world.Spec, o *record.Outcome) { o.History = nil }, `workload "load" reported no operation`},
		{"nothing succeeded", func(s *world.Spec, o *record.Outcome) {
			o.History = []history.Event{{Number: 1, Client: "load/a", Type: history.Invoke, Op: "put"}}
		}, `no operation of workload "load" succeeded; see why they failed`},
		{"one of two workloads did nothing", func(s *world.Spec, o *record.Outcome) {
			s.Workloads = append(s.Workloads, world.Workload{Name: "load/two", Driver: "redis"})
			o.Drivers = append(o.Drivers, record.DriverEnd{Workload: "load/two"})
		}, `workload "load/two" reported no operation`},
		{"nothing of a program of one's own succeeded", func(s *world.Spec, o *record.Outcome) {
			s.Workloads[0].Driver = "command"
			o.History = []history.Event{{Number: 1, Client: "a", Type: history.Invoke, Op: "put"}}
		}, `no operation of workload "load" succeeded`},
		{"a program of one's own reports nothing and lacks a file", func(s *world.Spec, o *record.Outcome) {
			s.Workloads[0].Driver, o.History, o.Drivers[0].Hidden = "command", nil, "it looked for /tmp/x"
		}, `workload "load" reported no operation: it looked for /tmp/x`},
		{"a program of one's own reports nothing and fails", func(s *world.Spec, o *record.Outcome) {
			s.Workloads[0].Driver, o.History, o.Drivers[0].ExitCode = "command", nil, 1
		}, `"load" ended with exit code 1`},
		{"time is over without a workload", func(s *world.Spec, o *record.Outcome) { s.Workloads, o.Reason = nil, record.MaxTime },
			"max_time: 300.000000 s of virtual time passed before all servers were healthy"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			spec, out := good(t)
			c.spoil(spec, out)
			verdicts := Judge(spec, out)
			for _, v := range verdicts {
				if v.Status != Unknown {
					t.Errorf("%s %s", v.Property, v.Status)
				}
			}
			idle := slices.Contains([]string{"nothing reported", "nothing succeeded", "one of two workloads did nothing",
				"nothing of a program of one's own succeeded", "driver still at work", "one of two drivers still at work"}, c.name)
			if v := find(t, verdicts, "no panic"); !strings.Contains(v.Reason, c.reason) || v.Idle != idle {
				t.Errorf("reason %q, want %q; idle %v", v.Reason, c.reason, v.Idle)
			}
			// What was seen to be violated stays violated.
			out.Crashes = []record.Crash{{Kind: "panic", Node: "n1", Program: "/x"}}
			if v := find(t, Judge(spec, out), "no panic"); v.Status != Violated {
				t.Errorf("a panic is %s", v.Status)
			}
		})
	}
	t.Run("no doubt", func(t *testing.T) {
		spec, out := good(t)
		spec.Faults.Rules = append(spec.Faults.Rules, world.FaultRule{Kind: "cosmic_ray"})
		spec.Workloads = append(spec.Workloads, world.Workload{Name: "own", Driver: "command"})
		out.Drivers = append(out.Drivers, record.DriverEnd{Workload: "own"})
		out.History = append(out.History, history.Event{Number: 9, Client: "x", Type: history.Invoke}, history.Event{Number: 10, Client: "x", Type: history.Ok})
		spec.Properties = spec.Properties[1:]
		if got := statuses(Judge(spec, out)); strings.Contains(got, "unknown") {
			t.Error(got)
		}
		spec.Workloads, out.Drivers, out.History = nil, nil, nil
		if got := statuses(Judge(spec, out)); strings.Contains(got, "unknown") {
			t.Error(got)
		}
	})
}

// TestSilentDriver: a script that reports no operations leaves nothing in doubt but what is judged by operations, also where those of
// another workload are there.
func TestSilentDriver(t *testing.T) {
	alone := func(s *world.Spec, o *record.Outcome) { s.Workloads[0].Driver, o.History = "command", nil }
	beside := func(s *world.Spec, o *record.Outcome) {
		s.Workloads = append(s.Workloads, world.Workload{Name: "own", Driver: "command"})
		o.Drivers = append(o.Drivers, record.DriverEnd{Workload: "own"})
	}
	besideOwn := func(s *world.Spec, o *record.Outcome) {
		s.Workloads[0].Driver = "command"
		s.Workloads = append(s.Workloads, world.Workload{Name: "own", Driver: "command"})
		o.Drivers = append(o.Drivers, record.DriverEnd{Workload: "own", Silent: true})
	}
	for name, c := range map[string]struct {
		silence func(*world.Spec, *record.Outcome)
		status  Status // of the check of operations
		reason  string
		leftOut string
		warning string
	}{
		"alone": {alone, Unknown, "no operation of put, get was reported", `workload "load" reported no operation`,
			`workload "load" reported no operation`},
		"beside another workload": {beside, Holds, "", `workload "own" reported no operation`, ""},
		"beside another script":   {besideOwn, Holds, "", `workload "own" reported no operation`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			spec, out := good(t)
			c.silence(spec, out)
			verdicts := Judge(spec, out)
			want := "p=" + string(c.status) + " healthy=holds pong=holds script=holds no crash by a signal=holds no panic=holds " +
				"no sanitizer report=holds no unexpected exit=holds"
			if got := statuses(verdicts); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			if !strings.Contains(verdicts[0].Reason, c.reason) {
				t.Errorf("reason %q, want %q", verdicts[0].Reason, c.reason)
			}
			if got := strings.Join(verdicts[0].LeftOut, "; "); got != c.leftOut {
				t.Errorf("left out: %q, want %q", got, c.leftOut)
			}
			spec.Properties[0].Check = world.Check{Type: world.Expression, Subject: world.Subject{Condition: "true"}} // it speaks of all operations
			if v := Judge(spec, out)[0]; v.Status != Unknown || len(v.LeftOut) > 0 {
				t.Errorf("an expression %s, and %q was left out", v.Status, v.LeftOut)
			}
			e := EvidenceOf(out)
			if unknown, warnings := Enough(spec, &e); len(unknown) > 0 ||
				c.warning == "" && strings.Contains(strings.Join(warnings, "\n"), "reported no operation") ||
				!strings.Contains(strings.Join(warnings, "\n"), c.warning) {
				t.Errorf("%q, %q; want a warning %q", unknown, warnings, c.warning)
			}
			out.Crashes = []record.Crash{{Kind: "crash", Node: "n1", Program: "/x", Signal: "SIGSEGV"}}
			if v := find(t, Judge(spec, out), "no crash by a signal"); v.Status != Violated {
				t.Errorf("a crash is %s", v.Status)
			}
		})
	}
	for check, of := range map[*world.Check]bool{
		{Type: world.Isolation}: true, {Type: world.Monotonic}: true, {Type: world.Durability}: true, {Type: world.InvariantCheck}: true,
		{Type: world.ProgressCheck}: true, {Type: world.RecoveryCheck}: true, {Type: world.RecoveryCheck, Jobs: world.Jobs{Start: "x"}}: false,
		{Type: world.Agreement}: false, {Type: world.SQLCheck}: false,
		{Type: world.Conformance, Mapping: &world.Mapping{Rules: []world.ModelRule{{Log: "x"}}}}:                     false,
		{Type: world.Conformance, Mapping: &world.Mapping{Rules: []world.ModelRule{{Log: "x"}, {Operation: "put"}}}}: true,
	} {
		if got := ofOperations(check); got != of {
			t.Errorf("%+v: %v", check, got)
		}
	}
}

func TestProbes(t *testing.T) {
	probe := func(property string, code int, startS int64) record.Probe {
		return record.Probe{Property: property, Phase: "settle", AfterHealNs: 60 * second, StartNs: startS * second,
			EndNs: startS*second + 1, ExitCode: code, Event: uint64(startS), Output: "status 500\nmore"}
	}
	drop := func(o *record.Outcome, property string) {
		var rest []record.Probe
		for _, p := range o.Probes {
			if p.Property != property {
				rest = append(rest, p)
			}
		}
		o.Probes = rest
	}
	only := func(o *record.Outcome, property string, heal int64, probes ...record.Probe) {
		drop(o, property)
		o.Heals = []int64{heal * second}
		o.Probes = append(o.Probes, probes...)
	}
	cases := []struct {
		name, property string
		spoil          func(*world.Spec, *record.Outcome)
		want           Status
		reason         string
	}{
		{"safety broken", "pong", func(s *world.Spec, o *record.Outcome) { o.Probes = append(o.Probes, probe("pong", 1, 70)) },
			Violated, "the check failed: status 500"},
		{"broken once is broken", "script", func(s *world.Spec, o *record.Outcome) {
			o.Probes = append(o.Probes, probe("script", 1, 70), probe("script", 5, 71), probe("script", 0, 72))
		}, Violated, "the check failed"},
		{"never ran", "pong", func(s *world.Spec, o *record.Outcome) { drop(o, "pong") }, Unknown, "never ran"},
		{"no answer in chaos", "pong", func(s *world.Spec, o *record.Outcome) { o.Probes = append(o.Probes, probe("pong", 2, 70)) },
			Holds, ""},
		{"no answer at the end", "pong", func(s *world.Spec, o *record.Outcome) {
			p := probe("pong", 2, 90)
			p.Phase = "final"
			o.Probes = append(o.Probes, p)
		}, Unknown, "the check itself failed: 90.000000 s"},
		{"no look at the end", "pong", func(s *world.Spec, o *record.Outcome) { o.Probes = o.Probes[:5] }, Unknown, "the final check never ran"},
		{"never an answer", "pong", func(s *world.Spec, o *record.Outcome) {
			drop(o, "pong")
			o.Probes = append(o.Probes, probe("pong", 2, 70))
		}, Unknown, "none of 1 probes"},
		{"a script that fails", "script", func(s *world.Spec, o *record.Outcome) { o.Probes = append(o.Probes, probe("script", 2, 70)) },
			Unknown, "the check itself failed"},
		{"a probe that fails", "pong", func(s *world.Spec, o *record.Outcome) { o.Probes = append(o.Probes, probe("pong", 3, 70)) },
			Unknown, "the check itself failed"},

		{"never healthy after a heal", "healthy", func(s *world.Spec, o *record.Outcome) {
			only(o, "healthy", 60, probe("healthy", 2, 61), probe("healthy", 1, 89))
		}, Violated, "not within 30.000000 s after a heal: status 500"},
		{"nobody answers after a heal", "healthy", func(s *world.Spec, o *record.Outcome) {
			only(o, "healthy", 60, probe("healthy", 2, 61))
		}, Violated, "not within 30"},
		{"healthy after one heal and not after the next", "healthy", func(s *world.Spec, o *record.Outcome) {
			o.Probes[2].ExitCode = 1
		}, Violated, "not within"},
		{"healthy, but too late", "healthy", func(s *world.Spec, o *record.Outcome) {
			only(o, "healthy", 60, probe("healthy", 1, 61), probe("healthy", 0, 91))
		}, Violated, "not within"},
		{"healthy at the last moment", "healthy", func(s *world.Spec, o *record.Outcome) {
			p := probe("healthy", 0, 61)
			p.EndNs = 90 * second
			only(o, "healthy", 60, p)
		}, Holds, ""},
		{"the answer came too late", "healthy", func(s *world.Spec, o *record.Outcome) {
			p := probe("healthy", 0, 61)
			p.EndNs = 90*second + 1
			only(o, "healthy", 60, p)
		}, Violated, "not within"},
		{"the run ended first", "healthy", func(s *world.Spec, o *record.Outcome) {
			o.VirtualNs = 89 * second
			only(o, "healthy", 60, probe("healthy", 1, 61))
		}, Unknown, "the run ended 29.000000 s after the heal at 60.000000 s"},
		{"the next fault came first", "healthy", func(s *world.Spec, o *record.Outcome) {
			o.Ledger.Injections = []fault.Injection{{StartNs: 70 * second}}
			only(o, "healthy", 60, probe("healthy", 1, 61))
		}, Unknown, "the next fault began"},
		{"the next fault came in the same moment", "healthy", func(s *world.Spec, o *record.Outcome) {
			o.Ledger.Injections = []fault.Injection{{StartNs: 60 * second}}
			only(o, "healthy", 60, probe("healthy", 1, 61))
		}, Unknown, "the next fault began"},
		{"one heal is enough where the other was cut short", "healthy", func(s *world.Spec, o *record.Outcome) {
			o.Ledger.Injections = []fault.Injection{{StartNs: 25 * second}}
			o.Probes[1].ExitCode = 1
		}, Holds, ""},
		{"a full ledger", "healthy", func(s *world.Spec, o *record.Outcome) {
			o.Ledger.Injections = make([]fault.Injection, fault.MaxInjections)
			only(o, "healthy", 60, probe("healthy", 1, 61))
		}, Unknown, "does not list all faults"},
		{"one heal is not probed", "healthy", func(s *world.Spec, o *record.Outcome) { o.Probes = o.Probes[:2] },
			Unknown, "the check never ran within"},
		{"a run of the check takes longer than the timeout", "healthy", func(s *world.Spec, o *record.Outcome) {
			early, long := probe("healthy", 0, 1), probe("healthy", 0, 59)
			early.AfterHealNs, long.AfterHealNs, long.EndNs = 0, 0, 95*second
			only(o, "healthy", 60, early, long)
		}, Unknown, "make it give up sooner"},
		{"never probed", "healthy", func(s *world.Spec, o *record.Outcome) { drop(o, "healthy") }, Unknown, "never ran"},
		{"another property's probes do not count", "healthy", func(s *world.Spec, o *record.Outcome) {
			only(o, "healthy", 60, probe("pong", 0, 61))
		}, Unknown, "never ran"},
		{"a script that is not there", "healthy", func(s *world.Spec, o *record.Outcome) {
			only(o, "healthy", 60, probe("healthy", 127, 61), probe("healthy", 126, 62))
		}, Unknown, "the check itself failed"},
		{"a script that hangs", "healthy", func(s *world.Spec, o *record.Outcome) {
			only(o, "healthy", 60, probe("healthy", 1, 61), probe("healthy", world.ProbeHung, 62))
		}, Unknown, "the check itself hung at 62.000000 s"},
		{"a script that hangs too late to matter", "healthy", func(s *world.Spec, o *record.Outcome) {
			only(o, "healthy", 60, probe("healthy", 1, 61), probe("healthy", world.ProbeHung, 95))
		}, Violated, "not within"},
		{"a script that hangs after it was broken", "pong", func(s *world.Spec, o *record.Outcome) {
			o.Probes = append(o.Probes, probe("pong", 1, 61), probe("pong", world.ProbeHung, 62))
		}, Violated, "the check failed"},
		{"a safety check that hangs", "pong", func(s *world.Spec, o *record.Outcome) {
			o.Probes = append(o.Probes, probe("pong", world.ProbeHung, 62))
		}, Unknown, "the check itself hung at 62.000000 s"},
		{"a script that says not yet in its own way", "healthy", func(s *world.Spec, o *record.Outcome) {
			s.Properties[1].Check.Type = world.Custom
			only(o, "healthy", 60, probe("healthy", 7, 61))
		}, Violated, "not within"},
		{"no heal, healthy in time", "healthy", func(s *world.Spec, o *record.Outcome) {
			drop(o, "healthy")
			o.Heals = nil
			o.Probes = append(o.Probes, probe("healthy", 2, 1), probe("healthy", 0, 30))
		}, Holds, ""},
		{"no heal, never healthy", "healthy", func(s *world.Spec, o *record.Outcome) {
			drop(o, "healthy")
			o.Heals = nil
			o.Probes = append(o.Probes, probe("healthy", 2, 1), probe("healthy", 0, 32))
		}, Violated, "not within"},
		{"the default timeout", "healthy", func(s *world.Spec, o *record.Outcome) {
			s.Properties[1].TimeoutNs = 0
			only(o, "healthy", 60, probe("healthy", 1, 61), probe("healthy", 0, 91))
		}, Violated, "not within 30.000000 s"},
		{"dead from the start", "healthy", func(s *world.Spec, o *record.Outcome) {
			o.ReadyNs = 2 * second
			o.Probes = append([]record.Probe{{Property: "healthy", AfterHealNs: 2 * second, StartNs: 3 * second,
				EndNs: 4 * second, ExitCode: 2, Output: "refused"}}, o.Probes...)
			o.Probes[2].StartNs, o.Probes[2].EndNs = 35*second, 36*second
		}, Violated, "not within 30.000000 s after the start: "},
		{"up late, but in time", "healthy", func(s *world.Spec, o *record.Outcome) {
			o.ReadyNs = 2 * second
			o.Probes = append([]record.Probe{{Property: "healthy", AfterHealNs: 2 * second, StartNs: 3 * second, EndNs: 4 * second, ExitCode: 2}}, o.Probes...)
		}, Holds, ""},
		{"a fault soon after the start", "healthy", func(s *world.Spec, o *record.Outcome) {
			o.ReadyNs = 2 * second
			o.Probes = append([]record.Probe{{Property: "healthy", AfterHealNs: 2 * second, StartNs: 3 * second, EndNs: 4 * second, ExitCode: 2}}, o.Probes...)
			o.Probes[2].StartNs, o.Probes[2].EndNs = 35*second, 36*second
			o.Ledger.Injections = []fault.Injection{{StartNs: 5 * second, EndNs: 20 * second}}
		}, Holds, ""},
		{"packets suffer from the start", "healthy", func(s *world.Spec, o *record.Outcome) {
			o.ReadyNs = 2 * second
			o.Probes = append([]record.Probe{{Property: "healthy", AfterHealNs: 2 * second, StartNs: 3 * second, EndNs: 4 * second, ExitCode: 2}}, o.Probes...)
			o.Probes[2].StartNs, o.Probes[2].EndNs = 35*second, 36*second
			s.Faults.Rules = append(s.Faults.Rules, world.FaultRule{Kind: "drop", RatePPM: 10})
		}, Holds, ""},
		{"the start proves nothing of heals", "healthy", func(s *world.Spec, o *record.Outcome) {
			o.ReadyNs, o.Heals = 2*second, []int64{60 * second}
			only(o, "healthy", 60, record.Probe{Property: "healthy", AfterHealNs: 2 * second, StartNs: 3 * second, EndNs: 4 * second}, probe("healthy", 2, 61))
			o.Ledger.Injections = []fault.Injection{{StartNs: 65 * second, EndNs: 70 * second}}
		}, Unknown, "after each heal the next fault began"},
		{"a condition", "p", func(s *world.Spec, o *record.Outcome) {
			s.Properties[0].Check = world.Check{Type: world.InvariantCheck, Subject: world.Subject{Condition: "one leader"}}
		}, Unknown, `broken expression: unexpected token Identifier("leader") (1:5)`},
		{"agreement", "p", func(s *world.Spec, o *record.Outcome) {
			s.Properties[0].Check = world.Check{Type: world.Agreement, Tolerance: world.Tolerance{Nodes: []string{"n1", "n2"}}}
			only(o, "p", 60, probe("p", 1, 61))
			o.Probes[len(o.Probes)-1].Output = "the nodes differ: n1 says 1; n2 says 2\nn1 says 1\nn2 says 2"
		}, Violated, "the nodes differ: n1 says 1; n2 says 2"},
		{"agreement without an answer", "p", func(s *world.Spec, o *record.Outcome) {
			s.Properties[0].Check = world.Check{Type: world.Agreement, Tolerance: world.Tolerance{Nodes: []string{"n1", "n2"}},
				Comparison: world.Comparison{Unanswered: world.UnknownIfSilent}}
			only(o, "p", 60, probe("p", 2, 61))
			o.Probes[len(o.Probes)-1].Phase = "final"
		}, Unknown, "the check itself failed"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			spec, out := good(t)
			c.spoil(spec, out)
			v := find(t, Judge(spec, out), c.property)
			if v.Status != c.want || !strings.Contains(v.Reason, c.reason) {
				t.Fatalf("%s: %s\nwant %s: %s", v.Status, v.Reason, c.want, c.reason)
			}
		})
	}
}

func TestCrashes(t *testing.T) {
	spec, out := good(t)
	out.Crashes = []record.Crash{
		{Kind: "crash", Node: "n1", Program: "/bin/db", PID: 4, Signal: "SIGSEGV", Position: record.PositionAt(8), TimeNs: second,
			Lines: []string{"last words"}},
		{Kind: "crash", Node: "n2", Program: "/bin/db", PID: 4, Signal: "SIGABRT", Position: record.PositionAt(9), TimeNs: 2 * second},
		{Kind: "exit", Node: "n3", Program: "/bin/db", PID: 4, ExitCode: 3, Position: record.PositionAt(10), TimeNs: 3 * second},
		{Kind: "oom", Node: "n3", Program: "/bin/db"},
	}
	verdicts := Judge(spec, out)
	got := find(t, verdicts, "no crash by a signal")
	want := Verdict{Property: "no crash by a signal", Kind: "safety", Status: Violated,
		Reason: "crash on n1: /bin/db ended with SIGSEGV",
		Cause:  &failure.Cause{Code: "program/ended", Fields: []string{"crash", "#", "/bin/db", "SIGSEGV"}}, Event: 8, TimeNs: second, Evidence: []string{
			"1.000000 s (event 8) n1: /bin/db, pid 4, ended with SIGSEGV", "  last words",
			"2.000000 s (event 9) n2: /bin/db, pid 4, ended with SIGABRT"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if v := find(t, verdicts, "no unexpected exit"); v.Reason != "exit on n3: /bin/db ended with exit code 3" {
		t.Error(v.Reason)
	}
	if v := find(t, verdicts, "no other failure of a program"); v.Status != Violated {
		t.Errorf("a kind that is not known goes by: %s", v.Status)
	}
	if v := find(t, verdicts, "no panic"); v.Status != Holds {
		t.Errorf("no panic: %s", v.Status)
	}
}

func TestUntested(t *testing.T) {
	spec := &world.Spec{Faults: world.Faults{Enabled: true, Require: []world.FaultKind{"pause"}, Rules: []world.FaultRule{
		{Kind: "partition", RatePPM: 1, ByUser: true}, {Kind: "crash", RatePPM: 1, ByUser: true}, {Kind: "drop", RatePPM: 1},
		{Kind: "delay", ByUser: true}, {Kind: "partition", RatePPM: 2, ByUser: true}, {Kind: "partition", RatePPM: 3, ByUser: true},
		{Kind: "restart", RatePPM: 1, ByUser: true},
	}}}
	ledgers := []fault.Ledger{
		{Entries: []fault.Entry{{Kind: fault.Partition, Planned: 2, Delivered: 2, Observed: 1}, {Kind: fault.Crash, Planned: 3, Delivered: 2}},
			Rules: []fault.RuleEntry{{Rule: 1, Entry: fault.Entry{Kind: fault.Partition, Planned: 2, Delivered: 2, Observed: 1}}}},
		{Entries: []fault.Entry{{Kind: fault.Crash, Planned: 1}},
			Rules: []fault.RuleEntry{{Rule: 5, Entry: fault.Entry{Kind: fault.Partition, Planned: 2, Delivered: 1}},
				{Rule: 6, Entry: fault.Entry{Kind: fault.Partition, Planned: 4}}}},
	}
	missing := []string{`"partition rate 0.000003" was planned 4 times, delivered 0 times and never observed by a program under test`,
		"restart was planned 0 times, delivered 0 times and never observed by a program under test",
		"pause was planned 0 times, delivered 0 times and never observed by a program under test"}
	const crash = "crash was planned 4 times, delivered 2 times and never observed by a program under test; it counts if the server " +
		"reads its files when it starts again, if another server talks to the affected node, or if it makes a driver's " +
		"operation fail and the node runs again"
	unseen := []string{crash, `"partition rate 0.000002" was planned 2 times, delivered 1 times and never observed by a program under test`}
	check := func(what string, wantMissing, wantUnseen []string) {
		t.Helper()
		if m, u := Untested(spec, ledgers); !reflect.DeepEqual(m, wantMissing) || !reflect.DeepEqual(u, wantUnseen) {
			t.Errorf("%s: missing %q, unseen %q", what, m, u)
		}
	}
	check("named by the user", missing, unseen)
	spec.Faults.Require = append(spec.Faults.Require, "crash")
	check("required", append(missing, crash), unseen[1:])
	spec.Faults.Require, spec.Faults.Rules = []world.FaultKind{"duplicate", "reset", "dns_fail"}, nil
	ledgers = []fault.Ledger{{Entries: []fault.Entry{{Kind: fault.Reset, Planned: 3}, {Kind: fault.DNSFail, Planned: 2, Delivered: 2}}}}
	check("with reasons", []string{"duplicate was planned 0 times, delivered 0 times and never observed by a program under test; " +
		"it affects only datagrams (UDP), because TCP hides it from programs",
		"reset was planned 3 times, delivered 0 times and never observed by a program under test; there was never a connection to reset",
		"dns_fail was planned 2 times, delivered 2 times and never observed by a program under test; programs that cache " +
			"names or use addresses never ask"}, nil)
	spec.Faults.Enabled = false
	check("faults are off", nil, nil)
}

// TestRuns judges whole runs of the fake engine: the bug is found in the runs that it breaks, and in no other.
func TestRuns(t *testing.T) {
	run := func(seed uint64, mode string) []Verdict {
		spec := &world.Spec{
			Nodes: []world.Node{{Name: "n1", Role: world.Server, Env: []string{"FAKE=" + mode}}, {Name: "n2", Role: world.Server},
				{Name: "client", Role: world.Client}},
			Workloads:  []world.Workload{{Name: "load", Driver: "http", Node: "client", Clients: 3}},
			Properties: []world.Property{*property("put", "get")},
			Faults:     world.Faults{Enabled: true, Rules: []world.FaultRule{{Kind: "partition", RatePPM: 20_000, MinNs: 5e6, MaxNs: 5e7}}},
		}
		out, err := engine.Run(enginetest.New(), spec, tape.Tape{Seed: seed}, engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return Judge(spec, out)
	}
	found := 0
	for seed := range uint64(60) {
		if v := run(seed, "")[0]; v.Status != Holds {
			t.Fatalf("seed %d: %s %s\n%s", seed, v.Status, v.Reason, strings.Join(v.Evidence, "\n"))
		}
		if v := run(seed, enginetest.LostWrite)[0]; v.Status == Violated {
			found++
		}
	}
	if found < 5 || found == 60 {
		t.Errorf("the bug showed on %d of 60 tapes", found)
	}
	if v := find(t, run(1, enginetest.Panic), "no panic"); v.Status != Violated {
		t.Errorf("a panic: %s", fmt.Sprint(v))
	}
}

// A driver that announces where it is must be ready in time, or nothing holds.
func TestADriverThatIsNotReady(t *testing.T) {
	mark := func(typ history.Type, ns int64) record.Mark {
		return record.Mark{Workload: "load", Type: typ, Event: 1, TimeNs: ns}
	}
	for name, c := range map[string]struct {
		marks []record.Mark
		holds bool
	}{
		"in time":   {[]record.Mark{mark(history.Ready, 3*second)}, true},
		"done":      {[]record.Mark{mark(history.Done, 3*second)}, false},
		"late":      {[]record.Mark{mark(history.Ready, 7*second), mark(history.Done, 8*second)}, false},
		"never":     {nil, false},
		"another's": {[]record.Mark{{Workload: "other", Type: history.Ready, TimeNs: second}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			spec, out := good(t)
			spec.Workloads[0].Announces, spec.Workloads[0].ReadyNs = true, 5*second
			out.ReadyNs, out.Marks = second, c.marks
			v := find(t, Judge(spec, out), "p")
			if v.Status == Holds != c.holds || !c.holds && !strings.Contains(v.Reason, `"load" did not report "ready" within 5`) {
				t.Errorf("%s: %s", v.Status, v.Reason)
			}
		})
	}
}

// TestOperationsChoose: for checks that promise something of all operations, a silent driver leaves nothing to say, unless the
// operations are chosen.
func TestOperationsChoose(t *testing.T) {
	for _, c := range []struct {
		check world.Check
		want  bool
	}{
		{world.Check{Type: world.Linearizability}, true}, {world.Check{Type: world.Isolation}, true}, {world.Check{Type: world.Durability}, true},
		{world.Check{Type: world.ProgressCheck}, false}, {world.Check{Type: world.ProgressCheck,
			Subject: world.Subject{Operations: []string{"get"}}}, true},
		{world.Check{Type: world.RecoveryCheck}, false}, {world.Check{Type: world.Expression}, false}, {world.Check{Type: world.Conformance}, false},
	} {
		if got := judgesReported(&c.check); got != c.want {
			t.Errorf("%+v: %v", c.check, got)
		}
	}
}

func property(operations ...string) *world.Property {
	return &world.Property{Name: "p", Kind: world.Safety, Check: world.Check{Type: world.Linearizability,
		Subject: world.Subject{Operations: operations}}}
}

func TestProbesJudgeNoHistory(t *testing.T) {
	p := &world.Property{Name: "p", Kind: world.Safety, Check: world.Check{Type: world.HTTPCheck}}
	if v := History(p, nil); v.Status != Unknown || !strings.Contains(v.Reason, "cannot judge a history") {
		t.Errorf("%+v", v)
	}
}
