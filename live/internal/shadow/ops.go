package shadow

import (
	"unsafe"

	"github.com/bloodhound-dst/bloodhound/live/internal/bv"
)

// known is e, or nil if it is a constant: what does not depend on an input has no shadow.
func known(e *Expr) *Expr {
	if e.Op == bv.Const {
		return nil
	}
	return e
}

// valid reports whether a shadow belongs to a value.
func valid(e *Expr, v uint64, width uint8) bool {
	return e.Width == width && e.Concrete == v&bv.Mask(width)
}

// operand is the shadow of an operand with the value v.
func operand(e *Expr, v uint64, width uint8) *Expr {
	if e == nil {
		return current.builder.Const(v, width)
	}
	if !valid(e, v, width) {
		current.Stale++
		return current.builder.Const(v, width)
	}
	return e
}

// Binary is the shadow of an operator of two operands of one width, whose values are v and w.
func Binary(op bv.Op, x, y *Expr, v, w uint64, width uint8) *Expr {
	if x == nil && y == nil || !active() {
		return nil
	}
	b := &current.builder
	x, y = operand(x, v, width), operand(y, w, width)
	switch op {
	case bv.Add:
		x = b.Add(x, y)
	case bv.Sub:
		x = b.Sub(x, y)
	case bv.Mul:
		x = b.Mul(x, y)
	case bv.UDiv:
		x = b.UDiv(x, y)
	case bv.URem:
		x = b.URem(x, y)
	case bv.SDiv:
		x = b.SDiv(x, y)
	case bv.SRem:
		x = b.SRem(x, y)
	case bv.And:
		x = b.And(x, y)
	case bv.Or:
		x = b.Or(x, y)
	case bv.Xor:
		x = b.Xor(x, y)
	case bv.Eq:
		x = b.Eq(x, y)
	case bv.Ult:
		x = b.Ult(x, y)
	case bv.Ule:
		x = b.Ule(x, y)
	case bv.Slt:
		x = b.Slt(x, y)
	case bv.Sle:
		x = b.Sle(x, y)
	default:
		panic("shadow: " + op.String() + " is no operator of Go")
	}
	return known(x)
}

// Shift is the shadow of v shifted by n, a number of any width: Go gives zeros, or copies of the sign, for counts of the width and above.
func Shift(op bv.Op, x, n *Expr, v, count uint64, width, countWidth uint8) *Expr {
	if x == nil && n == nil || !active() {
		return nil
	}
	b := &current.builder
	x, n = operand(x, v, width), operand(n, count, countWidth)
	switch {
	case countWidth < width:
		n = b.ZExt(n, width)
	case countWidth > width:
		n = b.Ite(b.Ule(n, b.Const(uint64(width), countWidth)), b.Extract(n, 0, width), b.Const(uint64(width), width))
	}
	switch op {
	case bv.Shl:
		x = b.Shl(x, n)
	case bv.LShr:
		x = b.LShr(x, n)
	default:
		x = b.AShr(x, n)
	}
	return known(x)
}

// Unary is the shadow of -x (Neg), or of ^x and !x (Not).
func Unary(op bv.Op, x *Expr) *Expr {
	if x == nil || !active() {
		return nil
	}
	if op == bv.Neg {
		return known(current.builder.Neg(x))
	}
	return known(current.builder.Not(x))
}

// Convert is the shadow of a conversion between types of integers.
func Convert(x *Expr, signed bool, width uint8) *Expr {
	if x == nil || !active() {
		return nil
	}
	return known(resize(x, signed, width))
}

func resize(x *Expr, signed bool, width uint8) *Expr {
	b := &current.builder
	switch {
	case width < x.Width:
		return b.Extract(x, 0, width)
	case width == x.Width:
		return x
	case signed:
		return b.SExt(x, width)
	}
	return b.ZExt(x, width)
}

// Choose is the shadow of the smaller, or the larger, of two values: take is whether the first is chosen, and less is the comparison that says so.
func Choose(less, x, y *Expr, v, w uint64, width uint8) *Expr {
	if less == nil || !active() {
		return nil
	}
	return known(current.builder.Ite(less, operand(x, v, width), operand(y, w, width)))
}

// Count reports the branch on a count's being negative, where a shift panics.
func Count(site uint32, n *Expr) {
	if n != nil && active() {
		e := current.builder.Slt(n, current.builder.Const(0, n.Width))
		Cond(site, e.Concrete != 0, e)
	}
}

// Divisor reports the branch on a divisor's being zero, where the program panics.
func Divisor(site uint32, y *Expr, w uint64) {
	if y == nil || !active() {
		return
	}
	b := &current.builder
	Cond(site, w == 0, b.Eq(y, b.Const(0, y.Width)))
}

// Index reports the branch on an index' being within bounds, where the program panics, and fixes the index.
func Index(site uint32, i *Expr, v uint64, signed bool, length int) {
	if Within(site, i, v, signed, length) {
		Fix(site, i, v)
	}
}

// Within reports the branch on an index' being below a length.
func Within(site uint32, i *Expr, v uint64, signed bool, length int) bool {
	if i == nil || !active() {
		return true
	}
	b := &current.builder
	wide := resize(i, signed, 64)
	return Cond(site, wide.Concrete < uint64(length), b.Ult(wide, b.Const(uint64(length), 64)))
}

const (
	// elementsMax is how many elements a list has at most from which a symbolic index chooses. In longer lists it is fixed.
	elementsMax = 1 << 12
	// choicesMax is how many of them differ at most from the most frequent one.
	choicesMax = 256
)

// Element is the shadow of element v, at p, of a list, whose index has the shadow i: a choice of the elements that differ from the most frequent one.
func Element(site uint32, p unsafe.Pointer, size uintptr, truth bool, i *Expr, v uint64, signed bool, length int) *Expr {
	load := func(q unsafe.Pointer) *Expr {
		if truth {
			return LoadBool(q)
		}
		return Load(q, size)
	}
	if i == nil || !active() {
		return load(p)
	}
	if length > elementsMax {
		Fix(site, i, v)
		return load(p)
	}
	b := &current.builder
	width := uint8(size * 8)
	if truth {
		width = 1
	}
	wide := resize(i, signed, 64)
	first := unsafe.Add(p, -int(v)*int(size))
	// Elements with shadows have other values on other paths, where the choice must be the same expression.
	counts := map[uint64]int{}
	common := uint64(0)
	for k := range length {
		q := unsafe.Add(first, k*int(size))
		if x := read(q, size); !memory.exactly(uintptr(q), size) {
			if counts[x]++; counts[x] > counts[common] {
				common = x
			}
		}
	}
	if length-counts[common] > choicesMax {
		Fix(site, i, v)
		return load(p)
	}
	e, shadows := b.Const(common, width), memory.any(uintptr(first), uintptr(length)*size)
	for k := range length {
		q := unsafe.Add(first, k*int(size))
		x := read(q, size)
		var s *Expr
		if shadows {
			s = load(q)
		}
		if s == nil && x == common {
			continue
		}
		e = b.Ite(b.Eq(wide, b.Const(uint64(k), 64)), operand(s, x, width), e)
	}
	return known(e)
}
