package check

import (
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/historytest"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// TestCutOff judges runs that ended before their drivers did: what is broken so far is a violation only where nothing that
// might still have come could make it whole.
func TestCutOff(t *testing.T) {
	cuts := map[string]func(*record.Outcome){
		"max_time": func(o *record.Outcome) { o.Reason = record.MaxTime },
		"limit":    func(o *record.Outcome) { o.Reason, o.Detail = record.Limit, "events" },
		"stopped":  func(o *record.Outcome) { o.Reason = record.Stopped },
		"the driver of workload \"load\" ended with exit code 3":  func(o *record.Outcome) { o.Drivers[0].ExitCode = 3 },
		"the driver of workload \"load\" did not end before":      func(o *record.Outcome) { o.Drivers = nil },
		"the driver of workload \"load\" was ended by SIGSEGV at": func(o *record.Outcome) { o.Drivers[0].Signal = "SIGSEGV" },
	}
	for _, c := range []struct {
		name, short, condition string
		kind                   world.CheckType
		want                   Status // of the run that was cut off; whole ones are violated
	}{
		{"too few so far", "a:put=1 a! b:get", `count(ops, .op == "get" and .type == "ok") == 1`, world.Expression, Unknown},
		{"none so far", "a:put=1 a!", `any(ops, .op == "get")`, world.Expression, Unknown},
		{"in flight", "a:put=1 a! b:get", `none(ops, .type == "info")`, world.Expression, Unknown},
		{"in flight, all of them", "a:put=1 a! b:get", `all(ops, .type == "ok")`, world.Expression, Unknown},
		{"another part may come true", "a:put=1 a! b:get",
			`none(ops, .type == "fail") and count(ops, .op == "get" and .type == "ok") > 0`, world.Expression, Unknown},
		{"or may come true", "a:put=1 a/ b:get", `none(ops, .type == "fail") or count(ops, .op == "get" and .type == "ok") > 0`, world.Expression, Unknown},
		{"not exactly so many", "a:put=1 a! a:put=2 a!", `count(ops, .type == "ok") == 3`, world.Expression, Unknown},
		{"by how many there are", "a:put=1 a! b:get", `all(ops, len(ops) > 9)`, world.Expression, Unknown},

		{"reported as unknown", "a:put=1 a? b:get b!1", `none(ops, .type == "info")`, world.Expression, Violated},
		{"forbidden", "a:put=1 a/ b:get", `none(ops, .type == "fail")`, world.Expression, Violated},
		{"an offender", "a:put=1 a/ b:get", `filter(ops, .type == "fail")`, world.Expression, Violated},
		{"forbidden in other words", "a:put=1 a/ b:get", `not any(ops, .type == "fail")`, world.Expression, Violated},
		{"too many", "a:put=1 a! a:put=2 a! b:get", `count(ops, .type == "ok") <= 1`, world.Expression, Violated},
		{"no more than none", "a:put=1 a! b:get", `count(ops, .type == "ok") == 0`, world.Expression, Violated},
		{"one part is broken for good", "a:put=1 a/ b:get", `none(ops, .type == "fail") and count(ops, .type == "ok") > 0`, world.Expression, Violated},

		{"at an event", "a:put=1 a! b:get", `count(ops, .op == "get") == 0`, world.InvariantCheck, Violated},
		{"at the end only", "a:put=1 a! b:get", `none(ops, .type == "info")`, world.InvariantCheck, Unknown},

		{"not there yet", "a:put=1 a! b:get b!-", "", world.Durability, Unknown},
		{"no order", "a:put=1 a! b:get b!- b:get", "", world.Linearizability, Violated},
		{"goes back", "a:get a!2 a:get a!1", "", world.Monotonic, Violated},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := world.Property{Name: "p", Kind: world.Safety, Check: world.Check{Type: c.kind, Subject: world.Subject{Condition: c.condition}}}
			for reason, cut := range cuts {
				spec := &world.Spec{MaxTimeNs: 300 * second, Workloads: []world.Workload{{Name: "load", Driver: "http"}},
					Properties: []world.Property{p}}
				out := &record.Outcome{Reason: record.Finished, VirtualNs: 100 * second, History: clientsOf("load", historytest.Events(t, c.short)),
					Drivers: []record.DriverEnd{{Workload: "load"}}}
				if v := find(t, Judge(spec, out), "p"); v.Status != Violated {
					t.Fatalf("the whole run is %s: %s", v.Status, v.Reason)
				}
				cut(out)
				v := find(t, Judge(spec, out), "p")
				if v.Status != c.want || v.Status == Unknown && !strings.Contains(v.Reason, reason) {
					t.Errorf("%s: %s: %s", reason, v.Status, v.Reason)
				}
			}
		})
	}
}

