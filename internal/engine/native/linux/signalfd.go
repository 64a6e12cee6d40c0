//go:build linux && amd64

package linux

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
)

// signalFile reads signals that are blocked, signalfd(2).
var signalFile = Behaviour{
	Read: readSignal, Release: func(k *Kernel, f *File) { delete(k.SignalFDs, f.Obj) },
	Pollable: kernel.Always, Ready: pollSignal, Key: kernel.ObjectKey(kernel.KeySignalFD), Link: kernel.Anonymous("[signalfd]"),
}

func sysSignalfd(k *Kernel, t *Thread) Result { return signalfd(k, t, 0) }

func sysSignalfd4(k *Kernel, t *Thread) Result {
	flags := t.Call.Args[3].Int()
	return signalfd(k, t, flags)
}

func signalfd(k *Kernel, t *Thread, flags int) Result {
	args := &t.Call.Args
	fd, maskAddr, maskSize := args[0].Int(), args[1].Pointer(), args[2].Size()
	if flags&^(unix.SFD_CLOEXEC|unix.SFD_NONBLOCK) != 0 || maskSize != 8 {
		return fail(unix.EINVAL)
	}
	mask, ok := k.InU64(t, maskAddr)
	if !ok {
		return fail(unix.EFAULT)
	}
	if fd == -1 {
		s := &kernel.SignalFD{ID: k.NewID("signalfd"), Mask: mask, Proc: t.Proc}
		k.SignalFDs[s.ID] = s
		f := k.NewFile(t, kernel.FileSignal, unix.O_RDWR|flags&unix.O_NONBLOCK)
		f.Obj = s.ID
		return k.Opened(t, f, flags)
	}
	f := k.File(t, fd)
	if f == nil {
		return fail(unix.EBADF)
	}
	if f.Kind != kernel.FileSignal {
		return fail(unix.EINVAL)
	}
	k.SignalFDs[f.Obj].Mask = mask
	k.Wake(Key{Kind: kernel.KeySignalFD, ID: f.Obj}, unix.EPOLLIN)
	return Result(fd)
}

func pollSignal(k *Kernel, f *File) uint32 {
	s := k.SignalFDs[f.Obj]
	p := k.Procs[s.Proc]
	if p == nil || p.Zombie || len(p.Threads) == 0 {
		return 0
	}
	if t := k.Threads[p.Threads[0]]; t != nil {
		if _, ok := k.NextSignal(t, s.Mask, false); ok {
			return unix.POLLIN
		}
	}
	return 0
}

func readSignal(k *Kernel, t *Thread, f *File, n int) ([]byte, Result) {
	if n < 128 {
		return nil, fail(unix.EINVAL)
	}
	s := k.SignalFDs[f.Obj]
	var out []byte
	for n-len(out) >= 128 {
		sig, ok := k.NextSignal(t, s.Mask, true)
		if !ok {
			break
		}
		k.Taken(k.Proc(t), sig.Number)
		var b [128]byte // struct signalfd_siginfo
		le := binary.LittleEndian
		le.PutUint32(b[0:], uint32(sig.Number))
		le.PutUint32(b[8:], uint32(sig.Code))
		le.PutUint32(b[12:], uint32(sig.PID))
		le.PutUint32(b[16:], uint32(sig.UID))
		le.PutUint32(b[24:], uint32(sig.Timer))
		le.PutUint32(b[32:], uint32(sig.Overrun))
		le.PutUint32(b[40:], uint32(sig.Status))
		le.PutUint32(b[44:], uint32(sig.Value))
		le.PutUint64(b[48:], sig.Value)
		out = append(out, b[:]...)
	}
	if len(out) > 0 {
		return out, Result(len(out))
	}
	return nil, k.NotYet(t, f, Key{Kind: kernel.KeySignalFD, ID: s.ID})
}
