//go:build linux

package fs

import (
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
)

// sparse makes a file of ten pages that programs map, of which the second has bytes and the fifth is allocated.
func sparse(t *testing.T) (*State, *Env, memory, InodeID) {
	t.Helper()
	env, blobs := testEnv(t.TempDir())
	s, err := New(env, Config{Root: NoLayer})
	if err != nil {
		t.Fatal(err)
	}
	o, e := s.Open(env, s.Root(), "/f", O_CREAT|O_RDWR, 0o600)
	check := func(e errno.Errno) {
		t.Helper()
		if e != errno.OK {
			t.Fatal(e)
		}
	}
	check(e)
	check(s.Truncate(env, o.Inode, 10*pageBytes))
	_, e = s.WriteAt(env, o.Inode, []byte("x"), pageBytes+5)
	check(e)
	check(s.Fallocate(env, o.Inode, 0, 4*pageBytes, pageBytes))
	check(mapped(s, env, o.Inode))
	return s, env, blobs, o.Inode
}

// A hole is what no call has given room and no program has stored into, up to the end of the file.
func TestHolesBelowMaps(t *testing.T) {
	for _, journal := range []bool{false, true} {
		s, env, blobs, id := sparse(t)
		if journal {
			s.StartJournal(Ext4Ordered)
		}
		blobs.WriteAt(s.inode(id).Blob, []byte("y"), 7*pageBytes)
		want := []Extent{{0, 1}, {2, 4}, {5, 7}, {8, 10}}
		if got := s.Holes(env, id, 0, 20); !slices.Equal(got, want) {
			t.Errorf("journal %v: holes %v, want %v", journal, got, want)
		}
		if got := s.Holes(env, id, 3, 6); !slices.Equal(got, []Extent{{3, 4}, {5, 6}}) {
			t.Errorf("journal %v: holes of a range %v", journal, got)
		}
		s.Fallocate(env, id, FALLOC_FL_PUNCH_HOLE|FALLOC_FL_KEEP_SIZE, 7*pageBytes, pageBytes)
		if got := s.Holes(env, id, 6, 9); !slices.Equal(got, []Extent{{6, 9}}) {
			t.Errorf("journal %v: holes after one was made: %v", journal, got)
		}
	}
}

// After a power loss all pages are on the disk alone, until they are read or written. After a crash those are that are not dirty, once.
func TestPagesOutOfTheCache(t *testing.T) {
	s, env, blobs, id := sparse(t)
	s.StartJournal(Ext4Ordered)
	s.inode(id).Stores = false
	if e := mapped(s, env, id); e != errno.OK {
		t.Fatal(e)
	}
	if s.Evict(env, id); len(s.Cold(id, 0, 10)) > 0 {
		t.Error("pages are cold although no program was killed:", s.Cold(id, 0, 10))
	}
	s.Killed()
	blobs.WriteAt(s.inode(id).Blob, []byte("y"), 7*pageBytes)
	if _, e := s.WriteAt(env, id, []byte("z"), 3*pageBytes); e != errno.OK {
		t.Fatal(e)
	}
	s.inode(id).Life = 0 // as if that had been before the crash
	s.Evict(env, id)
	if got := s.Cold(id, 0, 20); !slices.Equal(got, []Extent{{0, 3}, {4, 7}, {8, 10}}) {
		t.Error("cold after a crash:", got)
	}
	s.ReadAt(env, id, make([]byte, 2*pageBytes), pageBytes)
	s.Evict(env, id)
	if got := s.Cold(id, 0, 5); !slices.Equal(got, []Extent{{0, 1}, {4, 5}}) {
		t.Error("cold after a read:", got)
	}
	if e := s.PowerLoss(env, 1, func(string, uint64) uint64 { return keepAll }); e != errno.OK {
		t.Fatal(e)
	}
	if got := s.Cold(id, 0, 20); !slices.Equal(got, []Extent{{0, 10}}) {
		t.Error("cold after a power loss:", got)
	}
	if b := string(content(s, env, id)); !strings.Contains(b, "x") || !strings.Contains(b, "y") || !strings.Contains(b, "z") {
		t.Error("bytes are gone")
	}
}
