//go:build linux && amd64

package native_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// takes are the ways to memory of testdata/limits/take.c.
var takes = []string{
	"populate", "populate executable", "populate shared", "locked", "madvise", "madvise beyond", "madvise shared", "populate file", "populate copies",
	"again", "remap", "mlockall", "huge", "fallocate", "read", "readv", "getrandom", "segment", "copies",
}

// oneCall are those that ask for all of it in a single call, which the real kernel would execute in one go.
var oneCall = []string{"populate", "populate executable", "populate shared", "locked", "madvise", "madvise beyond",
	"madvise shared", "populate file", "segment"}

// taken runs take.c to its end. It returns what it has written, and the memory that the world holds in the end.
func taken(t *testing.T, spec *world.Spec, options engine.Options) (log []string, out *record.Outcome, bytes int64) {
	t.Helper()
	logged := options.Log
	options.Log = func(l record.LogLine) {
		log = append(log, l.Text)
		if logged != nil {
			logged(l)
		}
	}
	w, err := native.New().Boot(spec, tape.Tape{Seed: 1}, options)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for {
		reason, err := w.Advance(engine.Until{})
		if err != nil {
			t.Fatal(err)
		}
		if reason.Ends() {
			return log, w.Outcome(), w.(engine.Sized).Bytes()
		}
	}
}

// A world takes little more of the machine's memory than it may, in whatever way its programs ask for it.
//
//ci:underway
func TestWorldMemoryBinds(t *testing.T) {
	const mib = 1 << 20
	program := compile(t, "testdata/limits/take.c")
	for _, way := range takes {
		t.Run(way, func(t *testing.T) {
			spec := aloneSpec(program, way)
			spec.Limits.WorldBytes, spec.Limits.SpinCPUMs = 256*mib, 60_000
			log, out, bytes := taken(t, spec, engine.Options{})
			if out.Reason != record.Limit || !strings.Contains(out.Detail, "world_memory_bytes") || slices.Contains(log, "all of it") {
				t.Errorf("it ended by %s: %s; the program wrote %q", out.Reason, out.Detail, log)
			}
			if slices.Contains(oneCall, way) && bytes > (256+64)*mib { // of others it depends on the machine's speed
				t.Errorf("the world holds %d MiB in the end, of 256 that it may take", bytes/mib)
			}
		})
	}
}

// A node's limit of memory binds before the world has taken four times as much.
//
//ci:underway
func TestNodeMemoryBindsInOneCall(t *testing.T) {
	const mib = 1 << 20
	program := compile(t, "testdata/limits/take.c")
	for _, way := range oneCall {
		t.Run(way, func(t *testing.T) {
			spec := aloneSpec(program, way)
			spec.Nodes[0].Bounds.MemoryBytes = 64 * mib
			spec.Limits.WorldBytes, spec.Limits.SpinCPUMs = 256*mib, 60_000
			var hash string
			for i := range 2 {
				log, out, _ := taken(t, spec, engine.Options{})
				if out.Reason != record.Finished || len(out.Crashes) != 1 || out.Crashes[0].Signal != "SIGKILL" || slices.Contains(log, "all of it") {
					t.Errorf("it ended by %s: %s; crashes %+v; the program wrote %q", out.Reason, out.Detail, out.Crashes, log)
				}
				if i > 0 && (out.Hash != hash || !out.Repeat.Reproducible) {
					t.Errorf("hash %s, and %s before; %s", out.Hash, hash, out.Repeat.Reason)
				}
				hash = out.Hash
			}
		})
	}
}

// An interrupted run ends before a call that takes long is over.
func TestInterruptEndsLongCalls(t *testing.T) {
	const mib = 1 << 20
	program := compile(t, "testdata/limits/take.c")
	for _, way := range oneCall {
		t.Run(way, func(t *testing.T) {
			spec := aloneSpec(program, way)
			spec.Limits.WorldBytes, spec.Limits.SpinCPUMs = 4096*mib, 60_000
			interrupt, closed := make(chan struct{}), false
			log, out, bytes := taken(t, spec, engine.Options{Interrupt: interrupt, Log: func(l record.LogLine) {
				if !closed {
					close(interrupt)
					closed = true
				}
			}})
			if out.Reason != record.Stopped || slices.Contains(log, "all of it") || bytes > 128*mib {
				t.Errorf("it ended by %s: %s, with %d MiB; the program wrote %q", out.Reason, out.Detail, bytes/mib, log)
			}
		})
	}
}
