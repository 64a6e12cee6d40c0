//go:build linux

package fs

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
)

// folder is a Base over one real folder, without any cache.
type folder struct{ root string }

func number(err error) errno.Errno {
	for {
		switch e := err.(type) {
		case nil:
			return errno.OK
		case syscall.Errno:
			return errno.Errno(e)
		case *os.PathError:
			err = e.Err
		case *os.LinkError:
			err = e.Err
		case *os.SyscallError:
			err = e.Err
		default:
			panic(err)
		}
	}
}

func (f folder) pathOf(path string) string { return filepath.Join(f.root, path) }

func (f folder) Lstat(_ int, path string) (BaseAttr, errno.Errno) {
	var st syscall.Stat_t
	if err := syscall.Lstat(f.pathOf(path), &st); err != nil {
		return BaseAttr{}, number(err)
	}
	return BaseAttr{Mode: st.Mode, UID: int(st.Uid), GID: int(st.Gid), Size: st.Size, MtimeNs: st.Mtim.Nano(), Rdev: st.Rdev}, errno.OK
}

func (f folder) ReadDir(_ int, path string) ([]string, errno.Errno) {
	list, err := os.ReadDir(f.pathOf(path))
	var names []string
	for _, d := range list {
		names = append(names, d.Name())
	}
	return names, number(err)
}

func (f folder) Readlink(_ int, path string) (string, errno.Errno) {
	t, err := os.Readlink(f.pathOf(path))
	return t, number(err)
}

func (f folder) ReadAt(_ int, path string, p []byte, off int64) (int, errno.Errno) {
	fd, err := syscall.Open(f.pathOf(path), syscall.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return 0, number(err)
	}
	defer syscall.Close(fd)
	if len(p) == 0 {
		return 0, errno.OK
	}
	n, err := syscall.Pread(fd, p, off)
	return n, number(err)
}

// memory is a Blobs of byte slices.
type memory struct{ blobs map[BlobID][]byte }

func (m memory) Create(id BlobID) errno.Errno {
	if _, taken := m.blobs[id]; taken {
		panic("blob twice")
	}
	m.blobs[id] = nil
	return errno.OK
}
func (m memory) ReadAt(id BlobID, p []byte, off int64) (int, errno.Errno) {
	b := m.blobs[id]
	if off >= int64(len(b)) {
		return 0, errno.OK
	}
	return copy(p, b[off:]), errno.OK
}
func (m memory) WriteAt(id BlobID, p []byte, off int64) (int, errno.Errno) {
	if end := off + int64(len(p)); end > int64(len(m.blobs[id])) {
		m.Truncate(id, end)
	}
	return copy(m.blobs[id][off:], p), errno.OK
}
func (m memory) Truncate(id BlobID, size int64) errno.Errno {
	b := make([]byte, size)
	copy(b, m.blobs[id])
	m.blobs[id] = b
	return errno.OK
}
func (m memory) PunchHole(id BlobID, off, size int64) errno.Errno {
	b := m.blobs[id]
	off = min(off, int64(len(b)))
	clear(b[off:min(off+size, int64(len(b)))])
	return errno.OK
}
func (m memory) CopyFromBase(id BlobID, base Base, layer int, path string, size int64) errno.Errno {
	b := make([]byte, size)
	n, e := base.ReadAt(layer, path, b, 0)
	m.blobs[id] = b[:n]
	return e
}
func (m memory) NextData(id BlobID, off int64) int64 {
	for ; off < int64(len(m.blobs[id])); off++ {
		if m.blobs[id][off] != 0 {
			return off
		}
	}
	return -1
}
func (m memory) Free(id BlobID) { delete(m.blobs, id) }

// noSynth has empty /proc and /sys.
type noSynth struct{}

func (noSynth) Lookup(string) (SynthAttr, errno.Errno) { return SynthAttr{}, errno.ENOENT }
func (noSynth) ReadDir(string) ([]string, errno.Errno) { return nil, errno.OK }

func testEnv(root string) (*Env, memory) {
	m, last := memory{map[BlobID][]byte{}}, BlobID(0)
	return &Env{NowNs: 5e18 / 10, Base: folder{root}, Blobs: m, Synth: noSynth{}, NewBlob: func() BlobID { last++; return last }}, m
}

func content(s *State, env *Env, id InodeID) []byte {
	var all bytes.Buffer
	p := make([]byte, 1000)
	for {
		n, e := s.ReadAt(env, id, p, int64(all.Len()))
		if e != errno.OK || n == 0 {
			return all.Bytes()
		}
		all.Write(p[:n])
	}
}
