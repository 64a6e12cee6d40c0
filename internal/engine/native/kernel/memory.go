//go:build linux && amd64

package kernel

import (
	"bytes"
	"encoding/binary"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
	"github.com/cespare/xxhash/v2"
	"golang.org/x/sys/unix"
)

// Mix mixes bytes into the digest of the call's event.
func (c *Call) Mix(p []byte) {
	c.Digest = (c.Digest ^ xxhash.Sum64(p)) * 0x9e3779b97f4a7c15
}

// Peek reads memory that may hold pointers: not part of the event.
func (k *Kernel) Peek(t *Thread, addr uint64, p []byte) bool {
	return k.M.Read(t.ID, addr, p) == len(p)
}

// Poke writes memory that may hold pointers: not part of the event.
func (k *Kernel) Poke(t *Thread, addr uint64, p []byte) bool {
	return k.M.Write(t.ID, addr, p) == len(p)
}

// In reads len(p) bytes of the program's memory; false means EFAULT.
func (k *Kernel) In(t *Thread, addr uint64, p []byte) bool {
	if !k.Peek(t, addr, p) {
		return false
	}
	t.Call.Mix(p)
	return true
}

// Out writes to the program's memory; false means EFAULT.
func (k *Kernel) Out(t *Thread, addr uint64, p []byte) bool {
	if !k.Poke(t, addr, p) {
		return false
	}
	t.Call.Mix(p)
	return true
}

// Outs is out of several parts in this order, at the cost of one.
func (k *Kernel) Outs(t *Thread, parts ...machine.Part) bool {
	n := k.M.WriteParts(t.ID, parts...)
	for _, p := range parts {
		if n < len(p.Data) {
			return false
		}
		n -= len(p.Data)
		t.Call.Mix(p.Data)
	}
	return true
}

// CString reads a NUL-terminated string of at most limit bytes.
func (k *Kernel) CString(t *Thread, addr uint64, limit int) (string, unix.Errno) {
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
			t.Call.Mix(out)
			return string(out), 0
		}
		out = append(out, chunk[:got]...)
		addr += uint64(got)
	}
	return "", unix.ENAMETOOLONG
}

// Path reads a path name and makes it the event's detail.
func (k *Kernel) Path(t *Thread, addr uint64) (string, unix.Errno) {
	s, e := k.CString(t, addr, unix.PathMax-1)
	if e == 0 && t.Call.Detail == "" {
		t.Call.Detail = s
	}
	return s, e
}

// cleared is room for numbers of a program's memory, which are 0 where they cannot be read.
func (k *Kernel) cleared(size int) []byte {
	k.number = [16]byte{}
	return k.number[:size]
}

// InU64 is In of a number.
func (k *Kernel) InU64(t *Thread, addr uint64) (uint64, bool) {
	b := k.cleared(8)
	ok := k.In(t, addr, b)
	return binary.LittleEndian.Uint64(b), ok
}

// InPair is In of two numbers, one after the other.
func (k *Kernel) InPair(t *Thread, addr uint64) (first, second uint64, ok bool) {
	b := k.cleared(16)
	ok = k.In(t, addr, b)
	return binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]), ok
}

// InU32 is In of a number.
func (k *Kernel) InU32(t *Thread, addr uint64) (uint32, bool) {
	b := k.cleared(4)
	ok := k.In(t, addr, b)
	return binary.LittleEndian.Uint32(b), ok
}

// PeekU64 is Peek of a number.
func (k *Kernel) PeekU64(t *Thread, addr uint64) (uint64, bool) {
	b := k.cleared(8)
	ok := k.Peek(t, addr, b)
	return binary.LittleEndian.Uint64(b), ok
}

// OutU64 is Out of a number.
func (k *Kernel) OutU64(t *Thread, addr uint64, v uint64) bool {
	b := k.number[:8]
	binary.LittleEndian.PutUint64(b, v)
	return k.Out(t, addr, b)
}

// OutU32 is Out of a number.
func (k *Kernel) OutU32(t *Thread, addr uint64, v uint32) bool {
	b := k.number[:4]
	binary.LittleEndian.PutUint32(b, v)
	return k.Out(t, addr, b)
}

// Iovec is struct iovec.
type Iovec struct{ Addr, Size uint64 }

// MaxTransfer bounds what one read or write moves, as the kernel's MAX_RW_COUNT does (there 2 GiB - 4 KiB).
const MaxTransfer = 16 << 20

// Gather reads the bytes of an iovec list, at most limit of them (limit < 0: maxTransfer). Bytes up to the first
// unreadable one are returned; nil and EFAULT if there are none.
func (k *Kernel) Gather(t *Thread, v []Iovec, limit int) ([]byte, unix.Errno) {
	if limit < 0 || limit > MaxTransfer {
		limit = MaxTransfer
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
	t.Call.Mix(b[:n])
	return b[:n], 0
}

// Scatter writes p into an iovec list; false means EFAULT.
func (k *Kernel) Scatter(t *Thread, v []Iovec, p []byte) bool {
	return k.ScatterSome(t, v, p) == len(p)
}

// ScatterSome writes p into an iovec list up to the first byte that cannot be written, and counts what it wrote.
func (k *Kernel) ScatterSome(t *Thread, v []Iovec, p []byte) int {
	t.Call.Mix(p)
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

// TotalBytes is how many bytes a list names, at most MaxTransfer.
func TotalBytes(v []Iovec) int {
	n := uint64(0)
	for _, s := range v {
		n += s.Size
	}
	return int(min(n, MaxTransfer))
}
