//go:build linux && amd64

package kernel

import "golang.org/x/sys/unix"

// Flags of splice(2), tee(2) and vmsplice(2).
const (
	spliceNonblock = 2
	spliceAll      = 0xf
)

// sysSplice moves bytes between a pipe and another file, or between two pipes.
func sysSplice(k *Kernel, t *Thread) Result {
	a := &t.Call.Args
	n, flags := int(min(a[4], maxTransfer)), a[5]
	switch {
	case n == 0:
		return 0
	case flags&^spliceAll != 0:
		return fail(unix.EINVAL)
	}
	in, out := k.file(t, a[0]), k.file(t, a[2])
	switch {
	case !readable(in), !writable(out):
		return fail(unix.EBADF)
	case in.Kind == FilePipe && a[1] != 0, out.Kind == FilePipe && a[3] != 0:
		return fail(unix.ESPIPE)
	case in.Kind != FilePipe && out.Kind != FilePipe, in.Kind == FilePipe && out.Kind == FilePipe && in.Obj == out.Obj:
		return fail(unix.EINVAL)
	}
	if in.Kind == FilePipe {
		nonblocking := flags&spliceNonblock != 0 || in.Flags&unix.O_NONBLOCK != 0
		if out.Kind == FilePipe {
			return k.splicePipes(t, in, out, n, nonblocking || out.Flags&unix.O_NONBLOCK != 0, false)
		}
		return k.spliceOut(t, in, out, n, nonblocking)
	}
	return k.spliceIn(t, in, out, n, flags&spliceNonblock != 0 || out.Flags&unix.O_NONBLOCK != 0)
}

// readable and writable tell what a descriptor was opened for; the fourth access mode is for neither (open(2)).
func readable(f *File) bool {
	return f != nil && f.Kind != FilePath && f.Flags&unix.O_ACCMODE != unix.O_WRONLY && f.Flags&unix.O_ACCMODE != unix.O_ACCMODE
}

func writable(f *File) bool {
	return f != nil && f.Kind != FilePath && f.Flags&unix.O_ACCMODE != unix.O_RDONLY && f.Flags&unix.O_ACCMODE != unix.O_ACCMODE
}

// pipeHas waits until a pipe has bytes: the result is above 0 then, 0 at the end, else what the call answers.
func (k *Kernel) pipeHas(t *Thread, f *File, nonblocking bool) Result {
	p := k.Pipes[f.Obj]
	switch {
	case len(p.Bufs) > 0:
		return 1
	case p.Writers == 0:
		return 0
	case nonblocking:
		k.empty(t)
		return fail(unix.EAGAIN)
	}
	return k.block(t, 0, Key{Kind: KeyPipe, ID: p.ID})
}

// pipeTakes waits until a pipe has room: the result is the number of bytes that it takes, else what the call answers.
func (k *Kernel) pipeTakes(t *Thread, f *File, nonblocking bool) Result {
	p := k.Pipes[f.Obj]
	switch room := (p.Slots - len(p.Bufs)) * pipePage; {
	case p.Readers == 0:
		k.signalThread(t, Signal{Number: int(unix.SIGPIPE)})
		return fail(unix.EPIPE)
	case room > 0:
		return Result(room)
	case nonblocking:
		k.empty(t)
		return fail(unix.EAGAIN)
	}
	return k.block(t, 0, Key{Kind: KeyPipe, ID: p.ID})
}

// splicePipes moves bytes from one pipe to another, or copies them if keep is set.
func (k *Kernel) splicePipes(t *Thread, in, out *File, n int, nonblocking, keep bool) Result {
	if r := k.pipeHas(t, in, nonblocking); r <= 0 {
		return r
	}
	room := k.pipeTakes(t, out, nonblocking)
	if room <= 0 {
		return room
	}
	data := k.Pipes[in.Obj].first(min(n, int(room)))
	t.Call.digest(data)
	r := k.writePipe(t, out, data)
	if r > 0 && !keep {
		k.readPipe(t, in, int(r))
	}
	return r
}

// first copies up to n bytes of a pipe without taking them.
func (p *Pipe) first(n int) []byte {
	var data []byte
	for _, b := range p.Bufs {
		data = append(data, b.Data[b.Off:min(len(b.Data), b.Off+n-len(data))]...)
		if len(data) == n {
			break
		}
	}
	return data
}

