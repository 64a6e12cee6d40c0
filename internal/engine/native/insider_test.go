//go:build linux && amd64

package native_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/coverage/code"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// insiderWays are those of testdata/ways/insider.c.
var insiderWays = []struct {
	name string
	said string // why the run is not called reproducible; "" if it is, "any" if both are right
	same bool   // it prints the same outside
	harm bool   // it is about limits: how threads are switched does not matter
}{
	// Prefixes that change nothing before an instruction.
	{name: "prefixes of rdrand"}, {name: "prefixes of rdpid"}, {name: "prefixes of others"}, {name: "prefixes of fnstenv"},
	{name: "made behind a segment", said: "rdrand"}, {name: "made behind a dead REX", said: "rdrand"}, {name: "made as long as can be", said: "rdrand"},
	{name: "made rdpid", said: "rdpid"},
	// Pages of which nothing proves what is code: jumps that decoding cannot follow.
	{name: "watched"}, {name: "after a call"}, {name: "after a passed call"}, {name: "after popf", said: "rdrand"},
	{name: "after a fork"}, {name: "after int3", same: true},
	{name: "after a signal", same: true}, {name: "protected"}, {name: "written"}, {name: "threads"}, {name: "vfork"}, {name: "signal in a page"},
	{name: "division", same: true}, {name: "32-bit code", said: "any"},
	// What the engine has changed or is doing.
	{name: "flags", same: true}, {name: "trap flag", said: "rdrand", same: true}, {name: "maps", same: true},
	{name: "checksum", same: true}, {name: "checksum by calls", same: true},
	{name: "advice"}, {name: "own memory"}, {name: "restored by a child", said: "rdrand"},
	// Other ways to the machine.
	{name: "program in memory"}, {name: "vsyscall"}, {name: "other instructions"}, {name: "clocks"}, {name: "old calls"}, {name: "personality"},
	// Harm.
	{name: "entries everywhere", said: "any", harm: true}, {name: "many pages", said: "any", harm: true}, {name: "large buffers", harm: true},
	{name: "untraced children", harm: true}, {name: "queues", harm: true}, {name: "many maps", harm: true},
}

// Programs of someone who has read the engine's code get nothing that is not on the tape, or their runs are not called reproducible; they see
// nothing of what the engine has changed, end within the limits, and leave nothing behind.
//
//ci:underway
func TestInsiders(t *testing.T) {
	needCompiler(t)
	program := compile(t, "testdata/ways/insider.c")
	for _, way := range insiderWays {
		t.Run(way.name, func(t *testing.T) {
			first, plain := insiderRun(t, 0, world.Sched{PreemptPPM: tape.Certain}, nil, program, way.name)
			again, second := insiderRun(t, 1, world.Sched{PreemptPPM: tape.Certain}, nil, program, way.name)
			alike(t, first, again, plain, second)
			outcomes := []*record.Outcome{plain, second}
			if !way.harm {
				covered, third := insiderRun(t, 1, world.Sched{PreemptPPM: tape.Certain}, &code.Watch{}, program, way.name)
				alike(t, first, covered, plain, third)
				switching := world.Sched{PreemptPPM: 50_000, Blocks: 64, SwitchPPM: 40_000, CPUs: 4}
				switched, fourth := insiderRun(t, 0, switching, nil, program, way.name)
				again, fifth := insiderRun(t, 1, switching, nil, program, way.name)
				alike(t, switched, again, fourth, fifth)
				outcomes = append(outcomes, third, fourth, fifth)
			}
			for i, out := range outcomes {
				if said := out.Repeat.Reason; way.said != "any" && (out.Repeat.Reproducible != (way.said == "") || !strings.Contains(said, way.said)) {
					t.Errorf("run %d: %+v", i, out.Repeat)
				}
			}
			if way.same {
				outside, err := exec.Command(program, way.name).CombinedOutput()
				if err != nil {
					t.Fatalf("outside: %v\n%s", err, outside)
				}
				if d := difference(strings.Split(strings.TrimSpace(string(outside)), "\n"), first); d != "" {
					t.Error(d)
				}
			}
			if left := running(t, program); len(left) > 0 {
				t.Errorf("processes are left: %v", left)
			}
			if files, _ := os.ReadDir(filepath.Dir(program)); len(files) != 1 {
				t.Errorf("files of the world are on the host: %v", files)
			}
		})
	}
}

// alike requires that two runs of one tape are the same, if the first is called reproducible.
func alike(t *testing.T, first, again []string, a, b *record.Outcome) {
	t.Helper()
	if len(first) == 0 {
		t.Errorf("it printed nothing: %s %s %+v", a.Reason, a.Detail, a.Crashes)
	}
	if a.Repeat.Reproducible != b.Repeat.Reproducible {
		t.Errorf("reproducible %+v, then %+v", a.Repeat, b.Repeat)
	}
	if d := difference(first, again); a.Repeat.Reproducible && (d != "" || a.Hash != b.Hash) {
		t.Errorf("two runs of one tape differ (hashes %s %s):\n%s", a.Hash, b.Hash, d)
	}
}

// insiderRun makes a run on a CPU of this machine, if it has so many.
func insiderRun(t *testing.T, cpu int, sched world.Sched, watch *code.Watch, argv ...string) (lines []string, out *record.Outcome) {
	t.Helper()
	defer placed(t, cpu)()
	spec := aloneSpec(argv...)
	spec.Sched = sched
	spec.MaxTimeNs = 4e9
	spec.Limits.Threads, spec.Limits.SpinCPUMs, spec.Limits.WallMs, spec.Limits.WorldBytes = 60, 5_000, 60_000, 256<<20
	var log []record.LogLine
	out, err := engine.Run(native.New(), spec, tape.Tape{Seed: 1}, engine.Options{Code: watch, Log: func(l record.LogLine) { log = append(log, l) }})
	if err != nil {
		t.Fatal(err)
	}
	if out.Reason != record.Finished {
		t.Errorf("it ended by %s %s", out.Reason, out.Detail)
	}
	return texts(log, ""), out
}

// placed has all threads of this process run on one CPU until the function that it returns is called.
func placed(t *testing.T, cpu int) (back func()) {
	t.Helper()
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	var allowed []int
	for i := range len(all) * 64 {
		if all.IsSet(i) {
			allowed = append(allowed, i)
		}
	}
	var one unix.CPUSet
	one.Set(allowed[cpu%len(allowed)])
	set := func(to unix.CPUSet) {
		tasks, _ := os.ReadDir("/proc/self/task")
		for _, task := range tasks {
			if tid, err := strconv.Atoi(task.Name()); err == nil {
				unix.SchedSetaffinity(tid, &to)
			}
		}
	}
	set(one)
	return func() { set(all) }
}
