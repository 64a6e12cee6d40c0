//go:build linux && amd64

package kernel

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/net"
	"golang.org/x/sys/unix"
)

// epollFile is an instance of epoll(7).
var epollFile = Behaviour{Release: (*Kernel).releaseEpoll, Pollable: always, Ready: (*Kernel).pollEpoll, Key: objectKey(KeyEpoll), Link: anonymous("[eventpoll]")}

// Epoll is an epoll instance (epoll(7)), built like Linux' own: a wake-up puts an item on the ready list, and
// epoll_wait asks the items on it what is really there.
type Epoll struct {
	ID    int64
	Items map[int64]*EpollItem
	Index map[EpollName]int64
	Ready []int64
}

// EpollName is what identifies an item: a descriptor and the description behind it.
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

const (
	epollMaxDepth   = 5
	epollEventBytes = 12 // struct epoll_event, packed
)

func sysEpollCreate(k *Kernel, t *Thread) Result {
	if int32(t.Call.Args[0]) <= 0 {
		return fail(unix.EINVAL)
	}
	return k.epollCreate(t, 0)
}

func sysEpollCreate1(k *Kernel, t *Thread) Result {
	flags := int(int32(t.Call.Args[0]))
	if flags&^unix.EPOLL_CLOEXEC != 0 {
		return fail(unix.EINVAL)
	}
	return k.epollCreate(t, flags)
}

func (k *Kernel) epollCreate(t *Thread, flags int) Result {
	ep := &Epoll{ID: k.id("epoll"), Items: map[int64]*EpollItem{}, Index: map[EpollName]int64{}}
	k.Epolls[ep.ID] = ep
	f := k.newFile(t, FileEpoll, unix.O_RDWR)
	f.Obj = ep.ID
	return k.opened(t, f, flags)
}

func sysEpollCtl(k *Kernel, t *Thread) Result {
	a := &t.Call.Args
	op, fd := int(int32(a[1])), int32(a[2])
	var ev [12]byte
	if op != unix.EPOLL_CTL_DEL {
		if !k.peek(t, a[3], ev[:]) {
			return fail(unix.EFAULT)
		}
		t.Call.digest(ev[:4])
	}
	f, target := k.file(t, a[0]), k.file(t, uint64(fd))
	if f == nil || target == nil || f.Kind == FilePath || target.Kind == FilePath {
		return fail(unix.EBADF)
	}
	if !k.pollable(target) {
		return fail(unix.EPERM)
	}
	if f.Kind != FileEpoll || f == target {
		return fail(unix.EINVAL)
	}
	ep := k.Epolls[f.Obj]
	events, data := binary.LittleEndian.Uint32(ev[:]), binary.LittleEndian.Uint64(ev[4:])
	if events&unix.EPOLLEXCLUSIVE != 0 {
		const allowed = unix.EPOLLEXCLUSIVE | unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLERR | unix.EPOLLHUP | unix.EPOLLWAKEUP | unix.EPOLLET
		if op == unix.EPOLL_CTL_MOD || op == unix.EPOLL_CTL_ADD && (target.Kind == FileEpoll || events&^allowed != 0) {
			return fail(unix.EINVAL)
		}
	}
	name := EpollName{fd, target.ID}
	id := ep.Index[name]
	switch op {
	case unix.EPOLL_CTL_ADD:
		if target.Kind == FileEpoll && (k.epollReaches(target.Obj, ep.ID) || k.epollDepth(target.Obj) >= epollMaxDepth-1) {
			return fail(unix.ELOOP)
		}
		if id != 0 {
			return fail(unix.EEXIST)
		}
		it := &EpollItem{ID: k.id("epitem"), Name: name, Events: events | unix.EPOLLERR | unix.EPOLLHUP, Data: data}
		ep.Items[it.ID], ep.Index[name] = it, it.ID
		w := Watch{ep.ID, it.ID}
		target.Epolls = append(target.Epolls, w)
		for _, key := range k.keysOf(target) {
			if events&unix.EPOLLEXCLUSIVE != 0 {
				k.Watching[key] = append(k.Watching[key], w)
			} else { // Linux' wait queues take those who are not exclusive at their head
				k.Watching[key] = slices.Insert(k.Watching[key], 0, w)
			}
		}
		k.epollArm(ep, it, target)
	case unix.EPOLL_CTL_MOD:
		if id == 0 {
			return fail(unix.ENOENT)
		}
		it := ep.Items[id]
		if it.Events&unix.EPOLLEXCLUSIVE != 0 {
			return fail(unix.EINVAL)
		}
		it.Events, it.Data, it.Disabled = events|unix.EPOLLERR|unix.EPOLLHUP, data, false
		k.epollArm(ep, it, target)
	case unix.EPOLL_CTL_DEL:
		if id == 0 {
			return fail(unix.ENOENT)
		}
		w := Watch{ep.ID, id}
		target.Epolls = slices.DeleteFunc(target.Epolls, func(x Watch) bool { return x == w })
		k.epollUnwatch(w, target)
		k.epollForget(w)
	default:
		return fail(unix.EINVAL)
	}
	return 0
}

