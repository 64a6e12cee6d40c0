//go:build linux && amd64

package native_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/metrics"
	"strconv"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Calls made at random break neither the engine nor the machine, and what they do repeats, under both ways of interception.
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
				if out.Reason != engine.Finished || !out.Repeat.Reproducible && !strings.HasSuffix(out.Repeat.Reason, "wrote to the page of virtual time") {
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

// Each call with its arguments at their limits, and what they mean for each other, in states that such calls have made: the engine
// answers all, in bounded memory, and again in the same way. With BLOODHOUND_SOAK there are ten million calls.
func TestGrammarOfCalls(t *testing.T) {
	needCompiler(t)
	program := compile(t, filepath.Join("testdata", "fuzz", "grammar.c"), "-static-pie", "-fPIE")
	worlds, children, calls := 2, 4, 2000
	if os.Getenv("BLOODHOUND_SOAK") != "" {
		worlds, children, calls = 100, 20, 5000
	}
	first := 1
	if seed := os.Getenv("BLOODHOUND_FUZZ_SEED"); seed != "" { // one world, to look closer
		first, _ = strconv.Atoi(seed)
		worlds = 1
	}
	if n, err := strconv.Atoi(os.Getenv("FZN")); err == nil {
		worlds, children, calls = n, 20, 5000
	}
	total := 0
	for seed := first; seed < first+worlds; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			h := newHost(t)
			var hashes []string
			for _, reference := range []string{"", "", "1"}[:2+boolInt(seed%10 == 1)] {
				t.Setenv(native.ReferenceVariable, reference)
				made, hash := fuzzed(t, program, seed, children, calls)
				if hashes = append(hashes, hash); len(hashes) == 1 {
					total += made
				}
			}
			for _, hash := range hashes[1:] {
				if hash != hashes[0] {
					t.Errorf("hashes of runs of one tape, the last of the reference: %v", hashes)
				}
			}
			h.judge(t, nil)
		})
	}
	t.Logf("%d calls", total)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// mostHeap is how much memory the engine may need for a world of the fuzzer, in bytes.
const mostHeap = 512 << 20

// fuzzed runs a world in which the program makes calls; it gives how many these were.
func fuzzed(t *testing.T, program string, seed, children, calls int) (made int, hash string) {
	t.Helper()
	root := t.TempDir()
	if err := os.Link(program, filepath.Join(root, "calls")); err != nil {
		t.Fatal(err)
	}
	spec := aloneSpec(program)
	n := &spec.Nodes[0]
	n.Root, n.Command = root, []string{"/calls", fmt.Sprint(seed), fmt.Sprint(children), fmt.Sprint(calls)}
	n.Volumes = []world.Volume{{Kind: world.Named, Source: "work", Target: "/work"}}
	spec.MaxTimeNs, spec.Limits.MemoryBytes, spec.Limits.WallMs = 1e15, 64<<20, 120_000
	spec.Limits.Events = 1 << 40
	var log []engine.LogLine
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	most := uint64(0)
	var ring []string
	out, err := engine.Run(native.New(), spec, tape.Tape{Seed: 1}, engine.Options{
		Log: func(l engine.LogLine) { log = append(log, l) },
		Observe: func(e *engine.Event) {
			if os.Getenv("FZ") != "" {
				ring = append(ring, fmt.Sprint(*e))
				if e.Call == "fault" {
					for _, r := range ring[max(0, len(ring)-12):] {
						t.Log(r)
					}
				}
				if len(ring) > 100 {
					ring = ring[50:]
				}
			}
			if e.Number%4096 == 0 {
				metrics.Read(heap)
				most = max(most, heap[0].Value.Uint64())
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if out.Reason != engine.Finished || !out.Repeat.Reproducible && !strings.HasPrefix(out.Repeat.Reason, "/calls has made more code") &&
		!strings.HasSuffix(out.Repeat.Reason, "wrote to the page of virtual time") {
		t.Errorf("the world ended by %s %s; reproducible=%v %s", out.Reason, out.Detail, out.Repeat.Reproducible, out.Repeat.Reason)
	}
	if most > mostHeap {
		t.Errorf("the engine had %d MiB of memory in use", most>>20)
	}
	if os.Getenv("FZ") != "" {
		t.Log(texts(log, "stderr"))
	}
	lines := texts(log, "stdout")
	if len(lines) == 0 || lines[len(lines)-1] != "done" {
		t.Fatalf("the program did not come to its end:\n%s", strings.Join(lines, "\n"))
	}
	for _, l := range lines {
		fmt.Sscanf(l, "calls %d", &made)
	}
	t.Logf("%d events, %d ms, up to %d MiB:\n%s", out.Events, out.WallNs/1e6, most>>20, strings.Join(lines, "\n"))
	return made, out.Hash
}
