package report

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/filedigest"
	"github.com/bloodhound-dst/bloodhound/internal/filetree"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// A run sees the folder of then while the files that it read there are the same. Files that were stored without a tree have the names that the run
// listed, and files that the configuration names are never later.
func TestThen(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) string {
		t.Helper()
		if err := os.WriteFile(in(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return filedigest.Text(in(name), nil)
	}
	host := filepath.Join(t.TempDir(), "passwd")
	f := &Failure{Spec: &world.Spec{Dir: dir, Nodes: []world.Node{{Command: []string{"./named"}}}},
		Files: map[string]string{in("read"): write("read", "one"), host: "another digest", dir + "/": "listed/read"}}
	later := func(name string) bool { return f.Then().LookupAt(dir).Later(in(name)) }
	for name, want := range map[string]bool{"read": false, "listed": false, "named": false, "new": true} {
		if later(name) != want {
			t.Errorf("without a tree, %s is later: %v", name, !want)
		}
	}
	if _, known := f.Then().LookupAt(dir).Mode(in("read"), false); known {
		t.Error("without a tree, there are permissions")
	}
	f.Tree = filetree.Read(dir, func(string) bool { return false })
	f.Tree.SetNames("folder", "inside")
	for name, want := range map[string]bool{"read": false, "listed": false, "folder/inside": false, "folder/new": true, "new": true} {
		if later(name) != want {
			t.Errorf("with a tree, %s is later: %v", name, !want)
		}
	}
	write("read", "two")
	if f.Then() != nil {
		t.Error("another build sees the folder of then")
	}
}
