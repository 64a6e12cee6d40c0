//go:build linux && amd64

package host

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/coverage/code"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
)

// ThreadID is machine.ThreadID.
type ThreadID = machine.ThreadID

// where says in which kind of ptrace stop a thread is: it decides how a real call can be made from there.
type where uint8

const (
	atStart     where = iota // before the first instruction, or at the end of a call (a call's work is over)
	atCall                   // seccomp stop: the call has not begun
	atSignal                 // signal-delivery stop
	atWithdrawn              // stopped; the call was notified, and the notification ended without an answer
	atLet                    // seccomp stop: the real kernel is to execute the call when the thread runs on
	// In no stop, but in the kernel, waiting for the answer to a notified call (see notify_linux.go):
	atNotice   // the call is not answered
	atAnswered // the answer is known, and not sent
	atPassed   // the real kernel is to execute the call when the thread runs on
)

type thread struct {
	id        ThreadID
	tid, tgid int
	space     int // the address space: one of the machine's numbers
	leader    bool
	ended     bool // a main thread, which waits for the others of its process without memory
	at        where
	regs      unix.PtraceRegs
	loaded    bool
	dirty     bool
	gadget    uint64
	vdso      *machine.VDSO
	foreign   bool // the call at which it stopped was made with another architecture's convention
	auxv      []byte
	queued    *machine.Stop // a stop that was met while doing something else
	spinLoop  *spinLoop
	stepping  bool // the call at which it stopped ends with the trap of a single step, unless a ptrace stop comes before
	spinTurns int  // for how many more turns it is likely to come into a spin loop again
	spin      spin
	code      *codeMaps     // where breakpoints may be set; nil where none are
	chance    *chancePlaces // where those at instructions of chance are set; nil where none are
	traps     *traps        // where a debugger's breakpoints are set; nil where none are
	held      bool          // a debugger holds it within its turn
	armed     [machine.MaxWatchpoints]machine.Watchpoint
	listener  *listener // nil under the reference
	notice    uint64    // id of the notification in which it waits
	after     uint64    // the instruction behind the call of it
	value     int64     // its answer, atAnswered

	call unix.PtraceRegs // with what a call of the engine's choice is made
}

// Machine runs the threads of one world. All methods must be called on its Tracer's thread.
type Machine struct {
	threads    map[ThreadID]*thread
	alive      map[int]int // real threads of a process that were not reaped yet, by tgid
	spaces     int         // how many address spaces there were
	stubFD     int
	tracer     *Tracer
	loop       int // the id of its OS thread
	vdsoOffset uint64
	leaks      Leaks
	ignored    []syscall.Signal // by this process
	watch      *watchdog
	notice     notice
	answer     answer
	let        func(nr, a1, a2, a3, a4, listener, notice uintptr) (first, second uintptr) // letAndReceive
	status     int32

	// Stops says why every call takes a ptrace stop: it was asked for, or notifications do not work here. Empty if they
	// do.
	Stops string

	vdsoAround [2]uint64 // how far the real vDSO and its data reach below and above the address that programs get for it
	cpuidTraps bool      // programs trap at cpuid wherever it is
	identities map[[2]uint32]identity
	layout     *[64]component

	written map[int64]*writtenFile // by blob: see written_linux.go

	walks bool // a thread executes some instructions (Walk), and is not stopped at points

	// Contrast has programs read other bytes of their code than they do in a run without it: their own, where the engine can do without
	// breakpoints, and other breakpoints where it cannot. It is set before there is a thread.
	Contrast bool
	sparing  map[filePlace]int // steps that threads have taken where instructions are spared a breakpoint
	// Debugger holds threads within their turns, if not nil.
	Debugger machine.Debugger
	// TrapsRefused says why the traps that it wants could not be set.
	TrapsRefused error
	// Random fills a buffer from a thread's stream of random bytes.
	Random func(id ThreadID, b []byte)
	// Unproven notes that a thread's program executes code near bytes that look like an instruction of chance, and that nothing shows whether
	// they are one.
	Unproven func(id ThreadID, name string)
	// Made notes an instruction of chance in code that a thread's program has changed in a file, or more such code than can be searched.
	Made func(id ThreadID, name string, tooMuch bool)
	// Action gives a signal's action as rt_sigaction(2) takes it, if it has a handler.
	Action func(id ThreadID, sig int) (action [32]byte, ok bool)
	// Barred decides about an access to some addresses of a thread's process that a permission is lacking for; it
	// may be nil.
	Barred func(id ThreadID, addr, size uint64, by machine.Access) machine.Admission
	// Lack notes what the machine does not give; it may be nil.
	Lack *Lack
	// Slow says why stops may cost twice as much as they could, or nil.
	Slow error
}

