//go:build linux && amd64

package linux

import (
	"encoding/binary"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"golang.org/x/sys/unix"
)

// anonymousDev is st_dev of what has no inode in the tree: pipes, sockets, epolls.
const anonymousDev = 0xd

// attributes are what stat reports for a file without an inode in the tree.
func attributes(k *Kernel, f *File) fs.Attr {
	start := k.Nodes[f.Node].FS.Config.StartNs
	a := fs.Attr{Dev: anonymousDev, Inode: fs.InodeID(f.Obj) + 1000, Nlink: 1, Mode: 0o600, AtimeNs: start, MtimeNs: start, CtimeNs: start, BtimeNs: start}
	if stat := k.Kind(f).Stat; stat != nil {
		stat(f, &a)
	}
	return a
}

// statBytes is struct stat. It is valid until the next call.
func statBytes(k *Kernel, a *fs.Attr) []byte {
	b := k.Small[:144]
	clear(b)
	le := binary.LittleEndian
	le.PutUint64(b[0:], a.Dev)
	le.PutUint64(b[8:], uint64(a.Inode))
	le.PutUint64(b[16:], uint64(a.Nlink))
	le.PutUint32(b[24:], a.Mode)
	le.PutUint32(b[28:], uint32(a.UID))
	le.PutUint32(b[32:], uint32(a.GID))
	le.PutUint64(b[40:], a.Rdev)
	le.PutUint64(b[48:], uint64(a.Size))
	le.PutUint64(b[56:], fs.BlockSize)
	le.PutUint64(b[64:], uint64(a.Blocks))
	for i, ns := range [...]int64{a.AtimeNs, a.MtimeNs, a.CtimeNs} {
		sec, nsec := splitNs(ns)
		le.PutUint64(b[72+16*i:], uint64(sec))
		le.PutUint64(b[80+16*i:], uint64(nsec))
	}
	return b
}

// splitNs gives seconds and a part of a second that is never negative.
func splitNs(ns int64) (sec, nsec int64) {
	sec, nsec = ns/1e9, ns%1e9
	if nsec < 0 {
		return sec - 1, nsec + 1e9
	}
	return sec, nsec
}

func statAt(k *Kernel, t *Thread, dirfd int, addr uint64, flags int) (fs.Attr, unix.Errno) {
	id, f, e := find(k, t, dirfd, addr, flags)
	switch {
	case e != 0:
		return fs.Attr{}, e
	case f != nil:
		return attributes(k, f), 0
	}
	return k.Node(t).FS.Stat(id), 0
}

func outStat(k *Kernel, t *Thread, a fs.Attr, e unix.Errno, addr uint64) Result {
	if e != 0 {
		return fail(e)
	}
	return stored(k.Out(t, addr, statBytes(k, &a)))
}

func sysStat(k *Kernel, t *Thread) Result {
	pathAddr, statAddr := t.Call.Args[0].Pointer(), t.Call.Args[1].Pointer()
	a, e := statAt(k, t, unix.AT_FDCWD, pathAddr, 0)
	return outStat(k, t, a, e, statAddr)
}

func sysLstat(k *Kernel, t *Thread) Result {
	pathAddr, statAddr := t.Call.Args[0].Pointer(), t.Call.Args[1].Pointer()
	a, e := statAt(k, t, unix.AT_FDCWD, pathAddr, unix.AT_SYMLINK_NOFOLLOW)
	return outStat(k, t, a, e, statAddr)
}

func sysFstat(k *Kernel, t *Thread) Result {
	fd, statAddr := t.Call.Args[0].Int(), t.Call.Args[1].Pointer()
	f := k.File(t, fd)
	switch {
	case f == nil:
		return fail(unix.EBADF)
	case f.Inode == 0:
		return outStat(k, t, attributes(k, f), 0, statAddr)
	}
	return outStat(k, t, k.Node(t).FS.Stat(f.Inode), 0, statAddr)
}

func sysNewfstatat(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	dirfd, pathAddr, statAddr, flags := args[0].Int(), args[1].Pointer(), args[2].Pointer(), args[3].Int()
	if flags&^(unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT|unix.AT_EMPTY_PATH) != 0 {
		return fail(unix.EINVAL)
	}
	a, e := statAt(k, t, dirfd, pathAddr, flags)
	return outStat(k, t, a, e, statAddr)
}

