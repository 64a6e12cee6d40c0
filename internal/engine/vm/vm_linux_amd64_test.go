package vm

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/vm/wire"
	"github.com/bloodhound-dst/bloodhound/internal/filedigest"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// program builds bloodhound, which is the guest's agent.
func program(t *testing.T) engine.Options {
	t.Helper()
	if testing.Short() {
		t.Skip("a virtual machine takes seconds to boot")
	}
	needs.Program(t, "qemu-system-x86_64")
	if _, err := findKernel(); err != nil {
		needs.Missing(t, "a kernel for virtual machines", err)
	}
	self, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return engine.Options{Driver: self}
}

// programs is a folder that exists while tests run.
var programs string

var built = sync.OnceValues(func() (string, error) {
	if self := os.Getenv("BLOODHOUND_TEST_PROGRAM"); self != "" {
		return self, nil
	}
	self := filepath.Join(programs, "bloodhound")
	out, err := exec.Command("go", "build", "-ldflags=-w", "-o", self, "../../../cmd/bloodhound").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("go build: %w\n%s", err, out)
	}
	return self, err
})

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "bloodhound-vm-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		programs = dir
		return m.Run()
	}())
}

// pair is a world of a server and a client that sends it packets.
func pair(t *testing.T) *world.Spec {
	return &world.Spec{Name: "pair", Engine: world.VM, Dir: t.TempDir(), StartUnixNs: 1767225600e9, MaxTimeNs: 3e9, TimeStepNs: 50e6,
		DefaultLink: world.Link{LatencyNs: 500e3, JitterNs: 100e3}, Limits: world.Limits{WorldBytes: 512 << 20},
		Faults: world.Faults{StopNs: 1500e6, SettleNs: 100e6},
		Nodes: []world.Node{
			{Name: "n1", Hostname: "n1", Role: world.Server, IPv4: "10.77.0.10", Root: world.HostRoot,
				Command: []string{"/bin/sh", "-c", "date; head -c 8 /dev/urandom | od -An -tx1; hostname; ls /tmp; while sleep 0.3; do date +%s.%N; done"}},
			{Name: "load", Hostname: "load", Role: world.Client, IPv4: "10.77.0.11", Root: world.HostRoot},
		}}
}

func run(t *testing.T, w engine.World) *record.Outcome {
	t.Helper()
	reason, err := w.Advance(engine.Until{})
	if err != nil {
		t.Fatal(err)
	}
	out := *w.Outcome()
	if out.Reason = reason; reason != record.Finished {
		t.Errorf("the run ends by %s: %s", reason, out.Detail)
	}
	return &out
}

func lines(out *record.Outcome) string {
	var b strings.Builder
	for _, l := range out.Log {
		b.WriteString(l.Node + " " + l.Text + "\n")
	}
	return b.String()
}

// disturb has QEMU's main thread wake up again and again, at moments of this machine's time, until the virtual machine ends.
func disturb(q *monitor) {
	for q.send("query-status", nil) == nil {
		time.Sleep(100 * time.Microsecond) // any moment will do
	}
}

