//go:build linux && amd64

package kernel

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// Events that golang.org/x/sys/unix does not name (poll.h).
const (
	pollRDNorm = 0x40
	pollRDBand = 0x80
	pollWRNorm = 0x100
	pollWRBand = 0x200
)

func sysPoll(k *Kernel, t *Thread) Result { return k.poll(t, msToNs(t.Call.Args[2])) }

func sysPpoll(k *Kernel, t *Thread) Result {
	timeout := int64(-1)
	if t.Call.Args[2] != 0 && !t.Call.Again {
		var e unix.Errno
		if timeout, e = k.timespec(t, t.Call.Args[2]); e != 0 {
			return fail(e)
		}
	}
	if r := k.waitMask(t, t.Call.Args[3], t.Call.Args[4]); r != 0 {
		return r
	}
	r := k.poll(t, timeout)
	if r != pending {
		k.outLeft(t, timeout) // libc hides that
	}
	return r
}

func (k *Kernel) poll(t *Thread, timeout int64) Result {
	n := t.Call.Args[1]
	if n > k.proc(t).Limits[unix.RLIMIT_NOFILE][0] {
		return fail(unix.EINVAL)
	}
	b := make([]byte, 8*n)
	if !k.peek(t, t.Call.Args[0], b) {
		return fail(unix.EFAULT)
	}
	count := 0
	var keys []Key
	for i := range int(n) {
		fd := int32(binary.LittleEndian.Uint32(b[8*i:]))
		want := uint32(binary.LittleEndian.Uint16(b[8*i+4:])) | unix.POLLERR | unix.POLLHUP
		got := uint32(0)
		if fd >= 0 {
			if f := k.file(t, uint64(fd)); f == nil {
				got = unix.POLLNVAL
			} else {
				got = k.pollFile(f) & (want | unix.POLLNVAL)
				keys = append(keys, k.keysOf(f)...)
				if got != 0 {
					k.saw(t, f)
				}
			}
		}
		binary.LittleEndian.PutUint16(b[8*i+6:], uint16(got))
		if got != 0 {
			count++
		}
	}
	over := timeout == 0 && !t.Call.Again || t.expired(k)
	if count == 0 && (!over || k.signalWaits(t)) {
		return k.block(t, k.deadline(t, timeout), keys...)
	}
	if count == 0 {
		k.empty(t)
		k.missed(t)
	}
	if !k.out(t, t.Call.Args[0], b) {
		return fail(unix.EFAULT)
	}
	return Result(count)
}

func sysSelect(k *Kernel, t *Thread) Result {
	timeout := int64(-1)
	if a := t.Call.Args[4]; a != 0 && !t.Call.Again {
		var e unix.Errno
		if timeout, e = k.timeval(t, a); e != 0 {
			return fail(e)
		}
	}
	r := k.selectFiles(t, timeout)
	if r != pending {
		k.outLeft(t, timeout)
	}
	return r
}

func sysPselect6(k *Kernel, t *Thread) Result {
	timeout := int64(-1)
	if a := t.Call.Args[4]; a != 0 && !t.Call.Again {
		var e unix.Errno
		if timeout, e = k.timespec(t, a); e != 0 {
			return fail(e)
		}
	}
	if a := t.Call.Args[5]; a != 0 {
		var b [16]byte
		if !k.peek(t, a, b[:]) {
			return fail(unix.EFAULT)
		}
		if r := k.waitMask(t, binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:])); r != 0 {
			return r
		}
	}
	r := k.selectFiles(t, timeout)
	if r != pending {
		k.outLeft(t, timeout)
	}
	return r
}

// outLeft writes how much of its timeout a call has left, whatever its result (poll_select_finish in fs/select.c). A
// call that did not wait has used the time of a call; a timeout of zero is left as it is.
func (k *Kernel) outLeft(t *Thread, timeout int64) {
	left := timeout - k.Cost.CallNs
	if t.Call.HasUntil {
		left = t.Call.Until - k.Now
	} else if timeout <= 0 {
		return
	}
	left = max(left, 0)
	switch t.Call.Nr {
	case unix.SYS_SELECT:
		k.out(t, t.Call.Args[4], timevalBytes(left))
	case unix.SYS_PSELECT6:
		k.out(t, t.Call.Args[4], timespecBytes(left))
	case unix.SYS_PPOLL:
		k.out(t, t.Call.Args[2], timespecBytes(left))
	}
}

// selectInterrupted is outLeft for a wait that a signal has ended.
func selectInterrupted(k *Kernel, t *Thread) {
	if t.Call.HasUntil {
		k.outLeft(t, 0)
	}
}

// What select(2) counts as readable, writable and exceptional (fs/select.c).
const (
	selectIn  = pollRDNorm | pollRDBand | unix.POLLIN | unix.POLLHUP | unix.POLLERR
	selectOut = pollWRBand | pollWRNorm | unix.POLLOUT | unix.POLLERR
	selectEx  = unix.POLLPRI
)

func (k *Kernel) selectFiles(t *Thread, timeout int64) Result {
	n := int(int32(t.Call.Args[0]))
	if n < 0 {
		return fail(unix.EINVAL)
	}
	n = min(n, max(len(k.Tables[k.proc(t).Table].Slots), 64))
	size := (n + 63) / 64 * 8
	var in, out [3][]byte
	for s := range in {
		in[s], out[s] = make([]byte, size), make([]byte, size)
		if a := t.Call.Args[1+s]; a != 0 {
			if !k.peek(t, a, in[s]) {
				return fail(unix.EFAULT)
			}
			if n%64 != 0 { // descriptors from n on are not asked for
				last := in[s][size-8:]
				binary.LittleEndian.PutUint64(last, binary.LittleEndian.Uint64(last)&(1<<(n%64)-1))
			}
			t.Call.digest(in[s])
		}
	}
	count := 0
	var keys []Key
	for fd := range n {
		byteAt, bit := fd/8, byte(1)<<(fd%8)
		if (in[0][byteAt]|in[1][byteAt]|in[2][byteAt])&bit == 0 {
			continue
		}
		f := k.file(t, uint64(fd))
		if f == nil {
			return fail(unix.EBADF)
		}
		keys = append(keys, k.keysOf(f)...)
		got := k.pollFile(f)
		for s, mask := range [3]uint32{selectIn, selectOut, selectEx} {
			if in[s][byteAt]&bit != 0 && got&mask != 0 {
				out[s][byteAt] |= bit
				count++
				k.saw(t, f)
			}
		}
	}
	if over := timeout == 0 && !t.Call.Again || t.expired(k); count == 0 && (!over || k.signalWaits(t)) {
		return k.block(t, k.deadline(t, timeout), keys...)
	}
	if count == 0 {
		k.empty(t)
		k.missed(t)
	}
	for s := range out {
		if a := t.Call.Args[1+s]; a != 0 && !k.out(t, a, out[s]) {
			return fail(unix.EFAULT)
		}
	}
	return Result(count)
}
