//go:build linux && amd64

package linux

import (
	"encoding/binary"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"golang.org/x/sys/unix"
)

func sysFlock(k *Kernel, t *Thread) Result {
	fd, op := t.Call.Args[0].Int(), t.Call.Args[1].Int()
	f := k.File(t, fd)
	if f == nil || f.Kind == kernel.FilePath {
		return fail(unix.EBADF)
	}
	kind := op &^ unix.LOCK_NB
	switch {
	case kind != unix.LOCK_UN && kind != unix.LOCK_SH && kind != unix.LOCK_EX:
		return fail(unix.EINVAL)
	case f.Inode == 0: // no other process can have it open under another description
		return 0
	}
	s := k.Node(t).FS
	if s.DropFlock(f.Inode, f.ID) { // converting a lock is giving it up first (flock(2))
		k.Wake(k.LockKey(f), kernel.AllEvents)
	}
	if kind == unix.LOCK_UN {
		return 0
	}
	e := s.SetFlock(f.Inode, fs.Flock{Owner: f.ID, Exclusive: kind == unix.LOCK_EX})
	if e == errno.EAGAIN && op&unix.LOCK_NB == 0 {
		return k.Block(t, 0, k.LockKey(f))
	}
	return failure(e)
}

// recordLock is fcntl's F_GETLK, F_SETLK and F_SETLKW, and their OFD kin.
func recordLock(k *Kernel, t *Thread, f *File, cmd int, addr uint64) Result {
	var b [32]byte // struct flock: type, whence, start, len, pid
	if !k.Peek(t, addr, b[:]) {
		return fail(unix.EFAULT)
	}
	le := binary.LittleEndian
	t.Call.Mix(b[0:4])
	t.Call.Mix(b[8:24]) // pid is no question, and there is padding around it
	s := k.Node(t).FS
	var pos, end int64
	if f.Kind == kernel.FileInode {
		pos, end = f.Pos, s.Size(f.Inode)
	}
	typ := int16(le.Uint16(b[0:]))
	l, e := lockRange(int16(le.Uint16(b[2:])), int64(le.Uint64(b[8:])), int64(le.Uint64(b[16:])), pos, end)
	if e != 0 {
		return fail(e)
	}
	p := k.Proc(t)
	l.Owner, l.PID, l.Write = p.ID, p.PID, typ == unix.F_WRLCK
	if cmd == unix.F_OFD_GETLK || cmd == unix.F_OFD_SETLK || cmd == unix.F_OFD_SETLKW {
		if le.Uint32(b[24:]) != 0 {
			return fail(unix.EINVAL)
		}
		l.Owner, l.PID, l.OFD = f.ID, -1, true
	}
	get := cmd == unix.F_GETLK || cmd == unix.F_OFD_GETLK
	mode := f.Flags & unix.O_ACCMODE
	switch {
	case typ != unix.F_RDLCK && typ != unix.F_WRLCK && (typ != unix.F_UNLCK || get):
		return fail(unix.EINVAL)
	case get:
		var c fs.Lock
		found := false
		if f.Inode != 0 {
			c, found = s.Conflict(f.Inode, l)
		}
		describeLock(&b, c, found)
		if !k.Poke(t, addr, b[:]) {
			return fail(unix.EFAULT)
		}
		t.Call.Mix(b[0:4])
		t.Call.Mix(b[8:24])
		if found {
			t.Call.Mix(b[24:28])
		}
		return 0
	case typ == unix.F_RDLCK && mode == unix.O_WRONLY, typ == unix.F_WRLCK && mode == unix.O_RDONLY:
		return fail(unix.EBADF)
	case f.Inode == 0: // a pipe, a socket: no lock on it is in anybody's way
		return 0
	case typ == unix.F_UNLCK:
		if s.DropLock(f.Inode, l) {
			k.Wake(k.LockKey(f), kernel.AllEvents)
		}
		return 0
	}
	fe := s.SetLock(f.Inode, l)
	switch {
	case fe == errno.OK: // part of an own lock may have become weaker
		k.Wake(k.LockKey(f), kernel.AllEvents)
	case fe == errno.EAGAIN && (cmd == unix.F_SETLKW || cmd == unix.F_OFD_SETLKW):
		t.Call.Aux = 0
		if holder, _ := s.Conflict(f.Inode, l); !l.OFD && !holder.OFD {
			if lockCycle(k, p.ID, holder.Owner) {
				return fail(unix.EDEADLK)
			}
			t.Call.Aux = holder.Owner
		}
		return k.Block(t, 0, k.LockKey(f))
	}
	return failure(fe)
}

// lockRange turns the range of struct flock into that of a lock.
func lockRange(whence int16, start, size, pos, end int64) (fs.Lock, unix.Errno) {
	switch whence {
	case unix.SEEK_SET:
	case unix.SEEK_CUR:
		start += pos
	case unix.SEEK_END:
		start += end
	default:
		return fs.Lock{}, unix.EINVAL
	}
	last := int64(fs.ToEnd)
	switch {
	case size > 0:
		if last = start + size - 1; last < start && start >= 0 {
			return fs.Lock{}, unix.EOVERFLOW
		}
	case size < 0:
		start, last = start+size, start-1
	}
	if start < 0 {
		return fs.Lock{}, unix.EINVAL
	}
	return fs.Lock{First: start, Last: last}, 0
}

// describeLock fills struct flock for F_GETLK; without a conflicting lock only the type changes.
func describeLock(b *[32]byte, c fs.Lock, found bool) {
	le := binary.LittleEndian
	if !found {
		le.PutUint16(b[0:], unix.F_UNLCK)
		return
	}
	le.PutUint16(b[0:], unix.F_RDLCK)
	if c.Write {
		le.PutUint16(b[0:], unix.F_WRLCK)
	}
	le.PutUint16(b[2:], unix.SEEK_SET)
	le.PutUint64(b[8:], uint64(c.First))
	size := int64(0)
	if c.Last != fs.ToEnd {
		size = c.Last - c.First + 1
	}
	le.PutUint64(b[16:], uint64(size))
	le.PutUint32(b[24:], uint32(int32(c.PID)))
}

// maxLockChain bounds the search for a deadlock, as Linux does.
const maxLockChain = 10

// lockCycle reports whether the holder of a lock waits, maybe over others, for a lock of proc (EDEADLK).
func lockCycle(k *Kernel, proc, holder kernel.ProcID) bool {
	for range maxLockChain {
		if holder == proc {
			return true
		}
		if holder = waitsFor(k, holder); holder == 0 {
			return false
		}
	}
	return false
}

// waitsFor gives the holder of the record lock for which a process waits, 0 if it waits for none.
func waitsFor(k *Kernel, id kernel.ProcID) kernel.ProcID {
	p := k.Procs[id]
	if p == nil {
		return 0
	}
	for _, tid := range p.Threads {
		if t := k.Threads[tid]; t.State == kernel.Blocked && t.Call.Nr == unix.SYS_FCNTL && t.Call.Aux != 0 {
			return t.Call.Aux
		}
	}
	return 0
}
