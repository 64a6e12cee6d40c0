//go:build linux && amd64

package host

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
)

const (
	stackLimitBytes = 8 << 20 // where the engine's pages lie depends on it
	// noCore keeps the machine from recording crashes: with 1 a handler that core_pattern names is not started either (core(5)).
	// Where the limit is 0 for good, as many services have it, it stays.
	noCore = 1
	// dataLimitBytes bounds a program's private writable memory: one that allocates without end gets ENOMEM and must
	// not take the machine with it.
	dataLimitBytes = 8 << 30
	// leastCPUSeconds of CPU time a process may need: one core runs a world, for 10 minutes where its limits say nothing else.
	leastCPUSeconds = 600
)

// Spawn starts a process that holds nothing but the stub. Exec puts a program into it.
func (m *Machine) Spawn(id ThreadID, vdso *machine.VDSO) error {
	if len(m.tracer.listeners) >= maxListeners {
		m.tracer.closeListeners()
	}
	err := m.spawn(id, vdso)
	if none := (*noNotices)(nil); errors.As(err, &none) {
		m.Stops = none.Error()
		m.Kill(id)
		err = m.spawn(id, vdso)
	}
	return err
}

func (m *Machine) spawn(id ThreadID, vdso *machine.VDSO) error {
	// The child closes what it inherits: ForkExec passes no files on, and close_range below takes the rest.
	pid, err := syscall.ForkExec(fmt.Sprintf("/proc/self/fd/%d", m.stubFD), []string{"stub"}, &syscall.ProcAttr{
		Env: []string{}, Sys: &syscall.SysProcAttr{Ptrace: true, Pdeathsig: syscall.SIGKILL, Setsid: true},
	})
	if err != nil {
		return fmt.Errorf("cannot start a process: %w", err)
	}
	if _, status, errno := wait4(pid, 0); errno != 0 || !status.Stopped() {
		return fmt.Errorf("cannot trace a process (is ptrace allowed here? run `bloodhound doctor`): status %#x", status)
	}
	t := &thread{id: id, tid: pid, tgid: pid, space: m.newSpace(), leader: true, gadget: stubGadget, vdso: vdso}
	m.threads[id] = t
	m.alive[pid]++
	if e := ptrace(unix.PTRACE_SETOPTIONS, pid, 0, traceOptions); e != 0 {
		return fmt.Errorf("ptrace options: %w", e)
	}
	return m.confine(t)
}

