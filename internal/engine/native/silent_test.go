//go:build linux && amd64

package native_test

import (
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Of several drivers the engine knows which of them, with what it started, wrote to its report.
func TestSilentDrivers(t *testing.T) {
	const record = `'{"client":"a","type":"invoke","op":"put","key":"k","input":"1"}'`
	driver := func(name, script string) world.Workload {
		return world.Workload{Name: name, Driver: "command", Node: "c", Clients: 1, DurationNs: 2e9, Command: []string{"/bin/sh", "-c", script}}
	}
	s := sharers(sharedVolume, "exec sleep 100")
	s.MaxTimeNs = 6e9
	s.Faults.SettleNs = 2e9
	s.Nodes = append(s.Nodes, world.Node{Name: "c", Hostname: "c", Role: world.Client, Root: "host", WorkingDir: "/", IPv4: "10.77.0.50"})
	s.Workloads = []world.Workload{driver("quiet", "sleep 1"), driver("talks", "echo "+record+" >$BLOODHOUND_REPORT"),
		driver("later", `(sleep 1; echo `+record[:13]+`b`+record[14:]+` >$BLOODHOUND_REPORT) &`)}
	_, out := run(t, s, 1)
	silent := map[string]bool{}
	for _, d := range out.Drivers {
		silent[d.Workload] = d.Silent
	}
	if len(silent) != 3 || !silent["quiet"] || silent["talks"] || silent["later"] || len(out.History) != 2 {
		t.Errorf("%+v, %+v", out.Drivers, out.History)
	}
}