// Leaks switches off single cures against chance; only the mutation test of the engine sets any.
type Leaks struct {
	ASLR, TSC, VDSO, Random, Instructions bool
}

// NewMachine prepares a machine. spinCPUMs is the CPU time that a thread may use without a system call before it
// is stopped by force. With reference set, every call that the engine answers takes a ptrace stop: slower, and otherwise the
// same. It must be called on the tracer's thread.
func NewMachine(tracer *Tracer, leaks Leaks, spinCPUMs int64, reference bool) (*Machine, error) {
	interruptible()
	stops := ""
	if reference {
		stops = "asked for"
		quietChildSignals()
	} else if err := heedChildren(); err != nil {
		stops = err.Error()
	}
	fd, err := unix.MemfdCreate("bloodhound-stub", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	if _, err := unix.Pwrite(fd, stubImage(), 0); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("memfd: %w", sized(err))
	}
	m := &Machine{threads: map[ThreadID]*thread{}, alive: map[int]int{}, written: map[int64]*writtenFile{},
		sparing: map[filePlace]int{}, stubFD: fd, tracer: tracer, loop: unix.Gettid(), leaks: leaks, Stops: stops, ignored: ignoredHere(), let: letAndReceive}
	m.watch = startWatchdog(spinCPUMs)
	if !leaks.TSC {
		m.Slow = giveUpTSC()
	}
	m.cpuidTraps = !leaks.Instructions && giveUpCPUID()
	tracer.machines = append(tracer.machines, m)
	return m, nil
}

// sibling is a machine without processes for a copy of the world. It does not watch its threads yet.
func (m *Machine) sibling() (*Machine, error) {
	fd, err := unix.FcntlInt(uintptr(m.stubFD), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("fcntl: %w", err)
	}
	n := &Machine{threads: map[ThreadID]*thread{}, alive: map[int]int{}, stubFD: fd, tracer: m.tracer, loop: m.loop,
		vdsoOffset: m.vdsoOffset, leaks: m.leaks, ignored: m.ignored,
		watch: &watchdog{owner: m.watch.owner, limitNs: m.watch.limitNs}, let: m.let, Stops: m.Stops, vdsoAround: m.vdsoAround, cpuidTraps: m.cpuidTraps,
		written: copyWritten(m.written), identities: m.identities, layout: m.layout, Slow: m.Slow, Contrast: m.Contrast, sparing: maps.Clone(m.sparing)}
	m.tracer.machines = append(m.tracer.machines, n)
	return n, nil
}

// Close kills and reaps every process that is left. The OS thread must not end without it: Go's runtime blocks all
// signals then, and a trapped TSC kills a process whose handler cannot run.
func (m *Machine) Close() {
	m.tracer.leave(m)
	m.watch.stop()
	for len(m.threads) > 0 {
		for id := range m.threads {
			m.Kill(id)
			break
		}
	}
	m.tracer.closeListeners()
	unix.Close(m.stubFD)
}

// Interrupt makes the thread that runs now stop soon, with StopSpin. It may be called from any goroutine.
func (m *Machine) Interrupt() { m.watch.interrupt() }

// newSpace numbers an address space.
func (m *Machine) newSpace() int {
	m.spaces++
	return m.spaces
}

func (m *Machine) get(id ThreadID) *thread {
	t := m.threads[id]
	if t == nil {
		panic(fmt.Sprintf("host: no thread %d", id))
	}
	return t
}

func (t *thread) load() *unix.PtraceRegs {
	if !t.loaded {
		ptrace(unix.PTRACE_GETREGS, t.tid, 0, uintptr(unsafe.Pointer(&t.regs)))
		t.loaded = true
	}
	return &t.regs
}

func (t *thread) flush() {
	if t.dirty {
		ptrace(unix.PTRACE_SETREGS, t.tid, 0, uintptr(unsafe.Pointer(&t.regs)))
	}
	t.dirty, t.loaded = false, false
}

// Result answers the call at which a thread stopped with v (a value, or a negated errno) and skips it.
func (m *Machine) Result(id ThreadID, v int64) {
	t := m.get(id)
	switch {
	case t.at == atNotice:
		t.at, t.value = atAnswered, v
	case t.at == atCall && !t.loaded:
		ptrace(unix.PTRACE_POKEUSR, t.tid, userOrigRax, ^uintptr(0))
		ptrace(unix.PTRACE_POKEUSR, t.tid, userRax, uintptr(v))
		t.at = atStart
	default:
		t.set(v)
	}
}