// confine sets what must hold before the first program of a process starts, and what exec then inherits.
func (m *Machine) confine(t *thread) error {
	type step struct {
		what string
		nr   uint64
		args []uint64
	}
	sp := t.load().Rsp &^ 15
	prog := filter(t.vdso.StopsGrowth, m.Stops == "")
	place := sp - 4096
	at := sp - 8192
	limit := func(what string, resource, value uint64) step {
		var b [16]byte
		binary.LittleEndian.PutUint64(b[:], value)
		binary.LittleEndian.PutUint64(b[8:], value)
		m.writeAt(t, at, b[:])
		at += uint64(len(b))
		return step{what, unix.SYS_PRLIMIT64, []uint64{0, resource, at - uint64(len(b)), 0}}
	}
	var core, cpu unix.Rlimit
	if err := errors.Join(unix.Getrlimit(unix.RLIMIT_CORE, &core), unix.Getrlimit(unix.RLIMIT_CPU, &cpu), meetsNoLimit()); err != nil {
		return err
	}
	code := unsafe.Slice((*byte)(unsafe.Pointer(&prog[0])), len(prog)*8)
	var fprog [16]byte
	binary.LittleEndian.PutUint16(fprog[:], uint16(len(prog)))
	binary.LittleEndian.PutUint64(fprog[8:], place+64)
	if m.writeAt(t, place, fprog[:]) != 16 || m.writeAt(t, place+64, code) != len(code) {
		return fmt.Errorf("cannot write a traced process's memory")
	}
	runtime.KeepAlive(prog)
	steps := []step{
		{"close_range", unix.SYS_CLOSE_RANGE, []uint64{0, 1<<32 - 1, 0}},
		{"no_new_privs", unix.SYS_PRCTL, []uint64{unix.PR_SET_NO_NEW_PRIVS, 1}},
		limit("RLIMIT_STACK", unix.RLIMIT_STACK, stackLimitBytes),
		limit("RLIMIT_DATA", unix.RLIMIT_DATA, dataLimitBytes),
		limit("RLIMIT_AS", unix.RLIMIT_AS, unix.RLIM_INFINITY),
		limit("RLIMIT_CPU", unix.RLIMIT_CPU, cpu.Max),
		limit("RLIMIT_CORE", unix.RLIMIT_CORE, min(noCore, core.Max)),
	}
	if !m.leaks.ASLR {
		steps = append(steps, step{"personality", unix.SYS_PERSONALITY, []uint64{0x0040000}}) // ADDR_NO_RANDOMIZE
	}
	if !m.leaks.TSC {
		steps = append(steps, step{"PR_SET_TSC", unix.SYS_PRCTL, []uint64{unix.PR_SET_TSC, unix.PR_TSC_SIGSEGV}})
	}
	for _, sig := range m.ignored { // it is so in a program, too, even after exec
		var none sigaction
		b := unsafe.Slice((*byte)(unsafe.Pointer(&none)), unsafe.Sizeof(none))
		m.writeAt(t, at, b)
		steps = append(steps, step{"rt_sigaction", unix.SYS_RT_SIGACTION, []uint64{uint64(sig), at, 0, 8}})
	}
	if t.vdso.Accounted {
		steps = append(steps, step{"PR_SET_THP_DISABLE", unix.SYS_PRCTL, []uint64{unix.PR_SET_THP_DISABLE, 1, 0, 0, 0}})
	}
	// Kernels before 5.16 make switches to filtered processes dear, against what those might find out by speculation.
	flags := uint64(unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW)
	if m.Stops == "" {
		flags |= unix.SECCOMP_FILTER_FLAG_NEW_LISTENER
	}
	steps = append(steps, step{"seccomp", unix.SYS_SECCOMP, []uint64{unix.SECCOMP_SET_MODE_FILTER, flags, place}})
	table := make([]stubStep, len(steps))
	for i, s := range steps {
		table[i].nr = int64(s.nr)
		copy(table[i].args[:], s.args)
	}
	if err := m.stub(t, table, place-tableRoom); err != nil {
		return err
	}
	for i, s := range steps {
		v := table[i].nr
		if s.what == "seccomp" && m.Stops == "" {
			return m.listen(t, v)
		}
		if v < 0 && !(s.what == "close_range" && v == -int64(unix.ENOSYS)) && s.what != "RLIMIT_STACK" {
			return fmt.Errorf("cannot confine a process: %s: %w (run `bloodhound doctor`)", s.what, syscall.Errno(-v))
		}
	}
	return nil
}

// tableRoom is how much of the stub's stack the table of its steps takes at most.
const tableRoom = 16 << 10

// stub has a fresh process make the calls of a table, which lies at an address meanwhile and gets their results.
func (m *Machine) stub(t *thread, table []stubStep, at uint64) error {
	list := append(slices.Clone(table), stubStep{nr: -1})
	b := unsafe.Slice((*byte)(unsafe.Pointer(&list[0])), uintptr(len(list))*unsafe.Sizeof(list[0]))
	if len(b) > tableRoom || m.writeAt(t, at, b) != len(b) {
		return fmt.Errorf("cannot write a traced process's memory")
	}
	t.load()
	t.regs.Orig_rax = ^uint64(0)
	saved := t.regs
	t.regs.Rip, t.regs.Rbx = stubSteps, at
	t.dirty = true
	for stopped := false; !stopped; { // an interruption by the watchdog may come between
		t.flush()
		ptrace(unix.PTRACE_CONT, t.tid, 0, 0)
		status, errno := m.wait(t)
		if errno != 0 || !status.Stopped() {
			return fmt.Errorf("cannot confine a process: it ended with status %#x (run `bloodhound doctor`)", status)
		}
		stopped = status.StopSignal() == syscall.SIGTRAP
	}
	m.end(t, saved)
	if m.readAt(t, at, b) != len(b) {
		return fmt.Errorf("cannot read a traced process's memory")
	}
	copy(table, list)
	return nil
}

