package explore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/enginetest"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// The test program is its own worker.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "__worker" {
		if err := Serve(os.Stdin, os.Stdout, runFake, func() { os.Exit(9) }); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func runFake(setup *Setup, job *Job, _ func(Progress), interrupt <-chan struct{}) *Reply {
	if program := setup.Spec.Nodes[0].WorkingDir; program != "" { // it is there at the second look
		if _, err := os.Stat(program); err != nil {
			os.WriteFile(program, nil, 0o666)
			return Failed(fmt.Errorf("cannot start it: %w", err))
		}
	}
	o := engine.Options{Interrupt: interrupt}
	snapshot := !job.FromBoot && slices.Contains([]string{plantedMismatch, plantedOnce}, setup.Spec.Dir)
	var trace bytes.Buffer
	if job.Trace != nil {
		o.Observe = func(e *record.Event) {
			if planted := snapshot && e.Number == plantedAt && setup.Spec.Dir == plantedMismatch; planted {
				fmt.Fprintf(&trace, "%d %s planted() = 1\n", e.Number, e.Node)
			} else if !snapshot || e.Number > plantedSnapshot {
				fmt.Fprintf(&trace, "%d %s %s() = %d\n", e.Number, e.Node, e.Call, e.Result)
			}
		}
	}
	ran, err := engine.Run(enginetest.New(), setup.Spec, job.Tape, setup.Options(o))
	if err != nil {
		return &Reply{Error: err.Error()}
	}
	if job.Trace != nil {
		if err := os.WriteFile(job.Trace.File, trace.Bytes(), 0o666); err != nil {
			return &Reply{Error: err.Error()}
		}
	}
	out := &check.Judged{Outcome: *ran}
	if snapshot && (setup.Spec.Dir == plantedMismatch || job.Trace == nil) {
		out.Hash = "planted"
	}
	out.Verdicts = []check.Verdict{judge(out)}
	r := &Reply{Summary: Summarise(out), Seen: setup.See(out)}
	if snapshot {
		r.Began = &runner.Begin{Event: plantedSnapshot}
	}
	if job.Full || len(Violated(out.Verdicts)) > 0 {
		r.Outcome = out
	}
	return r
}

// A run that begins at a snapshot of the fake's is another one from an event on, always or only without a trace.
const (
	plantedMismatch = "/planted"
	plantedOnce     = "/planted-once"
	plantedSnapshot = 10
	plantedAt       = 30
)

// judge: a get returns what was put last. The fake's clients take turns, so no more is needed.
func judge(o *check.Judged) check.Verdict {
	v := check.Verdict{Property: "reads", Kind: "safety", Status: check.Holds}
	last := map[string]string{}
	for _, h := range o.History {
		switch {
		case h.Type == history.Invoke:
		case h.Op == "put":
			last[h.Key] = h.Input
		case h.Output != last[h.Key]:
			v.Status, v.Event, v.TimeNs = check.Violated, h.Number, h.TimeNs
			v.Reason = fmt.Sprintf("get %s returned %q, put was %q", h.Key, h.Output, last[h.Key])
			return v
		}
	}
	return v
}

func fakeSpec(mode string) *world.Spec {
	return &world.Spec{
		Nodes: []world.Node{{Name: "n1", Role: world.Server, Env: []string{"FAKE=" + mode}}, {Name: "n2", Role: world.Server},
			{Name: "load", Role: world.Client}},
		Workloads: []world.Workload{{Node: "load", Clients: 2, Operations: 40}},
		Faults: world.Faults{Enabled: true, Rules: []world.FaultRule{{Kind: "partition", RatePPM: 5_000, MinNs: 5e6, MaxNs: 50e6,
			Targets: []string{"n1-n2"}, ByUser: true}}},
	}
}

func campaign(t *testing.T, spec *world.Spec, runs uint64, workers int) *Campaign {
	t.Helper()
	command, err := Self("__worker")
	if err != nil {
		t.Fatal(err)
	}
	return &Campaign{Setup: &Setup{Spec: spec}, Seed: 1, Runs: runs, Workers: workers, Command: command,
		Note: func(s string) { t.Log(s) }}
}

