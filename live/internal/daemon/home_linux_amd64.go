package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// code is code of the daemon itself that it executes for this process.
type code struct {
	gate    uint64 // an instruction `syscall` with a `ret` behind it
	restore uint64 // instructions that call rt_sigreturn(2), as at the end of a signal's handler
}

// Instructions of the C library's functions.
var (
	gateCode    = []byte{0x0f, 0x05, 0xc3}                                  // syscall; ret
	restoreCode = []byte{0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 5} // mov $15,%rax; syscall
)

func findCode(pid int, maps []mapping) (c code, err error) {
	const most = 256 << 20 // of a mapping; a library of code is smaller
	for _, m := range maps {
		if m.rights != "r-xp" || m.name == "[vdso]" || m.to-m.from > most {
			continue
		}
		text := make([]byte, m.to-m.from)
		if err := readMemory(pid, m.from, text); err != nil {
			continue // the file may be shorter than what is mapped
		}
		if at := bytes.Index(text, gateCode); c.gate == 0 && at >= 0 {
			c.gate = m.from + uint64(at)
		}
		if at := bytes.Index(text, restoreCode); c.restore == 0 && at >= 0 {
			c.restore = m.from + uint64(at)
		}
		if c.gate != 0 && c.restore != 0 {
			return c, nil
		}
	}
	return c, fmt.Errorf("process %d has no C library code that makes system calls and returns from signal "+
		"handlers: the daemon must use glibc or musl", pid)
}

// check reports whether the code is still where it was found.
func (c *code) check(pid int) error {
	var gate [3]byte
	var restore [9]byte
	if readMemory(pid, c.gate, gate[:]) != nil || readMemory(pid, c.restore, restore[:]) != nil ||
		!bytes.Equal(gate[:], gateCode) || !bytes.Equal(restore[:], restoreCode) {
		return fmt.Errorf("process %d now has a different program or different libraries: attach to the daemon again", pid)
	}
	return nil
}

// wayHome is how the daemon goes on by itself if this process is killed while the daemon executes calls for it: the kernel then lets the daemon run
// with whatever registers it has. So whenever these are not its own, the top of its stack is a return address, of code that calls rt_sigreturn, which
// loads all registers and the blocked signals from a frame (struct ucontext) above. The frames are below the daemon's stack, where the kernel
// would put those of a signal's handler.
type wayHome struct {
	code
	at   uint64 // of the memory that is used
	was  []byte // what was there
	data []byte

	// Values of the stack pointer.
	home uint64 // the daemon goes on as it was
	reap uint64 // it waits for the child whose number is at child, and then goes home
	exit uint64 // for processes that it makes: they end

	child   uint64 // the address of a process's number, of 4 bytes
	scratch uint64 // the address of 4 bytes
}

const (
	redZone      = 128 // bytes below the stack pointer that belong to a function (System V ABI)
	stackAlign   = 64  // of the state of vector registers (XSAVE)
	contextBytes = 304 // struct ucontext
	frameBytes   = 8 + contextBytes
	childOffset  = 8 + 40 + 8*8 // of rdi in a frame
)

// newWayHome lays out frames for a stopped daemon. It changes nothing.
func newWayHome(pid int, c code, maps []mapping, own *unix.PtraceRegs, blocked uint64) (*wayHome, error) {
	vectors, err := vectorState(pid)
	if err != nil {
		return nil, err
	}
	state := (own.Rsp - redZone - uint64(len(vectors))) &^ (stackAlign - 1)
	w := &wayHome{code: c, home: state - frameBytes, reap: state - 2*frameBytes, exit: state - 3*frameBytes, scratch: state - 3*frameBytes - 8}
	w.at, w.child = w.scratch, w.reap+childOffset
	if err := onMainStack(pid, maps, w.at, own.Rsp); err != nil {
		return nil, err
	}
	back := *own
	if restarts(own) {
		back.Rip -= 2
		back.Rax = number(pid, own)
	}
	reap, exit := *own, *own
	reap.Rip, reap.Rsp, reap.Rax = c.gate, w.home, unix.SYS_WAIT4
	const nobody = 1<<31 - 1 // there is no process of this number
	reap.Rdi, reap.Rsi, reap.Rdx, reap.R10 = nobody, 0, unix.WALL, 0
	exit.Rip, exit.Rsp, exit.Rax, exit.Rdi = c.gate, w.exit, unix.SYS_EXIT, 0
	w.data = make([]byte, 8)
	w.data = append(w.data, frame(c.restore, &exit, ^uint64(0), 0)...)
	w.data = append(w.data, frame(c.restore, &reap, ^uint64(0), 0)...)
	w.data = append(w.data, frame(c.restore, &back, blocked, state)...)
	w.data = append(w.data, vectors...)
	w.was = make([]byte, len(w.data))
	return w, readMemory(pid, w.at, w.was)
}