// TestAgreementWhileDriversWork: nodes that are written to need not agree.
func TestAgreementWhileDriversWork(t *testing.T) {
	for _, c := range []struct {
		name    string
		drivers []record.DriverEnd
		want    Status
	}{
		{"at rest", []record.DriverEnd{{Workload: "load"}}, Violated},
		{"its driver failed", []record.DriverEnd{{Workload: "load", ExitCode: 3}}, Violated},
		{"at work", nil, Unknown},
	} {
		spec := &world.Spec{Workloads: []world.Workload{{Name: "load", Driver: "http"}},
			Properties: []world.Property{{Name: "p", Kind: world.Safety, Check: world.Check{Type: world.Agreement}}}}
		out := &record.Outcome{Reason: record.Finished, Drivers: c.drivers,
			Probes: []record.Probe{{Property: "p", Phase: "final", ExitCode: world.ProbeViolated, Output: "n1 says 1, n2 says 2"}}}
		if v := find(t, Judge(spec, out), "p"); v.Status != c.want {
			t.Errorf("%s: %s: %s", c.name, v.Status, v.Reason)
		}
	}
}

// TestAbandoned: what a driver had under way when it broke down does not hang, and neither does a job whose end may be among
// the lines that were not kept.
func TestAbandoned(t *testing.T) {
	hang := world.Check{Type: world.ProgressCheck, Patience: world.Patience{HangNs: 5e9}}
	jobs := world.Check{Type: world.ProgressCheck, Patience: world.Patience{HangNs: 5e9}, Jobs: world.Jobs{Start: "start (.*)", Done: "done (.*)"}}
	again := world.Check{Type: world.RecoveryCheck}
	for _, c := range []struct {
		name, text string
		check      world.Check
		end        record.DriverEnd
		lost       uint64
		want       Status
	}{
		{"it ended well", "1:put(a) 20:end", hang, record.DriverEnd{TimeNs: 2e9}, 0, Violated},
		{"it broke down", "1:put(a) 20:end", hang, record.DriverEnd{TimeNs: 2e9, ExitCode: 1}, 0, Unknown},
		{"it broke down after the hang", "1:put(a) 20:end", hang, record.DriverEnd{TimeNs: 7e9, ExitCode: 1}, 0, Violated},
		{"a job", "1:@a 20:end", jobs, record.DriverEnd{}, 0, Violated},
		{"a job, and lines are lost", "1:@a 2:@b 3:@b! 20:end", jobs, record.DriverEnd{}, 1, Unknown},
		{"a job that hung before that", "1:@a 8:@b 9:@b! 20:end", jobs, record.DriverEnd{}, 1, Violated},
		{"does not work again", "0.5:put(a) 0.6:put(a)! 1:#2 2:heal 3:put(a) 60:end", again, record.DriverEnd{TimeNs: 50e9}, 0, Violated},
		{"not known to work again", "0.5:put(a) 0.6:put(a)! 1:#2 2:heal 3:put(a) 60:end", again, record.DriverEnd{TimeNs: 4e9, Signal: "SIGKILL"}, 0, Unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.end.Workload = "load"
			out := run(t, c.text)
			out.Drivers, out.JobsLost = []record.DriverEnd{c.end}, c.lost
			spec := &world.Spec{Workloads: []world.Workload{{Name: "load", Driver: "command"}},
				Properties: []world.Property{{Name: "p", Kind: world.Progress, Check: c.check}}}
			v := find(t, Judge(spec, out), "p")
			if v.Status != c.want {
				t.Fatalf("%s: %s, want %s", v.Status, v.Reason, c.want)
			}
		})
	}
}
