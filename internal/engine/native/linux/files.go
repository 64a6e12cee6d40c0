//go:build linux && amd64

package linux

import (
	"encoding/binary"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/net"
	"golang.org/x/sys/unix"
)

// openForWriting reports whether someone may write to a file.
func openForWriting(k *Kernel, node kernel.NodeID, id fs.InodeID) bool {
	for _, f := range k.Files { // whether there is one: the order leaves no trace
		if f.Kind == kernel.FileInode && f.Node == node && f.Inode == id && f.Flags&unix.O_ACCMODE != unix.O_RDONLY && !f.BornOpen {
			return true
		}
	}
	return false
}

func sysClose(k *Kernel, t *Thread) Result {
	fd := t.Call.Args[0].Int()
	if t.Call.Aux != 0 {
		return linger(k, t, net.SockID(t.Call.Aux))
	}
	f := k.File(t, fd)
	r := k.CloseFD(k.Proc(t), fd)
	if f != nil && f.Kind == kernel.FileSocket && f.Refs == 0 {
		return linger(k, t, net.SockID(f.Obj))
	}
	return r
}

// linger waits in close(2) until the peer has what a socket with SO_LINGER has left behind. The descriptor is gone
// already; a signal ends the wait and nothing else (socket(7)).
func linger(k *Kernel, t *Thread, sock net.SockID) Result {
	ns := k.Net.Lingering(sock)
	switch {
	case ns == 0, signalWaits(k, t):
		return 0
	case t.Expired(k):
		missed(k, t)
		return 0
	}
	t.Call.Aux = int64(sock)
	return k.Block(t, k.Deadline(t, ns), Key{Kind: kernel.KeySocket, ID: int64(sock)})
}

func sysCloseRange(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	first, last, flags := args[0].Uint(), args[1].Uint(), args[2].Uint64()
	if first > last || flags&^uint64(unix.CLOSE_RANGE_UNSHARE|unix.CLOSE_RANGE_CLOEXEC) != 0 {
		return fail(unix.EINVAL)
	}
	p := k.Proc(t)
	if flags&unix.CLOSE_RANGE_UNSHARE != 0 && k.Tables[p.Table].Refs > 1 {
		old := k.Tables[p.Table]
		p.Table = k.CopyTable(p.Table)
		old.Refs--
	}
	slots := k.Tables[p.Table].Slots
	for fd := int(first); fd < len(slots) && uint32(fd) <= last; fd++ {
		if slots[fd].File == 0 {
			continue
		}
		if flags&unix.CLOSE_RANGE_CLOEXEC != 0 {
			slots[fd].Cloexec = true
		} else {
			k.CloseFD(p, fd)
		}
	}
	return 0
}

func sysDup(k *Kernel, t *Thread) Result {
	fd := t.Call.Args[0].Int()
	f := k.File(t, fd)
	if f == nil {
		return fail(unix.EBADF)
	}
	return k.Install(t, f, 0, false)
}

func sysDup2(k *Kernel, t *Thread) Result {
	oldfd, newfd := t.Call.Args[0].Int(), t.Call.Args[1].Int()
	if k.File(t, oldfd) != nil && oldfd == newfd {
		return Result(oldfd)
	}
	return dupTo(k, t, oldfd, newfd, false)
}

func sysDup3(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	oldfd, newfd, flags := args[0].Int(), args[1].Int(), args[2].Uint64()
	if oldfd == newfd || flags&^uint64(unix.O_CLOEXEC) != 0 {
		return fail(unix.EINVAL)
	}
	return dupTo(k, t, oldfd, newfd, flags != 0)
}

func dupTo(k *Kernel, t *Thread, from, to int, cloexec bool) Result {
	p := k.Proc(t)
	f := k.File(t, from)
	if f == nil || to < 0 || to >= int(p.Limits[unix.RLIMIT_NOFILE][0]) {
		return fail(unix.EBADF)
	}
	f.Refs++ // closing the target must not release the source
	k.CloseFD(p, to)
	k.Put(k.Tables[p.Table], to, f, cloexec)
	f.Refs--
	return Result(to)
}

// statusFlags are what F_SETFL may change.
const statusFlags = unix.O_APPEND | unix.O_NONBLOCK | unix.O_DIRECT | unix.O_NOATIME | unix.O_ASYNC

