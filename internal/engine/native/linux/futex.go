//go:build linux && amd64

package linux

import (
	"encoding/binary"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
)

// Futex operations (linux/futex.h).
const (
	futexWait          = 0
	futexWake          = 1
	futexRequeue       = 3
	futexCmpRequeue    = 4
	futexWakeOp        = 5
	futexLockPI        = 6
	futexUnlockPI      = 7
	futexTrylockPI     = 8
	futexWaitBitset    = 9
	futexWakeBitset    = 10
	futexWaitRequeuePI = 11
	futexCmpRequeuePI  = 12
	futexLockPI2       = 13

	futexPrivate  = 128
	futexRealtime = 256

	futexWaiters   = 0x80000000
	futexOwnerDied = 0x40000000
	futexTIDMask   = 0x3fffffff
)

// futexMapped reports whether Linux would find the page of a word: it looks for it only to name shared words.
func futexMapped(k *Kernel, t *Thread, addr uint64, private bool) bool {
	var b [4]byte
	return private && addr < userEnd || !private && k.Peek(t, addr, b[:])
}

// userEnd is the end of a program's addresses (TASK_SIZE_MAX).
const userEnd = 1<<47 - 4096

func sysFutex(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	addr, op, val := args[0].Pointer(), int(args[1].Int64()), args[2].Uint()
	timeoutAddr, val2 := args[3].Pointer(), args[3].Int() // one or the other, by the operation
	addr2, val3 := args[4].Pointer(), args[5].Uint()
	private := op&futexPrivate != 0
	clock := unix.CLOCK_MONOTONIC
	if op&futexRealtime != 0 {
		clock = unix.CLOCK_REALTIME
	}
	cmd := op &^ (futexPrivate | futexRealtime)
	if addr%4 != 0 {
		return fail(unix.EINVAL)
	}
	switch cmd {
	case futexWait:
		return waitFutex(k, t, addr, val, ^uint32(0), private, false, unix.CLOCK_MONOTONIC)
	case futexWaitBitset:
		return waitFutex(k, t, addr, val, val3, private, true, clock)
	case futexWake:
		if !futexMapped(k, t, addr, private) {
			return fail(unix.EFAULT)
		}
		return k.FutexWake(k.FutexKey(t, addr, private), int(int32(val)), ^uint32(0))
	case futexWakeBitset:
		if val3 == 0 {
			return fail(unix.EINVAL)
		}
		if !futexMapped(k, t, addr, private) {
			return fail(unix.EFAULT)
		}
		return k.FutexWake(k.FutexKey(t, addr, private), int(int32(val)), val3)
	case futexRequeue, futexCmpRequeue:
		if cmd == futexCmpRequeue {
			got, ok := k.InU32(t, addr)
			if !ok {
				return fail(unix.EFAULT)
			}
			if got != val3 {
				return fail(unix.EAGAIN)
			}
		}
		if int32(val) < 0 || val2 < 0 {
			return fail(unix.EINVAL)
		}
		if !futexMapped(k, t, addr, private) || !futexMapped(k, t, addr2, private) {
			return fail(unix.EFAULT)
		}
		return requeueFutex(k, t, addr, addr2, int(int32(val)), val2, private)
	case futexWakeOp:
		return wakeOpFutex(k, t, addr, addr2, int(int32(val)), val2, val3, private)
	case futexLockPI, futexLockPI2:
		if cmd == futexLockPI {
			clock = unix.CLOCK_REALTIME
		}
		return futexLock(k, t, addr, timeoutAddr, private, clock)
	case futexTrylockPI:
		return futexTrylock(k, t, addr)
	case futexUnlockPI:
		return futexUnlock(k, t, addr, private)
	}
	if cmd == futexWaitRequeuePI || cmd == futexCmpRequeuePI {
		return k.Refuse(t, "futex("+itoa(cmd)+")", unix.ENOSYS)
	}
	return fail(unix.ENOSYS)
}