// epollArm puts an item on the ready list if there is something already.
func (k *Kernel) epollArm(ep *Epoll, it *EpollItem, f *File) {
	if k.pollFile(f)&it.Events != 0 && !it.Queued {
		it.Queued = true
		ep.Ready = append(ep.Ready, it.ID)
		k.Wake(Key{Kind: KeyEpoll, ID: ep.ID}, unix.EPOLLIN)
	}
}

// edge is the callback of a wake-up.
func (k *Kernel) edge(w Watch, mask uint32) {
	ep := k.Epolls[w.Epoll]
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
	k.Wake(Key{Kind: KeyEpoll, ID: ep.ID}, unix.EPOLLIN)
}

// epollForget removes an item whose file is gone, or that was deleted.
func (k *Kernel) epollForget(w Watch) {
	ep := k.Epolls[w.Epoll]
	if ep == nil {
		return
	}
	if it := ep.Items[w.Item]; it != nil {
		if f := k.Files[it.Name.File]; f != nil {
			k.epollUnwatch(w, f)
		}
		delete(ep.Index, it.Name)
		delete(ep.Items, w.Item)
		ep.Ready = slices.DeleteFunc(ep.Ready, func(id int64) bool { return id == w.Item })
	}
}

func (k *Kernel) epollUnwatch(w Watch, f *File) {
	for _, key := range k.keysOf(f) {
		list := slices.DeleteFunc(k.Watching[key], func(x Watch) bool { return x == w })
		if len(list) == 0 {
			delete(k.Watching, key)
		} else {
			k.Watching[key] = list
		}
	}
}

func (k *Kernel) releaseEpoll(f *File) {
	id := f.Obj
	ep := k.Epolls[id]
	for itemID, it := range ep.Items { // removal from other files' lists: the order leaves no trace
		w := Watch{id, itemID}
		if f := k.Files[it.Name.File]; f != nil {
			f.Epolls = slices.DeleteFunc(f.Epolls, func(x Watch) bool { return x == w })
			k.epollUnwatch(w, f)
		}
	}
	delete(k.Epolls, id)
}

func (k *Kernel) epollReaches(from, to int64) bool {
	if from == to {
		return true
	}
	for _, it := range k.Epolls[from].Items {
		if f := k.Files[it.Name.File]; f != nil && f.Kind == FileEpoll && k.epollReaches(f.Obj, to) {
			return true
		}
	}
	return false
}

func (k *Kernel) epollDepth(id int64) int {
	depth := 0
	for _, it := range k.Epolls[id].Items {
		if f := k.Files[it.Name.File]; f != nil && f.Kind == FileEpoll {
			depth = max(depth, 1+k.epollDepth(f.Obj))
		}
	}
	return depth
}

// pollEpoll: an epoll file is readable when one of its ready items has something.
func (k *Kernel) pollEpoll(f *File) uint32 {
	ep := k.Epolls[f.Obj]
	for _, id := range ep.Ready {
		it := ep.Items[id]
		if k.pollFile(k.Files[it.Name.File])&it.Events != 0 {
			return unix.POLLIN | pollRDNorm
		}
	}
	return 0
}

