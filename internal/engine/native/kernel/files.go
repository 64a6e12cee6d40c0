//go:build linux && amd64

package kernel

import (
	"encoding/binary"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/net"
	"golang.org/x/sys/unix"
)

// File is an open file description (open(2)): what duplicated and inherited descriptors share.
type File struct {
	ID          FileID
	Kind        FileKind
	Node        NodeID
	Flags       int // access mode and status flags
	Refs        int
	Pos         int64 // of a FIFO that is being opened: how often the other side had been opened before
	Obj         int64
	Inode       fs.InodeID    // 0 if none; holds a reference
	Path        string        // of what has no name in the tree
	Data        []byte        // of what is synthetic, or has orders
	Dir         []fs.DirEntry // what is being listed of a directory
	Stream      string
	Line        []byte // an unfinished line of a log
	BornOpen    bool   // by memfd_create(2): Linux does not count it among those who write to the file
	Bound       int    // of a log: how many bytes are taken in, 0 all
	Taken       int    // of a log with a Bound
	Owner       int    // F_SETOWN
	OwnerThread bool   // F_OWNER_TID
	Sig         int    // F_SETSIG
	Epolls      []Watch
	Tag         int64
	SyncErrors  int // how many of its inode's failed synchronisations it has seen
	DiskErrors  int // how many of its disk's, see syncfs(2)
}

// Slot is one descriptor of a table; File 0 means that it is free.
type Slot struct {
	File    FileID
	Cloexec bool
}

// Table is a descriptor table; processes and threads made with CLONE_FILES share one.
type Table struct {
	ID    TableID
	Refs  int
	Slots []Slot
	Low   int // no descriptor below is free
}

// file gives the description behind a descriptor, nil if it is not open.
func (k *Kernel) file(t *Thread, fd uint64) *File {
	if t.Call.Held != 0 && int32(fd) == int32(t.Call.Args[0]) {
		return k.Files[t.Call.Held]
	}
	slots := k.Tables[k.proc(t).Table].Slots
	n := int32(fd)
	if n < 0 || int(n) >= len(slots) || slots[n].File == 0 {
		return nil
	}
	return k.Files[slots[n].File]
}

// openForWriting tells whether someone may write to a file.
func (k *Kernel) openForWriting(node NodeID, id fs.InodeID) bool {
	for _, f := range k.Files { // whether there is one: the order leaves no trace
		if f.Kind == FileInode && f.Node == node && f.Inode == id && f.Flags&unix.O_ACCMODE != unix.O_RDONLY && !f.BornOpen {
			return true
		}
	}
	return false
}

// programs knows what runs on a node (fs.Programs).
type programs struct {
	k    *Kernel
	node NodeID
}

func (p *programs) Runs(id fs.InodeID) bool {
	for _, s := range p.k.Spaces { // whether there is one: the order leaves no trace
		if s.Node == p.node && s.Exe == id {
			return true
		}
	}
	return false
}

// hold keeps the file of a call that waits: closing the descriptor meanwhile does not end the wait.
func (k *Kernel) hold(t *Thread) {
	if f := k.file(t, t.Call.Args[0]); f != nil {
		f.Refs++
		t.Call.Held = f.ID
	}
}

func (k *Kernel) letGo(t *Thread) {
	if f := k.Files[t.Call.Held]; f != nil {
		t.Call.Held = 0
		k.unref(f)
	}
}

// newFile makes an open file description without descriptors.
func (k *Kernel) newFile(t *Thread, kind FileKind, flags int) *File {
	f := &File{ID: k.id("file"), Kind: kind, Node: t.Node, Flags: flags &^ unix.O_CLOEXEC}
	k.Files[f.ID] = f
	return f
}

