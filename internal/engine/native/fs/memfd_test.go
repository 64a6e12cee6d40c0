//go:build linux

package fs

import (
	"slices"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
)

func TestSeals(t *testing.T) {
	for _, c := range []struct {
		name                        string
		seals                       int
		write, extend, shrink, grow errno.Errno
	}{
		{"none", 0, errno.OK, errno.OK, errno.OK, errno.OK},
		{"shrink", F_SEAL_SHRINK, errno.OK, errno.OK, errno.EPERM, errno.OK},
		{"grow", F_SEAL_GROW, errno.OK, errno.EPERM, errno.OK, errno.EPERM},
		{"write", F_SEAL_WRITE, errno.EPERM, errno.EPERM, errno.OK, errno.OK},
		{"future write", F_SEAL_FUTURE_WRITE, errno.EPERM, errno.EPERM, errno.OK, errno.OK},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, env, _, _ := newState(t, Config{}, nil)
			id, e := s.NewMemory(env, "m", 0o777, 0)
			if e != errno.OK {
				t.Fatal(e)
			}
			defer s.Unref(env, id)
			s.WriteAt(env, id, []byte("0123456789"), 0)
			if e := s.AddSeals(id, c.seals); e != errno.OK {
				t.Fatal(e)
			}
			_, write := s.WriteAt(env, id, []byte("x"), 0)
			_, extend := s.WriteAt(env, id, []byte("xx"), 9)
			shrink, grow := s.Truncate(env, id, 5), s.Truncate(env, id, 20)
			if write != c.write || extend != c.extend || shrink != c.shrink || grow != c.grow {
				t.Errorf("write %v, extend %v, shrink %v, grow %v", write, extend, shrink, grow)
			}
			if _, e := s.Content(env, id, true); e != c.write {
				t.Errorf("map for writing: %v", e)
			}
		})
	}
	s, env, blobs, _ := newState(t, Config{}, nil)
	id, _ := s.NewMemory(env, "m", 0o777, F_SEAL_SEAL)
	if e := s.AddSeals(id, F_SEAL_GROW); e != errno.EPERM {
		t.Error("sealed seals:", e)
	}
	s.WriteAt(env, id, []byte("x"), 0)
	s.Unref(env, id)
	if len(blobs.blobs) != 0 || s.UsedBytes != 0 {
		t.Error("a closed memfd leaves bytes")
	}
}

// TestMapped: what is written through a map does not pass here, so a file that was mapped for writing has no holes, and
// keeps its blob when it is emptied.
func TestMapped(t *testing.T) {
	s, env, _, _ := newState(t, Config{}, nil)
	o, e := s.Open(env, s.Root(), "/f", O_RDWR|O_CREAT, 0o644)
	if e != errno.OK {
		t.Fatal(e)
	}
	s.Truncate(env, o.Inode, 1<<20)
	if _, e := s.SeekData(o.Inode, 0); e != errno.ENXIO {
		t.Error("data in a hole:", e)
	}
	c, _ := s.Content(env, o.Inode, true)
	if off, e := s.SeekData(o.Inode, 5); off != 5 || e != errno.OK {
		t.Error("data of a mapped file:", off, e)
	}
	if off, e := s.SeekHole(o.Inode, 5); off != 1<<20 || e != errno.OK {
		t.Error("hole of a mapped file:", off, e)
	}
	s.Unref(env, o.Inode)
	o, _ = s.Open(env, s.Root(), "/f", O_RDWR|O_TRUNC, 0)
	if again, _ := s.Content(env, o.Inode, true); again.Blob != c.Blob {
		t.Error("an emptied file has lost the bytes that are mapped")
	}
	s.Unref(env, o.Inode)
}

func TestGone(t *testing.T) {
	s, env, _, _ := newState(t, Config{}, nil)
	var made []InodeID
	for _, name := range []string{"/a", "/b", "/c"} {
		id, e := s.Mknod(env, s.Root(), name, S_IFSOCK|0o755)
		if e != errno.OK {
			t.Fatal(e)
		}
		made = append(made, id)
	}
	s.Link(env, made[2], s.Root(), "/d")
	s.Unlink(env, s.Root(), "/a")
	s.Rename(env, s.Root(), "/c", s.Root(), "/b", 0) // over a socket; the mover has another name
	s.Unlink(env, s.Root(), "/b")
	if got := s.TakeGone(); !slices.Equal(got, made[:2]) {
		t.Errorf("gone %v, want %v", got, made[:2])
	}
	s.Unlink(env, s.Root(), "/d")
	if got := s.TakeGone(); !slices.Equal(got, made[2:]) || s.TakeGone() != nil {
		t.Errorf("gone %v, want %v", got, made[2:])
	}
}

// TestReplacedFile: the watchers of a file that another one replaces see its link count change before it goes, and
// after the folder's own events.
func TestReplacedFile(t *testing.T) {
	s, env, _, _ := newState(t, Config{}, nil)
	for _, name := range []string{"/old", "/new"} {
		o, _ := s.Open(env, s.Root(), name, O_RDWR|O_CREAT, 0o644)
		s.Unref(env, o.Inode)
	}
	n, _ := s.NewInotify()
	s.AddWatch(env, n, s.Root(), IN_MOVED_FROM|IN_MOVED_TO)
	p, _ := s.Walk(env, s.Root(), "/old", true)
	s.AddWatch(env, n, p.Inode, IN_ATTRIB|IN_DELETE_SELF)
	s.Rename(env, s.Root(), "/new", s.Root(), "/old", 0)
	var got []uint32
	events, _ := s.TakeEvents(n, 4096)
	for _, e := range events {
		got = append(got, e.Mask)
	}
	if want := []uint32{IN_MOVED_FROM, IN_MOVED_TO, IN_ATTRIB, IN_DELETE_SELF, IN_IGNORED}; !slices.Equal(got, want) {
		t.Errorf("events %#x, want %#x", got, want)
	}
	s.FreeInotify(env, n)
}