// ignoredHere are the signals that this process ignores, as programs that start others may have it do (nohup(1)).
func ignoredHere() (signals []syscall.Signal) {
	for sig := syscall.Signal(1); sig <= 64; sig++ {
		var now sigaction
		if rtSigaction(sig, nil, &now) == 0 && now.handler == 1 { // SIG_IGN
			signals = append(signals, sig)
		}
	}
	return signals
}

// Unhandle takes the handlers of some signals from a thread's process.
func (m *Machine) Unhandle(id ThreadID, signals []int) {
	t := m.get(id)
	for _, sig := range signals {
		if m.scratch(t, make([]byte, unsafe.Sizeof(sigaction{}))) {
			m.execute(t, unix.SYS_RT_SIGACTION, uint64(sig), machine.ScratchArea, 0, 8)
		}
	}
}

// Exec replaces the program of a thread's process. others are the further threads of that process: they are gone
// when Exec succeeds. A failure leaves everything as it was.
func (m *Machine) Exec(id ThreadID, img machine.Image, others []ThreadID) syscall.Errno {
	t := m.get(id)
	started := mapped(&img)
	if img.InterpreterFD != 0 {
		started = img.InterpreterFD
	}
	path := m.ownFile(started)
	block, at := argBlock(path, img.Argv, img.Env)
	size, space := uint64(len(block)), t.space
	// The strings go to a place of their own: they may be larger than any scratch area.
	base := m.execute(t, unix.SYS_MMAP, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, ^uint64(0), 0)
	if base < 0 {
		return syscall.Errno(-base)
	}
	relocate(block, at, uint64(base))
	if m.writeAt(t, uint64(base), block) != len(block) {
		m.execute(t, unix.SYS_MUNMAP, uint64(base), size)
		return syscall.ENOMEM
	}
	fd := m.execute(t, unix.SYS_OPENAT, 0, uint64(base), unix.O_RDONLY|unix.O_CLOEXEC)
	if fd < 0 {
		m.execute(t, unix.SYS_MUNMAP, uint64(base), size)
		return syscall.Errno(-fd)
	}
	m.writeAt(t, uint64(base), make([]byte, len(path))) // a process that shares the memory (vfork) must not see the machine's ids
	saved, ok := m.beginCall(t, unix.SYS_EXECVEAT, uint64(fd), uint64(base)+at.empty, uint64(base)+at.argv, uint64(base)+at.env, unix.AT_EMPTY_PATH)
	if !ok {
		return syscall.ESRCH
	}
	errno := m.awaitExec(id, t, others)
	if errno != 0 {
		m.end(t, saved)
		m.execute(t, unix.SYS_CLOSE, uint64(fd))
		m.execute(t, unix.SYS_MUNMAP, uint64(base), size)
		return errno
	}
	if sharer := m.sharer(t, space); sharer != nil { // the strings lie in its memory too, which goes on
		m.aside(sharer, func() int64 { return m.execute(sharer, unix.SYS_MUNMAP, uint64(base), size) })
	}
	t.vdso = img.VDSO
	if t.queued != nil { // there is no program to furnish
		t.loaded, t.dirty, t.at, t.auxv = false, false, atStart, nil
		return 0
	}
	if m.furnish(t, img) != 0 {
		t.queued = unloadable() // there is no way back, and what is there must not run
	}
	return 0
}

// sharer gives a thread that has an address space together with t, nil if t is alone there.
func (m *Machine) sharer(t *thread, space int) *thread {
	for _, o := range m.threads {
		if o != t && o.executesIn(space) {
			return o
		}
	}
	return nil
}

