//go:build linux && amd64

package host

import (
	"errors"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
)

// Blobs keeps the bytes of written files and of shared memory, one memfd each, so that programs can map them. How much calls may
// write is bounded by fs; what programs write through maps is counted by Bytes.
type Blobs struct {
	// mu is for the watchdog, which counts what the loop's thread changes.
	mu   sync.Mutex
	fds  map[fs.BlobID]int
	lent map[fs.BlobID]bool // programs may map it
	// left are blobs that nobody names any more and programs may map still: as long as one does, their memory is there.
	left map[fs.BlobID]int
	tidy int // how many of them the last Sweep has kept
	lack *Lack
}

// NewBlobs makes an empty store. What the machine does not give for it is noted in lack, which may be nil.
func NewBlobs(lack *Lack) *Blobs {
	return &Blobs{fds: map[fs.BlobID]int{}, lent: map[fs.BlobID]bool{}, left: map[fs.BlobID]int{}, lack: lack}
}

// Create makes an empty blob. EMFILE where this process can open no more files.
func (b *Blobs) Create(id fs.BlobID) fs.Errno {
	fd, err := unix.MemfdCreate("blob-"+strconv.FormatInt(int64(id), 10), unix.MFD_CLOEXEC)
	if err != nil {
		b.lack.note("memfd_create", err)
		return number(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fds[id] = fd
	return fs.OK
}

// FD is the open file behind a blob, for programs to map or execute.
func (b *Blobs) FD(id fs.BlobID) int {
	b.lent[id] = true
	return b.fd(id)
}

func (b *Blobs) fd(id fs.BlobID) int {
	fd, ok := b.fds[id]
	if !ok {
		panic("host: no blob " + strconv.FormatInt(int64(id), 10))
	}
	return fd
}

// ReadAt reads from a blob.
func (b *Blobs) ReadAt(id fs.BlobID, p []byte, off int64) (int, fs.Errno) {
	return count(unix.Pread(b.fd(id), p, off))
}

// WriteAt writes to a blob.
func (b *Blobs) WriteAt(id fs.BlobID, p []byte, off int64) (int, fs.Errno) {
	n, err := unix.Pwrite(b.fd(id), p, off)
	b.lack.note("a write to a file in memory", err)
	return count(n, err)
}

// Truncate sets a blob's size.
func (b *Blobs) Truncate(id fs.BlobID, size int64) fs.Errno {
	return number(unix.Ftruncate(b.fd(id), size))
}

// PunchHole zeroes a range and gives its memory back.
func (b *Blobs) PunchHole(id fs.BlobID, off, size int64) fs.Errno {
	return number(unix.Fallocate(b.fd(id), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, size))
}

// copyBytes is how much CopyFromBase moves at once where the real kernel does not do it alone.
const copyBytes = 1 << 20

// CopyFromBase fills an empty blob with the first size bytes of a base file. A file that has become shorter leaves
// zeros.
func (b *Blobs) CopyFromBase(id fs.BlobID, base fs.Base, layer int, path string, size int64) fs.Errno {
	off := int64(0)
	if real, ok := base.(*Base); ok {
		in, e := real.FD(layer, path)
		if e != fs.OK {
			return e
		}
		off = copyData(b.fd(id), in, size)
	}
	for buf := make([]byte, min(size-off, copyBytes)); off < size; {
		n, e := base.ReadAt(layer, path, buf[:min(int64(len(buf)), size-off)], off)
		if e != fs.OK {
			return e
		}
		if n == 0 {
			break
		}
		if _, e := b.WriteAt(id, buf[:n], off); e != fs.OK {
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
	if fd, ok := b.fds[id]; ok {
		return allocated(fd)
	}
	if fd, ok := b.left[id]; ok {
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
func (b *Blobs) Bytes() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	total := int64(0)
	for _, fd := range b.fds {
		total += allocated(fd)
	}
	for _, fd := range b.left {
		total += allocated(fd)
	}
	return total
}

// Free forgets a blob; maps of it live on in the processes that have them, and count until a Sweep finds them gone.
func (b *Blobs) Free(id fs.BlobID) {
	fd := b.fd(id)
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.fds, id)
	if b.lent[id] {
		delete(b.lent, id)
		b.left[id] = fd
		return
	}
	unix.Close(fd)
}

// minUntidy is how many freed blobs are worth a look at the maps of all processes.
const minUntidy = 64

// Untidy is true when so many blobs were freed since the last Sweep that another pays.
func (b *Blobs) Untidy() bool { return len(b.left) > 2*max(b.tidy, minUntidy) }

// Sweep gives back the memory of blobs that were freed, but for those whose inodes are mapped.
func (b *Blobs) Sweep(mapped map[uint64]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, fd := range b.left {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) != nil || !mapped[st.Ino] {
			unix.Close(fd)
			delete(b.left, id)
		}
	}
	b.tidy = len(b.left)
}

// Close frees everything.
func (b *Blobs) Close() {
	for id := range b.fds {
		b.Free(id)
	}
	b.Sweep(nil)
}
