package filedigest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// until waits for the next tick of the clock by which files have their times.
func until(now time.Time) {
	for !Now().After(now) {
		time.Sleep(time.Millisecond) // a clock has no event
	}
}

// A file that takes the place of another with its size and date has a digest of its own.
func TestReplacedFile(t *testing.T) {
	dir := t.TempDir()
	file, other := filepath.Join(dir, "file"), filepath.Join(dir, "other")
	date := time.Unix(1_700_000_000, 0)
	writeFile(t, file, "one")
	writeFile(t, other, "two")
	for _, name := range []string{file, other} {
		if err := os.Chtimes(name, date, date); err != nil {
			t.Fatal(err)
		}
	}
	before, _ := Sum(file, nil)
	until(Now())
	if err := os.Rename(other, file); err != nil {
		t.Fatal(err)
	}
	if after, _ := Sum(file, nil); after == before {
		t.Error("the digest of the file before is still given")
	}
}

// What may make a run another one is named: files whose digests differ, and files that changed since the first run began, whatever date they
// pretend to have and whatever the digests say. Others are not named.
func TestMeanwhile(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"same", "changed", "back", "dated", "replaced", "new", "gone"} {
		writeFile(t, path(name), "one")
	}
	until(Now())
	until(Now())
	began := Now()
	date := time.Unix(1_700_000_000, 0)
	writeFile(t, path("back"), "two") // while the first run lasts, so that both have the same digest
	writeFile(t, path("dated"), "two")
	if err := os.Chtimes(path("dated"), date, date); err != nil {
		t.Fatal(err)
	}
	writeFile(t, path("other"), "two")
	if err := os.Rename(path("other"), path("replaced")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path("gone")); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"image:x": "1", dir + "/": "a/b"}
	for _, name := range []string{"same", "changed", "back", "dated", "replaced", "gone"} {
		files[path(name)] = "11"
	}
	then := map[string]string{"image:x": "1"}
	for name, sum := range files {
		then[name] = sum
	}
	now := map[string]string{"image:x": "2", path("new"): "11"}
	for name, sum := range files {
		if name != "image:x" {
			now[name] = sum
		}
	}
	now[path("changed")], now[path("gone")], now[dir+"/"] = "22", "gone", "a/c"
	got := Meanwhile(began, then, now)
	want := []string{
		"the folder " + dir + "/ has changed: c added, b removed; the run lists the names in it",
		path("changed") + " has changed", path("gone") + " has changed", "image:x has changed",
		path("back") + " has changed at ", path("dated") + " has changed at ", path("replaced") + " has changed at ",
	}
	if len(got) != len(want) {
		t.Fatalf("%q", got)
	}
	for i, text := range want {
		if !slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, text) }) {
			t.Errorf("%q is not in %q", text, got)
		}
		if exact := i < 4; exact && !slices.Contains(got, text) {
			t.Errorf("%q is not in %q", text, got)
		}
	}
	if list := Meanwhile(Now().Add(time.Hour), then, then); len(list) > 0 {
		t.Errorf("nothing has changed: %q", list)
	}
}
