//go:build linux && amd64

package native_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// creator makes a file, opens it again without and with O_CREAT, and synchronises a map of it.
const creator = `import mmap, os, time
def made(flags):
    try: f = os.open('/data/0001.db', flags); print('opened', flush=True); return f
    except OSError as e: print(os.strerror(e.errno), flush=True); return None
print('begin', os.listdir('/data'), flush=True)
f = made(os.O_CREAT | os.O_RDWR)
if f is None: f = made(os.O_CREAT | os.O_RDWR)
made(os.O_RDWR)
os.ftruncate(f, 4096)
m = mmap.mmap(f, 4096); m.flush(); print('flushed', flush=True)
time.sleep(1000)
`

// The call create is an open that asks for a file to be made, and msync has the names of the files that are mapped.
//
//ci:underway
func TestFaultsAtCreatesAndMaps(t *testing.T) {
	for rule, want := range map[string]string{
		"disk_full on n1 at create of *.db for 5s max 1":           "begin []\nNo space left on device\nNo space left on device\nNo such file or directory\n",
		"crash on n1 after create of *.db for 500ms max 1":         "begin []\nbegin ['0001.db']\nopened\nopened\nflushed\n",
		"crash on n1 at create of *.db for 500ms max 1":            "begin []\nbegin []\nopened\nopened\nflushed\n",
		"crash on n1 at create of *.db nth 2 for 500ms":            "begin []\nopened\nopened\nflushed\n", // the open without O_CREAT does not count
		"crash on n1 at create of *.wal for 500ms max 1":           "begin []\nopened\nopened\nflushed\n",
		"crash on n1 after msync of *.db for 500ms max 1":          "begin []\nopened\nopened\nbegin ['0001.db']\nopened\nopened\nflushed\n",
		"crash on n1 after msync of *.wal for 500ms max 1":         "begin []\nopened\nopened\nflushed\n",
		"power_loss on n1 during msync of *.db for 500ms max 1":    "begin []\nopened\nopened\nbegin",
		"pause on n1 after openat, create of *.db for 500ms max 1": "begin []\nopened\nopened\nflushed\n",
	} {
		spec := ruled(t, creator, idle, rule)
		spec.Nodes[0].Volumes = []world.Volume{{Kind: world.Named, Source: "data", Target: "/data"}}
		spec.Cost.SyncNs = 1e6
		logs, _, out := play(t, spec)
		if !strings.HasPrefix(logs["n1"], want) || !out.Repeat.Reproducible {
			t.Errorf("%s: n1 printed\n%swant\n%s%+v", rule, logs["n1"], want, out.Ledger)
		}
	}
	if mistakes := native.New().ValidateRules(ruled(t, creator, idle, "crash at create of *.db", "crash after msync of *.db")); len(mistakes) > 0 {
		t.Errorf("the rules count as mistakes: %v", mistakes)
	}
}

// A run is the same with derived rules that its tape does not turn on, and a run with one that it does turn on repeats.
//
//ci:series
func TestDerivedRulesKeepRuns(t *testing.T) {
	plain := kept(t, "pause on n1 rate 0.02 for 100ms..500ms", "crash on n1 rate 0.004 for 100ms..500ms",
		"power_loss on n1 rate 0.002 for 100ms..500ms", "disk_full on n1 rate 0.002 for 100ms..500ms")
	out, err := engine.Run(native.New(), plain, fault.Calm(tape.Tape{Seed: 5}), engine.Options{Moments: true})
	if err != nil {
		t.Fatal(err)
	}
	spec := *plain
	spec.Faults.Rules = slices.Concat(plain.Faults.Rules, fault.Derive(plain, out.Moments))
	fsync := 0
	for i := range spec.Faults.Rules {
		if r := &spec.Faults.Rules[i]; r.Derived && strings.HasPrefix(fault.Sentence(r), "crash on n1 after fsync of log") {
			fsync = i + 1
		}
	}
	if fsync == 0 {
		t.Fatalf("derived are %v", spec.Faults.Rules)
	}
	run := func(spec *world.Spec, seed uint64, edits ...tape.Edit) string {
		out, err := engine.Run(native.New(), spec, tape.Tape{Seed: seed, Edits: edits}, engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(out.Hash, out.StrictHash, out.Ledger.Rules)
	}
	for seed := uint64(1); seed <= 3; seed++ {
		if with, without := run(&spec, seed), run(plain, seed); with != without {
			t.Errorf("seed %d: derived rules that are off change the run:\n%s\n%s", seed, with, without)
		}
	}
	on := tape.Edit{Op: tape.Set, Stream: fault.RateStream(fsync), Value: fault.RateAsIs}
	first, again := run(&spec, 1, on), run(&spec, 1, on)
	if first != again || !strings.Contains(first, "crash on n1 after fsync of log") || first == run(&spec, 1) {
		t.Errorf("a derived rule that is on:\n%s\nand again\n%s", first, again)
	}
}
