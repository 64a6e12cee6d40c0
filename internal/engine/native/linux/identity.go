//go:build linux && amd64

package linux

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
)

func sysGetpid(k *Kernel, t *Thread) Result { return Result(k.Proc(t).PID) }

func sysGettid(k *Kernel, t *Thread) Result { return Result(t.TID) }

func sysGetppid(k *Kernel, t *Thread) Result {
	return Result(ppid(k, k.Proc(t)))
}

// ids are the ids of one kind that a process has (credentials(7)), and whether it may choose them freely.
type ids struct {
	real, effective, saved, fs *int
	free                       bool
}

// forUsers and forGroups make the two twins of a call: getuid and getgid.
func forUsers(call func(k *Kernel, t *Thread, x ids) Result) kernel.Handler {
	return func(k *Kernel, t *Thread) Result {
		c := &k.Proc(t).Cred
		before := *c
		r := call(k, t, ids{&c.UID, &c.EUID, &c.SUID, &c.FSUID, c.May(unix.CAP_SETUID)})
		c.Follow(&before)
		return r
	}
}

func forGroups(call func(k *Kernel, t *Thread, x ids) Result) kernel.Handler {
	return func(k *Kernel, t *Thread) Result {
		c := &k.Proc(t).Cred
		return call(k, t, ids{&c.GID, &c.EGID, &c.SGID, &c.FSGID, c.May(unix.CAP_SETGID)})
	}
}

func getReal(_ *Kernel, _ *Thread, x ids) Result { return Result(*x.real) }

func getEffective(_ *Kernel, _ *Thread, x ids) Result { return Result(*x.effective) }

func getAll(k *Kernel, t *Thread, x ids) Result {
	args := &t.Call.Args
	realAddr, effectiveAddr, savedAddr := args[0].Pointer(), args[1].Pointer(), args[2].Pointer()
	for _, id := range []struct {
		addr  uint64
		value int
	}{{realAddr, *x.real}, {effectiveAddr, *x.effective}, {savedAddr, *x.saved}} {
		if !k.OutU32(t, id.addr, uint32(id.value)) {
			return fail(unix.EFAULT)
		}
	}
	return 0
}

// id32 reads an id; -1 is no id.
func id32(v uint32) int {
	if v == ^uint32(0) {
		return -1
	}
	return int(v)
}

// becomes gives the ids new values, of which -1 keeps the old one.
func (x ids) becomes(real, effective, saved int) Result {
	for _, c := range []struct {
		to *int
		v  int
	}{{x.real, real}, {x.effective, effective}, {x.saved, saved}} {
		if c.v != -1 {
			*c.to = c.v
		}
	}
	*x.fs = *x.effective
	return 0
}

// setOne is setuid(2).
func setOne(k *Kernel, t *Thread, x ids) Result {
	id := id32(t.Call.Args[0].Uint())
	switch {
	case id == -1:
		return fail(unix.EINVAL)
	case x.free:
		return x.becomes(id, id, id)
	case id != *x.real && id != *x.saved:
		return fail(unix.EPERM)
	default:
		return x.becomes(-1, id, -1)
	}
}

// setTwo is setreuid(2): without privilege, ids may be swapped.
func setTwo(k *Kernel, t *Thread, x ids) Result {
	r, e := id32(t.Call.Args[0].Uint()), id32(t.Call.Args[1].Uint())
	if !x.free && (!slices.Contains([]int{-1, *x.real, *x.effective}, r) || !slices.Contains([]int{-1, *x.real, *x.effective, *x.saved}, e)) {
		return fail(unix.EPERM)
	}
	s := -1
	if r != -1 || e != -1 && e != *x.real {
		if s = e; e == -1 {
			s = *x.effective
		}
	}
	return x.becomes(r, e, s)
}

// setAll is setresuid(2).
func setAll(k *Kernel, t *Thread, x ids) Result {
	args := &t.Call.Args
	r, e, s := id32(args[0].Uint()), id32(args[1].Uint()), id32(args[2].Uint())
	for _, id := range []int{r, e, s} {
		if !x.free && !slices.Contains([]int{-1, *x.real, *x.effective, *x.saved}, id) {
			return fail(unix.EPERM)
		}
	}
	return x.becomes(r, e, s)
}

