//go:build linux && amd64

package linux

import (
	"encoding/binary"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
)

// MonoNs is CLOCK_MONOTONIC of a node.
func MonoNs(k *Kernel, n *Node) int64 { return n.BootNs + n.Drifted(k.Now) }

// wallClock reports whether a clock shows the date.
func wallClock(id int) bool {
	switch id {
	case unix.CLOCK_REALTIME, unix.CLOCK_REALTIME_COARSE, unix.CLOCK_TAI, unix.CLOCK_REALTIME_ALARM:
		return true
	}
	return false
}

// readClock reads a clock of a thread.
func readClock(k *Kernel, t *Thread, id int) (int64, bool) {
	n := k.Node(t)
	switch id {
	case unix.CLOCK_REALTIME, unix.CLOCK_REALTIME_COARSE, unix.CLOCK_TAI, unix.CLOCK_REALTIME_ALARM:
		return k.RealNs(n), true
	case unix.CLOCK_MONOTONIC, unix.CLOCK_MONOTONIC_RAW, unix.CLOCK_MONOTONIC_COARSE, unix.CLOCK_BOOTTIME, unix.CLOCK_BOOTTIME_ALARM:
		return MonoNs(k, n), true
	case unix.CLOCK_PROCESS_CPUTIME_ID:
		return k.CPUTime(k.Proc(t)), true
	case unix.CLOCK_THREAD_CPUTIME_ID:
		return k.ThreadTime(t), true
	}
	if id < 0 && id&3 != 3 { // a CPU clock of another process or thread: ~pid<<3 | kind (clock_getcpuclockid(3))
		pid := ^(id >> 3)
		if id&4 != 0 {
			if pid == 0 {
				return k.ThreadTime(t), true
			}
			if o := k.ThreadByTID(t.Node, pid); o != nil {
				return k.ThreadTime(o), true
			}
			return 0, false
		}
		if pid == 0 {
			return k.CPUTime(k.Proc(t)), true
		}
		if p := k.ProcByPID(t.Node, pid); p != nil {
			return k.CPUTime(p), true
		}
	}
	return 0, false
}

// expiry turns a time on a clock into world time: never 0, which means no time, but below 0 for times before the start.
func expiry(k *Kernel, t *Thread, clock int, ns int64, absolute bool) int64 {
	n := k.Node(t)
	if !absolute {
		return kernel.SatAdd(k.Now, max(n.Undrift(ns), 1))
	}
	switch clock {
	case unix.CLOCK_REALTIME, unix.CLOCK_REALTIME_ALARM, unix.CLOCK_TAI:
		ns -= n.OffsetNs
		t.Call.Wall = true
	default:
		ns -= n.BootNs
	}
	if at := n.Undrift(ns); at != 0 {
		return at
	}
	return 1
}

func sysClockGettime(k *Kernel, t *Thread) Result {
	clock, addr := t.Call.Args[0].Int(), t.Call.Args[1].Pointer()
	k.Now += k.Cost.ClockReadNs
	v, ok := readClock(k, t, clock)
	k.SawClock(k.Node(t), wallClock(clock))
	if !ok {
		return fail(unix.EINVAL)
	}
	return stored(k.Out(t, addr, timespecBytes(v)))
}

func sysClockGetres(k *Kernel, t *Thread) Result {
	clock, addr := t.Call.Args[0].Int(), t.Call.Args[1].Pointer()
	if _, ok := readClock(k, t, clock); !ok {
		return fail(unix.EINVAL)
	}
	res := int64(1)
	switch clock {
	case unix.CLOCK_REALTIME_COARSE, unix.CLOCK_MONOTONIC_COARSE:
		res = 4e6
	}
	if addr != 0 && !k.Out(t, addr, timespecBytes(res)) {
		return fail(unix.EFAULT)
	}
	return 0
}

// sysClockSettime: the clocks of nodes are the world's; faults move them.
func sysClockSettime(k *Kernel, t *Thread) Result {
	clock, addr := t.Call.Args[0].Int(), t.Call.Args[1].Pointer()
	if clock != unix.CLOCK_REALTIME {
		return fail(unix.EINVAL)
	}
	if _, e := timespec(k, t, addr); e != 0 {
		return fail(e)
	}
	if k.Proc(t).Cred.EUID != 0 {
		return fail(unix.EPERM)
	}
	return k.Refuse(t, "clock_settime", unix.EPERM)
}

