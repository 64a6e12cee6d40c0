//go:build linux && amd64

package linux

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
)

func sysPoll(k *Kernel, t *Thread) Result {
	timeout := t.Call.Args[2].Int()
	return poll(k, t, msToNs(timeout))
}

func sysPpoll(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	timeoutAddr, maskAddr, maskSize := args[2].Pointer(), args[3].Pointer(), args[4].Size()
	timeout, e := timeoutAt(k, t, timeoutAddr, timespec)
	if e != 0 {
		return fail(e)
	}
	if r := waitMask(k, t, maskAddr, maskSize); r != 0 {
		return r
	}
	r := poll(k, t, timeout)
	if r != kernel.Pending {
		outLeft(k, t, timeout) // libc hides that
	}
	return r
}

func poll(k *Kernel, t *Thread, timeout int64) Result {
	fdsAddr, n := t.Call.Args[0].Pointer(), t.Call.Args[1].Uint64()
	if n > k.Proc(t).Limits[unix.RLIMIT_NOFILE][0] {
		return fail(unix.EINVAL)
	}
	b := make([]byte, 8*n)
	if !k.Peek(t, fdsAddr, b) {
		return fail(unix.EFAULT)
	}
	count := 0
	var keys []Key
	for i := range int(n) {
		fd := int(int32(binary.LittleEndian.Uint32(b[8*i:])))
		want := uint32(binary.LittleEndian.Uint16(b[8*i+4:])) | unix.POLLERR | unix.POLLHUP
		got := uint32(0)
		if fd >= 0 {
			if f := k.File(t, fd); f == nil {
				got = unix.POLLNVAL
			} else {
				got = k.PollFile(f) & (want | unix.POLLNVAL)
				keys = append(keys, k.KeysOf(f)...)
				if got != 0 {
					saw(k, t, f)
				}
			}
		}
		binary.LittleEndian.PutUint16(b[8*i+6:], uint16(got))
		if got != 0 {
			count++
		}
	}
	over := timeout == 0 && !t.Call.Again || t.Expired(k)
	if count == 0 && (!over || signalWaits(k, t)) {
		return k.Block(t, k.Deadline(t, timeout), keys...)
	}
	if count == 0 {
		k.Empty(t)
		missed(k, t)
	}
	if !k.Out(t, fdsAddr, b) {
		return fail(unix.EFAULT)
	}
	return Result(count)
}

func sysSelect(k *Kernel, t *Thread) Result {
	timeoutAddr := t.Call.Args[4].Pointer()
	timeout, e := timeoutAt(k, t, timeoutAddr, timeval)
	if e != 0 {
		return fail(e)
	}
	r := selectFiles(k, t, timeout)
	if r != kernel.Pending {
		outLeft(k, t, timeout)
	}
	return r
}

func sysPselect6(k *Kernel, t *Thread) Result {
	timeoutAddr, maskAddr := t.Call.Args[4].Pointer(), t.Call.Args[5].Pointer()
	timeout, e := timeoutAt(k, t, timeoutAddr, timespec)
	if e != 0 {
		return fail(e)
	}
	if maskAddr != 0 {
		var b [16]byte
		if !k.Peek(t, maskAddr, b[:]) {
			return fail(unix.EFAULT)
		}
		if r := waitMask(k, t, binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:])); r != 0 {
			return r
		}
	}
	r := selectFiles(k, t, timeout)
	if r != kernel.Pending {
		outLeft(k, t, timeout)
	}
	return r
}

// outLeft writes how much of its timeout a call has left, whatever its result (poll_select_finish in fs/select.c). A
// call that did not wait has used the time of a call; a timeout of zero is left as it is.
func outLeft(k *Kernel, t *Thread, timeout int64) {
	left := timeout - k.Cost.CallNs
	if t.Call.HasUntil {
		left = t.Call.Until - k.Now
	} else if timeout <= 0 {
		return
	}
	left = max(left, 0)
	switch t.Call.Nr {
	case unix.SYS_SELECT:
		k.Out(t, t.Call.Args[4].Pointer(), timevalBytes(left))
	case unix.SYS_PSELECT6:
		k.Out(t, t.Call.Args[4].Pointer(), timespecBytes(left))
	case unix.SYS_PPOLL:
		k.Out(t, t.Call.Args[2].Pointer(), timespecBytes(left))
	}
}

// selectInterrupted is outLeft for a wait that a signal has ended.
func selectInterrupted(k *Kernel, t *Thread) {
	if t.Call.HasUntil {
		outLeft(k, t, 0)
	}
}

// What select(2) counts as readable, writable and exceptional (fs/select.c).
const (
	selectIn  = kernel.PollRDNorm | kernel.PollRDBand | unix.POLLIN | unix.POLLHUP | unix.POLLERR
	selectOut = kernel.PollWRBand | kernel.PollWRNorm | unix.POLLOUT | unix.POLLERR
	selectEx  = unix.POLLPRI
)

func selectFiles(k *Kernel, t *Thread, timeout int64) Result {
	args := &t.Call.Args
	n, sets := args[0].Int(), [3]uint64{args[1].Pointer(), args[2].Pointer(), args[3].Pointer()}
	if n < 0 {
		return fail(unix.EINVAL)
	}
	n = min(n, max(len(k.Tables[k.Proc(t).Table].Slots), 64))
	size := (n + 63) / 64 * 8
	var in, out [3][]byte
	for s := range in {
		in[s], out[s] = make([]byte, size), make([]byte, size)
		if addr := sets[s]; addr != 0 {
			if !k.Peek(t, addr, in[s]) {
				return fail(unix.EFAULT)
			}
			if n%64 != 0 { // descriptors from n on are not asked for
				last := in[s][size-8:]
				binary.LittleEndian.PutUint64(last, binary.LittleEndian.Uint64(last)&(1<<(n%64)-1))
			}
			t.Call.Mix(in[s])
		}
	}
	count := 0
	var keys []Key
	for fd := range n {
		byteAt, bit := fd/8, byte(1)<<(fd%8)
		if (in[0][byteAt]|in[1][byteAt]|in[2][byteAt])&bit == 0 {
			continue
		}
		f := k.File(t, fd)
		if f == nil {
			return fail(unix.EBADF)
		}
		keys = append(keys, k.KeysOf(f)...)
		got := k.PollFile(f)
		for s, mask := range [3]uint32{selectIn, selectOut, selectEx} {
			if in[s][byteAt]&bit != 0 && got&mask != 0 {
				out[s][byteAt] |= bit
				count++
				saw(k, t, f)
			}
		}
	}
	if over := timeout == 0 && !t.Call.Again || t.Expired(k); count == 0 && (!over || signalWaits(k, t)) {
		return k.Block(t, k.Deadline(t, timeout), keys...)
	}
	if count == 0 {
		k.Empty(t)
		missed(k, t)
	}
	for s := range out {
		if addr := sets[s]; addr != 0 && !k.Out(t, addr, out[s]) {
			return fail(unix.EFAULT)
		}
	}
	return Result(count)
}
