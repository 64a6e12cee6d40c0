package check

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/sdk"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/historytest"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// distanceOf is the distance of a measure of the only property, and -1 if there is no such measure.
func distanceOf(p world.Property, out *record.Outcome, measure string, verdicts ...Verdict) float64 {
	if p.Name == "" {
		p.Name = "p"
	}
	for _, n := range Near(&world.Spec{Properties: []world.Property{p}}, out, verdicts) {
		if n.Name == p.Name+": "+measure {
			return math.Round(n.Distance*1000) / 1000
		}
	}
	return -1
}

func TestNearOfProgressAndRecovery(t *testing.T) {
	row := world.Property{Kind: world.Progress, Check: world.Check{Type: world.ProgressCheck, Patience: world.Patience{Failures: 5}}}
	hang := world.Property{Kind: world.Progress, Check: world.Check{Type: world.ProgressCheck, Patience: world.Patience{HangNs: 10e9}}}
	again := world.Property{Kind: world.Recovery, TimeoutNs: 10e9, Check: world.Check{Type: world.RecoveryCheck}}
	for _, c := range []struct {
		name    string
		p       world.Property
		run     string
		measure string
		want    float64
	}{
		{"no failure", row, "1:put 2:put! 9:end", "failures in a row", 1},
		{"four of five", row, fails(4, 1, "put") + "8:put 9:put!", "failures in a row", 0.2},
		{"a success between them", row, fails(2, 1, "put") + "4:put 4.5:put! " + fails(2, 5, "put"), "failures in a row", 0.6},
		{"excused by a fault", row, "0:#9 " + fails(4, 1, "put"), "failures in a row", 1},
		{"nothing tried", row, "9:end", "failures in a row", -1},
		{"half of the time", hang, "1:put 6:put!", "longest under way", 0.5},
		{"never returned", hang, "1:put 10:end", "longest under way", 0.1},
		{"worked at once", again, "1:#2 2:heal 2.1:put 2.2:put! 20:end", "longest recovery", 1},
		{"worked late", again, "1:#2 2:heal 2.1:put 3:put/ 9:put 10:put! 20:end", "longest recovery", 0.2},
		{"first tried late", again, "1:#2 2:heal 9:put 10:put! 20:end", "longest recovery", 1},
		{"not yet at the end", again, "1:#2 2:heal 2.1:put 9:put/ 9.5:end", "longest recovery", 0.3},
	} {
		if got := distanceOf(c.p, run(t, c.run), c.measure); got != c.want {
			t.Errorf("%s: distance %v, want %v", c.name, got, c.want)
		}
	}
}

func TestNearOfLiveness(t *testing.T) {
	p := world.Property{Name: "p", Kind: world.Liveness, TimeoutNs: 10e9, Check: world.Check{Type: world.Custom}}
	out := &record.Outcome{ReadyNs: 1e9, Heals: []int64{20e9, 40e9}, VirtualNs: 60e9, Probes: []record.Probe{
		{Property: "p", StartNs: 1e9, EndNs: 2e9},
		{Property: "p", StartNs: 21e9, EndNs: 22e9, AfterHealNs: 20e9, ExitCode: 1},
		{Property: "p", StartNs: 28e9, EndNs: 29e9, AfterHealNs: 20e9},
		{Property: "p", StartNs: 41e9, EndNs: 42e9, AfterHealNs: 40e9},
	}}
	if got := distanceOf(p, out, "longest recovery"); got != 0.1 {
		t.Errorf("recovered after 9 of 10 s: distance %v", got)
	}
	out.Probes = out.Probes[:2] // and then a fault began
	if got := distanceOf(p, out, "longest recovery"); got != 0.8 {
		t.Errorf("not recovered 2 of 10 s after the heal: distance %v", got)
	}
	if got := distanceOf(p, out, "longest recovery", Verdict{Property: "p", Status: Violated}); got != 0 {
		t.Errorf("violated: distance %v", got)
	}
}

