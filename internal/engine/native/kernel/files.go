//go:build linux && amd64

package kernel

import (
	"encoding/binary"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/net"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
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
	BornOpen    bool   // by memfd_create(2): Linux does not count it among the writers of the file
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

// File gives the description behind a descriptor, nil if it is not open.
func (s *State) File(t *Thread, fd int) *File {
	if t.Call.Held != 0 && fd == t.Call.Args[0].Int() {
		return s.Files[t.Call.Held]
	}
	slots := s.Tables[s.Proc(t).Table].Slots
	if fd < 0 || fd >= len(slots) || slots[fd].File == 0 {
		return nil
	}
	return s.Files[slots[fd].File]
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
func (s *State) hold(t *Thread) {
	if f := s.File(t, t.Call.Args[0].Int()); f != nil {
		f.Refs++
		t.Call.Held = f.ID
	}
}

func (k *Kernel) letGo(t *Thread) {
	if f := k.Files[t.Call.Held]; f != nil {
		t.Call.Held = 0
		k.Unref(f)
	}
}

// NewFile makes an open file description without descriptors.
func (s *State) NewFile(t *Thread, kind FileKind, flags int) *File {
	f := &File{ID: s.NewID("file"), Kind: kind, Node: t.Node, Flags: flags &^ unix.O_CLOEXEC}
	s.Files[f.ID] = f
	return f
}

// Install gives a description the lowest free descriptor from min on.
func (k *Kernel) Install(t *Thread, f *File, min int, cloexec bool) Result {
	table := k.Tables[k.Proc(t).Table]
	fd, ok := k.freeFD(t, min)
	if !ok {
		if f.Refs == 0 {
			f.Refs = 1
			k.Unref(f)
		}
		return fail(unix.EMFILE)
	}
	if min <= table.Low {
		table.Low = fd + 1
	}
	k.Put(table, fd, f, cloexec)
	return Result(fd)
}

// freeFD finds the lowest free descriptor of a thread's process from min on.
func (k *Kernel) freeFD(t *Thread, min int) (fd int, ok bool) {
	if !t.Call.Reserved && k.atFDLimit(t) {
		return 0, false
	}
	p := k.Proc(t)
	table := k.Tables[p.Table]
	for fd = max(min, table.Low); fd < len(table.Slots) && table.Slots[fd].File != 0; {
		fd++
	}
	return fd, fd < int(p.Limits[unix.RLIMIT_NOFILE][0])
}

// ReserveFD reports whether the process of a thread may open one more file. open(2) and accept(2) ask before they do anything else, and what
// they have reserved stays theirs while they wait.
func (k *Kernel) ReserveFD(t *Thread) bool {
	if !k.HasFreeFD(t) {
		return false
	}
	t.Call.Reserved = true
	return true
}

// HasFreeFD reports whether the process of a thread may open one more file now.
func (k *Kernel) HasFreeFD(t *Thread) bool {
	_, ok := k.freeFD(t, 0)
	return ok
}

// atFDLimit reports whether a fault leaves a process no new descriptor. The program sees the fault then.
func (k *Kernel) atFDLimit(t *Thread) bool {
	limit := &k.Node(t).FDLimit
	if limit.Fault == 0 || k.Spaces[k.Proc(t).Space].ExecNs >= limit.SinceNs {
		return false
	}
	t.Call.Meet(fault.FDLimit)
	k.Seen(net.FaultRef{Kind: fault.FDLimit, ID: limit.Fault})
	if limit.Refused++; limit.Refused > quickRefusals {
		k.preempt(t, refusalNs)
	}
	return true
}

// Loops that accept try again at once, and would do so a million times in a second of world time. So from the first quickRefusals of a fault on,
// the CPU is given to others for refusalNs after each.
const (
	quickRefusals = 64
	refusalNs     = 1e6
)

// Put makes a descriptor of a table refer to a description.
func (s *State) Put(table *Table, fd int, f *File, cloexec bool) {
	for fd >= len(table.Slots) {
		table.Slots = append(table.Slots, Slot{})
	}
	table.Slots[fd] = Slot{f.ID, cloexec}
	f.Refs++
}

// Opened installs a fresh description; flags may hold O_CLOEXEC.
func (k *Kernel) Opened(t *Thread, f *File, flags int) Result {
	return k.Install(t, f, 0, flags&unix.O_CLOEXEC != 0)
}

// OpenedPair installs two fresh descriptions and writes their descriptors, as two ints, to addr; on an error neither is
// left open.
func (k *Kernel) OpenedPair(t *Thread, first, second *File, flags int, addr uint64) Result {
	a := k.Opened(t, first, flags)
	if a < 0 {
		second.Refs = 1
		k.Unref(second)
		return a
	}
	b := k.Opened(t, second, flags)
	if b < 0 {
		k.CloseFD(k.Proc(t), int(a))
		return b
	}
	var out [8]byte
	binary.LittleEndian.PutUint32(out[:], uint32(a))
	binary.LittleEndian.PutUint32(out[4:], uint32(b))
	if !k.Out(t, addr, out[:]) {
		k.CloseFD(k.Proc(t), int(a))
		k.CloseFD(k.Proc(t), int(b))
		return fail(unix.EFAULT)
	}
	return 0
}

// CloseFD closes one descriptor of a process.
func (k *Kernel) CloseFD(p *Proc, fd int) Result {
	table := k.Tables[p.Table]
	if fd < 0 || fd >= len(table.Slots) || table.Slots[fd].File == 0 {
		return fail(unix.EBADF)
	}
	f := k.Files[table.Slots[fd].File]
	table.Slots[fd] = Slot{}
	table.Low = min(table.Low, fd)
	k.releaseLocks(p, f)
	k.Unref(f)
	return 0
}

// Unref drops one reference to a description and releases what is behind it with the last one.
func (k *Kernel) Unref(f *File) {
	if f.Refs--; f.Refs > 0 {
		return
	}
	for _, w := range f.Epolls {
		k.EpollForget(w)
	}
	delete(k.Files, f.ID)
	if release := k.Kind(f).Release; release != nil {
		release(k, f)
	}
	if f.Inode != 0 {
		k.releaseInode(f)
	}
}

// DropTable gives up one reference to a descriptor table, and closes its descriptors with the last one.
func (k *Kernel) DropTable(p *Proc) {
	table := k.Tables[p.Table]
	if table == nil {
		return
	}
	if table.Refs--; table.Refs == 0 {
		for fd := range table.Slots {
			if table.Slots[fd].File != 0 {
				k.CloseFD(p, fd)
			}
		}
		delete(k.Tables, table.ID)
	}
	p.Table = 0
}

// CopyTable makes a private copy of a table, as fork does.
func (st *State) CopyTable(id TableID) TableID {
	old := st.Tables[id]
	c := &Table{ID: st.NewID("table"), Refs: 1, Slots: append([]Slot(nil), old.Slots...), Low: old.Low}
	for _, s := range c.Slots {
		if s.File != 0 {
			st.Files[s.File].Refs++
		}
	}
	st.Tables[c.ID] = c
	return c.ID
}

// Bit is 1 for true.
func Bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
