package regular

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	file, link, pipe := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	if err := os.WriteFile(file, []byte("12345"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", link); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o666); err != nil {
		t.Fatal(err)
	}
	if text, err := Read(file, 5); string(text) != "12345" || err != nil {
		t.Errorf("a file of the limit's size gave %q and %v", text, err)
	}
	for _, c := range []struct {
		path, problem string
		limit         int64
	}{
		{file, "has more than 4 bytes", 4},
		{link, "is not a regular file", 100},
		{pipe, "is not a regular file", 100},
		{dir, "is a folder", 100},
		{filepath.Join(dir, "none"), "no such file", 100},
	} {
		if _, err := Read(c.path, c.limit); err == nil || !strings.Contains(err.Error(), c.problem) || !strings.Contains(err.Error(), c.path) {
			t.Errorf("%s: %v, want %q", c.path, err, c.problem)
		}
	}
}
