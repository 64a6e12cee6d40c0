//go:build linux && amd64

package host

import (
	"bytes"
	"cmp"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/arch/x86/x86asm"
	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/coverage/code"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
)

// A thread that waits for another without a system call (a spin lock, a flag in shared memory) runs in a spin loop: after
// some instructions its registers and all memory that it looks at are what they were. It can never leave that loop by
// itself, so it does not matter how often it went around, and it may be stopped for others to run at one point of the
// loop, always the same, and the run repeats. A thread whose registers or memory change from round to round (it
// counts, say) is in none.

// spinLoop describes a thread that was found in a spin loop.
type spinLoop struct {
	at     machine.Regs // where it is stopped
	length int          // in instructions
}

// The longest spin loop that is looked for, in instructions, at the first look and at the last ones. A step takes some 5 us,
// and more in a virtual machine: a thread that merely computes shall not pay more for being looked at than it computes.
const (
	firstLoop = 128
	maxLoop   = 16_384
)

// A thread that takes new memory as it is stepped is in no spin loop. One instruction may take a huge page, and the world's limit of memory
// is only checked between looks, so a look ends after growthSteps instructions at most beyond mostGrowthBytes.
const (
	growthSteps     = 16
	mostGrowthBytes = 16 << 20
)

// interrupted deals with an interruption by the watchdog. It reports whether stop was filled; if not, the thread continues.
func (m *Machine) interrupted(t *thread, s interruption, stop *machine.Stop) bool {
	if s == noInterruption {
		return false
	}
	longest := maxLoop
	switch {
	case s >= lookAt:
		longest = min(firstLoop<<(s-lookAt), maxLoop)
	case t.spin.ever: // it was looked at long enough before it was broken off first
		longest = firstLoop
	}
	if found, stopped := m.enterSpinLoop(t, longest, stop); found || stopped {
		return true
	}
	if s == breakOff {
		stop.Kind, stop.LimitNs = machine.StopSpin, m.watch.turnNs.Load()
		t.spin.ever = true
		t.spin.row++
		return true
	}
	m.watch.continues()
	return false
}

// goAround lets a thread that stopped in a spin loop run one iteration. It reports whether stop was filled, either because it
// came back, or because it met something; if not, the thread has left the loop and continues.
func (m *Machine) goAround(t *thread, stop *machine.Stop) bool {
	c := t.spinLoop
	t.spinLoop = nil
	if !same(t.load(), &c.at) {
		return false
	}
	for range c.length {
		if ok, stopped := m.step(t, stop); !ok {
			return stopped
		}
	}
	if !same(&t.regs, &c.at) {
		return false
	}
	t.spinLoop = c
	stop.Kind = machine.StopSpinLoop
	return true
}

// enterSpinLoop finds out whether a thread runs in a spin loop of at most so many instructions, and brings it to the loop's
// point where others may run.
func (m *Machine) enterSpinLoop(t *thread, longest int, stop *machine.Stop) (found, stopped bool) {
	// The first round finds the loop's length, and what memory it looks at.
	rounds := []machine.Regs{*t.load()}
	touched := operands{known: map[uint64]x86asm.Inst{}, places: map[uint64]bool{}}
	heldBytes := ownBytes(t.tid)
	for {
		if len(rounds)%growthSteps == 0 && ownBytes(t.tid) > heldBytes+mostGrowthBytes {
			return false, false
		}
		touched.note(m, t)
		if ok, stopped := m.step(t, stop); !ok {
			return false, stopped
		}
		if same(&t.regs, &rounds[0]) {
			break
		}
		if len(rounds) == longest {
			return false, false
		}
		rounds = append(rounds, t.regs)
	}
	// The second must be the same at each instruction, and leave the same behind.
	before := m.remembered(t, touched.places)
	for i := range rounds {
		if ok, stopped := m.step(t, stop); !ok {
			return false, stopped
		}
		if !same(&t.regs, &rounds[(i+1)%len(rounds)]) {
			return false, false
		}
	}
	if !bytes.Equal(before, m.remembered(t, touched.places)) {
		return false, false
	}
	// The outermost function of the loop is where it most likely holds no lock; the rest of the order only has to be one.
	best := slices.MinFunc(rounds, func(a, b machine.Regs) int {
		if a.Rsp != b.Rsp {
			return cmp.Compare(b.Rsp, a.Rsp)
		}
		return slices.Compare(words(&a), words(&b))
	})
	for !same(&t.regs, &best) {
		if ok, stopped := m.step(t, stop); !ok {
			return false, stopped
		}
	}
	t.spinLoop, t.spinTurns = &spinLoop{at: best, length: len(rounds)}, closeTurns
	stop.Kind = machine.StopSpinLoop
	return true, false
}

// Opcodes that take part in traps (Intel SDM volume 2).
const (
	opPushFlags = 0x9c
	opPopFlags  = 0x9d
	opInt3      = 0xcc
	opInt       = 0xcd
	opIret      = 0xcf
	opInt1      = 0xf1
	opMovSeg    = 0x8e
)

// opcode is the opcode of the instruction that a thread stopped before, behind its prefixes, and the byte that follows it.
func (t *thread) opcode() (op, next byte) {
	var b [code.MaxInstruction]byte
	n := t.see(t.load().Rip, b[:])
	for i := 0; i < n; i++ {
		switch op = b[i]; op {
		case 0x66, 0x67, 0xf2, 0xf3, 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65:
		default:
			if op&0xf0 != 0x40 {
				return op, b[min(i+1, n-1)]
			}
		}
	}
	return 0, 0
}

