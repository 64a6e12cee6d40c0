//go:build linux && amd64

package linux

import (
	"encoding/binary"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/net"
	"github.com/bloodhound-dst/bloodhound/internal/world"
	"golang.org/x/sys/unix"
)

// Stop signals the main process of a node to stop, as the engine of its container would: from outside.
func Stop(k *Kernel, id kernel.NodeID, cause net.FaultRef, sig int) {
	n := k.Nodes[id]
	n.Stopping = kernel.Stopping{Cause: cause, Signal: sig}
	if p := k.Procs[n.Main]; p != nil {
		k.SignalProc(p, kernel.Signal{Number: sig})
	}
}

// signalWaits reports whether a signal is about to interrupt the call: select and poll prefer it to a timeout that
// is over (fs/select.c), but not to a descriptor that is ready.
func signalWaits(k *Kernel, t *Thread) bool {
	if !t.Call.Signaled {
		return false
	}
	mask, p := k.Mask(t), k.Proc(t)
	deliverable := func(s kernel.Signal) bool { return mask&kernel.SignalBit(s.Number) == 0 && !p.Ignored(s.Number) }
	return slices.ContainsFunc(t.Pending, deliverable) || slices.ContainsFunc(p.Pending, deliverable)
}

// waitMask installs the temporary mask of a masked wait (ppoll, pselect, epoll_pwait): at the first try only.
func waitMask(k *Kernel, t *Thread, addr, size uint64) Result {
	if addr == 0 || t.WaitMask != nil {
		return 0
	}
	if size != 8 {
		return fail(unix.EINVAL)
	}
	m, ok := k.InU64(t, addr)
	if !ok {
		return fail(unix.EFAULT)
	}
	m &^= kernel.SignalBit(int(unix.SIGKILL)) | kernel.SignalBit(int(unix.SIGSTOP))
	t.WaitMask = &m
	if _, ok := k.NextSignal(t, ^m, false); ok {
		t.Call.Signaled = true
	}
	return 0
}

// Action returns the action of a thread's process for a signal, in the form of rt_sigaction(2). ok is false unless the
// action is a handler.
func Action(k *Kernel, id kernel.ThreadID, sig int) (action [32]byte, ok bool) {
	t := k.Threads[id]
	if t == nil {
		return action, false
	}
	a := k.Proc(t).Actions[sig]
	return a.Bytes(), a.Handler != kernel.SigDefault && a.Handler != kernel.SigIgnore
}

// sysRtSigaction takes a new action. The real kernel answers a program that only asks for the present one.
func sysRtSigaction(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	sig, actAddr, size := args[0].Int(), args[1].Pointer(), args[3].Size()
	if size != 8 || sig < 1 || sig > kernel.NumSignals {
		return fail(unix.EINVAL)
	}
	if unix.Signal(sig) == unix.SIGKILL || unix.Signal(sig) == unix.SIGSTOP {
		return fail(unix.EINVAL)
	}
	var b [32]byte
	if !k.Peek(t, actAddr, b[:]) {
		return fail(unix.EFAULT)
	}
	le, p := binary.LittleEndian, k.Proc(t)
	p.Actions[sig] = kernel.Action{Handler: le.Uint64(b[0:]), Flags: le.Uint64(b[8:]), Restorer: le.Uint64(b[16:]), Mask: le.Uint64(b[24:])}
	if p.Dropped(sig) {
		k.DropPending(p, func(s int) bool { return s == sig })
	}
	return kernel.Passed // the real kernel needs to know it too: it builds the handlers' frames
}

func sysRtSigpending(k *Kernel, t *Thread) Result {
	setAddr, size := t.Call.Args[0].Pointer(), t.Call.Args[1].Size()
	if size > 8 {
		return fail(unix.EINVAL)
	}
	var set uint64
	for _, s := range append(slices.Clone(t.Pending), k.Proc(t).Pending...) {
		set |= kernel.SignalBit(s.Number)
	}
	set &= k.Mask(t)
	return stored(k.OutU64(t, setAddr, set))
}

func sysRtSigsuspend(k *Kernel, t *Thread) Result {
	maskAddr, maskSize := t.Call.Args[0].Pointer(), t.Call.Args[1].Size()
	if r := waitMask(k, t, maskAddr, maskSize); r != 0 {
		return r
	}
	return k.Block(t, 0, Key{Kind: kernel.KeyThread, ID: t.ID})
}

func sysPause(k *Kernel, t *Thread) Result {
	return k.Block(t, 0, Key{Kind: kernel.KeyThread, ID: t.ID})
}

func sysRtSigtimedwait(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	setAddr, infoAddr, timeoutAddr := args[0].Pointer(), args[1].Pointer(), args[2].Pointer()
	size := args[3].Size()
	if size != 8 {
		return fail(unix.EINVAL)
	}
	set, ok := k.InU64(t, setAddr)
	if !ok {
		return fail(unix.EFAULT)
	}
	timeout, e := timeoutAt(k, t, timeoutAddr, timespec)
	if e != 0 {
		return fail(e)
	}
	if s, ok := k.NextSignal(t, set, true); ok {
		t.WaitMask = nil
		k.Taken(k.Proc(t), s.Number)
		if infoAddr != 0 {
			info := s.Info()
			if !k.Out(t, infoAddr, info[:]) {
				return fail(unix.EFAULT)
			}
		}
		return Result(s.Number)
	}
	if timeout == 0 && !t.Call.Again || t.Expired(k) {
		t.WaitMask = nil
		return fail(unix.EAGAIN)
	}
	m := k.M.Sigmask(t.ID) &^ set // the awaited signals wake the thread though they are blocked
	t.WaitMask = &m
	return k.Block(t, k.Deadline(t, timeout), Key{Kind: kernel.KeyThread, ID: t.ID})
}

