//go:build linux && amd64

package kernel

import (
	"slices"

	"golang.org/x/sys/unix"
)

// KeyKind says what kind of thing a Key names.
type KeyKind uint8

const (
	KeySocket KeyKind = iota + 1
	KeyPipe
	KeyEvent
	KeyTimer
	KeySignalFD
	KeyEpoll
	KeyInotify
	KeyChild  // ID is the parent process: one of its children changed state
	KeyPidFD  // ID is the process
	KeyLock   // ID is the inode's number on the node in Addr
	KeySpace  // private futex: ID is the address space
	KeyBlob   // shared futex: ID is the blob
	KeyThread // ID is the thread: woken by a signal alone
	KeySem    // ID is the set of semaphores
	KeyMsg    // ID is the message queue
	KeyBase   // shared futex in a mapped base file: ID is the open file
	KeyOrders // ID is the open file
)

// Key names something to wait for.
type Key struct {
	Kind KeyKind
	ID   int64
	Addr uint64
}

// Watch is one epoll item that looks at a key.
type Watch struct {
	Epoll int64
	Item  int64
}

// block makes a handler's thread wait until one of the keys is woken or deadlineNs (absolute, 0 none) is reached.
func (k *Kernel) block(t *Thread, deadlineNs int64, keys ...Key) Result {
	t.Call.Until, t.Call.HasUntil = deadlineNs, deadlineNs != 0
	t.Waits = append(t.Waits[:0], keys...)
	if t.Call.Held == 0 && table[t.Call.Nr].holds {
		k.hold(t)
	}
	return pending
}

// notYet answers a call on a file that has nothing to give, or no room: EAGAIN, or a wait for key.
func (k *Kernel) notYet(t *Thread, f *File, key Key) Result {
	if f.Flags&unix.O_NONBLOCK != 0 {
		k.empty(t)
		return fail(unix.EAGAIN)
	}
	return k.block(t, 0, key)
}

// defaultSlackNs is how much later than asked for a wait may end (PR_SET_TIMERSLACK, prctl(2)). Linux uses it, and
// programs that nap for microseconds all the time (as Go's runtime does) cost less for it.
const defaultSlackNs = 50_000

// deadline turns a relative timeout into the absolute deadline of a call: computed at the first try, remembered
// afterwards. A negative timeout is no deadline.
func (k *Kernel) deadline(t *Thread, ns int64) int64 {
	if t.Call.Again {
		return t.Call.Until
	}
	if ns < 0 {
		return 0
	}
	return satAdd(k.Now, satAdd(k.node(t).undrift(ns), t.SlackNs))
}

func satAdd(a, b int64) int64 {
	if s := a + b; s >= a {
		return s
	}
	return 1<<63 - 1
}

// expired reports whether the deadline of the wait that t comes from has passed.
func (t *Thread) expired(k *Kernel) bool {
	return t.Call.Again && t.Call.HasUntil && k.Now >= t.Call.Until
}

// sleep takes a thread off the runnable list and enters it where it waits.
func (k *Kernel) sleep(t *Thread) {
	if !t.Call.Again {
		t.WaitNs = k.Now
	}
	t.State = Blocked
	t.Lazy = false
	if i := slices.Index(k.Runnable, t.ID); i >= 0 {
		k.Runnable = slices.Delete(k.Runnable, i, i+1)
	}
	for _, key := range t.Waits {
		k.Waiting[key] = append(k.Waiting[key], t.ID)
	}
	if t.Call.HasUntil {
		k.after(t.Call.Until, TimerThread, t.ID, 0)
	}
}

// leaveQueues takes a thread out of all waiting lists.
func (k *Kernel) leaveQueues(t *Thread) {
	for _, key := range t.Waits {
		list := k.Waiting[key]
		if i := slices.Index(list, t.ID); i >= 0 {
			if len(list) == 1 {
				delete(k.Waiting, key)
			} else {
				k.Waiting[key] = slices.Delete(list, i, i+1)
			}
		}
	}
}

// unblock ends a thread's wait.
func (k *Kernel) unblock(t *Thread) {
	k.leaveQueues(t)
	t.Waits = t.Waits[:0]
	t.WaitMask = nil
	if t.Call.Held != 0 {
		k.letGo(t)
	}
}

// awake makes a waiting thread try its call again.
func (k *Kernel) awake(t *Thread) {
	if t.State != Blocked {
		return
	}
	k.leaveQueues(t)
	k.ready(t)
}

// AllEvents as a wake-up's mask: anything may have changed.
const AllEvents = ^uint32(0)

// Wake makes all who wait on key try again, and tells the epoll items that watch it for one of the events in mask
// (EPOLLIN and so on).
func (k *Kernel) Wake(key Key, mask uint32) {
	for len(k.Waiting[key]) > 0 {
		k.awake(k.Threads[k.Waiting[key][0]])
	}
	for _, w := range k.Watching[key] {
		k.edge(w, mask)
	}
}
