package check

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// run writes an outcome in short. Words are TIME:WHAT in seconds, in their order: "1:put(k)" invokes, "2:put(k)!" succeeds,
// "2:put(k)/" fails and "2:put(k)?" is unknown; "1:@7" starts a job, "2:@7!" is its end and "2:@7/" its failure; "3:#4" is a
// an injection until 4; "5:heal"; "9:end". The client of an operation is its kind and key; ~ before it is a client of the recovery.
func run(t *testing.T, text string) *record.Outcome {
	t.Helper()
	out := &record.Outcome{Reason: record.Finished, ReadyNs: 1}
	retired := map[string]int{}
	for i, w := range strings.Fields(text) {
		var at float64
		clock, what, _ := strings.Cut(w, ":")
		if _, err := fmt.Sscan(clock, &at); err != nil {
			t.Fatalf("%s: %v", w, err)
		}
		ns, event := int64(at*1e9), uint64(i+1)
		body := strings.TrimRight(what, "!/?")
		end := strings.TrimPrefix(what, body)
		switch {
		case what == "heal":
			out.Heals = append(out.Heals, ns)
		case what == "end":
			out.VirtualNs = ns
		case strings.HasPrefix(what, "#"):
			var until float64
			fmt.Sscan(what[1:], &until)
			out.Ledger.Injections = append(out.Ledger.Injections, fault.Injection{StartNs: ns, EndNs: int64(until * 1e9)})
		case strings.HasPrefix(what, "@"):
			id, node, moved := strings.Cut(body[1:], "%")
			if !moved {
				node = "n1"
			}
			out.Jobs = append(out.Jobs, record.JobSighting{Property: "p",
				What: map[string]world.JobStep{"": world.JobStart, "!": world.JobDone, "/": world.JobFailed}[end],
				ID:   id, Node: node, Event: event, TimeNs: ns})
		default:
			client := "load/" + body
			if rest, ok := strings.CutPrefix(body, "~"); ok {
				body, client = rest, "load"+world.RecoveryClients+rest
			}
			op, key, _ := strings.Cut(strings.TrimSuffix(body, ")"), "(")
			name := fmt.Sprint(client, ".", retired[client])
			if end == "?" {
				retired[client]++
			}
			out.History = append(out.History, history.Event{Number: event, TimeNs: ns, Client: name, Op: op, Key: key,
				Type: map[string]history.Type{"": history.Invoke, "!": history.Ok, "/": history.Fail, "?": history.Info}[end]})
		}
		out.VirtualNs = max(out.VirtualNs, ns)
	}
	return out
}

// fails is so many failures in a row of an operation, one a second from a time on.
func fails(n, from int, op string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d:%s %d.5:%s/ ", from+i, op, from+i, op)
	}
	return b.String()
}

