//go:build linux && amd64

package native_test

import (
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/moments"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// A fault in an operation strikes the node that the driver names, soon after an operation of the kind has begun and after no other. The operations are
// moments of the run.
//
//ci:underway
func TestFaultInAnOperation(t *testing.T) {
	const (
		busy = `import time
while True: time.sleep(0.001)
`
		driver = `import json, os, time
out = open(os.environ['BLOODHOUND_REPORT'], 'w', buffering=1)
def say(**x): print(json.dumps(dict(client='a', key='k', node='n1', **x)), file=out)
for i in range(20):
    op = 'compact' if i == 10 else 'get'
    say(type='invoke', op=op)
    time.sleep(0.02)
    say(type='ok', op=op)
    time.sleep(0.03)
time.sleep(2)
`
	)
	for seed := range uint64(3) {
		spec := ruled(t, busy, busy, "crash in operation comp* for 100ms")
		spec.Nodes = append(spec.Nodes, world.Node{Name: "c", Hostname: "c", Role: world.Client, Root: "host", WorkingDir: "/",
			IPv4: "10.77.0.50", Env: spec.Nodes[0].Env})
		spec.Workloads = []world.Workload{{Name: "w", Driver: "command", Node: "c", Clients: 1, DurationNs: 2e9,
			Command: []string{"/usr/bin/python3", "-c", driver}}}
		out, err := engine.Run(native.New(), spec, tape.Tape{Seed: seed}, engine.Options{Moments: true})
		if err != nil {
			t.Fatal(err)
		}
		begun := int64(0)
		for _, e := range out.History {
			if e.Op == "compact" && begun == 0 {
				begun = e.TimeNs
			}
		}
		struck := out.Ledger.Injections
		if len(struck) != 1 || struck[0].Kind != fault.Crash || struck[0].Target != "n1" || struck[0].StartNs < begun || struck[0].StartNs > begun+2e9 {
			t.Errorf("seed %d: compact began at %d, and there were %+v", seed, begun, struck)
		}
		counts := map[string]uint64{}
		for _, s := range out.Moments.Classes() {
			if s.Act == moments.Operation && s.Node == "n1" {
				counts[s.File] += s.Count
			}
		}
		if counts["get"] != 19 || counts["compact"] != 1 || len(counts) != 2 {
			t.Errorf("seed %d: operations %v", seed, counts)
		}
	}
}
