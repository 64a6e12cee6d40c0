//go:build linux && amd64

package host

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
)

// A file of the machine is copied but for its holes: a large one with little in it must not take the memory that it says it has.
func TestCopiesLeaveHolesOut(t *testing.T) {
	dir := t.TempDir()
	const size = 256 << 20
	f, err := os.Create(filepath.Join(dir, "sparse"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	content := map[int64]string{0: "first", 100<<20 + 7: "middle", size - 4: "last"}
	for at, text := range content {
		if _, err := f.WriteAt([]byte(text), at); err != nil {
			t.Fatal(err)
		}
	}
	base, err := NewBase([]Layer{{Path: dir}}, nil, dir, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer base.Close()
	b := NewBlobs(nil)
	defer b.Close()
	for id, part := range []int64{size, 100<<20 + 9, 50 << 20, 3} {
		id := fs.BlobID(id + 1)
		if e := b.Create(id); e != errno.OK {
			t.Fatal(e)
		}
		if e := b.CopyFromBase(id, base, 0, "sparse", part); e != errno.OK {
			t.Fatal(e)
		}
		if taken := b.Allocated(id); taken > 4<<20 {
			t.Errorf("%d bytes are copied to %d of memory", part, taken)
		}
		for at, text := range content {
			want := text[:max(0, min(int64(len(text)), part-at))]
			got := make([]byte, len(text))
			if n, _ := b.ReadAt(id, got, at); !bytes.Equal(got[:n], []byte(want)) {
				t.Errorf("of %d bytes, %q is at %d, want %q", part, got[:n], at, want)
			}
		}
	}
}