func sysEpollWait(k *Kernel, t *Thread) Result { return k.epollWait(t, msToNs(t.Call.Args[3])) }

func sysEpollPwait(k *Kernel, t *Thread) Result {
	if r := k.waitMask(t, t.Call.Args[4], t.Call.Args[5]); r != 0 {
		return r
	}
	return k.epollWait(t, msToNs(t.Call.Args[3]))
}

func sysEpollPwait2(k *Kernel, t *Thread) Result {
	if r := k.waitMask(t, t.Call.Args[4], t.Call.Args[5]); r != 0 {
		return r
	}
	timeout := int64(-1)
	if t.Call.Args[3] != 0 && !t.Call.Again {
		var e unix.Errno
		if timeout, e = k.timespec(t, t.Call.Args[3]); e != 0 {
			return fail(e)
		}
	}
	return k.epollWait(t, timeout)
}

func msToNs(v uint64) int64 {
	if ms := int64(int32(v)); ms >= 0 {
		return ms * 1e6
	}
	return -1
}

func (k *Kernel) epollWait(t *Thread, timeout int64) Result {
	a := &t.Call.Args
	most := int(int32(a[2]))
	if most <= 0 || most > 1<<28 {
		return fail(unix.EINVAL)
	}
	f := k.file(t, a[0])
	if f == nil {
		return fail(unix.EBADF)
	}
	if f.Kind != FileEpoll {
		return fail(unix.EINVAL)
	}
	ep := k.Epolls[f.Obj]
	var out []byte
	var hits []int64
	ready := ep.Ready
	for len(ready) > 0 && len(hits) < most {
		it := ep.Items[ready[0]]
		if ev := k.pollFile(k.Files[it.Name.File]) & it.Events; ev != 0 {
			hits = append(hits, it.ID)
			out = binary.LittleEndian.AppendUint32(out, ev)
			out = binary.LittleEndian.AppendUint64(out, it.Data)
		} else {
			it.Queued = false
		}
		ready = ready[1:]
	}
	n := 0
	if len(hits) > 0 {
		n = k.M.Write(t.ID, a[1], out) / epollEventBytes
	}
	// What could not be told stays at the head of the list; what is level-triggered goes to its end.
	left := append(slices.Clone(hits[n:]), ready...)
	for i, id := range hits[:n] {
		t.Call.digest(out[i*epollEventBytes : i*epollEventBytes+4])
		switch it := ep.Items[id]; {
		case it.Events&unix.EPOLLONESHOT != 0:
			it.Disabled, it.Queued = true, false
		case it.Events&unix.EPOLLET != 0:
			it.Queued = false
		default:
			left = append(left, id)
		}
		k.saw(t, k.Files[ep.Items[id].Name.File])
	}
	ep.Ready = left
	switch {
	case n > 0:
		return Result(n)
	case len(hits) > 0:
		return fail(unix.EFAULT)
	}
	if timeout == 0 && !t.Call.Again || t.expired(k) {
		k.empty(t)
		k.missed(t)
		return 0
	}
	return k.block(t, k.deadline(t, timeout), Key{Kind: KeyEpoll, ID: ep.ID})
}

// saw and missed report to the ledger: a thread got a result from a file, or the timer of its wait won.
func (k *Kernel) saw(t *Thread, f *File) {
	if f.Kind == FileSocket && k.Overdue != nil {
		k.Overdue(k, t, net.SockID(f.Obj))
	}
}

// missed looks at every socket that the thread waited on, directly or through epoll.
func (k *Kernel) missed(t *Thread) {
	if k.Overdue == nil || !t.Call.Again {
		return
	}
	for _, key := range t.Waits {
		switch key.Kind {
		case KeySocket:
			k.Overdue(k, t, net.SockID(key.ID))
		case KeyEpoll:
			ep := k.Epolls[key.ID]
			if ep == nil {
				continue
			}
			for _, id := range slices.Sorted(maps.Keys(ep.Items)) {
				if f := k.Files[ep.Items[id].Name.File]; f != nil && f.Kind == FileSocket {
					k.Overdue(k, t, net.SockID(f.Obj))
				}
			}
		}
	}
}
