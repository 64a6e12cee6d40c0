//go:build linux && amd64

package native_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// staticToo names the programs that are compared a second time without a dynamic loader: what they use of libc
// depends on how that was started.
var staticToo = map[string]bool{"pipe": true, "epoll": true, "signal": true, "futex": true, "pthread": true, "clock": true, "fork": true, "exec": true}

// nativeLimit is the time that one program may take on real Linux; they are made for 2 s on an idle machine.
const nativeLimit = 60 * time.Second

// TestCompat runs each program of testdata/compat on real Linux and inside the engine and compares what they print,
// case by case. testdata/compat/compat.h says what a transcript may hold. A single case:
//
//	go test ./engine/native -run 'Compat/epoll/oneshot$'
func TestCompat(t *testing.T) {
	eachProgram(t, "compat", func(t *testing.T, name, source string) {
		compare(t, compile(t, source))
		if staticToo[name] {
			t.Run("static", func(t *testing.T) { compare(t, compile(t, source, "-static")) })
		}
	})
}

// TestCompatGo is TestCompat for the Go programs of testdata/compat/go, whose runtime uses other calls than libc.
func TestCompatGo(t *testing.T) {
	folders, err := filepath.Glob("testdata/compat/go/*")
	if err != nil || len(folders) == 0 {
		t.Fatal("no programs in testdata/compat/go", err)
	}
	bin := t.TempDir()
	for _, folder := range folders {
		name := filepath.Base(folder)
		t.Run(name, func(t *testing.T) {
			program := filepath.Join(bin, name)
			build := exec.Command("go", "build", "-o", program, "./"+folder)
			build.Env = append(os.Environ(), "CGO_ENABLED=0")
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("go build %s: %v\n%s", folder, err, out)
			}
			compare(t, program)
		})
	}
}

// A section is one case of a transcript.
type section struct {
	name  string
	lines []string
}

// sections splits a transcript at its "== NAME" lines. Lines before the first belong to a section without a name.
func sections(transcript string) []section {
	list := []section{{}}
	for _, line := range strings.Split(strings.TrimSuffix(transcript, "\n"), "\n") {
		if name, ok := strings.CutPrefix(line, "== "); ok {
			list = append(list, section{name: name})
			continue
		}
		last := &list[len(list)-1]
		last.lines = append(last.lines, line)
	}
	if len(list[0].lines) == 0 || len(list[0].lines) == 1 && list[0].lines[0] == "" {
		list = list[1:]
	}
	return list
}

func (s section) skips() bool {
	for _, line := range s.lines {
		if strings.HasPrefix(line, "skip") {
			return true
		}
	}
	return false
}

// compare runs a program outside and inside. When it ends early inside, each case that was not reached runs
// once more alone, so that one defect does not hide others.
func compare(t *testing.T, program string) {
	outside, exit := runOutside(t, program)
	if exit != 0 {
		t.Fatalf("exit code %d on real Linux, after:\n%s", exit, outside)
	}
	got, exit := runInside(t, program)
	if exit != 0 {
		t.Errorf("exit code %d inside", exit)
	}
	inside := map[string][]string{}
	for _, s := range sections(got) {
		inside[s.name] = s.lines
	}
	missing, last := false, ""
	for _, want := range sections(outside) {
		if want.skips() {
			continue
		}
		t.Run(want.name, func(t *testing.T) {
			lines, ok := inside[want.name]
			if !ok || missing {
				if !missing {
					t.Logf("the program ended inside in case %q; this case and those after it run alone", last)
				}
				missing = true
				alone, exit := runInside(t, program, want.name)
				if exit != 0 {
					t.Errorf("exit code %d inside", exit)
				}
				if s := sections(alone); len(s) > 0 {
					lines = s[0].lines
				}
			}
			if s := (section{lines: lines}); s.skips() {
				t.Skipf("not supported inside: %s", lines[len(lines)-1])
			}
			if d := difference(want.lines, lines); d != "" {
				t.Error(d)
			}
		})
		last = want.name
	}
}

// runOutside runs a program on real Linux in an empty folder.
func runOutside(t *testing.T, argv ...string) (stdout string, exit int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), nativeLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C"}
	var out bytes.Buffer
	cmd.Stdout = &out
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if ctx.Err() != nil {
		t.Fatalf("%s did not end within %v on real Linux, after:\n%s", argv[0], nativeLimit, out.String())
	}
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatalf("%s: %v", argv[0], err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// maxDifferences bounds what is shown of one case.
const maxDifferences = 12

// difference shows the lines that differ, each as it was outside and inside.
func difference(outside, inside []string) string {
	var b strings.Builder
	shown := 0
	i, k := 0, 0
	for (i < len(outside) || k < len(inside)) && shown < maxDifferences {
		switch {
		case i < len(outside) && k < len(inside) && outside[i] == inside[k]:
			i, k = i+1, k+1
			continue
		case i < len(outside) && k < len(inside) && sameLabel(outside[i], inside[k]):
			fmt.Fprintf(&b, "line %d\n\toutside: %s\n\tinside:  %s\n", i+1, outside[i], inside[k])
			i, k = i+1, k+1
		case i < len(outside) && !contains(inside[k:], outside[i]):
			fmt.Fprintf(&b, "line %d\n\tonly outside: %s\n", i+1, outside[i])
			i++
		case k < len(inside):
			fmt.Fprintf(&b, "line %d\n\tonly inside: %s\n", k+1, inside[k])
			k++
		default:
			fmt.Fprintf(&b, "line %d\n\tonly outside: %s\n", i+1, outside[i])
			i++
		}
		shown++
	}
	return b.String()
}

func label(line string) string {
	name, _, _ := strings.Cut(line, ":")
	return name
}

func sameLabel(a, b string) bool { return label(a) == label(b) }

func contains(lines []string, line string) bool {
	for _, l := range lines {
		if l == line || sameLabel(l, line) {
			return true
		}
	}
	return false
}

func TestCompatDifference(t *testing.T) {
	outside := []string{"read: 3", "poll: IN", "write: 1", "end: yes"}
	for _, c := range []struct {
		name, want string
		inside     []string
	}{
		{"equal", "", outside},
		{"value", "line 2\n\toutside: poll: IN\n\tinside:  poll: IN+HUP\n", []string{"read: 3", "poll: IN+HUP", "write: 1", "end: yes"}},
		{"missing", "line 3\n\tonly outside: write: 1\n", []string{"read: 3", "poll: IN", "end: yes"}},
		{"extra", "line 2\n\tonly inside: more: 1\n", []string{"read: 3", "more: 1", "poll: IN", "write: 1", "end: yes"}},
		{"cut", "line 3\n\tonly outside: write: 1\nline 4\n\tonly outside: end: yes\n", outside[:2]},
	} {
		if got := difference(outside, c.inside); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
	if got := sections("== a\nx\n== b\n"); len(got) != 2 || got[0].name != "a" || got[0].lines[0] != "x" || got[1].name != "b" {
		t.Errorf("sections: %v", got)
	}
}