// A world runs in a virtual machine, and a copy of it at the end of setup goes on as the world itself does. Another tape from there on gives
// other random numbers, and so another run. When QEMU's main thread wakes up makes no difference.
//
//ci:series
func TestCopiesGoOnAsTheWorld(t *testing.T) {
	o := program(t)
	w, err := New().Boot(pair(t), tape.Tape{Seed: 1}, o)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if reason, err := w.Advance(engine.Until{Ready: true}); err != nil || reason != record.Ready {
		t.Fatal(reason, err)
	}
	spec := w.(*World).spec
	var copies []engine.World
	for _, seed := range []uint64{1, 2} {
		tp := tape.Tape{Seed: 1}
		if seed != 1 {
			tp = tape.FromReady(1, seed)
		}
		c, err := w.Fork(spec, tp, o)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		copies = append(copies, c)
	}
	if reason, err := w.Advance(engine.Until{TimeNs: 800e6}); err != nil || reason != record.ReachedUntil {
		t.Fatal(reason, err)
	}
	later, err := w.Fork(spec, tape.Tape{Seed: 1}, o)
	if err != nil {
		t.Fatal(err)
	}
	defer later.Close()
	own := run(t, w)
	if err := later.(*World).wake(); err != nil {
		t.Fatal(err)
	}
	go disturb(later.(*World).machine.mon)
	if out := run(t, later); out.Hash != own.Hash || lines(out) != lines(own) {
		t.Errorf("a copy of a world that runs goes on otherwise:\n%s\n%s", lines(own), lines(out))
	}
	if text := lines(own); !strings.Contains(text, "n1 Thu Jan  1 00:00:0") || !strings.Contains(text, "n1 n1\n") || !strings.Contains(text, "n1 1767225600.") {
		t.Errorf("the log is\n%s", text)
	}
	same, other := run(t, copies[0]), run(t, copies[1])
	if same.Hash != own.Hash || lines(same) != lines(own) {
		t.Errorf("a copy goes on otherwise:\n%s\n%s", lines(own), lines(same))
	}
	if other.Hash == own.Hash {
		t.Error("another tape makes the same run")
	}
}

// A loss of power takes what was not synchronised, and what lies in memory. The node goes on with its network and the rest of its disk.
func TestPowerLoss(t *testing.T) {
	o := program(t)
	needs.Program(t, "mke2fs")
	spec := pair(t)
	spec.MaxTimeNs, spec.Faults.StopNs = 10e9, 4e9
	spec.Faults.Enabled = true
	spec.Faults.Rules = []world.FaultRule{{Kind: "power_loss", RatePPM: 1e6, Targets: []string{"n1"}, When: "time_s > 0.5",
		Max: 1, MinNs: 300e6, MaxNs: 300e6, ByUser: true}}
	spec.Nodes[0].Command[2] = `mkdir -p /data; echo begins; cat /data/kept /data/lost 2>&1; ls /tmp; echo synchronised > /data/kept; sync /data/kept /data; echo gone > /data/lost; touch /tmp/gone; while sleep 0.2; do head -c 3 /data/kept >/dev/null; done`
	w, err := New().Boot(spec, tape.Tape{Seed: 1}, o)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if reason, err := w.Advance(engine.Until{Ready: true}); err != nil || reason != record.Ready {
		t.Fatal(reason, err)
	}
	const missing = "n1 cat: /data/lost: No such file or directory\n"
	for journal, found := range []string{missing, ""} { // the tape decides whether the file's name was written before
		c, err := w.Fork(spec, tape.Tape{Seed: 1, Edits: []tape.Edit{{Op: tape.Set, Stream: "disk/n1/1/journal", From: 0, Value: uint64(journal)}}}, o)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		out := run(t, c)
		text := lines(out)
		first, again, _ := strings.Cut(strings.TrimPrefix(text, "n1 begins\n"), "n1 begins\n")
		if !strings.HasPrefix(first, "n1 cat: /data/kept: No such file or directory\n"+missing) ||
			!strings.HasPrefix(again, "n1 synchronised\n"+found) || found == "" && strings.Contains(again, missing) ||
			strings.Contains(again, "gone") || strings.Contains(again, "begins") {
			t.Errorf("the log is\n%s", text)
		}
		if e := out.Ledger.Entries; len(e) != 1 || e[0].Observed != 1 {
			t.Errorf("the ledger has %+v", e)
		}
	}
}