func waitFutex(k *Kernel, t *Thread, addr uint64, val, bits uint32, private, absolute bool, clock int) Result {
	timeoutAddr := t.Call.Args[3].Pointer()
	if t.Call.Again {
		switch {
		case t.Call.Woken:
			return 0
		case t.Expired(k):
			futexForget(k, t)
			missed(k, t)
			k.SawMoved(t)
			return fail(unix.ETIMEDOUT)
		}
		return k.Block(t, t.Call.Until) // still queued: only a signal was looked at
	}
	if bits == 0 {
		return fail(unix.EINVAL)
	}
	until, got := int64(0), uint32(0)
	if timeoutAddr != 0 {
		ns, word, e := timeAndWord(k, t, timeoutAddr, addr)
		if e != 0 {
			return fail(e)
		}
		got = word
		if absolute {
			until = expiry(k, t, clock, ns, true)
		} else {
			until = kernel.SatAdd(k.Now, max(k.Node(t).Undrift(ns), 1))
		}
	} else {
		word, ok := k.InU32(t, addr)
		if !ok {
			return fail(unix.EFAULT)
		}
		got = word
	}
	if got != val {
		return fail(unix.EAGAIN)
	}
	if until != 0 && until <= k.Now {
		return fail(unix.ETIMEDOUT)
	}
	key := k.FutexKey(t, addr, private)
	k.Futexes[key] = append(k.Futexes[key], kernel.Waiter{Thread: t.ID, Bits: bits})
	return k.Block(t, until)
}

// timeAndWord reads a timeout and the word that a thread would wait at, at the cost of one read.
func timeAndWord(k *Kernel, t *Thread, at, addr uint64) (ns int64, word uint32, e unix.Errno) {
	timeout, value := k.Small[:16], k.Small[16:20]
	if !k.M.ReadBoth(t.ID, machine.Part{Addr: at, Data: timeout}, machine.Part{Addr: addr, Data: value}) {
		if ns, e = timespec(k, t, at); e != 0 {
			return 0, 0, e
		}
		word, ok := k.InU32(t, addr)
		if !ok {
			return 0, 0, unix.EFAULT
		}
		return ns, word, 0
	}
	t.Call.Mix(timeout)
	sec, part := binary.LittleEndian.Uint64(timeout), binary.LittleEndian.Uint64(timeout[8:])
	if ns, e = nanoseconds(int64(sec), int64(part), 1); e != 0 {
		return 0, 0, e
	}
	t.Call.Mix(value)
	return ns, binary.LittleEndian.Uint32(value), 0
}

// futexForget takes a thread out of the queue it is in.
func futexForget(k *Kernel, t *Thread) {
	addr, op := t.Call.Args[0].Pointer(), t.Call.Args[1].Uint64()
	if t.Call.Nr != unix.SYS_FUTEX || t.Call.Woken {
		return
	}
	key := k.FutexKey(t, addr, op&futexPrivate != 0)
	if futexRemove(k, key, t.ID) {
		return
	}
	// It was requeued: to the second address of another thread's call.
	keys := make([]Key, 0, len(k.Futexes))
	for key := range k.Futexes {
		keys = append(keys, key)
	}
	for _, key := range keys { // it is in one queue at most: the order leaves no trace
		if futexRemove(k, key, t.ID) {
			return
		}
	}
}

func futexRemove(k *Kernel, key Key, id kernel.ThreadID) bool {
	list := k.Futexes[key]
	i := slices.IndexFunc(list, func(w kernel.Waiter) bool { return w.Thread == id })
	if i < 0 {
		return false
	}
	k.SetFutex(key, slices.Delete(list, i, i+1))
	return true
}