// set makes v the result of the call at which a thread stopped, and ends the call.
func (t *thread) set(v int64) {
	t.load()
	t.regs.Rax = uint64(v)
	t.regs.Orig_rax = ^uint64(0)
	t.dirty = true
	t.at = atStart
}

// Restart makes the thread execute the call at which it stopped once more when it runs on: what SA_RESTART asks
// for after a handler.
func (m *Machine) Restart(id ThreadID, nr uint64) {
	t := m.get(id)
	m.withdraw(t)
	t.load()
	t.regs.Rip -= 2
	t.regs.Rax = nr
	t.regs.Orig_rax = ^uint64(0)
	t.dirty = true
	t.at = atStart
}

// Resume lets a thread run to its next stop. With everyCall it stops after passed calls too.
func (m *Machine) Resume(id ThreadID, everyCall bool, stop *machine.Stop) {
	t := m.get(id)
	m.resume(id, t, everyCall, stop)
	if stop.Kind != machine.StopSpin {
		t.spin.row = 0
	}
}

func (m *Machine) resume(id ThreadID, t *thread, everyCall bool, stop *machine.Stop) {
	if t.queued != nil {
		*stop = *t.queued
		t.queued = nil
		return
	}
	if t.chance != nil && len(t.chance.suspects) > 0 {
		m.closeSuspects(t)
	}
	if m.watch.blobs != nil && len(m.watch.blobs.stale) > 0 {
		m.shutStale()
	}
	debugged := m.Debugger != nil || t.traps.any()
	if t.spinLoop != nil {
		if debugged {
			m.lift(t)
		}
		if m.goAround(t, stop) {
			return
		}
	}
	t.spinTurns = max(t.spinTurns-1, 0)
	if debugged {
		m.debugged(id, t, everyCall, stop)
		return
	}
	request := unix.PTRACE_CONT
	if everyCall {
		request = unix.PTRACE_SYSCALL
		m.withdraw(t)
	}
	for {
		switch t.at {
		case atCall, atNotice, atWithdrawn:
			panic("host: Resume of a thread whose call was not answered")
		}
		t.flush()
		m.watch.running(t)
		noticed, status, errno := m.proceed(t, request)
		m.watch.stopped()
		switch {
		case noticed:
			m.noticed(stop)
			return
		case errno != 0 || status.Exited() || status.Signaled():
			m.reaped(id, t)
			*stop = machine.Stop{Kind: machine.StopExit, Status: status}
			return
		case m.decode(t, status, stop) && (stop.Kind != machine.StopCallExit || everyCall):
			return
		}
	}
}

// decode turns a wait status into a Stop; false means that the thread must simply continue.
func (m *Machine) decode(t *thread, status syscall.WaitStatus, stop *machine.Stop) bool {
	t.at = atStart
	switch event, sig := int(status>>16), syscall.Signal(status>>8&0xff); {
	case event == unix.PTRACE_EVENT_SECCOMP:
		t.at = atCall
		m.call(t, stop)
		if t.sparesCode(stop) {
			t.at = atLet
			m.watch.continues()
			return false
		}
		return true
	case event != 0:
		panic(fmt.Sprintf("host: unexpected ptrace event %d", event))
	case sig == syscall.SIGTRAP|0x80:
		var info syscallInfo
		ptrace(ptraceGetSyscallInfo, t.tid, unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)))
		if info.op != infoExit {
			return false
		}
		*stop = machine.Stop{Kind: machine.StopCallExit, IP: info.ip}
		return true
	default:
		return m.signal(t, sig, stop)
	}
}

func (m *Machine) call(t *thread, stop *machine.Stop) {
	var info syscallInfo
	ptrace(ptraceGetSyscallInfo, t.tid, unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)))
	stop.Kind = machine.StopCall
	stop.Nr, stop.Args, stop.IP = info.nr, info.args, info.ip
	stop.Foreign = info.arch != auditArchX8664 || info.nr&x32Bit != 0
	t.foreign = stop.Foreign
}

// siginfo_t: si_signo, si_errno, si_code at 0, 4, 8.
const (
	siKernel  = 0x80
	trapBreak = 1 // TRAP_BRKPT: what x86 says of a single step over a call
	trapTrace = 2 // TRAP_TRACE
	// accessError is SEGV_ACCERR: the map is there, and does not permit what the thread does.
	accessError = 2
)

