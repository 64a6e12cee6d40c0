//go:build linux && amd64

// Package machine holds what a simulated kernel and the real machine below it have in common: why a thread stopped, what a
// program is executed from, what is mapped into every process, and where. host acts on these types; kernel only reads and fills them.
package machine

import (
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// ThreadID is the engine's own number of a thread; it never comes from the real kernel.
type ThreadID = int64

// StopKind says why a thread stopped.
type StopKind uint8

const (
	StopCall     StopKind = iota // about to make a system call
	StopCallExit                 // a passed call ended (a thread that was resumed to stop at every call)
	StopSignal                   // the processor or the kernel raised a signal in it
	StopSpinLoop                 // waits in a loop, without a system call, for another thread to change its memory
	StopSpin                     // used its CPU time without a system call, or was interrupted
	StopExit                     // gone
	StopHeld                     // a debugger holds it within its turn
	StopPoint                    // has come to a point, at which it may be switched (Code.Lay)
)

// Stop is a thread's next stop.
type Stop struct {
	Kind    StopKind
	Nr      uint64
	Args    [6]uint64
	IP      uint64
	Foreign bool // the call was made with another architecture's convention (int 0x80, x32)
	Signal  int
	Info    [128]byte // siginfo_t, for StopSignal
	// Unbuilt is a SIGSEGV by which the real kernel ends a process whose stack has no room for the frame of a handler. Of a fault's
	// handler, Info is the fault's.
	Unbuilt bool
	Status  syscall.WaitStatus
	LimitNs int64 // how much CPU time it could use, for StopSpin
	Code    Code  // of a StopPoint
	Place   int   // of a StopPoint: the number of the block in Code
}

// Admission is the decision about an access that lacks a permission.
type Admission uint8

const (
	NotBarred Admission = iota // the program has not got it
	Admitted                   // nothing hinders it any more
	Refused                    // it fails as a bus error
)

// Access says who accesses memory that is barred.
type Access uint8

const (
	ByProgram Access = iota
	ByCall           // the engine, which stores the result of a call
	ByLook           // the engine, which reads and changes nothing by that
)

// Regs are the registers of a thread.
type Regs = unix.PtraceRegs

// Part is some bytes for one place of a process' memory.
type Part struct {
	Addr uint64
	Data []byte
}

// Image is a program to execute.
type Image struct {
	FD   int    // an open file of this process
	Path string // its path in the world, for AT_EXECFN
	Argv []string
	Env  []string
	// InterpreterFD is an open file of this process: what the program names in PT_INTERP, if that is another file in the world
	// than on this machine, and 0 otherwise.
	InterpreterFD int
	// Code is the copy of the program that is executed in its place, if its blocks are watched; else nil.
	Code   Code
	Random [16]byte // AT_RANDOM
	UID    int
	GID    int
	VDSO   *VDSO
}

// Code is a copy of a program's file, with breakpoints, that is executed or mapped in its place.
type Code interface {
	FD() int // an open file of this process

	// Candidates are about n of the file's blocks, each once, as a number chooses them; those that may be contended are preferred.
	Candidates(by uint64, n int) []uint32
	// Address is where a block begins, as the file has it.
	Address(place int) uint64
	// Lay makes blocks points, and those that were points before no longer. A thread that comes to one stops there once in a turn.
	Lay(points []uint32)
	// Relay begins a turn.
	Relay()
	// Unlay takes one point away.
	Unlay(place int)
}

// MemoryBounds bound how much memory of its own a process has, in bytes. Both are cheap to ask for.
type MemoryBounds struct {
	// Mapped bounds its memory by all maps that are private and writable. It is the same on every machine.
	Mapped int64
	// AtMost is the memory that it really has, or more; how much more depends on the machine.
	AtMost int64
}

// Advice are the kinds of advice of madvise(2) that the real kernel is given: they depend on nothing outside the process. The effect
// of MADV_FREE depends on the machine's memory, others are for the machine's administrator alone.
var Advice = []uint32{
	unix.MADV_NORMAL, unix.MADV_RANDOM, unix.MADV_SEQUENTIAL, unix.MADV_WILLNEED, unix.MADV_DONTNEED, unix.MADV_REMOVE,
	unix.MADV_HUGEPAGE, unix.MADV_NOHUGEPAGE, unix.MADV_DONTDUMP, unix.MADV_DODUMP, unix.MADV_COLD,
	unix.MADV_PAGEOUT,
}

// Populating are the flags of mmap(2) by which Linux gives a map its pages at once, before the call returns.
const Populating = unix.MAP_POPULATE | unix.MAP_LOCKED

// ForkAdvice are further ones. They change what a fork copies, and so whether a world can be copied.
var ForkAdvice = []uint32{unix.MADV_DONTFORK, unix.MADV_DOFORK, unix.MADV_WIPEONFORK, unix.MADV_KEEPONFORK}

// Advised reports whether programs may give the real kernel some advice of madvise(2).
func Advised(kind uint32) bool {
	return slices.Contains(Advice, kind) || slices.Contains(ForkAdvice, kind)
}