func TestProgress(t *testing.T) {
	hundred := func(stuck bool) string { // jobs, the 57th of which may never end
		var b strings.Builder
		for i := range 100 {
			fmt.Fprintf(&b, "%d:@%d ", i, i)
			if !stuck || i != 57 {
				fmt.Fprintf(&b, "%d.5:@%d! ", i, i)
			}
		}
		return b.String() + "120:end"
	}
	row := world.Check{Patience: world.Patience{Failures: 3}}
	hang := world.Check{Patience: world.Patience{HangNs: 5e9}}
	jobs := world.Check{Patience: world.Patience{Failures: 3, HangNs: 10e9}, Jobs: world.Jobs{Start: "start (.*)", Done: "done (.*)"}}
	with := func(c world.Check, change func(*world.Check)) world.Check { change(&c); return c }
	const enough = "0:get(z) 0.01:get(z)! 0.02:get(z) 0.03:get(z)! 0.04:get(z) 0.05:get(z)! " // to see three failures in a row
	const later = "20:get(z) 20.01:get(z)! 20.02:get(z) 20.03:get(z)! 20.04:get(z) 20.05:get(z)! "
	for _, c := range []struct {
		name, text string
		check      world.Check
		want       Status
		reason     string
	}{
		{"three in a row", fails(3, 1, "put(a)"), row, Violated, "every put failed 3 times in a row"},
		{"two in a row", enough + fails(2, 1, "put(a)"), row, Holds, ""},
		{"one succeeds in between", fails(2, 1, "put(a)") + "4:put(a) 4.1:put(a)! " + fails(2, 5, "put(a)"), row, Holds, ""},
		{"unknown is no success", "1:put(a) 2:put(a)? 3:put(a) 4:put(a)? 5:put(a) 6:put(a)?", row, Violated, "every put"},
		{"a key", "1:put(b) 1.1:put(b)! 2:put(a) 2.1:put(a)/ 3:put(b) 3.1:put(b)! 4:put(a) 4.1:put(a)/ 5:put(b) 5.1:put(b)! " +
			"6:put(a) 6.1:put(a)/ 7:put(b) 7.1:put(b)!", row,
			Violated, `key "a" failed 3 times in a row`},
		{"a key, less one", "1:put(b) 1.1:put(b)! 2:put(a) 2.1:put(a)/ 3:put(b) 3.1:put(b)! 4:put(a) 4.1:put(a)/ 5:put(b) 5.1:put(b)!", row, Holds, ""},
		{"a key over several kinds", "1:put(b) 1.1:put(b)! 2:put(a) 2.1:put(a)/ 3:get(b) 3.1:get(b)! 4:get(a) 4.1:get(a)/ " +
			"5:put(b) 5.1:put(b)! 6:put(a) 6.1:put(a)/", row,
			Violated, `key "a" failed`},
		{"one kind on one key", "1:put(b) 1.1:put(b)! 2:put(a) 2.1:put(a)/ 3:get(a) 3.1:get(a)! 4:put(b) 4.1:put(b)! 5:put(a) " +
			"5.1:put(a)/ 6:get(a) 6.1:get(a)! 7:put(b) 7.1:put(b)! 8:put(a) 8.1:put(a)/", row,
			Violated, `put of key "a" failed`},
		{"other operations", enough + fails(3, 1, "put(a)") + "9:get(a) 9.1:get(a)!",
			with(row, func(c *world.Check) { c.Operations = []string{"GET"} }), Holds, ""},
		{"a fault excuses", enough + "0:put(a) 0.5:put(a)! 0.9:#5 " + fails(3, 1, "put(a)") + "6:put(a) 7:put(a)!", row, Holds, ""},
		{"but not when asked", "0:put(a) 0.5:put(a)! 0.9:#5 " + fails(3, 1, "put(a)"),
			with(row, func(c *world.Check) { c.DuringFaults = true }), Violated, "every put"},
		{"a fault does not end a row", fails(2, 1, "put(a)") + "3:#6 " + fails(2, 4, "put(a)") + fails(1, 8, "put(a)"), row,
			Violated, "every put failed 3 times"},
		{"grace", "0:put(a) 0.5:put(a)! 0.9:#5 " + fails(3, 6, "put(a)") + "10:put(a) 11:put(a)! " + later,
			with(row, func(c *world.Check) { c.GraceNs = 4e9 }), Holds, ""},
		{"grace is over", "0:put(a) 0.5:put(a)! 0.9:#5 " + fails(3, 10, "put(a)"), with(row, func(c *world.Check) { c.GraceNs = 4e9 }), Violated, "every put"},
		{"grace after the start", fails(3, 0, "put(a)") + "5:put(a) 6:put(a)! " + later, with(row, func(c *world.Check) { c.GraceNs = 4e9 }), Holds, ""},
		{"grace over all failures", fails(9, 0, "put(a)") + later, with(row, func(c *world.Check) { c.GraceNs = 10e9 }), Unknown,
			"every put failed only during a fault or the grace"},
		{"grace over the whole run", enough + fails(9, 1, "put(a)") + "10:put(a) 10.1:put(a)!",
			with(row, func(c *world.Check) { c.GraceNs = 36000e9 }), Unknown,
			"no kind of operation, key or job had more than 0 attempts without a fault and its grace; lower `failures` or `grace`, or lengthen"},
		{"grace over most of the run", enough + "0.06:get(a) 0.07:get(a)! " + fails(9, 1, "get(a)") +
			"10:get(z) 10.1:get(z)! 11:get(a) 11.1:get(a)/ 12:end", with(row, func(c *world.Check) { c.GraceNs = 9.6e9 }), Unknown,
			"had more than 2 attempts"},
		{"a key that never succeeds, mostly within the grace", fails(9, 0, "get(a)") + later + "21:get(a) 21.1:get(a)/",
			with(row, func(c *world.Check) { c.GraceNs = 10e9 }), Unknown,
			`get of key "a" failed all 10 times, but only 1 of these did not overlap a fault or the grace`},
		{"a key that succeeds once", fails(9, 0, "get(a)") + later + "21:get(a) 21.1:get(a)! 22:get(a) 22.1:get(a)/",
			with(row, func(c *world.Check) { c.GraceNs = 10e9 }), Holds, ""},
		{"setup within the grace", "0:create 0.1:create! " + later, with(row, func(c *world.Check) { c.GraceNs = 1e9 }), Holds, ""},
		{"two without a key are not four", enough + fails(2, 1, "put"), row, Holds, ""},
		{"three without a key", fails(3, 1, "put"), row, Violated, "every put failed 3 times"},
		{"too few to fail so often", "0:get(a) 1:get(a)! " + fails(2, 2, "put(b)"), row, Unknown,
			"3 failures in a row were not possible: no kind of operation, key or job had more than 2 attempts"},
		{"a key has enough over its kinds", "0:get(a) 1:get(a)! " + fails(2, 2, "put(a)"), row, Holds, ""},
		{"too few without a fault", "0:get(z) 0.5:get(z)! 0.9:#9 " + fails(3, 1, "get(z)"), row, Unknown, "3 failures in a row were not possible"},
		{"a hang is bounded too, but no row", "1:put(a) 2:put(a)! 9:end", with(hang, func(c *world.Check) { c.Failures = 3 }), Unknown, "more than 1 attempts"},
		{"longer than the run", enough + "5:end", with(hang, func(c *world.Check) { c.HangNs = 600e9 }), Unknown,
			"no operation was in flight for 600.000000 s"},
		{"jobs too few", enough + "1:@a 2:@a! 3:@b 4:@b!", with(jobs, func(c *world.Check) { c.HangNs = 0 }), Unknown,
			"no job could have failed 3 times in a row: there were 2 attempts"},
		{"a name that nobody has", enough + "9:end", with(row, func(c *world.Check) { c.Operations = []string{"get", "gett"} }),
			Unknown, `no operation "gett" was seen; there were get`},
		{"a name that nobody has hides nothing", fails(3, 1, "put(a)"),
			with(row, func(c *world.Check) { c.Operations = []string{"put", "gett"} }), Violated, "every put"},
		{"only names that nobody has", enough, with(row, func(c *world.Check) { c.Operations = []string{"puts"} }), Unknown, `no operation "puts" was seen`},
		{"all within faults", "0:#50 " + fails(2, 1, "put(a)"), row, Unknown, "every put failed only during a fault"},
		{"nothing at all", "5:end", row, Unknown, "no operation was reported"},
		{"broken", "1:put(a) 2:put(a)", row, Unknown, "broken history"},

		{"hangs", "1:put(a) 7:put(a)!", hang, Violated, `put "a" was under way for 6.000000 s`},
		{"takes long", "1:put(a) 5:put(a)! 9:end", hang, Holds, ""},
		{"hangs until unknown", "1:put(a) 7:put(a)?", hang, Violated, "under way"},
		{"never returns", "1:put(a) 7:end", hang, Violated, "under way"},
		{"hangs in a fault", "0:get(a) 0.1:get(a)! 1:put(a) 2:#5 7:put(a)! 20:end", hang, Holds, ""},
		{"faults are always there", "0:get(a) 0.1:get(a)! 1:put(a) 2:#5 7:put(a)! 8:#20 20:end", hang, Unknown, "none could count as hanging"},
		{"nothing goes on without faults", "0:get(a) 0.1:get(a)! 1:put(a) 2:#5 4:put(a)! 20:end", hang, Unknown, "none could count as hanging"},
		{"hangs after a fault", "1:put(a) 2:#3 9:put(a)!", hang, Violated, "from 3.000000 s on"},
		{"hangs in a fault, when asked", "1:put(a) 2:#5 7:put(a)!", with(hang, func(c *world.Check) { c.DuringFaults = true }), Violated, "under way"},

		{"one job of a hundred", hundred(true), jobs, Violated, `job "57" was under way for 63.000000 s`},
		{"no job of a hundred", hundred(false), jobs, Holds, ""},
		{"a job fails", "1:@a 2:@a/ 3:@a 4:@a/ 5:@a 6:@a/", jobs, Violated, "every job failed 3 times"},
		{"one job fails", "1:@a 2:@a/ 3:@b 3:@b! 3:@a 4:@a/ 5:@b 5:@b! 5:@a 6:@a/", jobs, Violated, `job "a" failed 3 times`},
		{"starts again and again", "1:@a 2:@a 3:@a 4:@a", jobs, Violated, "failed 3 times"},
		{"another node's job", "1:@a 1.5:@a%n2 2:@a%n2! 15:end", jobs, Violated, `job "a" was under way`},
		{"a job that moves", enough + "1:@a 2:@a%n2! 15:end", with(jobs, func(c *world.Check) { c.Jobs.AcrossNodes = true }), Holds, ""},
		{"no job seen", "1:put(a) 2:put(a)! 15:end", jobs, Unknown, "no job was seen"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.check.Type = world.ProgressCheck
			v := judge(&world.Spec{}, &world.Property{Name: "p", Kind: world.Progress, Check: c.check}, run(t, c.text))
			if v.Status != c.want || !strings.Contains(v.Reason, c.reason) || v.Status == Violated && (len(v.Evidence) == 0 || v.Event == 0) {
				t.Fatalf("%s: %s\n%s\nwant %s: %s", v.Status, v.Reason, strings.Join(v.Evidence, "\n"), c.want, c.reason)
			}
		})
	}
}