// install gives a description the lowest free descriptor from min on.
func (k *Kernel) install(t *Thread, f *File, min int, cloexec bool) Result {
	p := k.proc(t)
	table := k.Tables[p.Table]
	limit := int(p.Limits[unix.RLIMIT_NOFILE][0])
	fd := max(min, table.Low)
	for fd < len(table.Slots) && table.Slots[fd].File != 0 {
		fd++
	}
	if fd >= limit {
		if f.Refs == 0 {
			f.Refs = 1
			k.unref(f)
		}
		return fail(unix.EMFILE)
	}
	if min <= table.Low {
		table.Low = fd + 1
	}
	k.put(table, fd, f, cloexec)
	return Result(fd)
}

func (k *Kernel) put(table *Table, fd int, f *File, cloexec bool) {
	for fd >= len(table.Slots) {
		table.Slots = append(table.Slots, Slot{})
	}
	table.Slots[fd] = Slot{f.ID, cloexec}
	f.Refs++
}

// opened installs a fresh description; flags may hold O_CLOEXEC.
func (k *Kernel) opened(t *Thread, f *File, flags int) Result {
	return k.install(t, f, 0, flags&unix.O_CLOEXEC != 0)
}

// openedPair installs two fresh descriptions and writes their descriptors, as two ints, to addr; on an error neither is
// left open.
func (k *Kernel) openedPair(t *Thread, first, second *File, flags int, addr uint64) Result {
	a := k.opened(t, first, flags)
	if a < 0 {
		second.Refs = 1
		k.unref(second)
		return a
	}
	b := k.opened(t, second, flags)
	if b < 0 {
		k.closeFD(k.proc(t), int(a))
		return b
	}
	var out [8]byte
	binary.LittleEndian.PutUint32(out[:], uint32(a))
	binary.LittleEndian.PutUint32(out[4:], uint32(b))
	if !k.out(t, addr, out[:]) {
		k.closeFD(k.proc(t), int(a))
		k.closeFD(k.proc(t), int(b))
		return fail(unix.EFAULT)
	}
	return 0
}

// closeFD closes one descriptor of a process.
func (k *Kernel) closeFD(p *Proc, fd int) Result {
	table := k.Tables[p.Table]
	if fd < 0 || fd >= len(table.Slots) || table.Slots[fd].File == 0 {
		return fail(unix.EBADF)
	}
	f := k.Files[table.Slots[fd].File]
	table.Slots[fd] = Slot{}
	table.Low = min(table.Low, fd)
	k.releaseLocks(p, f)
	k.unref(f)
	return 0
}

// unref drops one reference to a description and releases what is behind it with the last one.
func (k *Kernel) unref(f *File) {
	if f.Refs--; f.Refs > 0 {
		return
	}
	for _, w := range f.Epolls {
		k.epollForget(w)
	}
	delete(k.Files, f.ID)
	if release := k.kind(f).Release; release != nil {
		release(k, f)
	}
	if f.Inode != 0 {
		k.releaseInode(f)
	}
}

// dropTable gives up one reference to a descriptor table, and closes its descriptors with the last one.
func (k *Kernel) dropTable(p *Proc) {
	table := k.Tables[p.Table]
	if table == nil {
		return
	}
	if table.Refs--; table.Refs == 0 {
		for fd := range table.Slots {
			if table.Slots[fd].File != 0 {
				k.closeFD(p, fd)
			}
		}
		delete(k.Tables, table.ID)
	}
	p.Table = 0
}

// copyTable makes a private copy of a table, as fork does.
func (k *Kernel) copyTable(id TableID) TableID {
	old := k.Tables[id]
	c := &Table{ID: k.id("table"), Refs: 1, Slots: append([]Slot(nil), old.Slots...), Low: old.Low}
	for _, s := range c.Slots {
		if s.File != 0 {
			k.Files[s.File].Refs++
		}
	}
	k.Tables[c.ID] = c
	return c.ID
}

func sysClose(k *Kernel, t *Thread) Result {
	if t.Call.Aux != 0 {
		return k.linger(t, net.SockID(t.Call.Aux))
	}
	f := k.file(t, t.Call.Args[0])
	r := k.closeFD(k.proc(t), int(int32(t.Call.Args[0])))
	if f != nil && f.Kind == FileSocket && f.Refs == 0 {
		return k.linger(t, net.SockID(f.Obj))
	}
	return r
}

