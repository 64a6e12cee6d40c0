//go:build linux && amd64

package kernel

import (
	"encoding/binary"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/net"
	"github.com/bloodhound-dst/bloodhound/internal/world"
	"golang.org/x/sys/unix"
)

const (
	numSignals = 64
	sigDefault = 0
	sigIgnore  = 1

	saNoCldStop = 1
	saNoCldWait = 2
	saRestart   = 0x10000000
	saResetHand = 0x80000000

	siTimer = -2 // si_code of a timer's signal

	maxQueued = 1024 // RLIMIT_SIGPENDING of a process here
)

// Action is a signal's disposition (sigaction(2)). The real kernel holds the same: it builds handlers' frames.
type Action struct {
	Handler  uint64
	Flags    uint64
	Restorer uint64
	Mask     uint64
}

// Signal is a pending signal with what its siginfo_t says.
type Signal struct {
	Number  int
	Code    int32
	PID     int
	UID     int
	Status  int
	Value   uint64
	Timer   int32
	Overrun int32
	Child   bool // fields of SIGCHLD
}

func bit(sig int) uint64 { return 1 << (sig - 1) }

// info makes a siginfo_t.
func (s *Signal) info() [128]byte {
	var b [128]byte
	le := binary.LittleEndian
	le.PutUint32(b[0:], uint32(s.Number))
	le.PutUint32(b[8:], uint32(s.Code))
	switch {
	case s.Code == siTimer: // timer id, overrun, value
		le.PutUint32(b[16:], uint32(s.Timer))
		le.PutUint32(b[20:], uint32(s.Overrun))
		le.PutUint64(b[24:], s.Value)
	default:
		le.PutUint32(b[16:], uint32(s.PID))
		le.PutUint32(b[20:], uint32(s.UID))
		if s.Child {
			le.PutUint32(b[24:], uint32(s.Status))
		} else {
			le.PutUint64(b[24:], s.Value)
		}
	}
	return b
}

// defaultIgnored and defaultStops: what SIG_DFL means (signal(7)); all others end the process.
func defaultIgnored(sig int) bool {
	switch unix.Signal(sig) {
	case unix.SIGCHLD, unix.SIGURG, unix.SIGWINCH, unix.SIGCONT:
		return true
	}
	return false
}

func defaultStops(sig int) bool {
	switch unix.Signal(sig) {
	case unix.SIGSTOP, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU:
		return true
	}
	return false
}

// dropped reports whether a process drops a signal by what it has set for it.
func (p *Proc) dropped(sig int) bool {
	a := p.Actions[sig]
	return a.Handler == sigIgnore || a.Handler == sigDefault && defaultIgnored(sig)
}

// ignored reports whether a signal would be dropped if it were not blocked.
func (p *Proc) ignored(sig int) bool {
	return p.dropped(sig) || p.Unkillable && p.Actions[sig].Handler == sigDefault
}

// mask gives the signals that a thread blocks now.
func (k *Kernel) mask(t *Thread) uint64 {
	if t.WaitMask != nil {
		return *t.WaitMask
	}
	return k.M.Sigmask(t.ID)
}

// awaits tells whether a thread waits for a signal that it blocks (sigtimedwait(2)): such a one is never dropped.
func (k *Kernel) awaits(t *Thread, sig int) bool {
	return t.InCall && t.Call.Nr == unix.SYS_RT_SIGTIMEDWAIT && t.WaitMask != nil && k.M.Sigmask(t.ID)&bit(sig) != 0
}

// signalProc sends a signal to a process: any of its threads that does not block it may take it.
func (k *Kernel) signalProc(p *Proc, s Signal) {
	if p.Zombie {
		return
	}
	if !k.prepare(p, s.Number) {
		return
	}
	var taker *Thread
	blockedByAll := true
	for _, id := range p.Threads {
		t := k.Threads[id]
		if k.mask(t)&bit(s.Number) == 0 {
			blockedByAll = blockedByAll && k.awaits(t, s.Number)
			if taker == nil {
				taker = t
			}
		}
	}
	if !blockedByAll && p.ignored(s.Number) {
		return
	}
	if !queue(&p.Pending, s) {
		return
	}
	k.signalfdWake(p)
	if taker != nil {
		k.nudge(taker)
	}
}

