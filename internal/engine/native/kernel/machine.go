//go:build linux && amd64

package kernel

import (
	"syscall"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/dump"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/net"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Machine is the real world, as the kernel needs it. host.Machine is the only implementation; see there for the
// meaning of each method.
type Machine interface {
	Resume(id ThreadID, everyCall bool, stop *machine.Stop)
	Walk(id ThreadID, instructions int)
	Result(id ThreadID, v int64)
	Restart(id ThreadID, nr uint64)
	Native(id ThreadID) int64
	Pass(id ThreadID)
	Execute(id ThreadID, nr uint64, args ...uint64) int64
	OpenFD(id ThreadID, fd int, writable bool) int64
	Read(id ThreadID, addr uint64, p []byte) int
	ReadBoth(id ThreadID, first, second machine.Part) bool
	Write(id ThreadID, addr uint64, p []byte) int
	WriteParts(id ThreadID, parts ...machine.Part) int
	Sigmask(id ThreadID) uint64
	SetSigmask(id ThreadID, mask uint64)
	Deliver(id ThreadID, sig int, info *[128]byte, maskAfter *uint64) bool
	Fault(id ThreadID, sig int)
	Ignore(id ThreadID)
	Unhandle(id ThreadID, signals []int)
	Spawn(id ThreadID, vdso *machine.VDSO) error
	Exec(id ThreadID, img machine.Image, others []ThreadID) syscall.Errno
	Clone(parent, child ThreadID, flags, stack, tls uint64) syscall.Errno
	Exit(id ThreadID)
	Kill(id ThreadID)
	Maps(id ThreadID) string
	// MapFlags are the flags of each map by its start (VmFlags of proc_pid_smaps(5)), but for those that do not keep Linux from making one map of two.
	MapFlags(id ThreadID) map[uint64]string
	MemoryBounds(id ThreadID) machine.MemoryBounds
	PrivateBytes(id ThreadID) int64
	Interpreter(fd int) (string, syscall.Errno)
	RealName(fd int) string
	SameFile(fd int, path string) bool
	ReadFile(fd int) []byte
	Auxv(id ThreadID) []byte
	Registers(id ThreadID) (machine.Regs, bool)
	Look(id ThreadID) (machine.Regs, bool)
	XState(id ThreadID) []byte
	Pages(id ThreadID, addr uint64, pages []dump.Page) bool
	MapCode(id ThreadID, w machine.Code, addr, size, offset uint64)
	TrapChance(id ThreadID, fd int, changes bool, addr, size, offset uint64) (untrapped string, rest []machine.Span)
	Executes(id ThreadID, addr, size uint64) bool
	TrapAgain(id ThreadID, addr, size uint64) (untrapped string)
	MapWritten(id ThreadID, addr, size uint64, executable bool)
	Protect(id ThreadID, addr, size, prot uint64) int64
	Remap(id ThreadID) (result int64, untrapped, made string, tooMuch bool)
	Permit(id ThreadID, from, to, prot uint64)
	Watch(id ThreadID, from, to uint64)
	MadeChance(id ThreadID, from, to uint64) (name string, tooMuch bool)
	AllMadeChance(id ThreadID) (name string, tooMuch bool)
}

// Leaks are cures against chance that can be switched off; only tests do.
type Leaks struct {
	Random  func(b []byte)                   // getrandom and /dev/urandom are the machine's
	Order   func(n int, swap func(i, j int)) // directories are listed in another order each time
	MemInfo func(path string) string         // /proc/meminfo, loadavg, stat and uptime are the machine's
}

// Chance is the tape: where every choice comes from.
type Chance interface {
	Rare(stream string, n uint64, ratePPM uint64) uint64
	Given(stream string, n uint64) uint64
	Bytes(stream string, p []byte)
}

// Handles are the real things behind the nodes, in the order of State.Nodes.
type Handles struct {
	VDSOs []*machine.VDSO
	Bases []Base // by node
	Blobs Blobs
	// Codes are the copies of programs in which points may lie, in the order in which they came; nil for one that has none.
	Codes []machine.Code
}

// Blobs are the bytes behind written files and shared memory.
type Blobs interface {
	fs.Blobs
	FD(id fs.BlobID) int          // an open file of this process
	Allocated(id fs.BlobID) int64 // bytes of memory that it takes
}

// Base is the read-only lower layers of a node.
type Base interface {
	fs.Base
	// FD opens a base file for mapping or executing; it stays open while the current call is handled.
	FD(layer int, path string) (int, errno.Errno)
}

// Kernel runs a State. Everything in it besides State is either a handle on the real world, or derived.
type Kernel struct {
	*State
	M       Machine
	Tape    Chance
	Handles Handles
	Cost    world.Cost
	Sched   world.Sched
	Limits  world.Limits
	// Absent gets each name that a thread has looked for and that is not there.
	Absent func(t *Thread, name string)
	// Observe sees every event, if not nil.
	Observe func(*Event)
	// Capture sees every packet at the interfaces of nodes, if not nil.
	Capture func(*net.Sighting)
	// Code gives the copy of a program, or of a library, that is executed in its place, or nil; nil asks for none. path is how
	// it was called, real its name in the tree, fd an open file of this process. counts is what Space.Counts shall be.
	Code func(t *Thread, path, real string, fd int, library bool) (copied machine.Code, counts int)
	// Executes gets each program that is executed: its path, where that leads, and an open file. It may be nil.
	Executes func(t *Thread, path, real string, fd int)
	// Edges gets each module of edges that a process announces; it returns what Module.Counts shall be, or 0. It may be nil.
	Edges func(t *Thread, a *Announced) (counts int)
	// Halts reports whether the run is to end, in the midst of a call that takes long: it was interrupted, or is beyond its real time or
	// the memory that it may take of the machine.
	Halts func() bool
	// Ending is called when a process is about to lose its memory, by its end or by an exec.
	Ending func(p *Proc)
	// Fatal is called when a signal, whose siginfo is what a handler would be given, is about to end the process of a thread with
	// a core file. It may be nil.
	Fatal func(t *Thread, sig int, siginfo [128]byte)
	// Leaks switches off single cures against chance, for the mutation test.
	Leaks Leaks
	// Seen is called when a program under test got a result that a fault has changed.
	Seen func(ref net.FaultRef)
	// Moments gets what programs under test do at which rules inject faults; it is asked where Watched is not nil, or a node AwaitsReady.
	Moments Moments
	// Acted gets what programs under test have done (package moments), if it is not nil.
	Acted func(t *Thread, a *Acted)
	// Overdue is called when a thread of a program under test got a result that a fault has changed.
	Overdue func(k *Kernel, t *Thread, sock net.SockID)

	// DiskFault decides which fault is injected into a call on a file of a node's disk. It is asked on nodes that are Harmed.
	DiskFault func(c *fault.Call) fault.Harm

	Caller  *Thread   // on whose behalf the tree is used now; nil if it is no thread's
	Watched []Watched // what Moments asks for of each call, by number; nil if it asks for nothing
	Buf     []byte    // for what a handler reads of a file; valid until the next one needs it
	Small   [256]byte // for structures that a call gives to a program
	number  [16]byte  // for the numbers of InU64 and the like, which would be allocated each time otherwise

	system   *System
	stop     machine.Stop
	running  *Thread  // whose turn it is; copies are made between turns, where it is nil
	handling *Syscall // that is being answered to it, nil where none is
	tree     fs.Env   // see env
	programs programs // its Programs
	hash     hasher
	strict   hasher
}