// setFS is setfsuid(2), which never fails.
func setFS(k *Kernel, t *Thread, x ids) Result {
	id := id32(t.Call.Args[0].Uint())
	old := *x.fs
	if id != -1 && (x.free || slices.Contains([]int{*x.real, *x.effective, *x.saved}, id)) {
		*x.fs = id
	}
	return Result(old)
}

func sysGetgroups(k *Kernel, t *Thread) Result {
	n, listAddr := t.Call.Args[0].Int(), t.Call.Args[1].Pointer()
	groups := k.Proc(t).Cred.Groups
	if n < 0 || n > 0 && n < len(groups) {
		return fail(unix.EINVAL)
	}
	if n == 0 {
		return Result(len(groups))
	}
	var b []byte
	for _, g := range groups {
		b = binary.LittleEndian.AppendUint32(b, uint32(g))
	}
	if !k.Out(t, listAddr, b) {
		return fail(unix.EFAULT)
	}
	return Result(len(groups))
}

func sysSetgroups(k *Kernel, t *Thread) Result {
	n, listAddr := t.Call.Args[0].Uint64(), t.Call.Args[1].Pointer()
	c := &k.Proc(t).Cred
	if !c.May(unix.CAP_SETGID) {
		return fail(unix.EPERM)
	}
	if n > 65536 {
		return fail(unix.EINVAL)
	}
	b := make([]byte, 4*n)
	if !k.In(t, listAddr, b) {
		return fail(unix.EFAULT)
	}
	c.Groups = nil
	for i := range int(n) {
		c.Groups = append(c.Groups, int(binary.LittleEndian.Uint32(b[4*i:])))
	}
	return 0
}

func sysSetpgid(k *Kernel, t *Thread) Result {
	pid, pgid := t.Call.Args[0].Int(), t.Call.Args[1].Int()
	me := k.Proc(t)
	p := me
	if pid != 0 && pid != me.PID {
		p = k.ProcByPID(t.Node, pid)
		if p == nil || p.Parent != me.ID {
			return fail(unix.ESRCH)
		}
		if p.Execs > 0 {
			return fail(unix.EACCES)
		}
	}
	if pgid < 0 {
		return fail(unix.EINVAL)
	}
	if pgid == 0 {
		pgid = p.PID
	}
	if p.SID == p.PID || p.SID != me.SID {
		return fail(unix.EPERM)
	}
	if pgid != p.PID && !slices.ContainsFunc(k.Node(t).Procs, func(id kernel.ProcID) bool { return k.Procs[id].PGID == pgid && k.Procs[id].SID == me.SID }) {
		return fail(unix.EPERM)
	}
	p.PGID = pgid
	return 0
}

// target gives the process that a pid argument means; 0 is the caller.
func target(k *Kernel, t *Thread, pid int) *Proc {
	if pid == 0 {
		return k.Proc(t)
	}
	return k.ProcByPID(t.Node, pid)
}

func sysGetpgid(k *Kernel, t *Thread) Result {
	return targetID(k, t, func(p *Proc) int { return p.PGID })
}

// targetID answers with an id of the process that the first argument means.
func targetID(k *Kernel, t *Thread, id func(*Proc) int) Result {
	pid := t.Call.Args[0].Int()
	if p := target(k, t, pid); p != nil {
		return Result(id(p))
	}
	return fail(unix.ESRCH)
}

func sysGetpgrp(k *Kernel, t *Thread) Result { return Result(k.Proc(t).PGID) }

func sysGetsid(k *Kernel, t *Thread) Result {
	return targetID(k, t, func(p *Proc) int { return p.SID })
}

func sysSetsid(k *Kernel, t *Thread) Result {
	p := k.Proc(t)
	if slices.ContainsFunc(k.Node(t).Procs, func(id kernel.ProcID) bool { return k.Procs[id].PGID == p.PID }) {
		return fail(unix.EPERM)
	}
	p.SID, p.PGID = p.PID, p.PID
	return Result(p.PID)
}

func sysSetTidAddress(k *Kernel, t *Thread) Result {
	addr := t.Call.Args[0].Pointer()
	t.ClearTID = addr
	return Result(t.TID)
}

// What uname(2) answers: one kernel for all machines, so that no program behaves differently on another host.
const (
	KernelRelease = "6.1.0-bloodhound"
	kernelVersion = "#1 SMP Bloodhound"
)