// Results from eRestartSys to eRestartNoHand are of calls that a signal has interrupted, and that are made again if there is
// no handler (linux/errno.h).
const (
	eRestartSys    = 512
	eRestartNoHand = 514
)

// unflag takes the flag of a single step from the register in which the processor keeps the flags as it enters a call.
func (t *thread) unflag() {
	if r := t.load(); r.R11&trapFlag != 0 {
		r.R11 &^= trapFlag
		t.dirty = true
	}
}

func (m *Machine) signal(t *thread, sig syscall.Signal, stop *machine.Stop) bool {
	t.at = atSignal
	stop.Kind = machine.StopSignal
	stop.Signal = int(sig)
	stop.Info = [128]byte{}
	ptrace(unix.PTRACE_GETSIGINFO, t.tid, 0, uintptr(unsafe.Pointer(&stop.Info)))
	reason := int32(binary.LittleEndian.Uint32(stop.Info[8:]))
	if sig == syscall.SIGTRAP {
		if t.stepping && (reason == trapBreak || reason == trapTrace) {
			t.stepping, t.at = false, atStart
			t.unflag()
			return false
		}
	}
	if sig == m.trapSignal() {
		if ours, goesOn := m.trapped(t, stop); ours {
			return !goesOn
		}
	}
	switch sig {
	case syscall.SIGSTOP:
		if r := t.load(); t.listener != nil && r.Orig_rax != ^uint64(0) && int64(r.Rax) == -eRestartSys {
			m.watch.fired() // it had just made a call, whose notification the engine has not received: it makes it again
			t.at = atStart
			return false
		}
		return m.interrupted(t, m.watch.fired(), stop)
	case syscall.SIGSEGV:
		if reason == siKernel && (m.timestamp(t) || m.identified(t)) {
			return false
		}
		if reason == accessError {
			if ours, stopped := m.arrived(t, stop); ours {
				return stopped
			}
			if ours, stopped := m.touched(t, stop); ours {
				return stopped
			}
			if ours, stopped := m.barred(t, stop); ours {
				return stopped
			}
		}
		return reason > 0
	case syscall.SIGBUS, syscall.SIGFPE, syscall.SIGILL, syscall.SIGTRAP, syscall.SIGSYS:
		return reason > 0
	}
	return false // only the engine signals a world's process
}

// timestamp answers a trapped rdtsc or rdtscp from virtual time: one tick is one nanosecond.
func (m *Machine) timestamp(t *thread) bool {
	r := t.load()
	var b [code.MaxInstruction]byte
	text := b[:t.see(r.Rip, b[:])]
	at := code.Prefixes(text)
	size := uint64(at)
	switch text = text[at:]; {
	case bytes.HasPrefix(text, []byte{0x0f, 0x31}):
		size += 2
	case bytes.HasPrefix(text, []byte{0x0f, 0x01, 0xf9}):
		size += 3
		r.Rcx = 0 // TSC_AUX: CPU 0, node 0
	default:
		return false
	}
	p := t.vdso.Time
	p.NowNs += p.ReadCostNs
	p.Reads++
	p.TickReads++
	v := uint64(p.MonoNs + p.NowNs)
	r.Rax, r.Rdx = v&0xffffffff, v>>32
	r.Rip += size
	t.dirty = true
	m.unforce(t, unix.SIGSEGV)
	t.at = atStart
	return true
}

// identified answers a trapped cpuid.
func (m *Machine) identified(t *thread) bool {
	var b [code.MaxInstruction]byte
	in, ok := code.Recognise(b[:t.see(t.load().Rip, b[:])])
	if !ok || in.Kind != code.CPUID || !m.emulate(t, &in) {
		return false
	}
	m.unforce(t, unix.SIGSEGV)
	t.at = atStart
	m.watch.continues()
	return true
}

// Fault hands the signal of a StopSignal over to the handler that the thread has for it: the real kernel builds the frame. Where the
// stack has no room for one, the next Resume gives a StopSignal that is Unbuilt.
func (m *Machine) Fault(id ThreadID, sig int) {
	t := m.get(id)
	var info [128]byte
	ptrace(unix.PTRACE_GETSIGINFO, t.tid, 0, uintptr(unsafe.Pointer(&info)))
	t.flush()
	entered := m.enterHandler(t, sig, false)
	memory := sig == int(unix.SIGSEGV) || sig == int(unix.SIGBUS)
	if entered && (!memory || binary.LittleEndian.Uint32(info[8:]) == siKernel) {
		m.writeAt(t, t.load().Rsp+frameFault, make([]byte, 8)) // of the last fault before, which may be one of the engine's
	}
	if t.queued != nil && t.queued.Unbuilt {
		t.queued.Info = info
	}
}