func requeueFutex(k *Kernel, t *Thread, from, to uint64, wake, move int, private bool) Result {
	a, b := k.FutexKey(t, from, private), k.FutexKey(t, to, private)
	woken := Result(0)
	if wake > 0 {
		woken = k.FutexWake(a, wake, ^uint32(0))
	}
	list := k.Futexes[a]
	n := min(move, len(list))
	if a != b {
		k.Futexes[b] = append(k.Futexes[b], list[:n]...)
		if n == 0 && len(k.Futexes[b]) == 0 {
			delete(k.Futexes, b)
		}
		k.SetFutex(a, slices.Clone(list[n:]))
	}
	return woken + Result(n) // also without comparing, whatever futex(2) says
}

// wakeOpFutex is FUTEX_WAKE_OP: enc says how the second word changes, and which old values of it wake its waiters.
func wakeOpFutex(k *Kernel, t *Thread, addr, addr2 uint64, wake, wake2 int, enc uint32, private bool) Result {
	op, cmp := enc>>28&0xf, enc>>24&0xf
	oparg, cmparg := int32(enc<<8)>>20, int32(enc<<20)>>20
	old, ok := k.InU32(t, addr2)
	if !ok {
		return fail(unix.EFAULT)
	}
	if op&8 != 0 {
		oparg = 1 << (uint32(oparg) & 31)
	}
	v := old
	switch op & 7 {
	case 0:
		v = uint32(oparg)
	case 1:
		v += uint32(oparg)
	case 2:
		v |= uint32(oparg)
	case 3:
		v &^= uint32(oparg)
	case 4:
		v ^= uint32(oparg)
	default:
		return fail(unix.ENOSYS)
	}
	if !k.OutU32(t, addr2, v) {
		return fail(unix.EFAULT)
	}
	x := int32(old)
	var hit bool
	switch cmp {
	case 0:
		hit = x == cmparg
	case 1:
		hit = x != cmparg
	case 2:
		hit = x < cmparg
	case 3:
		hit = x <= cmparg
	case 4:
		hit = x > cmparg
	case 5:
		hit = x >= cmparg
	default:
		return fail(unix.ENOSYS)
	}
	n := k.FutexWake(k.FutexKey(t, addr, private), wake, ^uint32(0))
	if hit {
		n += k.FutexWake(k.FutexKey(t, addr2, private), wake2, ^uint32(0))
	}
	return n
}

// futexLock is FUTEX_LOCK_PI: the word holds the owner's thread id. Priorities are not inherited: there is one CPU
// and the scheduler is the tape's.
func futexLock(k *Kernel, t *Thread, addr, timeout uint64, private bool, clock int) Result {
	key := k.FutexKey(t, addr, private)
	if t.Call.Again {
		switch {
		case t.Call.Woken: // FUTEX_UNLOCK_PI made this thread the owner
			return 0
		case t.Expired(k):
			futexForget(k, t)
			k.SawMoved(t)
			return fail(unix.ETIMEDOUT)
		}
		return k.Block(t, t.Call.Until)
	}
	word, ok := k.InU32(t, addr)
	if !ok {
		return fail(unix.EFAULT)
	}
	switch owner := int(word & futexTIDMask); {
	case owner == 0:
		return stored(k.OutU32(t, addr, uint32(t.TID)|word&futexOwnerDied))
	case owner == t.TID:
		return fail(unix.EDEADLK)
	case k.ThreadByTID(t.Node, owner) == nil:
		return fail(unix.ESRCH)
	}
	until := int64(0)
	if timeout != 0 {
		ns, e := timespec(k, t, timeout)
		if e != 0 {
			return fail(e)
		}
		until = expiry(k, t, clock, ns, true)
	}
	if !k.OutU32(t, addr, word|futexWaiters) {
		return fail(unix.EFAULT)
	}
	k.Futexes[key] = append(k.Futexes[key], kernel.Waiter{Thread: t.ID, Bits: ^uint32(0), PI: true})
	return k.Block(t, until)
}