func sysUname(k *Kernel, t *Thread) Result {
	addr := t.Call.Args[0].Pointer()
	b := make([]byte, 6*65)
	domain := k.Node(t).DomainName
	if domain == "" {
		domain = "(none)"
	}
	for i, s := range []string{"Linux", k.Node(t).Hostname, KernelRelease, kernelVersion, "x86_64", domain} {
		copy(b[65*i:65*i+64], s)
	}
	return stored(k.Out(t, addr, b))
}

func sysSetdomainname(k *Kernel, t *Thread) Result {
	nameAddr, n := t.Call.Args[0].Pointer(), t.Call.Args[1].Int()
	if !k.Proc(t).Cred.May(unix.CAP_SYS_ADMIN) {
		return fail(unix.EPERM)
	}
	if n < 0 || n > 64 {
		return fail(unix.EINVAL)
	}
	b := make([]byte, n)
	if !k.In(t, nameAddr, b) {
		return fail(unix.EFAULT)
	}
	k.Node(t).DomainName = string(b)
	return 0
}

// sysVhangup is vhangup(2): no process has a terminal.
func sysVhangup(k *Kernel, t *Thread) Result {
	if !k.Proc(t).Cred.May(unix.CAP_SYS_TTY_CONFIG) {
		return fail(unix.EPERM)
	}
	return 0
}

func sysSethostname(k *Kernel, t *Thread) Result {
	nameAddr, n := t.Call.Args[0].Pointer(), t.Call.Args[1].Uint64()
	if k.Proc(t).Cred.EUID != 0 {
		return fail(unix.EPERM)
	}
	if n > 64 {
		return fail(unix.EINVAL)
	}
	b := make([]byte, n)
	if !k.In(t, nameAddr, b) {
		return fail(unix.EFAULT)
	}
	k.Node(t).Hostname = string(b)
	return 0
}

// Memory and disk sizes that every node claims to have.
const (
	TotalMemory = 8 << 30
	freeMemory  = 6 << 30
)

func sysSysinfo(k *Kernel, t *Thread) Result {
	addr := t.Call.Args[0].Pointer()
	var b [112]byte
	le := binary.LittleEndian
	le.PutUint64(b[0:], uint64(MonoNs(k, k.Node(t))/1e9))
	le.PutUint64(b[32:], TotalMemory)
	le.PutUint64(b[40:], uint64(free(k, k.Node(t))))
	le.PutUint16(b[80:], uint16(len(k.Node(t).Procs)))
	le.PutUint32(b[104:], 1)
	return stored(k.Out(t, addr, b[:]))
}

func sysGetcpu(k *Kernel, t *Thread) Result {
	cpuAddr, memoryAddr := t.Call.Args[0].Pointer(), t.Call.Args[1].Pointer()
	for _, addr := range []uint64{cpuAddr, memoryAddr} {
		if addr != 0 && !k.OutU32(t, addr, 0) {
			return fail(unix.EFAULT)
		}
	}
	return 0
}

// random fills b from the thread's own stream of the tape.
func random(k *Kernel, t *Thread, b []byte) {
	if k.Leaks.Random != nil {
		k.Leaks.Random(b)
		return
	}
	k.Tape.Bytes("random/"+t.Name, b)
}

// Random fills b with what a random number generator of the processor gives to a thread.
func Random(k *Kernel, id kernel.ThreadID, b []byte) {
	if t := k.Threads[id]; t != nil {
		random(k, t, b)
	}
}

func sysGetrandom(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	addr, size, flags := args[0].Pointer(), args[1].Size(), args[2].Uint64()
	n := min(size, 1<<20)
	if flags&^7 != 0 {
		return fail(unix.EINVAL)
	}
	b := make([]byte, n)
	random(k, t, b)
	if !k.Out(t, addr, b) {
		return fail(unix.EFAULT)
	}
	return Result(n)
}

func sysGetrusage(k *Kernel, t *Thread) Result {
	who, addr := t.Call.Args[0].Int(), t.Call.Args[1].Pointer()
	p := k.Proc(t)
	var ns int64
	switch who {
	case 0:
		ns = k.CPUTime(p)
	case -1:
		ns = p.ChildNs
	case 1:
		ns = k.ThreadTime(t)
	default:
		return fail(unix.EINVAL)
	}
	b := make([]byte, 144)
	copy(b, timevalBytes(ns))
	binary.LittleEndian.PutUint64(b[32:], 64<<10) // ru_maxrss, KiB
	return stored(k.Out(t, addr, b))
}

