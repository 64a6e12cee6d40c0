package scaffolding

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A folder of more files than the bound is looked at in part, and a note says so.
func TestFolderOfManyFiles(t *testing.T) {
	dir := t.TempDir()
	for i := range 10 {
		name := filepath.Join(dir, fmt.Sprint("d", i), "file")
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ entries, files, notes int }{{8, 4, 1}, {100, 10, 0}} {
		f := openFolder(dir, c.entries)
		if len(f.files) > c.files || c.notes == 0 && len(f.files) < c.files {
			t.Errorf("of at most %d entries it lists the files %s", c.entries, strings.Join(f.files, " "))
		}
		if len(f.notes) != c.notes {
			t.Errorf("with at most %d entries the notes are %q", c.entries, f.notes)
		}
	}
}
