//go:build linux && amd64

package kernel

import (
	"encoding/binary"
	"slices"

	"golang.org/x/sys/unix"
)

// drifted is how much time has passed on a node's own clock.
func (n *Node) drifted(now int64) int64 {
	return now + now/1e9*n.DriftPPB + now%1e9*n.DriftPPB/1e9
}

// undrift is the inverse: the world time at which a node's clock has run for ns.
func (n *Node) undrift(ns int64) int64 {
	if n.DriftPPB == 0 || ns >= farNs {
		return ns
	}
	now := ns - ns/1e9*n.DriftPPB
	for n.drifted(now) < ns {
		now += max((ns-n.drifted(now))/2, 1)
	}
	return now
}

// RealNs is CLOCK_REALTIME of a node.
func (k *Kernel) RealNs(n *Node) int64 { return n.OffsetNs + n.drifted(k.Now) }

// MonoNs is CLOCK_MONOTONIC of a node.
func (k *Kernel) MonoNs(n *Node) int64 { return n.BootNs + n.drifted(k.Now) }

// wallClock tells whether a clock shows the date.
func wallClock(id int) bool {
	switch id {
	case unix.CLOCK_REALTIME, unix.CLOCK_REALTIME_COARSE, unix.CLOCK_TAI, unix.CLOCK_REALTIME_ALARM:
		return true
	}
	return false
}

// clock reads a clock of a thread.
func (k *Kernel) clock(t *Thread, id int) (int64, bool) {
	n := k.node(t)
	switch id {
	case unix.CLOCK_REALTIME, unix.CLOCK_REALTIME_COARSE, unix.CLOCK_TAI, unix.CLOCK_REALTIME_ALARM:
		return k.RealNs(n), true
	case unix.CLOCK_MONOTONIC, unix.CLOCK_MONOTONIC_RAW, unix.CLOCK_MONOTONIC_COARSE, unix.CLOCK_BOOTTIME, unix.CLOCK_BOOTTIME_ALARM:
		return k.MonoNs(n), true
	case unix.CLOCK_PROCESS_CPUTIME_ID:
		return k.cpuTime(k.proc(t)), true
	case unix.CLOCK_THREAD_CPUTIME_ID:
		return k.threadTime(t), true
	}
	if id < 0 && id&3 != 3 { // a CPU clock of another process or thread: ~pid<<3 | kind (clock_getcpuclockid(3))
		pid := ^(id >> 3)
		if id&4 != 0 {
			if pid == 0 {
				return k.threadTime(t), true
			}
			if o := k.threadByTID(t.Node, pid); o != nil {
				return k.threadTime(o), true
			}
			return 0, false
		}
		if pid == 0 {
			return k.cpuTime(k.proc(t)), true
		}
		if p := k.procByPID(t.Node, pid); p != nil {
			return k.cpuTime(p), true
		}
	}
	return 0, false
}

// expiry turns a time on a clock into world time: never 0, which means no time, but below 0 for times before the start.
func (k *Kernel) expiry(t *Thread, clock int, ns int64, absolute bool) int64 {
	n := k.node(t)
	if !absolute {
		return satAdd(k.Now, max(n.undrift(ns), 1))
	}
	switch clock {
	case unix.CLOCK_REALTIME, unix.CLOCK_REALTIME_ALARM, unix.CLOCK_TAI:
		ns -= n.OffsetNs
		t.Call.Wall = true
	default:
		ns -= n.BootNs
	}
	if at := n.undrift(ns); at != 0 {
		return at
	}
	return 1
}

func sysClockGettime(k *Kernel, t *Thread) Result {
	k.Now += k.Cost.ClockReadNs
	id := int(int32(t.Call.Args[0]))
	v, ok := k.clock(t, id)
	k.sawClock(k.node(t), wallClock(id))
	if !ok {
		return fail(unix.EINVAL)
	}
	if !k.out(t, t.Call.Args[1], timespecBytes(v)) {
		return fail(unix.EFAULT)
	}
	return 0
}

func sysClockGetres(k *Kernel, t *Thread) Result {
	if _, ok := k.clock(t, int(int32(t.Call.Args[0]))); !ok {
		return fail(unix.EINVAL)
	}
	res := int64(1)
	switch int32(t.Call.Args[0]) {
	case unix.CLOCK_REALTIME_COARSE, unix.CLOCK_MONOTONIC_COARSE:
		res = 4e6
	}
	if a := t.Call.Args[1]; a != 0 && !k.out(t, a, timespecBytes(res)) {
		return fail(unix.EFAULT)
	}
	return 0
}