// stable returns totals without the fields that may depend on the number of workers, or on the clock.
func stable(totals *Totals) string {
	c := *totals
	c.WallNs, c.RunWallNs, c.Workers = 0, 0, 0
	b, err := json.MarshalIndent(&c, "", " ")
	if err != nil {
		panic(err)
	}
	return string(b)
}

// A search learns of the domains of its guide alone, also of what runs in other processes tell.
func TestAGuideIsToldOfItsOwn(t *testing.T) {
	spec := fakeSpec(enginetest.Meeting)
	spec.Properties = []world.Property{{Check: world.Check{Type: world.Conformance}}}
	for name, some := range map[string]bool{"coverage-guided": true, "coverage-guided:state": false} {
		c := campaign(t, spec, 20, 1)
		var err error
		if c.Strategy, err = search.New(name, spec, 1, search.Settings{}); err != nil {
			t.Fatal(err)
		}
		if domains := c.Run(context.Background()).Search.Domains; domains[coverage.Fault] > 0 != some {
			t.Errorf("%s: %v", name, domains)
		}
	}
}

// Each of several rules of a kind must have been observed, not one for all.
func TestEachRuleIsObserved(t *testing.T) {
	spec := fakeSpec("")
	rule := spec.Faults.Rules[0]
	rule.When = "time_s > 1000"
	spec.Faults.Rules = append(spec.Faults.Rules, rule)
	totals := campaign(t, spec, 20, 2).Run(context.Background())
	status := totals.Status(spec)
	if len(status.Unknown) != 1 || !strings.Contains(status.Unknown[0],
		`fault "partition on n1-n2 rate 0.005 for 5ms..50ms when time_s > 1000" was planned 0 times`) {
		t.Errorf("%+v", status)
	}
	if r := totals.Faults.Rules; len(r) != 2 || r[0].Observed == 0 || r[1].Planned != 0 || r[0].Observed != totals.Faults.Entries[0].Observed {
		t.Errorf("the ledger has %+v", totals.Faults)
	}
}

func TestResultsDoNotDependOnWorkers(t *testing.T) {
	for _, keepGoing := range []bool{false, true} {
		var want string
		for _, workers := range []int{1, 3} {
			c := campaign(t, fakeSpec(enginetest.LostWrite), 60, workers)
			c.KeepGoing = keepGoing
			order := []uint64{}
			c.Finished = func(t *Totals) { order = append(order, t.Runs) }
			totals := c.Run(context.Background())
			if totals.Violated == 0 {
				t.Fatal("no violation found")
			}
			if keepGoing && (totals.Runs != 60 || totals.Violated < 2 || len(totals.Failures) != 1) {
				t.Errorf("%d runs, %d violated, %d failures; want 60, many, 1", totals.Runs, totals.Violated, len(totals.Failures))
			}
			if !keepGoing && (totals.Violated != 1 || totals.Failures[0].Run+1 != totals.Runs) {
				t.Errorf("went on after the first violation: %s", stable(totals))
			}
			for i, n := range order {
				if n != uint64(i)+1 {
					t.Fatalf("runs finished in the order %v", order)
				}
			}
			if got := stable(totals); want == "" {
				want = got
			} else if got != want {
				t.Errorf("%d workers\n%s\none worker\n%s", workers, got, want)
			}
		}
	}
}

