package check

import (
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// A property may come true between two probes. If probes are rare for the timeout, and the one after it succeeds, nothing is known of the time before.
func TestATimeoutShorterThanTheInterval(t *testing.T) {
	const ms = 1_000_000
	probe := func(atMs int64, code int) record.Probe {
		return record.Probe{Property: "p", StartNs: atMs * ms, EndNs: atMs*ms + ms, ExitCode: code, Output: "no leader"}
	}
	for _, c := range []struct {
		name              string
		timeout, interval int64 // ms
		probes            []record.Probe
		want              Status
	}{
		{"true when it is looked at again", 600, 1000, []record.Probe{probe(30, 1), probe(1030, 0)}, Unknown},
		{"false when it is looked at again", 600, 1000, []record.Probe{probe(30, 1), probe(1030, 1), probe(2030, 0)}, Violated},
		{"false just before the end", 600, 1000, []record.Probe{probe(30, 1), probe(580, 1), probe(1030, 0)}, Violated},
		{"probes that are not rare", 600, 50, []record.Probe{probe(30, 1), probe(550, 1), probe(601, 0)}, Violated},
		{"true in time", 600, 1000, []record.Probe{probe(30, 1), probe(500, 0)}, Holds},
	} {
		p := &world.Property{Name: "p", Kind: world.Liveness, TimeoutNs: c.timeout * ms, Check: world.Check{Type: world.Custom, IntervalNs: c.interval * ms}}
		v := judge(&world.Spec{}, p, &record.Outcome{ReadyNs: 1, VirtualNs: 10_000 * ms, Probes: c.probes})
		if v.Status != c.want {
			t.Errorf("%s: %s %s, want %s", c.name, v.Status, v.Reason, c.want)
		}
	}
}

// The first violation is reported with all lines of its output, as long as they are not too many.
func TestLinesOfAProbe(t *testing.T) {
	state := "no step of the model\nin the state\n/\\ a = 1\n/\\ b = " + strings.Repeat("x", 2*maxOutputShown)
	out := &record.Outcome{Probes: []record.Probe{{Property: "p", Phase: "chaos", Event: 7, ExitCode: world.ProbeViolated, Output: state + "\n"},
		{Property: "p", Phase: finalPhase, Event: 9, ExitCode: world.ProbeViolated, Output: "again"}}}
	p := &world.Property{Name: "p", Kind: world.Safety, Check: world.Check{Type: world.Custom}}
	want := []string{"0.000000 s (event 7) in phase chaos: exit code 1: no step of the model", "  in the state", `  /\ a = 1`,
		"  " + state[strings.Index(state, `/\ b`):],
		"0.000000 s (event 9) in phase final: exit code 1: again"}
	if v := safe(p, out); v.Reason != "the check failed: no step of the model" || !slices.Equal(v.Evidence, want) {
		t.Errorf("%s\n%s", v.Reason, strings.Join(v.Evidence, "\n"))
	}
	out.Probes[0].Output = strings.Repeat("line\n", 100)
	if v := safe(p, out); len(v.Evidence) != 1+maxLinesShown+1+1 || v.Evidence[1+maxLinesShown] != "  ... and 69 more lines" {
		t.Errorf("%d lines: %q", len(v.Evidence), v.Evidence)
	}
}
