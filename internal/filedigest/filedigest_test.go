package filedigest

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

func TestOf(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	text := []byte(strings.Repeat("x", 3*stepBytes+1))
	if err := os.WriteFile(file, text, 0o666); err != nil {
		t.Fatal(err)
	}
	want := sha256.Sum256(text)
	if sum, found := Sum(file, nil); sum != hex.EncodeToString(want[:]) || !found || !Hashed(sum) {
		t.Errorf("a file: %q, %v", sum, found)
	}
	if sum, found := Sum(filepath.Join(dir, "none"), nil); sum != "" || found {
		t.Errorf("no file: %q, %v", sum, found)
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{pipe, "/dev/zero", dir} {
		if sum, found := Sum(name, nil); sum != "" || !found {
			t.Errorf("%s: %q, %v", name, sum, found)
		}
	}
}

// A file that is larger than the bound is not read at all, and is told apart by its size and its date.
func TestOfSparseFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sparse")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, 8<<40); err != nil {
		needs.Missing(t, "a file system with sparse files of 8 TiB", err)
	}
	asked := false
	first, found := Sum(file, func() bool { asked = true; return false })
	if !found || Hashed(first) || !strings.Contains(first, "8796093022208 bytes") || asked {
		t.Errorf("%q, %v; it was read: %v", first, found, asked)
	}
	if err := os.Chtimes(file, time.Unix(1, 0), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if second, _ := Sum(file, nil); second == first {
		t.Errorf("with another date it is %q as well", second)
	}
}

// Hashing ends within one step of its order to stop, and what was stopped is hashed when it is asked for again.
func TestOfStops(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, make([]byte, 64*stepBytes), 0o666); err != nil {
		t.Fatal(err)
	}
	asked := 0
	sum, found := Sum(file, func() bool { asked++; return asked > 3 })
	if !found || Hashed(sum) || asked != 4 {
		t.Errorf("%q, %v, after %d steps", sum, found, asked)
	}
	if sum, _ := Sum(file, nil); !Hashed(sum) || len(sum) != 64 {
		t.Errorf("hashed again it is %q", sum)
	}
}