// mapped is the file that is mapped as the program.
func mapped(i *machine.Image) int {
	if i.Code != nil {
		return i.Code.FD()
	}
	return i.FD
}

type argPlaces struct{ empty, argv, env uint64 }

// argBlock lays out path, strings and pointer arrays as execve wants them, with pointers relative to 0.
func argBlock(path []byte, argv, env []string) ([]byte, argPlaces) {
	b := slices.Clone(path)
	at := argPlaces{empty: uint64(len(b)) - 1}
	places := func(list []string) []uint64 {
		var p []uint64
		for _, s := range list {
			p = append(p, uint64(len(b)))
			b = append(append(b, s...), 0)
		}
		return p
	}
	a, e := places(argv), places(env)
	for len(b)%8 != 0 {
		b = append(b, 0)
	}
	array := func(p []uint64) uint64 {
		start := uint64(len(b))
		for _, v := range p {
			b = binary.LittleEndian.AppendUint64(b, v)
		}
		b = binary.LittleEndian.AppendUint64(b, 0)
		return start
	}
	at.argv = array(a)
	at.env = array(e)
	return b, at
}

func relocate(b []byte, at argPlaces, base uint64) {
	for i := at.argv; i+8 <= uint64(len(b)); i += 8 {
		if v := binary.LittleEndian.Uint64(b[i:]); v != 0 { // NULL ends an array; no string is at offset 0
			binary.LittleEndian.PutUint64(b[i:], v+base)
		}
	}
}

// awaitExec runs an execveat to its end. While it tears the other threads down, the tracer must reap them.
func (m *Machine) awaitExec(id ThreadID, t *thread, others []ThreadID) syscall.Errno {
	ptrace(unix.PTRACE_SYSCALL, t.tid, 0, 0)
	waitFor := func() (syscall.WaitStatus, bool) {
		if len(others) == 0 {
			status, errno := m.wait(t)
			return status, errno == 0
		}
		for {
			for i := 0; i < len(others); i++ {
				o := m.threads[others[i]]
				if o.leader && !t.leader {
					continue // the leader's id passes to the thread that executes
				}
				if n, status, errno := wait4(o.tid, unix.WNOHANG); errno != 0 || n == o.tid && !status.Stopped() {
					m.reaped(others[i], o)
					others = append(others[:i:i], others[i+1:]...)
					i--
				}
			}
			if n, status, errno := wait4(t.tid, unix.WNOHANG); errno == 0 && n == t.tid {
				return status, true
			}
			if !t.leader {
				if n, status, errno := wait4(t.tgid, unix.WNOHANG); errno == 0 && n == t.tgid {
					return status, true
				}
			}
			time.Sleep(20 * time.Microsecond)
		}
	}
	for {
		status, ok := waitFor()
		if !ok || !status.Stopped() {
			t.queued = &machine.Stop{Kind: machine.StopExit, Status: status}
			return 0
		}
		if int(status>>16) == unix.PTRACE_EVENT_EXEC {
			for _, o := range others { // a former leader: its real thread is gone, its id lives on as ours
				delete(m.threads, o)
			}
			t.tid, t.leader = t.tgid, true
			m.alive[t.tgid] = 1
			break
		}
		if done, v := m.ended(t, status); done {
			if !m.whole(t) {
				t.queued = unloadable()
				return 0
			}
			return syscall.Errno(-v)
		}
		ptrace(unix.PTRACE_SYSCALL, t.tid, 0, 0)
	}
	ptrace(unix.PTRACE_SYSCALL, t.tid, 0, 0) // on to the end of execveat
	m.wait(t)
	t.loaded, t.dirty, t.at = false, false, atStart
	return 0
}

// whole reports whether a process still has the program that it had, after an execve that failed. Past a point of no return, Linux has
// taken that apart when it finds that it cannot load the other one, such as a file that is cut short.
func (m *Machine) whole(t *thread) bool {
	var code [2]byte
	return m.readAt(t, t.gadget, code[:]) == len(code) && code == [2]byte{0x0f, 0x05}
}

