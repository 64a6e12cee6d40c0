package filetree

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func write(t *testing.T, mode os.FileMode, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
}

func none(string) bool { return false }

func TestTree(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, 0o644, in("a"), in("folder/b"), in(".git/HEAD"), in("secret/c"), in(".bloodhound/last.txt"))
	write(t, 0o755, in("folder/run"))
	write(t, 0o640, in("folder/private"))
	tree := Read(dir, func(path string) bool { return path == in("secret") })
	for folder, want := range map[string]string{"": ".git/a/folder", "folder": "b/private/run"} {
		if got := tree.Folders[folder]; got != want {
			t.Errorf("%q has %q, want %q", folder, got, want)
		}
	}
	if len(tree.Folders) != 2 {
		t.Errorf("listed: %v", tree.Folders)
	}

	write(t, 0o644, in("new"), in("folder/new"), in("younger/file"), in(".git/index"))
	write(t, 0o644, in(".bloodhound/bin/program"))
	if later := tree.Later(Read(dir, none)); !slices.Equal(later, []string{".bloodhound", "folder/new", "new", "secret", "younger"}) {
		t.Errorf("later: %q", later)
	}
	lookup := tree.LookupAt(dir)
	for name, want := range map[string]bool{"a": false, "folder": false, "folder/b": false, "new": true, "folder/new": true,
		"younger": true, ".git/index": false, "": false, "../elsewhere": false} {
		if lookup.Later(in(name)) != want {
			t.Errorf("%q is later: %v", name, !want)
		}
	}
	for _, c := range []struct {
		name     string
		isFolder bool
		mode     uint32
		known    bool
	}{{"", true, 0o700, true}, {"a", false, 0o644, true}, {"folder", true, 0o755, true}, {"folder/run", false, 0o755, true},
		{"folder/private", false, 0o640, true}, {"new", false, 0, false}, {"../a", false, 0, false}} {
		if mode, known := lookup.Mode(in(c.name), c.isFolder); known != c.known || known && mode != c.mode {
			t.Errorf("%q has %o, %v", c.name, mode, known)
		}
	}
	for name, mode := range map[string]os.FileMode{"": 0o711, "a": 0o600, "folder/run": 0o644, "new": 0o600} {
		if err := os.Chmod(in(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"the permissions of the project's folder were 0700 and are 0711",
		"the permissions of a were 0644 and are 0600", "the permissions of folder/run were 0755 and are 0644"}
	if list := tree.ModesChanged(Read(dir, none)); !slices.Equal(list, want) {
		t.Errorf("changed: %q", list)
	}
	tree.Add("younger/file")
	tree.Add("new")
	if lookup := tree.LookupAt(dir); lookup.Later(in("new")) || lookup.Later(in("younger")) || !lookup.Later(in("folder/new")) {
		t.Errorf("what was added is later: %v", tree.Folders)
	}
	var unknown *Tree
	if lookup := unknown.LookupAt(dir); lookup.Later(in("new")) {
		t.Error("a Tree that is not known has later files")
	} else if _, known := lookup.Mode(in("a"), false); known {
		t.Error("a Tree that is not known has permissions")
	}
}

// A folder that would exceed the bound is not listed, and those of the top come first.
func TestTreeIsBounded(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "many"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range MaxNames {
		if err := os.Symlink("nowhere", filepath.Join(dir, "many", fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	write(t, 0o644, filepath.Join(dir, "other/file"), filepath.Join(dir, "top"))
	tree := Read(dir, none)
	if tree.Folders[""] != "many/other/top" || tree.Folders["other"] != "file" || len(tree.Folders) != 2 {
		t.Errorf("%d folders, the top has %s", len(tree.Folders), strings.Join([]string{tree.Folders[""], tree.Folders["other"]}, "; "))
	}
}

// Names that a run saw in folders that were not listed, such as a database below .bloodhound, have the permissions of the disk.
func TestPermissionsOfUnlistedFolders(t *testing.T) {
	dir := t.TempDir()
	write(t, 0o644, filepath.Join(dir, "a"))
	write(t, 0o600, filepath.Join(dir, ".bloodhound", "database", "base"))
	tree := Read(dir, none)
	tree.SetNames(".bloodhound/database", "base")
	tree.SetNames("", "a/b")
	tree.Add(".bloodhound/database")
	lookup := tree.Clone().LookupAt(dir)
	for name, known := range map[string]bool{"a": true, "b": false, ".bloodhound": false, ".bloodhound/database/base": false} {
		if _, got := lookup.Mode(filepath.Join(dir, name), false); got != known {
			t.Errorf("the permissions of %s are known: %v, want %v", name, got, known)
		}
	}
}
