//go:build linux && amd64

package kernel

import (
	"slices"

	"golang.org/x/sys/unix"
)

// Epoll is an epoll instance (epoll(7)), built like Linux' own: a wake-up puts an item on the ready list, and
// epoll_wait asks the items on it what is really there.
type Epoll struct {
	ID    int64
	Items map[int64]*EpollItem
	Index map[EpollName]int64
	Ready []int64
}

// EpollName identifies an item: a descriptor and its open file description.
type EpollName struct {
	FD   int32
	File FileID
}

// EpollItem is one entry of the interest list.
type EpollItem struct {
	ID       int64
	Name     EpollName
	Events   uint32
	Data     uint64
	Queued   bool
	Disabled bool // EPOLLONESHOT has disabled it
}

// edge is the callback of a wake-up.
func (s *State) edge(w Watch, mask uint32) {
	ep := s.Epolls[w.Epoll]
	if ep == nil {
		return
	}
	it := ep.Items[w.Item]
	if it == nil || it.Disabled || mask&it.Events == 0 {
		return
	}
	if !it.Queued {
		it.Queued = true
		ep.Ready = append(ep.Ready, it.ID)
	}
	s.Wake(Key{Kind: KeyEpoll, ID: ep.ID}, unix.EPOLLIN)
}

// EpollForget removes an item whose file is gone, or that was deleted.
func (k *Kernel) EpollForget(w Watch) {
	ep := k.Epolls[w.Epoll]
	if ep == nil {
		return
	}
	if it := ep.Items[w.Item]; it != nil {
		if f := k.Files[it.Name.File]; f != nil {
			k.EpollUnwatch(w, f)
		}
		delete(ep.Index, it.Name)
		delete(ep.Items, w.Item)
		ep.Ready = slices.DeleteFunc(ep.Ready, func(id int64) bool { return id == w.Item })
	}
}

// EpollUnwatch takes an epoll item off the keys that a file is watched by.
func (k *Kernel) EpollUnwatch(w Watch, f *File) {
	for _, key := range k.KeysOf(f) {
		list := slices.DeleteFunc(k.Watching[key], func(x Watch) bool { return x == w })
		if len(list) == 0 {
			delete(k.Watching, key)
		} else {
			k.Watching[key] = list
		}
	}
}