// unloadable returns the stop with which Linux ends a process that it cannot load (force_fatal_sig in exec.c).
func unloadable() *machine.Stop {
	const byKernel = 0x80 // SI_KERNEL
	s := &machine.Stop{Kind: machine.StopSignal, Signal: int(unix.SIGSEGV)}
	binary.LittleEndian.PutUint32(s.Info[0:], uint32(unix.SIGSEGV))
	binary.LittleEndian.PutUint32(s.Info[8:], byKernel)
	return s
}

// Auxiliary vector types (elf.h).
const (
	atPhdr, atPhnum, atBase, atEntry = 3, 5, 7, 9

	atUID, atEUID, atGID, atEGID = 11, 12, 13, 14
	atSecure                     = 23
	atRandom                     = 25
	atExecfn                     = 31
	atSysinfoEhdr                = 33
)

// hand opens a file of this process in a fresh program, and gives the descriptor there, or an errno below 0. The path holds a
// real id: it must not stay behind in the program's stack.
func (m *Machine) hand(t *thread, fd int, flags uint64) int64 {
	path := m.ownFile(fd)
	where := t.load().Rsp - 2048
	if m.writeAt(t, where, path) != len(path) {
		return -int64(unix.EFAULT)
	}
	defer m.writeAt(t, where, make([]byte, len(path)))
	return m.execute(t, unix.SYS_OPENAT, 0, where, flags|unix.O_CLOEXEC)
}

// furnish prepares a fresh program: auxiliary vector, the engine's pages.
func (m *Machine) furnish(t *thread, img machine.Image) syscall.Errno {
	if t.queued != nil {
		return 0 // died in exec; the next Resume reports it
	}
	t.space, t.code, t.chance, t.traps = m.newSpace(), nil, nil, nil
	t.armed = [machine.MaxWatchpoints]machine.Watchpoint{}
	sp := t.load().Rsp
	stack := make([]byte, 64<<10)
	stack = stack[:m.readAt(t, sp, stack)]
	word := func(i uint64) uint64 {
		if i+8 > uint64(len(stack)) {
			more := make([]byte, i+(64<<10))
			stack = more[:m.readAt(t, sp, more)]
		}
		if i+8 > uint64(len(stack)) {
			return 0
		}
		return binary.LittleEndian.Uint64(stack[i:])
	}
	i := 8 * (word(0) + 2) // argc, argv, NULL
	for word(i) != 0 {     // env
		i += 8
	}
	put := func(off, v uint64) {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], v)
		m.writeAt(t, sp+off, b[:])
	}
	vdso := uint64(0)
	i += 8
	vector := i
	for ; word(i) != 0; i += 16 {
		switch word(i) {
		case atSysinfoEhdr:
			vdso = word(i + 8)
			if !m.leaks.VDSO {
				put(i+8, machine.VDSOText)
			}
		case atRandom:
			if !m.leaks.Random {
				m.writeAt(t, word(i+8), img.Random[:])
			}
		case atExecfn:
			put(i+8, machine.PrivatePage)
		case atUID, atEUID:
			put(i+8, uint64(img.UID))
		case atGID, atEGID:
			put(i+8, uint64(img.GID))
		case atSecure:
			put(i+8, 0)
		}
	}
	t.auxv = make([]byte, i+16-vector)
	m.readAt(t, sp+vector, t.auxv)
	place, errno := m.findGadget(t, vdso)
	if errno != 0 {
		return errno
	}
	t.gadget = place
	fd := m.hand(t, img.VDSO.FD, unix.O_RDWR)
	if fd < 0 {
		return syscall.Errno(-fd)
	}
	const (
		free  = 0x100000 // MAP_FIXED_NOREPLACE
		none  = unix.MAP_PRIVATE | unix.MAP_ANONYMOUS
		fixed = unix.MAP_FIXED
	)
	for _, a := range [][6]uint64{
		{machine.VDSOText, machine.EngineBytes, unix.PROT_NONE, none | unix.MAP_NORESERVE | free, ^uint64(0), 0},
		{machine.VDSOText, machine.VDSOTextBytes, unix.PROT_READ | unix.PROT_EXEC, unix.MAP_PRIVATE | fixed, uint64(fd), 0},
		{machine.TimePageAt, machine.SharedBytes, unix.PROT_READ | unix.PROT_WRITE, unix.MAP_SHARED | fixed, uint64(fd), machine.VDSOTextBytes},
		{machine.PrivatePage, machine.PrivatePageBytes, unix.PROT_READ | unix.PROT_WRITE, none | fixed, ^uint64(0), 0},
	} {
		v := m.execute(t, unix.SYS_MMAP, a[:]...)
		if v < 0 {
			return syscall.Errno(-v)
		}
		if uint64(v) != a[0] { // kernels before 4.17 take the place as a wish
			return syscall.EEXIST
		}
	}
	m.execute(t, unix.SYS_CLOSE, uint64(fd))
	t.gadget = gadget
	if !m.leaks.VDSO && !m.unmapVDSO(t, vdso) {
		return unix.ENOEXEC
	}
	if m.cpuidTraps { // execve has reset it
		m.execute(t, unix.SYS_ARCH_PRCTL, archCPUID, 0)
	}
	name := append([]byte(img.Path), 0)
	if len(name) > machine.PrivatePageBytes {
		name = append(name[:machine.PrivatePageBytes-1], 0)
	}
	m.writeAt(t, machine.PrivatePage, name)
	if img.InterpreterFD != 0 {
		if errno := m.placeProgram(t, img, sp+vector); errno != 0 {
			return errno
		}
	}
	for i := 0; i+16 <= len(t.auxv); i += 16 {
		if binary.LittleEndian.Uint64(t.auxv[i:]) == atEntry {
			t.runs(img.Code, binary.LittleEndian.Uint64(t.auxv[i+8:]))
		}
	}
	t.regs.Rax = 0
	t.dirty = true
	return 0
}

