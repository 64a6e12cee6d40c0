//go:build linux && amd64

package native

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/coverage/code"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// end runs a world to its end.
func end(t *testing.T, w engine.World) *record.Outcome {
	t.Helper()
	if _, err := w.Advance(engine.Until{}); err != nil {
		t.Fatal(err)
	}
	out := *w.Outcome()
	out.WallNs, out.MemoryBytes = 0, 0
	return &out
}

// sameRun compares the outcomes of runs that must be one.
func sameRun(t *testing.T, what string, event uint64, got, want *record.Outcome) {
	t.Helper()
	if got.StrictHash != want.StrictHash || got.Hash != want.Hash {
		t.Errorf("forked at event %d, %s ends with %s at event %d (%s %s) and a run from boot with %s at event %d (%s)", event,
			what, got.Hash, got.Events, got.Reason, got.Detail, want.Hash, want.Events, want.Reason)
	} else if !reflect.DeepEqual(got, want) {
		t.Errorf("forked at event %d, %s gives\n%+v\nand a run from boot\n%+v", event, what, got, want)
	}
}

// forked forks a world at several events: there the copy, a copy of the copy and then the world itself run to their ends.
func forked(t *testing.T, spec *world.Spec, o engine.Options, times int) {
	t.Helper()
	want := play(t, spec, o, nil, nil)
	if want.Events < uint64(times) {
		t.Fatalf("the run has %d events", want.Events)
	}
	r := rand.New(rand.NewPCG(want.Events, 2))
	for i := range uint64(times) {
		event := want.Events*i/uint64(times) + 1 + r.Uint64N(want.Events/uint64(times))
		w, err := New().Boot(spec, tape.Tape{Seed: 7}, o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Advance(engine.Until{Position: record.PositionAt(event)}); err != nil {
			t.Fatal(err)
		}
		c, err := w.Fork(spec, tape.Tape{Seed: 7}, o)
		if err != nil {
			t.Fatalf("at event %d: %v", event, err)
		}
		cc, err := c.Fork(spec, tape.Tape{Seed: 7}, o)
		if err != nil {
			t.Fatalf("at event %d: %v", event, err)
		}
		sameRun(t, "the copy", event, end(t, c), want)
		c.Close()
		sameRun(t, "the world", event, end(t, w), want)
		w.Close()
		sameRun(t, "the copy of the copy", event, end(t, cc), want)
		cc.Close()
	}
}

// A copy of a world, a copy of that, and the world itself go on as a run from boot does.
func TestForkGoesOn(t *testing.T) {
	spec := busy()
	forked(t, spec, engine.Options{Behaviour: true, Draws: []string{"**"}}, 4)
}

// So it is with programs whose blocks are watched.
func TestForkOfWatchedCode(t *testing.T) {
	forked(t, busy(), engine.Options{Behaviour: true, Code: &code.Watch{Choice: code.Choice{"*"}}}, 2)
}

// alone is a world of one node that runs a program of testdata/fork.
func alone(t *testing.T, name string) *world.Spec {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command(needs.Program(t, "gcc"), "-O1", "-pthread", "-w", "-o", dir+"/"+name, "testdata/fork/"+name+".c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return aloneSpec(dir, dir+"/"+name)
}

// aloneSpec is a world of one node that runs a command and has a folder of this machine.
func aloneSpec(dir string, command ...string) *world.Spec {
	return &world.Spec{Dir: dir, StartUnixNs: 1735689600e9, MaxTimeNs: 10e9, TimeStepNs: 10e6, Cost: world.Cost{CallNs: 1000, ClockReadNs: 50},
		Sched: world.Sched{PreemptPPM: 300_000},
		Nodes: []world.Node{{Name: "n1", Role: world.Server, Hostname: "n1", IPv4: "10.77.0.10", Root: "host", WorkingDir: "/tmp", Command: command,
			Volumes: []world.Volume{{Kind: world.Bind, Source: dir, Target: dir}}}}}
}

// The frames of signals in a copy are those of the original, to the last byte.
func TestForkOfFrames(t *testing.T) {
	forked(t, alone(t, "frames"), engine.Options{}, 6)
}

// Eight threads that wait in a futex, an epoll, a sleep and a pipe, with registers of the extended state in use, an alternate
// stack, a pending signal and a robust mutex, are copied fifty times, in both modes. Each copy continues as the original. So do a process and
// its child of vfork.
func TestForkOfThreads(t *testing.T) {
	for _, c := range []struct {
		program, mode string
		lines         int
	}{{"threads", "", 11}, {"threads", "reference", 11}, {"vfork", "", 1}, {"vfork", "reference", 1}} {
		t.Run(c.program+" "+c.mode, func(t *testing.T) {
			t.Setenv(ReferenceVariable, c.mode)
			spec := alone(t, c.program)
			want := play(t, spec, engine.Options{}, nil, nil)
			fine := 0
			for _, l := range want.Log {
				if strings.Contains(l.Text, "is as it was") {
					fine++
				}
				if strings.Contains(l.Text, "CHANGED") {
					t.Error(l.Text)
				}
			}
			if fine != c.lines {
				t.Fatalf("%d of %d lines: %+v", fine, c.lines, want.Log)
			}
			r := rand.New(rand.NewPCG(3, 4))
			var stops []uint64
			for i := range uint64(50) {
				stops = append(stops, want.Events*i/50+1+r.Uint64N(max(want.Events/50, 1)))
			}
			got := play(t, spec, engine.Options{}, stops, func(w *World) {
				c, err := w.Fork(spec, tape.Tape{Seed: 7}, engine.Options{})
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				sameRun(t, "the copy", w.kernel.Events, end(t, c), want)
			})
			sameRun(t, "the world", want.Events, got, want)
		})
	}
}

// A world that stops before the end of setup goes on as one that does not, and so do copies of it with other seeds from there on.
func TestForkBeforeDriversStart(t *testing.T) {
	spec := busy()
	boot := func(tp tape.Tape) engine.World {
		w, err := New().Boot(spec, tp, engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { w.Close() })
		return w
	}
	own := tape.Tape{Seed: 7}
	w := boot(own)
	if reason, err := w.Advance(engine.Until{Ready: true}); err != nil || reason != record.Ready || w.Outcome().ReadyNs != 0 {
		t.Fatalf("%s %v, ready at %d", reason, err, w.Outcome().ReadyNs)
	}
	for seed := range uint64(3) {
		tp := tape.FromReady(7, seed)
		c, err := w.Fork(spec, tp, engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		event := c.Outcome().Events
		sameRun(t, "the copy", event, end(t, c), end(t, boot(tp)))
		c.Close()
	}
	if _, err := w.Fork(spec, tape.Tape{Seed: 8}, engine.Options{}); err == nil {
		t.Error("a copy goes on with a tape of another seed")
	}
	sameRun(t, "the world", w.Outcome().Events, end(t, w), end(t, boot(own)))
}

// Copies leave no process, descriptor, memfd or goroutine behind, also if the world that they come from is closed first.
func TestForksLeaveNothing(t *testing.T) {
	times := 60
	if os.Getenv("BLOODHOUND_SOAK") != "" {
		times = 10_000
	}
	spec := busy()
	w, err := New().Boot(spec, tape.Tape{Seed: 7}, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.Advance(engine.Until{Position: record.PositionAt(2500)}); err != nil {
		t.Fatal(err)
	}
	fork := func(w engine.World) engine.World {
		c, err := w.Fork(spec, tape.Tape{Seed: 7}, engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	fork(w).Close() // what is made once, such as the signal handler of the loop, is there now
	before := held(t)
	for i := range times {
		c := fork(w)
		if i%10 == 0 {
			if _, err := c.Advance(engine.Until{Position: record.PositionAt(2600)}); err != nil {
				t.Fatal(err)
			}
		}
		c.Close()
	}
	if after := held(t); after != before {
		t.Errorf("after %d copies there are %+v, and before %+v", times, after, before)
	}
	one := fork(w)
	two := fork(one)
	w.Close()
	one.Close()
	sameRun(t, "a copy whose original is closed", 2500, end(t, two), play(t, spec, engine.Options{}, nil, nil))
	two.Close()
	if after := held(t); after.processes != 0 {
		t.Errorf("%d processes are left", after.processes)
	}
}

type holding struct{ descriptors, processes, goroutines int }

// held counts the descriptors, processes and goroutines of this process. A goroutine that was told to end may take a
// moment.
func held(t *testing.T) (h holding) {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	h.descriptors = len(files)
	tasks, _ := filepath.Glob("/proc/self/task/*/children")
	for _, task := range tasks {
		b, _ := os.ReadFile(task)
		h.processes += len(strings.Fields(string(b)))
	}
	for range 100 {
		if n := runtime.NumGoroutine(); n != h.goroutines {
			h.goroutines = n
			time.Sleep(time.Millisecond) // until the number stays: nothing tells of a goroutine's end
		}
	}
	return h
}

// A world in which a fork would not copy all memory is not copied, and goes on.
func TestForkOfUnforkedMemory(t *testing.T) {
	spec := alone(t, "unforked")
	want := play(t, spec, engine.Options{}, nil, nil)
	if len(want.Log) != 1 || want.Log[0].Text != "its memory is as it was" {
		t.Fatalf("%+v", want.Log)
	}
	got := play(t, spec, engine.Options{}, []uint64{want.Events - 8}, func(w *World) {
		c, err := w.Fork(spec, tape.Tape{Seed: 7}, engine.Options{})
		if err == nil {
			c.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "MADV_WIPEONFORK") {
			t.Errorf("the copy of a world with memory that a fork clears: %v", err)
		}
	})
	sameRun(t, "the world", want.Events, got, want)
}

// What the processes of a world share with those of another one counts in parts, and as the world's alone when the other one has ended.
func TestBytesOfCopies(t *testing.T) {
	const mib = 1 << 20
	python := needs.Program(t, "/usr/bin/python3")
	spec := aloneSpec(t.TempDir(), python, "-c", "import time; held = b'x' * (64 << 20); open('/tmp/file', 'wb').write(held[:16 << 20]); time.sleep(1)")
	w, err := New().Boot(spec, tape.Tape{Seed: 7}, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.Advance(engine.Until{TimeNs: 5e8}); err != nil {
		t.Fatal(err)
	}
	var copies []engine.World
	for range 2 {
		c, err := w.Fork(spec, tape.Tape{Seed: 7}, engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		copies = append(copies, c)
	}
	for worlds := int64(3); worlds > 0; worlds-- {
		of := copies[len(copies)-1]
		if got, least := of.(*World).Bytes(), 80*mib/worlds; got < least || got > least+24*mib {
			t.Errorf("one of %d worlds that share 80 MiB has %d MiB", worlds, got/mib)
		}
		if worlds == 3 {
			w.Close()
		} else {
			copies[0].Close()
		}
	}
}
