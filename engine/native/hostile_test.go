//go:build linux && amd64

package native_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/engine"
	"github.com/bloodhound-dst/bloodhound/engine/native"
	"github.com/bloodhound-dst/bloodhound/tape"
	"github.com/bloodhound-dst/bloodhound/world"
)

// Programs that mean no good, or break at once: each run comes to an end with a clear word, and leaves no process and no
// file behind.
func TestHostilePrograms(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler (cc) in PATH")
	}
	bin := t.TempDir()
	for _, c := range []struct {
		name    string
		reason  engine.Reason
		detail  string   // part of Outcome.Detail
		prints  []string // lines on standard output
		crash   string   // kind of the crash that is reported
		refused []string // calls that are named
		repeats bool
		events  uint64 // that must have happened at least
		limit   func(*world.Spec)
	}{
		{name: "crash", reason: engine.Finished, crash: "crash", repeats: true},
		{name: "spin", reason: engine.Limit, detail: "makes no system call", limit: func(s *world.Spec) { s.Limits.SpinCPUMs = 200 }},
		{name: "forks", reason: engine.Finished, repeats: true, events: 200, limit: func(s *world.Spec) { s.Limits.Threads, s.MaxTimeNs = 40, 100e6 }},
		{name: "execs", reason: engine.Finished, repeats: true, events: 200, limit: func(s *world.Spec) { s.MaxTimeNs = 200e6 }},
		{name: "disk", reason: engine.Finished, prints: []string{"write: No space left on device"}, repeats: true, limit: func(s *world.Spec) { s.Limits.MemoryBytes = 20 << 20 }},
		{name: "memory", reason: engine.Finished, prints: []string{"out of memory"}, repeats: true},
		{name: "killall", reason: engine.Finished, prints: []string{"0", "alive"}, repeats: true},
		{name: "timepage", reason: engine.Finished, prints: []string{"scribbled"}},
		{name: "refused", reason: engine.Finished, repeats: true, prints: []string{"io_uring_setup -1 1", "ptrace -1", "call 700 -1 1"},
			refused: []string{"io_uring_setup", "perf_event_open", "bpf", "ptrace", "mount", "unknown call"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			program := filepath.Join(bin, c.name)
			if out, err := exec.Command(cc, "-O1", "-w", "-o", program, "testdata/hostile/"+c.name+".c").CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			spec := aloneSpec([]string{program})
			if c.limit != nil {
				c.limit(spec)
			}
			var printed []string
			out, err := engine.Run(native.New(), spec, tape.Tape{Seed: 1}, engine.Options{Log: func(l engine.LogLine) { printed = append(printed, l.Text) }})
			if err != nil {
				t.Fatal(err)
			}
			if out.Reason != c.reason || !strings.Contains(out.Detail, c.detail) {
				t.Errorf("the run ended by %q, %q", out.Reason, out.Detail)
			}
			if c.events > out.Events {
				t.Errorf("only %d events happened: the program hardly ran", out.Events)
			}
			if out.Repeat.Reproducible != c.repeats {
				t.Errorf("reproducible: %v, %q", out.Repeat.Reproducible, out.Repeat.Reason)
			}
			for _, want := range c.prints {
				found := false
				for _, line := range printed {
					found = found || line == want
				}
				if !found {
					t.Errorf("it did not print %q but %q", want, printed)
				}
			}
			kind := ""
			if len(out.Crashes) > 0 {
				kind = out.Crashes[0].Kind
			}
			if kind != c.crash {
				t.Errorf("the crash reported is %q, want %q", kind, c.crash)
			}
			for _, call := range c.refused {
				found := false
				for _, r := range out.Refused {
					found = found || r.Call == call && r.Program == program && r.Count > 0
				}
				if !found {
					t.Errorf("%s is not named among the refused calls: %+v", call, out.Refused)
				}
			}
			if left := running(t, program); len(left) > 0 {
				t.Errorf("processes are left: %v", left)
			}
			if _, err := os.Stat(filepath.Join(bin, "full")); err == nil {
				t.Error("a file of the world is on the host")
			}
		})
	}
}

// running lists the processes of this machine that run a program.
func running(t *testing.T, program string) []string {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, l := range links {
		if to, err := os.Readlink(l); err == nil && strings.HasPrefix(to, program) {
			found = append(found, l)
		}
	}
	return found
}