func sender(k *Kernel, t *Thread, sig int, code int32) kernel.Signal {
	p := k.Proc(t)
	return kernel.Signal{Number: sig, Code: code, PID: p.PID, UID: p.Cred.UID}
}

func sysKill(k *Kernel, t *Thread) Result {
	pid, sig := t.Call.Args[0].Int(), t.Call.Args[1].Int()
	if sig < 0 || sig > kernel.NumSignals {
		return fail(unix.EINVAL)
	}
	me := k.Proc(t)
	found, denied := false, false
	for _, id := range slices.Clone(k.Node(t).Procs) {
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
			k.SignalProc(p, sender(k, t, sig, 0))
		}
	}
	if found && (pid == me.PID || pid == 0 || pid == -me.PGID) {
		k.SignalProc(me, sender(k, t, sig, 0)) // last: it may end the caller
	}
	switch {
	case t.State == kernel.Dead:
		return kernel.Gone
	case !found && pid == kernel.InitPID:
		return signalInit(k, t, sig)
	case !found:
		return fail(unix.ESRCH)
	case denied && pid > 0:
		return fail(unix.EPERM)
	}
	return 0
}

// signalInit sends a signal to process 1 of a node that is none of its programs: a machine's ignores it, and a container's
// passes it on to its child.
func signalInit(k *Kernel, t *Thread, sig int) Result {
	n := k.Node(t)
	main := k.Procs[n.Main]
	if n.Init != world.SmallInit || main == nil || sig == 0 {
		return 0
	}
	if k.Proc(t).Cred.EUID != 0 {
		return fail(unix.EPERM)
	}
	switch unix.Signal(sig) {
	case unix.SIGKILL, unix.SIGSTOP, unix.SIGCHLD, unix.SIGTTIN, unix.SIGTTOU, unix.SIGFPE, unix.SIGILL, unix.SIGSEGV,
		unix.SIGBUS, unix.SIGABRT, unix.SIGTRAP, unix.SIGSYS:
		return 0
	}
	k.SignalProc(main, kernel.Signal{Number: sig, PID: kernel.InitPID})
	if t.State == kernel.Dead {
		return kernel.Gone
	}
	return 0
}

func maySignal(from, to *Proc) bool {
	return from.Cred.EUID == 0 || from.Cred.EUID == to.Cred.UID || from.Cred.UID == to.Cred.UID || from.Cred.EUID == to.Cred.SUID
}

func sysTkill(k *Kernel, t *Thread) Result {
	tid, sig := t.Call.Args[0].Int(), t.Call.Args[1].Int()
	return tgkill(k, t, 0, tid, sig, nil)
}

func sysTgkill(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	tgid, tid, sig := args[0].Int(), args[1].Int(), args[2].Int()
	if tgid <= 0 {
		return fail(unix.EINVAL)
	}
	return tgkill(k, t, tgid, tid, sig, nil)
}

func tgkill(k *Kernel, t *Thread, tgid, tid, sig int, s *kernel.Signal) Result {
	if tid <= 0 || sig < 0 || sig > kernel.NumSignals {
		return fail(unix.EINVAL)
	}
	target := k.ThreadByTID(t.Node, tid)
	if target == nil || tgid != 0 && k.Proc(target).PID != tgid {
		return fail(unix.ESRCH)
	}
	if !maySignal(k.Proc(t), k.Proc(target)) {
		return fail(unix.EPERM)
	}
	x := sender(k, t, sig, -6) // SI_TKILL
	if s != nil {
		x = *s
	}
	k.SignalThread(target, x)
	if t.State == kernel.Dead {
		return kernel.Gone
	}
	return 0
}

// queueInfo reads the siginfo_t of rt_sigqueueinfo.
func queueInfo(k *Kernel, t *Thread, sig int, addr uint64) (kernel.Signal, Result) {
	var b [32]byte
	if !k.Peek(t, addr, b[:]) {
		return kernel.Signal{}, fail(unix.EFAULT)
	}
	le := binary.LittleEndian
	s := kernel.Signal{Number: sig, Code: int32(le.Uint32(b[8:])), PID: int(int32(le.Uint32(b[16:]))), UID: int(le.Uint32(b[20:])), Value: le.Uint64(b[24:])}
	if s.Code >= 0 || s.Code == -6 {
		return s, fail(unix.EPERM)
	}
	return s, 0
}

func sysRtSigqueueinfo(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	pid, sig, infoAddr := args[0].Int(), args[1].Int(), args[2].Pointer()
	s, r := queueInfo(k, t, sig, infoAddr)
	p := k.ProcByPID(t.Node, pid)
	switch {
	case sig < 0 || sig > kernel.NumSignals:
		return fail(unix.EINVAL)
	case p == nil:
		return fail(unix.ESRCH)
	case r != 0 && p != k.Proc(t):
		return r
	}
	k.SignalProc(p, s)
	if t.State == kernel.Dead {
		return kernel.Gone
	}
	return 0
}

func sysRtTgsigqueueinfo(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	tgid, tid, sig, infoAddr := args[0].Int(), args[1].Int(), args[2].Int(), args[3].Pointer()
	s, r := queueInfo(k, t, sig, infoAddr)
	if r != 0 && tgid != k.Proc(t).PID {
		return r
	}
	return tgkill(k, t, tgid, tid, sig, &s)
}
