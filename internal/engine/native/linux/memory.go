//go:build linux && amd64

package linux

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

func le32(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }

func le64(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }

// iovecs reads an array of struct iovec (readv(2)).
func iovecs(k *Kernel, t *Thread, addr uint64, count uint64) ([]Iovec, unix.Errno) {
	if count > 1024 {
		return nil, unix.EINVAL
	}
	b := make([]byte, 16*count)
	if !k.Peek(t, addr, b) {
		return nil, unix.EFAULT
	}
	v := make([]Iovec, count)
	total := uint64(0)
	for i := range v {
		v[i] = Iovec{Addr: binary.LittleEndian.Uint64(b[16*i:]), Size: binary.LittleEndian.Uint64(b[16*i+8:])}
		if total += v[i].Size; v[i].Size > 1<<62 || total > 1<<62 {
			return nil, unix.EINVAL
		}
	}
	return v, 0
}

// timespec reads a struct timespec as nanoseconds. EINVAL for what Linux calls invalid.
func timespec(k *Kernel, t *Thread, addr uint64) (int64, unix.Errno) { return seconds(k, t, addr, 1) }

// timeoutAt reads a timeout by one of the functions above; -1 is none. A call that is repeated has its deadline already.
func timeoutAt(k *Kernel, t *Thread, addr uint64, read func(*Kernel, *Thread, uint64) (int64, unix.Errno)) (int64, unix.Errno) {
	if addr == 0 || t.Call.Again {
		return -1, 0
	}
	return read(k, t, addr)
}

// itimerspec reads a struct itimerspec.
func itimerspec(k *Kernel, t *Thread, addr uint64) (interval, value int64, e unix.Errno) {
	if interval, e = timespec(k, t, addr); e != 0 {
		return 0, 0, e
	}
	value, e = timespec(k, t, addr+16)
	return interval, value, e
}

// timeval reads a struct timeval as nanoseconds.
func timeval(k *Kernel, t *Thread, addr uint64) (int64, unix.Errno) { return seconds(k, t, addr, 1e3) }

// seconds reads seconds and parts of one, each of partNs nanoseconds.
func seconds(k *Kernel, t *Thread, addr uint64, partNs int64) (int64, unix.Errno) {
	first, second, ok := k.InPair(t, addr)
	if !ok {
		return 0, unix.EFAULT
	}
	return nanoseconds(int64(first), int64(second), partNs)
}

// nanoseconds turns seconds and parts of one, each of partNs nanoseconds, into nanoseconds.
func nanoseconds(sec, part, partNs int64) (int64, unix.Errno) {
	if sec < 0 || part < 0 || part >= 1e9/partNs {
		return 0, unix.EINVAL
	}
	if sec > 1<<33 {
		return 1<<63 - 1, 0
	}
	return sec*1e9 + part*partNs, 0
}

func timespecBytes(ns int64) []byte {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], uint64(ns/1e9))
	binary.LittleEndian.PutUint64(b[8:], uint64(ns%1e9))
	return b[:]
}

func timevalBytes(ns int64) []byte {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], uint64(ns/1e9))
	binary.LittleEndian.PutUint64(b[8:], uint64(ns%1e9/1000))
	return b[:]
}
