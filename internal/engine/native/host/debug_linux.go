//go:build linux && amd64

package host

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
)

// A debugger holds a thread within its turn: Resume gives StopHeld, and the next Resume of the thread continues the turn. Nothing of that
// reaches the kernel's state. Breakpoints are int3 in the process' own copies of pages, watchpoints are the debug registers of the thread that
// runs. They are put where they are wanted just before a thread of the address space runs.

// traps are the breakpoints that lie in one address space: the bytes that they hide, by address. Threads and vfork children share them.
type traps struct {
	hidden map[uint64]byte
	// pages holds the pages that breakpoints made private to the process: changes of the file do not show there.
	pages map[uint64]bool
}

func (s *traps) any() bool { return s != nil && len(s.hidden) > 0 }

func (s *traps) copied() *traps {
	if s == nil {
		return nil
	}
	return &traps{maps.Clone(s.hidden), maps.Clone(s.pages)}
}

// restored puts the program's bytes over breakpoints in what was read of a process' memory.
func (s *traps) restored(addr uint64, p []byte) {
	if s == nil {
		return
	}
	for at, was := range s.hidden {
		if at >= addr && at-addr < uint64(len(p)) && p[at-addr] == int3 {
			p[at-addr] = was
		}
	}
}

// trapsOf makes the traps of a thread's address space.
func (m *Machine) trapsOf(t *thread) *traps {
	if t.traps == nil {
		t.traps = &traps{hidden: map[uint64]byte{}, pages: map[uint64]bool{}}
		for _, o := range m.threads {
			if o.space == t.space {
				o.traps = t.traps
			}
		}
	}
	return t.traps
}

// lift takes all breakpoints out of a thread's address space.
func (m *Machine) lift(t *thread) {
	if t.traps.any() {
		m.withdraw(t)
		m.put(t, nil, 0)
	}
}

// put has breakpoints lie at the wanted addresses, but for one, and nowhere else. What the program has put in a breakpoint's place stays.
func (m *Machine) put(t *thread, wanted []uint64, except uint64) {
	if len(wanted) == 0 && !t.traps.any() {
		return
	}
	s := m.trapsOf(t)
	var b [1]byte
	for at, was := range s.hidden {
		if at == except || !slices.Contains(wanted, at) {
			if t.see(at, b[:]) == 1 && b[0] == int3 {
				m.setByte(t, at, was)
			}
			delete(s.hidden, at)
		}
	}
	for _, at := range wanted {
		if _, lies := s.hidden[at]; lies || at == except || t.see(at, b[:]) != 1 {
			continue
		}
		if m.setByte(t, at, int3) {
			s.hidden[at] = b[0]
			if page := at &^ (pageSize - 1); !t.chance.hasPage(page) { // such a page was the process' own before
				s.pages[page] = true
			}
		}
	}
}

// pointed reports whether there are points in files of which the debugger's breakpoints have made pages the process' own.
func (t *thread) pointed() bool {
	return t.traps != nil && len(t.traps.pages) > 0 && t.code != nil &&
		slices.ContainsFunc(t.code.list, func(c codeMap) bool { return c.file.points.used })
}

// follow has points lie in such pages as they do in the files.
func (m *Machine) follow(t *thread) {
	if !t.pointed() {
		return
	}
	var now [pageSize]byte
	for page := range t.traps.pages {
		if t.see(page, now[:]) != len(now) {
			continue
		}
		for i := range t.code.list {
			c := &t.code.list[i]
			from, to := max(page, c.from), min(page+pageSize, c.to)
			if from >= to {
				continue
			}
			b := c.file.Binary
			for n, _ := b.Find(from - c.bias); n < len(b.Places) && b.Places[n] < to-c.bias; n++ {
				at, want := b.Places[n]+c.bias, c.file.bytes[b.Offset(b.Places[n])]
				if _, lies := t.traps.hidden[at]; lies {
					t.traps.hidden[at] = want
				} else if is := now[at-page]; is != want && (is == int3 || is == b.Original[n]) {
					m.setByte(t, at, want)
				}
			}
		}
	}
}

// forgotten drops the breakpoints that are not there any more, since the program has mapped or written something else.
func (m *Machine) forgotten(t *thread) {
	var b [1]byte
	if t.traps != nil {
		maps.DeleteFunc(t.traps.hidden, func(at uint64, _ byte) bool { return t.see(at, b[:]) != 1 || b[0] != int3 })
	}
}

