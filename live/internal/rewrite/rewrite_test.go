package rewrite

import (
	"os/exec"
	"strings"
	"testing"
)

// corpus is a package with a function for each construct of the language. Its tests compare bodies, and run what was solved for.
const corpus = "github.com/bloodhound-dst/bloodhound/live/internal/rewrite/testdata/corpus"

// hidden is one whose functions use inputs where shadows may get lost.
const hidden = "github.com/bloodhound-dst/bloodhound/live/internal/rewrite/testdata/hidden"

// All functions of the corpus have second bodies, which do what the first ones do, and whose recorded conditions are right.
func TestCorpus(t *testing.T) {
	r, err := Rewrite(Options{Dir: ".", Patterns: []string{corpus}, Out: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if p := r.Packages[0]; len(r.Packages) != 1 || p.Second != p.Functions || p.Second < 90 {
		t.Errorf("%+v", r.Packages)
	}
	out, err := exec.Command("go", "test", "-count=1", "-vet=off", "-overlay", r.Overlay, "-v", corpus).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "PASS: TestBodiesAgree") ||
		!strings.Contains(string(out), "PASS: TestPredictionsComeTrue") || !strings.Contains(string(out), "PASS: TestOtherGoroutines") {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// Functions in which shadows may get lost: a search reports that, or finds what it looks for.
func TestHidden(t *testing.T) {
	r, err := Rewrite(Options{Dir: ".", Patterns: []string{hidden}, Out: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "test", "-count=1", "-vet=off", "-overlay", r.Overlay, "-v", hidden).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "PASS: TestNothingIsLostSilently") {
		t.Fatalf("%v\n%s", err, out)
	}
}