// linger waits in close(2) until the peer has what a socket with SO_LINGER has left behind. The descriptor is gone
// already; a signal ends the wait and nothing else (socket(7)).
func (k *Kernel) linger(t *Thread, sock net.SockID) Result {
	ns := k.Net.Lingering(sock)
	switch {
	case ns == 0, k.signalWaits(t):
		return 0
	case t.expired(k):
		k.missed(t)
		return 0
	}
	t.Call.Aux = int64(sock)
	return k.block(t, k.deadline(t, ns), Key{Kind: KeySocket, ID: int64(sock)})
}

func sysCloseRange(k *Kernel, t *Thread) Result {
	first, last, flags := uint32(t.Call.Args[0]), uint32(t.Call.Args[1]), t.Call.Args[2]
	if first > last || flags&^uint64(unix.CLOSE_RANGE_UNSHARE|unix.CLOSE_RANGE_CLOEXEC) != 0 {
		return fail(unix.EINVAL)
	}
	p := k.proc(t)
	if flags&unix.CLOSE_RANGE_UNSHARE != 0 && k.Tables[p.Table].Refs > 1 {
		old := k.Tables[p.Table]
		p.Table = k.copyTable(p.Table)
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
			k.closeFD(p, fd)
		}
	}
	return 0
}

func sysDup(k *Kernel, t *Thread) Result {
	f := k.file(t, t.Call.Args[0])
	if f == nil {
		return fail(unix.EBADF)
	}
	return k.install(t, f, 0, false)
}

func sysDup2(k *Kernel, t *Thread) Result {
	if k.file(t, t.Call.Args[0]) != nil && int32(t.Call.Args[0]) == int32(t.Call.Args[1]) {
		return Result(int32(t.Call.Args[0]))
	}
	return k.dupTo(t, t.Call.Args[0], t.Call.Args[1], false)
}

func sysDup3(k *Kernel, t *Thread) Result {
	flags := t.Call.Args[2]
	if int32(t.Call.Args[0]) == int32(t.Call.Args[1]) || flags&^uint64(unix.O_CLOEXEC) != 0 {
		return fail(unix.EINVAL)
	}
	return k.dupTo(t, t.Call.Args[0], t.Call.Args[1], flags != 0)
}

func (k *Kernel) dupTo(t *Thread, from, to uint64, cloexec bool) Result {
	p := k.proc(t)
	f, n := k.file(t, from), int(int32(to))
	if f == nil || n < 0 || n >= int(p.Limits[unix.RLIMIT_NOFILE][0]) {
		return fail(unix.EBADF)
	}
	f.Refs++ // closing the target must not release the source
	k.closeFD(p, n)
	k.put(k.Tables[p.Table], n, f, cloexec)
	f.Refs--
	return Result(n)
}

// statusFlags are what F_SETFL may change.
const statusFlags = unix.O_APPEND | unix.O_NONBLOCK | unix.O_DIRECT | unix.O_NOATIME | unix.O_ASYNC