func sysGetrlimit(k *Kernel, t *Thread) Result {
	which, addr := int(t.Call.Args[0].Int64()), t.Call.Args[1].Pointer()
	return prlimit(k, t, k.Proc(t), which, 0, addr)
}

func sysSetrlimit(k *Kernel, t *Thread) Result {
	which, addr := int(t.Call.Args[0].Int64()), t.Call.Args[1].Pointer()
	return prlimit(k, t, k.Proc(t), which, addr, 0)
}

func sysPrlimit64(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	pid, which, newAddr, oldAddr := args[0].Int(), int(args[1].Int64()), args[2].Pointer(), args[3].Pointer()
	p := target(k, t, pid)
	if p == nil {
		return fail(unix.ESRCH)
	}
	return prlimit(k, t, p, which, newAddr, oldAddr)
}

func prlimit(k *Kernel, t *Thread, p *Proc, which int, set, get uint64) Result {
	if which < 0 || which >= len(p.Limits) {
		return fail(unix.EINVAL)
	}
	old := p.Limits[which]
	if set != 0 {
		cur, ok1 := k.InU64(t, set)
		most, ok2 := k.InU64(t, set+8)
		switch {
		case !ok1 || !ok2:
			return fail(unix.EFAULT)
		case cur > most:
			return fail(unix.EINVAL)
		case most > old[1] && k.Proc(t).Cred.EUID != 0, which == unix.RLIMIT_NOFILE && most > 1<<20:
			return fail(unix.EPERM)
		}
		p.Limits[which] = [2]uint64{cur, most}
	}
	if get != 0 && (!k.OutU64(t, get, old[0]) || !k.OutU64(t, get+8, old[1])) {
		return fail(unix.EFAULT)
	}
	return 0
}

func sysUmask(k *Kernel, t *Thread) Result {
	mask := t.Call.Args[0].Mode()
	p := k.Proc(t)
	old := p.Umask
	for _, o := range sharers(k, p) {
		o.Umask = mask & 0o777
	}
	return Result(old)
}

// prctl operations (linux/prctl.h) that are answered; all else is refused by name.
func sysPrctl(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	op, arg2, arg3, arg4 := args[0].Int(), args[1].Uint64(), args[2].Uint64(), args[3].Uint64()
	arg5 := args[4].Uint64()
	p := k.Proc(t)
	switch op {
	case unix.PR_SET_NAME:
		var b [16]byte
		n := k.M.Read(t.ID, arg2, b[:15])
		if n == 0 {
			return fail(unix.EFAULT)
		}
		name, _, _ := strings.Cut(string(b[:n]), "\x00")
		t.Call.Mix([]byte(name))
		t.Comm = name
		return 0
	case unix.PR_GET_NAME:
		var b [16]byte
		copy(b[:15], t.Comm)
		return stored(k.Out(t, arg2, b[:]))
	case unix.PR_SET_PDEATHSIG:
		if arg2 > kernel.NumSignals {
			return fail(unix.EINVAL)
		}
		p.DeathSignal = int(arg2)
		return 0
	case unix.PR_GET_PDEATHSIG:
		return stored(k.OutU32(t, arg2, uint32(p.DeathSignal)))
	case unix.PR_SET_DUMPABLE: // only ours: the tracer needs the real one
		if arg2 > 1 {
			return fail(unix.EINVAL)
		}
		p.Dumpable = int(arg2)
		return 0
	case unix.PR_GET_DUMPABLE:
		return Result(p.Dumpable)
	case unix.PR_SET_NO_NEW_PRIVS:
		if arg2 != 1 || arg3|arg4|arg5 != 0 {
			return fail(unix.EINVAL)
		}
		p.NoNewPrivs = true
		return 0
	case unix.PR_GET_NO_NEW_PRIVS:
		return Result(kernel.Bit(p.NoNewPrivs))
	case unix.PR_SET_CHILD_SUBREAPER:
		p.Subreaper = arg2 != 0
		return 0
	case unix.PR_GET_CHILD_SUBREAPER:
		return stored(k.OutU32(t, arg2, uint32(kernel.Bit(p.Subreaper))))
	case unix.PR_SET_TIMERSLACK:
		if t.SlackNs = int64(arg2); t.SlackNs <= 0 {
			t.SlackNs = t.BaseSlackNs
		}
		return 0
	case unix.PR_SET_KEEPCAPS:
		if arg2 > 1 {
			return fail(unix.EINVAL)
		}
		p.Cred.KeepCaps = arg2 == 1
		return 0
	case unix.PR_GET_KEEPCAPS:
		return Result(kernel.Bit(p.Cred.KeepCaps))
	case unix.PR_GET_TIMERSLACK:
		return Result(t.SlackNs)
	case unix.PR_CAPBSET_READ:
		if arg2 > 40 {
			return fail(unix.EINVAL)
		}
		return 1
	case unix.PR_SET_THP_DISABLE, unix.PR_GET_THP_DISABLE, unix.PR_SET_PTRACER, unix.PR_GET_SECUREBITS, unix.PR_CAPBSET_DROP,
		unix.PR_CAP_AMBIENT, unix.PR_GET_SECCOMP,
		unix.PR_GET_TIMING, unix.PR_TASK_PERF_EVENTS_DISABLE, unix.PR_TASK_PERF_EVENTS_ENABLE: // statistical timing; there are no events
		return 0
	default:
		return prctlMachine(k, t, op)
	}
}