// struct timex (adjtimex(2)): its size, and the offsets of the fields that it reports.
const (
	timexBytes                                                     = 208
	timexMax, timexEst, timexStatus, timexConstant, timexPrecision = 24, 32, 40, 48, 56
	timexTolerance, timexTime, timexTick                           = 64, 72, 88
	adjOffsetSSRead                                                = 0xa001 // ADJ_OFFSET_SS_READ, of adjtime(3)
	staUnsync, timeError                                           = 0x40, 5
	unsyncUs, toleranceScaled, tickUs                              = 16_000_000, 32_768_000, 10_000
)

func sysAdjtimex(k *Kernel, t *Thread) Result {
	addr := t.Call.Args[0].Pointer()
	return adjtimex(k, t, addr)
}

func sysClockAdjtime(k *Kernel, t *Thread) Result {
	clock, addr := t.Call.Args[0].Int(), t.Call.Args[1].Pointer()
	switch clock {
	case unix.CLOCK_REALTIME:
		return adjtimex(k, t, addr)
	case unix.CLOCK_MONOTONIC, unix.CLOCK_MONOTONIC_RAW, unix.CLOCK_BOOTTIME, unix.CLOCK_PROCESS_CPUTIME_ID, unix.CLOCK_THREAD_CPUTIME_ID, unix.CLOCK_TAI:
		return fail(unix.EOPNOTSUPP)
	}
	return fail(unix.EINVAL)
}

// adjtimex reports the state of a node's clock, which is not synchronised; faults alone move it.
func adjtimex(k *Kernel, t *Thread, addr uint64) Result {
	b := make([]byte, timexBytes)
	if !k.In(t, addr, b) {
		return fail(unix.EFAULT)
	}
	le := binary.LittleEndian
	modes := le.Uint32(b)
	switch {
	case modes == 0, modes == adjOffsetSSRead:
	case !k.Proc(t).Cred.May(unix.CAP_SYS_TIME):
		return fail(unix.EPERM)
	default:
		return k.Refuse(t, CallName(t.Call.Nr), unix.EPERM)
	}
	k.SawClock(k.Node(t), true)
	clear(b[8:])
	le.PutUint64(b[timexMax:], unsyncUs)
	le.PutUint64(b[timexEst:], unsyncUs)
	le.PutUint32(b[timexStatus:], staUnsync)
	le.PutUint64(b[timexConstant:], 2)
	le.PutUint64(b[timexPrecision:], 1)
	le.PutUint64(b[timexTolerance:], toleranceScaled)
	copy(b[timexTime:], timevalBytes(k.RealNs(k.Node(t))))
	le.PutUint64(b[timexTick:], tickUs)
	if !k.Out(t, addr, b) {
		return fail(unix.EFAULT)
	}
	return timeError
}

func sysGettimeofday(k *Kernel, t *Thread) Result {
	addr, zoneAddr := t.Call.Args[0].Pointer(), t.Call.Args[1].Pointer()
	k.SawClock(k.Node(t), true)
	if addr != 0 && !k.Out(t, addr, timevalBytes(k.RealNs(k.Node(t)))) {
		return fail(unix.EFAULT)
	}
	if zoneAddr != 0 && !k.OutU64(t, zoneAddr, 0) {
		return fail(unix.EFAULT)
	}
	return 0
}

func sysTime(k *Kernel, t *Thread) Result {
	addr := t.Call.Args[0].Pointer()
	k.SawClock(k.Node(t), true)
	s := k.RealNs(k.Node(t)) / 1e9
	if addr != 0 && !k.OutU64(t, addr, uint64(s)) {
		return fail(unix.EFAULT)
	}
	return Result(s)
}

func sysTimes(k *Kernel, t *Thread) Result {
	addr := t.Call.Args[0].Pointer()
	p := k.Proc(t)
	var b [32]byte
	le := binary.LittleEndian
	le.PutUint64(b[0:], uint64(k.CPUTime(p)/1e7))
	le.PutUint64(b[16:], uint64(p.ChildNs/1e7))
	if addr != 0 && !k.Out(t, addr, b[:]) {
		return fail(unix.EFAULT)
	}
	return Result(MonoNs(k, k.Node(t)) / 1e7)
}

func sysNanosleep(k *Kernel, t *Thread) Result {
	addr := t.Call.Args[0].Pointer()
	return sleepFor(k, t, unix.CLOCK_MONOTONIC, false, addr)
}

func sysClockNanosleep(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	clock, flags, addr := args[0].Int(), args[1].Int(), args[2].Pointer()
	switch clock {
	case unix.CLOCK_REALTIME, unix.CLOCK_MONOTONIC, unix.CLOCK_BOOTTIME, unix.CLOCK_TAI:
	case unix.CLOCK_PROCESS_CPUTIME_ID:
	case unix.CLOCK_THREAD_CPUTIME_ID, unix.CLOCK_MONOTONIC_RAW, unix.CLOCK_MONOTONIC_COARSE, unix.CLOCK_REALTIME_COARSE:
		return fail(unix.EOPNOTSUPP)
	default:
		return fail(unix.EINVAL)
	}
	return sleepFor(k, t, clock, flags&1 != 0, addr)
}

