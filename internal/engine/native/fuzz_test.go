//go:build linux && amd64

package native_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/linux"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Calls made at random break neither the engine nor the machine, and what they do repeats, under both ways of interception.
//
//ci:series
func TestRandomCalls(t *testing.T) {
	needCompiler(t)
	program := compile(t, filepath.Join("testdata", "fuzz", "calls.c"), "-static")
	seeds := 3
	if os.Getenv("BLOODHOUND_SOAK") != "" {
		seeds = 300
	}
	for seed := 1; seed <= seeds; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			h := newHost(t)
			var hashes []string
			for _, reference := range []string{"", "", "1"} {
				t.Setenv(native.ReferenceVariable, reference)
				root := t.TempDir()
				if err := os.Link(program, filepath.Join(root, "calls")); err != nil {
					t.Fatal(err)
				}
				spec := aloneSpec(program)
				n := &spec.Nodes[0]
				n.Root, n.Command = root, []string{"/calls", fmt.Sprint(seed), "20", "400"}
				n.Volumes = []world.Volume{{Kind: world.Named, Source: "work", Target: "/work"}}
				spec.MaxTimeNs, spec.Limits.MemoryBytes, spec.Limits.WallMs = 1000e9, 64<<20, 120_000
				log, out := run(t, spec, 1)
				// A call may well have written where the program may, but should not: then the run says so.
				if out.Reason != record.Finished || !out.Repeat.Reproducible && !strings.HasSuffix(out.Repeat.Reason, "wrote to the page of virtual time") {
					t.Errorf("the world ended by %s %s; reproducible=%v %s", out.Reason, out.Detail, out.Repeat.Reproducible, out.Repeat.Reason)
				}
				if lines := strings.Join(texts(log, "stdout"), "\n"); !strings.HasSuffix(lines, "done") {
					t.Errorf("the program did not come to its end:\n%s", lines)
				}
				hashes = append(hashes, out.Hash)
			}
			if hashes[0] != hashes[1] || hashes[0] != hashes[2] {
				t.Errorf("hashes of two runs and of the reference: %v", hashes)
			}
			h.judge(t, nil)
		})
	}
}

// fuzzSeedVariable holds the seed of the one world that TestGrammarOfCalls then runs, to look closer.
const fuzzSeedVariable = "BLOODHOUND_FUZZ_SEED"

// Bounds of TestGrammarOfCalls.
const (
	soakedCalls   = 10_000_000
	maxFuzzWorlds = 1000
	maxFuzzHeap   = 512 << 20 // bytes in use by the engine for a world of the fuzzer
)

// Calls that never return or never succeed, whatever their arguments: exit and exit_group end the thread, pause and rt_sigsuspend end
// by EINTR, and the engine has neither protection keys nor clocks that a program may set, as on many machines.
var fruitless = []string{"clock_settime", "exit", "exit_group", "pause", "pkey_alloc", "pkey_free", "rt_sigsuspend"}

// The fuzzer knows each call that the engine has a handler for.
func TestGrammarKnowsHandlers(t *testing.T) {
	needCompiler(t)
	list, err := exec.Command(compileGrammar(t), "list").Output()
	if err != nil {
		t.Fatal(err)
	}
	known := map[int]string{}
	for line := range strings.Lines(string(list)) {
		var nr int
		var name string
		if _, err := fmt.Sscan(line, &nr, &name); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		known[nr] = name
	}
	for nr, call := range linux.NewSystem().Calls {
		name, knows := known[nr]
		switch {
		case call.Handle != nil && !knows:
			t.Errorf("testdata/fuzz/table.h lacks %s, number %d, which has a handler", call.Name, nr)
		case call.Handle == nil && knows:
			t.Errorf("testdata/fuzz/table.h has %s, number %d, which has no handler", name, nr)
		case knows && name != call.Name:
			t.Errorf("testdata/fuzz/table.h calls number %d %s, and the engine %s", nr, name, call.Name)
		}
	}
}

// Each call with its arguments at their limits, and with arguments that make it succeed, in states that other calls have made. The
// engine answers all of them in bounded memory, and two runs of one tape are equal, now and then also one of the reference. With
// BLOODHOUND_SOAK there are ten million calls, and each kind of call must succeed at least once.
//
//ci:series
func TestGrammarOfCalls(t *testing.T) {
	needCompiler(t)
	program := compileGrammar(t)
	soak := os.Getenv("BLOODHOUND_SOAK") != ""
	first, worlds, f := 1, 2, fuzzing{program: program, children: 6, calls: 2000}
	if soak {
		worlds, f.children, f.calls = maxFuzzWorlds, 20, 5000
	}
	text, oneSeed := os.LookupEnv(fuzzSeedVariable)
	if oneSeed {
		var err error
		if first, err = strconv.Atoi(text); err != nil {
			t.Fatalf("%s: %v", fuzzSeedVariable, err)
		}
		worlds = 1
	}
	sums := map[string]callCount{}
	total := uint64(0)
	for seed := first; seed < first+worlds && total < soakedCalls; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			h := newHost(t)
			references := []string{"", ""}
			if seed%10 == 1 {
				references = append(references, "1")
			}
			var outcomes []fuzzed
			for _, reference := range references {
				t.Setenv(native.ReferenceVariable, reference)
				outcomes = append(outcomes, f.run(t, seed))
			}
			for i, o := range outcomes[1:] {
				first := outcomes[0]
				if o.unrepeatable != first.unrepeatable {
					t.Errorf("run %d (reference %q) need not repeat because %q, and the first because %q", i+2, references[i+1], o.unrepeatable,
						first.unrepeatable)
				}
				if o.hash != first.hash && o.unrepeatable == "" && first.unrepeatable == "" {
					t.Errorf("the trace hash of run %d (reference %q) is %s, and of the first %s%s", i+2, references[i+1], o.hash, first.hash,
						differenceOf(first.events, o.events))
				}
			}
			for name, c := range outcomes[0].calls {
				sum := sums[name]
				sums[name] = callCount{sum.made + c.made, sum.succeeded + c.succeeded, c.refused}
				total += c.made
			}
			h.judge(t, nil)
		})
	}
	judgeCounts(t, sums, soak && !oneSeed)
	t.Logf("%d calls of %d kinds", total, len(sums))
}

