package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/campaign"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// Worlds in tests of Go are run, judged and reported by the command line, on whatever system there is Go.
func TestActors(t *testing.T) {
	needs.Program(t, "go")
	t.Setenv("BLOODHOUND_STATE", t.TempDir())
	const bank = "."
	t.Chdir("../../examples/inprocess/bank") // a module of its own
	for _, c := range []struct {
		name string
		args []string
		code int
		says string // on either output
	}{
		{"all holds", []string{"--seeds", "50", bank}, check.ExitHolds, "TestBank in "},
		{"a bug", []string{"--seeds", "200", bank, "--", "-lossy", "-run", "Bank$"}, check.ExitViolated, "VIOLATED"},
		{"a stored failure", []string{"--seeds", "1", bank, "--", "-lossy", "-run", "Bank$"}, check.ExitViolated, "a stored failure still fails"},
		{"no campaign", []string{bank, "--", "-run", "NoSuchTest"}, check.ExitUnknown, "no test ran a campaign"},
		{"a flag of the test that is not there", []string{bank, "--", "-no-such-flag"}, check.ExitUsage, "but no world caused it"},
		{"no such package", []string{"./no-such-folder"}, check.ExitUsage, "no-such-folder"},
		{"a package without worlds", []string{"../../../internal/splitmix"}, check.ExitUsage, "has a test that imports"},
		{"a flag of other worlds", []string{"--coverage", bank}, check.ExitUsage, "--coverage has no effect with --actor-mode"},
	} {
		var out, said bytes.Buffer
		code := Main(append([]string{"test", "--actor-mode"}, c.args...), &out, &said)
		if text := out.String() + said.String(); code != c.code || !strings.Contains(text, c.says) {
			t.Errorf("%s: exit code %d\n%s", c.name, code, text)
		}
	}
	// Its failure is none for other verbs, which say how it is made again.
	stored, err := filepath.Glob(filepath.Join(os.Getenv("BLOODHOUND_STATE"), "*", "failures", "*.json"))
	if err != nil || len(stored) != 1 {
		t.Fatalf("%d failures are stored, %v", len(stored), err)
	}
	for _, verb := range []string{"replay", "shrink", "report"} {
		var out, said bytes.Buffer
		if code := Main([]string{verb, stored[0]}, &out, &said); code != check.ExitUsage ||
			!strings.Contains(said.String(), "go test -run '^TestBank$' -sim.replay=") {
			t.Errorf("%s: exit code %d\n%s", verb, code, said.String())
		}
	}
	var out, said bytes.Buffer
	if code := Main([]string{"test", "--actor-mode", "--json", "--seeds", "5", "--seed", "9", "--strategy", "swarm", bank, "--",
		"-run", "Bank$"}, &out, &said); code != check.ExitViolated && code != check.ExitUnknown && code != check.ExitHolds {
		t.Errorf("exit code %d\n%s", code, said.String())
	}
	var doc campaign.ActorDocument
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil || len(doc.Worlds) != 1 {
		t.Fatalf("%v\n%s", err, out.String())
	}
	w := &doc.Worlds[0]
	if w.Name != "TestBank" || w.Totals == nil || w.Totals.Seed != 9 || w.Totals.Search.Strategy != "swarm" || w.Totals.Runs > 6 || doc.ExitCode != w.ExitCode {
		t.Errorf("%s", out.String())
	}
}

// A world that ends the program of its test is reported, with how that program ended; it is not known whether its properties hold.
func TestActorsThatEndTheirProgram(t *testing.T) {
	needs.Program(t, "go")
	for by, how := range map[string]string{
		"hang":  "panic: world TestThatEnds: a node has not come back to the world for 50ms of real time, in the run of seed ",
		"exit":  "exit status 3",
		"fatal": "fatal error: sync: unlock of unlocked mutex",
	} {
		t.Setenv("ENDS_BY", by)
		t.Setenv("TMPDIR", t.TempDir()) // the program ends without removing what it made
		var out, said bytes.Buffer
		code := Main([]string{"test", "--actor-mode", "--json", "./testdata/actors"}, &out, &said)
		var doc campaign.ActorDocument
		if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		if code != check.ExitUnknown || doc.ExitCode != code || len(doc.Worlds) != 2 ||
			doc.Worlds[0].ExitCode != check.ExitHolds || doc.Worlds[1].Name != "TestThatEnds" ||
			len(doc.Worlds[1].Status.Unknown) != 1 ||
			!strings.HasPrefix(doc.Worlds[1].Status.Unknown[0], "the test program ended during its campaign: "+how) {
			t.Errorf("%s: exit code %d\n%s\n%s", by, code, out.String(), said.String())
		}
	}
	t.Setenv("ENDS_BY", "exit")
	var out, said bytes.Buffer
	if code := Main([]string{"test", "--actor-mode", "./testdata/actors"}, &out, &said); code != check.ExitUnknown ||
		!strings.Contains(out.String(), "internal/cli/testdata/actors: UNKNOWN: the test program ended during its campaign: exit status 3\n") {
		t.Errorf("exit code %d\n%s\n%s", code, out.String(), said.String())
	}
}