// step executes one instruction. If anything but a step stops the thread, ok is false, and stopped reports whether stop was
// filled. Instructions by which a program could see that it is stepped are left to the processor: ok is false, and nothing has stopped.
func (m *Machine) step(t *thread, stop *machine.Stop) (ok, stopped bool) {
	const stackSegment = 2 // of ModRM.reg: the processor traps one instruction later
	op, next := t.opcode()
	switch {
	case t.load().Cs != userCS, op == opPopFlags, op == opInt, op == opIret, op == opInt1,
		op == opMovSeg && next>>3&7 == stackSegment, op == 0x0f && next == 0xb2:
		return false, false
	}
	own := t.load().Eflags&trapFlag != 0
	t.flush()
	noticed, status, errno := m.proceed(t, unix.PTRACE_SINGLESTEP)
	if noticed {
		t.stepping = true
		m.noticed(stop)
		return false, true
	}
	if errno != 0 || !status.Stopped() {
		*stop = machine.Stop{Kind: machine.StopExit, Status: status}
		return false, true
	}
	sig := syscall.Signal(status >> 8)
	if sig == m.trapSignal() {
		if ours, goesOn := m.stepped(t, stop); ours {
			if !goesOn {
				return false, true
			}
			return m.step(t, stop)
		}
	}
	if sig == unix.SIGTRAP {
		t.at = atStart
		switch r := t.load(); {
		case op == opInt3: // the program's own
			return false, m.decode(t, status, stop)
		case op == opPushFlags && !own:
			m.unflagStack(t)
		case r.Rcx == r.Rip: // it has made a call
			t.unflag()
		}
		return true, false
	}
	stopped = m.decode(t, status, stop)
	if t.at == atCall || t.at == atLet {
		t.unflag()
	}
	return false, stopped
}

// unflagStack takes the flag of a single step from the flags that a thread has just pushed.
func (m *Machine) unflagStack(t *thread) {
	var b [2]byte
	if sp := t.load().Rsp; m.readAt(t, sp, b[:]) == len(b) {
		b[1] &^= trapFlag >> 8
		m.writeAt(t, sp, b[:])
	}
}

func words(r *machine.Regs) []uint64 { return (*[unsafe.Sizeof(*r) / 8]uint64)(unsafe.Pointer(r))[:] }

// same compares registers, but for the number of the last call, which is not the thread's to see.
func same(a, b *machine.Regs) bool {
	x := *a
	x.Orig_rax = b.Orig_rax
	return x == *b
}

// operands collects the memory that instructions name. Those that the decoder does not know are left out: their
// registers are compared all the same.
type operands struct {
	known  map[uint64]x86asm.Inst
	places map[uint64]bool
}

func (o *operands) note(m *Machine, t *thread) {
	r := &t.regs
	inst, ok := o.known[r.Rip]
	if !ok {
		var b [15]byte
		inst, _ = x86asm.Decode(b[:m.readAt(t, r.Rip, b[:])], 64)
		o.known[r.Rip] = inst
	}
	if inst.Op == x86asm.LEA || inst.Op == x86asm.NOP {
		return
	}
	for _, a := range inst.Args {
		if mem, ok := a.(x86asm.Mem); ok {
			o.places[address(r, mem, inst.Len)] = true
		}
	}
}

func address(r *machine.Regs, mem x86asm.Mem, length int) uint64 {
	a := register(r, mem.Base) + uint64(mem.Scale)*register(r, mem.Index) + uint64(mem.Disp)
	switch {
	case mem.Base == x86asm.RIP:
		a += uint64(length)
	case mem.Segment == x86asm.FS:
		a += r.Fs_base
	case mem.Segment == x86asm.GS:
		a += r.Gs_base
	}
	return a
}

func register(r *machine.Regs, reg x86asm.Reg) uint64 {
	all := [...]uint64{r.Rax, r.Rcx, r.Rdx, r.Rbx, r.Rsp, r.Rbp, r.Rsi, r.Rdi, r.R8, r.R9, r.R10, r.R11, r.R12, r.R13, r.R14, r.R15}
	switch {
	case reg == x86asm.RIP:
		return r.Rip
	case reg >= x86asm.RAX && reg <= x86asm.R15:
		return all[reg-x86asm.RAX]
	}
	return 0
}

// remembered returns the state of a thread beyond its general registers: the floating-point and vector registers, and
// the contents of places.
func (m *Machine) remembered(t *thread, places map[uint64]bool) []byte {
	kept := make([]byte, 1<<14)
	area := unix.Iovec{Base: &kept[0], Len: uint64(len(kept))}
	ptrace(unix.PTRACE_GETREGSET, t.tid, ntX86XState, uintptr(unsafe.Pointer(&area)))
	kept = kept[:area.Len]
	sorted := make([]uint64, 0, len(places))
	for p := range places {
		sorted = append(sorted, p)
	}
	slices.Sort(sorted)
	var b [16]byte
	for _, p := range sorted {
		kept = append(kept, b[:m.readAt(t, p, b[:])]...)
	}
	return kept
}

// ntX86XState is NT_X86_XSTATE (elf.h).
const ntX86XState = 0x202
