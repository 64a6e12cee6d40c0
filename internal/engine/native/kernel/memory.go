//go:build linux && amd64

package kernel

import (
	"bytes"
	"encoding/binary"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
	"github.com/cespare/xxhash/v2"
	"golang.org/x/sys/unix"
)

// digest mixes bytes into the digest of the call's event.
func (c *Call) digest(p []byte) {
	c.Digest = (c.Digest ^ xxhash.Sum64(p)) * 0x9e3779b97f4a7c15
}

// peek reads memory that may hold pointers: not part of the event.
func (k *Kernel) peek(t *Thread, addr uint64, p []byte) bool {
	return k.M.Read(t.ID, addr, p) == len(p)
}

// poke writes memory that may hold pointers: not part of the event.
func (k *Kernel) poke(t *Thread, addr uint64, p []byte) bool {
	return k.M.Write(t.ID, addr, p) == len(p)
}

// in reads len(p) bytes of the program's memory; false means EFAULT.
func (k *Kernel) in(t *Thread, addr uint64, p []byte) bool {
	if !k.peek(t, addr, p) {
		return false
	}
	t.Call.digest(p)
	return true
}

// out writes to the program's memory; false means EFAULT.
func (k *Kernel) out(t *Thread, addr uint64, p []byte) bool {
	if !k.poke(t, addr, p) {
		return false
	}
	t.Call.digest(p)
	return true
}

// outs is out of several parts in this order, at the cost of one.
func (k *Kernel) outs(t *Thread, parts ...machine.Part) bool {
	n := k.M.WriteParts(t.ID, parts...)
	for _, p := range parts {
		if n < len(p.Data) {
			return false
		}
		n -= len(p.Data)
		t.Call.digest(p.Data)
	}
	return true
}

func le32(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }
func le64(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }

// cstring reads a NUL-terminated string of at most limit bytes.
func (k *Kernel) cstring(t *Thread, addr uint64, limit int) (string, unix.Errno) {
	var out []byte
	for len(out) <= limit {
		// Up to the end of the page: the next one may not be mapped.
		var chunk [256]byte
		n := int(min(uint64(len(chunk)), 4096-addr%4096))
		got := k.M.Read(t.ID, addr, chunk[:n])
		if got == 0 {
			return "", unix.EFAULT
		}
		if i := bytes.IndexByte(chunk[:got], 0); i >= 0 {
			out = append(out, chunk[:i]...)
			if len(out) > limit {
				break
			}
			t.Call.digest(out)
			return string(out), 0
		}
		out = append(out, chunk[:got]...)
		addr += uint64(got)
	}
	return "", unix.ENAMETOOLONG
}

// path reads a path name and makes it the event's detail.
func (k *Kernel) path(t *Thread, addr uint64) (string, unix.Errno) {
	s, e := k.cstring(t, addr, unix.PathMax-1)
	if e == 0 && t.Call.Detail == "" {
		t.Call.Detail = s
	}
	return s, e
}

func (k *Kernel) inU64(t *Thread, addr uint64) (uint64, bool) {
	var b [8]byte
	ok := k.in(t, addr, b[:])
	return binary.LittleEndian.Uint64(b[:]), ok
}

func (k *Kernel) inU32(t *Thread, addr uint64) (uint32, bool) {
	var b [4]byte
	ok := k.in(t, addr, b[:])
	return binary.LittleEndian.Uint32(b[:]), ok
}

func (k *Kernel) peekU64(t *Thread, addr uint64) (uint64, bool) {
	var b [8]byte
	ok := k.peek(t, addr, b[:])
	return binary.LittleEndian.Uint64(b[:]), ok
}

func (k *Kernel) outU64(t *Thread, addr uint64, v uint64) bool {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	return k.out(t, addr, b[:])
}

func (k *Kernel) outU32(t *Thread, addr uint64, v uint32) bool {
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], v)
	return k.out(t, addr, b[:])
}

// Iovec is struct iovec.
type Iovec struct{ Addr, Size uint64 }