// Goroutines of code that was not built with switches run outside the world. The report says so, with the command that builds it so.
func TestActorsWithoutSwitches(t *testing.T) {
	needs.Program(t, "go")
	t.Setenv("BLOODHOUND_STATE", t.TempDir())
	var out, said bytes.Buffer
	code := Main([]string{"test", "--actor-mode", "--seeds", "50", "./testdata/switches"}, &out, &said)
	if code != check.ExitNotReproducible {
		t.Fatalf("exit code %d\n%s\n%s", code, out.String(), said.String())
	}
	for _, want := range []string{"2 started at ", "testdata/switches/tally.go:36 in switches.(*Tally).All", "1 started at ",
		"tally.go:41 in switches.(*Tally).All",
		"switches: NOT REPRODUCIBLE: 3 goroutines ran outside the world"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	command := regexp.MustCompile(`bloodhound (test --actor-mode --switches \S+ -- -run) '(\^TestTally\$)'`).FindStringSubmatch(out.String())
	if command == nil {
		t.Fatalf("no command in\n%s", out.String())
	}
	out.Reset()
	if code := Main(append(strings.Fields(command[1]), command[2]), &out, &said); code != check.ExitViolated ||
		strings.Contains(out.String(), "outside the world") {
		t.Errorf("exit code %d\n%s\n%s", code, out.String(), said.String())
	}
}

// Tests of code that has locks, atomics and goroutines are built with switches at them. A lost update is found and made again by the command that is printed; a
// test that was built before its sources changed is an error.
func TestActorsWithSwitches(t *testing.T) {
	needs.Program(t, "go")
	state := t.TempDir()
	t.Setenv("BLOODHOUND_STATE", state)
	var out, said bytes.Buffer
	if code := Main([]string{"test", "--actor-mode", "--switches", "./testdata/switches"}, &out, &said); code != check.ExitViolated {
		t.Fatalf("exit code %d\n%s\n%s", code, out.String(), said.String())
	}
	overlay := "-overlay=" + filepath.Join(state, "switches", "overlay.json")
	again := regexp.MustCompile(`go test (\S+) -run '(\S+)' (-sim.replay=\w+)`).FindStringSubmatch(out.String())
	if strings.Contains(out.String(), "outside the world") {
		t.Errorf("goroutines that were built with switches run outside the world:\n%s", out.String())
	}
	for _, want := range []string{"switches: all properties hold over 1000 runs", "each vote is counted for its name",
		"testdata/switches/tally.go:26 in switches.(*Tally).vote"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing", want)
		}
	}
	if again == nil || again[1] != overlay || again[2] != "^TestTally$" || !strings.Contains(said.String(), "go test "+overlay) {
		t.Fatalf("%s\n%s", out.String(), said.String())
	}
	command := func() string {
		text, err := exec.Command("go", "test", again[1], "-run", again[2], "./testdata/switches", again[3]).CombinedOutput()
		if err == nil {
			t.Error("a test with a failure passes")
		}
		return string(text)
	}
	if text := command(); !strings.Contains(text, " still shows\n") {
		t.Error(text)
	}
	manifest := filepath.Join(state, "switches", "manifest.json")
	text, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(manifest, bytes.Replace(text, []byte("tally.go\": \""), []byte("tally.go\": \"0"), 1), 0o666); err != nil {
		t.Fatal(err)
	}
	if text := command(); !strings.Contains(text, "tally.go has changed since this program was built from a copy of its package") {
		t.Error(text)
	}
}