// The processor's debug registers in struct user (sys/user.h), and their bits (Intel SDM volume 3, 18.2).
const (
	userDebug    = 848
	debugStatus  = 6
	debugControl = 7
	trapHardware = 4 // TRAP_HWBKPT
	trapCall     = 1 // TRAP_BRKPT, which Linux gives for a step that ends a call (user_single_step_report), and TRAP_TRACE for any other
)

var watchLengths = map[int]uint64{1: 0, 2: 1, 4: 3, 8: 2}

// arm has the processor watch places for a thread.
func (m *Machine) arm(t *thread, list []machine.Watchpoint) error {
	var wanted [machine.MaxWatchpoints]machine.Watchpoint
	copy(wanted[:], list)
	if wanted == t.armed {
		return nil
	}
	t.armed = [machine.MaxWatchpoints]machine.Watchpoint{}
	poke := func(register int, v uint64) syscall.Errno {
		return ptrace(unix.PTRACE_POKEUSR, t.tid, uintptr(userDebug+8*register), uintptr(v))
	}
	errno := poke(debugControl, 0)
	control := uint64(0)
	for i := range wanted {
		w := &wanted[i]
		if w.Bytes == 0 {
			continue
		}
		kind := uint64(1)
		if w.Reads {
			kind = 3
		}
		control |= 1<<(2*i) | kind<<(16+4*i) | watchLengths[w.Bytes]<<(18+4*i)
		if errno == 0 {
			errno = poke(i, w.Addr)
		}
	}
	if errno == 0 && control != 0 {
		errno = poke(debugControl, control)
	}
	if errno != 0 {
		return fmt.Errorf("cannot set the processor's debug registers: %w", errno)
	}
	t.armed = wanted
	return nil
}

// watched are the places that the last instruction of a thread has accessed, as bits.
func (t *thread) watched() uint32 {
	if t.armed == [machine.MaxWatchpoints]machine.Watchpoint{} {
		return 0
	}
	var status uint64
	ptrace(unix.PTRACE_PEEKUSR, t.tid, userDebug+8*debugStatus, uintptr(unsafe.Pointer(&status)))
	bits := uint32(status) & (1<<machine.MaxWatchpoints - 1)
	if bits != 0 {
		ptrace(unix.PTRACE_POKEUSR, t.tid, userDebug+8*debugStatus, 0)
	}
	return bits
}

// debugged is Resume where a debugger has a say.
func (m *Machine) debugged(id ThreadID, t *thread, everyCall bool, stop *machine.Stop) {
	undisturbed := !everyCall && m.undisturbed(id, t)
	if !undisturbed {
		m.withdraw(t)
	}
	if t.queued != nil {
		*stop, t.queued = *t.queued, nil
		t.held = false
		return
	}
	var wanted machine.Traps
	learn := func() {
		wanted = machine.Traps{}
		if m.Debugger != nil {
			if list := m.Debugger.Traps(id); list != nil {
				wanted = *list
			}
		}
	}
	learn()
	arrived := func(a machine.Arrival) bool {
		a.PC = t.load().Rip
		a.Break = slices.Contains(wanted.Breakpoints, a.PC)
		if m.Debugger == nil || !a.Start && !a.Stepped && !a.Break && a.Watched == 0 {
			return false
		}
		held := m.Debugger.Arrived(id, a)
		learn()
		return held
	}
	hold := func() {
		t.held = true
		*stop = machine.Stop{Kind: machine.StopHeld}
	}
	if !t.held && !undisturbed {
		m.forgotten(t)
		if arrived(machine.Arrival{Start: true}) {
			hold()
			return
		}
	}
	t.held = false
	m.watch.patient.Store(true)
	defer m.watch.patient.Store(false)
	for ; ; undisturbed = false {
		a, over, none := machine.Arrival{}, false, false
		step, steps := false, false
		if !undisturbed {
			if m.TrapsRefused = m.arm(t, wanted.Watchpoints); m.TrapsRefused != nil {
				hold()
				return
			}
			pc := t.load().Rip
			steps = m.Debugger != nil && m.Debugger.Steps(id)
			step = steps || slices.Contains(wanted.Breakpoints, pc)
			m.put(t, wanted.Breakpoints, pc)
			m.follow(t)
		}
		m.watch.running(t)
		if step {
			over, none = m.stepOver(t, everyCall, steps, stop)
			a.Stepped = steps && !none
		} else {
			over, none = m.runOn(t, everyCall, stop)
		}
		m.watch.stopped()
		if over {
			if stop.Kind == machine.StopExit {
				m.reaped(id, t)
			}
			return
		}
		m.watch.continues()
		if none {
			continue
		}
		if a.Watched = t.watched(); arrived(a) {
			hold()
			return
		}
	}
}

