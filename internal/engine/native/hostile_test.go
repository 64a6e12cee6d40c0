//go:build linux && amd64

package native_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The programs of testdata/hostile mean no good, or break at once. Each run of one comes to an end with a clear word: lines
// "want: REGEXP" of its comment say what its report must hold, and a line "computes" that it takes long without a system call. It
// leaves no process and no file behind. They are dangerous outside a world: the test never runs them there.
//
//ci:later memory
//ci:underway
func TestHostilePrograms(t *testing.T) {
	eachProgram(t, "hostile", func(t *testing.T, _, source string) {
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		var wants []*regexp.Regexp
		for line := range strings.Lines(string(text)) {
			if want, ok := strings.CutPrefix(strings.TrimSpace(line), "// want: "); ok {
				wants = append(wants, regexp.MustCompile("(?m)^"+want))
			}
		}
		if len(wants) == 0 {
			t.Fatalf("%s does not say what it wants", source)
		}
		program := compile(t, source)
		before, _ := os.ReadFile("/proc/sys/kernel/core_pattern")
		report := hostileReport(t, program, strings.Contains(string(text), "\n// computes\n"))
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
		if files, _ := os.ReadDir(filepath.Dir(program)); len(files) != 1 {
			t.Errorf("files of the world are on the host: %v", files)
		}
	})
}

// hostileReport runs a program in a world with narrow limits and writes down its outcome, a line for each fact.
func hostileReport(t *testing.T, program string, computes bool) string {
	t.Helper()
	spec := aloneSpec(program)
	spec.MaxTimeNs = 4e9
	spec.Limits.Events, spec.Limits.Threads, spec.Limits.MemoryBytes, spec.Limits.SpinCPUMs, spec.Limits.WallMs = 30_000, 60, 32<<20, 200, 60_000
	spec.Limits.WorldBytes = 256 << 20
	if computes {
		spec.Limits.SpinCPUMs = 5_000 // a slow machine needs long for what a fast one does at once
	}
	var b strings.Builder
	log, out := run(t, spec, 1)
	for i, l := range log {
		if i == 100 {
			break
		}
		fmt.Fprintf(&b, "line %s %.200s\n", l.Stream, l.Text)
	}
	kept := 0
	for _, l := range out.Log {
		kept += len(l.Text)
	}
	fmt.Fprintf(&b, "kept lines=%d bytes=%d\n", len(out.Log), kept)
	for _, warning := range out.Warnings {
		fmt.Fprintf(&b, "warning %s\n", warning)
	}
	fmt.Fprintf(&b, "reason=%s detail=%s\nreproducible=%v %s\nevents=%d\ncrashes=%d\n", out.Reason, out.Detail, out.Repeat.Reproducible, out.Repeat.Reason,
		out.Events, len(out.Crashes))
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