// enterHandler has a thread that is in a signal-delivery stop enter its handler. It reports whether the frame was built; if not,
// the next Resume reports what happened instead. asynchronous says that no fault of the processor is behind the signal.
func (m *Machine) enterHandler(t *thread, sig int, asynchronous bool) bool {
	ptrace(unix.PTRACE_SINGLESTEP, t.tid, 0, uintptr(sig))
	status, errno := m.wait(t)
	if errno != 0 || !status.Stopped() {
		t.queued = &machine.Stop{Kind: machine.StopExit, Status: status}
		return false
	}
	t.at = atStart
	if int(status>>8) == int(syscall.SIGTRAP) {
		m.steadyFrame(t, asynchronous)
		return true
	}
	t.queued = &machine.Stop{}
	if !m.decode(t, status, t.queued) {
		t.queued = nil
	} else if s := t.queued; s.Kind == machine.StopSignal && s.Signal == int(syscall.SIGSEGV) && binary.LittleEndian.Uint32(s.Info[8:]) == siKernel {
		s.Unbuilt = true
	}
	return false
}

// Ignore drops the signal of a StopSignal.
func (m *Machine) Ignore(id ThreadID) { m.get(id).at = atStart }

// Sigmask reads the blocked signals of a stopped thread: bit n-1 is signal n.
func (m *Machine) Sigmask(id ThreadID) uint64 {
	var mask uint64
	t := m.get(id)
	m.withdraw(t)
	ptrace(ptraceGetSigmask, t.tid, 8, uintptr(unsafe.Pointer(&mask)))
	return mask
}

// SetSigmask replaces the blocked signals of a stopped thread.
func (m *Machine) SetSigmask(id ThreadID, mask uint64) {
	t := m.get(id)
	m.withdraw(t)
	ptrace(ptraceSetSigmask, t.tid, 8, uintptr(unsafe.Pointer(&mask)))
}

// Deliver makes the handler of a signal run next: the real kernel builds the frame. The call at which the thread
// stopped must have been answered. maskAfter, if not nil, is the mask that the handler's return restores. It
// reports whether the handler's frame was built; if not, the next Resume reports what happened instead.
func (m *Machine) Deliver(id ThreadID, sig int, info *[128]byte, maskAfter *uint64) bool {
	t := m.get(id)
	m.withdraw(t)
	t.spin.signal()
	if t.at == atCall || t.at == atWithdrawn {
		panic("host: Deliver to a thread whose call was not answered")
	}
	unix.Tgkill(t.tgid, t.tid, syscall.Signal(sig))
	t.flush()
	var status syscall.WaitStatus
	errno := syscall.Errno(0)
	for late := true; late; { // an interruption by the watchdog that comes too late is first
		ptrace(unix.PTRACE_CONT, t.tid, 0, 0)
		status, errno = m.wait(t)
		late = errno == 0 && int(status>>8) == int(syscall.SIGSTOP) && sig != int(syscall.SIGSTOP)
	}
	if errno != 0 || !status.Stopped() {
		t.queued = &machine.Stop{Kind: machine.StopExit, Status: status}
		return false
	}
	if got := status >> 8; int(got) != sig {
		t.queued = &machine.Stop{}
		if !m.decode(t, status, t.queued) {
			t.queued = nil
		}
		return false
	}
	binary.LittleEndian.PutUint32(info[0:], uint32(sig))
	ptrace(unix.PTRACE_SETSIGINFO, t.tid, 0, uintptr(unsafe.Pointer(info)))
	if !m.enterHandler(t, sig, true) {
		return false
	}
	if maskAfter != nil {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], *maskAfter)
		m.writeAt(t, t.load().Rsp+frameSigmask, b[:])
	}
	return true
}

// Native lets the real kernel execute the call at which the thread stopped, with its own arguments, and returns
// the result; Result must still be called. The call must not block.
func (m *Machine) Native(id ThreadID) int64 {
	t := m.get(id)
	m.withdraw(t)
	r := t.load()
	return m.execute(t, r.Orig_rax, r.Rdi, r.Rsi, r.Rdx, r.R10, r.R8, r.R9)
}

// Pass lets the real kernel execute the call at which the thread stopped when the thread runs on; the engine does not look
// at the result.
func (m *Machine) Pass(id ThreadID) {
	switch t := m.get(id); t.at {
	case atNotice:
		t.at = atPassed
	case atWithdrawn:
		t.set(m.Native(id))
	default:
		t.at = atLet
	}
}