// signalThread sends a signal to one thread.
func (k *Kernel) signalThread(t *Thread, s Signal) {
	p := k.proc(t)
	if t.State == Dead || p.Zombie || !k.prepare(p, s.Number) {
		return
	}
	blocked := k.mask(t)&bit(s.Number) != 0
	if !blocked && !k.awaits(t, s.Number) && p.ignored(s.Number) {
		return
	}
	if !queue(&t.Pending, s) {
		return
	}
	k.signalfdWake(p)
	if !blocked {
		k.nudge(t)
	}
}

// prepare does what a signal does at once, before it is taken: SIGCONT and stops cancel each other, SIGKILL needs
// no taker. It reports whether the signal must still be queued.
func (k *Kernel) prepare(p *Proc, sig int) bool {
	switch {
	case sig == 0, p.Unkillable && (unix.Signal(sig) == unix.SIGKILL || unix.Signal(sig) == unix.SIGSTOP):
		return false
	case unix.Signal(sig) == unix.SIGKILL:
		k.endProcess(p, int(unix.SIGKILL), false)
		return false
	case unix.Signal(sig) == unix.SIGCONT:
		k.dropPending(p, defaultStops)
		if p.Stopped {
			p.Stopped, p.Continued, p.Reported = false, true, false
			for _, id := range p.Threads { // who continues it goes on first
				k.toTail(k.Threads[id])
			}
			k.tellParent(p, 6, int(unix.SIGCONT)) // CLD_CONTINUED
		}
		return true
	case defaultStops(sig):
		k.dropPending(p, func(s int) bool { return unix.Signal(s) == unix.SIGCONT })
		if unix.Signal(sig) == unix.SIGSTOP {
			k.stopProcess(p, sig)
			return false
		}
		return true
	}
	return true
}

// orphaned reports whether nobody of a process' session could continue its group (setpgid(2)): terminals do not stop
// such groups.
func (k *Kernel) orphaned(p *Proc) bool {
	for _, id := range k.Nodes[p.Node].Procs {
		m := k.Procs[id]
		if m.PGID != p.PGID || m.Zombie {
			continue
		}
		if up := k.Procs[m.Parent]; up != nil && up.PGID != m.PGID && up.SID == m.SID {
			return false
		}
	}
	return true
}

// hangUp ends or wakes the stopped processes of a group that has just become orphaned (exit(3)).
func (k *Kernel) hangUp(p *Proc) {
	stopped := false
	var group []*Proc
	for _, id := range k.Nodes[p.Node].Procs {
		if m := k.Procs[id]; m.PGID == p.PGID && !m.Zombie {
			stopped = stopped || m.Stopped
			group = append(group, m)
		}
	}
	if !stopped || !k.orphaned(p) {
		return
	}
	for _, m := range group {
		k.signalProc(m, Signal{Number: int(unix.SIGHUP), Code: 0x80})
		k.signalProc(m, Signal{Number: int(unix.SIGCONT), Code: 0x80})
	}
}

func (k *Kernel) dropPending(p *Proc, which func(int) bool) {
	drop := func(s Signal) bool { return which(s.Number) }
	p.Pending = slices.DeleteFunc(p.Pending, drop)
	for _, id := range p.Threads {
		t := k.Threads[id]
		t.Pending = slices.DeleteFunc(t.Pending, drop)
	}
}

func (k *Kernel) stopProcess(p *Proc, sig int) {
	if p.Stopped {
		return
	}
	p.Stopped, p.Continued, p.Reported = true, false, false
	p.Status = sig<<8 | 0x7f
	k.Resched = true
	k.tellParent(p, 5, sig) // CLD_STOPPED
}

// queue appends a signal; a standard signal that is pending already is not queued twice.
func queue(list *[]Signal, s Signal) bool {
	if s.Number < 32 {
		for _, x := range *list {
			if x.Number == s.Number {
				return false
			}
		}
	}
	if len(*list) >= maxQueued {
		return false
	}
	*list = append(*list, s)
	return true
}

// nudge makes a thread look at its signals: a waiting one wakes up and its call is interrupted. So is the call of one that
// was just woken for another reason and has not run yet: that may turn out to be no reason, and then it would wait again.
func (k *Kernel) nudge(t *Thread) {
	k.unbusy(t)
	if t.InCall {
		t.Call.Signaled = true
		k.awake(t)
	}
}

