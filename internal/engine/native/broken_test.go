//go:build linux && amd64

package native

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/linux"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// breakCall makes the handler of a system call panic, as one does that trusts a number of a program.
func breakCall(t *testing.T, nr int) {
	t.Helper()
	call := &linux.NewSystem().Calls[nr]
	sound := call.Handle
	t.Cleanup(func() { call.Handle = sound })
	call.Handle = outOfRange
}

func outOfRange(k *kernel.Kernel, t *kernel.Thread) kernel.Result {
	var actions [65]int
	return kernel.Result(actions[len(actions)+int(t.Call.Nr)-unix.SYS_SYNC])
}

// offspring are the processes whose parent is this one, with their states.
func offspring(t *testing.T) (list []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	self := os.Getpid()
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(rest)
		if len(fields) > 1 && fields[1] == strconv.Itoa(self) {
			list = append(list, string(text))
		}
	}
	return list
}

// scripted is a world of one node that executes lines of a shell, with other processes beside it.
func scripted(lines string) *world.Spec {
	return &world.Spec{Dir: "/", StartUnixNs: 1735689600e9, MaxTimeNs: 60e9, TimeStepNs: 10e6, Cost: world.Cost{CallNs: 1000, ClockReadNs: 50},
		Nodes: []world.Node{{Name: "n1", Role: world.Server, Hostname: "n1", IPv4: "10.77.0.10", Root: "host", WorkingDir: "/tmp",
			Env: []string{"PATH=/usr/bin:/bin"}, Command: []string{"/bin/sh", "-c", "sleep 50 & sleep 50 | cat & " + lines}}}}
}

// A handler that panics fails its run, with the call, the thread and the stack, and leaves no process behind. The world that it was
// copied from, which shares the tracer's thread, goes on as if nothing had happened.
func TestAPanicFailsOneRun(t *testing.T) {
	breakCall(t, unix.SYS_SYNC)
	spec := scripted("sleep 1; echo before; sync; echo behind")
	first, err := New().Boot(spec, tape.Tape{Seed: 1}, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if reason, err := first.Advance(engine.Until{TimeNs: 5e8}); reason != record.ReachedUntil || err != nil {
		t.Fatal(reason, err)
	}
	before := len(offspring(t))
	if before < 5 {
		t.Fatalf("%d processes: the world has not come far", before)
	}
	for range 2 { // of each copy, and of each kind of end
		w, err := first.Fork(spec, tape.Tape{Seed: 1}, engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.Advance(engine.Until{})
		var broken *engine.Broken
		if !errors.As(err, &broken) {
			t.Fatalf("a world with a broken handler gives %v", err)
		}
		for _, part := range []string{"the call sync(", ") of thread n1/0.", "of node n1, which executes /", "index out of range [65] with length 65",
			"native.outOfRange ", "broken_test.go:", "kernel.(*Kernel).attempt ", "native.(*World).advance "} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("the error lacks %q: %v", part, err)
			}
		}
		if again, err2 := w.Advance(engine.Until{}); err2 != err || again != "" {
			t.Errorf("after that, Advance gives %q, %v", again, err2)
		}
		if _, err := w.Fork(spec, tape.Tape{Seed: 1}, engine.Options{}); !errors.As(err, &broken) {
			t.Errorf("after that, Fork gives %v", err)
		}
		w.Outcome() // returns the facts so far, and does not break
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if left := offspring(t); len(left) != before {
			t.Errorf("%d processes, and before %d:\n%s", len(left), before, strings.Join(left, "\n"))
		}
	}
	if _, err := first.Advance(engine.Until{TimeNs: 9e8}); err != nil {
		t.Errorf("the original does not go on: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if left := offspring(t); len(left) > 0 {
		t.Errorf("processes are left:\n%s", strings.Join(left, "\n"))
	}
}

// A panic while a world boots, is copied, is asked something or sums up what happened is an error of that alone, and the world
// leaves no process behind.
func TestAPanicOutsideOfCalls(t *testing.T) {
	spec := scripted("sleep 1; echo done")
	system := linux.NewSystem()
	sound := system.Synth
	defer func() { system.Synth = sound }()
	unsound := func(*kernel.Kernel) fs.Synth { panic("unsound") }
	boot := func() *World {
		t.Helper()
		w, err := New().Boot(spec, tape.Tape{Seed: 1}, engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Advance(engine.Until{TimeNs: 5e8}); err != nil {
			t.Fatal(err)
		}
		return w.(*World)
	}
	for _, c := range []struct {
		name, says string
		do         func() (*World, error)
	}{
		{"boot", "unsound", func() (*World, error) {
			system.Synth = unsound
			_, err := New().Boot(spec, tape.Tape{Seed: 1}, engine.Options{})
			return nil, err
		}},
		{"copy", "unsound", func() (*World, error) {
			w := boot()
			system.Synth = unsound
			_, err := w.Fork(spec, tape.Tape{Seed: 1}, engine.Options{})
			return w, err
		}},
		{"question", "between the turns of threads after event ", func() (*World, error) {
			w := boot()
			w.kernel.Threads[-1] = nil
			x, err := w.Inspect()
			if err != nil {
				t.Fatal(err)
			}
			_, err = x.Threads()
			return w, err
		}},
		{"outcome", "between the turns of threads after event ", func() (w *World, err error) {
			w = boot()
			w.kernel.Procs[-1] = nil
			defer func() { err, _ = recover().(error) }()
			w.Outcome()
			return w, nil
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, err := c.do()
			system.Synth = sound
			var broken *engine.Broken
			if !errors.As(err, &broken) || !strings.Contains(err.Error(), c.says) || !strings.Contains(broken.Stack, ".go:") {
				t.Errorf("it gives %v", err)
			}
			if w != nil {
				if _, again := w.Advance(engine.Until{}); again != err {
					t.Errorf("after that, Advance gives %v", again)
				}
				w.Close()
			}
			if left := offspring(t); len(left) > 0 {
				t.Errorf("processes are left:\n%s", strings.Join(left, "\n"))
			}
		})
	}
}