// Execute makes the thread execute a real call of the engine's choice; the thread's registers stay as they were.
// The call must not block.
func (m *Machine) Execute(id ThreadID, nr uint64, args ...uint64) int64 {
	return m.execute(m.get(id), nr, args...)
}

func (m *Machine) execute(t *thread, nr uint64, args ...uint64) int64 {
	saved, ok := m.beginCall(t, nr, args...)
	for ok {
		ptrace(unix.PTRACE_SYSCALL, t.tid, 0, 0)
		status, errno := m.wait(t)
		if errno != 0 || !status.Stopped() {
			t.queued = &machine.Stop{Kind: machine.StopExit, Status: status}
			break
		}
		if done, v := m.ended(t, status); done {
			m.end(t, saved)
			return v
		}
	}
	return -int64(unix.ESRCH)
}

// passIP is where a thread seems to be when it makes a call of the engine's choice: by that the filter lets it pass. No
// program can have code there: the addresses are the kernel's, whatever the size of a program's own (5-level paging).
const passIP = 0xfffffffffffff800

// Segments of 64-bit code, and the flag of the processor that asks for a trap after each instruction (asm/segment.h,
// asm/processor-flags.h).
const (
	userCS   = 0x33
	userSS   = 0x2b
	trapFlag = 0x100
)

// beginCall brings a thread into a call of the engine's choice, before the filter sees it; it returns the registers to put back by end.
// Where the call is made from is the program's own memory, which it may have changed. So nothing rests on what is there: the number
// and all arguments are set in the kernel, at the stop at which the thread has entered a call. false means that the thread did
// anything else, and that its process was killed for it.
func (m *Machine) beginCall(t *thread, nr uint64, args ...uint64) (unix.PtraceRegs, bool) {
	m.withdraw(t)
	saved := *t.load()
	if t.queued != nil && t.queued.Kind == machine.StopExit {
		return saved, false
	}
	r := saved
	var a [6]uint64
	copy(a[:], args)
	r.Rdi, r.Rsi, r.Rdx, r.R10, r.R8, r.R9 = a[0], a[1], a[2], a[3], a[4], a[5]
	r.Eflags &^= trapFlag
	r.Cs, r.Ss = userCS, userSS
	r.Orig_rax = nr
	r.Rip = passIP
	t.call = r
	ok := true
	if t.at == atCall && !t.foreign {
		ptrace(unix.PTRACE_SETREGS, t.tid, 0, uintptr(unsafe.Pointer(&r)))
	} else {
		ok = m.enterCall(t)
	}
	saved.Orig_rax = ^uint64(0)
	return saved, ok
}

// enterCall brings a thread that stopped anywhere but at a call into the call that t.call describes.
func (m *Machine) enterCall(t *thread) bool {
	var code [2]byte
	if transfer(unix.SYS_PROCESS_VM_READV, t.tid, t.gadget, code[:]) != len(code) || code != [2]byte{0x0f, 0x05} {
		return m.tampered(t)
	}
	r := t.call
	r.Rax = r.Orig_rax
	r.Orig_rax = ^uint64(0)
	r.Rip = t.gadget
	ptrace(unix.PTRACE_SETREGS, t.tid, 0, uintptr(unsafe.Pointer(&r)))
	for {
		ptrace(unix.PTRACE_SYSCALL, t.tid, 0, 0)
		status, errno := m.wait(t)
		if errno != 0 || !status.Stopped() {
			t.queued = &machine.Stop{Kind: machine.StopExit, Status: status}
			return false
		}
		switch int(status >> 8) {
		case int(syscall.SIGTRAP | 0x80):
			var info syscallInfo
			ptrace(ptraceGetSyscallInfo, t.tid, unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)))
			if info.op != infoEntry {
				continue // the end of the call before
			}
			if info.arch != auditArchX8664 {
				return m.tampered(t)
			}
			ptrace(unix.PTRACE_SETREGS, t.tid, 0, uintptr(unsafe.Pointer(&t.call)))
			return true
		case int(syscall.SIGSTOP): // an interruption by the watchdog that comes too late
		default:
			return m.tampered(t)
		}
	}
}

// tampered kills the process of a thread whose pages of the engine are not what the engine has put there. The next Resume of each of
// its threads gives StopExit. It is always false.
func (m *Machine) tampered(t *thread) bool {
	tgid := t.tgid
	var threads []*thread
	for _, o := range m.threads {
		if o.tgid == tgid {
			threads = append(threads, o)
		}
	}
	m.Kill(t.id)
	for _, o := range threads {
		o.queued = &machine.Stop{Kind: machine.StopExit, Status: syscall.WaitStatus(unix.SIGKILL)}
		o.tid, o.tgid = nowhere+o.tid, nowhere+tgid
		m.threads[o.id] = o
	}
	return false
}

