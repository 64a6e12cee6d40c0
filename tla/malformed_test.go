package tla

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var fileHead = regexp.MustCompile(`(?m)^-- (\S+) --\n`)

// check checks the module M of some files, and tells what came of it.
func check(t *testing.T, files map[string]string) string {
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	result := func() string {
		config, err := ReadConfig(filepath.Join(dir, "M.cfg"))
		if err != nil {
			return err.Error()
		}
		spec, err := Load(filepath.Join(dir, "M.tla"), config)
		if err != nil {
			return err.Error()
		}
		r, err := Check(spec, Options{Distinct: 10_000})
		switch {
		case err != nil:
			return err.Error()
		case len(r.Violations) > 0:
			return fmt.Sprintf("%s %s is violated", r.Violations[0].Kind, r.Violations[0].Name)
		}
		if r.Stopped != "" {
			return "no error, when it was stopped"
		}
		return fmt.Sprintf("no error, %d states", r.Distinct)
	}()
	return strings.ReplaceAll(strings.ReplaceAll(result, dir+string(filepath.Separator), ""), dir, "the folder")
}

// TestMalformed reads testdata/malformed.txt: cases that begin with ##, each with files and what is said of them.
func TestMalformed(t *testing.T) {
	file := filepath.Join("testdata", "malformed.txt")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(text), "\n## ")
	out := head
	for _, c := range strings.Split(rest, "\n## ") {
		title, body, _ := strings.Cut(c, "\n")
		files := map[string]string{"M.cfg": "INIT Init\nNEXT Next\n"}
		at := fileHead.FindAllStringSubmatchIndex(body, -1)
		for i, m := range at {
			end := len(body)
			if i+1 < len(at) {
				end = at[i+1][0]
			}
			files[body[m[2]:m[3]]] = body[m[1]:end]
		}
		want := strings.TrimRight(files["result"], "\n")
		delete(files, "result")
		got := check(t, files)
		if got != want && !*update {
			t.Errorf("%s:\n%s\nwant\n%s", title, got, want)
		}
		kept, _, _ := strings.Cut(body, "-- result --\n")
		out += "\n## " + title + "\n" + strings.TrimRight(kept, "\n") + "\n-- result --\n" + got + "\n"
	}
	if *update {
		if err := os.WriteFile(file, []byte(out), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