// prctlMachine has the operations of prctl that concern the processor or the machine.
func prctlMachine(k *Kernel, t *Thread, op int) Result {
	args := &t.Call.Args
	arg2, arg3, arg4, arg5 := args[1].Uint64(), args[2].Uint64(), args[3].Uint64(), args[4].Uint64()
	switch op {
	case unix.PR_MCE_KILL:
		if arg2 > 1 || arg2 == 1 && arg3 > 2 || arg4|arg5 != 0 {
			return fail(unix.EINVAL)
		}
		return 0
	case unix.PR_MCE_KILL_GET:
		if arg2|arg3|arg4|arg5 != 0 {
			return fail(unix.EINVAL)
		}
		return unix.PR_MCE_KILL_DEFAULT
	case unix.PR_GET_TID_ADDRESS:
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], t.ClearTID)
		return stored(k.Poke(t, arg2, b[:]))
	case unix.PR_GET_UNALIGN, unix.PR_SET_UNALIGN, unix.PR_GET_FPEMU, unix.PR_SET_FPEMU, unix.PR_GET_FPEXC, unix.PR_SET_FPEXC,
		unix.PR_GET_ENDIAN, unix.PR_SET_ENDIAN,
		unix.PR_SET_FP_MODE, unix.PR_GET_FP_MODE, unix.PR_SVE_SET_VL, unix.PR_SVE_GET_VL, unix.PR_PAC_RESET_KEYS,
		unix.PR_SET_TAGGED_ADDR_CTRL, unix.PR_GET_TAGGED_ADDR_CTRL:
		return fail(unix.EINVAL) // of other processors
	case unix.PR_SET_MM: // set_mm is privileged
		return fail(unix.EPERM)
	case unix.PR_SET_TSC:
		if arg2 != unix.PR_TSC_ENABLE {
			return k.Refuse(t, "prctl(PR_SET_TSC)", unix.EINVAL)
		}
		return 0
	case unix.PR_GET_TSC:
		return stored(k.OutU32(t, arg2, 1))
	default:
		if op <= 0 || op > 80 && op < 1<<24 { // Linux does not know it either
			return fail(unix.EINVAL)
		}
		return k.Refuse(t, "prctl("+itoa(op)+")", unix.EINVAL)
	}
}

const capVersion = 0x20080522 // version 3

// capHeader reads the version that a caller of capget or capset speaks, and returns the one that is known if it is another.
func capHeader(k *Kernel, t *Thread) (ok bool, errno unix.Errno) {
	headerAddr := t.Call.Args[0].Pointer()
	var h [8]byte
	if !k.Peek(t, headerAddr, h[:]) {
		return false, unix.EFAULT
	}
	if v := binary.LittleEndian.Uint32(h[:]); v != capVersion && v != 0x20071026 && v != 0x19980330 {
		k.OutU32(t, headerAddr, capVersion)
		return false, unix.EINVAL
	}
	return true, 0
}

