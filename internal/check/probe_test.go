package check

import (
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
