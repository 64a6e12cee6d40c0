package check

import (
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// A script that gets no answer during faults has found nothing out, and no more. At the end, or if it never got one, the property is unknown.
func TestAScriptWithoutAnAnswer(t *testing.T) {
	p := &world.Property{Name: "p", Kind: world.Invariant, Check: world.Check{Type: world.Custom, Question: world.Question{Script: []string{"x"}}}}
	probe := func(phase string, code int) record.Probe {
		return record.Probe{Property: "p", Phase: phase, ExitCode: code, StartNs: 1, EndNs: 2, Event: 7}
	}
	const later = world.ProbeLater
	for _, c := range []struct {
		what   string
		probes []record.Probe
		want   Status
	}{
		{"no answer in between", []record.Probe{probe("chaos", 0), probe("chaos", later), probe("final", 0)}, Holds},
		{"none at the end", []record.Probe{probe("chaos", 0), probe("final", later)}, Unknown},
		{"never one", []record.Probe{probe("chaos", later), probe("final", later)}, Unknown},
		{"a script that failed", []record.Probe{probe("chaos", 0), probe("chaos", 2), probe("final", 0)}, Unknown},
		{"broken", []record.Probe{probe("chaos", later), probe("chaos", 1), probe("final", later)}, Violated},
	} {
		v := safe(p, &record.Outcome{Probes: c.probes})
		if v.Status != c.want {
			t.Errorf("%s: %s (%s), want %s", c.what, v.Status, v.Reason, c.want)
		}
		if v.Status == Violated && v.TimeNs != 2 {
			t.Errorf("%s: it is violated at %d ns; want the end of the probe, as its event has it", c.what, v.TimeNs)
		}
	}
}