// undisturbed reports whether a thread that waits for the answer to a notified call can take it and run on as without a debugger:
// what is wanted of it lies in place, and nothing where it begins. To bring it to a ptrace stop first costs as much as all else
// of a turn.
func (m *Machine) undisturbed(id ThreadID, t *thread) bool {
	if t.at != atAnswered && t.at != atPassed || t.held || t.pointed() || t.queued != nil || m.Debugger == nil || m.Debugger.Asks(id) {
		return false
	}
	var wanted machine.Traps
	if list := m.Debugger.Traps(id); list != nil {
		wanted = *list
	}
	var armed [machine.MaxWatchpoints]machine.Watchpoint
	if copy(armed[:], wanted.Watchpoints); armed != t.armed || slices.Contains(wanted.Breakpoints, t.after) {
		return false
	}
	m.forgotten(t)
	lie := 0
	for _, at := range wanted.Breakpoints {
		if t.traps.lies(at) {
			lie++
		} else if t.see(at, make([]byte, 1)) == 1 {
			return false
		}
	}
	return t.traps == nil || lie == len(t.traps.hidden)
}

// runOn lets a thread run to its next stop. over reports that the turn is over, as stop says; none, that nothing has happened of which a
// debugger is to be asked.
func (m *Machine) runOn(t *thread, everyCall bool, stop *machine.Stop) (over, none bool) {
	request := unix.PTRACE_CONT
	if everyCall {
		request = unix.PTRACE_SYSCALL
	}
	t.flush()
	noticed, status, errno := m.proceed(t, request)
	switch {
	case noticed:
		m.noticed(stop)
		return true, false
	case errno != 0 || !status.Stopped():
		*stop = machine.Stop{Kind: machine.StopExit, Status: status}
		return true, false
	case int(status>>8) == int(unix.SIGTRAP):
		t.at = atStart
		switch reason := t.trapReason(stop); {
		case reason == siKernel && t.traps.lies(t.load().Rip-1):
			t.regs.Rip--
			t.dirty = true
			m.unforce(t, unix.SIGTRAP)
			return false, false
		case reason == trapHardware:
			m.unforce(t, unix.SIGTRAP)
			return false, false
		}
	case int(status>>8) == int(unix.SIGSEGV):
		if pc := t.load().Rip; t.traps.lies(pc) && t.trapReason(stop) > 0 && binary.LittleEndian.Uint64(stop.Info[faultAddress:]) == pc {
			t.at = atStart
			m.unforce(t, unix.SIGSEGV) // gdb has functions that it calls return to a breakpoint on the stack, which is not executable
			return false, false
		}
	}
	return m.handleStop(t, everyCall, false, status, stop)
}

// handleStop handles a stop that no debugger has asked for.
func (m *Machine) handleStop(t *thread, everyCall, steps bool, status syscall.WaitStatus, stop *machine.Stop) (over, none bool) {
	if int(status>>8) == int(unix.SIGSTOP) {
		cause := m.watch.fired()
		t.at = atStart
		if m.handsOff(t, cause, steps) {
			return false, true
		}
		m.watch.cause.Store(cause)
		m.lift(t)
	}
	if !m.decode(t, status, stop) || stop.Kind == machine.StopCallExit && !everyCall {
		return false, true
	}
	return true, false
}

// faultAddress is the place of si_addr in siginfo_t (sigaction(2)).
const faultAddress = 16

// Poke writes into the memory of a thread's process for a debugger, and returns how many bytes it could write.
func (m *Machine) Poke(id ThreadID, addr uint64, p []byte) int {
	t := m.get(id)
	m.lift(t)
	return m.writeAt(t, addr, p)
}

// SetCPU gives a thread that executes its own code other registers, for a debugger; extended, if not nil, is as XState gives it, of which x87, SSE and
// AVX count. The kernel must not take the thread for one that is in a call: it would execute that, whatever the filter says.
func (m *Machine) SetCPU(id ThreadID, regs *machine.Regs, extended []byte) error {
	t := m.get(id)
	m.withdraw(t)
	if t.queued != nil || t.at != atStart || t.load().Orig_rax != ^uint64(0) || regs.Orig_rax != ^uint64(0) {
		return errors.New("the thread is not in its own code")
	}
	if extended != nil {
		if err := t.setExtended(extended); err != nil {
			return err
		}
	}
	if e := ptrace(unix.PTRACE_SETREGS, t.tid, 0, uintptr(unsafe.Pointer(regs))); e != 0 {
		return fmt.Errorf("cannot set the registers: %w", e)
	}
	t.loaded, t.dirty = false, false
	return nil
}