// sysClockSettime: the clocks of nodes are the world's; faults move them.
func sysClockSettime(k *Kernel, t *Thread) Result {
	if int32(t.Call.Args[0]) != unix.CLOCK_REALTIME {
		return fail(unix.EINVAL)
	}
	if _, e := k.timespec(t, t.Call.Args[1]); e != 0 {
		return fail(e)
	}
	if k.proc(t).Cred.EUID != 0 {
		return fail(unix.EPERM)
	}
	return k.refuse(t, "clock_settime", unix.EPERM)
}

// struct timex (adjtimex(2)): its size, and where what is told lies.
const (
	timexBytes                                                     = 208
	timexMax, timexEst, timexStatus, timexConstant, timexPrecision = 24, 32, 40, 48, 56
	timexTolerance, timexTime, timexTick                           = 64, 72, 88
	adjOffsetSSRead                                                = 0xa001 // ADJ_OFFSET_SS_READ, of adjtime(3)
	staUnsync, timeError                                           = 0x40, 5
	unsyncUs, toleranceScaled, tickUs                              = 16_000_000, 32_768_000, 10_000
)

func sysAdjtimex(k *Kernel, t *Thread) Result { return k.adjtimex(t, t.Call.Args[0]) }

func sysClockAdjtime(k *Kernel, t *Thread) Result {
	switch int32(t.Call.Args[0]) {
	case unix.CLOCK_REALTIME:
		return k.adjtimex(t, t.Call.Args[1])
	case unix.CLOCK_MONOTONIC, unix.CLOCK_MONOTONIC_RAW, unix.CLOCK_BOOTTIME, unix.CLOCK_PROCESS_CPUTIME_ID, unix.CLOCK_THREAD_CPUTIME_ID, unix.CLOCK_TAI:
		return fail(unix.EOPNOTSUPP)
	}
	return fail(unix.EINVAL)
}

// adjtimex tells of a node's clock, which nobody keeps in time; faults alone move it.
func (k *Kernel) adjtimex(t *Thread, addr uint64) Result {
	b := make([]byte, timexBytes)
	if !k.in(t, addr, b) {
		return fail(unix.EFAULT)
	}
	le := binary.LittleEndian
	modes := le.Uint32(b)
	switch {
	case modes == 0, modes == adjOffsetSSRead:
	case !k.proc(t).Cred.may(unix.CAP_SYS_TIME):
		return fail(unix.EPERM)
	default:
		return k.refuse(t, CallName(t.Call.Nr), unix.EPERM)
	}
	k.sawClock(k.node(t), true)
	clear(b[8:])
	le.PutUint64(b[timexMax:], unsyncUs)
	le.PutUint64(b[timexEst:], unsyncUs)
	le.PutUint32(b[timexStatus:], staUnsync)
	le.PutUint64(b[timexConstant:], 2)
	le.PutUint64(b[timexPrecision:], 1)
	le.PutUint64(b[timexTolerance:], toleranceScaled)
	copy(b[timexTime:], timevalBytes(k.RealNs(k.node(t))))
	le.PutUint64(b[timexTick:], tickUs)
	if !k.out(t, addr, b) {
		return fail(unix.EFAULT)
	}
	return timeError
}

func sysGettimeofday(k *Kernel, t *Thread) Result {
	k.sawClock(k.node(t), true)
	if a := t.Call.Args[0]; a != 0 && !k.out(t, a, timevalBytes(k.RealNs(k.node(t)))) {
		return fail(unix.EFAULT)
	}
	if a := t.Call.Args[1]; a != 0 && !k.outU64(t, a, 0) {
		return fail(unix.EFAULT)
	}
	return 0
}

func sysTime(k *Kernel, t *Thread) Result {
	k.sawClock(k.node(t), true)
	s := k.RealNs(k.node(t)) / 1e9
	if a := t.Call.Args[0]; a != 0 && !k.outU64(t, a, uint64(s)) {
		return fail(unix.EFAULT)
	}
	return Result(s)
}

func sysTimes(k *Kernel, t *Thread) Result {
	p := k.proc(t)
	var b [32]byte
	le := binary.LittleEndian
	le.PutUint64(b[0:], uint64(k.cpuTime(p)/1e7))
	le.PutUint64(b[16:], uint64(p.ChildNs/1e7))
	if a := t.Call.Args[0]; a != 0 && !k.out(t, a, b[:]) {
		return fail(unix.EFAULT)
	}
	return Result(k.MonoNs(k.node(t)) / 1e7)
}

