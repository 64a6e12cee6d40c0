package shadow

import (
	"unsafe"

	"github.com/bloodhound-dst/bloodhound/live/internal/bv"
)

// Big is the shadow of a number of size bytes at p, high byte first.
func Big(p unsafe.Pointer, size uintptr) *Expr { return load(p, size, true) }

// PutBig makes e the shadow of a number of size bytes at p, high byte first.
func PutBig(p unsafe.Pointer, size uintptr, e *Expr) { store(p, size, e, true) }

// Ones is the shadow of bits.OnesCount of x, in the width of an int.
func Ones(x *Expr) *Expr {
	if x == nil || !active() {
		return nil
	}
	b := &current.builder
	sum := b.Const(0, 64)
	for i := range x.Width {
		sum = b.Add(sum, b.ZExt(b.Extract(x, i, 1), 64))
	}
	return known(sum)
}

// Length is the shadow of bits.Len of x, in the width of an int.
func Length(x *Expr) *Expr {
	if x == nil || !active() {
		return nil
	}
	b := &current.builder
	n := b.Const(0, 64)
	for i := range x.Width {
		n = b.Ite(b.Eq(b.Extract(x, i, 1), b.Const(1, 1)), b.Const(uint64(i)+1, 64), n)
	}
	return known(n)
}

// LeadingZeros is the shadow of bits.LeadingZeros of x.
func LeadingZeros(x *Expr) *Expr {
	n := Length(x)
	if n == nil {
		return nil
	}
	b := &current.builder
	return known(b.Sub(b.Const(uint64(x.Width), 64), n))
}

// TrailingZeros is the shadow of bits.TrailingZeros of x.
func TrailingZeros(x *Expr) *Expr {
	if x == nil || !active() {
		return nil
	}
	b := &current.builder
	n := b.Const(uint64(x.Width), 64)
	for i := int(x.Width) - 1; i >= 0; i-- {
		n = b.Ite(b.Eq(b.Extract(x, uint8(i), 1), b.Const(1, 1)), b.Const(uint64(i), 64), n)
	}
	return known(n)
}

// ReverseBytes is the shadow of bits.ReverseBytes of x.
func ReverseBytes(x *Expr) *Expr {
	if x == nil || !active() {
		return nil
	}
	b := &current.builder
	e := b.Extract(x, 0, 8)
	for i := uint8(8); i < x.Width; i += 8 {
		e = b.Concat(e, b.Extract(x, i, 8))
	}
	return known(e)
}

// Compare is the shadow of a comparison of strings that gives -1, 0 or 1.
func Compare(s, t string) *Expr {
	equal, less := TextEqual(s, t), TextLess(s, t)
	if equal == nil && less == nil {
		return nil
	}
	b := &current.builder
	equal, less = operand(equal, truth(s == t), 1), operand(less, truth(s < t), 1)
	return known(b.Ite(equal, b.Const(0, 64), b.Ite(less, b.Const(bv.Mask(64), 64), b.Const(1, 64))))
}

// Find is the shadow of the index of the first byte c in n bytes at p, or of -1.
func Find(p unsafe.Pointer, n int, c *Expr, value byte) *Expr {
	if !active() || c == nil && !memory.any(uintptr(p), uintptr(n)) {
		return nil
	}
	b := &current.builder
	c = operand(c, uint64(value), 8)
	at := b.Const(bv.Mask(64), 64)
	for i := n - 1; i >= 0; i-- {
		v := *(*byte)(unsafe.Add(p, i))
		e := operand(memory.shadowAt(uintptr(p)+uintptr(i), v), uint64(v), 8)
		at = b.Ite(b.Eq(e, c), b.Const(uint64(i), 64), at)
	}
	return known(at)
}

func truth(v bool) uint64 {
	if v {
		return 1
	}
	return 0
}

// word is how an interface holds its value: a pointer to it, or the value itself if that is a pointer.
type word struct {
	typ, data unsafe.Pointer
}

// Boxed is where an interface holds a value that is no pointer.
func Boxed(i any) unsafe.Pointer { return (*word)(unsafe.Pointer(&i)).data }

// Box gives an interface that holds the n bytes at p their shadows. The runtime shares the memory of small numbers, so those get
// memory of their own; no value of at most eight bytes that has a shadow has a pointer in it.
func Box(i *any, p unsafe.Pointer, n uintptr) {
	if !active() || !memory.any(uintptr(p), n) {
		return
	}
	w := (*word)(unsafe.Pointer(i))
	if n <= 8 {
		w.data = number64(read(w.data, n))
	}
	Copy(w.data, p, n)
}

// BoxNumber gives an interface that holds a number, or a truth value, of size bytes the shadow e.
func BoxNumber(i *any, size uintptr, e *Expr) {
	if e == nil || !active() {
		return
	}
	w := (*word)(unsafe.Pointer(i))
	w.data = number64(read(w.data, size))
	if e.Width == 1 {
		StoreBool(w.data, e)
	} else {
		Store(w.data, size, e)
	}
}

func number64(v uint64) unsafe.Pointer {
	box := new(uint64)
	*box = v
	return unsafe.Pointer(box)
}
