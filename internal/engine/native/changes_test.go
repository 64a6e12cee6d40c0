//go:build linux && amd64

package native_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// The outcome has the changes of files around a fault: calls in a row as one, what the fault did, and what was renamed and removed.
//
//ci:underway
func TestChangesOfFilesAroundAFault(t *testing.T) {
	const program = `import os, time
time.sleep(1)
f = os.open('/log', os.O_CREAT | os.O_WRONLY | os.O_APPEND)
for i in range(3): os.write(f, b'x' * 10)
try: os.fsync(f)
except OSError: pass
with open('/new', 'w') as n: n.write('y')
os.rename('/new', '/kept')
os.unlink('/log')
try: os.open('/missing', os.O_RDONLY)
except OSError: pass
try: os.open('/elsewhere/missing', os.O_RDONLY)
except OSError: pass
time.sleep(100)
`
	spec := pairUnder(program, idle, &world.FaultRule{Kind: "fsync_fail", RatePPM: 1_000_000, Targets: []string{"n1"}})
	_, _, out := play(t, spec)
	var got []string
	for _, c := range out.DiskChanges {
		if c.Node != "n1" || c.Event == 0 || c.TimeNs == 0 {
			t.Errorf("%+v", c)
		}
		if strings.Contains(c.Path, "pycache") {
			continue
		}
		got = append(got, strings.Join(strings.Fields(fmt.Sprintf("%s %s %s %d-%d %d %s %s", c.Call, c.Old, c.Path, c.From, c.To,
			c.Calls, c.Errno, c.Fault)), " "))
	}
	want := []string{"write /log 0-30 3", "fsync /log 0-0 0 EIO fsync_fail", "openat /new 0-0 0", "write /new 0-1 0", "rename /new /kept 0-0 0",
		"unlink /log 0-0 0", "openat /missing 0-0 0 ENOENT"}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Without a fault, nothing but the latest removals is kept.
//
//ci:underway
func TestChangesOfFilesWithoutAFault(t *testing.T) {
	const program = "import os\nfor i in range(100):\n  open('/f%d' % i, 'w').write('x')\n  os.unlink('/f%d' % i)\nimport time; time.sleep(100)\n"
	_, _, out := play(t, pairUnder(program, idle, nil))
	for _, c := range out.DiskChanges {
		if !c.Removes() {
			t.Errorf("%+v", c)
		}
	}
	if n := len(out.DiskChanges); n != 40 || out.DiskChanges[n-1].Path != "/f99" {
		t.Errorf("%d changes, the last %+v", n, out.DiskChanges[max(n-1, 0):])
	}
}

// What a power loss takes from a file is a change of it.
//
//ci:underway
func TestWhatAPowerLossTakesIsAChange(t *testing.T) {
	spec := alone(t, "retry.py", world.FaultRule{Kind: "fsync_fail", RatePPM: 600_000, Targets: []string{"n1"}},
		world.FaultRule{Kind: "power_loss", RatePPM: 20_000, MinNs: 20e6, MaxNs: 50e6, Targets: []string{"n1"}})
	_, out := told(t, spec)
	losses := 0
	for _, c := range out.DiskChanges {
		if c.Call != record.Lost {
			continue
		}
		losses++
		if c.Pages == 0 && c.From >= c.To && c.Old == "" || c.Path == "" {
			t.Errorf("it took nothing: %+v", c)
		}
		if !slices.ContainsFunc(out.Ledger.Injections, func(f fault.Injection) bool {
			return f.Kind == fault.PowerLoss && f.StartNs <= c.TimeNs && c.TimeNs <= f.EndNs
		}) {
			t.Errorf("no power loss at %d: %+v", c.TimeNs, c)
		}
	}
	if losses == 0 {
		t.Error("no power loss took anything")
	}
}

// A driver that reports ok without reading an answer is known, and one that reads it is not.
func TestOperationsWithoutAnAnswer(t *testing.T) {
	const driver = `import json, os, socket, time
out = open(os.environ['BLOODHOUND_REPORT'], 'w', buffering=1)
def say(client, kind): print(json.dumps({'client': client, 'type': kind, 'op': 'put', 'key': 'k', 'input': '1'}), file=out)
time.sleep(0.5)
say('asks', 'invoke')
c = socket.create_connection(('n1', 7000)); c.sendall(b'x'); c.recv(1); c.close()
say('asks', 'ok')
say('guesses', 'invoke')
c = socket.create_connection(('n1', 7000)); c.sendall(b'x'); c.close()
say('guesses', 'ok')
`
	spec := pairUnder(echoServer, idle, nil)
	spec.MaxTimeNs, spec.Faults.SettleNs = 6e9, 1e9
	spec.Nodes = append(spec.Nodes, world.Node{Name: "c", Hostname: "c", Role: world.Client, Root: "host", WorkingDir: "/",
		IPv4: "10.77.0.50", Env: spec.Nodes[0].Env})
	spec.Workloads = []world.Workload{{Name: "w", Driver: "command", Node: "c", Clients: 1, DurationNs: 2e9,
		Command: []string{"/usr/bin/python3", "-c", driver}}}
	_, _, out := play(t, spec)
	if len(out.History) != 4 || !slices.Equal(out.Unanswered, []uint64{out.History[len(out.History)-1].Number}) {
		t.Errorf("%d in %+v", out.Unanswered, out.History)
	}
}