// iovecs reads an array of struct iovec (readv(2)).
func (k *Kernel) iovecs(t *Thread, addr uint64, count uint64) ([]Iovec, unix.Errno) {
	if count > 1024 {
		return nil, unix.EINVAL
	}
	b := make([]byte, 16*count)
	if !k.peek(t, addr, b) {
		return nil, unix.EFAULT
	}
	v := make([]Iovec, count)
	total := uint64(0)
	for i := range v {
		v[i] = Iovec{binary.LittleEndian.Uint64(b[16*i:]), binary.LittleEndian.Uint64(b[16*i+8:])}
		if total += v[i].Size; v[i].Size > 1<<62 || total > 1<<62 {
			return nil, unix.EINVAL
		}
	}
	return v, 0
}

// maxTransfer bounds what one read or write moves, as the kernel's MAX_RW_COUNT does (there 2 GiB - 4 KiB).
const maxTransfer = 16 << 20

// gather reads the bytes of an iovec list, at most limit of them (limit < 0: maxTransfer). Bytes up to the first
// unreadable one are returned; nil and EFAULT if there are none.
func (k *Kernel) gather(t *Thread, v []Iovec, limit int) ([]byte, unix.Errno) {
	if limit < 0 || limit > maxTransfer {
		limit = maxTransfer
	}
	total := 0
	for _, s := range v {
		total += int(min(s.Size, uint64(limit-total)))
	}
	b := make([]byte, total)
	n := 0
	for _, s := range v {
		want := int(min(s.Size, uint64(total-n)))
		got := k.M.Read(t.ID, s.Addr, b[n:n+want])
		n += got
		if got < want {
			if n == 0 {
				return nil, unix.EFAULT
			}
			break
		}
	}
	t.Call.digest(b[:n])
	return b[:n], 0
}

// scatter writes p into an iovec list; false means EFAULT.
func (k *Kernel) scatter(t *Thread, v []Iovec, p []byte) bool {
	return k.scatterSome(t, v, p) == len(p)
}

// scatterSome writes p into an iovec list up to the first byte that cannot be written, and counts what it wrote.
func (k *Kernel) scatterSome(t *Thread, v []Iovec, p []byte) int {
	t.Call.digest(p)
	done := 0
	for _, s := range v {
		n := int(min(s.Size, uint64(len(p)-done)))
		m := k.M.Write(t.ID, s.Addr, p[done:done+n])
		done += m
		if m < n || done == len(p) {
			break
		}
	}
	return done
}

func total(v []Iovec) int {
	n := uint64(0)
	for _, s := range v {
		n += s.Size
	}
	return int(min(n, maxTransfer))
}

// timespec reads a struct timespec as nanoseconds. EINVAL for what Linux calls invalid.
func (k *Kernel) timespec(t *Thread, addr uint64) (int64, unix.Errno) {
	var b [16]byte
	if !k.in(t, addr, b[:]) {
		return 0, unix.EFAULT
	}
	sec, nsec := int64(binary.LittleEndian.Uint64(b[:])), int64(binary.LittleEndian.Uint64(b[8:]))
	if sec < 0 || nsec < 0 || nsec >= 1e9 {
		return 0, unix.EINVAL
	}
	if sec > 1<<33 {
		return 1<<63 - 1, 0
	}
	return sec*1e9 + nsec, 0
}

// itimerspec reads a struct itimerspec.
func (k *Kernel) itimerspec(t *Thread, addr uint64) (interval, value int64, e unix.Errno) {
	if interval, e = k.timespec(t, addr); e != 0 {
		return 0, 0, e
	}
	value, e = k.timespec(t, addr+16)
	return interval, value, e
}

// timeval reads a struct timeval as nanoseconds.
func (k *Kernel) timeval(t *Thread, addr uint64) (int64, unix.Errno) {
	var b [16]byte
	if !k.in(t, addr, b[:]) {
		return 0, unix.EFAULT
	}
	sec, usec := int64(binary.LittleEndian.Uint64(b[:])), int64(binary.LittleEndian.Uint64(b[8:]))
	if sec < 0 || usec < 0 || usec >= 1e6 {
		return 0, unix.EINVAL
	}
	if sec > 1<<33 {
		return 1<<63 - 1, 0
	}
	return sec*1e9 + usec*1e3, 0
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