// sysCapget is capget(2).
func sysCapget(k *Kernel, t *Thread) Result {
	dataAddr := t.Call.Args[1].Pointer()
	if ok, errno := capHeader(k, t); !ok {
		if errno == unix.EINVAL && dataAddr == 0 {
			return 0
		}
		return fail(errno)
	}
	c := &k.Proc(t).Cred
	b := make([]byte, 24)
	for i := range 2 {
		binary.LittleEndian.PutUint32(b[12*i:], uint32(c.EffectiveCaps()>>(32*i)))
		binary.LittleEndian.PutUint32(b[12*i+4:], uint32(c.PermittedCaps()>>(32*i)))
	}
	if dataAddr != 0 && !k.Out(t, dataAddr, b) {
		return fail(unix.EFAULT)
	}
	return 0
}

// sysCapset is capset(2). What root lays down it has again with its next program; the engine lets it keep it.
func sysCapset(k *Kernel, t *Thread) Result {
	dataAddr := t.Call.Args[1].Pointer()
	if ok, errno := capHeader(k, t); !ok {
		return fail(errno)
	}
	b := make([]byte, 24)
	if !k.In(t, dataAddr, b) {
		return fail(unix.EFAULT)
	}
	word := func(at int) uint64 {
		return (uint64(binary.LittleEndian.Uint32(b[at:])) | uint64(binary.LittleEndian.Uint32(b[12+at:]))<<32) & kernel.AllCaps
	}
	c := &k.Proc(t).Cred
	effective, permitted := word(0), word(4)
	if permitted&^c.PermittedCaps() != 0 || effective&^permitted != 0 {
		return fail(unix.EPERM)
	}
	c.Effective, c.Permitted = effective, permitted
	return 0
}

func sysSchedGetaffinity(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	pid, size, maskAddr := args[0].Int(), args[1].Size(), args[2].Pointer()
	if size < 8 || size%8 != 0 {
		return fail(unix.EINVAL)
	}
	if pid != 0 && k.ThreadByTID(t.Node, pid) == nil {
		return fail(unix.ESRCH)
	}
	if !k.OutU64(t, maskAddr, 1<<k.CPUs()-1) {
		return fail(unix.EFAULT)
	}
	return 8
}

func sysSchedSetaffinity(k *Kernel, t *Thread) Result {
	n, maskAddr := t.Call.Args[1].Size(), t.Call.Args[2].Pointer()
	size := min(n, 8)
	var b [8]byte
	if !k.In(t, maskAddr, b[:size]) {
		return fail(unix.EFAULT)
	}
	if binary.LittleEndian.Uint64(b[:])&(1<<k.CPUs()-1) == 0 {
		return fail(unix.EINVAL)
	}
	return 0
}

// scheduled gives the thread that a scheduling call is about: 0 is the caller. nil if there is none.
func scheduled(k *Kernel, t *Thread, tid int) *Thread {
	if tid == 0 {
		return t
	}
	return k.ThreadByTID(t.Node, tid)
}

func sysSchedGetscheduler(k *Kernel, t *Thread) Result {
	tid := t.Call.Args[0].Int()
	o := scheduled(k, t, tid)
	if o == nil {
		return fail(unix.ESRCH)
	}
	return Result(o.Policy)
}

func sysSchedSetscheduler(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	tid, policy, paramAddr := args[0].Int(), args[1].Int(), args[2].Pointer()
	policy &^= 0x40000000 // SCHED_RESET_ON_FORK
	priority, ok := k.InU32(t, paramAddr)
	if !ok {
		return fail(unix.EFAULT)
	}
	o := scheduled(k, t, tid)
	if o == nil {
		return fail(unix.ESRCH)
	}
	switch policy {
	case 0, 3, 5: // SCHED_OTHER, SCHED_BATCH, SCHED_IDLE
		if priority != 0 {
			return fail(unix.EINVAL)
		}
		o.Policy = policy
		return 0
	case 1, 2: // SCHED_FIFO, SCHED_RR: there is one CPU, and its order is the tape's
		if priority < 1 || priority > 99 {
			return fail(unix.EINVAL)
		}
		return fail(unix.EPERM)
	}
	return fail(unix.EINVAL)
}

func sysSchedGetparam(k *Kernel, t *Thread) Result {
	paramAddr := t.Call.Args[1].Pointer()
	return stored(k.OutU32(t, paramAddr, 0))
}

