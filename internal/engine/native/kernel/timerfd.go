//go:build linux && amd64

package kernel

import (
	"encoding/binary"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/net"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"golang.org/x/sys/unix"
)

// timerFile is a timer of timerfd_create(2).
var timerFile = Behaviour{
	Read: (*Kernel).readTimer, Release: func(k *Kernel, f *File) { delete(k.TimerFDs, f.Obj) },
	Pollable: always, Key: objectKey(KeyTimer), Link: anonymous("[timerfd]"),
	Ready: func(k *Kernel, f *File) uint32 {
		if x := k.TimerFDs[f.Obj]; x.Count > 0 || x.Canceled {
			return unix.POLLIN
		}
		return 0
	},
}

// TimerFD is a timer of timerfd_create(2). As on Linux, a periodic one stands still after an expiry until it is looked
// at: the expiries since are counted then, and nobody is woken for them.
type TimerFD struct {
	ID       int64
	Clock    int
	At       int64 // next expiry, or the last one of a timer that stands still, world time; 0 disarmed
	Interval int64
	Count    uint64 // expiries that were not read
	Still    bool   // has expired and was not looked at
	Gen      int64
	Node     NodeID
	Wall     bool // At is a time of CLOCK_REALTIME
	// CancelOnSet is TFD_TIMER_CANCEL_ON_SET: that CLOCK_REALTIME jumps is told (Canceled, by the fault Fault).
	CancelOnSet bool
	Canceled    bool
	Fault       int
}

func sysTimerfdCreate(k *Kernel, t *Thread) Result {
	clock, flags := int(int32(t.Call.Args[0])), int(int32(t.Call.Args[1]))
	if flags&^(unix.TFD_CLOEXEC|unix.TFD_NONBLOCK) != 0 {
		return fail(unix.EINVAL)
	}
	switch clock {
	case unix.CLOCK_REALTIME, unix.CLOCK_MONOTONIC, unix.CLOCK_BOOTTIME, unix.CLOCK_REALTIME_ALARM, unix.CLOCK_BOOTTIME_ALARM:
	default:
		return fail(unix.EINVAL)
	}
	x := &TimerFD{ID: k.id("timerfd"), Clock: clock, Node: t.Node}
	k.TimerFDs[x.ID] = x
	f := k.newFile(t, FileTimer, unix.O_RDWR|flags&unix.O_NONBLOCK)
	f.Obj = x.ID
	return k.opened(t, f, flags)
}

func (k *Kernel) timerfd(t *Thread) (*TimerFD, Result) {
	f := k.file(t, t.Call.Args[0])
	if f == nil {
		return nil, fail(unix.EBADF)
	}
	if f.Kind != FileTimer {
		return nil, fail(unix.EINVAL)
	}
	return k.TimerFDs[f.Obj], 0
}

func sysTimerfdSettime(k *Kernel, t *Thread) Result {
	flags := t.Call.Args[1]
	if flags&^3 != 0 {
		return fail(unix.EINVAL)
	}
	interval, value, e := k.itimerspec(t, t.Call.Args[2])
	if e != 0 {
		return fail(e)
	}
	x, r := k.timerfd(t)
	if r != 0 {
		return r
	}
	k.timerfdForward(x)
	if old := t.Call.Args[3]; old != 0 && !k.outTimer(t, old, x.At, x.Interval) {
		return fail(unix.EFAULT)
	}
	x.Gen++
	x.Count, x.Still = 0, false
	x.At, x.Interval = 0, interval
	if value != 0 {
		x.At = k.expiry(t, x.Clock, value, flags&1 != 0)
		if x.Wall = t.Call.Wall; x.At <= k.Now {
			k.timerfdDue(x)
		} else {
			k.after(x.At, TimerFile, x.ID, x.Gen)
		}
	}
	x.CancelOnSet = flags == 3 && wallClock(x.Clock)
	if x.Canceled = x.Canceled && x.CancelOnSet; x.Canceled && value != 0 { // armed all the same
		return k.canceled(x)
	}
	return 0
}

// canceled tells that CLOCK_REALTIME has jumped, once.
func (k *Kernel) canceled(x *TimerFD) Result {
	x.Canceled, x.Count = false, 0
	k.Seen(net.FaultRef{Kind: fault.ClockSkew, ID: x.Fault})
	return fail(unix.ECANCELED)
}

func sysTimerfdGettime(k *Kernel, t *Thread) Result {
	x, r := k.timerfd(t)
	if r != 0 {
		return r
	}
	k.timerfdForward(x)
	if !k.outTimer(t, t.Call.Args[1], x.At, x.Interval) {
		return fail(unix.EFAULT)
	}
	return 0
}

// outTimer writes a struct itimerspec: interval, then the time that is left.
func (k *Kernel) outTimer(t *Thread, addr uint64, at, interval int64) bool {
	left := int64(0)
	if at != 0 {
		left = max(at-k.Now, 1)
	}
	return k.out(t, addr, append(timespecBytes(interval), timespecBytes(left)...))
}

// timerfdDue is a timer's expiry.
func (k *Kernel) timerfdDue(x *TimerFD) {
	x.Count++
	if x.Interval == 0 {
		x.At = 0
	} else {
		x.Still = true
	}
	k.Wake(Key{Kind: KeyTimer, ID: x.ID}, unix.EPOLLIN)
}

// timerfdForward counts the expiries up to now of a timer that stands still, and sets the next one.
func (k *Kernel) timerfdForward(x *TimerFD) {
	if !x.Still {
		return
	}
	x.Still = false
	periods := (k.Now-x.At)/x.Interval + 1
	x.Count += uint64(periods - 1)
	x.At = satAdd(x.At, periods*x.Interval)
	k.after(x.At, TimerFile, x.ID, x.Gen)
}

func (k *Kernel) readTimer(t *Thread, f *File, n int) ([]byte, Result) {
	if n < 8 {
		return nil, fail(unix.EINVAL)
	}
	x := k.TimerFDs[f.Obj]
	if x.Canceled {
		return nil, k.canceled(x)
	}
	if x.Count == 0 {
		return nil, k.notYet(t, f, Key{Kind: KeyTimer, ID: x.ID})
	}
	k.timerfdForward(x)
	v := x.Count
	x.Count = 0
	return binary.LittleEndian.AppendUint64(nil, v), 8
}
