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
)

// What the programs of testdata/compat see must not depend on the schedule: each tape gives the same transcript, and the
// same tape gives the same trace. BLOODHOUND_SOAK asks for many tapes.
func TestCompatOnAnyTape(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler (cc) in PATH")
	}
	sources, err := filepath.Glob("testdata/compat/*.c")
	if err != nil || len(sources) == 0 {
		t.Fatal("no programs in testdata/compat", err)
	}
	seeds := uint64(3)
	if os.Getenv("BLOODHOUND_SOAK") != "" {
		seeds = 30
	}
	bin := t.TempDir()
	for _, source := range sources {
		name := strings.TrimSuffix(filepath.Base(source), ".c")
		t.Run(name, func(t *testing.T) {
			program := filepath.Join(bin, name)
			compile(t, cc, program, source)
			run := func(seed uint64) (lines []string, out *engine.Outcome) {
				spec := aloneSpec([]string{program})
				spec.Sched.PreemptPPM = 50_000
				out, err := engine.Run(native.New(), spec, tape.Tape{Seed: seed}, engine.Options{Log: func(l engine.LogLine) { lines = append(lines, l.Text) }})
				if err != nil {
					t.Fatal(err)
				}
				return lines, out
			}
			first, a := run(1)
			_, b := run(1)
			if !a.Repeat.Reproducible || a.Hash != b.Hash {
				t.Errorf("one tape, two traces: %s and %s, %+v", a.Hash, b.Hash, a.Repeat)
			}
			for seed := uint64(2); seed <= seeds; seed++ {
				if lines, _ := run(seed); len(lines) == 0 || difference(first, lines) != "" {
					t.Errorf("tape %d shows something else (outside: tape 1, inside: tape %d):\n%s", seed, seed, difference(first, lines))
				}
			}
		})
	}
}
