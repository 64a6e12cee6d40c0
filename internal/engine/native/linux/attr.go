//go:build linux && amd64

package linux

import (
	"encoding/binary"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"golang.org/x/sys/unix"
)

// inodeOf gives the inode of an open file, 0 if it has none: attributes of a pipe or socket are recorded nowhere.
func inodeOf(k *Kernel, t *Thread, fd int) (fs.InodeID, unix.Errno) {
	f := k.File(t, fd)
	if f == nil || f.Kind == kernel.FilePath {
		return 0, unix.EBADF
	}
	return f.Inode, 0
}

// inodeAt is find for calls that change attributes.
func inodeAt(k *Kernel, t *Thread, dirfd int, addr uint64, flags int) (fs.InodeID, unix.Errno) {
	id, _, e := find(k, t, dirfd, addr, flags)
	return id, e
}

// An inodeArg finds the inode that the first argument of a call refers to.
type inodeArg func(k *Kernel, t *Thread) (fs.InodeID, unix.Errno)

func byPath(k *Kernel, t *Thread) (fs.InodeID, unix.Errno) {
	pathAddr := t.Call.Args[0].Pointer()
	return inodeAt(k, t, unix.AT_FDCWD, pathAddr, 0)
}

func byLink(k *Kernel, t *Thread) (fs.InodeID, unix.Errno) {
	pathAddr := t.Call.Args[0].Pointer()
	return inodeAt(k, t, unix.AT_FDCWD, pathAddr, unix.AT_SYMLINK_NOFOLLOW)
}

func byFD(k *Kernel, t *Thread) (fs.InodeID, unix.Errno) {
	fd := t.Call.Args[0].Int()
	return inodeOf(k, t, fd)
}

// inodeHandler makes the handler of one form of a call: on a path, on a symbolic link, or on a descriptor.
func inodeHandler(arg inodeArg, h func(k *Kernel, t *Thread, arg inodeArg) Result) kernel.Handler {
	return func(k *Kernel, t *Thread) Result { return h(k, t, arg) }
}

func chmod(k *Kernel, t *Thread, id fs.InodeID, e unix.Errno, mode uint32) Result {
	if e != 0 || id == 0 {
		return fail(e)
	}
	return failure(k.Node(t).FS.Chmod(env(k, t), id, mode))
}

func sysChmod(k *Kernel, t *Thread, arg inodeArg) Result {
	mode := t.Call.Args[1].Mode()
	id, e := arg(k, t)
	return chmod(k, t, id, e, mode)
}

func sysFchmodat(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	dirfd, pathAddr, mode := args[0].Int(), args[1].Pointer(), args[2].Mode()
	id, e := inodeAt(k, t, dirfd, pathAddr, 0)
	return chmod(k, t, id, e, mode)
}

func sysFchmodat2(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	dirfd, pathAddr, mode, flags := args[0].Int(), args[1].Pointer(), args[2].Mode(), args[3].Int()
	if flags&^(unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH) != 0 {
		return fail(unix.EINVAL)
	}
	id, e := inodeAt(k, t, dirfd, pathAddr, flags)
	return chmod(k, t, id, e, mode)
}

func chown(k *Kernel, t *Thread, id fs.InodeID, e unix.Errno, uid, gid uint32) Result {
	if e != 0 || id == 0 {
		return fail(e)
	}
	return failure(k.Node(t).FS.Chown(env(k, t), id, id32(uid), id32(gid)))
}

func sysChown(k *Kernel, t *Thread, arg inodeArg) Result {
	uid, gid := t.Call.Args[1].Uint(), t.Call.Args[2].Uint()
	id, e := arg(k, t)
	return chown(k, t, id, e, uid, gid)
}

func sysFchownat(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	dirfd, pathAddr, uid, gid := args[0].Int(), args[1].Pointer(), args[2].Uint(), args[3].Uint()
	flags := args[4].Int()
	if flags&^(unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH) != 0 {
		return fail(unix.EINVAL)
	}
	id, e := inodeAt(k, t, dirfd, pathAddr, flags)
	return chown(k, t, id, e, uid, gid)
}

// fileTimes says what becomes of an inode's access and modification time.
type fileTimes struct {
	how [2]fs.TimeChange
	ns  [2]int64
}

var timesNow = fileTimes{how: [2]fs.TimeChange{fs.NowTime, fs.NowTime}}

func utimes(k *Kernel, t *Thread, id fs.InodeID, e unix.Errno, m fileTimes) Result {
	if e != 0 || id == 0 {
		return fail(e)
	}
	return failure(k.Node(t).FS.Utimens(env(k, t), id, m.how[0], m.ns[0], m.how[1], m.ns[1]))
}

func sysUtimensat(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	dirfd, pathAddr, timesAddr, flags := args[0].Int(), args[1].Pointer(), args[2].Pointer(), args[3].Int()
	if flags&^(unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH) != 0 {
		return fail(unix.EINVAL)
	}
	m := timesNow
	if timesAddr != 0 {
		var b [32]byte
		if !k.Peek(t, timesAddr, b[:]) {
			return fail(unix.EFAULT)
		}
		for i := range 2 {
			sec, nsec := int64(binary.LittleEndian.Uint64(b[16*i:])), int64(binary.LittleEndian.Uint64(b[16*i+8:]))
			switch {
			case nsec == unix.UTIME_NOW:
			case nsec == unix.UTIME_OMIT:
				m.how[i] = fs.KeepTime
			case nsec < 0 || nsec >= 1e9:
				return fail(unix.EINVAL)
			default:
				m.how[i], m.ns[i] = fs.SetTime, sec*1e9+nsec
				t.Call.Mix(b[16*i : 16*i+8])
			}
			t.Call.Mix(b[16*i+8 : 16*i+16])
		}
	}
	if pathAddr == 0 {
		if dirfd == unix.AT_FDCWD {
			return fail(unix.EFAULT)
		}
		id, e := inodeOf(k, t, dirfd)
		return utimes(k, t, id, e, m)
	}
	id, e := inodeAt(k, t, dirfd, pathAddr, flags)
	return utimes(k, t, id, e, m)
}