func sleepFor(k *Kernel, t *Thread, clock int, absolute bool, addr uint64) Result {
	if t.Call.Again {
		if t.Expired(k) {
			k.SawMoved(t)
			return 0
		}
		return k.Block(t, t.Call.Until, Key{Kind: kernel.KeyThread, ID: t.ID})
	}
	ns, e := timespec(k, t, addr)
	if e != 0 {
		return fail(e)
	}
	until := expiry(k, t, clock, ns, absolute)
	if absolute && until <= k.Now {
		return 0
	}
	if ns == 0 {
		yield(k, t)
		return 0
	}
	return k.Block(t, kernel.SatAdd(until, t.SlackNs), Key{Kind: kernel.KeyThread, ID: t.ID})
}

// sleepInterrupted writes how much of a relative sleep is left.
func sleepInterrupted(k *Kernel, t *Thread) {
	leftAddr := t.Call.Args[1].Pointer()
	if t.Call.Nr == unix.SYS_CLOCK_NANOSLEEP {
		flags := t.Call.Args[1].Int()
		if flags&1 != 0 {
			return
		}
		leftAddr = t.Call.Args[3].Pointer()
	}
	if leftAddr != 0 {
		k.Out(t, leftAddr, timespecBytes(max(t.Call.Until-k.Now, 0)))
	}
}

func realDue(k *Kernel, p *Proc) {
	if p.Real.Interval > 0 {
		p.Real.At = kernel.SatAdd(p.Real.At, p.Real.Interval)
		k.After(max(p.Real.At, k.Now+1), kernel.TimerReal, p.ID, p.Real.Gen)
	} else {
		p.Real.At = 0
	}
	k.SignalProc(p, kernel.Signal{Number: int(unix.SIGALRM), Code: 0x80})
}

func setReal(k *Kernel, p *Proc, value, interval int64) (left, oldInterval int64) {
	if p.Real.At != 0 {
		left = max(p.Real.At-k.Now, 1000)
	}
	oldInterval = p.Real.Interval
	p.Real.Gen++
	p.Real.At, p.Real.Interval = 0, interval
	if value > 0 {
		p.Real.At = kernel.SatAdd(k.Now, value)
		k.After(p.Real.At, kernel.TimerReal, p.ID, p.Real.Gen)
	}
	return left, oldInterval
}

func sysAlarm(k *Kernel, t *Thread) Result {
	seconds := t.Call.Args[0].Uint()
	left, _ := setReal(k, k.Proc(t), int64(seconds)*1e9, 0)
	if left > 0 {
		left = max((left+5e8)/1e9, 1) // 0 would say that there was none
	}
	return Result(left)
}

func sysSetitimer(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	which, newAddr, oldAddr := args[0].Int(), args[1].Pointer(), args[2].Pointer()
	if which < 0 || which > 2 {
		return fail(unix.EINVAL)
	}
	var value, interval int64
	if newAddr != 0 {
		var e unix.Errno
		if interval, e = timeval(k, t, newAddr); e == 0 {
			value, e = timeval(k, t, newAddr+16)
		}
		if e != 0 {
			return fail(e)
		}
	}
	var left, old int64
	if which == unix.ITIMER_REAL {
		left, old = setReal(k, k.Proc(t), value, interval)
	} else {
		left, old = k.SetCPU(k.Proc(t), which, value, interval)
	}
	if oldAddr != 0 && !k.Out(t, oldAddr, append(timevalBytes(old), timevalBytes(left)...)) {
		return fail(unix.EFAULT)
	}
	return 0
}

func sysGetitimer(k *Kernel, t *Thread) Result {
	which, addr := t.Call.Args[0].Int(), t.Call.Args[1].Pointer()
	if which < 0 || which > 2 {
		return fail(unix.EINVAL)
	}
	var left, interval int64
	p := k.Proc(t)
	if which != unix.ITIMER_REAL {
		left, interval = k.CPULeft(p, which)
	} else if interval = p.Real.Interval; p.Real.At != 0 {
		left = max(p.Real.At-k.Now, 1000)
	}
	return stored(k.Out(t, addr, append(timevalBytes(interval), timevalBytes(left)...)))
}

const maxTimers = 4096 // of a process

