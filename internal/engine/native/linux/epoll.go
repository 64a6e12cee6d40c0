//go:build linux && amd64

package linux

import (
	"encoding/binary"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/net"
	"golang.org/x/sys/unix"
)

// epollFile is an instance of epoll(7).
var epollFile = Behaviour{Release: releaseEpoll, Pollable: kernel.Always, Ready: pollEpoll,
	Key: kernel.ObjectKey(kernel.KeyEpoll), Link: kernel.Anonymous("[eventpoll]")}

const (
	epollMaxDepth   = 5
	epollEventBytes = 12 // struct epoll_event, packed
)

func sysEpollCreate(k *Kernel, t *Thread) Result {
	size := t.Call.Args[0].Int()
	if size <= 0 {
		return fail(unix.EINVAL)
	}
	return epollCreate(k, t, 0)
}

func sysEpollCreate1(k *Kernel, t *Thread) Result {
	flags := t.Call.Args[0].Int()
	if flags&^unix.EPOLL_CLOEXEC != 0 {
		return fail(unix.EINVAL)
	}
	return epollCreate(k, t, flags)
}

func epollCreate(k *Kernel, t *Thread, flags int) Result {
	ep := &kernel.Epoll{ID: k.NewID("epoll"), Items: map[int64]*kernel.EpollItem{}, Index: map[kernel.EpollName]int64{}}
	k.Epolls[ep.ID] = ep
	f := k.NewFile(t, kernel.FileEpoll, unix.O_RDWR)
	f.Obj = ep.ID
	return k.Opened(t, f, flags)
}

func sysEpollCtl(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	epfd, op, fd, eventAddr := args[0].Int(), args[1].Int(), args[2].Int(), args[3].Pointer()
	var ev [12]byte
	if op != unix.EPOLL_CTL_DEL {
		if !k.Peek(t, eventAddr, ev[:]) {
			return fail(unix.EFAULT)
		}
		t.Call.Mix(ev[:4])
	}
	f, target := k.File(t, epfd), k.File(t, fd)
	if f == nil || target == nil || f.Kind == kernel.FilePath || target.Kind == kernel.FilePath {
		return fail(unix.EBADF)
	}
	if !k.Pollable(target) {
		return fail(unix.EPERM)
	}
	if f.Kind != kernel.FileEpoll || f == target {
		return fail(unix.EINVAL)
	}
	ep := k.Epolls[f.Obj]
	events, data := binary.LittleEndian.Uint32(ev[:]), binary.LittleEndian.Uint64(ev[4:])
	if events&unix.EPOLLEXCLUSIVE != 0 {
		const allowed = unix.EPOLLEXCLUSIVE | unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLERR | unix.EPOLLHUP | unix.EPOLLWAKEUP | unix.EPOLLET
		if op == unix.EPOLL_CTL_MOD || op == unix.EPOLL_CTL_ADD && (target.Kind == kernel.FileEpoll || events&^allowed != 0) {
			return fail(unix.EINVAL)
		}
	}
	name := kernel.EpollName{FD: int32(fd), File: target.ID}
	id := ep.Index[name]
	switch op {
	case unix.EPOLL_CTL_ADD:
		if target.Kind == kernel.FileEpoll && (epollReaches(k, target.Obj, ep.ID) || epollDepth(k, target.Obj) >= epollMaxDepth-1) {
			return fail(unix.ELOOP)
		}
		if id != 0 {
			return fail(unix.EEXIST)
		}
		it := &kernel.EpollItem{ID: k.NewID("epitem"), Name: name, Events: events | unix.EPOLLERR | unix.EPOLLHUP, Data: data}
		ep.Items[it.ID], ep.Index[name] = it, it.ID
		w := kernel.Watch{Epoll: ep.ID, Item: it.ID}
		target.Epolls = append(target.Epolls, w)
		for _, key := range k.KeysOf(target) {
			if events&unix.EPOLLEXCLUSIVE != 0 {
				k.Watching[key] = append(k.Watching[key], w)
			} else { // Linux' wait queues take waiters that are not exclusive at their head
				k.Watching[key] = slices.Insert(k.Watching[key], 0, w)
			}
		}
		epollArm(k, ep, it, target)
	case unix.EPOLL_CTL_MOD:
		if id == 0 {
			return fail(unix.ENOENT)
		}
		it := ep.Items[id]
		if it.Events&unix.EPOLLEXCLUSIVE != 0 {
			return fail(unix.EINVAL)
		}
		it.Events, it.Data, it.Disabled = events|unix.EPOLLERR|unix.EPOLLHUP, data, false
		epollArm(k, ep, it, target)
	case unix.EPOLL_CTL_DEL:
		if id == 0 {
			return fail(unix.ENOENT)
		}
		w := kernel.Watch{Epoll: ep.ID, Item: id}
		target.Epolls = slices.DeleteFunc(target.Epolls, func(x kernel.Watch) bool { return x == w })
		k.EpollUnwatch(w, target)
		k.EpollForget(w)
	default:
		return fail(unix.EINVAL)
	}
	return 0
}

// epollArm puts an item on the ready list if there is something already.
func epollArm(k *Kernel, ep *kernel.Epoll, it *kernel.EpollItem, f *File) {
	if k.PollFile(f)&it.Events != 0 && !it.Queued {
		it.Queued = true
		ep.Ready = append(ep.Ready, it.ID)
		k.Wake(Key{Kind: kernel.KeyEpoll, ID: ep.ID}, unix.EPOLLIN)
	}
}

