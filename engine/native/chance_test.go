//go:build linux && amd64

package native_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/engine"
	"github.com/bloodhound-dst/bloodhound/engine/native"
	"github.com/bloodhound-dst/bloodhound/tape"
)

// Each program of testdata/leaks shows one source of chance. Two runs of one tape must show the same, or say that they
// cannot be repeated.
func TestChanceIsOnTheTape(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler (cc) in PATH")
	}
	sources, err := filepath.Glob("testdata/leaks/*.c")
	if err != nil || len(sources) == 0 {
		t.Fatal("no programs in testdata/leaks", err)
	}
	// What a tape decides must change with its seed.
	seeded := map[string]bool{"at_random": true, "getrandom": true, "urandom": true, "threads": true}
	// An instruction that nobody can trap on most machines: the engine hides it from the libraries that ask for it by
	// environment, but not from a program that uses it by itself.
	untrappable := map[string]bool{"rdrand": true}
	bin := t.TempDir()
	for _, source := range sources {
		name := strings.TrimSuffix(filepath.Base(source), ".c")
		t.Run(name, func(t *testing.T) {
			program := filepath.Join(bin, name)
			compile(t, cc, program, source)
			run := func(seed uint64) (string, *engine.Outcome) {
				var shown strings.Builder
				spec := aloneSpec([]string{program})
				spec.Limits.SpinCPUMs = 200
				out, err := engine.Run(native.New(), spec, tape.Tape{Seed: seed}, engine.Options{Log: func(l engine.LogLine) { shown.WriteString(l.Text + "\n") }})
				if err != nil {
					t.Fatal(err)
				}
				return shown.String(), out
			}
			first, a := run(1)
			second, b := run(1)
			if first == "" && a.Repeat.Reproducible {
				t.Fatalf("it showed nothing: %s %s %+v", a.Reason, a.Detail, a.Crashes)
			}
			if a.Repeat.Reproducible != b.Repeat.Reproducible {
				t.Errorf("reproducible %v, then %v", a.Repeat, b.Repeat)
			}
			if untrappable[name] {
				t.Skip("cannot be trapped here: a program that uses it does not repeat, and the run cannot say so")
			}
			if a.Repeat.Reproducible && (first != second || a.Hash != b.Hash) {
				t.Errorf("two runs of one tape differ (hashes %s %s):\n%s", a.Hash, b.Hash, difference(strings.Split(first, "\n"), strings.Split(second, "\n")))
			}
			if other, _ := run(2); seeded[name] && other == first {
				t.Errorf("another seed shows the same:\n%s", other)
			}
		})
	}
}