// Times are those of the words, one millisecond each.
func TestNearOfHistories(t *testing.T) {
	linear := world.Property{Check: world.Check{Type: world.Linearizability}}
	grows := world.Property{Check: world.Check{Type: world.Monotonic}}
	for _, c := range []struct {
		name, short, measure string
		p                    world.Property
		want                 float64
	}{
		{"fresh", "a:put=1 a! b:get b!1", "stale reads", linear, 1},
		{"old value at the write's begin", "a:put=1 a! a:put=2 b:get b!1 c:put(x)=1 c! a!", "stale reads", linear, 0.8},
		{"old value near the write's end", "a:put=1 a! a:put=2 c:put(x)=1 c! b:get a! b!1", "stale reads", linear, 0.25},
		{"new value", "a:put=1 a! a:put=2 c:put(x)=1 c! b:get a! b!2", "stale reads", linear, 1},
		{"nothing yet", "a:put=1 c:put(x)=1 c! b:get a! b!-", "stale reads", linear, 0.25},
		{"replaced by what is not known to be", "a:put=1 a! a:put=2 b:get b!1 a?", "stale reads", linear, 1},
		{"two writes at once", "a:put=1 b:put=2 a! c:get b! c!1", "stale reads", linear, 1},
		{"unknown and read", "a:put=1 a? b:get b!1", "changes without an answer", linear, 0.889},
		{"unknown and not read", "b:get b!- a:put=1 a?", "changes without an answer", linear, 1},
		{"grows", "a:get a!1 a:get a!2", "going back", grows, 1},
		{"less at the same time", "a:get c:get(x) c!1 b:get a!2 b!1", "going back", grows, 0.25},
	} {
		if got := distanceOf(c.p, &record.Outcome{History: historytest.Events(t, c.short)}, c.measure); got != c.want {
			t.Errorf("%s: distance %v, want %v", c.name, got, c.want)
		}
	}
}

func TestNearOfOperationsAndInjections(t *testing.T) {
	op := func(op, node string, from, to int64) []history.Event {
		return []history.Event{{Number: uint64(from), TimeNs: from * 1e6, Client: op, Type: history.Invoke, Op: op, Key: "k", Input: "1", Node: node},
			{Number: uint64(to), TimeNs: to * 1e6, Client: op, Type: history.Ok, Op: op, Key: "k", Output: "1", Node: node}}
	}
	spec := &world.Spec{Faults: world.Faults{Enabled: true,
		Rules: []world.FaultRule{{Kind: "power_loss", RatePPM: 1}, {Kind: "partition", RatePPM: 1}}},
		Properties: []world.Property{{Name: "p", Check: world.Check{Type: world.Durability}}}}
	injection := func(kind world.FaultKind, target string, from, to int64) fault.Injection {
		return fault.Injection{Kind: kind, Target: target, StartNs: from * 1e6, EndNs: to * 1e6}
	}
	for _, c := range []struct {
		name         string
		events       []history.Event
		injections   []fault.Injection
		gone, lonely float64
	}{
		{"no fault", op("put", "n1:80", 1, 2), nil, 1, 1},
		{"right after", op("put", "n1:80", 1, 2), []fault.Injection{injection(fault.PowerLoss, "n1", 2, 90)}, 0.001, 1},
		{"10 ms later", op("put", "n1:80", 1, 2), []fault.Injection{injection(fault.PowerLoss, "n1", 99, 100), injection(fault.Crash, "n1", 12, 90)}, 0.5, 1},
		{"another node", op("put", "n1:80", 1, 2), []fault.Injection{injection(fault.PowerLoss, "n2", 2, 90)}, 1, 1},
		{"before it", op("put", "n1:80", 3, 4), []fault.Injection{injection(fault.PowerLoss, "n1", 2, 90)}, 1, 1},
		{"a read", op("get", "n1:80", 1, 2), []fault.Injection{injection(fault.PowerLoss, "n1", 2, 90)}, 1, 1},
		{"cut off", op("get", "n1:80", 3, 4), []fault.Injection{injection(fault.Partition, "n1", 2, 90)}, 1, 0.889},
		{"cut off in the middle", op("get", "n1:80", 1, 4), []fault.Injection{injection(fault.Partition, "n1", 2, 90)}, 1, 1},
		{"nobody says whom it asked", op("put", "", 1, 2), []fault.Injection{injection(fault.PowerLoss, "n1", 2, 90)}, -1, -1},
	} {
		gone, lonely := -1.0, -1.0
		for _, n := range Near(spec, &record.Outcome{History: c.events, Ledger: fault.Ledger{Injections: c.injections}}, nil) {
			switch n.Name {
			case "p: lost with its node":
				gone = math.Round(n.Distance*1000) / 1000
			case "p: acknowledged while cut off":
				lonely = math.Round(n.Distance*1000) / 1000
			}
		}
		if gone != c.gone || lonely != c.lonely {
			t.Errorf("%s: lost %v, cut off %v; want %v, %v", c.name, gone, lonely, c.gone, c.lonely)
		}
	}
}

