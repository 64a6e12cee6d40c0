//go:build linux && amd64

package linux

import (
	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
)

// Flags of splice(2), tee(2) and vmsplice(2).
const (
	spliceNonblock = 2
	spliceAll      = 0xf
)

// sysSplice moves bytes between a pipe and another file, or between two pipes.
func sysSplice(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	inFD, inOffset, outFD, outOffset := args[0].Int(), args[1].Pointer(), args[2].Int(), args[3].Pointer()
	size, flags := args[4].Size(), args[5].Uint64()
	n := int(min(size, kernel.MaxTransfer))
	switch {
	case n == 0:
		return 0
	case flags&^spliceAll != 0:
		return fail(unix.EINVAL)
	}
	in, out := k.File(t, inFD), k.File(t, outFD)
	switch {
	case !readable(in), !writable(out):
		return fail(unix.EBADF)
	case in.Kind == kernel.FilePipe && inOffset != 0, out.Kind == kernel.FilePipe && outOffset != 0:
		return fail(unix.ESPIPE)
	case in.Kind != kernel.FilePipe && out.Kind != kernel.FilePipe, in.Kind == kernel.FilePipe && out.Kind == kernel.FilePipe && in.Obj == out.Obj:
		return fail(unix.EINVAL)
	}
	if in.Kind == kernel.FilePipe {
		nonblocking := flags&spliceNonblock != 0 || in.Flags&unix.O_NONBLOCK != 0
		if out.Kind == kernel.FilePipe {
			return splicePipes(k, t, in, out, n, nonblocking || out.Flags&unix.O_NONBLOCK != 0, false)
		}
		return spliceOut(k, t, in, out, outOffset, n, nonblocking)
	}
	return spliceIn(k, t, in, inOffset, out, n, flags&spliceNonblock != 0 || out.Flags&unix.O_NONBLOCK != 0)
}

// readable and writable report what a descriptor was opened for; the fourth access mode is for neither (open(2)).
func readable(f *File) bool {
	return f != nil && f.Kind != kernel.FilePath && f.Flags&unix.O_ACCMODE != unix.O_WRONLY && f.Flags&unix.O_ACCMODE != unix.O_ACCMODE
}

func writable(f *File) bool {
	return f != nil && f.Kind != kernel.FilePath && f.Flags&unix.O_ACCMODE != unix.O_RDONLY && f.Flags&unix.O_ACCMODE != unix.O_ACCMODE
}

// pipeHas waits until a pipe has bytes: the result is above 0 then, 0 at the end, else what the call answers.
func pipeHas(k *Kernel, t *Thread, f *File, nonblocking bool) Result {
	p := k.Pipes[f.Obj]
	switch {
	case len(p.Bufs) > 0:
		return 1
	case p.Writers == 0:
		return 0
	case nonblocking:
		k.Empty(t)
		return fail(unix.EAGAIN)
	}
	return k.Block(t, 0, Key{Kind: kernel.KeyPipe, ID: p.ID})
}

// pipeTakes waits until a pipe has room: the result is the number of bytes that it takes, else what the call answers.
func pipeTakes(k *Kernel, t *Thread, f *File, nonblocking bool) Result {
	p := k.Pipes[f.Obj]
	switch room := (p.Slots - len(p.Bufs)) * pipePage; {
	case p.Readers == 0:
		k.SignalThread(t, kernel.Signal{Number: int(unix.SIGPIPE)})
		return fail(unix.EPIPE)
	case room > 0:
		return Result(room)
	case nonblocking:
		k.Empty(t)
		return fail(unix.EAGAIN)
	}
	return k.Block(t, 0, Key{Kind: kernel.KeyPipe, ID: p.ID})
}

// splicePipes moves bytes from one pipe to another, or copies them if keep is set.
func splicePipes(k *Kernel, t *Thread, in, out *File, n int, nonblocking, keep bool) Result {
	if r := pipeHas(k, t, in, nonblocking); r <= 0 {
		return r
	}
	room := pipeTakes(k, t, out, nonblocking)
	if room <= 0 {
		return room
	}
	data := k.Pipes[in.Obj].First(min(n, int(room)))
	t.Call.Mix(data)
	r := writePipe(k, t, out, data)
	if r > 0 && !keep {
		readPipe(k, t, in, int(r))
	}
	return r
}