// schedPriority is sched_get_priority_max(2) or its twin, which differ for real-time policies only.
func schedPriority(realTime Result) kernel.Handler {
	return func(_ *Kernel, t *Thread) Result {
		policy := t.Call.Args[0].Uint64()
		switch policy {
		case 1, 2: // SCHED_FIFO, SCHED_RR
			return realTime
		case 0, 3, 5, 6:
			return 0
		}
		return fail(unix.EINVAL)
	}
}

func sysSchedRRGetInterval(k *Kernel, t *Thread) Result {
	addr := t.Call.Args[1].Pointer()
	return stored(k.Out(t, addr, timespecBytes(4e6)))
}

// schedAttrBytes is the first size of struct sched_attr (sched_setattr(2)).
const schedAttrBytes = 48

// sysSchedSetattr is sched_setattr(2). As with sched_setscheduler(2), there are no real-time policies: a node has one CPU, and its
// order is the tape's.
func sysSchedSetattr(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	tid, attrAddr, callFlags := args[0].Int(), args[1].Pointer(), args[2].Uint64()
	if tid < 0 || attrAddr == 0 || callFlags != 0 {
		return fail(unix.EINVAL)
	}
	size, ok := k.InU32(t, attrAddr)
	if !ok {
		return fail(unix.EFAULT)
	}
	if size == 0 {
		size = schedAttrBytes
	}
	if size < schedAttrBytes || size > 4096 {
		k.OutU32(t, attrAddr, schedAttrBytes+8)
		return fail(unix.E2BIG)
	}
	b := make([]byte, schedAttrBytes)
	if !k.In(t, attrAddr, b) {
		return fail(unix.EFAULT)
	}
	o := scheduled(k, t, tid)
	if o == nil {
		return fail(unix.ESRCH)
	}
	const knownFlags = 0x7f
	le := binary.LittleEndian
	policy, flags, nice, priority := int(int32(le.Uint32(b[4:]))), le.Uint64(b[8:]), int(int32(le.Uint32(b[16:]))), le.Uint32(b[20:])
	switch {
	case flags&^knownFlags != 0:
		return fail(unix.EINVAL)
	case policy == 1 || policy == 2: // SCHED_FIFO, SCHED_RR
		if priority < 1 || priority > 99 {
			return fail(unix.EINVAL)
		}
		return fail(unix.EPERM)
	case policy == 6: // SCHED_DEADLINE
		return fail(unix.EPERM)
	case policy != 0 && policy != 3 && policy != 5, priority != 0:
		return fail(unix.EINVAL)
	}
	nice = min(max(nice, -20), 19)
	if nice < o.Nice && !k.Proc(t).Cred.May(unix.CAP_SYS_NICE) {
		return fail(unix.EPERM)
	}
	if o.Policy = policy; policy != 5 { // SCHED_IDLE has no nice value
		o.Nice = nice
	}
	return 0
}

func sysSchedGetattr(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	tid, attrAddr, size, flags := args[0].Int(), args[1].Pointer(), args[2].Size(), args[3].Uint64()
	if tid < 0 || attrAddr == 0 || size < schedAttrBytes || size > 4096 || flags != 0 {
		return fail(unix.EINVAL)
	}
	o := scheduled(k, t, tid)
	if o == nil {
		return fail(unix.ESRCH)
	}
	b := make([]byte, schedAttrBytes)
	binary.LittleEndian.PutUint32(b, schedAttrBytes)
	binary.LittleEndian.PutUint32(b[4:], uint32(o.Policy))
	binary.LittleEndian.PutUint32(b[16:], uint32(int32(o.Nice)))
	return stored(k.Out(t, attrAddr, b))
}

// nicePeople lists the threads that getpriority and setpriority are about (PRIO_PROCESS, PRIO_PGRP, PRIO_USER).
func nicePeople(k *Kernel, t *Thread, which uint64, who int) []*Thread {
	if which == unix.PRIO_PROCESS {
		if o := scheduled(k, t, who); o != nil {
			return []*Thread{o}
		}
		return nil
	}
	me := k.Proc(t)
	var list []*Thread
	for _, pid := range k.Node(t).Procs {
		p := k.Procs[pid]
		group := which == unix.PRIO_PGRP && (p.PGID == who || who == 0 && p.PGID == me.PGID)
		user := which == unix.PRIO_USER && (p.Cred.UID == who || who == 0 && p.Cred.UID == me.Cred.UID)
		if group || user {
			for _, tid := range p.Threads {
				list = append(list, k.Threads[tid])
			}
		}
	}
	return list
}

