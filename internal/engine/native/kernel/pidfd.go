//go:build linux && amd64

package kernel

import "golang.org/x/sys/unix"

// pidFile is a process, as pidfd_open(2) names it.
var pidFile = Behaviour{
	Pollable: always, Key: objectKey(KeyPidFD), Link: anonymous("[pidfd]"),
	Ready: func(k *Kernel, f *File) uint32 {
		if p := k.Procs[f.Obj]; p == nil || p.Zombie {
			return unix.POLLIN | pollRDNorm
		}
		return 0
	},
}

func sysPidfdOpen(k *Kernel, t *Thread) Result {
	pid, flags := int(int32(t.Call.Args[0])), int(t.Call.Args[1])
	if pid <= 0 || flags&^unix.PIDFD_NONBLOCK != 0 {
		return fail(unix.EINVAL)
	}
	p := k.procByPID(t.Node, pid)
	if p == nil {
		if k.threadByTID(t.Node, pid) != nil {
			return fail(unix.EINVAL)
		}
		return fail(unix.ESRCH)
	}
	f := k.newFile(t, FilePID, unix.O_RDWR|flags&unix.O_NONBLOCK)
	f.Obj = p.ID
	return k.opened(t, f, unix.O_CLOEXEC)
}

func sysPidfdSendSignal(k *Kernel, t *Thread) Result {
	f := k.file(t, t.Call.Args[0])
	sig := int(int32(t.Call.Args[1]))
	if f == nil || f.Kind != FilePID {
		return fail(unix.EBADF)
	}
	if sig < 0 || sig > numSignals || t.Call.Args[3] != 0 {
		return fail(unix.EINVAL)
	}
	p := k.Procs[f.Obj]
	if p == nil {
		return fail(unix.ESRCH)
	}
	s := k.sender(t, sig, 0)
	if t.Call.Args[2] != 0 {
		var r Result
		if s, r = k.queueInfo(t, sig, t.Call.Args[2]); r != 0 && p != k.proc(t) {
			return r
		}
	}
	k.signalProc(p, s)
	if t.State == Dead {
		return Gone
	}
	return 0
}