// findGadget looks for a syscall instruction in the real vDSO, which every fresh program has.
func (m *Machine) findGadget(t *thread, vdso uint64) (uint64, syscall.Errno) {
	if vdso == 0 {
		return 0, syscall.ENOEXEC
	}
	if m.vdsoOffset == 0 {
		text := make([]byte, 8192)
		text = text[:m.readAt(t, vdso, text)]
		for i := 0; i+1 < len(text); i++ {
			if text[i] == 0x0f && text[i+1] == 0x05 {
				m.vdsoOffset = uint64(i)
				break
			}
		}
		if m.vdsoOffset == 0 {
			return 0, syscall.ENOEXEC
		}
	}
	return vdso + m.vdsoOffset, 0
}

// Clone flags (sched.h) that the engine handles itself: they carry real ids, would block in the kernel, or name
// things that are virtual.
const ownCloneFlags = 0xff | // exit signal
	unix.CLONE_VFORK | unix.CLONE_PARENT_SETTID | unix.CLONE_CHILD_SETTID | unix.CLONE_CHILD_CLEARTID | unix.CLONE_PIDFD |
	unix.CLONE_UNTRACED | unix.CLONE_PTRACE | unix.CLONE_PARENT

// Clone makes a thread (CLONE_THREAD in flags) or a process out of the thread parent, which stopped at a call.
// The new one is stopped and will see result 0; the parent's call must still be answered.
func (m *Machine) Clone(parent, child ThreadID, flags, stack, tls uint64) syscall.Errno {
	t := m.get(parent)
	flags &^= ownCloneFlags
	if flags&unix.CLONE_THREAD == 0 {
		flags |= unix.CLONE_PARENT // a child of this process: one wait reaps it for good
		// Descriptors are the engine's. The real ones of an execve, which closes them in the new program, would stay in the other process.
		flags &^= unix.CLONE_FILES
	}
	tid, errno := m.clone(t, flags, stack, tls)
	if errno != 0 {
		m.Lack.note("clone", errno)
		return errno
	}
	c := &thread{id: child, tid: tid, tgid: t.tgid, space: t.space, gadget: t.gadget, vdso: t.vdso, code: t.code,
		chance: t.chance, traps: t.traps, listener: t.listener}
	if flags&unix.CLONE_VM == 0 {
		c.space = m.newSpace()
		m.forkedWritten(t.space, c.space)
		c.code, c.chance, c.traps = t.code.copied(), t.chance.copied(), t.traps.copied()
	}
	if flags&unix.CLONE_THREAD == 0 {
		c.tgid, c.leader = tid, true
	}
	m.threads[child] = c
	m.alive[c.tgid]++
	fs := c.load().Fs_base
	c.regs = t.regs
	c.regs.Rax = 0
	c.regs.Fs_base = fs
	if stack != 0 {
		c.regs.Rsp = stack
	}
	c.dirty = true
	return 0
}

