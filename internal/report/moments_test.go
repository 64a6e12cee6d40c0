package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// staleRead is a run in which a put is acknowledged during a partition, and a get does not find it.
func staleRead() StoryOf {
	at := func(n uint64, ns int64, client string, t history.Type, op, value string) history.Event {
		return history.Event{Number: n, TimeNs: ns, Client: client, Type: t, Op: op, Key: "k", Input: value}
	}
	o := &check.Judged{Outcome: record.Outcome{Events: 90, VirtualNs: 90e6,
		Ledger: fault.Ledger{Injections: []fault.Injection{{ID: 1, Kind: fault.Clog, Target: "n2", Event: 2, StartNs: 2e6,
			EndNs: 3e6}, {ID: 2, Kind: fault.Partition, Target: "n1", Event: 15, StartNs: 15e6, EndNs: 40e6, Observed: 18},
			{ID: 3, Kind: fault.Crash, Target: "n1", Event: 80, StartNs: 80e6, EndNs: 80e6}}},
		Probes: []record.Probe{{Property: "up", Event: 30, EndNs: 30e6}, {Property: "up", Event: 50, EndNs: 50e6},
			{Property: "up", Event: 60, EndNs: 60e6, ExitCode: 1}},
		History: []history.Event{at(10, 10e6, "c1", history.Invoke, "put", "v1"), at(12, 12e6, "c1", history.Ok, "put", "v1"),
			at(20, 20e6, "c1", history.Invoke, "put", "v2"), at(30, 30e6, "c1", history.Ok, "put", "v2"),
			at(40, 40e6, "c2", history.Invoke, "put", "v3"), at(45, 45e6, "c2", history.Info, "put", ""),
			at(60, 60e6, "c3", history.Invoke, "get", ""), at(70, 70e6, "c3", history.Ok, "get", "")}}}
	return StoryOf{Spec: &world.Spec{Nodes: []world.Node{{Name: "n1"}}}, Outcome: o, Failure: failure.Failure{ID: "0123456789ab"},
		Replay: "bloodhound replay 0123456789ab",
		Verdict: check.Verdict{Property: "linearizable", Event: 70, TimeNs: 70e6,
			Evidence: []string{"0.02 s (event 20) client c1: put", "0.04 s (event 40) client c2: put", "0.06 s (event 60) client c3: get"}}}
}

func TestMomentsOfAViolation(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*StoryOf)
		want   []string
	}{
		"of operations": {func(*StoryOf) {}, []string{
			"2 fault clog n2 begins: --at 'fault 1'",
			"15 fault partition n1 begins: --at 'fault 2'",
			`30 last good put k = "v2" by c1 has returned: --at 30`,
			"60 operation get k by c3 begins: --at 60",
			"70 violation linearizable is violated: --at violation"}},
		"of probes, in the run as it was found": {func(s *StoryOf) {
			s.Found = true
			s.Verdict = check.Verdict{Property: "up", Event: 60, TimeNs: 60e6}
		}, []string{
			"2 fault clog n2 begins: --original --at 'fault 1'",
			"15 fault partition n1 begins: --original --at 'fault 2'",
			"50 last good the check of up passes for the last time: --original --at 50",
			"60 violation up is violated: --original --at violation"}},
		"at the end": {func(s *StoryOf) { s.Verdict = check.Verdict{Property: "done"} }, []string{
			"2 fault clog n2 begins: --at 'fault 1'",
			"15 fault partition n1 begins: --at 'fault 2'",
			"80 fault crash n1 begins: --at 'fault 3'",
			"90 violation done is violated: --at violation"}},
		"that is not stored": {func(s *StoryOf) { s.Replay = "bloodhound run --seed 1" }, nil},
	} {
		s := staleRead()
		c.change(&s)
		var got []string
		for _, m := range s.Moments() {
			got = append(got, fmt.Sprintf("%d %s %s: %s", m.TimeNs/1e6, m.Kind, m.Text, strings.TrimPrefix(m.Look, "bloodhound replay 0123456789ab ")))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

func TestMomentsAreOnThePage(t *testing.T) {
	var b strings.Builder
	if err := Page(&b, PageOf{StoryOf: staleRead()}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`id="look1">bloodhound replay 0123456789ab --at &#39;fault 2&#39;</code> <button class="js" data-copy="look1"`,
		`id="debug1">bloodhound debug 0123456789ab --at &#39;fault 2&#39;</code> <button class="js" data-copy="debug1"`, "last good",
		`put k = &#34;v2&#34; by c1 has returned`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page has no %s", want)
		}
	}
}