// Requests that the server calls wrong have nothing to recover from, whenever the faults begin.
func TestRecoveryOfMistakes(t *testing.T) {
	faultFirst := "2:get(a) 2.1:get(a)! 3:#5 5:heal " + fails(9, 6, "~put(a)") + "6:~get(a) 6.1:~get(a)! 16:end"
	for _, c := range []struct {
		text, failure string
		want          Status
		reason        string
	}{
		{faultFirst, "status 404", Unknown, "no put has ever succeeded: the server rejects each one as a mistake of the client (status 404)"},
		{faultFirst, "status 400", Unknown, "(status 400)"},
		{strings.ReplaceAll(faultFirst, "/", "?"), "status 404", Unknown, "mistake of the client (status 404)"},
		{faultFirst, "status 503", Violated, "no put succeeded"},
		{faultFirst, "status 409", Violated, "no put succeeded"},
		{faultFirst, "", Violated, "no put succeeded"},
		{"1:put(a) 1.1:put(a)! " + faultFirst, "status 404", Violated, "no put succeeded"},
		{"1:put(a) 1.1:put(a)? " + faultFirst, "status 404", Unknown, "mistake of the client"},
	} {
		out := run(t, c.text)
		for i := range out.History {
			if e := &out.History[i]; e.Type == history.Fail || e.Type == history.Info {
				e.Error = c.failure
			}
		}
		v := judge(&world.Spec{}, &world.Property{Name: "p", Kind: world.Recovery, TimeoutNs: 10e9,
			Check: world.Check{Type: world.RecoveryCheck}}, out)
		if v.Status != c.want || !strings.Contains(v.Reason, c.reason) {
			t.Errorf("%s, %q: %s: %s\nwant %s: %s", c.text, c.failure, v.Status, v.Reason, c.want, c.reason)
		}
	}
}