// nowhere is above all real ids (PID_MAX_LIMIT of linux/threads.h): a thread with an id from here on is gone.
const nowhere = 1 << 30

// ended reports whether a stop is the end of a call, and its result. An interruption by the watchdog that comes too late, while the
// thread is at its stop already, may interrupt the call: the kernel makes it again by itself, from the gadget.
func (m *Machine) ended(t *thread, status syscall.WaitStatus) (bool, int64) {
	if int(status>>8) != int(syscall.SIGTRAP|0x80) {
		return false, 0
	}
	var info syscallInfo
	ptrace(ptraceGetSyscallInfo, t.tid, unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)))
	value := int64(info.nr) // rval shares the place of nr
	switch {
	case info.op == infoEntry:
		ptrace(unix.PTRACE_SETREGS, t.tid, 0, uintptr(unsafe.Pointer(&t.call)))
	case info.op == infoExit && -eRestartNoHand <= value && value <= -eRestartSys:
		ptrace(unix.PTRACE_POKEUSR, t.tid, userRip, uintptr(t.gadget)+2)
	default:
		return info.op == infoExit, value
	}
	return false, 0
}

func (m *Machine) end(t *thread, saved unix.PtraceRegs) {
	t.regs, t.loaded, t.dirty, t.at = saved, true, true, atStart
}

// Read copies memory of a thread's process; it returns how many bytes could be read.
func (m *Machine) Read(id ThreadID, addr uint64, p []byte) int { return m.readAt(m.get(id), addr, p) }

// Write copies into the memory of a thread's process; it returns how many bytes could be written.
func (m *Machine) Write(id ThreadID, addr uint64, p []byte) int {
	if m.Debugger != nil {
		m.Debugger.Wrote(id, addr, len(p))
	}
	return m.writeAt(m.get(id), addr, p)
}

func (m *Machine) readAt(t *thread, addr uint64, p []byte) int {
	n := transfer(unix.SYS_PROCESS_VM_READV, t.tid, addr, p)
	if n < len(p) && m.hidden(t, addr, uint64(len(p))) {
		n = t.see(addr, p)
	}
	t.asProgram(addr, p[:n])
	return n
}

// asProgram makes what was read of a process' memory what the program has there, without breakpoints.
func (t *thread) asProgram(addr uint64, p []byte) {
	t.traps.restored(addr, p)
	t.unbroken(addr, p)
	t.chance.restored(addr, p)
}

// ReadBoth reads two parts in one system call. It reports whether it has read all: Read tells how much there is of each.
func (m *Machine) ReadBoth(id ThreadID, first, second machine.Part) bool {
	t, all := m.get(id), len(first.Data)+len(second.Data)
	local := [2]unix.Iovec{{Base: &first.Data[0], Len: uint64(len(first.Data))}, {Base: &second.Data[0], Len: uint64(len(second.Data))}}
	remote := [2][2]uint64{{first.Addr, uint64(len(first.Data))}, {second.Addr, uint64(len(second.Data))}}
	n, _, e := syscall.RawSyscall6(unix.SYS_PROCESS_VM_READV, uintptr(t.tid), uintptr(unsafe.Pointer(&local)), 2, uintptr(unsafe.Pointer(&remote)), 2, 0)
	if e != 0 || int(n) != all {
		return false
	}
	t.asProgram(first.Addr, first.Data)
	t.asProgram(second.Addr, second.Data)
	return true
}

func (m *Machine) writeAt(t *thread, addr uint64, p []byte) int {
	n := transfer(unix.SYS_PROCESS_VM_WRITEV, t.tid, addr, p)
	if n < len(p) && (m.unguard(t, addr, uint64(len(p))) || m.admit(t, addr, uint64(len(p)))) {
		n = transfer(unix.SYS_PROCESS_VM_WRITEV, t.tid, addr, p)
	}
	return n
}

func transfer(nr uintptr, tid int, addr uint64, p []byte) int {
	if len(p) == 0 {
		return 0
	}
	local := unix.Iovec{Base: &p[0], Len: uint64(len(p))}
	remote := [2]uint64{addr, uint64(len(p))}
	n, _, e := syscall.RawSyscall6(nr, uintptr(tid), uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0)
	if e != 0 {
		return 0
	}
	return int(n)
}