func sysFcntl(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	fd, cmd, arg := args[0].Int(), args[1].Int(), args[2].Uint64()
	f := k.File(t, fd)
	if f == nil {
		return fail(unix.EBADF)
	}
	slot := &k.Tables[k.Proc(t).Table].Slots[fd]
	if f.Kind == kernel.FilePath {
		switch cmd {
		case unix.F_DUPFD, unix.F_DUPFD_CLOEXEC, unix.F_GETFD, unix.F_SETFD, unix.F_GETFL:
		default:
			return fail(unix.EBADF)
		}
	}
	switch cmd {
	case unix.F_DUPFD, unix.F_DUPFD_CLOEXEC:
		if arg >= k.Proc(t).Limits[unix.RLIMIT_NOFILE][0] {
			return fail(unix.EINVAL)
		}
		return k.Install(t, f, int(arg), cmd == unix.F_DUPFD_CLOEXEC)
	case unix.F_GETFD:
		if slot.Cloexec {
			return unix.FD_CLOEXEC
		}
		return 0
	case unix.F_SETFD:
		slot.Cloexec = arg&unix.FD_CLOEXEC != 0
		return 0
	case unix.F_GETFL:
		return Result(f.Flags | 0x8000*kernel.Bit(f.Inode != 0 && f.Kind != kernel.FilePath)) // O_LARGEFILE, as 64-bit open adds it
	case unix.F_SETFL:
		f.Flags = f.Flags&^statusFlags | int(arg)&statusFlags
		return 0
	case unix.F_GETOWN:
		return Result(f.Owner)
	case unix.F_SETOWN:
		f.Owner = int(int32(arg))
		return 0
	case 15, 16: // F_SETOWN_EX, F_GETOWN_EX: struct f_owner_ex
		return fileOwner(k, t, f, cmd == 15, arg)
	case 10: // F_SETSIG
		f.Sig = int(arg)
		return 0
	case 11: // F_GETSIG
		return Result(f.Sig)
	case unix.F_SETPIPE_SZ, unix.F_GETPIPE_SZ:
		if f.Kind != kernel.FilePipe {
			return fail(unix.EBADF)
		}
		return pipeSize(k, f, cmd == unix.F_SETPIPE_SZ, int64(int32(arg)))
	case unix.F_GETLK, unix.F_SETLK, unix.F_SETLKW, unix.F_OFD_GETLK, unix.F_OFD_SETLK, unix.F_OFD_SETLKW:
		return recordLock(k, t, f, cmd, arg)
	case unix.F_ADD_SEALS:
		return addSeals(k, t, f, int(arg))
	case unix.F_GET_SEALS:
		if f.Kind != kernel.FileInode || !k.Node(t).FS.Get(f.Inode).Memory {
			return fail(unix.EINVAL)
		}
		return Result(k.Node(t).FS.Get(f.Inode).Seals)
	case unix.F_GETLEASE:
		return unix.F_UNLCK
	case unix.F_GET_RW_HINT, unix.F_GET_FILE_RW_HINT:
		return stored(k.OutU64(t, arg, 0))
	case unix.F_SET_RW_HINT, unix.F_SET_FILE_RW_HINT:
		return 0
	}
	if cmd >= linuxCommands && cmd < linuxCommands+32 { // any other number is none of Linux'
		return k.Refuse(t, "fcntl("+itoa(cmd)+")", unix.EINVAL)
	}
	return fail(unix.EINVAL)
}

func addSeals(k *Kernel, t *Thread, f *File, seals int) Result {
	switch {
	case f.Kind != kernel.FileInode:
		return fail(unix.EINVAL)
	case f.Flags&unix.O_ACCMODE == unix.O_RDONLY:
		return fail(unix.EPERM)
	}
	if c, e := k.Node(t).FS.Content(env(k, t), f.Inode, false); seals&unix.F_SEAL_WRITE != 0 && e == errno.OK && mapsToWrite(k, t.Node, int64(c.Blob)) {
		return fail(unix.EBUSY)
	}
	return failure(k.Node(t).FS.AddSeals(f.Inode, seals))
}

const linuxCommands = 1024 // F_LINUX_SPECIFIC_BASE of fcntl(2)

// Kinds of owners of a file (F_SETOWN_EX of fcntl(2)).
const (
	ownerThread  = 0
	ownerProcess = 1
	ownerGroup   = 2
)

// fileOwner is F_SETOWN_EX and F_GETOWN_EX. The owner is stored as F_SETOWN does: a group is below 0.
func fileOwner(k *Kernel, t *Thread, f *File, set bool, addr uint64) Result {
	var b [8]byte
	le := binary.LittleEndian
	if !set {
		kind, id := uint32(ownerProcess), f.Owner
		if id < 0 {
			kind, id = ownerGroup, -id
		} else if f.OwnerThread {
			kind = ownerThread
		}
		le.PutUint32(b[:], kind)
		le.PutUint32(b[4:], uint32(id))
		return stored(k.Out(t, addr, b[:]))
	}
	if !k.In(t, addr, b[:]) {
		return fail(unix.EFAULT)
	}
	kind, id := le.Uint32(b[:]), int(int32(le.Uint32(b[4:])))
	switch kind {
	case ownerThread, ownerProcess:
		if id != 0 && k.ThreadByTID(t.Node, id) == nil {
			return fail(unix.ESRCH)
		}
		f.Owner, f.OwnerThread = id, kind == ownerThread
	case ownerGroup:
		f.Owner, f.OwnerThread = -id, false
	default:
		return fail(unix.EINVAL)
	}
	return 0
}