// A guest that panics, since it has no memory left, or hangs, and a QEMU that is killed, are errors that name the remedy.
func TestGuestsThatFail(t *testing.T) {
	o := program(t)
	spec := pair(t)
	spec.Limits.WorldBytes, spec.MaxTimeNs, spec.Faults.StopNs = leastBytes, 9e9, 8e9
	spec.Nodes[0].Command[2] = "sleep 1; cat /dev/zero > /tmp/file"
	w, err := New().Boot(spec, tape.Tape{Seed: 1}, o)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if reason, err := w.Advance(engine.Until{Ready: true}); err != nil || reason != record.Ready {
		t.Fatal(reason, err)
	}
	copied := func() *World {
		c, err := w.Fork(spec, tape.Tape{Seed: 1}, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if err := c.(*World).wake(); err != nil {
			t.Fatal(err)
		}
		return c.(*World)
	}
	killed, stopped := copied(), copied()
	killed.machine.cmd.Process.Kill()
	stopped.machine.hang = 2 * time.Second
	stopped.machine.cmd.Process.Signal(syscall.SIGSTOP)
	for _, c := range []struct {
		name  string
		w     engine.World
		wants []string
	}{
		{"no memory", w, []string{"has used up its", "Kernel panic - not syncing: Out of memory", "world_memory_bytes"}},
		{"a kill", killed, []string{`the signal "killed"`, "use fewer --workers"}},
		{"a hang", stopped, []string{"did not respond for 2s", "use fewer --workers"}},
	} {
		_, err := c.w.Advance(engine.Until{})
		if err == nil {
			t.Errorf("%s goes unnoticed", c.name)
			continue
		}
		for _, want := range c.wants {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v; want %q", c.name, err, want)
			}
		}
	}
}

// A world in real time can be looked at, paused and harmed from outside. Its run counts as observed once.
func TestOrders(t *testing.T) {
	o := program(t)
	socket := filepath.Join(t.TempDir(), SocketName)
	if _, err := Ask(socket, Request{Do: AskStatus}); err == nil || !strings.Contains(err.Error(), "run --engine vm --async-vm") {
		t.Errorf("without a world: %v", err)
	}
	t.Setenv(AsyncVariable, socket)
	spec := pair(t)
	spec.Faults.StopNs, spec.MaxTimeNs = 30e9, 60e9
	stop := make(chan struct{})
	o.Interrupt = stop
	w, err := New().Boot(spec, tape.Tape{Seed: 1}, o)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ended := make(chan error)
	go func() {
		reason, err := w.Advance(engine.Until{})
		if err == nil && reason != record.Stopped {
			err = fmt.Errorf("the run ends by %s", reason)
		}
		ended <- err
	}()
	order := func(r Request) *Status {
		t.Helper()
		for began := time.Now(); ; time.Sleep(20 * time.Millisecond) { // the socket is there as soon as the world runs
			s, err := Ask(socket, r)
			if err == nil {
				return s
			}
			if time.Since(began) > time.Minute {
				t.Fatal(err)
			}
		}
	}
	until := func(what string, is func(*Status) bool) {
		t.Helper()
		for began := time.Now(); !is(order(Request{Do: AskStatus})); {
			if time.Since(began) > time.Minute {
				t.Fatalf("never %s: %+v", what, order(Request{Do: AskStatus}))
			}
		}
	}
	until("in chaos", func(s *Status) bool { return s.Phase == "chaos" })
	first := order(Request{Do: Pause})
	if again := order(Request{Do: AskStatus}); !again.Paused || again.VirtualNs != first.VirtualNs {
		t.Errorf("a paused world goes on: %+v, then %+v", first, again)
	}
	for rule, want := range map[string]string{"crash": "add the target", "crash on n9": "unknown node or link",
		"clock_skew on n1": "does not inject clock_skew; it injects partition", "crash on n1 at fsync": "leave out its moment",
		"sneeze on n1":               "unknown kind of fault",
		"crash on n1 when event > 5": "can begin now"} {
		if _, err := Ask(socket, Request{Do: Inject, Fault: rule}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", rule, err, want)
		}
	}
	s := order(Request{Do: Inject, Fault: "crash on n1 for 300ms"})
	if len(s.Faults) != 1 || s.Faults[0].EndNs != first.VirtualNs+300e6 || s.Nodes[0].State != "down" {
		t.Errorf("a crash by hand: %+v", s)
	}
	order(Request{Do: Resume})
	until("up again", func(s *Status) bool { return len(s.Faults) == 0 && s.Nodes[0].State == "runs" })
	close(stop)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if out := w.Outcome(); !out.Repeat.Once || len(out.Ledger.Entries) == 0 {
		t.Errorf("the run counts as %+v", out.Repeat)
	}
}

