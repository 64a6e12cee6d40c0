//go:build linux && amd64

package linux

import (
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"golang.org/x/sys/unix"
)

const (
	pipePage  = 4096
	pipeSlots = 16
	pipeMax   = 1 << 20
)

// pipeFile is an end of a pipe.
var pipeFile = Behaviour{
	Read: readPipe, Write: writePipe, Release: releasePipe,
	Push:     func(k *Kernel, t *Thread, f *File, data []byte, _ int64) Result { return writePipe(k, t, f, data) },
	Reopen:   func(k *Kernel, t *Thread, f *File, flags int) Result { return openPipe(k, t, k.Pipes[f.Obj], 0, flags) },
	Pollable: kernel.Always, Ready: pollPipe, Key: kernel.ObjectKey(kernel.KeyPipe),
	Unread: func(k *Kernel, f *File) int { return k.Pipes[f.Obj].Size() },
	Stat:   func(_ *File, a *fs.Attr) { a.Mode |= unix.S_IFIFO },
	Magic:  unix.PIPEFS_MAGIC, Link: func(f *File) string { return "pipe:[" + itoa(int(f.Obj)) + "]" }, Object: kernel.Named("pipe"),
}

func newPipe(k *Kernel) *kernel.Pipe {
	p := &kernel.Pipe{ID: k.NewID("pipe"), Slots: pipeSlots}
	k.Pipes[p.ID] = p
	return p
}

func sysPipe(k *Kernel, t *Thread) Result { return pipe2(k, t, 0) }

func sysPipe2(k *Kernel, t *Thread) Result {
	flags := t.Call.Args[1].Int()
	return pipe2(k, t, flags)
}

func pipe2(k *Kernel, t *Thread, flags int) Result {
	addr := t.Call.Args[0].Pointer()
	if flags&^(unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_DIRECT) != 0 {
		return fail(unix.EINVAL)
	}
	p := newPipe(k)
	r := k.NewFile(t, kernel.FilePipe, flags&^unix.O_DIRECT|unix.O_RDONLY)
	w := k.NewFile(t, kernel.FilePipe, flags|unix.O_WRONLY)
	r.Obj, w.Obj = p.ID, p.ID
	p.Readers, p.Writers = 1, 1
	return k.OpenedPair(t, r, w, flags, addr)
}

func releasePipe(k *Kernel, f *File) {
	p := k.Pipes[f.Obj]
	switch f.Flags & unix.O_ACCMODE {
	case unix.O_RDONLY:
		p.Readers--
	case unix.O_WRONLY:
		p.Writers--
	default:
		p.Readers--
		p.Writers--
	}
	k.Wake(Key{Kind: kernel.KeyPipe, ID: p.ID}, kernel.AllEvents)
	if p.Readers == 0 && p.Writers == 0 {
		delete(k.Pipes, p.ID)
		if f.Inode != 0 {
			delete(k.Nodes[f.Node].FIFOs, f.Inode)
		}
	}
}

func pipeSize(k *Kernel, f *File, set bool, size int64) Result {
	p := k.Pipes[f.Obj]
	if set {
		if size < 0 {
			return fail(unix.EINVAL)
		}
		if size > pipeMax {
			return fail(unix.EPERM)
		}
		slots := 1
		for int64(slots)*pipePage < size {
			slots *= 2
		}
		if slots < len(p.Bufs) {
			return fail(unix.EBUSY)
		}
		p.Slots = slots
		k.Wake(Key{Kind: kernel.KeyPipe, ID: p.ID}, unix.EPOLLOUT)
	}
	return Result(p.Slots * pipePage)
}

