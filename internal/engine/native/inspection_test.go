//go:build linux && amd64

package native

import (
	"bytes"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
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
	for stop := range uint64(40) { // as the nodes start, the director acts several times at one moment
		if _, err := w.Advance(engine.Until{Position: record.PositionAt(1 + stop)}); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	for stop := want.Events / 200; ; stop += want.Events / 200 {
		reason, err := w.Advance(engine.Until{Position: record.PositionAt(stop)})
		if err != nil {
			t.Fatal(err)
		}
		if reason != record.ReachedUntil {
			break
		}
		inspect(t, w, stop, seen)
	}
	for _, what := range []string{"a server that waits in accept4", "a child", "a file of the log", "the log's bytes",
		"the log among the changes", "a core file of threads", "a socket that listens", "a connection with its peer",
		"the program in memory", "threads of one process"} {
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
		i := slices.IndexFunc(registers, func(r record.Register) bool { return r.Name == "rip" })
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
		seen["a child"] = seen["a child"] || th.PPID > 0
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
	nodes, err := x.Nodes()
	if err != nil || len(nodes) != 3 || nodes[1].Name != "n2" || nodes[1].Addresses[0] != "10.77.0.11" || nodes[2].Status != "waiting" {
		t.Errorf("nodes %+v, %v", nodes, err)
	}
	tree, err := x.Tree("n2")
	if err != nil {
		t.Fatal(err)
	}
	if f, err := tree.Stat("/v/log"); err == nil {
		r, err := tree.Open("/v/../v/log")
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil || int64(len(b)) != f.Size || f.Rights != "-rw-r--r--" || f.MtimeNs < 1735689600e9 {
			t.Errorf("%q of %+v, %v", b, f, err)
		}
		changes, err := tree.Changes()
		if err != nil {
			t.Fatal(err)
		}
		seen["the log's bytes"] = seen["the log's bytes"] || strings.HasPrefix(string(b), "hello 0hello 1")
		seen["the log among the changes"] = seen["the log among the changes"] ||
			slices.ContainsFunc(changes, func(c engine.FileChange) bool { return c.Path == "/v/log" && c.Change == "new" })
	}
	if list, err := tree.List("/usr/bin"); err != nil ||
		!slices.ContainsFunc(list, func(f engine.File) bool { return f.Path == "/usr/bin/env" && f.Mode.IsRegular() }) {
		t.Errorf("%d names in /usr/bin, %v", len(list), err)
	}
	for name, says := range map[string]string{"/no-such": "no such file", "v/log": "absolute path",
		"/proc/self/maps": "generated for each reader", "/usr": "is a directory", "/dev/null": "not a regular file"} {
		if _, err := tree.Open(name); err == nil || !strings.Contains(err.Error(), "n2:"+name) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s was opened: %v", name, err)
		}
	}
	for key, n := range processes {
		node, number, _ := strings.Cut(key, " ")
		pid, _ := strconv.Atoi(number)
		if n == 1 || seen["a core file of threads"] {
			continue
		}
		if _, err := x.Core(node, pid, filepath.Join(t.TempDir(), "no-such", "core")); err == nil || !strings.Contains(err.Error(), "no such file") {
			t.Errorf("a core file in a folder that is not there: %v", err)
		}
		file := filepath.Join(t.TempDir(), "core")
		if left, err := x.Core(node, pid, file); left != "" || err != nil {
			t.Fatal(left, err)
		}
		gdb := exec.Command(needs.Program(t, "gdb"), "-nx", "-batch", "-ex", "info threads", "/usr/bin/python3", file)
		gdb.Env = append(gdb.Environ(), "DEBUGINFOD_URLS=")
		text, err := gdb.CombinedOutput()
		seen["a core file of threads"] = err == nil && strings.Count(string(text), "(LWP ") >= n
		if !seen["a core file of threads"] {
			t.Errorf("gdb does not show %d threads: %v\n%s", n, err, text)
		}
	}
	if _, err := x.Core("n1", 99999, filepath.Join(t.TempDir(), "core")); err == nil {
		t.Error("a process that is not there has a core file")
	}
	if _, err := x.Tree("nobody"); err == nil {
		t.Error("a node that is not there has files")
	}
	if _, err := x.Registers("n1", 99999); err == nil {
		t.Error("a thread that is not there has registers")
	}
	if _, err := x.Sockets("nobody"); err == nil {
		t.Error("a node that is not there has sockets")
	}
}