// What a search has learned does not depend on which runs ended first.
func TestASearchThatLearnsDoesNotDependOnWorkers(t *testing.T) {
	spec := fakeSpec(enginetest.Meeting)
	spec.TimeStepNs = 10e6
	spec.Faults.Rules = append(spec.Faults.Rules, world.FaultRule{Kind: "pause", RatePPM: 5_000, MinNs: 5e6, MaxNs: 50e6, ByUser: true})
	for _, name := range []string{search.Guided, search.Guided + "+" + search.Bandit} {
		var want string
		for _, workers := range []int{1, 2, 5} {
			c := campaign(t, spec, 150, workers)
			c.KeepGoing = true
			c.Strategy = searching(t, name, spec, search.Settings{})
			totals := c.Run(context.Background())
			if s := totals.Search; totals.Runs != 150 || totals.Violated == 0 || totals.Failures[0].Origin.Parent == "" || s.Corpus == 0 || s.Features == 0 {
				t.Fatalf("%s: %s", name, stable(totals))
			}
			if got := stable(totals); want == "" {
				want = got
			} else if got != want {
				t.Errorf("%s: %d workers\n%s\none worker\n%s", name, workers, got, want)
			}
		}
	}
}

// The feedback delay is a setting that a campaign records: with the same one it repeats, whatever the number of workers, and with
// another one the search picks other tapes.
func TestFeedbackDelayIsASettingOfTheCampaign(t *testing.T) {
	spec := fakeSpec(enginetest.Meeting)
	spec.TimeStepNs = 10e6
	digests := map[uint64]string{}
	for _, delay := range []uint64{0, 8, 2} {
		for _, workers := range []int{1, 3} {
			c := campaign(t, spec, 60, workers)
			c.KeepGoing = true
			c.Strategy = guided(t, spec, delay)
			totals := c.Run(context.Background())
			if want := cmp.Or(delay, search.DefaultFeedbackDelay); totals.FeedbackDelay != want {
				t.Fatalf("delay %d is recorded as %d", want, totals.FeedbackDelay)
			}
			if d := digests[totals.FeedbackDelay]; d != "" && d != stable(totals) {
				t.Errorf("delay %d, %d workers\n%s\nbefore\n%s", delay, workers, stable(totals), d)
			}
			digests[totals.FeedbackDelay] = stable(totals)
		}
	}
	var eight, two Totals
	if json.Unmarshal([]byte(digests[8]), &eight) != nil || json.Unmarshal([]byte(digests[2]), &two) != nil || eight.Events == two.Events {
		t.Errorf("delays 8 and 2 gave the same runs: %d events", eight.Events)
	}
}

func guided(t *testing.T, spec *world.Spec, delay ...uint64) search.Strategy {
	t.Helper()
	var set search.Settings
	if len(delay) > 0 {
		set.FeedbackDelay = delay[0]
	}
	return searching(t, search.Guided, spec, set)
}

