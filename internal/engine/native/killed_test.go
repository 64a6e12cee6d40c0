//go:build linux && amd64

package native_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// Where the machine kills a process of a world, for want of memory say, the world continues, whichever of its threads runs next: Linux
// reports the end of a main thread only after those of all others.
func TestProcessKilledFromOutside(t *testing.T) {
	program := compile(t, "testdata/killed/threads.c")
	for _, reference := range []string{"", "1"} {
		for _, teller := range []string{"main", "other"} {
			t.Setenv(native.ReferenceVariable, reference)
			spec := aloneSpec(program, teller)
			killed := false
			out, err := engine.Run(native.New(), spec, tape.Tape{Seed: 1}, engine.Options{Log: func(l record.LogLine) {
				if l.Text == "ready" {
					killed = killRunning(t, program)
				}
			}})
			if err != nil {
				t.Fatal(err)
			}
			if !killed || out.Reason != record.Finished || len(out.Crashes) != 1 || out.Crashes[0].Signal != "SIGKILL" {
				t.Errorf("reference %q, %s: killed %v, it ended by %s (%s), %+v", reference, teller, killed, out.Reason, out.Detail, out.Crashes)
			}
		}
	}
}

// killRunning kills the real process that runs a program of this machine.
func killRunning(t *testing.T, program string) bool {
	all, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		t.Fatal(err)
	}
	for _, exe := range all {
		if name, err := os.Readlink(exe); err == nil && name == program {
			pid, err := strconv.Atoi(strings.Split(exe, "/")[2])
			if err != nil {
				t.Fatal(err)
			}
			return syscall.Kill(pid, syscall.SIGKILL) == nil
		}
	}
	return false
}
