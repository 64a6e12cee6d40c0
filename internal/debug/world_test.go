//go:build linux && amd64

package debug

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// bank is a world of a bank with two threads, and its client.
func bank(t *testing.T) *world.Spec {
	t.Helper()
	spec := emptySpec(t)
	if out, err := exec.Command(needs.Program(t, "gcc"), "-g", "-O0", "-pthread", "-o", spec.Dir+"/bank", "testdata/bank.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	addNode(spec, "bank", spec.Dir+"/bank", "serve")
	addNode(spec, "client", spec.Dir+"/bank", "client", "10.77.0.10")
	return spec
}

// emptySpec is a world without nodes, and a folder for its programs.
func emptySpec(t *testing.T) *world.Spec {
	t.Helper()
	dir := t.TempDir()
	t.Cleanup(func() { // when all worlds are closed
		processes, _ := filepath.Glob("/proc/[0-9]*/exe")
		for _, p := range processes {
			if program, _ := os.Readlink(p); strings.HasPrefix(program, dir) {
				t.Errorf("%s is left: %s", p, program)
			}
		}
	})
	return &world.Spec{Dir: dir, StartUnixNs: 1735689600e9, MaxTimeNs: 3e9, TimeStepNs: 10e6, Cost: world.Cost{CallNs: 1000, ClockReadNs: 50},
		Sched: world.Sched{PreemptPPM: 300_000, Blocks: 64, SwitchPPM: 100_000, CPUs: 4}, DefaultLink: world.Link{LatencyNs: 1e6, JitterNs: 1e6}}
}

// addNode adds a server to a world.
func addNode(spec *world.Spec, name string, command ...string) {
	spec.Nodes = append(spec.Nodes, world.Node{Name: name, Role: world.Server, Hostname: name,
		IPv4: fmt.Sprintf("10.77.0.%d", 10+len(spec.Nodes)), Root: "host",
		WorkingDir: "/tmp", Command: command, Volumes: []world.Volume{{Kind: world.Bind, Source: spec.Dir, Target: spec.Dir}}})
}

// redis is a world of redis and a client that counts in it.
func redis(t *testing.T) *world.Spec {
	t.Helper()
	spec := emptySpec(t)
	addNode(spec, "redis", needs.Program(t, "redis-server"), "--port", "6379", "--save", "", "--bind", "0.0.0.0", "--protected-mode", "no", "--io-threads", "1")
	addNode(spec, "client", "sh", "-c", "sleep 0.1; exec "+needs.Program(t, "redis-cli")+" -h "+spec.Nodes[0].IPv4+" -r 30 -i 0.02 incr counter")
	return spec
}

// cluster is a world of the quickstart's three nodes, and of a client with two threads.
func cluster(t *testing.T) *world.Spec {
	t.Helper()
	spec := emptySpec(t)
	build := exec.Command("go", "-C", "../../examples/quickstart", "build", "-gcflags", "all=-N -l", "-o", spec.Dir+"/kv", "./kv")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const client = `import threading, time, urllib.request
def put(thread):
    for i in range(8):
        for node in ('n1', 'n2', 'n3'):
            try:
                urllib.request.urlopen(urllib.request.Request('http://%s:8080/kv/k%d' % (node, thread), data=b'%d' % i, method='PUT'), timeout=1)
                print(thread, i, flush=True)
                break
            except Exception as e: time.sleep(0.05)
time.sleep(1)
for t in [threading.Thread(target=put, args=(n,)) for n in (1, 2)]: t.start()
`
	for _, name := range []string{"n1", "n2", "n3"} {
		addNode(spec, name, spec.Dir+"/kv", "serve", "-id", name, "-peers", "n1=n1:9090,n2=n2:9090,n3=n3:9090", "-data", "/tmp/log")
	}
	addNode(spec, "client", needs.Program(t, "python3"), "-c", client)
	return spec
}

// original is the outcome of the bank's run without a debugger.
func original(t *testing.T, spec *world.Spec) *record.Outcome {
	t.Helper()
	out := run(t, spec)
	if len(out.Log) != 20 {
		t.Fatalf("%d events, %s %s: %+v", out.Events, out.Reason, out.Detail, out.Log)
	}
	return out
}

// run is the outcome of a run without a debugger.
func run(t *testing.T, spec *world.Spec) *record.Outcome {
	t.Helper()
	out, err := engine.Run(native.New(), spec, tape.Tape{Seed: 3}, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// timelineOf is the timeline of a run from its boot.
func timelineOf(t *testing.T, spec *world.Spec) *Timeline {
	t.Helper()
	booted, err := native.New().Boot(spec, tape.Tape{Seed: 3}, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := booted.Advance(engine.Until{Ready: true}); err != nil {
		t.Fatal(err)
	}
	w, err := NewWorld(booted, spec, tape.Tape{Seed: 3}, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	timeline, err := New(w, runner.Budget{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { timeline.Close() })
	return timeline
}

// endOf goes to the end and compares with the original run.
func endOf(t *testing.T, timeline *Timeline, want *record.Outcome) {
	t.Helper()
	if _, err := timeline.GotoUntil(engine.Until{}); err != nil {
		t.Fatal(err)
	}
	if got := timeline.World().Outcome(); got.StrictHash != want.StrictHash || got.Hash != want.Hash {
		t.Errorf("the debugged run ends with %s at event %d, the original with %s at event %d", got.Hash, got.Events, want.Hash, want.Events)
	}
}