// callCount counts the calls of one name. Refused are those that the engine refuses by design.
type callCount struct {
	made, succeeded uint64
	refused         bool
}

// judgeCounts checks that the fuzzer has met all of each call that it can meet. A few calls of each kind need not succeed; many do.
func judgeCounts(t *testing.T, sums map[string]callCount, many bool) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		c, never := sums[name], sums[name].refused || slices.Contains(fruitless, name)
		switch {
		case c.made == 0:
			t.Errorf("%s was never made", name)
		case never && c.succeeded > 0:
			t.Errorf("%s was made %d times and succeeded %d times, though it is listed as one that never does", name, c.made, c.succeeded)
		case many && !never && c.succeeded == 0:
			t.Errorf("%s was made %d times and never succeeded: draw better arguments in testdata/fuzz", name, c.made)
		case !never && c.succeeded == 0:
			t.Logf("%s was made %d times and never succeeded", name, c.made)
		}
	}
}

// compileGrammar compiles the fuzzer. Its addresses differ between runs on a machine, which the engine has to hide.
func compileGrammar(t *testing.T) (program string) {
	t.Helper()
	return compile(t, filepath.Join("testdata", "fuzz", "grammar.c"), "-static-pie", "-fPIE")
}

// differenceOf shows the first difference of the events of two runs, with those before it.
func differenceOf(a, b []string) string {
	const before = 12
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf(":\n%s\neither %s\nor     %s", strings.Join(a[max(0, i-before):i], "\n"), a[i], b[i])
		}
	}
	return ""
}

// fuzzing is a program that makes calls, and how many.
type fuzzing struct {
	program         string
	children, calls int // calls of each child
}

// fuzzed is the outcome of a world of the fuzzer.
type fuzzed struct {
	hash         string
	unrepeatable string // why the run need not repeat
	calls        map[string]callCount
	events       []string
}

// run runs a world in which the program makes the calls of a seed.
func (f fuzzing) run(t *testing.T, seed int) fuzzed {
	t.Helper()
	root := t.TempDir()
	if err := os.Link(f.program, filepath.Join(root, "calls")); err != nil {
		t.Fatal(err)
	}
	spec := aloneSpec(f.program)
	n := &spec.Nodes[0]
	n.Root, n.Command = root, []string{"/calls", fmt.Sprint(seed), fmt.Sprint(f.children), fmt.Sprint(f.calls)}
	n.Volumes = []world.Volume{{Kind: world.Named, Source: "work", Target: "/work"}}
	spec.MaxTimeNs, spec.Limits.Events, spec.Limits.MemoryBytes, spec.Limits.WallMs = 1e15, 1<<40, 64<<20, 120_000
	var printed []record.LogLine
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	heapBytes := uint64(0)
	var events []string
	out, err := engine.Run(native.New(), spec, tape.Tape{Seed: uint64(seed)}, engine.Options{
		Log: func(l record.LogLine) { printed = append(printed, l) },
		Observe: func(e *record.Event) {
			events = append(events, fmt.Sprintf("%+v", *e))
			if e.Number%4096 == 0 {
				metrics.Read(heap)
				heapBytes = max(heapBytes, heap[0].Value.Uint64())
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if out.Reason != record.Finished {
		t.Errorf("the world ended by %s %s", out.Reason, out.Detail)
	}
	// A program may do two things that the engine names instead of repeating them: it makes code, and it writes where only the engine should.
	if !out.Repeat.Reproducible && !strings.HasPrefix(out.Repeat.Reason, "/calls generated more code") &&
		!strings.HasSuffix(out.Repeat.Reason, "wrote to the page of virtual time") {
		t.Errorf("the run is not reproducible: %s", out.Repeat.Reason)
	}
	if heapBytes > maxFuzzHeap {
		t.Errorf("the engine had %d MiB in use, of %d", heapBytes>>20, maxFuzzHeap>>20)
	}
	lines := texts(printed, "stdout")
	if len(lines) == 0 || lines[len(lines)-1] != "done" {
		t.Fatalf("the program did not come to its end; the last events:\n%s", strings.Join(events[max(0, len(events)-12):], "\n"))
	}
	came := fuzzed{out.Hash, out.Repeat.Reason, map[string]callCount{}, events}
	for _, line := range lines {
		words := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "children: "):
			t.Logf("%d events, %d ms, up to %d MiB in use; %s %s", out.Events, out.WallNs/1e6, heapBytes>>20, line, out.Repeat.Reason)
		case len(words) >= 4 && words[0] == "call":
			made, _ := strconv.ParseUint(words[2], 10, 64)
			succeeded, _ := strconv.ParseUint(words[3], 10, 64)
			came.calls[words[1]] = callCount{made, succeeded, len(words) == 5}
		}
	}
	return came
}
