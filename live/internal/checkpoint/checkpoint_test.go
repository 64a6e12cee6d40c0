//go:build linux && amd64

package checkpoint

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// service builds the program of testdata with the overlay.
func service(t *testing.T) string {
	t.Helper()
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path, text, err := Overlay(strings.TrimSpace(string(goroot)), runtime.Version())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "fork.go")
	if err := os.WriteFile(file, text, 0o666); err != nil {
		t.Fatal(err)
	}
	overlay, _ := json.Marshal(map[string]any{"Replace": map[string]string{path: file}})
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o666); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "service")
	out, err := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-tags", Tag, "-o", program, "./testdata/service").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// line is a line of the service's output about an explorer, or at its end.
type line struct {
	Input       string
	Status      Status
	ResultBytes int `json:"result_bytes"`
	Log         string
	Faults      int
	PauseUs     int64 `json:"pause_us"`
	SameTable   bool  `json:"same_table"`
	Before      bool
	Answer      struct{ Errors map[string]string }
	Received    *string
	FileBytes   *int `json:"file_bytes"`
	Shared      string
}

func run(t *testing.T, program string, args ...string) (list []line) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	d := json.NewDecoder(strings.NewReader(string(out)))
	for d.More() {
		var l line
		if err := d.Decode(&l); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		list = append(list, l)
	}
	return list
}

// Whatever a copy does, it ends, says how, and reaches nothing of the live process or of others.
func TestCopiesAreShutIn(t *testing.T) {
	list := run(t, service(t), "loop", "block", "crash", "overflow", "exit", "much", "recover")
	wanted := []struct {
		status Status
		bytes  int
		log    string
	}{{Stuck, 0, ""}, {Stuck, 0, ""}, {Crashed, 0, "assignment to entry in nil map"}, {Crashed, 0, "stack overflow"},
		{Crashed, 0, ""}, {Done, 8 << 20, ""}, {Done, 9, ""}}
	for i, w := range wanted {
		if l := &list[i]; l.Status != w.status || l.ResultBytes != w.bytes || !strings.Contains(l.Log, w.log) {
			t.Errorf("%+v instead of %+v", l, w)
		}
	}
	l := &list[len(wanted)]
	if l.Status != Done || !l.SameTable || !l.Before {
		t.Errorf("%+v", l)
	}
	if len(l.Answer.Errors) != 6 {
		t.Errorf("%q", l.Answer.Errors)
	}
	for what, err := range l.Answer.Errors {
		if !strings.Contains(err, "operation not permitted") && !strings.Contains(err, "bad file descriptor") {
			t.Errorf("a copy could do this: %s (%s)", what, err)
		}
	}
	last := &list[len(list)-1]
	if len(list) != len(wanted)+2 || last.FileBytes == nil || *last.FileBytes != 0 || last.Shared != "\x00" {
		t.Errorf("a copy has reached the live process: %+v", list[len(wanted)+1:])
	}
}

// Each of many checkpoints of a busy process is made and taken down, and the process goes on.
func TestManyCheckpoints(t *testing.T) {
	n := 30
	if os.Getenv("BLOODHOUND_SOAK") != "" {
		n = 1000
	}
	list := run(t, service(t), "-checkpoints", fmt.Sprint(n), "-entries", "20000")
	if len(list) != n+1 {
		t.Fatalf("%d lines", len(list))
	}
	var pauses []int64
	for i := range n {
		if l := &list[i]; l.Status != Done || !l.SameTable {
			t.Errorf("checkpoint %d: %+v", i, l)
		}
		pauses = append(pauses, list[i].PauseUs)
	}
	slices.Sort(pauses)
	t.Logf("%d checkpoints; the process stood still for %d us (median), %d us at most", n, pauses[n/2], pauses[n-1])
}

// A checkpoint and an explorer that are killed do the live process no harm, and none outlives it.
func TestCopiesThatAreKilled(t *testing.T) {
	cmd := exec.Command(service(t), "-hold", "-checkpoints", "3")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	lines := bufio.NewScanner(out)
	next := func() (l struct {
		Checkpoint int
		Error      string
		Ended      bool
	}) {
		if !lines.Scan() {
			t.Fatal("the live process has ended")
		}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatalf("%v\n%s", err, lines.Bytes())
		}
		return l
	}
	e := explorer(t, next().Checkpoint)
	if attr, err := unix.SchedGetAttr(e, 0); err != nil || attr.Policy != unix.SCHED_IDLE {
		t.Errorf("an explorer takes CPU time from others: %+v, %v", attr, err)
	}
	syscall.Kill(e, syscall.SIGKILL)
	if l := next(); l.Error != "<nil>" {
		t.Errorf("%+v", l)
	}
	c := next().Checkpoint
	e = explorer(t, c)
	syscall.Kill(c, syscall.SIGKILL)
	if l := next(); !l.Ended {
		t.Errorf("%+v", l)
	}
	gone(t, e)
	c = next().Checkpoint
	e = explorer(t, c)
	cmd.Process.Kill()
	gone(t, c)
	gone(t, e)
}

// patience is how often a test looks, at intervals of 10 ms, for what a copy does that other programs leave hardly any CPU to.
const patience = 6000

// explorer is the child of a checkpoint, once it has one.
func explorer(t *testing.T, checkpoint int) int {
	t.Helper()
	for range patience {
		all, _ := filepath.Glob("/proc/[0-9]*/stat")
		for _, name := range all {
			text, _ := os.ReadFile(name)
			var pid, parent int
			var program, state string
			if n, _ := fmt.Sscan(string(text), &pid, &program, &state, &parent); n == 4 && parent == checkpoint {
				return pid
			}
		}
		time.Sleep(10 * time.Millisecond) // it is about to be forked
	}
	t.Fatal("the checkpoint has no explorer")
	return 0
}

func gone(t *testing.T, pid int) {
	t.Helper()
	for range patience {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(text), ") Z ") {
			return
		}
		time.Sleep(10 * time.Millisecond) // the kernel ends it
	}
	t.Errorf("process %d lives on", pid)
}

func TestOverlayRefusesOtherVersions(t *testing.T) {
	if _, _, err := Overlay("/go", "go1.19.3"); err == nil || !strings.Contains(err.Error(), "go1.19.3: build with one of go1.24, go1.25, go1.26") {
		t.Error(err)
	}
}
