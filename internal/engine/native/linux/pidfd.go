//go:build linux && amd64

package linux

import (
	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
)

// pidFile is a process, as pidfd_open(2) names it.
var pidFile = Behaviour{
	Pollable: kernel.Always, Key: kernel.ObjectKey(kernel.KeyPidFD), Link: kernel.Anonymous("[pidfd]"),
	Ready: func(k *Kernel, f *File) uint32 {
		if p := k.Procs[f.Obj]; p == nil || p.Zombie {
			return unix.POLLIN | kernel.PollRDNorm
		}
		return 0
	},
}

func sysPidfdOpen(k *Kernel, t *Thread) Result {
	pid, flags := t.Call.Args[0].Int(), int(t.Call.Args[1].Int64())
	if pid <= 0 || flags&^unix.PIDFD_NONBLOCK != 0 {
		return fail(unix.EINVAL)
	}
	p := k.ProcByPID(t.Node, pid)
	if p == nil {
		if k.ThreadByTID(t.Node, pid) != nil {
			return fail(unix.EINVAL)
		}
		return fail(unix.ESRCH)
	}
	f := k.NewFile(t, kernel.FilePID, unix.O_RDWR|flags&unix.O_NONBLOCK)
	f.Obj = p.ID
	return k.Opened(t, f, unix.O_CLOEXEC)
}

func sysPidfdSendSignal(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	fd, sig, infoAddr, flags := args[0].Int(), args[1].Int(), args[2].Pointer(), args[3].Uint64()
	f := k.File(t, fd)
	if f == nil || f.Kind != kernel.FilePID {
		return fail(unix.EBADF)
	}
	if sig < 0 || sig > kernel.NumSignals || flags != 0 {
		return fail(unix.EINVAL)
	}
	p := k.Procs[f.Obj]
	if p == nil {
		return fail(unix.ESRCH)
	}
	s := sender(k, t, sig, 0)
	if infoAddr != 0 {
		var r Result
		if s, r = queueInfo(k, t, sig, infoAddr); r != 0 && p != k.Proc(t) {
			return r
		}
	}
	k.SignalProc(p, s)
	if t.State == kernel.Dead {
		return kernel.Gone
	}
	return 0
}
