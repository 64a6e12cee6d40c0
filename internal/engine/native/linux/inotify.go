//go:build linux && amd64

package linux

import (
	"encoding/binary"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"golang.org/x/sys/unix"
)

// inotifyFile is an inotify instance of a node's tree.
var inotifyFile = Behaviour{
	Read: readInotify, Release: releaseInotify, Pollable: kernel.Always, Ready: pollInotify,
	Key:    func(f *File) Key { return kernel.InotifyKey(f.Node, f.Obj) },
	Unread: func(k *Kernel, f *File) int { return inotify(k, f).Bytes },
	Link:   kernel.Anonymous("inotify"),
}

func inotify(k *Kernel, f *File) *fs.Inotify { return k.Nodes[f.Node].FS.Inotify(f.Obj) }

func releaseInotify(k *Kernel, f *File) {
	n := k.Nodes[f.Node]
	n.FS.FreeInotify(k.TreeEnv(n), f.Obj)
}

func pollInotify(k *Kernel, f *File) uint32 {
	if len(inotify(k, f).Events) > 0 {
		return unix.POLLIN | kernel.PollRDNorm
	}
	return 0
}

// readInotify takes the events that fit into n bytes, each as struct inotify_event.
func readInotify(k *Kernel, t *Thread, f *File, n int) ([]byte, Result) {
	events, e := k.Node(t).FS.TakeEvents(f.Obj, n)
	if e == errno.EAGAIN {
		return nil, k.NotYet(t, f, kernel.InotifyKey(t.Node, f.Obj))
	}
	if e != errno.OK {
		return nil, failure(e)
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

func sysInotifyInit(k *Kernel, t *Thread) Result { return inotifyInit(k, t, 0) }

func sysInotifyInit1(k *Kernel, t *Thread) Result {
	flags := int(t.Call.Args[0].Int64())
	return inotifyInit(k, t, flags)
}

func inotifyInit(k *Kernel, t *Thread, flags int) Result {
	if flags&^(unix.IN_NONBLOCK|unix.IN_CLOEXEC) != 0 {
		return fail(unix.EINVAL)
	}
	id, e := k.Node(t).FS.NewInotify()
	if e != errno.OK {
		return failure(e)
	}
	f := k.NewFile(t, kernel.FileInotify, flags)
	f.Obj = id
	return k.Opened(t, f, flags)
}

// instance gives the inotify instance behind a descriptor.
func instance(k *Kernel, t *Thread, fd int) (int64, unix.Errno) {
	f := k.File(t, fd)
	switch {
	case f == nil || f.Kind == kernel.FilePath:
		return 0, unix.EBADF
	case f.Kind != kernel.FileInotify:
		return 0, unix.EINVAL
	}
	return f.Obj, 0
}

func sysInotifyAddWatch(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	fd, pathAddr, mask := args[0].Int(), args[1].Pointer(), args[2].Uint()
	n, e := instance(k, t, fd)
	if e != 0 {
		return fail(e)
	}
	follow := 0
	if mask&fs.IN_DONT_FOLLOW != 0 {
		follow = unix.AT_SYMLINK_NOFOLLOW
	}
	id, _, e := find(k, t, unix.AT_FDCWD, pathAddr, follow)
	switch {
	case e != 0:
		return fail(e)
	case id == 0:
		return fail(unix.EINVAL)
	}
	wd, fe := k.Node(t).FS.AddWatch(env(k, t), n, id, mask)
	if fe != errno.OK {
		return failure(fe)
	}
	return Result(wd)
}

func sysInotifyRmWatch(k *Kernel, t *Thread) Result {
	fd, wd := t.Call.Args[0].Int(), t.Call.Args[1].Int()
	n, e := instance(k, t, fd)
	if e != 0 {
		return fail(e)
	}
	return failure(k.Node(t).FS.RemoveWatch(n, int32(wd)))
}