// nextSignal finds the signal that a thread takes next: its own first, the lowest number first, synchronous ones before
// that (signal(7)). remove takes it out of the queue.
func (k *Kernel) nextSignal(t *Thread, allowed uint64, remove bool) (Signal, bool) {
	p := k.proc(t)
	for _, list := range []*[]Signal{&t.Pending, &p.Pending} {
		best := -1
		for i, s := range *list {
			if allowed&bit(s.Number) != 0 && (best < 0 || s.Number < (*list)[best].Number) {
				best = i
			}
		}
		if best >= 0 {
			s := (*list)[best]
			if remove {
				*list = slices.Delete(*list, best, best+1)
				if s.Code == siTimer {
					k.timerTaken(p, &s)
				}
			}
			return s, true
		}
	}
	return Signal{}, false
}

// Stop tells the main process of a node to stop, as the engine of its container would: from outside.
func (k *Kernel) Stop(id NodeID, cause net.FaultRef, sig int) {
	n := k.Nodes[id]
	n.Stopping = Stopping{Cause: cause, Signal: sig}
	if p := k.Procs[n.Main]; p != nil {
		k.signalProc(p, Signal{Number: sig})
	}
}

// taken notes that a process takes a signal.
func (k *Kernel) taken(p *Proc, sig int) {
	if n := k.Nodes[p.Node]; n.Main == p.ID && n.Stopping.Cause.ID != 0 && n.Stopping.Signal == sig && n.Stopping.Taken == 0 {
		n.Stopping.Taken = k.Events + 1
	}
}

func (k *Kernel) hasPending(t *Thread) bool {
	return len(t.Pending) > 0 || len(k.proc(t).Pending) > 0
}

// everyCall: a thread with a blocked pending signal must be stopped at the very call that unblocks it.
func (k *Kernel) everyCall(t *Thread) bool { return k.hasPending(t) }

// deliver hands all deliverable signals of a thread over before it runs on in user space. It reports whether the
// thread still exists and may run.
func (k *Kernel) deliver(t *Thread) bool {
	for k.hasPending(t) {
		p := k.proc(t)
		mask := k.mask(t)
		s, ok := k.nextSignal(t, ^mask, true)
		if !ok {
			break
		}
		act := p.Actions[s.Number]
		switch {
		case p.ignored(s.Number):
			continue
		case act.Handler == sigDefault:
			if defaultStops(s.Number) {
				if unix.Signal(s.Number) != unix.SIGSTOP && k.orphaned(p) {
					continue
				}
				k.stopProcess(p, s.Number)
				return false
			}
			k.Happen(k.node(t).Name, t.Name, "signal", int64(s.Number), "ends "+p.Path)
			k.fatal(t, s.Number, s.info())
			k.endProcess(p, s.Number, false)
			return false
		}
		k.Happen(k.node(t).Name, t.Name, "signal", int64(s.Number), "")
		k.taken(p, s.Number)
		if act.Flags&saResetHand != 0 {
			p.Actions[s.Number] = Action{}
		}
		info := s.info()
		after := t.AfterMask
		if after != nil {
			// A masked wait: the handler runs under the wait's mask, its return restores the old one.
			k.M.SetSigmask(t.ID, mask)
		}
		if !k.M.Deliver(t.ID, s.Number, &info, after) {
			return true // the next Resume tells what happened instead
		}
		t.AfterMask = nil
	}
	if t.AfterMask != nil {
		k.M.SetSigmask(t.ID, *t.AfterMask)
		t.AfterMask = nil
	}
	return t.State != Dead && !k.proc(t).Zombie
}

// interrupt decides what a signal does to the wait that it has interrupted: nothing (it is blocked, ignored, or
// taken by another thread), EINTR, or a restart of the call after the handler.
func (k *Kernel) interrupt(t *Thread, e *entry) (Result, bool) {
	mask := k.mask(t)
	p := k.proc(t)
	var s Signal
	for {
		var ok bool
		if s, ok = k.nextSignal(t, ^mask, false); !ok {
			return 0, false
		}
		if !p.ignored(s.Number) {
			break
		}
		k.nextSignal(t, ^mask, true)
	}
	act := p.Actions[s.Number]
	if act.Handler == sigDefault {
		return fail(unix.EINTR), true // it ends or stops the process: nobody sees the result
	}
	if t.WaitMask != nil {
		// Keep the wait's mask for the delivery, which happens before anything else.
		m, old := *t.WaitMask, k.M.Sigmask(t.ID)
		k.M.SetSigmask(t.ID, m)
		t.AfterMask = &old
		t.WaitMask = nil
	}
	if t.Call.Nr == unix.SYS_FUTEX {
		k.futexForget(t)
	}
	restart := e.restart == restartAlways || e.restart == restartFlag && act.Flags&saRestart != 0 ||
		e.restart == restartNoTimeout && act.Flags&saRestart != 0 && !t.Call.HasUntil
	if restart && t.Call.Done == 0 {
		t.InCall = false
		k.unblock(t)
		k.M.Restart(t.ID, t.Call.Nr)
		return Gone, true
	}
	if t.Call.Done > 0 {
		return Result(t.Call.Done), true
	}
	if e.interrupted != nil {
		e.interrupted(k, t)
	}
	return fail(unix.EINTR), true
}