func sysNanosleep(k *Kernel, t *Thread) Result {
	return k.sleepFor(t, unix.CLOCK_MONOTONIC, false, t.Call.Args[0])
}

func sysClockNanosleep(k *Kernel, t *Thread) Result {
	clock := int(int32(t.Call.Args[0]))
	switch clock {
	case unix.CLOCK_REALTIME, unix.CLOCK_MONOTONIC, unix.CLOCK_BOOTTIME, unix.CLOCK_TAI:
	case unix.CLOCK_PROCESS_CPUTIME_ID:
	case unix.CLOCK_THREAD_CPUTIME_ID, unix.CLOCK_MONOTONIC_RAW, unix.CLOCK_MONOTONIC_COARSE, unix.CLOCK_REALTIME_COARSE:
		return fail(unix.EOPNOTSUPP)
	default:
		return fail(unix.EINVAL)
	}
	return k.sleepFor(t, clock, t.Call.Args[1]&1 != 0, t.Call.Args[2])
}

func (k *Kernel) sleepFor(t *Thread, clock int, absolute bool, addr uint64) Result {
	if t.Call.Again {
		if t.expired(k) {
			k.sawMoved(t)
			return 0
		}
		return k.block(t, t.Call.Until, Key{Kind: KeyThread, ID: t.ID})
	}
	ns, e := k.timespec(t, addr)
	if e != 0 {
		return fail(e)
	}
	until := k.expiry(t, clock, ns, absolute)
	if absolute && until <= k.Now {
		return 0
	}
	if ns == 0 {
		k.yield(t)
		return 0
	}
	return k.block(t, satAdd(until, t.SlackNs), Key{Kind: KeyThread, ID: t.ID})
}

// sleepInterrupted writes how much of a relative sleep is left.
func sleepInterrupted(k *Kernel, t *Thread) {
	rem := t.Call.Args[1]
	if t.Call.Nr == unix.SYS_CLOCK_NANOSLEEP {
		if t.Call.Args[1]&1 != 0 {
			return
		}
		rem = t.Call.Args[3]
	}
	if rem != 0 {
		k.out(t, rem, timespecBytes(max(t.Call.Until-k.Now, 0)))
	}
}

// Itimer is ITIMER_REAL of a process (setitimer(2), alarm(2)).
type Itimer struct {
	At, Interval int64
	Gen          int64
}

func (k *Kernel) realDue(p *Proc) {
	if p.Real.Interval > 0 {
		p.Real.At = satAdd(p.Real.At, p.Real.Interval)
		k.after(max(p.Real.At, k.Now+1), TimerReal, p.ID, p.Real.Gen)
	} else {
		p.Real.At = 0
	}
	k.signalProc(p, Signal{Number: int(unix.SIGALRM), Code: 0x80})
}

func (k *Kernel) setReal(p *Proc, value, interval int64) (left, oldInterval int64) {
	if p.Real.At != 0 {
		left = max(p.Real.At-k.Now, 1000)
	}
	oldInterval = p.Real.Interval
	p.Real.Gen++
	p.Real.At, p.Real.Interval = 0, interval
	if value > 0 {
		p.Real.At = satAdd(k.Now, value)
		k.after(p.Real.At, TimerReal, p.ID, p.Real.Gen)
	}
	return left, oldInterval
}

func sysAlarm(k *Kernel, t *Thread) Result {
	left, _ := k.setReal(k.proc(t), int64(uint32(t.Call.Args[0]))*1e9, 0)
	if left > 0 {
		left = max((left+5e8)/1e9, 1) // 0 would say that there was none
	}
	return Result(left)
}

func sysSetitimer(k *Kernel, t *Thread) Result {
	which := int(int32(t.Call.Args[0]))
	if which < 0 || which > 2 {
		return fail(unix.EINVAL)
	}
	var value, interval int64
	if a := t.Call.Args[1]; a != 0 {
		var e unix.Errno
		if interval, e = k.timeval(t, a); e == 0 {
			value, e = k.timeval(t, a+16)
		}
		if e != 0 {
			return fail(e)
		}
	}
	set := k.setReal
	if which != unix.ITIMER_REAL {
		set = func(p *Proc, value, interval int64) (int64, int64) { return k.setCPU(p, which, value, interval) }
	}
	left, old := set(k.proc(t), value, interval)
	if a := t.Call.Args[2]; a != 0 && !k.out(t, a, append(timevalBytes(old), timevalBytes(left)...)) {
		return fail(unix.EFAULT)
	}
	return 0
}

