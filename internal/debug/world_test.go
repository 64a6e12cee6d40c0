//go:build linux && amd64

package debug

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
	"github.com/bloodhound-dst/bloodhound/internal/needs"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// bank is a world of a bank with two threads, and its client.
func bank(t *testing.T) *world.Spec {
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
	if out, err := exec.Command(needs.Program(t, "gcc"), "-g", "-O0", "-pthread", "-o", dir+"/bank", "testdata/bank.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	spec := &world.Spec{Dir: dir, StartUnixNs: 1735689600e9, MaxTimeNs: 3e9, TimeStepNs: 10e6, Cost: world.Cost{CallNs: 1000, ClockReadNs: 50},
		Sched: world.Sched{PreemptPPM: 300_000}, DefaultLink: world.Link{LatencyNs: 1e6, JitterNs: 1e6}}
	for i, args := range [][]string{{"serve"}, {"client", "10.77.0.10"}} {
		spec.Nodes = append(spec.Nodes, world.Node{Name: []string{"bank", "client"}[i], Role: world.Server, Hostname: []string{"bank", "client"}[i], IPv4: []string{"10.77.0.10", "10.77.0.11"}[i], Root: "host",
			WorkingDir: "/tmp", Command: append([]string{dir + "/bank"}, args...), Volumes: []world.Volume{{Kind: world.Bind, Source: dir, Target: dir}}})
	}
	return spec
}

// original is the outcome of a run without a debugger.
func original(t *testing.T, spec *world.Spec) *engine.Outcome {
	t.Helper()
	out, err := engine.Run(native.New(), spec, tape.Tape{Seed: 3}, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Log) != 20 {
		t.Fatalf("%d events, %s %s: %+v", out.Events, out.Reason, out.Detail, out.Log)
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
	w, err := Of(booted, spec, tape.Tape{Seed: 3}, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	timeline, err := New(w, DefaultSnapshots)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { timeline.Close() })
	return timeline
}

// endOf goes to the end and compares with the original run.
func endOf(t *testing.T, timeline *Timeline, want *engine.Outcome) {
	t.Helper()
	if _, err := timeline.GotoUntil(engine.Until{}); err != nil {
		t.Fatal(err)
	}
	if got := timeline.World().Outcome(); got.StrictHash != want.StrictHash || got.Hash != want.Hash {
		t.Errorf("the debugged run ends with %s at event %d, the original with %s at event %d", got.Hash, got.Events, want.Hash, want.Events)
	}
}