func sysStatx(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	dirfd, pathAddr, flags, mask := args[0].Int(), args[1].Pointer(), args[2].Int(), args[3].Uint()
	statAddr := args[4].Pointer()
	if flags&^(unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT|unix.AT_EMPTY_PATH|unix.AT_STATX_FORCE_SYNC|unix.AT_STATX_DONT_SYNC) != 0 ||
		flags&(unix.AT_STATX_FORCE_SYNC|unix.AT_STATX_DONT_SYNC) == unix.AT_STATX_FORCE_SYNC|unix.AT_STATX_DONT_SYNC ||
		mask&unix.STATX__RESERVED != 0 {
		return fail(unix.EINVAL)
	}
	a, e := statAt(k, t, dirfd, pathAddr, flags)
	if e != 0 {
		return fail(e)
	}
	b := k.Small[:256] // struct statx
	clear(b)
	le := binary.LittleEndian
	le.PutUint32(b[0:], unix.STATX_BASIC_STATS|unix.STATX_BTIME|unix.STATX_MNT_ID)
	le.PutUint32(b[4:], fs.BlockSize)
	if a.Root {
		le.PutUint64(b[8:], unix.STATX_ATTR_MOUNT_ROOT)
	}
	le.PutUint32(b[16:], uint32(a.Nlink))
	le.PutUint32(b[20:], uint32(a.UID))
	le.PutUint32(b[24:], uint32(a.GID))
	le.PutUint16(b[28:], uint16(a.Mode))
	le.PutUint64(b[32:], uint64(a.Inode))
	le.PutUint64(b[40:], uint64(a.Size))
	le.PutUint64(b[48:], uint64(a.Blocks))
	le.PutUint64(b[56:], unix.STATX_ATTR_MOUNT_ROOT) // the attributes that are known
	for i, ns := range [...]int64{a.AtimeNs, a.BtimeNs, a.CtimeNs, a.MtimeNs} {
		sec, nsec := splitNs(ns)
		le.PutUint64(b[64+16*i:], uint64(sec))
		le.PutUint32(b[72+16*i:], uint32(nsec))
	}
	le.PutUint32(b[128:], unix.Major(a.Rdev))
	le.PutUint32(b[132:], unix.Minor(a.Rdev))
	le.PutUint32(b[136:], unix.Major(a.Dev))
	le.PutUint32(b[140:], unix.Minor(a.Dev))
	le.PutUint64(b[144:], uint64(firstMount+a.Mount))
	return stored(k.Out(t, statAddr, b))
}

// access checks with the real identity of the process, unless AT_EACCESS is given (access(2)).
func access(k *Kernel, t *Thread, dirfd int, addr uint64, mode uint32, flags int) Result {
	if mode&^(fs.R_OK|fs.W_OK|fs.X_OK) != 0 || flags&^(unix.AT_EACCESS|unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH) != 0 {
		return fail(unix.EINVAL)
	}
	path, e := k.Path(t, addr)
	if e != 0 {
		return fail(e)
	}
	env := env(k, t)
	if c := &k.Proc(t).Cred; flags&unix.AT_EACCESS == 0 {
		env.Cred.UID, env.Cred.GID = c.UID, c.GID
	}
	id, f, e := findAs(k, t, env, dirfd, path, flags)
	switch {
	case e != 0:
		return fail(e)
	case f != nil:
		return 0
	}
	return failure(k.Node(t).FS.Access(env, id, mode))
}

func sysAccess(k *Kernel, t *Thread, dirfd int, args []kernel.Argument) Result {
	pathAddr, mode := args[0].Pointer(), args[1].Uint()
	return access(k, t, dirfd, pathAddr, mode, 0)
}

func sysFaccessat2(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	dirfd, pathAddr, mode, flags := args[0].Int(), args[1].Pointer(), args[2].Uint(), args[3].Int()
	return access(k, t, dirfd, pathAddr, mode, flags)
}

// outStatfs gives struct statfs of an inode, or of a pipe or socket.
func outStatfs(k *Kernel, t *Thread, id fs.InodeID, f *File, addr uint64) Result {
	st := fs.Statfs{Type: unix.ANON_INODE_FS_MAGIC, BlockSize: fs.BlockSize, NameMax: 255}
	switch {
	case id != 0:
		st = k.Node(t).FS.Statfs(id)
	case k.Kind(f).Magic != 0:
		st.Type = k.Kind(f).Magic
	}
	flags := int64(0x20) // ST_VALID
	if st.ReadOnly {
		flags |= unix.ST_RDONLY
	}
	b := k.Small[:120]
	clear(b)
	for i, v := range [...]int64{st.Type, st.BlockSize, st.Blocks, st.Free, st.Free, st.Files, st.FFree, 0x42 + st.Mountid, st.NameMax, st.BlockSize, flags} {
		binary.LittleEndian.PutUint64(b[8*i:], uint64(v))
	}
	return stored(k.Out(t, addr, b))
}

func sysStatfs(k *Kernel, t *Thread) Result {
	pathAddr, addr := t.Call.Args[0].Pointer(), t.Call.Args[1].Pointer()
	id, f, e := find(k, t, unix.AT_FDCWD, pathAddr, 0)
	if e != 0 {
		return fail(e)
	}
	return outStatfs(k, t, id, f, addr)
}

func sysFstatfs(k *Kernel, t *Thread) Result {
	fd, addr := t.Call.Args[0].Int(), t.Call.Args[1].Pointer()
	f := k.File(t, fd)
	if f == nil {
		return fail(unix.EBADF)
	}
	return outStatfs(k, t, f.Inode, f, addr)
}
