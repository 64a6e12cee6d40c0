//go:build linux && amd64

package kernel

import (
	"encoding/binary"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"golang.org/x/sys/unix"
)

// maxListing bounds what one getdents64 returns.
const maxListing = 1 << 20

// sysGetdents64 hands out a list that is made when a directory is read from its start: what changes meanwhile neither
// repeats nor hides a name.
func sysGetdents64(k *Kernel, t *Thread) Result { return k.getdents(t, false) }

// sysGetdents has the type of a name behind it instead of before it.
func sysGetdents(k *Kernel, t *Thread) Result { return k.getdents(t, true) }

func (k *Kernel) getdents(t *Thread, old bool) Result {
	f := k.file(t, t.Call.Args[0])
	switch {
	case f == nil || f.Kind == FilePath:
		return fail(unix.EBADF)
	case f.Kind != FileInode:
		return fail(unix.ENOTDIR)
	}
	if f.Pos == 0 || f.Dir == nil {
		list, e := k.node(t).FS.ReadDir(k.env(t), f.Inode)
		if e != fs.OK {
			return fsFail(e)
		}
		f.Dir = list
		if k.Leaks.Order != nil {
			k.Leaks.Order(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		}
	}
	room := int(min(t.Call.Args[2], maxListing))
	out := k.buf[:0]
	i := f.Pos
	for ; i < int64(len(f.Dir)); i++ {
		e := &f.Dir[i]
		size := (19 + len(e.Name) + 1 + 7) &^ 7 // struct linux_dirent64
		if len(out)+size > room {
			if len(out) == 0 {
				return fail(unix.EINVAL)
			}
			break
		}
		le := binary.LittleEndian
		start := len(out)
		out = le.AppendUint64(out, uint64(e.Inode))
		out = le.AppendUint64(out, uint64(i+1))
		out = le.AppendUint16(out, uint16(size))
		if !old {
			out = append(out, byte(e.Mode>>12))
		}
		out = append(out, e.Name...)
		for len(out) < start+size {
			out = append(out, 0)
		}
		if old {
			out[len(out)-1] = byte(e.Mode >> 12)
		}
	}
	if len(out) > 0 && !k.out(t, t.Call.Args[1], out) {
		return fail(unix.EFAULT)
	}
	k.buf = out[:cap(out)]
	f.Pos = i
	return Result(len(out))
}

func sysGetcwd(k *Kernel, t *Thread) Result {
	p := k.proc(t)
	s := k.node(t).FS
	path := s.Name(p.Cwd)
	if path == "" {
		return fail(unix.ENOENT)
	}
	path, inside := s.Below(p.Root, path)
	if !inside {
		path = "(unreachable)" + path
	}
	b := append([]byte(path), 0)
	if uint64(len(b)) > t.Call.Args[1] {
		return fail(unix.ERANGE)
	}
	if !k.out(t, t.Call.Args[0], b) {
		return fail(unix.EFAULT)
	}
	return Result(len(b))
}

func (k *Kernel) chdir(t *Thread, id fs.InodeID) Result {
	s := k.node(t).FS
	if id == 0 || s.Get(id).Mode&unix.S_IFMT != unix.S_IFDIR {
		return fail(unix.ENOTDIR)
	}
	if e := s.Access(k.env(t), id, fs.X_OK); e != fs.OK {
		return fsFail(e)
	}
	k.setCwd(k.proc(t), id)
	return 0
}

func sysChdir(k *Kernel, t *Thread) Result {
	id, _, e := k.find(t, unix.AT_FDCWD, t.Call.Args[0], 0)
	if e != 0 {
		return fail(e)
	}
	return k.chdir(t, id)
}

func sysFchdir(k *Kernel, t *Thread) Result {
	f := k.file(t, t.Call.Args[0])
	if f == nil {
		return fail(unix.EBADF)
	}
	return k.chdir(t, f.Inode)
}

// sysChroot is chroot(2): the working directory stays where it is.
func sysChroot(k *Kernel, t *Thread) Result {
	id, _, e := k.find(t, unix.AT_FDCWD, t.Call.Args[0], 0)
	if e != 0 {
		return fail(e)
	}
	s, p := k.node(t).FS, k.proc(t)
	if id == 0 || s.Get(id).Mode&unix.S_IFMT != unix.S_IFDIR {
		return fail(unix.ENOTDIR)
	}
	if e := s.Access(k.env(t), id, fs.X_OK); e != fs.OK {
		return fsFail(e)
	}
	if !p.Cred.may(unix.CAP_SYS_CHROOT) {
		return fail(unix.EPERM)
	}
	k.setRoot(p, id)
	return 0
}

func (k *Kernel) mkdir(t *Thread, dirfd int, addr uint64, mode uint32) Result {
	at, path, e := k.pathAt(t, dirfd, addr)
	if e != 0 {
		return fail(e)
	}
	return fsFail(k.node(t).FS.Mkdir(k.env(t), at, path, mode&^k.proc(t).Umask))
}

func sysMkdir(k *Kernel, t *Thread) Result {
	return k.mkdir(t, unix.AT_FDCWD, t.Call.Args[0], uint32(t.Call.Args[1]))
}

func sysMkdirat(k *Kernel, t *Thread) Result {
	return k.mkdir(t, int(int32(t.Call.Args[0])), t.Call.Args[1], uint32(t.Call.Args[2]))
}

func (k *Kernel) mknod(t *Thread, dirfd int, addr uint64, mode uint32) Result {
	at, path, e := k.pathAt(t, dirfd, addr)
	if e != 0 {
		return fail(e)
	}
	_, fe := k.node(t).FS.Mknod(k.env(t), at, path, mode&^k.proc(t).Umask)
	if fe == fs.EPERM && (mode&unix.S_IFMT == unix.S_IFCHR || mode&unix.S_IFMT == unix.S_IFBLK) {
		return k.refuse(t, "mknod(device)", unix.EPERM)
	}
	return fsFail(fe)
}

func sysMknod(k *Kernel, t *Thread) Result {
	return k.mknod(t, unix.AT_FDCWD, t.Call.Args[0], uint32(t.Call.Args[1]))
}

func sysMknodat(k *Kernel, t *Thread) Result {
	return k.mknod(t, int(int32(t.Call.Args[0])), t.Call.Args[1], uint32(t.Call.Args[2]))
}

func (k *Kernel) unlink(t *Thread, dirfd int, addr uint64, dir bool) Result {
	at, path, e := k.pathAt(t, dirfd, addr)
	if e != 0 {
		return fail(e)
	}
	if dir {
		return fsFail(k.node(t).FS.Rmdir(k.env(t), at, path))
	}
	return fsFail(k.node(t).FS.Unlink(k.env(t), at, path))
}

func sysUnlink(k *Kernel, t *Thread) Result { return k.unlink(t, unix.AT_FDCWD, t.Call.Args[0], false) }
func sysRmdir(k *Kernel, t *Thread) Result  { return k.unlink(t, unix.AT_FDCWD, t.Call.Args[0], true) }

func sysUnlinkat(k *Kernel, t *Thread) Result {
	flags := int(int32(t.Call.Args[2]))
	if flags&^unix.AT_REMOVEDIR != 0 {
		return fail(unix.EINVAL)
	}
	return k.unlink(t, int(int32(t.Call.Args[0])), t.Call.Args[1], flags != 0)
}

func (k *Kernel) rename(t *Thread, fromFD int, from uint64, toFD int, to uint64, flags int) Result {
	at, path, e := k.pathAt(t, fromFD, from)
	if e != 0 {
		return fail(e)
	}
	toAt, toPath, e := k.pathAt(t, toFD, to)
	if e != 0 {
		return fail(e)
	}
	t.Call.Detail += " -> " + toPath
	return fsFail(k.node(t).FS.Rename(k.env(t), at, path, toAt, toPath, flags))
}

func sysRename(k *Kernel, t *Thread) Result {
	return k.rename(t, unix.AT_FDCWD, t.Call.Args[0], unix.AT_FDCWD, t.Call.Args[1], 0)
}

func sysRenameat(k *Kernel, t *Thread) Result {
	a := &t.Call.Args
	return k.rename(t, int(int32(a[0])), a[1], int(int32(a[2])), a[3], 0)
}

func sysRenameat2(k *Kernel, t *Thread) Result {
	a := &t.Call.Args
	return k.rename(t, int(int32(a[0])), a[1], int(int32(a[2])), a[3], int(uint32(a[4])))
}

func (k *Kernel) link(t *Thread, fromFD int, from uint64, toFD int, to uint64, flags int) Result {
	if flags&^(unix.AT_SYMLINK_FOLLOW|unix.AT_EMPTY_PATH) != 0 {
		return fail(unix.EINVAL)
	}
	walk := flags & unix.AT_EMPTY_PATH
	if flags&unix.AT_SYMLINK_FOLLOW == 0 {
		walk |= unix.AT_SYMLINK_NOFOLLOW
	}
	id, f, e := k.find(t, fromFD, from, walk)
	switch {
	case e != 0:
		return fail(e)
	case f != nil:
		return fail(unix.EXDEV)
	}
	at, path, e := k.pathAt(t, toFD, to)
	if e != 0 {
		return fail(e)
	}
	t.Call.Detail += " -> " + path
	return fsFail(k.node(t).FS.Link(k.env(t), id, at, path))
}

func sysLink(k *Kernel, t *Thread) Result {
	return k.link(t, unix.AT_FDCWD, t.Call.Args[0], unix.AT_FDCWD, t.Call.Args[1], 0)
}

func sysLinkat(k *Kernel, t *Thread) Result {
	a := &t.Call.Args
	return k.link(t, int(int32(a[0])), a[1], int(int32(a[2])), a[3], int(int32(a[4])))
}

func (k *Kernel) symlink(t *Thread, target uint64, dirfd int, addr uint64) Result {
	text, e := k.path(t, target)
	if e != 0 {
		return fail(e)
	}
	at, path, e := k.pathAt(t, dirfd, addr)
	if e != 0 {
		return fail(e)
	}
	t.Call.Detail = path + " -> " + text
	return fsFail(k.node(t).FS.Symlink(k.env(t), text, at, path))
}

func sysSymlink(k *Kernel, t *Thread) Result {
	return k.symlink(t, t.Call.Args[0], unix.AT_FDCWD, t.Call.Args[1])
}

func sysSymlinkat(k *Kernel, t *Thread) Result {
	return k.symlink(t, t.Call.Args[0], int(int32(t.Call.Args[1])), t.Call.Args[2])
}

func (k *Kernel) readlink(t *Thread, dirfd int, addr, buf, size uint64) Result {
	if int32(size) <= 0 {
		return fail(unix.EINVAL)
	}
	id, f, e := k.find(t, dirfd, addr, unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH)
	switch {
	case e != 0:
		return fail(e)
	case f != nil:
		return fail(unix.ENOENT)
	}
	target, fe := k.node(t).FS.Readlink(k.env(t), id)
	if fe != fs.OK {
		if t.Call.Detail == "" {
			return fail(unix.ENOENT) // an empty path, for a descriptor that is no link
		}
		return fsFail(fe)
	}
	b := []byte(target)
	b = b[:min(len(b), int(int32(size)))]
	if !k.out(t, buf, b) {
		return fail(unix.EFAULT)
	}
	return Result(len(b))
}

func sysReadlink(k *Kernel, t *Thread) Result {
	return k.readlink(t, unix.AT_FDCWD, t.Call.Args[0], t.Call.Args[1], t.Call.Args[2])
}

func sysReadlinkat(k *Kernel, t *Thread) Result {
	return k.readlink(t, int(int32(t.Call.Args[0])), t.Call.Args[1], t.Call.Args[2], t.Call.Args[3])
}