// frame returns the signal frame from which rt_sigreturn(2) loads all registers; below it lies the return address of
// code that makes this call (arch/x86/include/uapi/asm/sigcontext.h).
func frame(restore uint64, r *unix.PtraceRegs, blocked, vectors uint64) []byte {
	const (
		flags     = 1 | 2 | 4 // the state of vector registers, and a stack segment, are there
		keepStack = 0xff      // no mode of sigaltstack(2): it stays as it is
	)
	b := le.AppendUint64(make([]byte, 0, frameBytes), restore)
	for _, v := range []uint64{flags, 0, 0, keepStack, 0,
		r.R8, r.R9, r.R10, r.R11, r.R12, r.R13, r.R14, r.R15, r.Rdi, r.Rsi, r.Rbp, r.Rbx, r.Rdx, r.Rax, r.Rcx, r.Rsp, r.Rip, r.Eflags,
		r.Cs | r.Ss<<48, 0, 0, 0, 0, vectors, 0, 0, 0, 0, 0, 0, 0, 0, blocked} {
		b = le.AppendUint64(b, v)
	}
	return b
}

// vectorState reads the state of floating-point and vector registers, in the form of a signal's frame.
func vectorState(pid int) ([]byte, error) {
	const (
		xstate        = 0x202 // NT_X86_XSTATE of ptrace(2)
		softwareBytes = 464   // the offset of struct _fpx_sw_bytes
		inUse         = 512   // the offset of the set of features in use
		first, last   = 0x46505853, 0x46505845
		tiles         = 17   // the first feature whose state is allocated only when it is used (AMX)
		withoutTiles  = 2696 // bytes
	)
	b := make([]byte, 1<<16)
	v := unix.Iovec{Base: &b[0]}
	v.SetLen(len(b))
	if err := ptrace(unix.PTRACE_GETREGSET, pid, xstate, uintptr(unsafe.Pointer(&v))); err != nil {
		return nil, fmt.Errorf("cannot read the vector registers of process %d (XSAVE): %w", pid, err)
	}
	b = b[:v.Len]
	features := le.Uint64(b[softwareBytes:])
	if le.Uint64(b[inUse:])>>tiles == 0 && len(b) > withoutTiles && features>>tiles != 0 {
		b, features = b[:withoutTiles], features&(1<<tiles-1)
	}
	software := le.AppendUint32(nil, first)
	software = le.AppendUint32(software, uint32(len(b)+4))
	software = le.AppendUint64(software, features)
	software = le.AppendUint32(software, uint32(len(b)))
	copy(b[softwareBytes:inUse], append(software, make([]byte, inUse-softwareBytes-len(software))...))
	return le.AppendUint32(b[:len(b):len(b)], last), nil
}

// onMainStack checks that memory is of the stack that the kernel made: next to others, of coroutines say, there may be other data.
func onMainStack(pid int, maps []mapping, from, to uint64) error {
	for _, m := range maps {
		if m.name == "[stack]" && m.from <= from && to < m.to && m.rights[:2] == "rw" {
			return nil
		}
	}
	return fmt.Errorf("process %d does not run on its main stack now, or there is no room on it: try again; a "+
		"program that switches stacks (coroutines) cannot be copied", pid)
}

// leave puts the frames in place, and has the daemon execute calls from now on.
func (w *wayHome) leave(pid int, own *unix.PtraceRegs) error {
	if err := writeMemory(pid, w.at, w.data); err != nil {
		return err
	}
	r := *own
	r.Rip, r.Rsp, r.Orig_rax = w.restore, w.home+8, noCall
	if err := unix.PtraceSetRegs(pid, &r); err != nil {
		return err
	}
	return setMask(pid, ^uint64(0))
}

// arrive has a stopped daemon go on from its own registers, with its own blocked signals.
func (w *wayHome) arrive(pid int, own *unix.PtraceRegs, blocked uint64) error {
	return errors.Join(setMask(pid, blocked), unix.PtraceSetRegs(pid, own), writeMemory(pid, w.at, w.was))
}
