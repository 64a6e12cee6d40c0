package shadow

import (
	"unsafe"

	"github.com/bloodhound-dst/bloodhound/internal/live/bv"
)

// heap has the shadows of bytes by address. Few bytes have one, and most questions are about others: a filter answers those.
type heap struct {
	bytes  map[uintptr]*Expr // of width 8
	filter [filterBits / 64]uint64
	set    []uint32 // the filter's words that are not zero
}

const (
	filterBits = 1 << 18
	granule    = 4 // the logarithm of the bytes that share a bit of the filter
)

var memory = heap{bytes: map[uintptr]*Expr{}}

func (h *heap) reset() {
	for _, word := range h.set {
		h.filter[word] = 0
	}
	h.set = h.set[:0]
	clear(h.bytes)
}

func slot(p uintptr) uint64 {
	return uint64(p>>granule) * 0x9e3779b97f4a7c15 >> (64 - 18)
}

// may reports whether a byte of the granule of p may have a shadow.
func (h *heap) may(p uintptr) bool {
	s := slot(p)
	return h.filter[s/64]>>(s%64)&1 != 0
}

// any reports whether a byte of a range may have a shadow.
func (h *heap) any(p, n uintptr) bool {
	if n == 0 || len(h.bytes) == 0 {
		return false
	}
	if n>>granule > uintptr(len(h.bytes)) {
		for q := range h.bytes {
			if q-p < n {
				return true
			}
		}
		return false
	}
	for g := p >> granule; g <= (p+n-1)>>granule; g++ {
		if h.may(g << granule) {
			return true
		}
	}
	return false
}

func (h *heap) put(p uintptr, e *Expr) {
	if e == nil || e.Op == bv.Const {
		delete(h.bytes, p)
		return
	}
	h.bytes[p] = e
	s := slot(p)
	if h.filter[s/64] == 0 {
		h.set = append(h.set, uint32(s/64))
	}
	h.filter[s/64] |= 1 << (s % 64)
}

// at is the shadow of a byte, whose value is read now.
func (h *heap) at(p uintptr, value byte) *Expr {
	e := h.bytes[p]
	if e != nil && e.Concrete != uint64(value) {
		current.Stale++
		delete(h.bytes, p)
		return nil
	}
	return e
}

// cell is a byte's shadow and its place in a value.
type cell struct {
	at uintptr
	e  *Expr
}

// cells are the shadows of a range of memory.
func (h *heap) cells(p unsafe.Pointer, n uintptr) (list []cell) {
	if !h.any(uintptr(p), n) {
		return nil
	}
	if n > uintptr(len(h.bytes)) {
		for q := range h.bytes {
			if i := q - uintptr(p); i < n {
				if e := h.at(q, *(*byte)(unsafe.Add(p, i))); e != nil {
					list = append(list, cell{i, e})
				}
			}
		}
		return list
	}
	for i := range n {
		if e := h.at(uintptr(p)+i, *(*byte)(unsafe.Add(p, i))); e != nil {
			list = append(list, cell{i, e})
		}
	}
	return list
}

// place gives a range of memory the shadows of cells, and no other.
func (h *heap) place(p unsafe.Pointer, n uintptr, list []cell) {
	if h.any(uintptr(p), n) {
		h.wipe(uintptr(p), n)
	}
	for _, c := range list {
		h.put(uintptr(p)+c.at, c.e)
	}
}

func (h *heap) wipe(p, n uintptr) {
	if n > uintptr(len(h.bytes)) {
		for q := range h.bytes {
			if q-p < n {
				delete(h.bytes, q)
			}
		}
		return
	}
	for i := range n {
		delete(h.bytes, p+i)
	}
}

// read is a number in memory. Machines that are supported have the low byte first.
func read(p unsafe.Pointer, size uintptr) (v uint64) {
	for i := range size {
		v |= uint64(*(*byte)(unsafe.Add(p, i))) << (8 * i)
	}
	return v
}

func write(p unsafe.Pointer, size uintptr, v uint64) {
	for i := range size {
		*(*byte)(unsafe.Add(p, i)) = byte(v >> (8 * i))
	}
}

// Load is the shadow of an integer of size bytes at p.
func Load(p unsafe.Pointer, size uintptr) *Expr { return load(p, size, false) }

// load is the shadow of a number of size bytes at p, high byte first if big is set.
func load(p unsafe.Pointer, size uintptr, big bool) *Expr {
	if !active() || !memory.any(uintptr(p), size) {
		return nil
	}
	var word *Expr
	for i := range size {
		value := *(*byte)(unsafe.Add(p, i))
		e := operand(memory.at(uintptr(p)+i, value), uint64(value), 8)
		switch {
		case word == nil:
			word = e
		case big:
			word = current.builder.Concat(word, e)
		default:
			word = current.builder.Concat(e, word)
		}
	}
	return known(word)
}

// LoadBool is the shadow of a truth value at p.
func LoadBool(p unsafe.Pointer) *Expr {
	e := Load(p, 1)
	if e == nil {
		return nil
	}
	return known(current.builder.Extract(e, 0, 1))
}

// Store makes e the shadow of an integer of size bytes at p.
func Store(p unsafe.Pointer, size uintptr, e *Expr) { store(p, size, e, false) }

// store makes e the shadow of a number of size bytes at p, high byte first if big is set.
func store(p unsafe.Pointer, size uintptr, e *Expr, big bool) {
	if !active() {
		return
	}
	if e == nil {
		Clear(p, size)
		return
	}
	for i := range size {
		at := i
		if big {
			at = size - 1 - i
		}
		memory.put(uintptr(p)+at, current.builder.Extract(e, uint8(8*i), 8))
	}
}

// StoreBool makes e the shadow of a truth value at p.
func StoreBool(p unsafe.Pointer, e *Expr) {
	if active() && e != nil {
		e = current.builder.ZExt(e, 8)
	}
	Store(p, 1, e)
}

// Copy copies the shadows of n bytes, which may overlap. The bytes themselves were copied.
func Copy(dst, src unsafe.Pointer, n uintptr) {
	if active() && dst != src && n > 0 {
		memory.place(dst, n, memory.cells(src, n))
	}
}

// Clear removes the shadows of n bytes.
func Clear(p unsafe.Pointer, n uintptr) {
	if active() && memory.any(uintptr(p), n) {
		memory.wipe(uintptr(p), n)
	}
}

// Same is the shadow of whether n bytes at p and at q are equal: nil if bytes without shadow differ.
func Same(p, q unsafe.Pointer, n uintptr) *Expr {
	if !active() || !memory.any(uintptr(p), n) && !memory.any(uintptr(q), n) {
		return nil
	}
	b := &current.builder
	all := b.Bool(true)
	for i := range n {
		v, w := *(*byte)(unsafe.Add(p, i)), *(*byte)(unsafe.Add(q, i))
		x, y := memory.at(uintptr(p)+i, v), memory.at(uintptr(q)+i, w)
		if x == nil && y == nil {
			if v != w {
				return nil
			}
			continue
		}
		all = b.And(all, b.Eq(operand(x, uint64(v), 8), operand(y, uint64(w), 8)))
	}
	return known(all)
}
