//go:build linux && amd64

package kernel

import (
	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
)

// inodeFile is a regular file of a node's tree, or any directory.
var inodeFile = Behaviour{
	Opened: func(k *Kernel, t *Thread, f *File, o *fs.Opened) {
		f.SyncErrors = k.node(t).FS.Get(o.Inode).SyncErrors
		f.DiskErrors = k.node(t).FS.SyncErrors
	},
	ReadInto: func(k *Kernel, t *Thread, f *File, v []Iovec, offset int64) Result {
		if f.Flags&unix.O_ACCMODE == unix.O_WRONLY {
			return fail(unix.EBADF)
		}
		if r, waits := k.slowed(t, f); waits {
			return r
		}
		return k.readContent(t, f, v, offset, (*Kernel).content)
	},
	WriteFrom: (*Kernel).writeFrom, Push: (*Kernel).writeFile,
	Take: func(k *Kernel, t *Thread, f *File, pos int64, n int, _ bool) ([]byte, Result) {
		data, e := k.content(t, f, pos, n)
		t.Call.digest(data)
		return data, fail(e)
	},
	Seekable: true, Seek: (*Kernel).seekInode, Object: named("file"),
	Unread: func(k *Kernel, f *File) int { return int(max(k.Nodes[f.Node].FS.Size(f.Inode)-f.Pos, 0)) },
}

// maxDirOffset is what SEEK_END of a directory leads to.
const maxDirOffset = 1<<31 - 1

// seekInode is lseek(2) of a file or directory.
func (k *Kernel) seekInode(f *File, off int64, whence int) Result {
	s := k.Nodes[f.Node].FS
	if s.Get(f.Inode).Mode&unix.S_IFMT != unix.S_IFREG {
		return seek(f, off, whence, maxDirOffset)
	}
	var e fs.Errno
	switch whence {
	case unix.SEEK_DATA:
		off, e = s.SeekData(f.Inode, off)
	case unix.SEEK_HOLE:
		off, e = s.SeekHole(f.Inode, off)
	default:
		return seek(f, off, whence, s.Size(f.Inode))
	}
	if e != fs.OK {
		return fsFail(e)
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
func (k *Kernel) writeFrom(t *Thread, f *File, v []Iovec, offset int64, flags int) Result {
	data, e := k.gather(t, v, -1)
	if e != 0 {
		return fail(e)
	}
	if flags&unix.RWF_APPEND != 0 && f.Flags&unix.O_APPEND == 0 {
		f.Flags |= unix.O_APPEND
		defer func() { f.Flags &^= unix.O_APPEND }()
	}
	r := k.writeFile(t, f, data, offset)
	if r > 0 && flags&(unix.RWF_SYNC|unix.RWF_DSYNC) != 0 {
		if e := k.sync(t, f, flags&unix.RWF_SYNC == 0); e < 0 {
			return e
		}
	}
	return r
}

// readContent reads a file whose bytes content gives.
func (k *Kernel) readContent(t *Thread, f *File, v []Iovec, offset int64, content func(k *Kernel, t *Thread, f *File, pos int64, n int) ([]byte, unix.Errno)) Result {
	pos := offset
	if offset < 0 {
		pos = f.Pos
	}
	data, e := content(k, t, f, pos, total(v))
	if e != 0 {
		return fail(e)
	}
	n := k.scatterSome(t, v, data)
	if n == 0 && len(data) > 0 {
		return fail(unix.EFAULT)
	}
	if offset < 0 {
		f.Pos = pos + int64(n)
	}
	return Result(n)
}

// content reads up to n bytes of a regular file; they are valid until the next call.
func (k *Kernel) content(t *Thread, f *File, pos int64, n int) ([]byte, unix.Errno) {
	if pos < 0 {
		return nil, unix.EINVAL
	}
	s := k.node(t).FS
	n = int(min(int64(n), max(s.Size(f.Inode)-pos, 0)))
	if n > len(k.buf) {
		k.buf = make([]byte, max(n, 2*len(k.buf)))
	}
	if n > 0 {
		k.recovers(t, f)
	}
	switch h := k.harm(t, f.Inode, fault.Read, pos, n); h.Kind {
	case fault.ReadFail:
		return nil, unix.EIO
	case fault.ReadCorrupt:
		if e := k.rot(t, f, pos, h.Bit); e != 0 {
			return nil, e
		}
	}
	m, e := s.ReadAt(k.env(t), f.Inode, k.buf[:n], pos)
	return k.buf[:m], errno(e)
}

// writeFile writes bytes to a regular file.
func (k *Kernel) writeFile(t *Thread, f *File, data []byte, offset int64) Result {
	if r, waits := k.slowed(t, f); waits {
		return r
	}
	s := k.node(t).FS
	pos := offset
	if offset < 0 {
		pos = f.Pos
	}
	if f.Flags&unix.O_APPEND != 0 {
		pos = s.Size(f.Inode)
	}
	room, e := k.fileLimit(t, pos)
	if e != 0 && len(data) > 0 {
		return fail(e)
	}
	m := k.store(t, f, data[:min(int64(len(data)), room)], pos)
	if m < 0 {
		return m
	}
	if offset < 0 {
		f.Pos = pos + int64(m)
	}
	if f.Flags&unix.O_DSYNC != 0 { // a part of O_SYNC
		if r := k.sync(t, f, f.Flags&unix.O_SYNC != unix.O_SYNC); r < 0 {
			return r
		}
	}
	return m
}