func sysFcntl(k *Kernel, t *Thread) Result {
	fd, cmd, arg := t.Call.Args[0], int(int32(t.Call.Args[1])), t.Call.Args[2]
	f := k.file(t, fd)
	if f == nil {
		return fail(unix.EBADF)
	}
	slot := &k.Tables[k.proc(t).Table].Slots[int32(fd)]
	if f.Kind == FilePath {
		switch cmd {
		case unix.F_DUPFD, unix.F_DUPFD_CLOEXEC, unix.F_GETFD, unix.F_SETFD, unix.F_GETFL:
		default:
			return fail(unix.EBADF)
		}
	}
	switch cmd {
	case unix.F_DUPFD, unix.F_DUPFD_CLOEXEC:
		if arg >= k.proc(t).Limits[unix.RLIMIT_NOFILE][0] {
			return fail(unix.EINVAL)
		}
		return k.install(t, f, int(arg), cmd == unix.F_DUPFD_CLOEXEC)
	case unix.F_GETFD:
		if slot.Cloexec {
			return unix.FD_CLOEXEC
		}
		return 0
	case unix.F_SETFD:
		slot.Cloexec = arg&unix.FD_CLOEXEC != 0
		return 0
	case unix.F_GETFL:
		return Result(f.Flags | 0x8000*b2i(f.Inode != 0 && f.Kind != FilePath)) // O_LARGEFILE, as 64-bit open adds it
	case unix.F_SETFL:
		f.Flags = f.Flags&^statusFlags | int(arg)&statusFlags
		return 0
	case unix.F_GETOWN:
		return Result(f.Owner)
	case unix.F_SETOWN:
		f.Owner = int(int32(arg))
		return 0
	case 15, 16: // F_SETOWN_EX, F_GETOWN_EX: struct f_owner_ex
		return k.fileOwner(t, f, cmd == 15, arg)
	case 10: // F_SETSIG
		f.Sig = int(arg)
		return 0
	case 11: // F_GETSIG
		return Result(f.Sig)
	case unix.F_SETPIPE_SZ, unix.F_GETPIPE_SZ:
		if f.Kind != FilePipe {
			return fail(unix.EBADF)
		}
		return k.pipeSize(f, cmd == unix.F_SETPIPE_SZ, int64(int32(arg)))
	case unix.F_GETLK, unix.F_SETLK, unix.F_SETLKW, unix.F_OFD_GETLK, unix.F_OFD_SETLK, unix.F_OFD_SETLKW:
		return k.recordLock(t, f, cmd, arg)
	case unix.F_ADD_SEALS:
		switch {
		case f.Kind != FileInode:
			return fail(unix.EINVAL)
		case f.Flags&unix.O_ACCMODE == unix.O_RDONLY:
			return fail(unix.EPERM)
		}
		if c, e := k.node(t).FS.Content(k.env(t), f.Inode, false); int(arg)&unix.F_SEAL_WRITE != 0 && e == fs.OK && k.mapsToWrite(t.Node, int64(c.Blob)) {
			return fail(unix.EBUSY)
		}
		return fsFail(k.node(t).FS.AddSeals(f.Inode, int(arg)))
	case unix.F_GET_SEALS:
		if f.Kind != FileInode || !k.node(t).FS.Get(f.Inode).Memory {
			return fail(unix.EINVAL)
		}
		return Result(k.node(t).FS.Get(f.Inode).Seals)
	case unix.F_GETLEASE:
		return unix.F_UNLCK
	case unix.F_GET_RW_HINT, unix.F_GET_FILE_RW_HINT:
		if k.outU64(t, arg, 0) {
			return 0
		}
		return fail(unix.EFAULT)
	case unix.F_SET_RW_HINT, unix.F_SET_FILE_RW_HINT:
		return 0
	}
	if cmd >= linuxCommands && cmd < linuxCommands+32 { // any other number is none of Linux'

		return k.refuse(t, "fcntl("+itoa(cmd)+")", unix.EINVAL)
	}
	return fail(unix.EINVAL)
}

const linuxCommands = 1024 // F_LINUX_SPECIFIC_BASE of fcntl(2)

// Kinds of owners of a file (F_SETOWN_EX of fcntl(2)).
const (
	ownerThread  = 0
	ownerProcess = 1
	ownerGroup   = 2
)

// fileOwner is F_SETOWN_EX and F_GETOWN_EX. The owner is stored as F_SETOWN does: a group is below 0.
func (k *Kernel) fileOwner(t *Thread, f *File, set bool, addr uint64) Result {
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
		if !k.out(t, addr, b[:]) {
			return fail(unix.EFAULT)
		}
		return 0
	}
	if !k.in(t, addr, b[:]) {
		return fail(unix.EFAULT)
	}
	kind, id := le.Uint32(b[:]), int(int32(le.Uint32(b[4:])))
	switch kind {
	case ownerThread, ownerProcess:
		if id != 0 && k.threadByTID(t.Node, id) == nil {
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

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