// What a machine lacks is said with the remedy.
func TestLacks(t *testing.T) {
	dir := t.TempDir()
	script := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	folder := func(name string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	folder("boot")
	kernelFile := script("boot/vmlinuz-9.9-test", "")
	for _, c := range []struct{ name, value, want string }{
		{QEMUVariable, "/no/such/qemu", "there is no /no/such/qemu; install it"},
		{QEMUVariable, script("true", "true"), "is not QEMU"},
		{QEMUVariable, script("old", "echo QEMU emulator version 5.2.0"), "is QEMU 5.2, and the engine vm needs 7.2 or later"},
		{KernelVariable, "/no/such/vmlinuz-1", "no such file or directory; give a file vmlinuz-VERSION with --kernel"},
		{KernelVariable, kernelFile, "has no modules: there is no folder lib/modules/9.9-test"},
	} {
		t.Setenv(QEMUVariable, "")
		t.Setenv(KernelVariable, "")
		t.Setenv(c.name, c.value)
		var err error
		if c.name == QEMUVariable {
			_, err = findQEMU()
		} else {
			var k *kernel
			if k, err = findKernel(); err == nil {
				_, err = k.load()
			}
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s=%s: %v; want %q", c.name, c.value, err, c.want)
		}
	}
	if isKernel(kernelFile) || isKernel(dir) {
		t.Error("a script and a folder are kernels")
	}
	t.Setenv(RootVariable, kernelFile)
	if _, err := (&Engine{}).prepare(""); err == nil || !strings.Contains(err.Error(), "is not a folder; give one with --base-image") {
		t.Errorf("a file as the files of nodes: %v", err)
	}
	t.Setenv(RootVariable, "")
	folder("lib/modules/9.9-test")
	if _, err := kernelOf(kernelFile).load(); err == nil || !strings.Contains(err.Error(), "lacks the module fuse") {
		t.Errorf("a kernel without modules: %v", err)
	}
	script("lib/modules/9.9-test/fuse.ko.xz", "")
	if _, err := kernelOf(kernelFile).load(); err == nil || !strings.Contains(err.Error(), "is compressed") {
		t.Errorf("a kernel with compressed modules: %v", err)
	}
	t.Setenv(QEMUVariable, script("new", "echo QEMU emulator version 8.0.0"))
	t.Setenv("PATH", dir)
	if _, err := newRecording(); err == nil || !strings.Contains(err.Error(), "qemu-img, which is not installed; install it (apt-get install qemu-utils)") {
		t.Errorf("a machine without qemu-img: %v", err)
	}
	t.Setenv(KernelVariable, kernelFile)
	if checks := New().Doctor(); checks[1].OK || checks[1].Remedy == "" {
		t.Errorf("the doctor finds %+v", checks)
	}
}

// A fault that a user wrote and that this engine does not have is a mistake. One of a preset is left out.
func TestFaultsThatItDoesNotHave(t *testing.T) {
	spec := pair(t)
	spec.Faults.Enabled = true
	spec.Faults.Rules = []world.FaultRule{{Kind: "partition", RatePPM: 1}, {Kind: "clock_skew", RatePPM: 1}}
	if err := New().Validate(spec, engine.Options{}); err != nil {
		t.Errorf("a preset is refused: %v", err)
	}
	left, warnings := capabilities.Supported(spec)
	if left.Faults.Rules[0].RatePPM != 1 || left.Faults.Rules[1].RatePPM != 0 || len(warnings) != 1 || !strings.Contains(warnings[0], "clock_skew") {
		t.Errorf("%+v %q", left.Faults.Rules, warnings)
	}
	spec.Faults.Rules[1].ByUser = true
	if err := New().Validate(spec, engine.Options{}); err == nil || !strings.Contains(err.Error(), "the engine vm does not inject clock_skew") {
		t.Errorf("a rule of a user: %v", err)
	}
	spec.Faults.Rules[1].ByUser, spec.Sched.CPUs = false, 4
	if why := Refuses(spec); !strings.Contains(why, "the engine vm does not support simulation.cpus") {
		t.Errorf("what it refuses is %q", why)
	}
	spec.Faults.Rules[1].ByUser, spec.Sched.CPUs = true, 0
	if why := Refuses(spec); !strings.Contains(why, "the engine vm does not inject clock_skew") || strings.Contains(why, "\n") {
		t.Errorf("what it refuses is %q", why)
	}
}

// Where a virtual machine goes backward, a bell breaks off anywhere, and another begins, or goes on behind its beginning.
func TestBellsThatBreakOff(t *testing.T) {
	ring := func(table uint64) []byte {
		b := make([]byte, wire.BellBytes)
		copy(b, wire.Magic[:])
		binary.LittleEndian.PutUint64(b[8:], table)
		return b
	}
	const first, second = 0x3f7000, 0x1234000
	for off := range wire.BellBytes + 1 {
		r := bellReader{most: 1 << 32}
		var got []uint64
		var said []byte
		said = append(said, ring(first)[:off]...)
		said = append(said, ring(second)...)
		said = append(said, ring(second)[wire.HeadBytes+off%80:]...)
		said = append(said, ring(first)...)
		for _, c := range said {
			if table, rung := r.readByte(c); rung {
				got = append(got, table)
			}
		}
		want := []uint64{second, first}
		if off >= wire.HeadBytes {
			want = []uint64{first, second, first}
		}
		if !slices.Equal(got, want) {
			t.Errorf("a bell that breaks off after %d bytes: got tables %#x, want %#x", off, got, want)
		}
	}
}

// A run knows the files of this machine that it is made of: kernel, QEMU, what the guest read, and the names in folders that it listed. What has
// changed before another run is named.
func TestFilesOfRuns(t *testing.T) {
	dir := t.TempDir()
	data, folder := filepath.Join(dir, "data"), filepath.Join(dir, "folder")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	write(data, "one")
	write(filepath.Join(folder, "a"), "")
	files := func() map[string]string {
		t.Helper()
		spec := pair(t)
		spec.Nodes = spec.Nodes[:1]
		spec.Nodes[0].Command = []string{"/bin/sh", "-c", "cat /given/data; ls /given/folder; sleep 60"}
		spec.Nodes[0].Volumes = []world.Volume{{Kind: world.Bind, Source: dir, Target: "/given"}}
		w, err := New().Boot(spec, tape.Tape{Seed: 1}, program(t))
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		out := run(t, w)
		if text := lines(out); !strings.Contains(text, "a\n") {
			t.Fatalf("the log is\n%s", text)
		}
		return out.Files
	}
	before := files()
	for _, name := range append([]string{data, "/bin/sh"}, New().files...) {
		real, err := filepath.EvalSymlinks(name)
		if err != nil {
			t.Fatal(err)
		}
		if sum := cmp.Or(before[name], before[real]); len(sum) != 64 {
			t.Errorf("%s has no digest: %q", name, sum)
		}
	}
	if names := before[folder+"/"]; names != "a" {
		t.Errorf("the folder has %q", names)
	}
	write(data, "two")
	write(filepath.Join(folder, "b"), "")
	changed, perhaps := filedigest.Changes(before, files())
	want := []string{data + " has changed", "the folder " + folder + "/ has changed: b added; the run lists the names in it"}
	if !slices.Equal(changed, want) || len(perhaps) > 0 {
		t.Errorf("changed %q, perhaps %q; want %q", changed, perhaps, want)
	}
}