// signalWaits reports whether a signal is about to interrupt the call: select and poll prefer it to a timeout that
// is over (fs/select.c), but not to a descriptor that is ready.
func (k *Kernel) signalWaits(t *Thread) bool {
	if !t.Call.Signaled {
		return false
	}
	mask, p := k.mask(t), k.proc(t)
	deliverable := func(s Signal) bool { return mask&bit(s.Number) == 0 && !p.ignored(s.Number) }
	return slices.ContainsFunc(t.Pending, deliverable) || slices.ContainsFunc(p.Pending, deliverable)
}

// fault deals with a signal that the processor raised (SIGSEGV and the like).
func (k *Kernel) fault(t *Thread, s *machine.Stop) {
	p := k.proc(t)
	act := p.Actions[s.Signal]
	k.Happen(k.node(t).Name, t.Name, "fault", int64(s.Signal), "")
	if s.Unbuilt || act.Handler == sigDefault || act.Handler == sigIgnore || k.M.Sigmask(t.ID)&bit(s.Signal) != 0 {
		k.M.Ignore(t.ID)
		k.fatal(t, s.Signal, s.Info)
		k.endProcess(p, s.Signal, false)
		return
	}
	if act.Flags&saResetHand != 0 {
		p.Actions[s.Signal] = Action{}
	}
	t.Fault = s.Signal
	k.M.Fault(t.ID, s.Signal)
}

// waitMask installs the temporary mask of a masked wait (ppoll, pselect, epoll_pwait): at the first try only.
func (k *Kernel) waitMask(t *Thread, addr, size uint64) Result {
	if addr == 0 || t.WaitMask != nil {
		return 0
	}
	if size != 8 {
		return fail(unix.EINVAL)
	}
	m, ok := k.inU64(t, addr)
	if !ok {
		return fail(unix.EFAULT)
	}
	m &^= bit(int(unix.SIGKILL)) | bit(int(unix.SIGSTOP))
	t.WaitMask = &m
	if _, ok := k.nextSignal(t, ^m, false); ok {
		t.Call.Signaled = true
	}
	return 0
}

// bytes are an action as struct kernel_sigaction.
func (a Action) bytes() (b [32]byte) {
	le := binary.LittleEndian
	le.PutUint64(b[0:], a.Handler)
	le.PutUint64(b[8:], a.Flags)
	le.PutUint64(b[16:], a.Restorer)
	le.PutUint64(b[24:], a.Mask)
	return b
}

// Action is what a thread's process does at a signal, as rt_sigaction(2) takes it, if that is a handler.
func (k *Kernel) Action(id ThreadID, sig int) (action [32]byte, ok bool) {
	t := k.Threads[id]
	if t == nil {
		return action, false
	}
	a := k.proc(t).Actions[sig]
	return a.bytes(), a.Handler != sigDefault && a.Handler != sigIgnore
}

// sysRtSigaction takes a new action. Who only asks for the present one is answered by the real kernel.
func sysRtSigaction(k *Kernel, t *Thread) Result {
	sig, size := int(int32(t.Call.Args[0])), t.Call.Args[3]
	if size != 8 || sig < 1 || sig > numSignals {
		return fail(unix.EINVAL)
	}
	if unix.Signal(sig) == unix.SIGKILL || unix.Signal(sig) == unix.SIGSTOP {
		return fail(unix.EINVAL)
	}
	var b [32]byte
	if !k.peek(t, t.Call.Args[1], b[:]) {
		return fail(unix.EFAULT)
	}
	le, p := binary.LittleEndian, k.proc(t)
	p.Actions[sig] = Action{le.Uint64(b[0:]), le.Uint64(b[8:]), le.Uint64(b[16:]), le.Uint64(b[24:])}
	if p.dropped(sig) {
		k.dropPending(p, func(s int) bool { return s == sig })
	}
	return passed // the real kernel needs to know it too: it builds the handlers' frames
}