// spliceOut moves bytes from a pipe to another file.
func spliceOut(k *Kernel, t *Thread, in, out *File, offsetAddr uint64, n int, nonblocking bool) Result {
	if out.Flags&unix.O_APPEND != 0 && out.Kind == kernel.FileInode {
		return fail(unix.EINVAL)
	}
	if r := pipeHas(k, t, in, nonblocking); r <= 0 {
		return r
	}
	data := k.Pipes[in.Obj].First(n)
	t.Call.Mix(data)
	var r Result
	if offsetAddr != 0 {
		pos, ok := k.InU64(t, offsetAddr)
		switch {
		case !ok:
			return fail(unix.EFAULT)
		case !k.Seekable(out):
			return fail(unix.EINVAL)
		case int64(pos) < 0:
			return fail(unix.EINVAL)
		}
		if r = push(k, t, out, data, int64(pos)); r > 0 {
			k.OutU64(t, offsetAddr, pos+uint64(r))
		}
	} else {
		r = push(k, t, out, data, -1)
	}
	if r > 0 {
		readPipe(k, t, in, int(r))
	}
	return r
}

// spliceIn moves bytes from another file to a pipe.
func spliceIn(k *Kernel, t *Thread, in *File, offsetAddr uint64, out *File, n int, nonblocking bool) Result {
	pos := in.Pos
	if offsetAddr != 0 {
		v, ok := k.InU64(t, offsetAddr)
		switch {
		case !ok:
			return fail(unix.EFAULT)
		case !k.Seekable(in):
			return fail(unix.EINVAL)
		}
		pos = int64(v)
	}
	room := pipeTakes(k, t, out, nonblocking)
	if room <= 0 {
		return room
	}
	n = min(n, int(room))
	take := k.Kind(in).Take
	if take == nil {
		return fail(unix.EINVAL)
	}
	data, r := take(k, t, in, pos, n, nonblocking)
	if r != 0 {
		return r
	}
	if len(data) == 0 {
		return 0
	}
	r = writePipe(k, t, out, data)
	if r > 0 && k.Seekable(in) {
		if offsetAddr != 0 {
			k.OutU64(t, offsetAddr, uint64(pos)+uint64(r))
		} else {
			in.Pos = pos + int64(r)
		}
	}
	return r
}

// sysTee copies bytes from one pipe to another.
func sysTee(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	inFD, outFD, size, flags := args[0].Int(), args[1].Int(), args[2].Size(), args[3].Uint64()
	n := int(min(size, kernel.MaxTransfer))
	if flags&^spliceAll != 0 {
		return fail(unix.EINVAL)
	}
	if n == 0 {
		return 0
	}
	in, out := k.File(t, inFD), k.File(t, outFD)
	switch {
	case !readable(in), !writable(out):
		return fail(unix.EBADF)
	case in.Kind != kernel.FilePipe, out.Kind != kernel.FilePipe, in.Obj == out.Obj:
		return fail(unix.EINVAL)
	}
	return splicePipes(k, t, in, out, n, flags&spliceNonblock != 0 || (in.Flags|out.Flags)&unix.O_NONBLOCK != 0, true)
}

// sysVmsplice moves memory into a pipe, or out of one.
func sysVmsplice(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	fd, vecAddr, count, flags := args[0].Int(), args[1].Pointer(), args[2].Uint64(), args[3].Uint64()
	f := k.File(t, fd)
	switch {
	case flags&^spliceAll != 0:
		return fail(unix.EINVAL)
	case f == nil, f.Kind != kernel.FilePipe:
		return fail(unix.EBADF)
	}
	v, e := iovecs(k, t, vecAddr, count)
	if e != 0 {
		return fail(e)
	}
	n := kernel.TotalBytes(v)
	if n == 0 {
		return 0
	}
	nonblocking := flags&spliceNonblock != 0 || f.Flags&unix.O_NONBLOCK != 0
	if f.Flags&unix.O_ACCMODE == unix.O_RDONLY {
		if r := pipeHas(k, t, f, nonblocking); r <= 0 {
			return r
		}
		data, _ := readPipe(k, t, f, n)
		if !k.Scatter(t, v, data) {
			return fail(unix.EFAULT)
		}
		return Result(len(data))
	}
	room := pipeTakes(k, t, f, nonblocking)
	if room <= 0 {
		return room
	}
	data, e := k.Gather(t, v, min(n, int(room)))
	if e != 0 {
		return fail(e)
	}
	return writePipe(k, t, f, data)
}