func TestRecovery(t *testing.T) {
	before := "1:put(a) 1.1:put(a)! 2:get(a) 2.1:get(a)! 3:#5 5:heal "
	kinds, job := world.Check{}, world.Check{Jobs: world.Jobs{Start: "start (.*)", Done: "done (.*)"}}
	for _, c := range []struct {
		name, text string
		check      world.Check
		want       Status
		reason     string
	}{
		{"all is well", before + "6:~put(a) 6.1:~put(a)! 7:~get(a) 7.1:~get(a)! 16:end", kinds, Holds, ""},
		{"after several tries", before + fails(3, 6, "~put(a)") + "9:~put(a) 9.1:~put(a)! 10:~get(a) 10.1:~get(a)! 16:end", kinds, Holds, ""},
		{"writes do not come back", before + fails(9, 6, "~put(a)") + "6:~get(a) 6.1:~get(a)! 16:end", kinds, Violated,
			"no put succeeded within 10.000000 s after the heal at 5.000000 s"},
		{"writes that never worked", "1:put(a) 1.1:put(a)/ 2:get(a) 2.1:get(a)! 3:#5 5:heal " + fails(9, 6, "~put(a)") +
			"6:~get(a) 6.1:~get(a)! 16:end", kinds, Unknown, "no put has ever succeeded, not even before the first fault"},
		{"writes that never worked, and reads that do no more",
			"1:put(a) 1.1:put(a)/ 2:get(a) 2.1:get(a)! 3:#5 5:heal " + fails(9, 6, "~put(a)") + fails(9, 6, "~get(a)") + "16:end",
			kinds, Violated, "no get succeeded"},
		{"writes that a fault comes before",
			"2:get(a) 2.1:get(a)! 3:#5 5:heal " + fails(9, 6, "~put(a)") + "6:~get(a) 6.1:~get(a)! 16:end", kinds, Violated, "no put succeeded"},
		{"too late", before + fails(9, 6, "~put(a)") + "15:~put(a) 15.1:~put(a)! 6:~get(a) 6.1:~get(a)! 16:end", kinds, Violated, "no put succeeded"},
		{"one key does not come back", before + "6:~put(b) 6.1:~put(b)! " + fails(9, 6, "~put(a)") +
			"7:~get(a) 7.1:~get(a)! 16:end", kinds, Violated, `put of key "a"`},
		{"a key hangs", before + "6:~put(b) 6.1:~put(b)! 6:~get(a) 7:~get(b) 7.1:~get(b)! 16:end", kinds, Violated, `key "a"`},
		{"not tried", before + "6:~put(a) 6.1:~put(a)! 16:end", kinds, Unknown, "no get was tried after the last heal"},
		{"not tried for long", before + fails(2, 6, "~put(a)") + "6:~get(a) 6.1:~get(a)! 16:end", kinds, Unknown,
			"every put did not succeed after the last heal"},
		{"the run ends too early", before + fails(5, 6, "~put(a)") + "6:~get(a) 6.1:~get(a)! 11:end", kinds, Unknown, "ended too early"},
		{"no heal", "1:put(a) 1.1:put(a)! 16:end", kinds, Unknown, "there was no heal"},
		{"not between two faults", "1:put(a) 1.1:put(a)! 3:#5 5:heal " + fails(15, 6, "put(a)") +
			"22:#23 23:heal 24:~put(a) 24.1:~put(a)! 40:end", kinds, Violated, "the heal at 5.000000 s"},
		{"the next fault comes first", "1:put(a) 1.1:put(a)! 3:#5 5:heal " + fails(15, 6, "put(a)") +
			"12:#23 23:heal 24:~put(a) 24.1:~put(a)! 40:end", kinds, Holds, ""},
		{"not from the start on", fails(12, 1, "put(a)") + "13:#14 14:heal 15:~put(a) 15.1:~put(a)! 40:end", kinds, Violated, "after the start"},
		{"a name that nobody has", before + "6:~put(a) 6.1:~put(a)! 7:~get(a) 7.1:~get(a)! 16:end",
			world.Check{Subject: world.Subject{Operations: []string{"put", "gets"}}}, Unknown, `no operation "gets" was seen; there were get, put`},
		{"a client of the user's goes on", before + "6:put(a) 6.1:put(a)! 7:get(a) 7.1:get(a)! 16:end", kinds, Holds, ""},

		{"a job ends", "1:@a 3:#5 5:heal 7:@a! 16:end", job, Holds, ""},
		{"a job is lost", "1:@b 2:@b! 3:@a 3.1:#5 5:heal 6:@b 6.1:@b! 16:end", job, Violated,
			`job "a" on n1 did not succeed within 10.000000 s after the heal`},
		{"a job is taken up again", "1:@b 2:@b! 3:@a 3.1:#5 5:heal 6:@b 6.1:@b! 7:@a 8:@a! 16:end", job, Holds, ""},
		{"a job fails for ever", "1:@b 2:@b! 3:@a 3.1:#5 5:heal 6:@b 6.1:@b! 6:@a 7:@a/ 8:@a 9:@a/ 11:@a 12:@a/ 14:@a 14.5:@a/ 16:end",
			job, Violated, `job "a"`},
		{"a job that was refused once", "1:@b 2:@b! 3:@a 4:@a/ 4.1:#5 5:heal 6:@b 6.1:@b! 16:end", job, Holds, ""},
		{"a job that comes again and again does not", "1:@a 2:@a! 3:@a 4:@a/ 4.1:#5 5:heal 6:@b 6.1:@b! 16:end", job, Violated, "it did not run again"},
		{"no job after the heal", "1:@a 2:@a! 3:#5 5:heal 16:end", job, Unknown, "no job was under way after the last heal"},
		{"a young job", "1:@a 2:@a! 3:#5 5:heal 6:@a 7:@a! 14:@c 16:end", job, Holds, ""},
		{"no job at all", before + "6:~put(a) 6.1:~put(a)! 7:~get(a) 7.1:~get(a)! 16:end", job, Unknown, "no job was seen"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.check.Type = world.RecoveryCheck
			p := &world.Property{Name: "p", Kind: world.Recovery, TimeoutNs: 10e9, Check: c.check}
			v := judge(&world.Spec{}, p, run(t, c.text))
			if v.Status != c.want || !strings.Contains(v.Reason, c.reason) || v.Status == Violated && (len(v.Evidence) == 0 || v.Event == 0) {
				t.Fatalf("%s: %s\n%s\nwant %s: %s", v.Status, v.Reason, strings.Join(v.Evidence, "\n"), c.want, c.reason)
			}
		})
	}
}

