package seeded

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/examples/inprocess/raft"
	"github.com/bloodhound-dst/bloodhound/sim"
)

// Every edit finds its place in the library, and one that does not is reported with its bug and file.
func TestEdits(t *testing.T) {
	source, err := command("go", "list", "-m", "-f", "{{.Dir}}", library)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, b := range All {
		if names[b.Name] || b.What == "" || b.Source == "" || (len(b.Edits) == 0) == (b.Flaw == nil) {
			t.Errorf("bug %q is there twice, or lacks something", b.Name)
		}
		names[b.Name] = true
		copied := t.TempDir()
		if err := errors.Join(copyLibrary(copied, source), edit(copied, b)); err != nil {
			t.Error(err)
		}
	}
	for _, old := range []string{"no such text", "return"} {
		err := edit(source, Bug{Name: "wrong", Edits: []Edit{{"log.go", old, ""}}})
		if err == nil || !strings.Contains(err.Error(), "bug wrong: log.go") {
			t.Errorf("%q: %v", old, err)
		}
	}
}

// Mistakes of what uses the library are found, by what they break.
func TestFlaws(t *testing.T) {
	for name, breaks := range map[string]string{
		"vote-forgotten":           "election safety",
		"acknowledge-early":        "", // a panic of the library, or leader completeness
		"configure-early":          "configuration safety",
		"snapshot-without-members": "configuration safety",
	} {
		b, ok := Find(name)
		if !ok || b.Flaw == nil {
			t.Fatalf("no flaw %q", name)
		}
		r, err := sim.Campaign{Runs: 5000, Dir: t.TempDir(), ShrinkRuns: -1}.Run(t.Context(), name, raft.World(b.World()))
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != sim.Violated || !strings.Contains(r.Failures[0].Property, breaks) {
			t.Errorf("%s: %s\n%s", name, r.Status, r.Text())
		}
	}
}

// Bugs in the library are found by the program that hunts for them: two of them here, all that can show with BLOODHOUND_SOAK.
func TestHunt(t *testing.T) {
	soak := os.Getenv("BLOODHOUND_SOAK") != ""
	if testing.Short() {
		t.Skip("it builds the library")
	}
	dir := t.TempDir()
	for _, b := range All {
		usual := b.Name == "truncate-matching" || b.Name == "quorum-one-less"
		shows := b.Name != "conflict-hint" && b.Name != "append-bounds"
		if b.Flaw != nil || !usual && !soak || !shows {
			continue
		}
		program, err := Build(dir, "github.com/bloodhound-dst/bloodhound/bench/strategies/raft/hunt", b)
		if err != nil {
			t.Fatal(err)
		}
		episodes := "2000"
		if soak {
			episodes = "100000"
		}
		out, err := exec.Command(program, "-episodes", episodes).CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), b.Name) || !strings.Contains(string(out), "Turn(") && !strings.Contains(string(out), "Deliver(") {
			t.Errorf("%s: %v\n%s", b.Name, err, out)
		}
		t.Logf("%s", out)
	}
}