// clone makes a thread execute clone(2), with flags of the engine's choice, and waits for the new thread to stop.
func (m *Machine) clone(t *thread, flags, stack, tls uint64) (tid int, errno syscall.Errno) {
	saved, ok := m.beginCall(t, unix.SYS_CLONE, flags, stack, 0, 0, tls)
	if !ok {
		return 0, syscall.EAGAIN
	}
	for {
		ptrace(unix.PTRACE_SYSCALL, t.tid, 0, 0)
		status, errno := m.wait(t)
		if errno != 0 || !status.Stopped() {
			t.queued = &machine.Stop{Kind: machine.StopExit, Status: status}
			return 0, syscall.EAGAIN
		}
		switch int(status >> 16) {
		case unix.PTRACE_EVENT_CLONE, unix.PTRACE_EVENT_FORK, unix.PTRACE_EVENT_VFORK:
			var msg uint64
			ptrace(unix.PTRACE_GETEVENTMSG, t.tid, 0, uintptr(unsafe.Pointer(&msg)))
			tid = int(msg)
			continue
		}
		if done, v := m.ended(t, status); done {
			m.end(t, saved)
			if v < 0 {
				return 0, syscall.Errno(-v)
			}
			break
		}
	}
	if _, status, errno := wait4(tid, 0); errno != 0 || !status.Stopped() {
		return 0, syscall.EAGAIN
	}
	return tid, 0
}

// Exit ends one thread, which stopped at a call.
func (m *Machine) Exit(id ThreadID) {
	t := m.get(id)
	m.beginCall(t, unix.SYS_EXIT, 0)
	m.alive[t.tgid]--
	ptrace(unix.PTRACE_CONT, t.tid, 0, 0)
	if t.leader && m.alive[t.tgid] > 0 {
		t.ended = true
		return // stays a zombie, unreported, until the last thread of the process ends
	}
	leader := m.alive[t.tgid] <= 0
	m.await(t)
	delete(m.threads, id)
	if leader {
		delete(m.alive, t.tgid)
		for other, o := range m.threads {
			if o.tgid == t.tgid && o.leader {
				m.await(o)
				delete(m.threads, other)
			}
		}
	}
}

// await reaps a thread that is about to die.
func (m *Machine) await(t *thread) {
	for {
		_, status, errno := wait4(t.tid, 0)
		if errno != 0 || !status.Stopped() {
			return
		}
		ptrace(unix.PTRACE_CONT, t.tid, 0, 0)
	}
}

// Kill ends the whole process of a thread.
func (m *Machine) Kill(id ThreadID) {
	t := m.threads[id]
	if t == nil {
		return
	}
	unix.Kill(t.tgid, unix.SIGKILL)
	delete(m.alive, t.tgid)
	var leader *thread
	for other, o := range m.threads {
		if o.tgid != t.tgid {
			continue
		}
		delete(m.threads, other)
		if o.leader {
			leader = o
		} else {
			m.await(o)
		}
	}
	if leader != nil {
		m.await(leader) // last: its end is reported only after all others'
	}
}