// TestTimesBetweenFaults compares spans with their slow twin, which looks at every moment.
func TestTimesBetweenFaults(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 2000 {
		l := &fault.Ledger{}
		for range r.IntN(5) {
			from := int64(r.IntN(20))
			l.Injections = append(l.Injections, fault.Injection{StartNs: from, EndNs: from + int64(r.IntN(6))})
		}
		grace := int64(r.IntN(3))
		spans, _ := faulty(l, grace)
		from := int64(r.IntN(20))
		to := from + 1 + int64(r.IntN(10))
		clear := map[int64]bool{}
		for _, s := range between(spans, from, to) {
			for at := s.fromNs; at < s.toNs; at++ {
				clear[at] = true
			}
		}
		any := false
		for at := from; at <= to; at++ {
			inside := false // in the time right after the moment
			for _, s := range l.Injections {
				inside = inside || at >= s.StartNs && at < s.EndNs+grace
				any = any || at >= s.StartNs && at <= s.EndNs+grace
			}
			if at < to && clear[at] == inside {
				t.Fatalf("moment %d of %d to %d, injections %+v, grace %d: clear is %v", at, from, to, l.Injections, grace, clear[at])
			}
		}
		if touches(spans, from, to) != any {
			t.Fatalf("%d to %d, injections %+v, grace %d: touches is %v", from, to, l.Injections, grace, !any)
		}
	}
}

// A history from a file may lack times, or have them in another order than its events.
func TestProgressWithoutTimes(t *testing.T) {
	p := &world.Property{Name: "p", Kind: world.Progress, Check: world.Check{Type: world.ProgressCheck, Patience: world.Patience{HangNs: 1e9}}}
	for text, want := range map[string]string{
		"0:put(a) 9:put(a)! 10:get(a) 11:get(a)!": "was under way for 9",
		"5:put(a) 0:put(a)! 9:get(b) 9.1:get(b)!": "the time goes backwards at event 2",
		"0:put(a) 0:put(a)! 0:get(b) 0:get(b)!":   "the history has no times",
	} {
		if v := History(p, run(t, text).History); !strings.Contains(v.Reason, want) {
			t.Errorf("%s: %s %s, want %s", text, v.Status, v.Reason, want)
		}
	}
}
