//go:build linux && amd64

package kernel

import (
	"encoding/binary"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
)

const (
	NumSignals = 64
	SigDefault = 0
	SigIgnore  = 1

	saNoCldStop = 1
	saNoCldWait = 2
	saRestart   = 0x10000000
	saResetHand = 0x80000000

	siTimer = -2 // si_code of a timer's signal

	MaxQueued = 1024 // RLIMIT_SIGPENDING of a process here
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

// IsSignal reports whether a number is that of a signal. 0, which asks kill(2) for a check, is not.
func IsSignal(n int) bool { return n >= 1 && n <= NumSignals }

// SignalBit is a signal in a mask.
func SignalBit(sig int) uint64 { return 1 << (sig - 1) }

// Info makes a siginfo_t.
func (s *Signal) Info() [128]byte {
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

// Dropped reports whether a process drops a signal by what it has set for it.
func (p *Proc) Dropped(sig int) bool {
	a := p.Actions[sig]
	return a.Handler == SigIgnore || a.Handler == SigDefault && defaultIgnored(sig)
}

// Ignored reports whether a signal would be dropped if it were not blocked.
func (p *Proc) Ignored(sig int) bool {
	return p.Dropped(sig) || p.Unkillable && p.Actions[sig].Handler == SigDefault
}

// Mask gives the signals that a thread blocks now.
func (k *Kernel) Mask(t *Thread) uint64 {
	if t.WaitMask != nil {
		return *t.WaitMask
	}
	return k.M.Sigmask(t.ID)
}

// awaits reports whether a thread waits for a signal that it blocks (sigtimedwait(2)): such a one is never dropped.
func (k *Kernel) awaits(t *Thread, sig int) bool {
	return t.InCall && t.Call.Nr == unix.SYS_RT_SIGTIMEDWAIT && t.WaitMask != nil && k.M.Sigmask(t.ID)&SignalBit(sig) != 0
}

// SignalProc sends a signal to a process: any of its threads that does not block it may take it.
func (k *Kernel) SignalProc(p *Proc, s Signal) {
	if p.Zombie {
		return
	}
	if !k.prepare(p, &s) {
		return
	}
	var taker *Thread
	blockedByAll := true
	for _, id := range p.Threads {
		t := k.Threads[id]
		if k.Mask(t)&SignalBit(s.Number) == 0 {
			blockedByAll = blockedByAll && k.awaits(t, s.Number)
			if taker == nil {
				taker = t
			}
		}
	}
	if !blockedByAll && p.Ignored(s.Number) {
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

// SignalThread sends a signal to one thread.
func (k *Kernel) SignalThread(t *Thread, s Signal) {
	p := k.Proc(t)
	if t.State == Dead || p.Zombie || !k.prepare(p, &s) {
		return
	}
	blocked := k.Mask(t)&SignalBit(s.Number) != 0
	if !blocked && !k.awaits(t, s.Number) && p.Ignored(s.Number) {
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
func (k *Kernel) prepare(p *Proc, s *Signal) bool {
	sig := s.Number
	switch {
	case sig == 0, p.Unkillable && (unix.Signal(sig) == unix.SIGKILL || unix.Signal(sig) == unix.SIGSTOP):
		return false
	case unix.Signal(sig) == unix.SIGKILL:
		p.signalled(s, true)
		k.EndProcess(p, int(unix.SIGKILL), false)
		return false
	case unix.Signal(sig) == unix.SIGCONT:
		k.DropPending(p, defaultStops)
		if p.Stopped {
			p.Stopped, p.Continued, p.Reported = false, true, false
			for _, id := range p.Threads { // the thread that continues it runs first
				k.ToTail(k.Threads[id])
			}
			k.tellParent(p, 6, int(unix.SIGCONT)) // CLD_CONTINUED
		}
		return true
	case defaultStops(sig):
		k.DropPending(p, func(s int) bool { return unix.Signal(s) == unix.SIGCONT })
		if unix.Signal(sig) == unix.SIGSTOP {
			k.stopProcess(p, sig)
			return false
		}
		return true
	}
	return true
}

// orphaned reports whether no process of a process' session could continue its group (setpgid(2)): terminals do not stop
// such groups.
func (s *State) orphaned(p *Proc) bool {
	for _, id := range s.Nodes[p.Node].Procs {
		m := s.Procs[id]
		if m.PGID != p.PGID || m.Zombie {
			continue
		}
		if up := s.Procs[m.Parent]; up != nil && up.PGID != m.PGID && up.SID == m.SID {
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
		k.SignalProc(m, Signal{Number: int(unix.SIGHUP), Code: 0x80})
		k.SignalProc(m, Signal{Number: int(unix.SIGCONT), Code: 0x80})
	}
}

// DropPending forgets pending signals of a process and its threads.
func (st *State) DropPending(p *Proc, which func(int) bool) {
	drop := func(s Signal) bool { return which(s.Number) }
	p.Pending = slices.DeleteFunc(p.Pending, drop)
	for _, id := range p.Threads {
		t := st.Threads[id]
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
	if len(*list) >= MaxQueued {
		return false
	}
	*list = append(*list, s)
	return true
}

// nudge makes a thread look at its signals: a waiting one wakes up and its call is interrupted. So is the call of one that
// was just woken for another reason and has not run yet: that may turn out to be no reason, and then it would wait again.
func (s *State) nudge(t *Thread) {
	s.Unbusy(t)
	if t.InCall {
		t.Call.Signaled = true
		s.Awake(t)
	}
}

// NextSignal finds the signal that a thread takes next: its own first, the lowest number first, synchronous ones before
// that (signal(7)). remove takes it out of the queue.
func (k *Kernel) NextSignal(t *Thread, allowed uint64, remove bool) (Signal, bool) {
	p := k.Proc(t)
	for _, list := range []*[]Signal{&t.Pending, &p.Pending} {
		best := -1
		for i, s := range *list {
			if allowed&SignalBit(s.Number) != 0 && (best < 0 || s.Number < (*list)[best].Number) {
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

// Taken notes that a process takes a signal.
func (s *State) Taken(p *Proc, sig int) {
	if n := s.Nodes[p.Node]; n.Main == p.ID && n.Stopping.Cause.ID != 0 && n.Stopping.Signal == sig && n.Stopping.Taken == 0 {
		n.Stopping.Taken = s.Events + 1
	}
}

func (s *State) hasPending(t *Thread) bool {
	return len(t.Pending) > 0 || len(s.Proc(t).Pending) > 0
}

// everyCall: a thread with a blocked pending signal must be stopped at the very call that unblocks it.
func (s *State) everyCall(t *Thread) bool { return s.hasPending(t) }

// deliver hands all deliverable signals of a thread over before it runs on in user space. It reports whether the
// thread still exists and may run.
func (k *Kernel) deliver(t *Thread) bool {
	for k.hasPending(t) {
		p := k.Proc(t)
		mask := k.Mask(t)
		s, ok := k.NextSignal(t, ^mask, true)
		if !ok {
			break
		}
		act := p.Actions[s.Number]
		switch {
		case p.Ignored(s.Number):
			continue
		case act.Handler == SigDefault:
			if defaultStops(s.Number) {
				if unix.Signal(s.Number) != unix.SIGSTOP && k.orphaned(p) {
					continue
				}
				k.stopProcess(p, s.Number)
				return false
			}
			k.Happen(k.Node(t).Name, t.Name, "signal", int64(s.Number), "ends "+p.Path)
			p.signalled(&s, true)
			k.fatal(t, s.Number, s.Info())
			k.EndProcess(p, s.Number, false)
			return false
		}
		k.Happen(k.Node(t).Name, t.Name, "signal", int64(s.Number), "")
		p.signalled(&s, false)
		k.Taken(p, s.Number)
		if act.Flags&saResetHand != 0 {
			p.Actions[s.Number] = Action{}
		}
		info := s.Info()
		after := t.AfterMask
		if after != nil {
			// A masked wait: the handler runs under the wait's mask, its return restores the old one.
			k.M.SetSigmask(t.ID, mask)
		}
		if !k.M.Deliver(t.ID, s.Number, &info, after) {
			return true // the next Resume reports what happened instead
		}
		t.AfterMask = nil
	}
	if t.AfterMask != nil {
		k.M.SetSigmask(t.ID, *t.AfterMask)
		t.AfterMask = nil
	}
	return t.State != Dead && !k.Proc(t).Zombie
}

// interrupt decides what a signal does to the wait that it has interrupted: nothing (it is blocked, ignored, or
// taken by another thread), EINTR, or a restart of the call after the handler.
func (k *Kernel) interrupt(t *Thread, e *Syscall) (Result, bool) {
	mask := k.Mask(t)
	p := k.Proc(t)
	var s Signal
	for {
		var ok bool
		if s, ok = k.NextSignal(t, ^mask, false); !ok {
			return 0, false
		}
		if !p.Ignored(s.Number) {
			break
		}
		k.NextSignal(t, ^mask, true)
	}
	act := p.Actions[s.Number]
	if act.Handler == SigDefault {
		return fail(unix.EINTR), true // it ends or stops the process: no program sees the result
	}
	if t.WaitMask != nil {
		// Keep the wait's mask for the delivery, which happens before anything else.
		m, old := *t.WaitMask, k.M.Sigmask(t.ID)
		k.M.SetSigmask(t.ID, m)
		t.AfterMask = &old
		t.WaitMask = nil
	}
	if e.Abandon != nil {
		e.Abandon(k, t)
	}
	restart := e.Restart == restartAlways || e.Restart == RestartFlag && act.Flags&saRestart != 0 ||
		e.Restart == RestartNoTimeout && act.Flags&saRestart != 0 && !t.Call.HasUntil
	if restart && t.Call.Done == 0 {
		t.InCall = false
		k.unblock(t)
		k.M.Restart(t.ID, t.Call.Nr)
		return Gone, true
	}
	if t.Call.Done > 0 {
		return Result(t.Call.Done), true
	}
	if e.Interrupted != nil {
		e.Interrupted(k, t)
	}
	return fail(unix.EINTR), true
}

// fault deals with a signal that the processor raised (SIGSEGV and the like).
func (k *Kernel) fault(t *Thread, s *machine.Stop) {
	p := k.Proc(t)
	act := p.Actions[s.Signal]
	k.Happen(k.Node(t).Name, t.Name, "fault", int64(s.Signal), "")
	p.breaks()
	if s.Unbuilt || act.Handler == SigDefault || act.Handler == SigIgnore || k.M.Sigmask(t.ID)&SignalBit(s.Signal) != 0 {
		k.M.Ignore(t.ID)
		k.fatal(t, s.Signal, s.Info)
		k.EndProcess(p, s.Signal, false)
		return
	}
	if act.Flags&saResetHand != 0 {
		p.Actions[s.Signal] = Action{}
	}
	t.Fault = s.Signal
	k.M.Fault(t.ID, s.Signal)
}

// Bytes are an action as struct kernel_sigaction.
func (a Action) Bytes() (b [32]byte) {
	le := binary.LittleEndian
	le.PutUint64(b[0:], a.Handler)
	le.PutUint64(b[8:], a.Flags)
	le.PutUint64(b[16:], a.Restorer)
	le.PutUint64(b[24:], a.Mask)
	return b
}

// ThreadByTID is the thread of a node that programs know by a number, nil if there is none.
func (s *State) ThreadByTID(node NodeID, tid int) *Thread {
	for _, pid := range s.Nodes[node].Procs {
		for _, id := range s.Procs[pid].Threads {
			if t := s.Threads[id]; t.TID == tid {
				return t
			}
		}
	}
	return nil
}

// ProcByPID is the process of a node that programs know by a number, nil if there is none.
func (s *State) ProcByPID(node NodeID, pid int) *Proc {
	for _, id := range s.Nodes[node].Procs {
		if p := s.Procs[id]; p.PID == pid {
			return p
		}
	}
	return nil
}

// dumps reports whether a signal ends a program with a core file (signal(7)).
func dumps(sig int) bool {
	switch unix.Signal(sig) {
	case unix.SIGQUIT, unix.SIGILL, unix.SIGTRAP, unix.SIGABRT, unix.SIGBUS, unix.SIGFPE, unix.SIGSEGV, unix.SIGXCPU, unix.SIGXFSZ, unix.SIGSYS:
		return true
	}
	return false
}

// fatal reports that a signal is about to end a process.
func (k *Kernel) fatal(t *Thread, sig int, info [128]byte) {
	if k.Fatal != nil && dumps(sig) {
		k.Fatal(t, sig, info)
	}
}

// inCall is the value of the result register of a thread that waits in a call (ERESTARTSYS).
const inCall = ^uint64(511)

// AsSeen makes the registers of a stopped thread those that its program would see.
func (t *Thread) AsSeen(regs *machine.Regs) {
	const restoreFlag, trapFlag = 1 << 16, 1 << 8 // set by ptrace
	regs.Eflags &^= restoreFlag | trapFlag
	switch nr := int64(regs.Orig_rax); {
	case t.InCall:
		regs.Rax, regs.Orig_rax = inCall, t.Call.Nr
	case nr >= 0: // stopped before the call
		regs.Rip, regs.Rax = regs.Rip-2, regs.Orig_rax
		fallthrough
	default:
		regs.Orig_rax = ^uint64(0)
	}
}

// SignalFD is a signalfd(2): it reads the pending signals of whoever reads it.
type SignalFD struct {
	ID   int64
	Mask uint64
	Proc ProcID
}

func (st *State) signalfdWake(p *Proc) {
	if len(st.SignalFDs) == 0 {
		return
	}
	ids := make([]int64, 0, len(st.SignalFDs))
	for id, s := range st.SignalFDs {
		if s.Proc == p.ID {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		st.Wake(Key{Kind: KeySignalFD, ID: id}, unix.EPOLLIN)
	}
}
