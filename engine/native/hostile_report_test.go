//go:build linux && amd64

package native_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/engine"
	"github.com/bloodhound-dst/bloodhound/engine/native"
	"github.com/bloodhound-dst/bloodhound/tape"
)

// The programs of testdata/hostile whose comment has lines "want: REGEXP" say there what the report of their run must
// hold. They are dangerous outside a world: the test never runs them there.
func TestHostileReports(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler (cc) in PATH")
	}
	sources, err := filepath.Glob("testdata/hostile/*.c")
	if err != nil || len(sources) == 0 {
		t.Fatal("no programs in testdata/hostile", err)
	}
	bin := t.TempDir()
	for _, source := range sources {
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		var wants []*regexp.Regexp
		for _, line := range strings.Split(string(text), "\n") {
			if want, ok := strings.CutPrefix(line, "// want: "); ok {
				wants = append(wants, regexp.MustCompile(want))
			}
		}
		if len(wants) == 0 {
			continue
		}
		name := strings.TrimSuffix(filepath.Base(source), ".c")
		t.Run(name, func(t *testing.T) {
			program := filepath.Join(bin, name)
			compile(t, cc, program, source)
			before, _ := os.ReadFile("/proc/sys/kernel/core_pattern")
			report := hostileReport(t, program)
			if after, _ := os.ReadFile("/proc/sys/kernel/core_pattern"); string(after) != string(before) {
				t.Errorf("a setting of the machine was changed: %q", after)
			}
			for _, want := range wants {
				if !want.MatchString(report) {
					t.Errorf("the report does not say %q:\n%s", want, report)
				}
			}
			if left := running(t, program); len(left) > 0 {
				t.Errorf("processes are left: %v", left)
			}
		})
	}
}

// hostileReport runs a program in a world with narrow limits and writes down its outcome, a line for each fact.
func hostileReport(t *testing.T, program string) string {
	t.Helper()
	spec := aloneSpec([]string{program})
	spec.MaxTimeNs = 4e9
	spec.Limits.Events, spec.Limits.Threads, spec.Limits.MemoryBytes, spec.Limits.SpinCPUMs, spec.Limits.WallMs = 30_000, 60, 32<<20, 200, 60_000
	var b strings.Builder
	const maxLines = 100
	lines := 0
	out, err := engine.Run(native.New(), spec, tape.Tape{Seed: 1}, engine.Options{Log: func(l engine.LogLine) {
		if lines++; lines <= maxLines {
			fmt.Fprintf(&b, "line %s %s\n", l.Stream, l.Text)
		}
	}})
	if err != nil {
		return fmt.Sprintf("error=%v\n", err)
	}
	fmt.Fprintf(&b, "reason=%s detail=%s\nreproducible=%v %s\n", out.Reason, out.Detail, out.Repeat.Reproducible, out.Repeat.Reason)
	for _, c := range out.Crashes {
		fmt.Fprintf(&b, "crash kind=%s signal=%s exit=%d program=%s\n", c.Kind, c.Signal, c.ExitCode, c.Program)
		for _, l := range c.Lines {
			fmt.Fprintf(&b, "line crash %s\n", l)
		}
	}
	for _, r := range out.Refused {
		fmt.Fprintf(&b, "refused call=%s program=%s errno=%s\n", r.Call, r.Program, r.Errno)
	}
	return b.String()
}
