package project

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Files that Bloodhound has written are hidden as long as they are what it wrote, and so are folders with nothing else in
// them; files of the project never are.
func TestHidden(t *testing.T) {
	dir := t.TempDir()
	spec := &world.Spec{Dir: dir}
	write := func(name string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	expect := func(when string, coming []string, want ...string) {
		t.Helper()
		var got []string
		for _, path := range HiddenFiles(spec, coming) {
			got = append(got, flags.RelativeTo(dir, path))
		}
		want = append(want, CommittedName, reportsName)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: hidden are %v, want %v", when, got, want)
		}
	}
	RecordOutput(spec, write("before.html")) // there is no state folder, and nothing is made for it
	if _, err := os.Stat(filepath.Join(dir, StateName)); err == nil {
		t.Error("a state folder was made")
	}
	expect("without a state folder", nil)
	if err := os.Mkdir(filepath.Join(dir, StateName), 0o777); err != nil {
		t.Fatal(err)
	}
	expect("about to be written", []string{"", filepath.Join(dir, "out", "a.html")}, "out/a.html")
	write("data/mine")
	RecordOutput(spec, write("out/a.html"))
	RecordOutput(spec, write("data/b.xml"))
	RecordOutput(spec, dir) // no file
	expect("written", nil, "out/a.html", "out", "data/b.xml")
	write("out/mine")
	expect("a file beside it", nil, "out/a.html", "data/b.xml")
	if err := os.WriteFile(filepath.Join(dir, "data/b.xml"), []byte("changed by"), 0o666); err != nil { // as long as before
		t.Fatal(err)
	}
	expect("changed", nil, "out/a.html")
	if err := os.WriteFile(filepath.Join(dir, StateName, outputsName), []byte("broken"), 0o666); err != nil {
		t.Fatal(err)
	}
	expect("a list that cannot be read", nil)
}