func futexTrylock(k *Kernel, t *Thread, addr uint64) Result {
	word, ok := k.InU32(t, addr)
	if !ok {
		return fail(unix.EFAULT)
	}
	switch owner := int(word & futexTIDMask); {
	case owner == t.TID:
		return fail(unix.EDEADLK)
	case owner != 0:
		return fail(unix.EAGAIN)
	}
	k.OutU32(t, addr, uint32(t.TID)|word&(futexWaiters|futexOwnerDied))
	return 0
}

func futexUnlock(k *Kernel, t *Thread, addr uint64, private bool) Result {
	word, ok := k.InU32(t, addr)
	if !ok {
		return fail(unix.EFAULT)
	}
	if int(word&futexTIDMask) != t.TID {
		return fail(unix.EPERM)
	}
	passOn(k, t, addr, k.FutexKey(t, addr, private), 0)
	return 0
}

// passOn gives a PI futex to its first waiter, or frees it.
func passOn(k *Kernel, t *Thread, addr uint64, key Key, died uint32) {
	list := k.Futexes[key]
	i := slices.IndexFunc(list, func(w kernel.Waiter) bool { return w.PI })
	if i < 0 {
		k.OutU32(t, addr, died)
		return
	}
	next := k.Threads[list[i].Thread]
	list = slices.Delete(list, i, i+1)
	k.SetFutex(key, list)
	word := uint32(next.TID) | died
	if len(list) > 0 {
		word |= futexWaiters
	}
	k.OutU32(t, addr, word)
	next.Call.Woken = true
	k.Awake(next)
}

const maxRobust = 2048 // entries of a robust list that an exiting thread walks (ROBUST_LIST_LIMIT)

// robustExit walks the list of robust futexes of an ending thread (Documentation/locking/robust-futexes).
func robustExit(k *Kernel, t *Thread) {
	head := t.Robust
	if head == 0 {
		return
	}
	t.Robust = 0
	var b [24]byte
	if !k.Peek(t, head, b[:]) {
		return
	}
	next, offset, pendingOp := binary.LittleEndian.Uint64(b[0:]), binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:])
	for i := 0; i < maxRobust && next&^1 != head && next != 0; i++ {
		entry := next
		var ok bool
		next, ok = k.PeekU64(t, entry&^1)
		if entry != pendingOp {
			robustDeath(k, t, entry&^1+offset, entry&1 != 0)
		}
		if !ok {
			return
		}
	}
	if pendingOp != 0 {
		robustDeath(k, t, pendingOp&^1+offset, pendingOp&1 != 0)
	}
}

func robustDeath(k *Kernel, t *Thread, addr uint64, pi bool) {
	var b [4]byte
	if addr%4 != 0 || !k.Peek(t, addr, b[:]) {
		return
	}
	word := binary.LittleEndian.Uint32(b[:])
	if int(word&futexTIDMask) != t.TID {
		return
	}
	if pi {
		for _, private := range []bool{true, false} {
			key := k.FutexKey(t, addr, private)
			if len(k.Futexes[key]) > 0 {
				passOn(k, t, addr, key, futexOwnerDied)
				return
			}
		}
	}
	binary.LittleEndian.PutUint32(b[:], word&futexWaiters|futexOwnerDied)
	k.Poke(t, addr, b[:])
	if !pi && word&futexWaiters != 0 {
		k.FutexWakeAt(t, addr, 1)
	}
}

func sysSetRobustList(k *Kernel, t *Thread) Result {
	head, size := t.Call.Args[0].Pointer(), t.Call.Args[1].Size()
	if size != 24 {
		return fail(unix.EINVAL)
	}
	t.Robust = head
	return 0
}

func sysGetRobustList(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	tid, headAddr, sizeAddr := args[0].Int(), args[1].Pointer(), args[2].Pointer()
	target := t
	if tid != 0 {
		if target = k.ThreadByTID(t.Node, tid); target == nil {
			return fail(unix.ESRCH)
		}
	}
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], target.Robust)
	if !k.Poke(t, headAddr, b[:]) || !k.OutU64(t, sizeAddr, 24) {
		return fail(unix.EFAULT)
	}
	return 0
}
