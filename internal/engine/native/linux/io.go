//go:build linux && amd64

package linux

import (
	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
)

// memoryOf is the piece of memory that the second and third argument of a call name.
func memoryOf(t *Thread) []Iovec {
	addr, size := t.Call.Args[1].Pointer(), t.Call.Args[2].Size()
	return []Iovec{{Addr: addr, Size: size}}
}

func sysRead(k *Kernel, t *Thread) Result {
	fd := t.Call.Args[0].Int()
	return read(k, t, fd, memoryOf(t), -1, 0)
}

func sysPread64(k *Kernel, t *Thread) Result { return pieceAt(k, t, read) }

func sysReadv(k *Kernel, t *Thread) Result { return vector(k, t, read, -1, 0) }

func sysPreadv(k *Kernel, t *Thread) Result { return vectorAt(k, t, read, 0) }

func sysPreadv2(k *Kernel, t *Thread) Result { return vector2(k, t, read) }

func sysWrite(k *Kernel, t *Thread) Result {
	fd := t.Call.Args[0].Int()
	return write(k, t, fd, memoryOf(t), -1, 0)
}

func sysPwrite64(k *Kernel, t *Thread) Result { return pieceAt(k, t, write) }

func sysWritev(k *Kernel, t *Thread) Result { return vector(k, t, write, -1, 0) }

func sysPwritev(k *Kernel, t *Thread) Result { return vectorAt(k, t, write, 0) }

func sysPwritev2(k *Kernel, t *Thread) Result { return vector2(k, t, write) }

type transfer func(k *Kernel, t *Thread, fd int, v []Iovec, offset int64, flags int) Result

func pieceAt(k *Kernel, t *Thread, f transfer) Result {
	fd, offset := t.Call.Args[0].Int(), t.Call.Args[3].Int64()
	if offset < 0 {
		return fail(unix.EINVAL)
	}
	return f(k, t, fd, memoryOf(t), offset, 0)
}

func vector(k *Kernel, t *Thread, f transfer, offset int64, flags int) Result {
	args := &t.Call.Args
	fd, vecAddr, count := args[0].Int(), args[1].Pointer(), args[2].Uint64()
	if k.File(t, fd) == nil {
		return fail(unix.EBADF)
	}
	v, e := iovecs(k, t, vecAddr, count)
	if e != 0 {
		return fail(e)
	}
	return f(k, t, fd, v, offset, flags)
}

func vectorAt(k *Kernel, t *Thread, f transfer, flags int) Result {
	offset := t.Call.Args[3].Int64()
	if offset < 0 {
		return fail(unix.EINVAL)
	}
	return vector(k, t, f, offset, flags)
}

// vector2: offset -1 means the file's own position (preadv2(2)).
func vector2(k *Kernel, t *Thread, f transfer) Result {
	offset, flags := t.Call.Args[3].Int64(), t.Call.Args[5].Int()
	if flags&^0x1f != 0 {
		return fail(unix.EOPNOTSUPP)
	}
	if offset == -1 {
		return vector(k, t, f, -1, flags)
	}
	return vectorAt(k, t, f, flags)
}

// read moves bytes from a file into memory; offset -1 is the file's position.
func read(k *Kernel, t *Thread, fd int, v []Iovec, offset int64, flags int) Result {
	f := k.File(t, fd)
	if !readable(f) {
		return fail(unix.EBADF)
	}
	if offset >= 0 && !k.Seekable(f) {
		return fail(unix.ESPIPE)
	}
	b := k.Kind(f)
	switch {
	case b.ReadInto != nil:
		return b.ReadInto(k, t, f, v, offset)
	case b.Read == nil:
		return fail(unix.EINVAL)
	}
	data, r := b.Read(k, t, f, kernel.TotalBytes(v))
	if r > 0 && !k.Scatter(t, v, data) {
		return fail(unix.EFAULT)
	}
	return r
}

// write moves bytes from memory into a file; offset -1 is the file's position.
func write(k *Kernel, t *Thread, fd int, v []Iovec, offset int64, flags int) Result {
	f := k.File(t, fd)
	if !writable(f) {
		return fail(unix.EBADF)
	}
	if offset >= 0 && !k.Seekable(f) {
		return fail(unix.ESPIPE)
	}
	b := k.Kind(f)
	if b.WriteFrom != nil {
		return b.WriteFrom(k, t, f, v, offset, flags)
	}
	data, e := k.Gather(t, v, -1)
	switch {
	case e != 0:
		return fail(e)
	case b.Write == nil:
		return fail(unix.EINVAL)
	}
	return b.Write(k, t, f, data)
}

func sysIoctl(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	fd, cmd, arg := args[0].Int(), uint(args[1].Uint()), args[2].Uint64()
	f := k.File(t, fd)
	if f == nil || f.Kind == kernel.FilePath {
		return fail(unix.EBADF)
	}
	switch cmd {
	case 0x5421: // FIONBIO
		v, ok := k.InU32(t, arg)
		if !ok {
			return fail(unix.EFAULT)
		}
		f.Flags &^= unix.O_NONBLOCK
		if v != 0 {
			f.Flags |= unix.O_NONBLOCK
		}
		return 0
	case 0x5452: // FIOASYNC
		return 0
	case 0x5451, 0x5450: // FIOCLEX, FIONCLEX
		k.Tables[k.Proc(t).Table].Slots[fd].Cloexec = cmd == 0x5451
		return 0
	case unix.TIOCINQ: // FIONREAD
		b := k.Kind(f)
		switch {
		case b.Ioctl != nil:
			return b.Ioctl(k, t, f, cmd, arg)
		case b.Unread == nil:
			return fail(unix.ENOTTY)
		}
		return stored(k.OutU32(t, arg, uint32(b.Unread(k, f))))
	case unix.TCGETS, unix.TIOCGWINSZ, unix.TCSETS, unix.TIOCGPGRP, unix.TCSETSW, unix.TCSETSF, unix.TIOCSWINSZ, unix.TIOCSPGRP:
		return fail(unix.ENOTTY)
	default:
		if ioctl := k.Kind(f).Ioctl; ioctl != nil {
			return ioctl(k, t, f, cmd, arg)
		}
		return k.Refuse(t, "ioctl(0x"+hex(uint64(cmd))+")", unix.ENOTTY)
	}
}

func hex(v uint64) string {
	const digits = "0123456789abcdef"
	var b [16]byte
	i := len(b)
	for {
		i--
		b[i] = digits[v%16]
		if v /= 16; v == 0 {
			return string(b[i:])
		}
	}
}
