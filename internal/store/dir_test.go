package store_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/store"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/storetest"
)

// segments are the files of a folder's entries.
func segments(t *testing.T, path string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(path, "log", "*.seg"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func damages(t *testing.T, d *store.Dir) (list []string) {
	t.Helper()
	if err := d.Check(t.Context(), func(file, damage string) { list = append(list, file+": "+damage) }); err != nil {
		t.Fatal(err)
	}
	return list
}

// A write that was cut short at any byte loses its own entry and none before it.
func TestDirCutShort(t *testing.T) {
	path := t.TempDir()
	d := openDir(t, path)
	storetest.Put(t, d, "first", "second")
	d.Close()
	file := segments(t, path)[0]
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for n := range whole {
		if err := os.WriteFile(file, whole[:n], 0o666); err != nil {
			t.Fatal(err)
		}
		d := openDir(t, path)
		got := storetest.All(t, d, "")
		want := []string{"k = first", "k = second"}[:len(got)]
		if !slices.Equal(got, want) || n == len(whole)-1 && len(got) != 1 {
			t.Fatalf("of %d of %d bytes: %q", n, len(whole), got)
		}
		if list := damages(t, d); len(list) > 0 {
			t.Fatalf("a write under way is taken for damage: %q", list)
		}
		storetest.Put(t, d, "third") // by another writer
		if got := storetest.All(t, d, ""); got[len(got)-1] != "k = third" {
			t.Fatalf("of %d bytes, and a third entry: %q", n, got)
		}
		d.Close()
		for _, f := range segments(t, path) {
			if f != file {
				os.Remove(f)
			}
		}
	}
}

func TestDirDamage(t *testing.T) {
	path := t.TempDir()
	d := openDir(t, path)
	storetest.Put(t, d, "first", "second")
	blob, err := d.PutBlob(t.Context(), []byte("blob"))
	if err != nil {
		t.Fatal(err)
	}
	file := segments(t, path)[0]
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	whole[len(whole)-1] ^= 1
	if err := os.WriteFile(file, whole, 0o666); err != nil {
		t.Fatal(err)
	}
	packed := filepath.Join(path, "blob", string(blob[:2]), string(blob)+".zst")
	if err := os.WriteFile(packed, []byte("other"), 0o666); err != nil {
		t.Fatal(err)
	}
	if got := storetest.All(t, d, ""); !slices.Equal(got, []string{"k = first"}) {
		t.Fatalf("before the damage: %q", got)
	}
	if _, err := d.Blob(t.Context(), blob); err == nil {
		t.Fatal("a damaged blob was given")
	}
	if list := damages(t, d); len(list) != 2 || !strings.Contains(list[0], "checksum") || !strings.Contains(list[1], "damaged") {
		t.Fatalf("found: %q", list)
	}
}

// Folders merge by copying files, the longer one of a name included.
func TestDirCopied(t *testing.T) {
	a, b := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	d := openDir(t, a)
	storetest.Put(t, d, "first")
	if err := os.CopyFS(b, os.DirFS(a)); err != nil {
		t.Fatal(err)
	}
	storetest.Put(t, d, "second")
	other := openDir(t, b)
	storetest.Put(t, other, "third")
	for range 2 {
		if _, err := store.Merge(t.Context(), other, d); err != nil {
			t.Fatal(err)
		}
	}
	if got := storetest.All(t, other, ""); !slices.Equal(got, []string{"k = first", "k = second", "k = third"}) {
		t.Fatalf("merged: %q", got)
	}
	if n := len(segments(t, b)); n != 2 {
		t.Fatalf("%d segments", n)
	}
}

// A segment whose writer lives stays as it is.
func TestDirDropsNothingOfAWriter(t *testing.T) {
	path := t.TempDir()
	writer, other := openDir(t, path), openDir(t, path)
	storetest.Put(t, writer, "first")
	all := func(store.Entry) bool { return true }
	if n, err := other.Drop(t.Context(), "", all); n != 0 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	storetest.Put(t, writer, "second")
	if got := storetest.All(t, other, ""); len(got) != 2 {
		t.Fatalf("left: %q", got)
	}
	writer.Close()
	if n, err := other.Drop(t.Context(), "", all); n != 2 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
}

func TestDirTwice(t *testing.T) {
	path := t.TempDir()
	for range 3 {
		d := openDir(t, path)
		storetest.Put(t, d, "same")
		d.Close()
	}
	d := openDir(t, path)
	defer d.Close()
	if n, err := d.Compact(t.Context()); n != 2 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	if got := storetest.All(t, d, ""); len(got) != 1 || len(segments(t, path)) != 1 {
		t.Fatalf("left: %q in %q", got, segments(t, path))
	}
}

// holed makes a database of two segments, of which the first is damaged behind its first entry.
func holed(t *testing.T) *store.Dir {
	t.Helper()
	path := t.TempDir()
	for _, key := range []string{"a", "b"} {
		d := openDir(t, path)
		if err := d.Add(t.Context(), store.Entry{Key: key}); err != nil {
			t.Fatal(err)
		}
		d.Close()
		if key == "a" {
			storetest.Damage(t, path)
		}
	}
	return openDir(t, path)
}

// What a reader did not get since it is damaged, it learns from the database, also through others in front of it; and no longer when it is repaired.
func TestDamages(t *testing.T) {
	d := holed(t)
	layered := store.NewLayered(store.NewMemory(), d, "")
	defer layered.Close()
	for _, s := range []store.Store{d, store.ReadOnly{Store: d}, layered} {
		if got := storetest.All(t, s, ""); len(got) != 2 {
			t.Errorf("%s: %q", s, got)
		}
		list := store.Damages(s)
		if len(list) != 1 || !strings.Contains(list[0].What, "log/") || !strings.Contains(list[0].Damage, "after byte 31") {
			t.Errorf("%s: %q", s, list)
		}
	}
	// A copy as long as the damaged segment is no reason not to see it.
	copied := openDir(t, filepath.Join(t.TempDir(), "copy"))
	if err := os.CopyFS(filepath.Join(copied.Path(), "log"), os.DirFS(filepath.Join(d.Path(), "log"))); err != nil {
		t.Fatal(err)
	}
	again := openDir(t, d.Path())
	if _, err := store.Merge(t.Context(), copied, again); err != nil || len(store.Damages(again)) != 1 {
		t.Error(err, store.Damages(again))
	}
	if err := os.Remove(filepath.Join(d.Path(), store.Damages(d)[0].What)); err != nil {
		t.Fatal(err)
	}
	if got := storetest.All(t, d, ""); len(got) != 1 || len(store.Damages(d)) != 0 {
		t.Errorf("%q, %q", got, store.Damages(d))
	}
}