func sysGetitimer(k *Kernel, t *Thread) Result {
	which := int(int32(t.Call.Args[0]))
	if which < 0 || which > 2 {
		return fail(unix.EINVAL)
	}
	var left, interval int64
	p := k.proc(t)
	if which != unix.ITIMER_REAL {
		left, interval = k.cpuLeft(p, which)
	} else if interval = p.Real.Interval; p.Real.At != 0 {
		left = max(p.Real.At-k.Now, 1000)
	}
	if !k.out(t, t.Call.Args[1], append(timevalBytes(interval), timevalBytes(left)...)) {
		return fail(unix.EFAULT)
	}
	return 0
}

// PosixTimer is a timer of timer_create(2).
type PosixTimer struct {
	ID       int
	Clock    int
	CPU      ThreadID // whose CPU time its clock is, 0 for another clock
	Notify   int      // SIGEV_SIGNAL 0, SIGEV_NONE 1, SIGEV_THREAD_ID 4
	Signal   int
	Value    uint64
	Thread   ThreadID
	At       int64
	Interval int64
	Gen      int64
	Overrun  int32 // of the signal that was delivered last
	Still    bool  // a periodic timer whose signal is pending: it goes on when that is taken
	Wall     bool  // At is a time of CLOCK_REALTIME
}

// forward sets a periodic timer that stands still to its next expiry, and counts those that were missed.
func (x *PosixTimer) forward(now int64) (missed int32) {
	n := max(now-x.At, 0) / x.Interval
	x.At = satAdd(x.At, (n+1)*x.Interval)
	return int32(min(n, 1<<31-1))
}

const maxTimers = 4096 // of a process

func sysTimerCreate(k *Kernel, t *Thread) Result {
	clock := int(int32(t.Call.Args[0]))
	if _, ok := k.clock(t, clock); !ok {
		return fail(unix.EINVAL)
	}
	p := k.proc(t)
	if len(p.Timers) >= maxTimers {
		return fail(unix.EAGAIN)
	}
	cpu, ok := k.cpuOf(t, clock)
	if !ok {
		return fail(unix.EINVAL)
	}
	x := PosixTimer{ID: p.NextTimer, Clock: clock, CPU: cpu, Signal: int(unix.SIGALRM), Value: uint64(p.NextTimer)}
	if a := t.Call.Args[1]; a != 0 {
		var b [24]byte
		if !k.peek(t, a, b[:]) {
			return fail(unix.EFAULT)
		}
		le := binary.LittleEndian
		x.Value, x.Signal, x.Notify = le.Uint64(b[0:]), int(int32(le.Uint32(b[8:]))), int(int32(le.Uint32(b[12:])))
		switch x.Notify {
		case 0, 1:
		case 4:
			target := k.threadByTID(t.Node, int(int32(le.Uint32(b[16:]))))
			if target == nil || target.Proc != t.Proc {
				return fail(unix.EINVAL)
			}
			x.Thread = target.ID
		default:
			return fail(unix.EINVAL)
		}
		if x.Notify != 1 && (x.Signal < 1 || x.Signal > numSignals) {
			return fail(unix.EINVAL)
		}
	}
	if !k.outU32(t, t.Call.Args[2], uint32(x.ID)) {
		return fail(unix.EFAULT)
	}
	p.NextTimer++
	p.Timers = append(p.Timers, x)
	return 0
}

func (p *Proc) timer(id int) *PosixTimer {
	i := slices.IndexFunc(p.Timers, func(x PosixTimer) bool { return x.ID == id })
	if i < 0 {
		return nil
	}
	return &p.Timers[i]
}

// posixTimer finds the timer that a heap entry means, nil if it was set anew or deleted.
func (k *Kernel) posixTimer(proc ProcID, b int64) *PosixTimer {
	p := k.Procs[proc]
	if p == nil {
		return nil
	}
	x := p.timer(int(b >> 32))
	if x == nil || x.Gen != b&0xffffffff {
		return nil
	}
	return x
}