func TestNearOfExpressions(t *testing.T) {
	const none = 2.0 // no measure
	for _, c := range []struct {
		cond  string
		slack float64
	}{
		{`count(ops, .type == "ok") <= 4`, 2.0 / 6},
		{`len(ops) < 3 and len(ops) >= 1`, 1.0 / 4},
		{`len(ops) < 3 or len(ops) >= 1`, 1.0 / 2},
		{`not (len(ops) > 3)`, 1.0 / 4},
		{`all(ops, .duration_ns <= 4000000)`, 3.0 / 7},
		{`all(ops, .op == "get" or .duration_ns < 2000000)`, 1.0 / 3},
		{`none(ops, .duration_ns > 1000001)`, 0.001}, // the least
		{`filter(ops, .op == "put" and .duration_ns > 2000000)`, 1.0 / 3},
		{`len(ops) == 2`, 1},
		{`all(ops, .type == "ok")`, none},
		{`all(ops, count(ops, .op == "put") < 5)`, none},
	} {
		p := world.Property{Check: world.Check{Type: world.Expression, Subject: world.Subject{Condition: c.cond}}}
		got, want := distanceOf(p, &record.Outcome{History: historytest.Events(t, "a:put=1 a! b:get b!1")}, "slack"), c.slack
		if want == none {
			want = -1
		}
		if math.Abs(got-want) > 0.001 {
			t.Errorf("%s: distance %v, want %v", c.cond, got, want)
		}
	}
}

func TestNearOfGuidance(t *testing.T) {
	value := func(data string) sdk.Sighting { return sdk.Sighting{Details: data} }
	distance := func(g sdk.Guidance) float64 {
		list := Near(&world.Spec{}, &record.Outcome{SDK: sdk.Record{Guidance: []sdk.Guidance{g}}}, nil)
		if len(list) == 0 {
			return -1
		}
		return list[0].Distance
	}
	last := 0.0
	for _, left := range []float64{-1e12, -50, -1, 0, 0.5, 3, 4, 1e9} {
		small := distance(sdk.Guidance{Message: "g", Type: "numeric",
			Values: []sdk.Sighting{value(`{"left":1e300,"right":0}`), value(`{"left":` + number64(left) + `,"right":0}`)}})
		large := distance(sdk.Guidance{Message: "g", Type: "numeric", Maximize: true,
			Values: []sdk.Sighting{value(`{"left":` + number64(left) + `,"right":0}`)}})
		if small <= last || small >= 1 || math.Abs(small+large-1) > 1e-9 {
			t.Errorf("a difference of %v is at %v, to be large at %v; before it %v", left, small, large, last)
		}
		last = small
	}
	if d := distance(sdk.Guidance{Message: "g", Type: "boolean", Maximize: true,
		Values: []sdk.Sighting{value(`{"a":true,"b":false,"c":true,"d":true}`)}}); d != 0.25 {
		t.Errorf("three of four: distance %v", d)
	}
	if d := distance(sdk.Guidance{Message: "g", Type: "json", Values: []sdk.Sighting{value(`{"a":1}`)}}); d != -1 {
		t.Errorf("what has no order: distance %v", d)
	}
}

func number64(x float64) string { return fmt.Sprintf("%g", x) }

func TestNearIsAFunction(t *testing.T) {
	spec, out := good(t)
	out.History = append(out.History, history.Event{Number: 9, Client: "x", Type: history.Invoke, Op: "put"})
	if a, b := Near(spec, out, nil), Near(spec, out, nil); !slices.EqualFunc(a, b, func(x, y coverage.Nearness) bool { return x == y }) {
		t.Errorf("%v, then %v", a, b)
	}
}
