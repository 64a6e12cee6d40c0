//go:build linux && amd64

package native_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Checks run in their interval, and soon after each fault has begun or ended; a liveness property proves itself from the
// start on.
//
//ci:underway
func TestProbesFollowFaults(t *testing.T) {
	const interval = int64(3e9)
	spec := ruled(t, idle, idle, "crash on n1 rate 0.02 for 200ms..400ms")
	spec.Properties = []world.Property{
		{Name: "often", Kind: world.Safety, Check: world.Check{Type: world.Custom,
			Question: world.Question{Script: []string{"/bin/true"}}, IntervalNs: interval}},
		{Name: "alive", Kind: world.Liveness, TimeoutNs: 1e9, Check: world.Check{Type: world.Custom,
			Question: world.Question{Script: []string{"/bin/true"}}, IntervalNs: interval}},
	}
	_, _, out := play(t, spec)
	if len(out.Ledger.Injections) < 2 {
		t.Fatalf("%d injections", len(out.Ledger.Injections))
	}
	runs := func(property string, from, to int64) int {
		n := 0
		for _, p := range out.Probes {
			if p.Property == property && p.StartNs >= from && p.StartNs <= to {
				n++
			}
		}
		return n
	}
	for _, s := range out.Ledger.Injections {
		for _, at := range []int64{s.StartNs, s.EndNs} {
			if runs("often", at, at+interval/10+100e6) == 0 {
				t.Errorf("no check ran soon after %d ns: %+v", at, out.Probes)
			}
		}
	}
	if most := int(out.VirtualNs/(interval/10)) + 2; runs("often", 0, out.VirtualNs) > most {
		t.Errorf("%d runs of the check, more than %d", runs("often", 0, out.VirtualNs), most)
	}
	if out.ReadyNs == 0 || !slices.ContainsFunc(out.Probes, func(p record.Probe) bool { return p.Property == "alive" && p.AfterHealNs == out.ReadyNs }) {
		t.Errorf("no proof of life after the start at %d ns: %+v", out.ReadyNs, out.Probes)
	}
	for _, heal := range out.Heals {
		if !slices.ContainsFunc(out.Probes, func(p record.Probe) bool { return p.Property == "alive" && p.AfterHealNs == heal }) {
			t.Errorf("no proof of life after the heal at %d ns", heal)
		}
	}
}

// A check that computes without end is broken off once, whether it waits in a spin loop or counts, itself or in a program that
// it has started or left behind; it costs the others nothing, and the run repeats.
//
//ci:later
func TestProbesThatSpin(t *testing.T) {
	for name, script := range map[string]string{
		"circle": "while :; do :; done", "count": "i=0; while :; do i=$((i+1)); done", "child": "sh -c 'while :; do :; done'; exit 0",
		"orphan": "sh -c 'while :; do :; done' & exit 0",
		// it has read a clock before it computes, and reads one now and then
		"clock": `exec python3 -c "import time; t = time.monotonic(); i = 0
while True:
    i += 1
    if i % 50000 == 0: t = time.monotonic()"`,
	} {
		t.Run(name, func(t *testing.T) {
			spec := ruled(t, idle, idle)
			spec.Limits.SpinCPUMs = 200
			spec.Properties = []world.Property{
				{Name: "spins", Kind: world.Safety, Check: world.Check{Type: world.Custom,
					Question: world.Question{Script: []string{"/bin/sh", "-c", script}}}},
				{Name: "holds", Kind: world.Safety, Check: world.Check{Type: world.Custom, Question: world.Question{Script: []string{"/bin/true"}}}},
			}
			_, _, out := play(t, spec)
			_, _, again := play(t, spec)
			if !out.Repeat.Reproducible || out.Hash != again.Hash {
				t.Errorf("hashes %s and %s: %s", out.Hash, again.Hash, out.Repeat.Reason)
			}
			last := map[string]record.Probe{}
			hung, others := 0, 0
			for _, p := range out.Probes {
				last[p.Property] = p
				if p.ExitCode == world.ProbeHung {
					hung++
				}
				if p.Property == "holds" && p.ExitCode == 0 {
					others++
				}
			}
			if hung == 0 || last["spins"].ExitCode != world.ProbeHung || last["spins"].Output == "" || last["holds"].Phase != "final" || others < 3 {
				t.Errorf("%d hung, %d of the other: %+v", hung, others, out.Probes)
			}
		})
	}
}

// A check that prints without measure is judged by its exit code, and the run says that not all was read.
func TestProbesThatPrintMuch(t *testing.T) {
	for name, script := range map[string]string{
		"lines": `import sys; sys.stdout.write(("y" * 999 + "\n") * 4000); sys.exit(1)`, "one line": `import sys; sys.stdout.write("y" * 4000000); sys.exit(1)`,
	} {
		t.Run(name, func(t *testing.T) {
			spec := ruled(t, idle, idle)
			spec.MaxTimeNs = 5e9
			spec.Properties = []world.Property{{Name: "prints", Kind: world.Safety,
				Check: world.Check{Type: world.Custom,
					Question: world.Question{Script: []string{"/usr/bin/python3", "-c", script}}, IntervalNs: 10e9}}}
			_, _, out := play(t, spec)
			kept := 0
			for _, p := range out.Probes {
				kept = max(kept, len(p.Output))
				if p.ExitCode != 1 {
					t.Errorf("exit code %d", p.ExitCode)
				}
			}
			if len(out.Probes) == 0 || kept == 0 || kept > 256<<10 {
				t.Errorf("%d probes, and up to %d bytes of them", len(out.Probes), kept)
			}
			if n := len(slices.DeleteFunc(out.Warnings, func(w string) bool { return !strings.Contains(w, "output of a check on node") })); n != 1 {
				t.Errorf("%d warnings: %q", n, out.Warnings)
			}
		})
	}
}
