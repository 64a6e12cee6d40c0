package shadow

import (
	"unsafe"

	"github.com/bloodhound-dst/bloodhound/live/internal/bv"
)

// heap has the shadows of bytes by address, in lines. Few lines have one, and most questions are about others: a filter answers those.
type heap struct {
	lines  map[uintptr]*line // by address / lineBytes
	spare  []*line           // lines that the next path uses
	filter [filterBits / 64]uint64
	set    []uint32 // the filter's words that are not zero
}

// line has the shadows, of width 8, of neighbouring bytes.
type line struct {
	bytes [lineBytes]*Expr
	count int
}

const (
	lineBytes  = 64
	filterBits = 1 << 16
)

var memory = heap{lines: map[uintptr]*line{}}

func (h *heap) reset() {
	for _, word := range h.set {
		h.filter[word] = 0
	}
	h.set = h.set[:0]
	for _, l := range h.lines {
		*l = line{}
		h.spare = append(h.spare, l)
	}
	clear(h.lines)
}

func slot(n uintptr) uint64 { return uint64(n) * 0x9e3779b97f4a7c15 >> (64 - 16) }

// line is the line of a number, or nil if none of its bytes has a shadow.
func (h *heap) line(n uintptr) *line {
	s := slot(n)
	if h.filter[s/64]>>(s%64)&1 == 0 {
		return nil
	}
	l := h.lines[n]
	if l == nil || l.count == 0 {
		return nil
	}
	return l
}

// visit calls f for each line that has a shadow in a range, with the line's first and last byte in it, until f returns false.
func (h *heap) visit(p, n uintptr, f func(l *line, base, from, to uintptr) bool) {
	if n == 0 || len(h.lines) == 0 {
		return
	}
	first, last := p/lineBytes, (p+n-1)/lineBytes
	step := func(i uintptr, l *line) bool {
		base := i * lineBytes
		return f(l, base, max(p, base)-base, min(p+n, base+lineBytes)-base)
	}
	if last-first > uintptr(len(h.lines)) {
		for i, l := range h.lines {
			if i >= first && i <= last && l.count > 0 && !step(i, l) {
				return
			}
		}
		return
	}
	for i := first; i <= last; i++ {
		if l := h.line(i); l != nil && !step(i, l) {
			return
		}
	}
}

// any reports whether a byte of a range may have a shadow.
func (h *heap) any(p, n uintptr) bool {
	if n == 0 || len(h.lines) == 0 {
		return false
	}
	first, last := p/lineBytes, (p+n-1)/lineBytes
	if first == last {
		return h.line(first) != nil
	}
	found := false
	h.visit(p, n, func(*line, uintptr, uintptr, uintptr) bool {
		found = true
		return false
	})
	return found
}

// some reports whether any byte has a shadow.
func (h *heap) some() bool { return len(h.lines) > 0 }

// exactly reports whether a byte of a range has a shadow.
func (h *heap) exactly(p, n uintptr) bool {
	found := false
	h.visit(p, n, func(l *line, _, from, to uintptr) bool {
		for i := from; i < to; i++ {
			found = found || l.bytes[i] != nil
		}
		return !found
	})
	return found
}

func (h *heap) put(p uintptr, e *Expr) {
	if e != nil && e.Op == bv.Const {
		e = nil
	}
	n := p / lineBytes
	l := h.line(n)
	if l == nil {
		if e == nil {
			return
		}
		l = h.open(n)
	}
	at := &l.bytes[p%lineBytes]
	switch {
	case *at == nil && e != nil:
		l.count++
	case *at != nil && e == nil:
		l.count--
	}
	*at = e
}

// open makes a line, or finds one that has no shadow any more.
func (h *heap) open(n uintptr) *line {
	l := h.lines[n]
	if l != nil {
		return l
	}
	if k := len(h.spare); k > 0 {
		l, h.spare = h.spare[k-1], h.spare[:k-1]
	} else {
		l = new(line)
	}
	h.lines[n] = l
	s := slot(n)
	if h.filter[s/64] == 0 {
		h.set = append(h.set, uint32(s/64))
	}
	h.filter[s/64] |= 1 << (s % 64)
	return l
}

// shadowAt returns the shadow of a byte. value is the byte's present value.
func (h *heap) shadowAt(p uintptr, value byte) *Expr {
	l := h.line(p / lineBytes)
	if l == nil {
		return nil
	}
	e := l.bytes[p%lineBytes]
	if e != nil && e.Concrete != uint64(value) {
		current.Stale++
		h.put(p, nil)
		return nil
	}
	return e
}

// cell is a byte's shadow and its place in a value.
type cell struct {
	at uintptr
	e  *Expr
}

// cells are the shadows of a range of memory, in no order.
func (h *heap) cells(p unsafe.Pointer, n uintptr) (list []cell) {
	h.visit(uintptr(p), n, func(l *line, base, from, to uintptr) bool {
		for i := from; i < to; i++ {
			if l.bytes[i] == nil {
				continue
			}
			at := base + i - uintptr(p)
			if e := h.shadowAt(base+i, *(*byte)(unsafe.Add(p, at))); e != nil {
				list = append(list, cell{at, e})
			}
		}
		return true
	})
	return list
}

// place gives a range of memory the shadows of cells, and no other.
func (h *heap) place(p unsafe.Pointer, n uintptr, list []cell) {
	h.wipe(uintptr(p), n)
	for _, c := range list {
		h.put(uintptr(p)+c.at, c.e)
	}
}

func (h *heap) wipe(p, n uintptr) {
	h.visit(p, n, func(l *line, _, from, to uintptr) bool {
		for i := from; i < to; i++ {
			if l.bytes[i] != nil {
				l.bytes[i] = nil
				l.count--
			}
		}
		return true
	})
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
		e := operand(memory.shadowAt(uintptr(p)+i, value), uint64(value), 8)
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
	if active() {
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
		x, y := memory.shadowAt(uintptr(p)+i, v), memory.shadowAt(uintptr(q)+i, w)
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
