//go:build linux && amd64

package linux

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
)

// eventFile is a counter of eventfd(2).
var eventFile = Behaviour{
	Read: readEvent, Write: writeEvent, Release: func(k *Kernel, f *File) { delete(k.EventFDs, f.Obj) },
	Pollable: kernel.Always, Ready: pollEvent, Key: kernel.ObjectKey(kernel.KeyEvent), Link: kernel.Anonymous("[eventfd]"),
}

func sysEventfd(k *Kernel, t *Thread) Result { return eventfd(k, t, 0) }

func sysEventfd2(k *Kernel, t *Thread) Result {
	flags := t.Call.Args[1].Int()
	return eventfd(k, t, flags)
}

func eventfd(k *Kernel, t *Thread, flags int) Result {
	count := t.Call.Args[0].Uint()
	if flags&^(unix.EFD_CLOEXEC|unix.EFD_NONBLOCK|unix.EFD_SEMAPHORE) != 0 {
		return fail(unix.EINVAL)
	}
	e := &kernel.EventFD{ID: k.NewID("eventfd"), Count: uint64(count), Semaphore: flags&unix.EFD_SEMAPHORE != 0}
	k.EventFDs[e.ID] = e
	f := k.NewFile(t, kernel.FileEvent, unix.O_RDWR|flags&unix.O_NONBLOCK)
	f.Obj = e.ID
	return k.Opened(t, f, flags)
}

func readEvent(k *Kernel, t *Thread, f *File, n int) ([]byte, Result) {
	if n < 8 {
		return nil, fail(unix.EINVAL)
	}
	e := k.EventFDs[f.Obj]
	if e.Count == 0 {
		return nil, k.NotYet(t, f, Key{Kind: kernel.KeyEvent, ID: e.ID})
	}
	v := e.Count
	if e.Semaphore {
		v = 1
	}
	e.Count -= v
	k.Wake(Key{Kind: kernel.KeyEvent, ID: e.ID}, unix.EPOLLOUT)
	return binary.LittleEndian.AppendUint64(nil, v), 8
}

func writeEvent(k *Kernel, t *Thread, f *File, data []byte) Result {
	if len(data) < 8 {
		return fail(unix.EINVAL)
	}
	v := binary.LittleEndian.Uint64(data)
	if v == ^uint64(0) {
		return fail(unix.EINVAL)
	}
	e := k.EventFDs[f.Obj]
	if ^uint64(0)-e.Count <= v {
		if f.Flags&unix.O_NONBLOCK != 0 {
			return fail(unix.EAGAIN)
		}
		return k.Block(t, 0, Key{Kind: kernel.KeyEvent, ID: e.ID})
	}
	e.Count += v
	k.Wake(Key{Kind: kernel.KeyEvent, ID: e.ID}, unix.EPOLLIN)
	return 8
}

func pollEvent(k *Kernel, f *File) uint32 {
	e := k.EventFDs[f.Obj]
	var m uint32
	if e.Count > 0 {
		m |= unix.POLLIN
	}
	if e.Count == ^uint64(0) {
		m |= unix.POLLERR
	}
	if e.Count < ^uint64(0)-1 {
		m |= unix.POLLOUT
	}
	return m
}
