package fs

import (
	"cmp"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
)

// Inotify is one instance of inotify(7).
type Inotify struct {
	ID      int64
	Watches []Watch // in the order of numbers
	LastWD  int32
	Events  []Event
	Bytes   int // of all events, as read(2) gives them
}

// Watch is one watch of an instance.
type Watch struct {
	WD    int32
	Inode InodeID
	Mask  uint32
}

// Watcher is the other side of a Watch: the instance that watches an inode.
type Watcher struct {
	Instance int64
	WD       int32
	Member   int // the node of the instance, as State.Member
}

// Event is struct inotify_event.
type Event struct {
	WD     int32
	Mask   uint32
	Cookie uint32
	Name   string
}

// Bytes is the size of an event with its padded name.
func (e *Event) Bytes() int {
	if e.Name == "" {
		return 16
	}
	return 16 + (len(e.Name)+1+15)/16*16
}

// NewInotify makes an instance.
func (s *State) NewInotify() (int64, errno.Errno) {
	if len(s.Instances) >= maxInotify {
		return 0, errno.EMFILE
	}
	s.LastNotify++
	s.Instances[s.LastNotify] = &Inotify{ID: s.LastNotify}
	return s.LastNotify, errno.OK
}

// FreeInotify closes an instance.
func (s *State) FreeInotify(env *Env, id int64) {
	n := s.Instances[id]
	delete(s.Instances, id)
	for _, w := range n.Watches {
		s.inode(w.Inode).unlistWatcher(s, id, w.WD)
	}
}

// Inotify gives an instance.
func (s *State) Inotify(id int64) *Inotify { return s.Instances[id] }

// TakeReady gives the instances that got events since the last call, in order.
func (s *State) TakeReady() []int64 {
	r := s.Ready
	s.Ready = nil
	slices.Sort(r)
	return slices.Compact(r)
}

// AddWatch answers inotify_add_watch(2) for an inode.
func (s *State) AddWatch(env *Env, instance int64, id InodeID, mask uint32) (int32, errno.Errno) {
	n, in := s.Instances[instance], s.inode(id)
	switch {
	case mask&(IN_ALL_EVENTS) == 0, mask&IN_MASK_ADD != 0 && mask&IN_MASK_CREATE != 0:
		return 0, errno.EINVAL
	case mask&IN_ONLYDIR != 0 && !in.isDir():
		return 0, errno.ENOTDIR
	}
	if e := in.access(s, env, R_OK); e != errno.OK {
		return 0, e
	}
	keep := mask & (IN_ALL_EVENTS | IN_ONESHOT | IN_EXCL_UNLINK)
	for i := range n.Watches {
		w := &n.Watches[i]
		if w.Inode != id {
			continue
		}
		switch {
		case mask&IN_MASK_CREATE != 0:
			return 0, errno.EEXIST
		case mask&IN_MASK_ADD != 0:
			w.Mask |= keep
		default:
			w.Mask = keep
		}
		return w.WD, errno.OK
	}
	if len(n.Watches) >= maxWatches {
		return 0, errno.ENOSPC
	}
	n.LastWD++
	n.Watches = append(n.Watches, Watch{n.LastWD, id, keep})
	in.Watches = append(in.Watches, Watcher{instance, n.LastWD, s.Member})
	return n.LastWD, errno.OK
}

// RemoveWatch answers inotify_rm_watch(2).
func (s *State) RemoveWatch(instance int64, wd int32) errno.Errno {
	n := s.Instances[instance]
	i, ok := n.watch(wd)
	if !ok {
		return errno.EINVAL
	}
	n.endWatch(s, i)
	return errno.OK
}

func (n *Inotify) watch(wd int32) (int, bool) {
	return slices.BinarySearchFunc(n.Watches, wd, func(w Watch, wd int32) int { return cmp.Compare(w.WD, wd) })
}

// endWatch removes a watch and says so to its instance.
func (n *Inotify) endWatch(s *State, i int) {
	w := n.Watches[i]
	n.Watches = slices.Delete(n.Watches, i, i+1)
	if in := s.lookupInode(w.Inode); in != nil {
		in.unlistWatcher(s, n.ID, w.WD)
	}
	n.queue(s, Event{WD: w.WD, Mask: IN_IGNORED})
}

func (in *Inode) unlistWatcher(s *State, instance int64, wd int32) {
	in.Watches = slices.DeleteFunc(in.Watches, func(w Watcher) bool { return w == Watcher{instance, wd, s.Member} })
}

// unwatch ends all watches of an inode that goes.
func (in *Inode) unwatch(s *State) {
	for _, w := range slices.Clone(in.Watches) {
		by := s.watching(w)
		n := by.Instances[w.Instance]
		if i, ok := n.watch(w.WD); ok {
			n.endWatch(by, i)
		}
	}
}

// tell notifies the watchers of an inode or of the directory of its last known name.
func (in *Inode) tell(s *State, mask uint32) {
	mask |= isDirBit(in)
	if up := s.lookupInode(in.Parent); up != nil && up != in && len(up.Watches) > 0 && in.Nlink > 0 && !in.MountRoot {
		up.notify(s, mask, 0, in.Name)
	}
	in.notify(s, mask, 0, "")
}

// notify queues an event for each watch of an inode that asks for it.
func (in *Inode) notify(s *State, mask, cookie uint32, name string) {
	if len(in.Watches) == 0 {
		return
	}
	for _, w := range slices.Clone(in.Watches) {
		by := s.watching(w)
		n := by.Instances[w.Instance]
		i, ok := n.watch(w.WD)
		if !ok || n.Watches[i].Mask&mask&IN_ALL_EVENTS == 0 {
			continue
		}
		n.queue(by, Event{WD: w.WD, Mask: mask, Cookie: cookie, Name: name})
		if n.Watches[i].Mask&IN_ONESHOT != 0 {
			n.endWatch(by, i)
		}
	}
}

// queue appends an event, unless it equals the last one that was not read yet (inotify(7)).
func (n *Inotify) queue(s *State, e Event) {
	if k := len(n.Events); k > 0 && n.Events[k-1] == e {
		return
	}
	switch k := len(n.Events); {
	case k > maxQueuedEvents:
		return
	case k == maxQueuedEvents:
		e = Event{WD: -1, Mask: IN_Q_OVERFLOW}
	}
	n.Events = append(n.Events, e)
	n.Bytes += e.Bytes()
	s.Ready = append(s.Ready, n.ID)
}

// TakeEvents removes the events that fit into limit bytes. EINVAL: not even the first one fits; EAGAIN: there is
// none.
func (s *State) TakeEvents(instance int64, limit int) ([]Event, errno.Errno) {
	n := s.Instances[instance]
	if len(n.Events) == 0 {
		return nil, errno.EAGAIN
	}
	k, size := 0, 0
	for k < len(n.Events) && size+n.Events[k].Bytes() <= limit {
		size += n.Events[k].Bytes()
		k++
	}
	if k == 0 {
		return nil, errno.EINVAL
	}
	out := slices.Clone(n.Events[:k])
	n.Events = slices.Delete(n.Events, 0, k)
	n.Bytes -= size
	return out, errno.OK
}

func isDirBit(in *Inode) uint32 {
	if in.isDir() {
		return IN_ISDIR
	}
	return 0
}