func searching(t *testing.T, name string, spec *world.Spec, set search.Settings) search.Strategy {
	t.Helper()
	s, err := search.New(name, spec, 1, set)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Up to the first violation, too, only what was played counts.
func TestWhatWasNotPlayedDoesNotCount(t *testing.T) {
	spec := fakeSpec(enginetest.Meeting)
	spec.TimeStepNs = 10e6
	spec.Faults.Rules = append(spec.Faults.Rules, world.FaultRule{Kind: "pause", RatePPM: 5_000, MinNs: 5e6, MaxNs: 50e6, ByUser: true})
	var want string
	for _, workers := range []int{1, 2, 5} {
		c := campaign(t, spec, 300, workers)
		c.Strategy = guided(t, spec)
		totals := c.Run(context.Background())
		if totals.Violated != 1 || len(totals.Search.Mutations) == 0 {
			t.Fatalf("%s", stable(totals))
		}
		if got := stable(totals); want == "" {
			want = got
		} else if got != want {
			t.Errorf("%d workers\n%s\none worker\n%s", workers, got, want)
		}
	}
}

// A program that is missing for a moment, since it is being built, costs no run.
func TestAProgramThatIsBeingBuiltIsWaitedFor(t *testing.T) {
	spec := fakeSpec("")
	spec.Nodes[0].WorkingDir = filepath.Join(t.TempDir(), "srv")
	totals := campaign(t, spec, 3, 1).Run(context.Background())
	if totals.Runs != 3 || totals.LostRuns != 0 {
		t.Errorf("%s", stable(totals))
	}
}

func TestHealthyCampaign(t *testing.T) {
	c := campaign(t, fakeSpec(""), 30, 2)
	totals := c.Run(context.Background())
	status := totals.Status(c.Setup.Spec)
	if totals.Runs != 30 || !reflect.DeepEqual(status, Status{}) {
		t.Errorf("%d runs, %+v", totals.Runs, status)
	}
	if totals.Operations != (Operations{Invoked: 1200, Ok: 1200}) {
		t.Errorf("operations %+v", totals.Operations)
	}
}

func TestFaultsThatNobodySawMakeItUnknown(t *testing.T) {
	spec := fakeSpec("")
	spec.Faults.Rules[0].RatePPM = 1
	spec.Faults.Rules = append(spec.Faults.Rules, world.FaultRule{Kind: "pause", RatePPM: 1})
	c := campaign(t, spec, 3, 1)
	status := c.Run(context.Background()).Status(spec)
	if len(status.Unknown) != 1 || !strings.Contains(status.Unknown[0], "fault partition was planned 0 times") {
		t.Errorf("unknown: %q", status.Unknown)
	}
	if len(status.Notices) != 1 || !strings.Contains(status.Notices[0], "pause") {
		t.Errorf("notices: %q", status.Notices)
	}
}

func TestAPresetThatNeverInjectsMakesItUnknown(t *testing.T) {
	spec := fakeSpec("")
	spec.Faults.Mode = "moderate"
	spec.Faults.Rules = []world.FaultRule{{Kind: "partition", RatePPM: 1}, {Kind: "pause", RatePPM: 1}}
	totals := campaign(t, spec, 3, 1).Run(context.Background())
	const never = "no fault was injected in any of 3 runs"
	spec.Properties = []world.Property{{Name: "read", Check: world.Check{Type: world.Linearizability}}}
	if status := totals.Status(spec); !slices.ContainsFunc(status.Unknown, func(u string) bool { return strings.HasPrefix(u, never) }) {
		t.Errorf("unknown: %q", status.Unknown)
	}
	spec.Properties = nil // nothing judges operations
	if status := totals.Status(spec); len(status.Unknown) != 0 ||
		!slices.ContainsFunc(status.Notices, func(n string) bool {
			return strings.Contains(n, "never delivered: partition (planned 0 times), pause (planned 0 times)")
		}) {
		t.Errorf("unknown %q, notices %q", status.Unknown, status.Notices)
	}
}

func TestFewIdleRunsAreANote(t *testing.T) {
	for name, test := range map[string]struct {
		holds, idle, unknown int
		want                 string // the beginning of why the campaign is unknown
		note                 string
	}{
		"a quarter":      {75, 25, 0, "", "read, written: 25 of 100 runs did too little for a judgement, the first with seed 1: nothing read"},
		"more":           {74, 26, 0, "read: unknown in 26 of 100 runs: nothing read", ""},
		"another reason": {98, 1, 1, "read: unknown in 2 of 100 runs: budget", ""},
		"all":            {0, 1, 0, "read: unknown in 1 of 1 run: nothing read", ""},
		"none is idle":   {10, 0, 0, "", ""},
		"half":           {1, 1, 0, "read: unknown in 1 of 2 runs", ""},
	} {
		t.Run(name, func(t *testing.T) {
			totals := &Totals{}
			add := func(n int, v check.Verdict) {
				v.Property = "read"
				other := v
				other.Property = "written"
				for range n {
					totals.add(&Summary{Verdicts: []check.Verdict{v, other}}, tape.Tape{Seed: totals.Runs + 1})
				}
			}
			add(test.idle, check.Verdict{Status: check.Unknown, Idle: true, Reason: "nothing read"})
			add(test.unknown, check.Verdict{Status: check.Unknown, Reason: "budget"})
			add(test.holds, check.Verdict{Status: check.Holds})
			status := totals.Status(&world.Spec{Properties: []world.Property{{Name: "read", Check: world.Check{Type: world.Linearizability}}}})
			if got := strings.Join(status.Unknown, "; "); !strings.HasPrefix(got, test.want) || test.want == "" && got != "" {
				t.Errorf("unknown: %q", got)
			}
			if test.note != "" && !slices.Contains(status.Notices, test.note) ||
				test.note == "" && slices.ContainsFunc(status.Notices, func(n string) bool { return strings.Contains(n, "too little") }) {
				t.Errorf("notices: %q", status.Notices)
			}
		})
	}
}

// A campaign in which a rule of a mapping matched nothing is unknown, unless the rule is about what need not happen.
func TestRulesThatMatchNothingAreTold(t *testing.T) {
	rules := []world.ModelRule{{Log: "^a", Action: "A"}, {Crash: true, Node: "n1", Action: "B"},
		{At: "bloodhound.yaml:7", Operation: "put", Outcome: "ok", Action: "C"},
		{SDK: "rare", Action: "D", Optional: true}}
	spec := &world.Spec{Guide: &world.Mapping{Rules: rules[2:]},
		Properties: []world.Property{{Name: "conforms", Check: world.Check{Type: world.Conformance, Mapping: &world.Mapping{Rules: rules}}}}}
	totals := &Totals{}
	for _, matched := range [][]int{{0, 0, 0, 0}, {3, 0, 0, 0}} {
		totals.add(&Summary{Guide: &record.Guided{Mapped: 1, Tally: &coverage.Tally{Mapped: 1, Rules: []int{0, 1}}},
			Verdicts: []check.Verdict{{Property: "conforms", Status: check.Holds, Tally: &coverage.Tally{Mapped: 3, Rules: matched}}}}, tape.Tape{Seed: 1})
	}
	status := totals.Status(spec)
	told := func(list []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(n string) bool { return !strings.Contains(n, "matched no event") })
	}
	if want, got := []string{"conforms: events[1] (crash of n1) matched no event of any run"}, told(status.Notices); !reflect.DeepEqual(got, want) {
		t.Errorf("notices %q", got)
	}
	const dead = "bloodhound.yaml:7, events[%d] (operation: 'put' ok) matched no event of any run; correct the pattern, run more " +
		"tapes, or write `optional: true` if it need not match"
	if want, got := []string{fmt.Sprintf("conforms: "+dead, 2), fmt.Sprintf("exploration.guide: "+dead, 0)},
		told(status.Unknown); !reflect.DeepEqual(got, want) {
		t.Errorf("unknown %q", got)
	}
}