func sysRtSigpending(k *Kernel, t *Thread) Result {
	if t.Call.Args[1] > 8 {
		return fail(unix.EINVAL)
	}
	var set uint64
	for _, s := range append(slices.Clone(t.Pending), k.proc(t).Pending...) {
		set |= bit(s.Number)
	}
	set &= k.mask(t)
	if !k.outU64(t, t.Call.Args[0], set) {
		return fail(unix.EFAULT)
	}
	return 0
}

func sysRtSigsuspend(k *Kernel, t *Thread) Result {
	if r := k.waitMask(t, t.Call.Args[0], t.Call.Args[1]); r != 0 {
		return r
	}
	return k.block(t, 0, Key{Kind: KeyThread, ID: t.ID})
}

func sysPause(k *Kernel, t *Thread) Result {
	return k.block(t, 0, Key{Kind: KeyThread, ID: t.ID})
}

func sysRtSigtimedwait(k *Kernel, t *Thread) Result {
	if t.Call.Args[3] != 8 {
		return fail(unix.EINVAL)
	}
	set, ok := k.inU64(t, t.Call.Args[0])
	if !ok {
		return fail(unix.EFAULT)
	}
	timeout := int64(-1)
	if t.Call.Args[2] != 0 && !t.Call.Again {
		var e unix.Errno
		if timeout, e = k.timespec(t, t.Call.Args[2]); e != 0 {
			return fail(e)
		}
	}
	if s, ok := k.nextSignal(t, set, true); ok {
		t.WaitMask = nil
		k.taken(k.proc(t), s.Number)
		if a := t.Call.Args[1]; a != 0 {
			info := s.info()
			if !k.out(t, a, info[:]) {
				return fail(unix.EFAULT)
			}
		}
		return Result(s.Number)
	}
	if timeout == 0 && !t.Call.Again || t.expired(k) {
		t.WaitMask = nil
		return fail(unix.EAGAIN)
	}
	m := k.M.Sigmask(t.ID) &^ set // the awaited signals wake the thread though they are blocked
	t.WaitMask = &m
	return k.block(t, k.deadline(t, timeout), Key{Kind: KeyThread, ID: t.ID})
}

func (k *Kernel) sender(t *Thread, sig int, code int32) Signal {
	p := k.proc(t)
	return Signal{Number: sig, Code: code, PID: p.PID, UID: p.Cred.UID}
}

func sysKill(k *Kernel, t *Thread) Result {
	pid, sig := int(int32(t.Call.Args[0])), int(int32(t.Call.Args[1]))
	if sig < 0 || sig > numSignals {
		return fail(unix.EINVAL)
	}
	me := k.proc(t)
	found, denied := false, false
	for _, id := range slices.Clone(k.node(t).Procs) {
		p := k.Procs[id]
		switch {
		case p == nil: // a child that was left unwaited for by one that this call has killed
			continue
		case pid > 0 && p.PID != pid, pid == 0 && p.PGID != me.PGID, pid < -1 && p.PGID != -pid, pid == -1 && (p == me || p.Unkillable):
			continue
		}
		found = true
		if !maySignal(me, p) {
			denied = true
			continue
		}
		if p != me {
			k.signalProc(p, k.sender(t, sig, 0))
		}
	}
	if found && (pid == me.PID || pid == 0 || pid == -me.PGID) {
		k.signalProc(me, k.sender(t, sig, 0)) // last: it may end the caller
	}
	switch {
	case t.State == Dead:
		return Gone
	case !found && pid == initPID:
		return k.signalInit(t, sig)
	case !found:
		return fail(unix.ESRCH)
	case denied && pid > 0:
		return fail(unix.EPERM)
	}
	return 0
}

