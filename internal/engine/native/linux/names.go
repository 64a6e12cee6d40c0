//go:build linux && amd64

package linux

import (
	"encoding/binary"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"golang.org/x/sys/unix"
)

// maxListing bounds what one getdents64 returns.
const maxListing = 1 << 20

// sysGetdents64 hands out a list that is made when a directory is read from its start: what changes meanwhile neither
// repeats nor hides a name.
func sysGetdents64(k *Kernel, t *Thread) Result { return getdents(k, t, false) }

// sysGetdents has the type of a name behind it instead of before it.
func sysGetdents(k *Kernel, t *Thread) Result { return getdents(k, t, true) }

func getdents(k *Kernel, t *Thread, old bool) Result {
	args := &t.Call.Args
	fd, addr, count := args[0].Int(), args[1].Pointer(), args[2].Size()
	f := k.File(t, fd)
	switch {
	case f == nil || f.Kind == kernel.FilePath:
		return fail(unix.EBADF)
	case f.Kind != kernel.FileInode:
		return fail(unix.ENOTDIR)
	}
	if f.Pos == 0 || f.Dir == nil {
		list, e := k.Node(t).FS.ReadDir(env(k, t), f.Inode)
		if e != errno.OK {
			return failure(e)
		}
		f.Dir = list
		if k.Leaks.Order != nil {
			k.Leaks.Order(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		}
	}
	room := int(min(count, maxListing))
	out := k.Buf[:0]
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
	if len(out) > 0 && !k.Out(t, addr, out) {
		return fail(unix.EFAULT)
	}
	k.Buf = out[:cap(out)]
	f.Pos = i
	return Result(len(out))
}

func sysGetcwd(k *Kernel, t *Thread) Result {
	addr, size := t.Call.Args[0].Pointer(), t.Call.Args[1].Size()
	p := k.Proc(t)
	s := k.Node(t).FS
	path := s.Name(p.Cwd)
	if path == "" {
		return fail(unix.ENOENT)
	}
	path, inside := s.Below(p.Root, path)
	if !inside {
		path = "(unreachable)" + path
	}
	b := append([]byte(path), 0)
	if uint64(len(b)) > size {
		return fail(unix.ERANGE)
	}
	if !k.Out(t, addr, b) {
		return fail(unix.EFAULT)
	}
	return Result(len(b))
}

// enterable refuses what is no directory that a thread may search.
func enterable(k *Kernel, t *Thread, id fs.InodeID) Result {
	s := k.Node(t).FS
	if id == 0 || s.Get(id).Mode&unix.S_IFMT != unix.S_IFDIR {
		return fail(unix.ENOTDIR)
	}
	return failure(s.Access(env(k, t), id, fs.X_OK))
}

func chdir(k *Kernel, t *Thread, id fs.InodeID) Result {
	r := enterable(k, t, id)
	if r == 0 {
		setCwd(k, k.Proc(t), id)
	}
	return r
}

func sysChdir(k *Kernel, t *Thread) Result {
	pathAddr := t.Call.Args[0].Pointer()
	id, _, e := find(k, t, unix.AT_FDCWD, pathAddr, 0)
	if e != 0 {
		return fail(e)
	}
	return chdir(k, t, id)
}

func sysFchdir(k *Kernel, t *Thread) Result {
	fd := t.Call.Args[0].Int()
	f := k.File(t, fd)
	if f == nil {
		return fail(unix.EBADF)
	}
	return chdir(k, t, f.Inode)
}

// sysChroot is chroot(2): the working directory stays where it is.
func sysChroot(k *Kernel, t *Thread) Result {
	pathAddr := t.Call.Args[0].Pointer()
	id, _, e := find(k, t, unix.AT_FDCWD, pathAddr, 0)
	if e != 0 {
		return fail(e)
	}
	if r := enterable(k, t, id); r != 0 {
		return r
	}
	p := k.Proc(t)
	if !p.Cred.May(unix.CAP_SYS_CHROOT) {
		return fail(unix.EPERM)
	}
	setRoot(k, p, id)
	return 0
}

// A pathCall serves a call on a path, and its twin whose name ends with "at". Relative paths begin at dirfd;
// args are the arguments from the path on.
type pathCall func(k *Kernel, t *Thread, dirfd int, args []kernel.Argument) Result

// fromCwd makes the handler of a call whose relative paths begin at the working directory.
func fromCwd(h pathCall) kernel.Handler {
	return func(k *Kernel, t *Thread) Result { return h(k, t, unix.AT_FDCWD, t.Call.Args[:]) }
}

// fromDir makes the handler of a call whose first argument is a descriptor of a directory.
func fromDir(h pathCall) kernel.Handler {
	return func(k *Kernel, t *Thread) Result {
		dirfd := t.Call.Args[0].Int()
		return h(k, t, dirfd, t.Call.Args[1:])
	}
}

func mkdir(k *Kernel, t *Thread, dirfd int, args []kernel.Argument) Result {
	pathAddr, mode := args[0].Pointer(), args[1].Mode()
	at, path, e := pathFrom(k, t, dirfd, pathAddr)
	if e != 0 {
		return fail(e)
	}
	return failure(k.Node(t).FS.Mkdir(env(k, t), at, path, mode&^k.Proc(t).Umask))
}

func mknod(k *Kernel, t *Thread, dirfd int, args []kernel.Argument) Result {
	pathAddr, mode := args[0].Pointer(), args[1].Mode()
	at, path, e := pathFrom(k, t, dirfd, pathAddr)
	if e != 0 {
		return fail(e)
	}
	_, fe := k.Node(t).FS.Mknod(env(k, t), at, path, mode&^k.Proc(t).Umask)
	if fe == errno.EPERM && (mode&unix.S_IFMT == unix.S_IFCHR || mode&unix.S_IFMT == unix.S_IFBLK) {
		return k.Refuse(t, "mknod(device)", unix.EPERM)
	}
	return failure(fe)
}

func unlink(k *Kernel, t *Thread, dirfd int, addr uint64, dir bool) Result {
	at, path, e := pathFrom(k, t, dirfd, addr)
	if e != 0 {
		return fail(e)
	}
	if dir {
		return failure(k.Node(t).FS.Rmdir(env(k, t), at, path))
	}
	return failure(k.Node(t).FS.Unlink(env(k, t), at, path))
}

func sysUnlink(k *Kernel, t *Thread) Result {
	pathAddr := t.Call.Args[0].Pointer()
	return unlink(k, t, unix.AT_FDCWD, pathAddr, false)
}

func sysRmdir(k *Kernel, t *Thread) Result {
	pathAddr := t.Call.Args[0].Pointer()
	return unlink(k, t, unix.AT_FDCWD, pathAddr, true)
}

func sysUnlinkat(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	dirfd, pathAddr, flags := args[0].Int(), args[1].Pointer(), args[2].Int()
	if flags&^unix.AT_REMOVEDIR != 0 {
		return fail(unix.EINVAL)
	}
	return unlink(k, t, dirfd, pathAddr, flags != 0)
}

func rename(k *Kernel, t *Thread, fromFD int, from uint64, toFD int, to uint64, flags int) Result {
	at, path, e := pathFrom(k, t, fromFD, from)
	if e != 0 {
		return fail(e)
	}
	toAt, toPath, e := pathFrom(k, t, toFD, to)
	if e != 0 {
		return fail(e)
	}
	t.Call.Detail += " -> " + toPath
	return failure(k.Node(t).FS.Rename(env(k, t), at, path, toAt, toPath, flags))
}

func sysRename(k *Kernel, t *Thread) Result {
	oldAddr, newAddr := t.Call.Args[0].Pointer(), t.Call.Args[1].Pointer()
	return rename(k, t, unix.AT_FDCWD, oldAddr, unix.AT_FDCWD, newAddr, 0)
}

func sysRenameat(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	oldDir, oldAddr, newDir, newAddr := args[0].Int(), args[1].Pointer(), args[2].Int(), args[3].Pointer()
	return rename(k, t, oldDir, oldAddr, newDir, newAddr, 0)
}

func sysRenameat2(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	oldDir, oldAddr, newDir, newAddr := args[0].Int(), args[1].Pointer(), args[2].Int(), args[3].Pointer()
	flags := args[4].Uint()
	return rename(k, t, oldDir, oldAddr, newDir, newAddr, int(flags))
}

func link(k *Kernel, t *Thread, fromFD int, from uint64, toFD int, to uint64, flags int) Result {
	if flags&^(unix.AT_SYMLINK_FOLLOW|unix.AT_EMPTY_PATH) != 0 {
		return fail(unix.EINVAL)
	}
	walk := flags & unix.AT_EMPTY_PATH
	if flags&unix.AT_SYMLINK_FOLLOW == 0 {
		walk |= unix.AT_SYMLINK_NOFOLLOW
	}
	id, f, e := find(k, t, fromFD, from, walk)
	switch {
	case e != 0:
		return fail(e)
	case f != nil:
		return fail(unix.EXDEV)
	}
	at, path, e := pathFrom(k, t, toFD, to)
	if e != 0 {
		return fail(e)
	}
	t.Call.Detail += " -> " + path
	return failure(k.Node(t).FS.Link(env(k, t), id, at, path))
}

func sysLink(k *Kernel, t *Thread) Result {
	oldAddr, newAddr := t.Call.Args[0].Pointer(), t.Call.Args[1].Pointer()
	return link(k, t, unix.AT_FDCWD, oldAddr, unix.AT_FDCWD, newAddr, 0)
}

func sysLinkat(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	oldDir, oldAddr, newDir, newAddr := args[0].Int(), args[1].Pointer(), args[2].Int(), args[3].Pointer()
	flags := args[4].Int()
	return link(k, t, oldDir, oldAddr, newDir, newAddr, flags)
}

func symlink(k *Kernel, t *Thread, target uint64, dirfd int, addr uint64) Result {
	text, e := k.Path(t, target)
	if e != 0 {
		return fail(e)
	}
	at, path, e := pathFrom(k, t, dirfd, addr)
	if e != 0 {
		return fail(e)
	}
	t.Call.Detail = path + " -> " + text
	return failure(k.Node(t).FS.Symlink(env(k, t), text, at, path))
}

func sysSymlink(k *Kernel, t *Thread) Result {
	targetAddr, pathAddr := t.Call.Args[0].Pointer(), t.Call.Args[1].Pointer()
	return symlink(k, t, targetAddr, unix.AT_FDCWD, pathAddr)
}

func sysSymlinkat(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	targetAddr, dirfd, pathAddr := args[0].Pointer(), args[1].Int(), args[2].Pointer()
	return symlink(k, t, targetAddr, dirfd, pathAddr)
}

func readlink(k *Kernel, t *Thread, dirfd int, args []kernel.Argument) Result {
	pathAddr, addr, size := args[0].Pointer(), args[1].Pointer(), args[2].Int()
	if size <= 0 {
		return fail(unix.EINVAL)
	}
	id, f, e := find(k, t, dirfd, pathAddr, unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH)
	switch {
	case e != 0:
		return fail(e)
	case f != nil:
		return fail(unix.ENOENT)
	}
	target, fe := k.Node(t).FS.Readlink(env(k, t), id)
	if fe != errno.OK {
		if t.Call.Detail == "" {
			return fail(unix.ENOENT) // an empty path, for a descriptor that is no link
		}
		return failure(fe)
	}
	b := []byte(target)
	b = b[:min(len(b), size)]
	if !k.Out(t, addr, b) {
		return fail(unix.EFAULT)
	}
	return Result(len(b))
}
