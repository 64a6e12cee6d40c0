//go:build linux && amd64

package host

import (
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/engine/native/fs"
)

// Blobs keeps the bytes of written files, one memfd each, so that programs can map them. How much may be written is
// bounded by fs.
type Blobs struct {
	fds  map[fs.BlobID]int
	lack *Lack
}

// NewBlobs makes an empty store. What the machine does not give for it is noted in lack, which may be nil.
func NewBlobs(lack *Lack) *Blobs { return &Blobs{fds: map[fs.BlobID]int{}, lack: lack} }

// Create makes an empty blob. EMFILE where this process can open no more files.
func (b *Blobs) Create(id fs.BlobID) fs.Errno {
	fd, err := unix.MemfdCreate("blob-"+strconv.FormatInt(int64(id), 10), unix.MFD_CLOEXEC)
	if err != nil {
		b.lack.note("memfd_create", err)
		return number(err)
	}
	b.fds[id] = fd
	return fs.OK
}

// FD is the open file behind a blob.
func (b *Blobs) FD(id fs.BlobID) int {
	fd, ok := b.fds[id]
	if !ok {
		panic("host: no blob " + strconv.FormatInt(int64(id), 10))
	}
	return fd
}

// ReadAt reads from a blob.
func (b *Blobs) ReadAt(id fs.BlobID, p []byte, off int64) (int, fs.Errno) {
	return count(unix.Pread(b.FD(id), p, off))
}

// WriteAt writes to a blob.
func (b *Blobs) WriteAt(id fs.BlobID, p []byte, off int64) (int, fs.Errno) {
	n, err := unix.Pwrite(b.FD(id), p, off)
	b.lack.note("a write to a file in memory", err)
	return count(n, err)
}

// Truncate sets a blob's size.
func (b *Blobs) Truncate(id fs.BlobID, size int64) fs.Errno {
	return number(unix.Ftruncate(b.FD(id), size))
}

// PunchHole zeroes a range and gives its memory back.
func (b *Blobs) PunchHole(id fs.BlobID, off, size int64) fs.Errno {
	return number(unix.Fallocate(b.FD(id), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, size))
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
		for off < size {
			n, err := unix.Sendfile(b.FD(id), in, &off, int(min(size-off, 1<<30)))
			if err != nil || n == 0 {
				break
			}
		}
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

// Allocated is how many bytes of memory a blob takes.
func (b *Blobs) Allocated(id fs.BlobID) int64 {
	var st unix.Stat_t
	if unix.Fstat(b.FD(id), &st) != nil {
		return 0
	}
	return st.Blocks * 512
}

// Free forgets a blob; maps of it live on in the processes that have them.
func (b *Blobs) Free(id fs.BlobID) {
	unix.Close(b.FD(id))
	delete(b.fds, id)
}

// Close frees everything.
func (b *Blobs) Close() {
	for id := range b.fds {
		b.Free(id)
	}
}
