//go:build linux && amd64

package kernel

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
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

// Block makes a handler's thread wait until one of the keys is woken or deadlineNs (absolute, 0 none) is reached.
func (k *Kernel) Block(t *Thread, deadlineNs int64, keys ...Key) Result {
	t.Call.Until, t.Call.HasUntil = deadlineNs, deadlineNs != 0
	t.Waits = append(t.Waits[:0], keys...)
	if t.Call.Held == 0 && k.system.Calls[t.Call.Nr].Holds {
		k.hold(t)
	}
	return Pending
}

// NotYet answers a call on a file that has nothing to give, or no room: EAGAIN, or a wait for key.
func (k *Kernel) NotYet(t *Thread, f *File, key Key) Result {
	if f.Flags&unix.O_NONBLOCK != 0 {
		k.Empty(t)
		return fail(unix.EAGAIN)
	}
	return k.Block(t, 0, key)
}

// DefaultSlackNs is how much later than asked for a wait may end (PR_SET_TIMERSLACK, prctl(2)). Linux uses it, and
// programs that nap for microseconds all the time (as Go's runtime does) cost less for it.
const DefaultSlackNs = 50_000

// Deadline turns a relative timeout into the absolute deadline of a call: computed at the first try, remembered
// afterwards. A negative timeout is no deadline.
func (s *State) Deadline(t *Thread, ns int64) int64 {
	if t.Call.Again {
		return t.Call.Until
	}
	if ns < 0 {
		return 0
	}
	return SatAdd(s.Now, SatAdd(s.Node(t).Undrift(ns), t.SlackNs))
}

// SatAdd adds without overflow.
func SatAdd(a, b int64) int64 {
	if s := a + b; s >= a {
		return s
	}
	return 1<<63 - 1
}

// Expired reports whether the deadline of the wait that t comes from has passed.
func (t *Thread) Expired(k *Kernel) bool {
	return t.Call.Again && t.Call.HasUntil && k.Now >= t.Call.Until
}

// sleep takes a thread off the runnable list and enters it where it waits.
func (s *State) sleep(t *Thread) {
	if !t.Call.Again {
		t.WaitNs = s.Now
	}
	t.State = Blocked
	t.Lazy = false
	if i := slices.Index(s.Runnable, t.ID); i >= 0 {
		s.Runnable = slices.Delete(s.Runnable, i, i+1)
	}
	for _, key := range t.Waits {
		s.Waiting[key] = append(s.Waiting[key], t.ID)
	}
	if t.Call.HasUntil {
		s.After(t.Call.Until, TimerThread, t.ID, 0)
	}
}

// leaveQueues takes a thread out of all waiting lists.
func (s *State) leaveQueues(t *Thread) {
	for _, key := range t.Waits {
		list := s.Waiting[key]
		if i := slices.Index(list, t.ID); i >= 0 {
			if len(list) == 1 {
				delete(s.Waiting, key)
			} else {
				s.Waiting[key] = slices.Delete(list, i, i+1)
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

// Awake makes a waiting thread try its call again.
func (s *State) Awake(t *Thread) {
	if t.State != Blocked {
		return
	}
	s.leaveQueues(t)
	s.Ready(t)
}

// AllEvents as a wake-up's mask: anything may have changed.
const AllEvents = ^uint32(0)

// Wake makes all threads that wait on key try again, and notifies the epoll items that watch it for one of the events in mask
// (EPOLLIN and so on).
func (s *State) Wake(key Key, mask uint32) {
	for len(s.Waiting[key]) > 0 {
		s.Awake(s.Threads[s.Waiting[key][0]])
	}
	for _, w := range s.Watching[key] {
		s.edge(w, mask)
	}
}

// InotifyKey is woken when an inotify instance has events.
func InotifyKey(n NodeID, instance int64) Key {
	return Key{Kind: KeyInotify, ID: instance, Addr: uint64(n)}
}

// LockKey is woken when a lock on a file is given up.
func (s *State) LockKey(f *File) Key {
	if fs.InShared(f.Inode) { // whoever waits, on whichever node
		return Key{Kind: KeyLock, ID: int64(f.Inode)}
	}
	return Key{Kind: KeyLock, ID: int64(f.Inode), Addr: uint64(f.Node)}
}

// releaseLocks drops a process' record locks on a file: any close of the file does (fcntl(2)).
func (s *State) releaseLocks(p *Proc, f *File) {
	if f.Inode == 0 || f.Kind == FilePath {
		return
	}
	if s.Nodes[f.Node].FS.DropLock(f.Inode, fs.Lock{Owner: p.ID, Last: fs.ToEnd}) {
		s.Wake(s.LockKey(f), AllEvents)
	}
}
