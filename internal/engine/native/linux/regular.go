//go:build linux && amd64

package linux

import (
	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/moments"
)

// inodeFile is a regular file of a node's tree, or any directory.
var inodeFile = Behaviour{
	Opened: func(k *Kernel, t *Thread, f *File, o *fs.Opened) {
		f.SyncErrors = k.Node(t).FS.Get(o.Inode).SyncErrors
		f.DiskErrors = k.Node(t).FS.SyncErrors
	},
	ReadInto: func(k *Kernel, t *Thread, f *File, v []Iovec, offset int64) Result {
		if f.Flags&unix.O_ACCMODE == unix.O_WRONLY {
			return fail(unix.EBADF)
		}
		if r, waits := slowed(k, t, f, fault.Read); waits {
			return r
		}
		return readContent(k, t, f, v, offset, content)
	},
	WriteFrom: writeFrom, Push: writeFile,
	Take: func(k *Kernel, t *Thread, f *File, pos int64, n int, _ bool) ([]byte, Result) {
		data, e := content(k, t, f, pos, n)
		t.Call.Mix(data)
		return data, fail(e)
	},
	Seekable: true, Seek: seekInode, Object: kernel.Named("file"),
	Unread: func(k *Kernel, f *File) int { return int(max(k.Nodes[f.Node].FS.Size(f.Inode)-f.Pos, 0)) },
}

// maxDirOffset is what SEEK_END of a directory leads to.
const maxDirOffset = 1<<31 - 1

// seekInode is lseek(2) of a file or directory.
func seekInode(k *Kernel, f *File, off int64, whence int) Result {
	s := k.Nodes[f.Node].FS
	if s.Get(f.Inode).Mode&unix.S_IFMT != unix.S_IFREG {
		return seek(f, off, whence, maxDirOffset)
	}
	var e errno.Errno
	switch whence {
	case unix.SEEK_DATA:
		off, e = s.SeekData(f.Inode, off)
	case unix.SEEK_HOLE:
		off, e = s.SeekHole(f.Inode, off)
	default:
		return seek(f, off, whence, s.Size(f.Inode))
	}
	if e != errno.OK {
		return failure(e)
	}
	return seek(f, off, unix.SEEK_SET, 0)
}

// seek moves the position of a file of some size.
func seek(f *File, off int64, whence int, size int64) Result {
	switch whence {
	case unix.SEEK_SET:
	case unix.SEEK_CUR:
		off += f.Pos
	case unix.SEEK_END:
		off += size
	default:
		return fail(unix.EINVAL)
	}
	if off < 0 {
		return fail(unix.EINVAL)
	}
	f.Pos = off
	return Result(off)
}

// writeFrom is pwritev2(2) of a regular file.
func writeFrom(k *Kernel, t *Thread, f *File, v []Iovec, offset int64, flags int) Result {
	data, e := k.Gather(t, v, -1)
	if e != 0 {
		return fail(e)
	}
	if flags&unix.RWF_APPEND != 0 && f.Flags&unix.O_APPEND == 0 {
		f.Flags |= unix.O_APPEND
		defer func() { f.Flags &^= unix.O_APPEND }()
	}
	r := writeFile(k, t, f, data, offset)
	if r > 0 && flags&(unix.RWF_SYNC|unix.RWF_DSYNC) != 0 {
		if e := sync(k, t, f, flags&unix.RWF_SYNC == 0); e < 0 {
			return e
		}
	}
	return r
}

// readContent reads a file whose bytes content gives.
func readContent(k *Kernel, t *Thread, f *File, v []Iovec, offset int64,
	content func(k *Kernel, t *Thread, f *File, pos int64, n int) ([]byte, unix.Errno)) Result {
	pos := offset
	if offset < 0 {
		pos = f.Pos
	}
	data, e := content(k, t, f, pos, kernel.TotalBytes(v))
	if e != 0 {
		return fail(e)
	}
	n := k.ScatterSome(t, v, data)
	if n == 0 && len(data) > 0 {
		return fail(unix.EFAULT)
	}
	if offset < 0 {
		f.Pos = pos + int64(n)
	}
	return Result(n)
}

// content reads up to n bytes of a regular file; they are valid until the next call.
func content(k *Kernel, t *Thread, f *File, pos int64, n int) ([]byte, unix.Errno) {
	if pos < 0 {
		return nil, unix.EINVAL
	}
	s := k.Node(t).FS
	n = int(min(int64(n), max(s.Size(f.Inode)-pos, 0)))
	if n > len(k.Buf) {
		k.Buf = make([]byte, max(n, 2*len(k.Buf)))
	}
	if n > 0 {
		recovers(k, t, f)
	}
	switch h := harm(k, t, f.Inode, fault.Read, pos, n); h.Kind {
	case fault.ReadFail:
		return nil, unix.EIO
	case fault.ReadCorrupt:
		if e := rot(k, t, f, pos, h.Bit); e != 0 {
			return nil, e
		}
	}
	m, e := s.ReadAt(env(k, t), f.Inode, k.Buf[:n], pos)
	return k.Buf[:m], unix.Errno(e)
}

// writeFile writes bytes to a regular file.
func writeFile(k *Kernel, t *Thread, f *File, data []byte, offset int64) Result {
	if r, waits := slowed(k, t, f, fault.Write); waits {
		return r
	}
	s := k.Node(t).FS
	pos := offset
	if offset < 0 {
		pos = f.Pos
	}
	if f.Flags&unix.O_APPEND != 0 {
		pos = s.Size(f.Inode)
	}
	room, e := fileLimit(k, t, pos)
	if e != 0 && len(data) > 0 {
		return fail(e)
	}
	m := store(k, t, f, data[:min(int64(len(data)), room)], pos)
	if m < 0 {
		return m
	}
	if offset < 0 {
		f.Pos = pos + int64(m)
	}
	if f.Flags&unix.O_DSYNC != 0 { // a part of O_SYNC
		if r := sync(k, t, f, f.Flags&unix.O_SYNC != unix.O_SYNC); r < 0 {
			return r
		}
		t.Call.Act = moments.Sync
	}
	return m
}
