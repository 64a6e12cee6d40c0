//go:build linux && amd64

package kernel

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// eventFile is a counter of eventfd(2).
var eventFile = Behaviour{
	Read: (*Kernel).readEvent, Write: (*Kernel).writeEvent, Release: func(k *Kernel, f *File) { delete(k.EventFDs, f.Obj) },
	Pollable: always, Ready: (*Kernel).pollEvent, Key: objectKey(KeyEvent), Link: anonymous("[eventfd]"),
}

// EventFD is the counter of eventfd(2).
type EventFD struct {
	ID        int64
	Count     uint64
	Semaphore bool
}

func sysEventfd(k *Kernel, t *Thread) Result { return k.eventfd(t, 0) }

func sysEventfd2(k *Kernel, t *Thread) Result { return k.eventfd(t, int(int32(t.Call.Args[1]))) }

func (k *Kernel) eventfd(t *Thread, flags int) Result {
	if flags&^(unix.EFD_CLOEXEC|unix.EFD_NONBLOCK|unix.EFD_SEMAPHORE) != 0 {
		return fail(unix.EINVAL)
	}
	e := &EventFD{ID: k.id("eventfd"), Count: uint64(uint32(t.Call.Args[0])), Semaphore: flags&unix.EFD_SEMAPHORE != 0}
	k.EventFDs[e.ID] = e
	f := k.newFile(t, FileEvent, unix.O_RDWR|flags&unix.O_NONBLOCK)
	f.Obj = e.ID
	return k.opened(t, f, flags)
}

func (k *Kernel) readEvent(t *Thread, f *File, n int) ([]byte, Result) {
	if n < 8 {
		return nil, fail(unix.EINVAL)
	}
	e := k.EventFDs[f.Obj]
	if e.Count == 0 {
		return nil, k.notYet(t, f, Key{Kind: KeyEvent, ID: e.ID})
	}
	v := e.Count
	if e.Semaphore {
		v = 1
	}
	e.Count -= v
	k.Wake(Key{Kind: KeyEvent, ID: e.ID}, unix.EPOLLOUT)
	return binary.LittleEndian.AppendUint64(nil, v), 8
}

func (k *Kernel) writeEvent(t *Thread, f *File, data []byte) Result {
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
		return k.block(t, 0, Key{Kind: KeyEvent, ID: e.ID})
	}
	e.Count += v
	k.Wake(Key{Kind: KeyEvent, ID: e.ID}, unix.EPOLLIN)
	return 8
}

func (k *Kernel) pollEvent(f *File) uint32 {
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
