//go:build linux && amd64

package host

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
)

// Blobs keeps the bytes of written files and of shared memory, one memfd each, so that programs can map them. How much calls may
// write is bounded by fs; what programs write through maps is counted by Bytes.
type Blobs struct {
	// mu is for the watchdog, which counts what the loop's thread changes.
	mu   sync.Mutex
	open map[fs.BlobID]*blob
	lent map[fs.BlobID]bool // programs may map it
	// left are blobs that no name leads to any more and programs may map still: as long as one does, their memory is there.
	left map[fs.BlobID]*blob
	tidy int // how many of them the last Sweep has kept
	// code are the blobs of which processes map code, stale those of them that calls have changed since takeStale.
	code, stale map[fs.BlobID]bool
	lack        *Lack
}

// blob is a memfd. Worlds that are copies of one another share it until one of them writes to it.
type blob struct {
	fd     int
	stores int // that have it
}

func (f *blob) release() {
	if f.stores--; f.stores == 0 {
		unix.Close(f.fd)
	}
}

// NewBlobs makes an empty store. A resource that the machine refuses is noted in lack, which may be nil.
func NewBlobs(lack *Lack) *Blobs {
	return &Blobs{open: map[fs.BlobID]*blob{}, lent: map[fs.BlobID]bool{}, left: map[fs.BlobID]*blob{}, lack: lack,
		code: map[fs.BlobID]bool{}, stale: map[fs.BlobID]bool{}}
}

