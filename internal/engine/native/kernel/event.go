//go:build linux && amd64

package kernel

import (
	"crypto/sha256"
	"encoding"
	"encoding/binary"
	"hash"

	"github.com/bloodhound-dst/bloodhound/internal/clone"
	"github.com/bloodhound-dst/bloodhound/internal/record"
)

// Event is record.Event.
type Event = record.Event

type hasher struct {
	h   hash.Hash
	buf []byte
}

func newHasher() hasher { return hasher{h: sha256.New(), buf: make([]byte, 0, 256)} }

func (h *hasher) state() []byte {
	b, err := h.h.(encoding.BinaryMarshaler).MarshalBinary()
	if err != nil {
		panic("kernel: hash state: " + err.Error())
	}
	return b
}

func (h *hasher) restore(b []byte) {
	h.h = sha256.New()
	if err := h.h.(encoding.BinaryUnmarshaler).UnmarshalBinary(b); err != nil {
		panic("kernel: hash state: " + err.Error())
	}
}

// Sums are the trace hash and the strict hash so far.
func (k *Kernel) Sums() (trace, strict []byte) { return k.hash.h.Sum(nil), k.strict.h.Sum(nil) }

// Save copies the State, with the data that is kept outside of the State for speed.
func (k *Kernel) Save() *State {
	k.State.Hash, k.State.Strict = k.hash.state(), k.strict.state()
	return clone.Deep(k.State)
}

// Load continues with a State that Save returned, in a kernel with the same machine and handles.
func (k *Kernel) Load(s *State) {
	k.State = s
	k.hash.restore(s.Hash)
	k.strict.restore(s.Strict)
}

// record makes an event of a finished call. A developer who changes what is hashed, here or in Happen,
// changes report.TraceVersion.
func (k *Kernel) record(t *Thread, e *Syscall, result int64) {
	if e.Pointer && result >= 0 {
		result = 0
	}
	c := &t.Call
	k.Events++
	b := k.hash.buf[:0]
	b = binary.LittleEndian.AppendUint64(b, k.Events)
	b = binary.LittleEndian.AppendUint64(b, uint64(k.Now))
	b = append(b, t.Name...)
	b = append(b, 0, byte(c.Nr), byte(c.Nr>>8))
	var scalars [6]int64
	n := 0
	for i := range e.Scalars {
		if e.Scalars[i] {
			scalars[n] = c.Args[i].Int64()
			b = binary.LittleEndian.AppendUint64(b, uint64(c.Args[i]))
			n++
		}
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(result))
	b = binary.LittleEndian.AppendUint64(b, c.Digest)
	b = binary.LittleEndian.AppendUint64(b, t.Clocks)
	b = append(b, c.Detail...)
	k.hash.h.Write(b)
	k.follows(t, result)
	if l := &k.Nodes[t.Node].Life; l.Tag != 0 {
		k.system.Recorded(k, l, t, result)
	}
	if e.Changes != ChangesNothing || e.Receives {
		k.system.Changed(k, t, e, result)
	}
	b = binary.LittleEndian.AppendUint64(b, c.IP)
	for _, a := range c.Args {
		b = binary.LittleEndian.AppendUint64(b, uint64(a))
	}
	k.strict.h.Write(b)
	k.hash.buf = b
	if k.Observe != nil {
		k.Observe(&Event{Number: k.Events, TimeNs: k.Now, Node: k.Nodes[t.Node].Name, Thread: t.Name, Call: e.Name,
			Args: append([]int64(nil), scalars[:n]...), Result: result, Bytes: c.Digest, Clocks: t.Clocks, Detail: c.Detail, Object: k.object(t, e)})
	}
	t.Clocks = 0
}

// object reports what kind of thing the descriptor of a call refers to; only for people, so it is no part of a hash.
func (k *Kernel) object(t *Thread, e *Syscall) string {
	if !e.Descriptor || t.State == Dead || k.Tables[k.Proc(t).Table] == nil {
		return ""
	}
	f := k.File(t, t.Call.Args[0].Int())
	if f == nil {
		return ""
	}
	return k.ObjectOf(f)
}

// ObjectOf names the kind of thing that an open file refers to; empty for kinds that are not named.
func (k *Kernel) ObjectOf(f *File) string {
	if k.Kind(f).Object == nil {
		return ""
	}
	return k.Kind(f).Object(k, f)
}

// Happen records something that is no call as an event: a signal, an exit, a fault, a node that starts.
func (k *Kernel) Happen(node, thread, what string, value int64, detail string) uint64 {
	k.Events++
	b := k.hash.buf[:0]
	b = binary.LittleEndian.AppendUint64(b, k.Events)
	b = binary.LittleEndian.AppendUint64(b, uint64(k.Now))
	for _, s := range []string{node, thread, what, detail} {
		b = append(append(b, s...), 0)
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(value))
	k.hash.h.Write(b)
	k.strict.h.Write(b)
	k.hash.buf = b
	if k.Observe != nil {
		k.Observe(&Event{Number: k.Events, TimeNs: k.Now, Node: node, Thread: thread, Call: what, Result: value, Detail: detail})
	}
	return k.Events
}