func releaseEpoll(k *Kernel, f *File) {
	id := f.Obj
	ep := k.Epolls[id]
	for itemID, it := range ep.Items { // removal from other files' lists: the order leaves no trace
		w := kernel.Watch{Epoll: id, Item: itemID}
		if f := k.Files[it.Name.File]; f != nil {
			f.Epolls = slices.DeleteFunc(f.Epolls, func(x kernel.Watch) bool { return x == w })
			k.EpollUnwatch(w, f)
		}
	}
	delete(k.Epolls, id)
}

func epollReaches(k *Kernel, from, to int64) bool {
	if from == to {
		return true
	}
	for _, it := range k.Epolls[from].Items {
		if f := k.Files[it.Name.File]; f != nil && f.Kind == kernel.FileEpoll && epollReaches(k, f.Obj, to) {
			return true
		}
	}
	return false
}

func epollDepth(k *Kernel, id int64) int {
	depth := 0
	for _, it := range k.Epolls[id].Items {
		if f := k.Files[it.Name.File]; f != nil && f.Kind == kernel.FileEpoll {
			depth = max(depth, 1+epollDepth(k, f.Obj))
		}
	}
	return depth
}

// pollEpoll: an epoll file is readable when one of its ready items has something.
func pollEpoll(k *Kernel, f *File) uint32 {
	ep := k.Epolls[f.Obj]
	for _, id := range ep.Ready {
		it := ep.Items[id]
		if k.PollFile(k.Files[it.Name.File])&it.Events != 0 {
			return unix.POLLIN | kernel.PollRDNorm
		}
	}
	return 0
}

func sysEpollWait(k *Kernel, t *Thread) Result {
	timeout := t.Call.Args[3].Int()
	return epollWait(k, t, msToNs(timeout))
}

func sysEpollPwait(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	timeout, maskAddr, maskSize := args[3].Int(), args[4].Pointer(), args[5].Size()
	if r := waitMask(k, t, maskAddr, maskSize); r != 0 {
		return r
	}
	return epollWait(k, t, msToNs(timeout))
}

func sysEpollPwait2(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	timeoutAddr, maskAddr, maskSize := args[3].Pointer(), args[4].Pointer(), args[5].Size()
	if r := waitMask(k, t, maskAddr, maskSize); r != 0 {
		return r
	}
	timeout, e := timeoutAt(k, t, timeoutAddr, timespec)
	if e != 0 {
		return fail(e)
	}
	return epollWait(k, t, timeout)
}

func msToNs(ms int) int64 {
	if ms >= 0 {
		return int64(ms) * 1e6
	}
	return -1
}

func epollWait(k *Kernel, t *Thread, timeout int64) Result {
	args := &t.Call.Args
	epfd, eventsAddr, most := args[0].Int(), args[1].Pointer(), args[2].Int()
	if most <= 0 || most > 1<<28 {
		return fail(unix.EINVAL)
	}
	f := k.File(t, epfd)
	if f == nil {
		return fail(unix.EBADF)
	}
	if f.Kind != kernel.FileEpoll {
		return fail(unix.EINVAL)
	}
	ep := k.Epolls[f.Obj]
	var out []byte
	var hits []int64
	ready := ep.Ready
	for len(ready) > 0 && len(hits) < most {
		it := ep.Items[ready[0]]
		if ev := k.PollFile(k.Files[it.Name.File]) & it.Events; ev != 0 {
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
		n = k.M.Write(t.ID, eventsAddr, out) / epollEventBytes
	}
	// Hits that could not be reported stay at the head of the list; level-triggered ones go to its end.
	left := append(slices.Clone(hits[n:]), ready...)
	for i, id := range hits[:n] {
		t.Call.Mix(out[i*epollEventBytes : i*epollEventBytes+4])
		switch it := ep.Items[id]; {
		case it.Events&unix.EPOLLONESHOT != 0:
			it.Disabled, it.Queued = true, false
		case it.Events&unix.EPOLLET != 0:
			it.Queued = false
		default:
			left = append(left, id)
		}
		saw(k, t, k.Files[ep.Items[id].Name.File])
	}
	ep.Ready = left
	switch {
	case n > 0:
		return Result(n)
	case len(hits) > 0:
		return fail(unix.EFAULT)
	}
	if timeout == 0 && !t.Call.Again || t.Expired(k) {
		k.Empty(t)
		missed(k, t)
		return 0
	}
	return k.Block(t, k.Deadline(t, timeout), Key{Kind: kernel.KeyEpoll, ID: ep.ID})
}

// saw and missed report to the ledger: a thread got a result from a file, or the timer of its wait won.
func saw(k *Kernel, t *Thread, f *File) {
	if f.Kind == kernel.FileSocket && k.Overdue != nil {
		k.Overdue(k, t, net.SockID(f.Obj))
	}
}

// missed looks at every socket that the thread waited on, directly or through epoll.
func missed(k *Kernel, t *Thread) {
	if k.Overdue == nil || !t.Call.Again {
		return
	}
	for _, key := range t.Waits {
		switch key.Kind {
		case kernel.KeySocket:
			k.Overdue(k, t, net.SockID(key.ID))
		case kernel.KeyEpoll:
			ep := k.Epolls[key.ID]
			if ep == nil {
				continue
			}
			var marked []int64 // few have something to report, and there may be many
			for id, it := range ep.Items {
				if f := k.Files[it.Name.File]; f != nil && f.Kind == kernel.FileSocket && k.Net.Marked(net.SockID(f.Obj)) {
					marked = append(marked, id)
				}
			}
			slices.Sort(marked)
			for _, id := range marked {
				k.Overdue(k, t, net.SockID(k.Files[ep.Items[id].Name.File].Obj))
			}
		}
	}
}