// spliceOut moves bytes from a pipe to another file.
func (k *Kernel) spliceOut(t *Thread, in, out *File, n int, nonblocking bool) Result {
	a := &t.Call.Args
	if out.Flags&unix.O_APPEND != 0 && out.Kind == FileInode {
		return fail(unix.EINVAL)
	}
	if r := k.pipeHas(t, in, nonblocking); r <= 0 {
		return r
	}
	data := k.Pipes[in.Obj].first(n)
	t.Call.digest(data)
	var r Result
	if a[3] != 0 {
		pos, ok := k.inU64(t, a[3])
		switch {
		case !ok:
			return fail(unix.EFAULT)
		case !k.seekable(out):
			return fail(unix.EINVAL)
		case int64(pos) < 0:
			return fail(unix.EINVAL)
		}
		if r = k.push(t, out, data, int64(pos)); r > 0 {
			k.outU64(t, a[3], pos+uint64(r))
		}
	} else {
		r = k.push(t, out, data, -1)
	}
	if r > 0 {
		k.readPipe(t, in, int(r))
	}
	return r
}

// spliceIn moves bytes from another file to a pipe.
func (k *Kernel) spliceIn(t *Thread, in, out *File, n int, nonblocking bool) Result {
	a := &t.Call.Args
	pos := in.Pos
	if a[1] != 0 {
		v, ok := k.inU64(t, a[1])
		switch {
		case !ok:
			return fail(unix.EFAULT)
		case !k.seekable(in):
			return fail(unix.EINVAL)
		}
		pos = int64(v)
	}
	room := k.pipeTakes(t, out, nonblocking)
	if room <= 0 {
		return room
	}
	n = min(n, int(room))
	take := k.kind(in).Take
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
	r = k.writePipe(t, out, data)
	if r > 0 && k.seekable(in) {
		if a[1] != 0 {
			k.outU64(t, a[1], uint64(pos)+uint64(r))
		} else {
			in.Pos = pos + int64(r)
		}
	}
	return r
}

// sysTee copies bytes from one pipe to another.
func sysTee(k *Kernel, t *Thread) Result {
	a := &t.Call.Args
	n, flags := int(min(a[2], maxTransfer)), a[3]
	if flags&^spliceAll != 0 {
		return fail(unix.EINVAL)
	}
	if n == 0 {
		return 0
	}
	in, out := k.file(t, a[0]), k.file(t, a[1])
	switch {
	case !readable(in), !writable(out):
		return fail(unix.EBADF)
	case in.Kind != FilePipe, out.Kind != FilePipe, in.Obj == out.Obj:
		return fail(unix.EINVAL)
	}
	return k.splicePipes(t, in, out, n, flags&spliceNonblock != 0 || (in.Flags|out.Flags)&unix.O_NONBLOCK != 0, true)
}

// sysVmsplice moves memory into a pipe, or out of one.
func sysVmsplice(k *Kernel, t *Thread) Result {
	a := &t.Call.Args
	f := k.file(t, a[0])
	switch {
	case a[3]&^spliceAll != 0:
		return fail(unix.EINVAL)
	case f == nil, f.Kind != FilePipe:
		return fail(unix.EBADF)
	}
	v, e := k.iovecs(t, a[1], a[2])
	if e != 0 {
		return fail(e)
	}
	n := total(v)
	if n == 0 {
		return 0
	}
	nonblocking := a[3]&spliceNonblock != 0 || f.Flags&unix.O_NONBLOCK != 0
	if f.Flags&unix.O_ACCMODE == unix.O_RDONLY {
		if r := k.pipeHas(t, f, nonblocking); r <= 0 {
			return r
		}
		data, _ := k.readPipe(t, f, n)
		if !k.scatter(t, v, data) {
			return fail(unix.EFAULT)
		}
		return Result(len(data))
	}
	room := k.pipeTakes(t, f, nonblocking)
	if room <= 0 {
		return room
	}
	data, e := k.gather(t, v, min(n, int(room)))
	if e != 0 {
		return fail(e)
	}
	return k.writePipe(t, f, data)
}
