//go:build linux && amd64

package linux

import (
	"encoding/binary"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/net"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"golang.org/x/sys/unix"
)

// timerFile is a timer of timerfd_create(2).
var timerFile = Behaviour{
	Read: readTimer, Release: func(k *Kernel, f *File) { delete(k.TimerFDs, f.Obj) },
	Pollable: kernel.Always, Key: kernel.ObjectKey(kernel.KeyTimer), Link: kernel.Anonymous("[timerfd]"),
	Ready: func(k *Kernel, f *File) uint32 {
		if x := k.TimerFDs[f.Obj]; x.Count > 0 || x.Canceled {
			return unix.POLLIN
		}
		return 0
	},
}

func sysTimerfdCreate(k *Kernel, t *Thread) Result {
	clock, flags := t.Call.Args[0].Int(), t.Call.Args[1].Int()
	if flags&^(unix.TFD_CLOEXEC|unix.TFD_NONBLOCK) != 0 {
		return fail(unix.EINVAL)
	}
	switch clock {
	case unix.CLOCK_REALTIME, unix.CLOCK_MONOTONIC, unix.CLOCK_BOOTTIME, unix.CLOCK_REALTIME_ALARM, unix.CLOCK_BOOTTIME_ALARM:
	default:
		return fail(unix.EINVAL)
	}
	x := &kernel.TimerFD{ID: k.NewID("timerfd"), Clock: clock, Node: t.Node}
	k.TimerFDs[x.ID] = x
	f := k.NewFile(t, kernel.FileTimer, unix.O_RDWR|flags&unix.O_NONBLOCK)
	f.Obj = x.ID
	return k.Opened(t, f, flags)
}

func timerfd(k *Kernel, t *Thread) (*kernel.TimerFD, Result) {
	fd := t.Call.Args[0].Int()
	f := k.File(t, fd)
	if f == nil {
		return nil, fail(unix.EBADF)
	}
	if f.Kind != kernel.FileTimer {
		return nil, fail(unix.EINVAL)
	}
	return k.TimerFDs[f.Obj], 0
}

func sysTimerfdSettime(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	flags, newAddr, oldAddr := args[1].Uint64(), args[2].Pointer(), args[3].Pointer()
	if flags&^3 != 0 {
		return fail(unix.EINVAL)
	}
	interval, value, e := itimerspec(k, t, newAddr)
	if e != 0 {
		return fail(e)
	}
	x, r := timerfd(k, t)
	if r != 0 {
		return r
	}
	timerfdForward(k, x)
	if oldAddr != 0 && !outTimer(k, t, oldAddr, x.At, x.Interval) {
		return fail(unix.EFAULT)
	}
	x.Gen++
	x.Count, x.Still = 0, false
	x.At, x.Interval = 0, interval
	if value != 0 {
		x.At = expiry(k, t, x.Clock, value, flags&1 != 0)
		if x.Wall = t.Call.Wall; x.At <= k.Now {
			timerfdDue(k, x)
		} else {
			k.After(x.At, kernel.TimerFile, x.ID, x.Gen)
		}
	}
	x.CancelOnSet = flags == 3 && wallClock(x.Clock)
	if x.Canceled = x.Canceled && x.CancelOnSet; x.Canceled && value != 0 { // armed all the same
		return canceled(k, x)
	}
	return 0
}

// canceled reports that CLOCK_REALTIME has jumped, once.
func canceled(k *Kernel, x *kernel.TimerFD) Result {
	x.Canceled, x.Count = false, 0
	k.Seen(net.FaultRef{Kind: fault.ClockSkew, ID: x.Fault})
	return fail(unix.ECANCELED)
}

func sysTimerfdGettime(k *Kernel, t *Thread) Result {
	addr := t.Call.Args[1].Pointer()
	x, r := timerfd(k, t)
	if r != 0 {
		return r
	}
	timerfdForward(k, x)
	return stored(outTimer(k, t, addr, x.At, x.Interval))
}

// outTimer writes a struct itimerspec: interval, then the time that is left.
func outTimer(k *Kernel, t *Thread, addr uint64, at, interval int64) bool {
	left := int64(0)
	if at != 0 {
		left = max(at-k.Now, 1)
	}
	return k.Out(t, addr, append(timespecBytes(interval), timespecBytes(left)...))
}

// timerfdDue is a timer's expiry.
func timerfdDue(k *Kernel, x *kernel.TimerFD) {
	x.Count++
	if x.Interval == 0 {
		x.At = 0
	} else {
		x.Still = true
	}
	k.Wake(Key{Kind: kernel.KeyTimer, ID: x.ID}, unix.EPOLLIN)
}

// timerfdForward counts the expiries up to now of a timer that has halted, and sets the next one.
func timerfdForward(k *Kernel, x *kernel.TimerFD) {
	if !x.Still {
		return
	}
	x.Still = false
	periods := (k.Now-x.At)/x.Interval + 1
	x.Count += uint64(periods - 1)
	x.At = kernel.SatAdd(x.At, periods*x.Interval)
	k.After(x.At, kernel.TimerFile, x.ID, x.Gen)
}

func readTimer(k *Kernel, t *Thread, f *File, n int) ([]byte, Result) {
	if n < 8 {
		return nil, fail(unix.EINVAL)
	}
	x := k.TimerFDs[f.Obj]
	if x.Canceled {
		return nil, canceled(k, x)
	}
	if x.Count == 0 {
		return nil, k.NotYet(t, f, Key{Kind: kernel.KeyTimer, ID: x.ID})
	}
	timerfdForward(k, x)
	v := x.Count
	x.Count = 0
	return binary.LittleEndian.AppendUint64(nil, v), 8
}
