//go:build linux && amd64

package native

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/coverage/code"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

var switching = world.Sched{PreemptPPM: 50_000, Blocks: 64, SwitchPPM: 40_000, CPUs: 4}

// Two threads add to a variable and make no system call meanwhile. An update is lost if one is switched between its load and its store, and in no
// other run. Such a run repeats, whatever else is recorded of it.
//
//ci:series
func TestSwitchesInUserCode(t *testing.T) {
	const most = 200
	for _, language := range []struct {
		name  string
		build []string
	}{
		{"C", []string{"gcc", "-O1", "-pthread", "testdata/switch/lost.c"}},
		{"Go", []string{"go", "build", "./testdata/switch/go"}},
		{"Rust", []string{"rustc", "-O", "testdata/switch/lost.rs"}},
	} {
		t.Run(language.name, func(t *testing.T) {
			needs.Program(t, language.build[0])
			program := filepath.Join(t.TempDir(), "lost")
			words := language.build
			if words[0] == "go" {
				words = append([]string{"go", "build", "-o", program}, words[2:]...)
			} else {
				words = append(words, "-o", program)
			}
			if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			spec := aloneSpec(filepath.Dir(program), program)
			spec.MaxTimeNs, spec.Sched = 500e6, switching
			lost := func(tp tape.Tape, o engine.Options) (*record.Outcome, bool) {
				out, err := engine.Run(New(), spec, tp, o)
				if err != nil {
					t.Fatal(err)
				}
				return out, len(out.Crashes) > 0
			}
			seed := uint64(0)
			var first *record.Outcome
			for ; seed < most; seed++ {
				var found bool
				if first, found = lost(tape.Tape{Seed: seed}, engine.Options{}); found {
					break
				}
			}
			if seed == most {
				t.Fatalf("no update is lost in %d runs", most)
			}
			t.Logf("lost with seed %d", seed)
			if !first.Repeat.Reproducible {
				t.Errorf("not reproducible: %s", first.Repeat.Reason)
			}
			for name, o := range map[string]engine.Options{"again": {}, "with coverage": {Code: &code.Watch{}},
				"with coverage of other files": {Code: &code.Watch{Choice: code.Choice{"no-such"}}}} {
				if out, _ := lost(tape.Tape{Seed: seed}, o); out.Hash != first.Hash {
					t.Errorf("%s, the run is another one: %s, %s", name, out.Hash, first.Hash)
				}
			}
			t.Setenv(ReferenceVariable, "1")
			if out, _ := lost(tape.Tape{Seed: seed}, engine.Options{}); out.Hash != first.Hash {
				t.Errorf("with a stop at each call, the run is another one: %s, %s", out.Hash, first.Hash)
			}
			t.Setenv(ReferenceVariable, "")
			none, err := tape.Parse("tape 1\nseed 1\ndefault switch/** 0..\n")
			if err != nil {
				t.Fatal(err)
			}
			for none.Seed = seed; none.Seed < seed+10; none.Seed++ {
				if _, found := lost(none, engine.Options{}); found {
					t.Errorf("seed %d: an update is lost although no thread is switched in its own code", none.Seed)
				}
			}
		})
	}
}

// A copy of a world in which blocks are watched, and a thread may stand between two instructions of its own, goes on as a run from boot does.
//
//ci:series
func TestForkOfSwitches(t *testing.T) {
	spec := busy()
	spec.Sched = switching
	forked(t, spec, engine.Options{Behaviour: true}, 2)
	if os.Getenv("BLOODHOUND_SOAK") != "" {
		forked(t, spec, engine.Options{Behaviour: true, Code: &code.Watch{Choice: code.Choice{"*"}}}, 2)
	}
}
