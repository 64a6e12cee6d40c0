//go:build linux && amd64

package native_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// alone is a world of a node n1 with a program of testdata/faults, and n3, whose program does nothing, under some rules.
func alone(t *testing.T, program string, rules ...world.FaultRule) *world.Spec {
	t.Helper()
	text, err := os.ReadFile("testdata/faults/" + program)
	if err != nil {
		t.Fatal(err)
	}
	s := pairUnder(string(text), "", nil)
	if strings.HasSuffix(program, ".c") {
		built := compile(t, "testdata/faults/"+program)
		s.Nodes[0].Command, s.Dir = []string{built}, filepath.Dir(built)
	}
	s.Nodes = slices.Delete(s.Nodes, 1, 2)
	s.MaxTimeNs = 10e9
	if len(rules) > 0 {
		s.Faults = world.Faults{Enabled: true, StartNs: 150e6, StopNs: 6e9, SettleNs: 1e9, Rules: rules}
	}
	return s
}

// told runs a world and returns the lines that n1 printed, and the outcome.
func told(t *testing.T, spec *world.Spec) ([]string, *record.Outcome) {
	t.Helper()
	var said []string
	out, err := engine.Run(native.New(), spec, tape.Tape{Seed: 5}, engine.Options{Log: func(l record.LogLine) {
		if l.Node == "n1" && l.Stream != "kernel" {
			said = append(said, l.Text)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if !out.Repeat.Reproducible {
		t.Errorf("not reproducible: %s", out.Repeat.Reason)
	}
	return said, out
}

// rule reads a rule of faults.
func rule(t *testing.T, text string) world.FaultRule {
	t.Helper()
	r, err := fault.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func entryOf(out *record.Outcome, kind world.FaultKind) fault.Entry {
	for _, e := range out.Ledger.Entries {
		if e.Kind == kind {
			return e
		}
	}
	return fault.Entry{Kind: kind}
}

// Each kind of fault of disks, memory and clocks is seen by a real program, and the ledger knows. Where it affects a node
// whose program does nothing, no program sees anything, and the ledger knows that, too.
//
//ci:later
func TestNodeFaultsAreSeen(t *testing.T) {
	for _, c := range []struct {
		rule    world.FaultRule
		program string
		calm    string   // all that the program prints without the fault
		seen    []string // with it, this too, and nothing else
	}{
		{world.FaultRule{Kind: "write_fail", RatePPM: 100_000}, "write.py", "all", []string{"Input/output error"}},
		{world.FaultRule{Kind: "partial_write", RatePPM: 100_000}, "write.py", "all", []string{"part"}},
		{world.FaultRule{Kind: "read_fail", RatePPM: 100_000}, "read.py", "same", []string{"Input/output error"}},
		{world.FaultRule{Kind: "open_fail", RatePPM: 100_000}, "open.c", "ok",
			[]string{"old: Input/output error", "new: Input/output error, not made", "folder: Input/output error"}},
		{world.FaultRule{Kind: "fsync_fail", RatePPM: 100_000}, "fsync.py", "ok, ok, ok, ok, ok",
			[]string{"Input/output error, ok, Input/output error, ok, ok"}},
		{world.FaultRule{Kind: "fsync_fail", RatePPM: 100_000}, "mapsync.c", "clean ok; ok, ok; ok, ok, ok",
			[]string{"clean ok; Input/output error, ok; Input/output error, ok, ok"}},
		{world.FaultRule{Kind: "torn_write", RatePPM: 50_000, MinNs: 20e6, MaxNs: 50e6}, "torn.py", "whole", []string{"torn"}},
		{world.FaultRule{Kind: "read_corrupt", RatePPM: 100_000, Max: 1}, "read.py", "same", []string{"wrong bits: 1"}},
		{world.FaultRule{Kind: "disk_full", RatePPM: 20_000, MinNs: 100e6, MaxNs: 200e6}, "full.py",
			"made: file, folder, link; wrote 8192, 4096; rewrote 8192; in memory 4096; room",
			[]string{"made: No space left on device, No space left on device, No space left on device; wrote No space left on " +
				"device, 2048; rewrote 8192; in memory 4096; no room"}},
		{world.FaultRule{Kind: "disk_full", RatePPM: 20_000, MinNs: 100e6, MaxNs: 200e6}, "mapfull.c",
			"hole stored, old stored, allocated stored, read",
			[]string{"hole bus error, old stored, allocated stored, Bad address"}},
		{world.FaultRule{Kind: "slow_disk", RatePPM: 20_000, MinNs: 100e6, MaxNs: 200e6, Least: 5e6, Most: 20e6}, "slow.py", "fast",
			[]string{"write slow", "read slow", "fsync slow"}},
		{world.FaultRule{Kind: "clock_skew", RatePPM: 20_000, MinNs: 100e6, MaxNs: 200e6, Least: 50e6, Most: 500e6}, "clock.py",
			"right", []string{"ahead", "behind"}},
		{world.FaultRule{Kind: "clock_jump", RatePPM: 100_000, Least: 1e9, Most: 60e9}, "clock.py", "right", []string{"ahead", "behind"}},
		{world.FaultRule{Kind: "memory_pressure", RatePPM: 20_000, MinNs: 100e6, MaxNs: 200e6}, "memory.c", "ok",
			[]string{"mmap: Cannot allocate memory", "malloc: Cannot allocate memory", "sbrk: Cannot allocate memory",
				"mremap: Cannot allocate memory", "mprotect: Cannot allocate memory"}},
		{world.FaultRule{Kind: "fd_limit", RatePPM: 20_000, MinNs: 100e6, MaxNs: 200e6}, "descriptors.c", "all ok; made; passed 1; dup2 ok",
			// It ends between two calls
			[]string{"none Too many open files; not made; passed 0; dup2 ok", "some Too many open files; not made; passed 1; dup2 ok"}},
		{world.FaultRule{Kind: "oom", RatePPM: 10_000, MinNs: 200e6, MaxNs: 400e6}, "oom.py", "ended 0", []string{"killed 9", "low memory"}},
	} {
		t.Run(string(c.rule.Kind)+" "+c.program, func(t *testing.T) {
			kind := c.rule.Kind
			said, _ := told(t, alone(t, c.program))
			for _, line := range said {
				if line != c.calm {
					t.Fatalf("without a fault the program prints %q, want %q only", line, c.calm)
				}
			}
			if len(said) < 25 {
				t.Fatalf("the program printed too little: %q", said)
			}
			c.rule.Targets = []string{"n1"}
			spec := alone(t, c.program, c.rule)
			said, out := told(t, spec)
			for _, want := range c.seen {
				if !slices.Contains(said, want) {
					t.Errorf("the program never printed %q:\n%s", want, strings.Join(said, "\n"))
				}
			}
			for _, line := range said {
				if line != c.calm && !slices.Contains(c.seen, line) {
					t.Errorf("the program printed %q", line)
				}
			}
			e := entryOf(out, kind)
			if e.Planned == 0 || e.Delivered == 0 || e.Observed == 0 || e.FirstObserved == 0 || e.Observed > e.Delivered {
				t.Errorf("the ledger says %+v", e)
			}
			if c.program == "clock.py" && said[len(said)-1] != "right" {
				t.Errorf("the clock is still %s after the heal", said[len(said)-1])
			}
			if _, again := told(t, spec); again.Hash != out.Hash {
				t.Errorf("the same tape made two runs: %s and %s", out.Hash, again.Hash)
			}
			spec.Faults.Rules[0].Targets = []string{"n3"}
			said, out = told(t, spec)
			if e := entryOf(out, kind); e.Observed != 0 || fault.RowOf(kind).PerStep() && e.Delivered == 0 {
				t.Errorf("no program can have seen it, but the ledger says %+v", e)
			}
			if slices.ContainsFunc(said, func(line string) bool { return line != c.calm }) {
				t.Errorf("the program on the other node printed %q", said)
			}
		})
	}
}

// A process that is at its limit of open files keeps what it has: also the descriptor that a waiting accept has got. A program that is executed
// meanwhile can open files. A loop that tries again at once does not take all of the world's events.
func TestAtTheLimitOfOpenFiles(t *testing.T) {
	said, out := told(t, alone(t, "atlimit.c", rule(t, "fd_limit on n1 at connect for 700ms max 1")))
	want := []string{"a child: Too many open files", "an accept that has waited: ok", "the next accept: Too many open files",
		"a program that was started since: ok", "the same accept afterwards: ok", "hundreds of tries"}
	slices.Sort(said)
	slices.Sort(want)
	if !slices.Equal(said, want) {
		t.Errorf("the program printed\n%s", strings.Join(said, "\n"))
	}
	if e := entryOf(out, fault.FDLimit); e.Delivered != 1 || e.Observed != 1 {
		t.Errorf("the ledger says %+v", e)
	}
}

// An opening that fails is told with its file, once however often it is repeated, whether a file was to be made or not. Rules name files.
func TestFailedOpeningsAreTold(t *testing.T) {
	for _, c := range []struct {
		rule, program, path, errno string
	}{
		{"open_fail on n1 at openat of old rate 10%", "open.c", "/data/old", "EIO"},
		{"open_fail on n1 at create of new rate 10%", "open.c", "/data/new", "EIO"},
		{"fd_limit on n1 rate 0.02 for 100ms..200ms", "descriptors.c", "/new", "EMFILE"},
	} {
		_, out := told(t, alone(t, c.program, rule(t, c.rule)))
		kind, _, _ := strings.Cut(c.rule, " ")
		injected, last := 0, ""
		for _, change := range out.DiskChanges {
			text := change.Call + " " + change.Path + " " + change.Errno
			if change.Fault != kind {
				last = ""
				continue
			}
			injected++
			if kind == "open_fail" && change.Path != c.path || change.Errno != c.errno {
				t.Errorf("%s: %+v", c.rule, change)
			}
			if text == last {
				t.Errorf("%s: %s is told twice", c.rule, text)
			}
			last = text
		}
		if injected == 0 {
			t.Errorf("%s: no opening is told", c.rule)
		}
	}
}

// A page of a map that is not in the page cache comes from the disk, and that may fail: after a power loss, and
// after a crash, when Linux may have dropped it. What programs have read or written since does not fail, and
// nothing does before.
func TestFailedReadsOfMaps(t *testing.T) {
	power := world.FaultRule{Kind: "power_loss", RatePPM: 100_000, Max: 1, MinNs: 100e6, MaxNs: 100e6, Targets: []string{"n1"}}
	reads := world.FaultRule{Kind: "read_fail", RatePPM: 300_000, Targets: []string{"n1"}}
	said, out := told(t, alone(t, "mapread.c", reads))
	calls := entryOf(out, fault.ReadFail) // those of the program are told apart from its loads
	if slices.ContainsFunc(said, func(line string) bool { return line != "read" }) || calls.Planned == 0 {
		t.Errorf("with all in the page cache the program printed %q; the ledger says %+v", said, calls)
	}
	crash := power
	crash.Kind = "crash"
	for _, ends := range []world.FaultRule{power, crash} {
		spec := alone(t, "mapread.c", ends, reads)
		said, out = told(t, spec)
		e := entryOf(out, fault.ReadFail)
		if e.Observed == 0 || !slices.Contains(said, "bus error") || !slices.Contains(said, "read") {
			t.Errorf("after a %s the program printed %q, and the ledger says %+v", ends.Kind, said, e)
		}
		if slices.ContainsFunc(said, func(line string) bool { return line != "read" && line != "bus error" }) {
			t.Errorf("after a %s the program printed %q", ends.Kind, said)
		}
		if _, again := told(t, spec); again.Hash != out.Hash {
			t.Errorf("after a %s the same tape made two runs: %s and %s", ends.Kind, out.Hash, again.Hash)
		}
	}
}

// A clock that drifts runs at another rate and comes back: CLOCK_REALTIME to the time of day, CLOCK_MONOTONIC to its rate
// without a step. The log's stamps are the time of the world.
//
//ci:underway
func TestClockDrift(t *testing.T) {
	const least, most = 50e6, 200e6
	spec := alone(t, "drift.py", world.FaultRule{Kind: "clock_drift", RatePPM: 20_000, MinNs: 300e6, MaxNs: 600e6, Least: least,
		Most: most, Targets: []string{"n1"}})
	var world, real, mono []float64
	out, err := engine.Run(native.New(), spec, tape.Tape{Seed: 5}, engine.Options{Log: func(l record.LogLine) {
		var a, b int64
		if n, _ := fmt.Sscan(l.Text, &a, &b); l.Node == "n1" && n == 2 {
			world, real, mono = append(world, float64(l.TimeNs)), append(real, float64(a-spec.StartUnixNs)), append(mono, float64(b))
		}
	}})
	if err != nil || len(world) < 300 {
		t.Fatal(err, len(world))
	}
	fast, slow := 0, 0
	for i := 1; i < len(world); i++ {
		switch rate := (mono[i]-mono[i-1])/(world[i]-world[i-1]) - 1; {
		case mono[i] <= mono[i-1]:
			t.Fatalf("CLOCK_MONOTONIC goes back: %f, then %f", mono[i-1], mono[i])
		case rate > (most+1e6)/1e9 || rate < -(most+1e6)/1e9:
			t.Errorf("CLOCK_MONOTONIC jumps: it runs at a rate of 1%+f", rate)
		case rate > least/1e9/2:
			fast++
		case rate < -least/1e9/2:
			slow++
		}
	}
	if fast < 10 || slow < 10 {
		t.Errorf("of %d intervals %d were too long and %d too short", len(world), fast, slow)
	}
	off := func(i int) float64 { return math.Abs(real[i] - world[i]) }
	worst := 0.0
	for i := range world {
		worst = max(worst, off(i))
	}
	if last := len(world) - 1; worst < 10e6 || off(last) > 1e6 {
		t.Errorf("CLOCK_REALTIME was up to %f s wrong, and at the end %f s", worst/1e9, off(last)/1e9)
	}
	e := entryOf(out, fault.ClockDrift)
	if e.Delivered < 3 || e.Observed < e.Delivered-1 {
		t.Errorf("the ledger says %+v", e)
	}
	spec.Faults.Rules[0].Targets = []string{"n3"}
	_, out = told(t, spec)
	if e := entryOf(out, fault.ClockDrift); e.Delivered == 0 || e.Observed != 0 {
		t.Errorf("no program can have seen it, but the ledger says %+v", e)
	}
}

// Timers of CLOCK_REALTIME follow it when it jumps, those of a duration do not, and TFD_TIMER_CANCEL_ON_SET reports the jump.
//
//ci:underway
func TestTimersFollowTheClock(t *testing.T) {
	run := func(rules ...world.FaultRule) (map[string]int, *record.Outcome) {
		said, out := told(t, alone(t, "timers.c", rules...))
		counts := map[string]int{}
		for _, line := range said {
			counts[line]++
		}
		return counts, out
	}
	calm, _ := run()
	if n := calm["nanosleep in time"]; n < 10 || len(calm) != 4 || calm["timerfd in time"] < n-1 || calm["timer in time"] < n-1 ||
		calm["relative in time"] < n-1 {
		t.Errorf("without a fault: %v", calm)
	}
	said, out := run(world.FaultRule{Kind: "clock_skew", RatePPM: 30_000, MinNs: 100e6, MaxNs: 300e6, Least: 40e6, Most: 200e6, Targets: []string{"n1"}})
	for _, what := range []string{"nanosleep early", "nanosleep late", "timerfd early", "timerfd late", "timer early",
		"timer late", "canceled", "relative in time"} {
		if said[what] == 0 {
			t.Errorf("never %q: %v", what, said)
		}
	}
	if said["relative early"]+said["relative late"] > 0 {
		t.Errorf("a duration depends on the date: %v", said)
	}
	if e := entryOf(out, fault.ClockSkew); e.Observed == 0 {
		t.Errorf("the ledger says %+v", e)
	}
}

// When memory runs out, a process is killed as Linux does it: the largest process, but none that is exempt. The node continues as its
// restart policy says, and starts again with the end of the fault if that says nothing. It is no crash of the program.
func TestOutOfMemory(t *testing.T) {
	for _, c := range []struct {
		program string
		policy  world.RestartMode
		want    string // what n1 says, up to the start after the kill
		soon    bool   // that start comes before the fault's end
	}{
		{"main.py", "", "start, kernel, start", false},
		{"main.py", world.RestartNo, "start, kernel, start", false},
		{"main.py", world.RestartAlways, "start, kernel, start", true},
		{"main.py", world.RestartOnFailure, "start, kernel, start", true},
		{"exempt.py", world.RestartNo, "start, kernel, killed 9", false},
	} {
		spec := alone(t, c.program, world.FaultRule{Kind: "oom", RatePPM: 1_000_000, Max: 1, MinNs: 2e9, MaxNs: 2e9, Targets: []string{"n1"}})
		spec.Nodes[0].Restart.Mode = c.policy
		spec.Faults.StopNs = 4e9
		var said []string
		var started int64
		out, err := engine.Run(native.New(), spec, tape.Tape{Seed: 5}, engine.Options{Log: func(l record.LogLine) {
			if l.Node != "n1" {
				return
			}
			if l.Stream == "kernel" {
				if !strings.HasPrefix(l.Text, "Out of memory: Killed process ") {
					t.Errorf("the kernel says %q", l.Text)
				}
				l.Text = "kernel"
			}
			said, started = append(said, l.Text), l.TimeNs
		}})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(said, ", "); got != c.want {
			t.Errorf("%s, restart %q: n1 said %q, want %q", c.program, c.policy, got, c.want)
		}
		if soon := started < out.Ledger.Injections[0].StartNs+2e9; c.program == "main.py" && soon != c.soon {
			t.Errorf("restart %q: the node started again at %d, and the fault was from %d to %d", c.policy, started,
				out.Ledger.Injections[0].StartNs, out.Ledger.Injections[0].EndNs)
		}
		if len(out.Crashes) > 0 {
			t.Errorf("restart %q: %+v", c.policy, out.Crashes)
		}
	}
}

// A main process that ends is started again as the node's policy says, and after a crash whatever it says.
//
//ci:underway
func TestRestartPolicies(t *testing.T) {
	for _, c := range []struct {
		policy world.Restart
		code   int
		starts int // at least; negative is exactly
	}{
		{world.Restart{Mode: world.RestartNo}, 1, -1},
		{world.Restart{}, 0, -1},
		{world.Restart{Mode: world.RestartAlways}, 0, 3},
		{world.Restart{Mode: world.RestartAlways}, 1, 3},
		{world.Restart{Mode: world.RestartUnlessStopped}, 0, 3},
		{world.Restart{Mode: world.RestartOnFailure}, 0, -1},
		{world.Restart{Mode: world.RestartOnFailure}, 1, 3},
		{world.Restart{Mode: world.RestartOnFailure, MaxRetries: 2}, 1, -3},
	} {
		spec := alone(t, "main.py")
		spec.Nodes[0].Command = []string{"python3", "-c", fmt.Sprintf("import sys\nprint('start', flush=True)\nsys.exit(%d)", c.code)}
		spec.Nodes[0].Restart = c.policy
		said, _ := told(t, spec)
		if n := len(said); c.starts < 0 && n != -c.starts || n < c.starts {
			t.Errorf("%+v, exit code %d: %d starts, want %d", c.policy, c.code, n, c.starts)
		}
	}
	for _, mode := range []world.RestartMode{world.RestartNo, world.RestartAlways, world.RestartOnFailure} {
		spec := alone(t, "main.py", world.FaultRule{Kind: "crash", RatePPM: 1_000_000, Max: 1, MinNs: 1e9, MaxNs: 1e9, Targets: []string{"n1"}})
		spec.Nodes[0].Restart.Mode = mode
		if said, _ := told(t, spec); len(said) != 2 {
			t.Errorf("restart %q: after a crash the node said %q", mode, said)
		}
	}
}

// syncfs fails as Linux' does: once for each description that was open, also for what an fsync failed to write before.
func TestSyncfsFails(t *testing.T) {
	const program = `import ctypes, os, time
libc = ctypes.CDLL(None, use_errno=True)
def sync(fd): return 'ok' if libc.syncfs(fd) == 0 else os.strerror(ctypes.get_errno())
def fsync(fd):
    try: os.fsync(fd); return 'ok'
    except OSError as e: return e.strerror
a, b = os.open('/data', os.O_RDWR | os.O_CREAT), os.open('/', os.O_RDONLY)
log = os.open('/other', os.O_RDWR | os.O_CREAT)
for i in range(100):
    os.write(a, b'x')
    told = [sync(b), sync(b), sync(a), fsync(a), fsync(a), fsync(log)]
    c = os.open('/', os.O_RDONLY); told.append(sync(c)); os.close(c)
    print(', '.join(told), flush=True)
    time.sleep(0.02)
`
	const calm, failed = "ok, ok, ok, ok, ok, ok, ok", "Input/output error, ok, Input/output error, Input/output error, ok, ok, ok"
	for rate, want := range map[uint64][]string{0: {calm}, 100_000: {calm, failed}} {
		spec := pairUnder(program, "import time; time.sleep(100)",
			&world.FaultRule{Kind: "fsync_fail", RatePPM: rate, Trigger: world.Trigger{At: []string{"syncfs"}}, Targets: []string{"n1"}})
		logs, _, out := play(t, spec)
		told := map[string]int{}
		for line := range strings.Lines(logs["n1"]) {
			told[strings.TrimSpace(line)]++
		}
		for _, w := range want {
			if told[w] == 0 {
				t.Errorf("rate %d: never said %q", rate, w)
			}
			delete(told, w)
		}
		if len(told) > 0 {
			t.Errorf("rate %d: said %v", rate, told)
		}
		for _, e := range out.Ledger.Entries {
			if e.Delivered == 0 || e.Observed != e.Delivered {
				t.Errorf("rate %d: %+v", rate, e)
			}
		}
	}
}

// What an fsync has failed to write is lost with the power, though the next fsync says that all is well.
func TestFailedFsyncLosesData(t *testing.T) {
	lost := func(rules ...world.FaultRule) int {
		spec := alone(t, "retry.py", append(rules, world.FaultRule{Kind: "power_loss", RatePPM: 20_000, MinNs: 20e6, MaxNs: 50e6, Targets: []string{"n1"}})...)
		said, out := told(t, spec)
		if e := entryOf(out, fault.PowerLoss); e.Delivered < 5 {
			t.Fatalf("the power went too rarely: %+v", e)
		}
		stored, lost := "", 0
		for _, line := range said {
			switch word, n, _ := strings.Cut(line, " "); {
			case word == "stored":
				stored = n
			case n < stored:
				lost++
			}
		}
		return lost
	}
	if n := lost(); n > 0 {
		t.Errorf("without a failed fsync the power took %d times what was stored", n)
	}
	if n := lost(world.FaultRule{Kind: "fsync_fail", RatePPM: 600_000, Targets: []string{"n1"}}); n == 0 {
		t.Error("the power never took what a failed fsync had not written")
	}
}

// A partial write for which the full disk has no room either was not delivered, and no program has seen it.
func TestPartialWriteToAFullDisk(t *testing.T) {
	const program = `import os, time
f = os.open('/data', os.O_WRONLY | os.O_CREAT)
time.sleep(0.3)
for i in range(50):
    try: os.pwrite(f, b'x' * 8192, i * 8192); print('wrote', flush=True)
    except OSError as e: print(e.strerror, flush=True)
`
	spec := pairUnder(program, "import time; time.sleep(100)",
		&world.FaultRule{Kind: "disk_full", RatePPM: tape.Certain, MinNs: 100e9, MaxNs: 100e9, Max: 1, Targets: []string{"n1"}})
	spec.Faults.StartNs = 200e6
	spec.Faults.Rules = append(spec.Faults.Rules, world.FaultRule{Kind: "partial_write", RatePPM: tape.Certain, Targets: []string{"n1"}})
	logs, _, out := play(t, spec)
	if n := strings.Count(logs["n1"], "No space left"); n != 50 {
		t.Fatalf("n1 printed\n%s", logs["n1"])
	}
	for _, e := range out.Ledger.Entries {
		if e.Kind == fault.PartialWrite && (e.Planned != 50 || e.Delivered != 0 || e.Observed != 0) {
			t.Errorf("%+v", e)
		}
	}
}