// readPipe takes up to n bytes; pending means that the thread waits.
func readPipe(k *Kernel, t *Thread, f *File, n int) ([]byte, Result) {
	p := k.Pipes[f.Obj]
	if f.Flags&unix.O_ACCMODE == unix.O_WRONLY {
		return nil, fail(unix.EBADF)
	}
	if n == 0 {
		return nil, 0
	}
	if len(p.Bufs) == 0 {
		if p.Writers == 0 {
			return nil, 0
		}
		if f.Flags&unix.O_NONBLOCK != 0 {
			k.Empty(t)
			return nil, fail(unix.EAGAIN)
		}
		return nil, k.Block(t, 0, Key{Kind: kernel.KeyPipe, ID: p.ID})
	}
	wasFull := len(p.Bufs) >= p.Slots
	var out []byte
	for len(p.Bufs) > 0 && len(out) < n {
		b := &p.Bufs[0]
		m := min(n-len(out), len(b.Data)-b.Off)
		out = append(out, b.Data[b.Off:b.Off+m]...)
		b.Off += m
		packet := b.Packet
		if b.Off == len(b.Data) || packet {
			p.Bufs = append(p.Bufs[:0], p.Bufs[1:]...)
		}
		if packet {
			break
		}
	}
	if wasFull && len(p.Bufs) < p.Slots {
		k.Wake(Key{Kind: kernel.KeyPipe, ID: p.ID}, unix.EPOLLOUT)
	}
	return out, Result(len(out))
}

// writePipe writes data, of which t.Call.Done bytes were written by earlier tries.
func writePipe(k *Kernel, t *Thread, f *File, data []byte) Result {
	p := k.Pipes[f.Obj]
	if f.Flags&unix.O_ACCMODE == unix.O_RDONLY {
		return fail(unix.EBADF)
	}
	total := len(data)
	if total == 0 {
		return 0
	}
	data = data[min(int(t.Call.Done), total):]
	if p.Readers == 0 {
		k.SignalThread(t, kernel.Signal{Number: int(unix.SIGPIPE), Code: 0})
		if t.Call.Done > 0 {
			return Result(t.Call.Done)
		}
		return fail(unix.EPIPE)
	}
	wrote := 0
	packet := f.Flags&unix.O_DIRECT != 0
	if tail := len(data) % pipePage; tail > 0 && len(p.Bufs) > 0 && !packet {
		if b := &p.Bufs[len(p.Bufs)-1]; !b.Packet && len(b.Data)+tail <= pipePage {
			b.Data = append(b.Data, data[:tail]...)
			data = data[tail:]
			wrote += tail
		}
	}
	for len(data) > 0 && len(p.Bufs) < p.Slots {
		n := min(pipePage, len(data))
		b := kernel.PipeBuf{Data: make([]byte, n, pipePage), Packet: packet}
		copy(b.Data, data[:n])
		p.Bufs = append(p.Bufs, b)
		data = data[n:]
		wrote += n
	}
	if wrote > 0 {
		k.Wake(Key{Kind: kernel.KeyPipe, ID: p.ID}, unix.EPOLLIN)
	}
	t.Call.Done += int64(wrote)
	if len(data) == 0 {
		return Result(t.Call.Done)
	}
	if f.Flags&unix.O_NONBLOCK != 0 {
		if t.Call.Done > 0 {
			return Result(t.Call.Done)
		}
		k.Empty(t)
		return fail(unix.EAGAIN)
	}
	return k.Block(t, 0, Key{Kind: kernel.KeyPipe, ID: p.ID})
}

func pollPipe(k *Kernel, f *File) uint32 {
	p := k.Pipes[f.Obj]
	var m uint32
	mode := f.Flags & unix.O_ACCMODE
	if mode != unix.O_WRONLY {
		if len(p.Bufs) > 0 {
			m |= unix.POLLIN | kernel.PollRDNorm
		}
		if p.Writers == 0 && (f.Inode == 0 || p.WriterOpens != f.Pos) {
			m |= unix.POLLHUP
		}
	}
	if mode != unix.O_RDONLY {
		if len(p.Bufs) < p.Slots {
			m |= unix.POLLOUT | kernel.PollWRNorm
		}
		if p.Readers == 0 {
			m |= unix.POLLERR
		}
	}
	return m
}
