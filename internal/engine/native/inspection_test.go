//go:build linux && amd64

package native

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// What a debugger asks a stopped world: which threads wait in which call, what is in registers and memory, which files
// and sockets are open. The run continues as without the questions.
func TestAStoppedWorldCanBeInspected(t *testing.T) {
	spec := busy()
	spec.Faults = world.Faults{} // which would keep the nodes from talking
	want := play(t, spec, engine.Options{}, nil, nil)
	w, err := New().Boot(spec, tape.Tape{Seed: 7}, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	seen := map[string]bool{}
	for stop := want.Events / 200; ; stop += want.Events / 200 {
		reason, err := w.Advance(engine.Until{Position: engine.At(stop)})
		if err != nil {
			t.Fatal(err)
		}
		if reason != engine.ReachedUntil {
			break
		}
		inspect(t, w, stop, seen)
	}
	for _, what := range []string{"a server that waits in accept4", "a file of the log", "a socket that listens", "a connection with its peer", "the program in memory", "threads of one process"} {
		if !seen[what] {
			t.Errorf("never seen: %s", what)
		}
	}
	if got := w.Outcome(); got.Hash != want.Hash || got.StrictHash != want.StrictHash {
		t.Errorf("trace hash %s with questions, %s without", got.Hash, want.Hash)
	}
	w.Close()
	if _, err := w.Inspect(); err == nil {
		t.Error("a closed world can be inspected")
	}
}

// inspect asks all questions, and records in seen what the answers had.
func inspect(t *testing.T, w engine.World, at uint64, seen map[string]bool) {
	t.Helper()
	x, err := w.Inspect()
	if err != nil {
		t.Fatal(err)
	}
	if p := x.Position(); p.Event < at || p.Within != 0 {
		t.Errorf("stopped at %+v, asked for event %d", p, at)
	}
	threads, err := x.Threads()
	if err != nil {
		t.Fatal(err)
	}
	processes := map[string]int{}
	for _, th := range threads {
		registers, err := x.Registers(th.Node, th.TID)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(registers, func(r engine.Register) bool { return r.Name == "rip" })
		rip, err := strconv.ParseUint(strings.TrimPrefix(registers[i].Value, "0x"), 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		code, err := x.Memory(th.Node, th.PID, rip-2, 2)
		if err != nil {
			t.Fatal(err)
		}
		if th.Call != "" && !bytes.Equal(code, []byte{0x0f, 0x05}) { // syscall
			t.Errorf("%+v waits in a call, and the instruction before %#x is % x", th, rip, code)
		}
		seen["the program in memory"] = seen["the program in memory"] || len(code) == 2
		seen["a server that waits in accept4"] = seen["a server that waits in accept4"] || th.Call == "accept4"
		key := th.Node + " " + strconv.Itoa(th.PID)
		processes[key]++
		seen["threads of one process"] = seen["threads of one process"] || processes[key] > 1
		files, err := x.Files(th.Node, th.PID)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if f.Path == "/v/log" && f.Object == "file" && f.FD > 2 {
				seen["a file of the log"] = true
			}
		}
	}
	for _, node := range []string{"n1", "n2"} {
		sockets, err := x.Sockets(node)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range sockets {
			switch {
			case s.State == "LISTEN" && s.Object == "tcp" && s.Local == "0.0.0.0:7000" && s.Remote == "" && node == "n1":
				seen["a socket that listens"] = true
			case s.State == "ESTAB" && s.Remote == "10.77.0.10:7000" && node == "n2":
				seen["a connection with its peer"] = true
			}
		}
	}
	if _, err := x.Registers("n1", 99999); err == nil {
		t.Error("a thread that is not there has registers")
	}
	if _, err := x.Sockets("nobody"); err == nil {
		t.Error("a node that is not there has sockets")
	}
}