func (t *thread) setExtended(wanted []byte) error {
	area := make([]byte, maxXStateBytes)
	iov := unix.Iovec{Base: &area[0], Len: uint64(len(area))}
	if e := ptrace(unix.PTRACE_GETREGSET, t.tid, ntX86Xstate, uintptr(unsafe.Pointer(&iov))); e != 0 || len(wanted) < xsaveEnd {
		return errors.New("cannot set the x87, SSE and AVX registers on this machine")
	}
	copy(area[:fxMagic], wanted)
	used := binary.LittleEndian.Uint64(area[xsaveUsed:]) | legacy
	for _, c := range components() {
		if end := c.Offset + c.Size; c.Number == avx && end <= min(len(wanted), int(iov.Len)) {
			copy(area[c.Offset:end], wanted[c.Offset:end])
			used |= 1 << avx
		}
	}
	binary.LittleEndian.PutUint64(area[xsaveUsed:], used)
	if e := ptrace(unix.PTRACE_SETREGSET, t.tid, ntX86Xstate, uintptr(unsafe.Pointer(&iov))); e != 0 {
		return fmt.Errorf("cannot set the x87, SSE and AVX registers: %w", e)
	}
	return nil
}

// patientLooks is how many looks of the watchdog pass before the debugger's breakpoints are lifted for one: in a spin loop there may lie one, and
// in code that merely computes none may be missed.
const patientLooks = 5

// handsOff reports whether a thread that the watchdog has stopped is to run on as if it had not been.
func (m *Machine) handsOff(t *thread, cause interruption, steps bool) bool {
	switch {
	case cause == noInterruption || cause == breakOff:
		return false
	case steps:
		return true
	}
	return t.traps.any() && cause-lookAt < patientLooks
}

// lies reports whether a breakpoint lies at an address.
func (s *traps) lies(at uint64) bool {
	if s == nil {
		return false
	}
	_, lies := s.hidden[at]
	return lies
}

// trapReason reads why a thread has trapped, into stop's Info, too.
func (t *thread) trapReason(stop *machine.Stop) int32 {
	stop.Info = [128]byte{}
	ptrace(unix.PTRACE_GETSIGINFO, t.tid, 0, uintptr(unsafe.Pointer(&stop.Info)))
	return int32(binary.LittleEndian.Uint32(stop.Info[8:]))
}

// stepOver has a thread execute one instruction. It returns what runOn does.
func (m *Machine) stepOver(t *thread, everyCall, steps bool, stop *machine.Stop) (over, none bool) {
	op, next := t.opcode()
	own := t.load().Eflags&trapFlag != 0
	before := t.regs
	t.flush()
	noticed, status, errno := m.proceed(t, unix.PTRACE_SINGLESTEP)
	switch {
	case noticed:
		t.stepping = true
		m.noticed(stop)
		return true, false
	case errno != 0 || !status.Stopped():
		*stop = machine.Stop{Kind: machine.StopExit, Status: status}
		return true, false
	case int(status>>8) != int(unix.SIGTRAP):
		over, none = m.handleStop(t, everyCall, steps, status, stop)
		if t.at == atCall {
			t.unflag()
		}
		if none && !same(t.load(), &before) { // the engine has emulated the instruction
			none = false
		}
		return over, none
	}
	t.at = atStart
	reason := t.trapReason(stop)
	if reason == siKernel { // an int3: the engine's, or the program's own
		stop.Kind, stop.Signal = machine.StopSignal, int(unix.SIGTRAP)
		if ours, goesOn := m.trapped(t, stop); ours {
			return !goesOn, false
		}
		return m.handleStop(t, everyCall, steps, status, stop)
	}
	m.unforce(t, unix.SIGTRAP)
	if reason == trapCall && t.load().Rip == before.Rip { // only the call that it was in has ended
		return false, true
	}
	const call = 0x05
	switch {
	case op == opPushFlags && !own:
		m.unflagStack(t)
	case op == 0x0f && next == call: // the real kernel has executed it
		t.unflag()
		if everyCall {
			*stop = machine.Stop{Kind: machine.StopCallExit, IP: t.load().Rip}
			return true, false
		}
	}
	return false, false
}