func sysUtimes(k *Kernel, t *Thread, dirfd int, args []kernel.Argument) Result {
	pathAddr, timesAddr := args[0].Pointer(), args[1].Pointer()
	m := timesNow
	if timesAddr != 0 {
		for i := range m.ns {
			var e unix.Errno
			if m.ns[i], e = timeval(k, t, timesAddr+uint64(16*i)); e != 0 {
				return fail(e)
			}
			m.how[i] = fs.SetTime
		}
	}
	id, e := inodeAt(k, t, dirfd, pathAddr, 0)
	return utimes(k, t, id, e, m)
}

func sysUtime(k *Kernel, t *Thread) Result {
	pathAddr, timesAddr := t.Call.Args[0].Pointer(), t.Call.Args[1].Pointer()
	m := timesNow
	if timesAddr != 0 {
		for i := range m.ns {
			s, ok := k.InU64(t, timesAddr+uint64(8*i))
			if !ok {
				return fail(unix.EFAULT)
			}
			m.how[i], m.ns[i] = fs.SetTime, int64(s)*1e9
		}
	}
	id, e := inodeAt(k, t, unix.AT_FDCWD, pathAddr, 0)
	return utimes(k, t, id, e, m)
}

// Limits of extended attributes (xattr(7)).
const (
	maxXattrName  = 255
	maxXattrValue = 64 << 10
)

// xattrCall finds what a call on extended attributes is about.
func xattrCall(k *Kernel, t *Thread, arg inodeArg) (fs.InodeID, unix.Errno) {
	id, e := arg(k, t)
	if e == 0 && id == 0 {
		e = unix.EOPNOTSUPP
	}
	return id, e
}

func xattrName(k *Kernel, t *Thread) (string, unix.Errno) {
	nameAddr := t.Call.Args[1].Pointer()
	name, e := k.CString(t, nameAddr, maxXattrName)
	if e == unix.ENAMETOOLONG || e == 0 && name == "" {
		e = unix.ERANGE
	}
	return name, e
}

func setXattr(k *Kernel, t *Thread, arg inodeArg) Result {
	args := &t.Call.Args
	valueAddr, size, flags := args[2].Pointer(), args[3].Size(), args[4].Int()
	name, e := xattrName(k, t)
	if e != 0 {
		return fail(e)
	}
	if size > maxXattrValue {
		return fail(unix.E2BIG)
	}
	value := make([]byte, size)
	if !k.In(t, valueAddr, value) {
		return fail(unix.EFAULT)
	}
	id, e := xattrCall(k, t, arg)
	if e != 0 {
		return fail(e)
	}
	return failure(k.Node(t).FS.SetXattr(env(k, t), id, name, value, flags))
}

// xattr reads the file and the name of an attribute that a call is about.
func xattr(k *Kernel, t *Thread, arg inodeArg) (fs.InodeID, string, unix.Errno) {
	name, e := xattrName(k, t)
	if e != 0 {
		return 0, "", e
	}
	id, e := xattrCall(k, t, arg)
	return id, name, e
}

func getXattr(k *Kernel, t *Thread, arg inodeArg) Result {
	valueAddr, size := t.Call.Args[2].Pointer(), t.Call.Args[3].Size()
	id, name, e := xattr(k, t, arg)
	if e != 0 {
		return fail(e)
	}
	value, fe := k.Node(t).FS.GetXattr(env(k, t), id, name)
	if fe != errno.OK {
		return failure(fe)
	}
	return outSized(k, t, value, valueAddr, size)
}

// outSized gives a program bytes for which it has size bytes of room; no room at all asks how many there are.
func outSized(k *Kernel, t *Thread, b []byte, addr, size uint64) Result {
	switch {
	case size == 0:
	case uint64(len(b)) > size:
		return fail(unix.ERANGE)
	case !k.Out(t, addr, b):
		return fail(unix.EFAULT)
	}
	return Result(len(b))
}

func listXattr(k *Kernel, t *Thread, arg inodeArg) Result {
	listAddr, size := t.Call.Args[1].Pointer(), t.Call.Args[2].Size()
	id, e := xattrCall(k, t, arg)
	if e == unix.EOPNOTSUPP {
		return 0
	}
	if e != 0 {
		return fail(e)
	}
	var b []byte
	for _, name := range k.Node(t).FS.ListXattr(id) {
		b = append(append(b, name...), 0)
	}
	return outSized(k, t, b, listAddr, size)
}

func removeXattr(k *Kernel, t *Thread, arg inodeArg) Result {
	id, name, e := xattr(k, t, arg)
	if e != 0 {
		return fail(e)
	}
	return failure(k.Node(t).FS.RemoveXattr(env(k, t), id, name))
}