func sysGetpriority(k *Kernel, t *Thread) Result {
	which, who := t.Call.Args[0].Uint64(), t.Call.Args[1].Int()
	if which > unix.PRIO_USER {
		return fail(unix.EINVAL)
	}
	best := Result(0)
	for _, o := range nicePeople(k, t, which, who) {
		best = max(best, Result(20-o.Nice))
	}
	if best == 0 {
		return fail(unix.ESRCH)
	}
	return best
}

func sysSetpriority(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	which, who, nice := args[0].Uint64(), args[1].Int(), args[2].Int()
	if which > unix.PRIO_USER {
		return fail(unix.EINVAL)
	}
	people := nicePeople(k, t, which, who)
	if len(people) == 0 {
		return fail(unix.ESRCH)
	}
	v := max(min(nice, 19), -20)
	r := Result(0)
	me := k.Proc(t).Cred
	for _, o := range people {
		switch {
		case me.EUID != 0 && me.EUID != k.Proc(o).Cred.UID && me.EUID != k.Proc(o).Cred.EUID:
			r = fail(unix.EPERM)
		case me.EUID != 0 && v < o.Nice:
			r = fail(unix.EACCES)
		default:
			o.Nice = v
		}
	}
	return r
}

// addrNoRandomize is ADDR_NO_RANDOMIZE of personality(2): here it is so anyway.
const addrNoRandomize = 0x40000

func sysPersonality(k *Kernel, t *Thread) Result {
	persona := t.Call.Args[0].Uint()
	p := k.Proc(t)
	old := Result(p.Personality)
	switch {
	case persona == 0xffffffff:
	case persona&^addrNoRandomize == 0:
		p.Personality = persona
	default:
		return k.Refuse(t, "personality(0x"+hex(uint64(persona))+")", unix.EINVAL)
	}
	return old
}

// membarrier(2): with one thread running at a time every barrier is in place already.
func sysMembarrier(k *Kernel, t *Thread) Result {
	cmd := t.Call.Args[0].Int()
	const commands = 1<<9 - 1
	switch {
	case cmd == 0:
		return commands
	case cmd < 0 || cmd&(cmd-1) != 0 || cmd > commands:
		return fail(unix.EINVAL)
	}
	return 0
}

// ParseCred reads a user as Compose writes it: name, uid, name:group, uid:gid. passwd and group are the contents
// of the node's own files.
func ParseCred(user, passwd, group string) (kernel.Cred, error) {
	c := kernel.Cred{}
	if user == "" || user == "root" || user == "0" || user == "0:0" {
		return c, nil
	}
	name, groupName, hasGroup := strings.Cut(user, ":")
	uid, gid := -1, 0
	for line := range strings.Lines(passwd) {
		f := strings.Split(strings.TrimSpace(line), ":")
		if len(f) >= 4 && (f[0] == name || f[2] == name) {
			uid, _ = strconv.Atoi(f[2])
			gid, _ = strconv.Atoi(f[3])
			name = f[0]
			break
		}
	}
	if uid < 0 {
		n, err := strconv.Atoi(name)
		if err != nil {
			return c, &kernel.UserError{User: user, What: "no such user in the node's /etc/passwd"}
		}
		uid = n
	}
	for line := range strings.Lines(group) {
		f := strings.Split(strings.TrimSpace(line), ":")
		if len(f) < 3 {
			continue
		}
		n, _ := strconv.Atoi(f[2])
		if hasGroup && (f[0] == groupName || f[2] == groupName) {
			gid, hasGroup = n, false
		}
		if len(f) > 3 && slices.Contains(strings.Split(f[3], ","), name) {
			c.Groups = append(c.Groups, n)
		}
	}
	if hasGroup {
		n, err := strconv.Atoi(groupName)
		if err != nil {
			return c, &kernel.UserError{User: user, What: "no such group in the node's /etc/group"}
		}
		gid = n
	}
	c.UID, c.EUID, c.SUID, c.FSUID = uid, uid, uid, uid
	c.GID, c.EGID, c.SGID, c.FSGID = gid, gid, gid, gid
	return c, nil
}