// Create makes an empty blob. EMFILE where this process can open no more files.
func (b *Blobs) Create(id fs.BlobID) errno.Errno {
	f, err := newBlob(id)
	if err != nil {
		b.lack.note("memfd_create", err)
		return number(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open[id] = f
	return errno.OK
}

func newBlob(id fs.BlobID) (*blob, error) {
	fd, err := unix.MemfdCreate("blob-"+strconv.FormatInt(int64(id), 10), unix.MFD_CLOEXEC)
	return &blob{fd, 1}, err
}

// FD is the open file behind a blob, for programs to map or execute. Its number is that of no file if no memory is left for a
// copy of a blob that worlds share.
func (b *Blobs) FD(id fs.BlobID) int {
	b.lent[id] = true
	fd, err := b.own(id)
	if err != nil {
		return -1
	}
	return fd
}

func (b *Blobs) fd(id fs.BlobID) int { return b.get(id).fd }

func (b *Blobs) get(id fs.BlobID) *blob {
	f, ok := b.open[id]
	if !ok {
		panic("host: no blob " + strconv.FormatInt(int64(id), 10))
	}
	return f
}

// own is the file of a blob for what may change it: no other store has it then.
func (b *Blobs) own(id fs.BlobID) (int, error) {
	f := b.get(id)
	if f.stores == 1 {
		return f.fd, nil
	}
	n, err := f.copy(id)
	if err != nil {
		b.lack.note("a copy of a file in memory", err)
		return -1, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	f.release()
	b.open[id] = n
	return n.fd, nil
}

// copy makes a blob with the same bytes and size.
func (f *blob) copy(id fs.BlobID) (*blob, error) {
	var st unix.Stat_t
	if err := unix.Fstat(f.fd, &st); err != nil {
		return nil, err
	}
	n, err := newBlob(id)
	if err != nil {
		return nil, err
	}
	if err = unix.Ftruncate(n.fd, st.Size); err == nil && copyData(n.fd, f.fd, st.Size) < st.Size {
		err = unix.ENOMEM
	}
	if err != nil {
		n.release()
		return nil, err
	}
	return n, nil
}

// Fork makes a store with the same blobs. Those that no process maps are shared. Of those that are mapped, which are also those
// that no name leads to any more, it has copies of its own.
func (b *Blobs) Fork(lack *Lack, mapped map[fs.BlobID]bool) (*Blobs, error) {
	n := NewBlobs(lack)
	for id, f := range b.open {
		if !mapped[id] {
			f.stores++
			n.open[id] = f
			continue
		}
		c, err := f.copy(id)
		if err != nil {
			n.Close()
			return nil, err
		}
		n.open[id], n.lent[id] = c, true
	}
	for id, f := range b.left {
		if !mapped[id] {
			continue
		}
		c, err := f.copy(id)
		if err != nil {
			n.Close()
			return nil, err
		}
		n.left[id] = c
	}
	n.tidy, n.code, n.stale = len(n.left), maps.Clone(b.code), maps.Clone(b.stale)
	return n, nil
}

// behind is the open file of a blob, also of one that no name leads to any more.
func (b *Blobs) behind(id fs.BlobID) (fd int, ok bool) {
	f := b.open[id]
	if f == nil {
		f = b.left[id]
	}
	if f == nil {
		return -1, false
	}
	return f.fd, true
}

// ReadAt reads from a blob.
func (b *Blobs) ReadAt(id fs.BlobID, p []byte, off int64) (int, errno.Errno) {
	return count(unix.Pread(b.fd(id), p, off))
}

// WriteAt writes to a blob.
func (b *Blobs) WriteAt(id fs.BlobID, p []byte, off int64) (int, errno.Errno) {
	fd, err := b.own(id)
	if err != nil {
		return 0, number(err)
	}
	b.changes(id)
	n, err := unix.Pwrite(fd, p, off)
	b.lack.note("a write to a file in memory", err)
	return count(n, err)
}

// Truncate sets a blob's size.
func (b *Blobs) Truncate(id fs.BlobID, size int64) errno.Errno {
	fd, err := b.own(id)
	if err != nil {
		return number(err)
	}
	b.changes(id)
	return number(unix.Ftruncate(fd, size))
}

// PunchHole zeroes a range and gives its memory back.
func (b *Blobs) PunchHole(id fs.BlobID, off, size int64) errno.Errno {
	fd, err := b.own(id)
	if err != nil {
		return number(err)
	}
	b.changes(id)
	return number(unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, size))
}

// NextData finds the first byte at or behind an offset that is no part of a hole, -1 if there is none.
func (b *Blobs) NextData(id fs.BlobID, off int64) int64 {
	at, err := unix.Seek(b.fd(id), off, unix.SEEK_DATA)
	if err != nil {
		return -1
	}
	return at
}

// watchCode has changes of a blob by calls noted from now on, as long as it has a name.
func (b *Blobs) watchCode(id fs.BlobID) { b.code[id] = true }

func (b *Blobs) changes(id fs.BlobID) {
	if b.code[id] {
		b.stale[id] = true
	}
}

// takeStale gives the blobs with code that calls have changed since the last time, in order.
func (b *Blobs) takeStale() []fs.BlobID {
	if len(b.stale) == 0 {
		return nil
	}
	list := slices.Sorted(maps.Keys(b.stale))
	clear(b.stale)
	return list
}

// copyBytes is how much CopyFromBase moves at once where the real kernel does not do it alone.
const copyBytes = 1 << 20

// CopyFromBase fills an empty blob with the first size bytes of a base file. A file that has become shorter leaves
// zeros.
func (b *Blobs) CopyFromBase(id fs.BlobID, base fs.Base, layer int, path string, size int64) errno.Errno {
	off := int64(0)
	if real, ok := base.(*Base); ok {
		in, e := real.FD(layer, path)
		if e != errno.OK {
			return e
		}
		off = copyData(b.fd(id), in, size)
	}
	for buf := make([]byte, min(size-off, copyBytes)); off < size; {
		n, e := base.ReadAt(layer, path, buf[:min(int64(len(buf)), size-off)], off)
		if e != errno.OK {
			return e
		}
		if n == 0 {
			break
		}
		if _, e := b.WriteAt(id, buf[:n], off); e != errno.OK {
			return e
		}
		off += int64(n)
	}
	return b.Truncate(id, size)
}

// copyData copies the first size bytes of a file but for its holes, and gives the place up to which it has come.
func copyData(to, from int, size int64) (off int64) {
	for off < size {
		data, err := unix.Seek(from, off, unix.SEEK_DATA)
		switch {
		case errors.Is(err, unix.ENXIO), err == nil && data >= size:
			return size // nothing but a hole
		case err != nil:
			return off
		}
		hole, err := unix.Seek(from, data, unix.SEEK_HOLE)
		if err != nil {
			return off
		}
		if _, err := unix.Seek(to, data, unix.SEEK_SET); err != nil {
			return off
		}
		for off = data; off < min(hole, size); {
			if n, err := unix.Sendfile(to, from, &off, int(min(hole-off, size-off, 1<<30))); err != nil || n == 0 {
				return off
			}
		}
	}
	return off
}

// Allocated is how many bytes of memory a blob takes, one that was freed as long as programs may map it.
func (b *Blobs) Allocated(id fs.BlobID) int64 {
	if fd, ok := b.behind(id); ok {
		return allocated(fd)
	}
	return 0
}

func allocated(fd int) int64 {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return 0
	}
	return st.Blocks * 512
}

// Bytes is how much memory all blobs take. Any thread may ask.
func (b *Blobs) Bytes() int64 { return b.sum(func(*blob) int64 { return 1 }) }

// share is how much memory all blobs take, of which those that several stores have count in parts.
func (b *Blobs) share() int64 { return b.sum(func(f *blob) int64 { return int64(f.stores) }) }

func (b *Blobs) sum(among func(*blob) int64) (total int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, list := range []map[fs.BlobID]*blob{b.open, b.left} {
		for _, f := range list {
			total += allocated(f.fd) / among(f)
		}
	}
	return total
}

// Free forgets a blob; maps of it live on in the processes that have them, and count until a Sweep finds them gone.
func (b *Blobs) Free(id fs.BlobID) {
	f := b.get(id)
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.open, id)
	delete(b.code, id)
	if b.lent[id] {
		delete(b.lent, id)
		b.left[id] = f
		return
	}
	f.release()
}

// minUntidy is how many freed blobs are worth a look at the maps of all processes.
const minUntidy = 64

// Untidy is true when so many blobs were freed since the last Sweep that another pays.
func (b *Blobs) Untidy() bool { return len(b.left) > 2*max(b.tidy, minUntidy) }

// Sweep gives back the memory of blobs that were freed, but for those whose inodes are mapped.
func (b *Blobs) Sweep(mapped map[uint64]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, f := range b.left {
		var st unix.Stat_t
		if unix.Fstat(f.fd, &st) != nil || !mapped[st.Ino] {
			f.release()
			delete(b.left, id)
		}
	}
	b.tidy = len(b.left)
}

// Close frees everything.
func (b *Blobs) Close() {
	for id := range b.open {
		b.Free(id)
	}
	b.Sweep(nil)
}
