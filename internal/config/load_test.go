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

// The YAML examples of the reference load. An example without nodes gets some.
func TestDocumentedExamples(t *testing.T) {
	pages := []string{"config.md"}
	for _, p := range configPages {
		pages = append(pages, "config/"+p.name+".md")
	}
	for _, page := range pages {
		t.Run(page, func(t *testing.T) {
			examples := examplesOf(t, page)
			if len(examples) == 0 || !strings.Contains(examples[0], "nodes:") {
				t.Fatal("the page does not begin with an example of a whole file")
			}
			for _, text := range examples {
				loadExample(t, text)
			}
		})
	}
	for _, page := range []string{"checks.md", "compose.md", "faults.md", "workloads.md"} {
		t.Run(page, func(t *testing.T) {
			for _, text := range examplesOf(t, page) {
				loadExample(t, text)
			}
		})
	}
}

// examplesOf returns the YAML examples of a page of the reference.
func examplesOf(t *testing.T, page string) (list []string) {
	t.Helper()
	text, err := os.ReadFile(reference + page)
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range strings.Split(string(text), "```yaml\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		list = append(list, block)
	}
	return list
}

// loadExample loads an example beside a Compose file, a specification and rules of alerts.
func loadExample(t *testing.T, text string) {
	t.Helper()
	if !strings.Contains(text, "nodes:\n") && !strings.Contains(text, "compose:") {
		text += "nodes: {n1: {command: a}, n2: {command: b}, n3: {command: c}, db: {command: d}}\n"
	}
	dir := project(t, "bloodhound.yaml\n"+text, "compose.yaml\nservices: {db: {image: postgres}, app: {image: app}}\n")
	if err := os.CopyFS(dir, os.DirFS("testdata/examples")); err != nil {
		t.Fatal(err)
	}
	r, err := Load(Options{Path: dir, Env: noEnv, Images: anyImage})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if noted(r, "the node has `root`, or no image") {
		t.Errorf("what is done on purpose is noted: %v", r.Notes)
	}
	if strings.Contains(text, "compose:") && strings.Contains(text, "app: {root: host") && node1(t, r, "app").Image != nil {
		t.Error("the node has the service's image")
	}
}