// A model by rules that does not guide makes a campaign unknown, with the first reason.
func TestAGuideByRulesThatIsOfNoUse(t *testing.T) {
	left := record.Guided{Mapped: 2, Left: "step 2, Lead(n1), is not allowed by the model", Tally: &coverage.Tally{Mapped: 2, Rules: []int{2}}}
	followed := record.Guided{Mapped: 9, Tally: &coverage.Tally{Mapped: 9, Rules: []int{9}}}
	idle := record.Guided{Tally: &coverage.Tally{Others: 40, Rules: []int{0}}}
	broken := record.Guided{Failed: "the model cannot be loaded", Tally: &coverage.Tally{Rules: []int{0}}}
	for _, c := range []struct {
		runs []record.Guided
		want string // empty: of use
	}{
		{[]record.Guided{followed, left}, ""},
		{[]record.Guided{idle, followed}, ""},
		{[]record.Guided{left, followed, left}, "runs left the model that guides the search in 2 of 3 runs; the first: " +
			"seed 1: step 2, Lead(n1), is not allowed by the model"},
		{[]record.Guided{idle, idle}, "no event of any run is a step of the model that guides the search (0 mapped; 80 log lines " +
			"are not events): compare the rules of exploration.guide with the logs"},
		{[]record.Guided{broken, broken}, "could not be followed in 2 of 2 runs: the model cannot be loaded"},
	} {
		totals := &Totals{}
		for i := range c.runs {
			totals.add(&Summary{Guide: &c.runs[i]}, tape.Tape{Seed: uint64(i) + 1})
		}
		if got := totals.Guide.Useless(); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
		if got := strings.Join(totals.Status(&world.Spec{}).Unknown, "\n"); !strings.Contains(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestAViolationThatDoesNotReplayIsNotBelieved(t *testing.T) {
	c := campaign(t, fakeSpec(enginetest.LostWrite+","+enginetest.Chance), 60, 2)
	c.KeepGoing = true
	c.Seed = 4 // its first run has no violation
	totals := c.Run(context.Background())
	if totals.Violated != 0 || totals.Unrepeatable < 3 || len(totals.Failures) != 0 || totals.Runs != 60 {
		t.Errorf("%s", stable(totals))
	}
}

// A leak of chance that the engine does not report is found without a violation: by replays of runs behind the first ones, and of the last ones of a
// short campaign.
func TestSomeRunsAreReplayed(t *testing.T) {
	for runs, first := range map[uint64]uint64{50: firstSample, 11: 8, 4: 1, 1: 0} {
		c := campaign(t, fakeSpec(enginetest.Chance), runs, 2)
		totals := c.Run(context.Background())
		u := totals.FirstUnrepeatable
		if totals.Unrepeatable != 1 || totals.Runs != first+1 || u.Run != first || !strings.Contains(u.Reason, "its replay differs: trace hash") {
			t.Errorf("%d runs: %s", runs, stable(totals))
		}
	}
	slow := &Campaign{start: time.Now().Add(-2 * sampleAfter), sampled: new(atomic.Bool)}
	if !slow.samples(0) || slow.samples(1) {
		t.Error("where runs take long, one of the first is replayed, and no more")
	}
}

func TestADeadWorkerCostsOneRun(t *testing.T) {
	c := campaign(t, fakeSpec(enginetest.DieOnce+":"+filepath.Join(t.TempDir(), "died")), 5, 1)
	totals := c.Run(context.Background())
	if totals.Runs != 5 || totals.Deaths != 1 || totals.LostRuns != 0 {
		t.Errorf("%s", stable(totals))
	}

	c = campaign(t, fakeSpec(enginetest.Die), 12, 2)
	totals = c.Run(context.Background())
	if totals.LostRuns == 0 || totals.Runs == 0 || totals.Runs+totals.LostRuns > 12 || !totals.Status(c.Setup.Spec).Failed {
		t.Errorf("%s", stable(totals))
	}
	if !strings.Contains(totals.Lost[0].Reason, "exit status 97") {
		t.Errorf("reason %q", totals.Lost[0].Reason)
	}
}

// A panic is the failure of the run in which it came, with its stack. The worker process ends by itself, and its runs go on in another.
func TestAPanicCostsOneRun(t *testing.T) {
	const runs = 40
	c := campaign(t, fakeSpec(enginetest.Break), runs, 2)
	var notes []string
	c.Note = func(s string) { notes = append(notes, s) }
	totals := c.Run(context.Background())
	if totals.LostRuns < runs/4 || totals.Runs < runs/4 || totals.Runs+totals.LostRuns != runs || totals.Deaths != 0 || !totals.Status(c.Setup.Spec).Failed {
		t.Errorf("%s", stable(totals))
	}
	if stacks := strings.Count(strings.Join(notes, "\n"), "enginetest.Engine.Boot"); stacks != 1 || len(notes) != int(totals.LostRuns) {
		t.Errorf("%d stacks in %d notes:\n%s", stacks, len(notes), strings.Join(notes, "\n"))
	}
	for _, part := range []string{"the fake engine is broken", "report this bug", "enginetest.Engine.Boot enginetest.go:"} {
		if reason := totals.Lost[0].Reason; !strings.Contains(reason, part) {
			t.Errorf("%q is not in %q", part, reason)
		}
	}
}

// Where all runs end by a panic, a campaign gives up.
func TestPanicsWithoutARunThatSucceeds(t *testing.T) {
	c := campaign(t, fakeSpec(enginetest.Break+":always"), 40, 2)
	if totals := c.Run(context.Background()); totals.LostRuns != MaxConsecutiveLost || totals.Runs != 0 {
		t.Errorf("%s", stable(totals))
	}
}

func TestAHungWorkerIsKilled(t *testing.T) {
	c := campaign(t, fakeSpec(enginetest.Hang), 1, 1)
	w, err := StartWorker(c.Command, c.Setup, 0)
	if err != nil {
		t.Fatal(err)
	}
	job := &Job{}
	for ; ; job.Tape.Seed++ { // a tape that hangs
		if _, err = w.Do(context.Background(), job, time.Second, nil); err != nil {
			break
		}
	}
	if d, ok := err.(*Death); !ok || !d.Hung || !strings.Contains(d.State, "killed") {
		t.Errorf("%+v", err)
	}
}

func TestEnginesThatCannotBootEndTheCampaign(t *testing.T) {
	c := campaign(t, fakeSpec(enginetest.BootError), 100, 1)
	totals := c.Run(context.Background())
	if totals.LostRuns != MaxConsecutiveLost || !strings.Contains(totals.Lost[0].Reason, "no fake worlds") {
		t.Errorf("%s", stable(totals))
	}
}

func TestTimeoutAndInterrupt(t *testing.T) {
	c := campaign(t, fakeSpec(enginetest.Slow), 0, 2)
	c.Timeout = 200 * time.Millisecond
	began := time.Now()
	totals := c.Run(context.Background())
	if totals.Stopped != TimedOut || totals.Runs != 0 || time.Since(began) > InterruptGrace {
		t.Errorf("after %v: %s", time.Since(began), stable(totals))
	}

	ctx, cancel := context.WithCancel(context.Background())
	c = campaign(t, fakeSpec(""), 0, 2)
	c.Finished = func(t *Totals) {
		if t.Runs == 10 {
			cancel()
		}
	}
	totals = c.Run(ctx)
	if totals.Stopped != Interrupted || totals.Runs < 10 {
		t.Errorf("%s", stable(totals))
	}
	if s := totals.Status(c.Setup.Spec); len(s.Unknown) == 0 {
		t.Error("an interrupted campaign counts as done")
	}
}

func TestServeEndsWithItsInput(t *testing.T) {
	in := strings.NewReader(`{"spec":{"name":"w"}}` + "\n")
	var out strings.Builder
	if err := Serve(in, &out, runFake, func() { t.Error("abandoned") }); err != nil || out.String() != "" {
		t.Errorf("%v, wrote %q", err, out.String())
	}
	for _, bad := range []string{"", "{}\n", "nonsense"} {
		if err := Serve(strings.NewReader(bad), &out, runFake, func() {}); err == nil {
			t.Errorf("Serve accepted %q", bad)
		}
	}
}

func TestRandomTapesDiffer(t *testing.T) {
	seen := map[uint64]bool{}
	for i := range uint64(10_000) {
		seen[search.RandomTape(3, i).Seed] = true
	}
	if len(seen) != 10_000 || search.RandomTape(3, 0).Seed != 3 || search.RandomTape(3, 5).Seed == search.RandomTape(4, 5).Seed {
		t.Errorf("%d distinct seeds", len(seen))
	}
}

// A campaign keeps sums, not runs: its memory does not grow with its length.
func TestTotalsStayBounded(t *testing.T) {
	var totals Totals
	for i := range 100_000 {
		s := &Summary{Warnings: []string{fmt.Sprint("w", i)}, Refused: []record.Unsupported{{Program: fmt.Sprint(i)}}}
		totals.add(s, tape.Tape{Seed: 1})
		totals.fail(&Job{ID: uint64(i), Request: runner.Play(search.RandomTape(0, 1))}, s, check.Verdict{Property: strings.Repeat("x", i%1000)})
		totals.lose(Lost{})
	}
	if len(totals.Warnings) != MaxWarnings || len(totals.Refused) != MaxRefused || len(totals.Failures) != MaxFailures ||
		len(totals.Lost) != MaxLost || totals.Runs != 100_000 || totals.MoreFailures == 0 {
		t.Error("a bound does not hold")
	}
}
