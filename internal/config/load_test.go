package config

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/config/scaffolding"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var noEnv = map[string]string{}

// golden compares a text with a file, whose mentions of this folder are written as PROJECT.
func golden(t *testing.T, name, got string) {
	t.Helper()
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	got = strings.ReplaceAll(got, here, "PROJECT")
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (rewrite it with -update):\n%s\nwant:\n%s", name, got, want)
	}
}

func document(t *testing.T, r *Result) string {
	t.Helper()
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b) + "\n"
}

// Every key of users' files loads, and the whole result is as written down.
func TestCompat(t *testing.T) {
	r, err := Load(Options{Path: "testdata/compat", Env: noEnv, Images: anyImage})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/compat/want.json", document(t, r))
}

func TestErrors(t *testing.T) {
	files, err := filepath.Glob("testdata/errors/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			r, err := Load(Options{Path: name, Env: map[string]string{"PORT": "8080"}})
			if err == nil {
				t.Fatalf("it loads: %s", document(t, r))
			}
			golden(t, strings.TrimSuffix(name, ".yaml")+".txt", err.Error()+"\n")
		})
	}
}

func TestScaffold(t *testing.T) {
	dir := t.TempDir()
	text := scaffolding.Example().Files[scaffolding.ConfigName]
	if err := os.WriteFile(filepath.Join(dir, "bloodhound.yaml"), text, 0o666); err != nil {
		t.Fatal(err)
	}
	r, err := Load(Options{Path: dir, Env: noEnv})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Notes) > 0 {
		t.Errorf("init writes a file with notes: %v", r.Notes)
	}
	if n := len(r.Spec.Nodes); n != 5 {
		t.Errorf("%d nodes, want three servers, load and checker", n)
	}
}

// The examples of the documentation load.
func TestDocumentedExamples(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/config.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(page), "```yaml\n")[1:]
	if len(blocks) < 2 {
		t.Fatal("the examples are gone")
	}
	for _, b := range blocks {
		b, _, _ = strings.Cut(b, "```")
		dir := project(t, "bloodhound.yaml\n"+b, "compose.yaml\nservices: {db: {image: postgres}}\n")
		r := loaded(t, Options{Path: dir})
		if noted(r, "the node has `root`, or no image") {
			t.Errorf("what is done on purpose is noted: %v", r.Notes)
		}
		if strings.Contains(b, "compose:") && node1(t, r, "db").Image != nil {
			t.Error("the node has the service's image")
		}
	}
}
