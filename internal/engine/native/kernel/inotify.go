//go:build linux && amd64

package kernel

import (
	"encoding/binary"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"golang.org/x/sys/unix"
)

// inotifyFile is an inotify instance of a node's tree.
var inotifyFile = Behaviour{
	Read: (*Kernel).readInotify, Release: (*Kernel).releaseInotify, Pollable: always, Ready: (*Kernel).pollInotify,
	Key:    func(f *File) Key { return inotifyKey(f.Node, f.Obj) },
	Unread: func(k *Kernel, f *File) int { return k.inotify(f).Bytes },
	Link:   anonymous("inotify"),
}

func inotifyKey(n NodeID, instance int64) Key {
	return Key{Kind: KeyInotify, ID: instance, Addr: uint64(n)}
}

func (k *Kernel) inotify(f *File) *fs.Inotify { return k.Nodes[f.Node].FS.Inotify(f.Obj) }

func (k *Kernel) releaseInotify(f *File) {
	n := k.Nodes[f.Node]
	n.FS.FreeInotify(k.TreeEnv(n), f.Obj)
}

func (k *Kernel) pollInotify(f *File) uint32 {
	if len(k.inotify(f).Events) > 0 {
		return unix.POLLIN | pollRDNorm
	}
	return 0
}

// readInotify takes the events that fit into n bytes, each as struct inotify_event.
func (k *Kernel) readInotify(t *Thread, f *File, n int) ([]byte, Result) {
	events, e := k.node(t).FS.TakeEvents(f.Obj, n)
	if e == fs.EAGAIN {
		return nil, k.notYet(t, f, inotifyKey(t.Node, f.Obj))
	}
	if e != fs.OK {
		return nil, fsFail(e)
	}
	var out []byte
	le := binary.LittleEndian
	for i := range events {
		e := &events[i]
		size := e.Bytes()
		out = le.AppendUint32(out, uint32(e.WD))
		out = le.AppendUint32(out, e.Mask)
		out = le.AppendUint32(out, e.Cookie)
		out = le.AppendUint32(out, uint32(size-16))
		out = append(out, e.Name...)
		out = append(out, make([]byte, size-16-len(e.Name))...)
	}
	return out, Result(len(out))
}

func sysInotifyInit(k *Kernel, t *Thread) Result { return k.inotifyInit(t, 0) }

func sysInotifyInit1(k *Kernel, t *Thread) Result { return k.inotifyInit(t, int(t.Call.Args[0])) }

func (k *Kernel) inotifyInit(t *Thread, flags int) Result {
	if flags&^(unix.IN_NONBLOCK|unix.IN_CLOEXEC) != 0 {
		return fail(unix.EINVAL)
	}
	id, e := k.node(t).FS.NewInotify()
	if e != fs.OK {
		return fsFail(e)
	}
	f := k.newFile(t, FileInotify, flags)
	f.Obj = id
	return k.opened(t, f, flags)
}

// instance gives the inotify instance behind a descriptor.
func (k *Kernel) instance(t *Thread, fd uint64) (int64, unix.Errno) {
	f := k.file(t, fd)
	switch {
	case f == nil || f.Kind == FilePath:
		return 0, unix.EBADF
	case f.Kind != FileInotify:
		return 0, unix.EINVAL
	}
	return f.Obj, 0
}

func sysInotifyAddWatch(k *Kernel, t *Thread) Result {
	mask := uint32(t.Call.Args[2])
	n, e := k.instance(t, t.Call.Args[0])
	if e != 0 {
		return fail(e)
	}
	follow := 0
	if mask&fs.IN_DONT_FOLLOW != 0 {
		follow = unix.AT_SYMLINK_NOFOLLOW
	}
	id, _, e := k.find(t, unix.AT_FDCWD, t.Call.Args[1], follow)
	switch {
	case e != 0:
		return fail(e)
	case id == 0:
		return fail(unix.EINVAL)
	}
	wd, fe := k.node(t).FS.AddWatch(k.env(t), n, id, mask)
	if fe != fs.OK {
		return fsFail(fe)
	}
	return Result(wd)
}

func sysInotifyRmWatch(k *Kernel, t *Thread) Result {
	n, e := k.instance(t, t.Call.Args[0])
	if e != 0 {
		return fail(e)
	}
	return fsFail(k.node(t).FS.RemoveWatch(n, int32(t.Call.Args[1])))
}