func sysTimerCreate(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	clock, eventAddr, idAddr := args[0].Int(), args[1].Pointer(), args[2].Pointer()
	if _, ok := readClock(k, t, clock); !ok {
		return fail(unix.EINVAL)
	}
	p := k.Proc(t)
	if len(p.Timers) >= maxTimers {
		return fail(unix.EAGAIN)
	}
	cpu, ok := k.CPUOf(t, clock)
	if !ok {
		return fail(unix.EINVAL)
	}
	x := kernel.PosixTimer{ID: p.NextTimer, Clock: clock, CPU: cpu, Signal: int(unix.SIGALRM), Value: uint64(p.NextTimer)}
	if eventAddr != 0 {
		var b [24]byte
		if !k.Peek(t, eventAddr, b[:]) {
			return fail(unix.EFAULT)
		}
		le := binary.LittleEndian
		x.Value, x.Signal, x.Notify = le.Uint64(b[0:]), int(int32(le.Uint32(b[8:]))), int(int32(le.Uint32(b[12:])))
		switch x.Notify {
		case 0, 1:
		case 4:
			target := k.ThreadByTID(t.Node, int(int32(le.Uint32(b[16:]))))
			if target == nil || target.Proc != t.Proc {
				return fail(unix.EINVAL)
			}
			x.Thread = target.ID
		default:
			return fail(unix.EINVAL)
		}
		if x.Notify != 1 && (x.Signal < 1 || x.Signal > kernel.NumSignals) {
			return fail(unix.EINVAL)
		}
	}
	if !k.OutU32(t, idAddr, uint32(x.ID)) {
		return fail(unix.EFAULT)
	}
	p.NextTimer++
	p.Timers = append(p.Timers, x)
	return 0
}

func sysTimerSettime(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	id, flags, newAddr, oldAddr := args[0].Int(), args[1].Int(), args[2].Pointer(), args[3].Pointer()
	x := k.Proc(t).Timer(id)
	if x == nil {
		return fail(unix.EINVAL)
	}
	interval, value, e := itimerspec(k, t, newAddr)
	if e != 0 {
		return fail(e)
	}
	if oldAddr != 0 && !outTimer(k, t, oldAddr, posixNext(k, k.Proc(t), x), x.Interval) {
		return fail(unix.EFAULT)
	}
	x.Gen++
	x.At, x.Interval, x.Overrun, x.Still = 0, interval, 0, false
	if value != 0 {
		if used, ok := k.CPUClock(k.Proc(t), x); ok {
			if x.At = value; flags&1 == 0 {
				x.At = kernel.SatAdd(used, value)
			}
			if k.CPUDue(t); t.State == kernel.Dead {
				return kernel.Gone
			}
			return 0
		}
		x.At = expiry(k, t, x.Clock, value, flags&1 != 0)
		x.Wall = t.Call.Wall
		k.After(x.At, kernel.TimerPosix, t.Proc, int64(x.ID)<<32|x.Gen)
	}
	return 0
}

func sysTimerGettime(k *Kernel, t *Thread) Result {
	id, addr := t.Call.Args[0].Int(), t.Call.Args[1].Pointer()
	x := k.Proc(t).Timer(id)
	if x == nil {
		return fail(unix.EINVAL)
	}
	return stored(outTimer(k, t, addr, posixNext(k, k.Proc(t), x), x.Interval))
}

// posixNext is the next expiry of a timer, also of one that has halted. Of a clock of CPU time it is when the world's time has
// passed by as much.
func posixNext(k *Kernel, p *Proc, x *kernel.PosixTimer) int64 {
	at, now := *x, k.Now
	used, ok := k.CPUClock(p, x)
	if ok {
		now = used
	}
	if at.Still {
		at.Forward(now)
	}
	if at.At == 0 {
		return 0
	}
	return kernel.SatAdd(at.At, k.Now-now)
}

func sysTimerGetoverrun(k *Kernel, t *Thread) Result {
	id := t.Call.Args[0].Int()
	x := k.Proc(t).Timer(id)
	if x == nil {
		return fail(unix.EINVAL)
	}
	return Result(x.Overrun)
}

func sysTimerDelete(k *Kernel, t *Thread) Result {
	id := t.Call.Args[0].Int()
	p := k.Proc(t)
	if p.Timer(id) == nil {
		return fail(unix.EINVAL)
	}
	p.Timers = slices.DeleteFunc(p.Timers, func(x kernel.PosixTimer) bool { return x.ID == id })
	return 0
}

func sysSchedYield(k *Kernel, t *Thread) Result {
	yield(k, t)
	return 0
}

// yield puts a thread behind its equals.
func yield(k *Kernel, t *Thread) {
	k.ToTail(t)
	k.Resched = true
	k.Empty(t)
}