// maxParts is how many parts WriteParts takes.
const maxParts = 4

// WriteParts writes several parts, one after the other, in one system call; it returns how many bytes could be written.
func (m *Machine) WriteParts(id ThreadID, parts ...machine.Part) int {
	var local [maxParts]unix.Iovec
	var remote [maxParts][2]uint64
	n, total := 0, 0
	for _, p := range parts {
		if len(p.Data) > 0 {
			local[n] = unix.Iovec{Base: &p.Data[0], Len: uint64(len(p.Data))}
			remote[n] = [2]uint64{p.Addr, uint64(len(p.Data))}
			n++
			total += len(p.Data)
			if m.Debugger != nil {
				m.Debugger.Wrote(id, p.Addr, len(p.Data))
			}
		}
	}
	if n == 0 {
		return 0
	}
	t := m.get(id)
	v, _, e := syscall.RawSyscall6(unix.SYS_PROCESS_VM_WRITEV, uintptr(t.tid), uintptr(unsafe.Pointer(&local)), uintptr(n),
		uintptr(unsafe.Pointer(&remote)), uintptr(n), 0)
	if (len(m.written) > 0 || m.Barred != nil) && (e != 0 || int(v) < total) {
		return m.writeEach(t, parts)
	}
	if e != 0 {
		return 0
	}
	return int(v)
}

func (m *Machine) writeEach(t *thread, parts []machine.Part) (total int) {
	for _, p := range parts {
		n := m.writeAt(t, p.Addr, p.Data)
		if total += n; n < len(p.Data) {
			break
		}
	}
	return total
}

// Maps reads the real /proc/PID/maps of a thread's process: by the thread, since a main thread that has ended has no memory any more.
// Pages that the engine watches look as the program has mapped them.
func (m *Machine) Maps(id ThreadID) string {
	t := m.get(id)
	return m.shownWritten(t.space, t.chance.unwatched(t.realMaps()))
}

// MapFlags reads /proc/PID/smaps, which walks all of the process' pages.
func (m *Machine) MapFlags(id ThreadID) map[uint64]string {
	b := readWhole(fmt.Sprintf("/proc/%d/smaps", m.get(id).tid))
	flags := map[uint64]string{}
	var start uint64
	for line := range strings.Lines(string(b)) {
		if text, ok := strings.CutPrefix(line, "VmFlags:"); ok {
			flags[start] = strings.ReplaceAll(text, " sd", "") // soft-dirty
		} else if r, ok := machine.ParseMap(line); ok {
			start = r.Start
		}
	}
	return flags
}

// Auxv is the auxiliary vector that the last Exec gave to a thread's program.
func (m *Machine) Auxv(id ThreadID) []byte { return m.get(id).auxv }

func (m *Machine) reaped(id ThreadID, t *thread) {
	delete(m.threads, id)
	if m.alive[t.tgid]--; m.alive[t.tgid] <= 0 {
		delete(m.alive, t.tgid)
	}
}

// OpenFD opens one of this process' files in a thread's process and returns the real descriptor there, which must
// be closed again by Execute.
func (m *Machine) OpenFD(id ThreadID, fd int, writable bool) int64 {
	t := m.get(id)
	flags := uint64(unix.O_RDONLY | unix.O_CLOEXEC)
	if writable {
		flags = unix.O_RDWR | unix.O_CLOEXEC
	}
	defer m.cleanScratch(t)
	if !m.scratch(t, m.ownFile(fd)) {
		return -int64(unix.ESRCH)
	}
	return m.execute(t, unix.SYS_OPENAT, 0, machine.ScratchArea, flags)
}

// ownFile names an open file of this process for a thread that the machine runs. The files are named by the thread that owns the
// machine: where Landlock is in force, the two are in one domain.
func (m *Machine) ownFile(fd int) []byte { return fmt.Appendf(nil, "/proc/%d/fd/%d\x00", m.loop, fd) }

// scratch writes into the scratch area of a thread's process, for a call that it is to execute. false means that it could not be
// written, and that the process was killed for it: the call would have worked on what the program has put there.
func (m *Machine) scratch(t *thread, b []byte) bool {
	return m.writeAt(t, machine.ScratchArea, b) == len(b) || m.tampered(t)
}

// cleanScratch clears the scratch area: nothing of the machine may stay where programs look.
func (m *Machine) cleanScratch(t *thread) { clear(t.vdso.Shared[pageSize:][:scratchUsed]) }

// scratchUsed is how much of the scratch area is written at most.
const scratchUsed = 256