// signalInit sends a signal to process 1 of a node that is none of its programs: a machine's ignores it, and a container's
// passes it on to its child.
func (k *Kernel) signalInit(t *Thread, sig int) Result {
	n := k.node(t)
	main := k.Procs[n.Main]
	if n.Init != world.SmallInit || main == nil || sig == 0 {
		return 0
	}
	if k.proc(t).Cred.EUID != 0 {
		return fail(unix.EPERM)
	}
	switch unix.Signal(sig) {
	case unix.SIGKILL, unix.SIGSTOP, unix.SIGCHLD, unix.SIGTTIN, unix.SIGTTOU, unix.SIGFPE, unix.SIGILL, unix.SIGSEGV, unix.SIGBUS, unix.SIGABRT, unix.SIGTRAP, unix.SIGSYS:
		return 0
	}
	k.signalProc(main, Signal{Number: sig, PID: initPID})
	if t.State == Dead {
		return Gone
	}
	return 0
}

func maySignal(from, to *Proc) bool {
	return from.Cred.EUID == 0 || from.Cred.EUID == to.Cred.UID || from.Cred.UID == to.Cred.UID || from.Cred.EUID == to.Cred.SUID
}

func sysTkill(k *Kernel, t *Thread) Result {
	return k.tgkill(t, 0, int(int32(t.Call.Args[0])), int(int32(t.Call.Args[1])), nil)
}

func sysTgkill(k *Kernel, t *Thread) Result {
	tgid := int(int32(t.Call.Args[0]))
	if tgid <= 0 {
		return fail(unix.EINVAL)
	}
	return k.tgkill(t, tgid, int(int32(t.Call.Args[1])), int(int32(t.Call.Args[2])), nil)
}

func (k *Kernel) tgkill(t *Thread, tgid, tid, sig int, s *Signal) Result {
	if tid <= 0 || sig < 0 || sig > numSignals {
		return fail(unix.EINVAL)
	}
	target := k.threadByTID(t.Node, tid)
	if target == nil || tgid != 0 && k.proc(target).PID != tgid {
		return fail(unix.ESRCH)
	}
	if !maySignal(k.proc(t), k.proc(target)) {
		return fail(unix.EPERM)
	}
	x := k.sender(t, sig, -6) // SI_TKILL
	if s != nil {
		x = *s
	}
	k.signalThread(target, x)
	if t.State == Dead {
		return Gone
	}
	return 0
}

func (k *Kernel) threadByTID(node NodeID, tid int) *Thread {
	for _, pid := range k.Nodes[node].Procs {
		for _, id := range k.Procs[pid].Threads {
			if t := k.Threads[id]; t.TID == tid {
				return t
			}
		}
	}
	return nil
}

func (k *Kernel) procByPID(node NodeID, pid int) *Proc {
	for _, id := range k.Nodes[node].Procs {
		if p := k.Procs[id]; p.PID == pid {
			return p
		}
	}
	return nil
}

// queueInfo reads the siginfo_t of rt_sigqueueinfo.
func (k *Kernel) queueInfo(t *Thread, sig int, addr uint64) (Signal, Result) {
	var b [32]byte
	if !k.peek(t, addr, b[:]) {
		return Signal{}, fail(unix.EFAULT)
	}
	le := binary.LittleEndian
	s := Signal{Number: sig, Code: int32(le.Uint32(b[8:])), PID: int(int32(le.Uint32(b[16:]))), UID: int(le.Uint32(b[20:])), Value: le.Uint64(b[24:])}
	if s.Code >= 0 || s.Code == -6 {
		return s, fail(unix.EPERM)
	}
	return s, 0
}

func sysRtSigqueueinfo(k *Kernel, t *Thread) Result {
	pid, sig := int(int32(t.Call.Args[0])), int(int32(t.Call.Args[1]))
	s, r := k.queueInfo(t, sig, t.Call.Args[2])
	p := k.procByPID(t.Node, pid)
	switch {
	case sig < 0 || sig > numSignals:
		return fail(unix.EINVAL)
	case p == nil:
		return fail(unix.ESRCH)
	case r != 0 && p != k.proc(t):
		return r
	}
	k.signalProc(p, s)
	if t.State == Dead {
		return Gone
	}
	return 0
}

func sysRtTgsigqueueinfo(k *Kernel, t *Thread) Result {
	s, r := k.queueInfo(t, int(int32(t.Call.Args[2])), t.Call.Args[3])
	if r != 0 && int(int32(t.Call.Args[0])) != k.proc(t).PID {
		return r
	}
	return k.tgkill(t, int(int32(t.Call.Args[0])), int(int32(t.Call.Args[1])), int(int32(t.Call.Args[2])), &s)
}