// posixDue is a timer's expiry.
func (k *Kernel) posixDue(proc ProcID, b int64) {
	p, x := k.Procs[proc], k.posixTimer(proc, b)
	s := Signal{Number: x.Signal, Code: siTimer, Timer: int32(x.ID), Value: x.Value}
	x.Still = x.Interval > 0
	if x.Interval == 0 {
		x.At = 0
	}
	pending := func(list []Signal) bool {
		return slices.ContainsFunc(list, func(o Signal) bool { return o.Code == siTimer && o.Timer == s.Timer && o.Number == s.Number })
	}
	queued := false
	switch th := k.Threads[x.Thread]; {
	case x.Notify == 0:
		k.signalProc(p, s)
		queued = pending(p.Pending)
	case x.Notify == 4 && th != nil:
		k.signalThread(th, s)
		queued = pending(th.Pending)
	}
	if x = k.posixTimer(proc, b); x != nil && x.Still && !queued { // nobody will take a signal: the timer goes on by itself
		k.rearm(p, x)
	}
}

func (k *Kernel) rearm(p *Proc, x *PosixTimer) (missed int32) {
	x.Still = false
	if used, ok := k.cpuClock(p, x); ok {
		return x.forward(used)
	}
	missed = x.forward(k.Now)
	k.after(x.At, TimerPosix, p.ID, int64(x.ID)<<32|x.Gen)
	return missed
}

// timerTaken completes the signal of a timer when it is delivered or read.
func (k *Kernel) timerTaken(p *Proc, s *Signal) {
	x := p.timer(int(s.Timer))
	if x == nil {
		return
	}
	x.Overrun = 0
	if x.Still {
		x.Overrun = k.rearm(p, x)
	}
	s.Overrun = x.Overrun
}

func sysTimerSettime(k *Kernel, t *Thread) Result {
	x := k.proc(t).timer(int(int32(t.Call.Args[0])))
	if x == nil {
		return fail(unix.EINVAL)
	}
	interval, value, e := k.itimerspec(t, t.Call.Args[2])
	if e != 0 {
		return fail(e)
	}
	if old := t.Call.Args[3]; old != 0 && !k.outTimer(t, old, k.posixNext(k.proc(t), x), x.Interval) {
		return fail(unix.EFAULT)
	}
	x.Gen++
	x.At, x.Interval, x.Overrun, x.Still = 0, interval, 0, false
	if value != 0 {
		if used, ok := k.cpuClock(k.proc(t), x); ok {
			if x.At = value; t.Call.Args[1]&1 == 0 {
				x.At = satAdd(used, value)
			}
			if k.cpuDue(t); t.State == Dead {
				return Gone
			}
			return 0
		}
		x.At = k.expiry(t, x.Clock, value, t.Call.Args[1]&1 != 0)
		x.Wall = t.Call.Wall
		k.after(x.At, TimerPosix, t.Proc, int64(x.ID)<<32|x.Gen)
	}
	return 0
}

func sysTimerGettime(k *Kernel, t *Thread) Result {
	x := k.proc(t).timer(int(int32(t.Call.Args[0])))
	if x == nil {
		return fail(unix.EINVAL)
	}
	if !k.outTimer(t, t.Call.Args[1], k.posixNext(k.proc(t), x), x.Interval) {
		return fail(unix.EFAULT)
	}
	return 0
}

// posixNext is the next expiry of a timer, also of one that stands still. Of a clock of CPU time it is when the world's time has
// passed by as much.
func (k *Kernel) posixNext(p *Proc, x *PosixTimer) int64 {
	at, now := *x, k.Now
	used, ok := k.cpuClock(p, x)
	if ok {
		now = used
	}
	if at.Still {
		at.forward(now)
	}
	if at.At == 0 {
		return 0
	}
	return satAdd(at.At, k.Now-now)
}

func sysTimerGetoverrun(k *Kernel, t *Thread) Result {
	x := k.proc(t).timer(int(int32(t.Call.Args[0])))
	if x == nil {
		return fail(unix.EINVAL)
	}
	return Result(x.Overrun)
}

func sysTimerDelete(k *Kernel, t *Thread) Result {
	p := k.proc(t)
	id := int(int32(t.Call.Args[0]))
	if p.timer(id) == nil {
		return fail(unix.EINVAL)
	}
	p.Timers = slices.DeleteFunc(p.Timers, func(x PosixTimer) bool { return x.ID == id })
	return 0
}

func sysSchedYield(k *Kernel, t *Thread) Result {
	k.yield(t)
	return 0
}

// yield puts a thread behind its equals.
func (k *Kernel) yield(t *Thread) {
	k.toTail(t)
	k.Resched = true
	k.empty(t)
}
