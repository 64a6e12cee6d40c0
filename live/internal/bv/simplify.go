package bv

import "math/bits"

// The constructors give the simplest form that they know. What the forms have in common:
//
//   - Constants are folded. A constant operand of a commutative operator is the second one; other operands have the order in which they were made.
//   - What only moves bits (masks of a run of ones, shifts by constants, extensions with zeros, words put together from bytes by
//     shifts and Or, a choice of two constants) is a Concat of pieces, nested to the right,
//     neighbours joined; a ZExt stands for a leading zero piece, and a SExt for a leading piece of copies of the next bit. So the
//     bytes of a word that were stored one by one are the word again.
//   - A comparison with a constant is Ult(x, c) or Ule(c, x), and alike for signed ones; Not of a comparison is a comparison.

// ordered puts a constant second, and else what was made first, first.
func ordered(x, y *Expr) (*Expr, *Expr) {
	if x.Op == Const || y.Op != Const && x.id > y.id {
		return y, x
	}
	return x, y
}

func (e *Expr) isZero() bool { return e.IsConst(0) }
func (e *Expr) isOnes() bool { return e.IsConst(Mask(e.Width)) }

// inverse reports whether one of x and y is Not of the other.
func inverse(x, y *Expr) bool { return x.Op == Not && x.A == y || y.Op == Not && y.A == x }

// hasConst reports whether e is an operator whose second operand is a constant.
func (e *Expr) hasConst(op Op) bool { return e.Op == op && e.B.Op == Const }

// Add is x + y, modulo 2 to the width.
func (b *Builder) Add(x, y *Expr) *Expr {
	checkEqual(Add, x, y)
	x, y = ordered(x, y)
	w := x.Width
	switch {
	case w == 1:
		return b.Xor(x, y)
	case y.isZero():
		return x
	case y.Op == Const && x.hasConst(Add):
		return b.Add(x.A, b.Const(x.B.Bits+y.Bits, w))
	case y.Op == Const && x.Op == Sub && x.A.Op == Const:
		return b.Sub(b.Const(x.A.Bits+y.Bits, w), x.B)
	case x == y:
		return b.Shl(x, b.Const(1, w))
	case y.Op == Neg:
		return b.Sub(x, y.A)
	case x.Op == Neg:
		return b.Sub(y, x.A)
	case x.Op == Sub && x.B == y:
		return x.A
	case y.Op == Sub && y.B == x:
		return y.A
	}
	if e := b.overlay(Add, x, y); e != nil {
		return e
	}
	return b.node(Add, w, 0, x, y, nil)
}

// Sub is x - y, modulo 2 to the width.
func (b *Builder) Sub(x, y *Expr) *Expr {
	checkEqual(Sub, x, y)
	w := x.Width
	switch {
	case w == 1:
		return b.Xor(x, y)
	case x == y:
		return b.Const(0, w)
	case y.Op == Const:
		return b.Add(x, b.Const(-y.Bits, w))
	case x.isZero():
		return b.Neg(y)
	case y.Op == Neg:
		return b.Add(x, y.A)
	case x.Op == Add && x.A == y:
		return x.B
	case x.Op == Add && x.B == y:
		return x.A
	case x.Op == Const && y.hasConst(Add): // c - (z + d)
		return b.Sub(b.Const(x.Bits-y.B.Bits, w), y.A)
	case x.Op == Const && y.Op == Sub && y.A.Op == Const: // c - (d - z)
		return b.Add(y.B, b.Const(x.Bits-y.A.Bits, w))
	}
	return b.node(Sub, w, 0, x, y, nil)
}

// Neg is -x, modulo 2 to the width.
func (b *Builder) Neg(x *Expr) *Expr {
	switch {
	case x.Width == 1:
		return x
	case x.Op == Neg:
		return x.A
	case x.Op == Sub:
		return b.Sub(x.B, x.A)
	}
	return b.node(Neg, x.Width, 0, x, nil, nil)
}

// Mul is x * y, modulo 2 to the width.
func (b *Builder) Mul(x, y *Expr) *Expr {
	checkEqual(Mul, x, y)
	x, y = ordered(x, y)
	w := x.Width
	if w == 1 {
		return b.And(x, y)
	}
	if y.Op == Const {
		k, power := powerOfTwo(y.Bits)
		switch {
		case y.isZero():
			return y
		case power:
			return b.Shl(x, b.Const(uint64(k), w))
		case y.isOnes():
			return b.Neg(x)
		case x.hasConst(Mul):
			return b.Mul(x.A, b.Const(x.B.Bits*y.Bits, w))
		}
	}
	return b.node(Mul, w, 0, x, y, nil)
}

// UDiv is x / y of numbers without sign; all ones if y is 0.
func (b *Builder) UDiv(x, y *Expr) *Expr {
	checkEqual(UDiv, x, y)
	w := x.Width
	if y.Op == Const && y.Bits != 0 {
		k, power := powerOfTwo(y.Bits)
		switch {
		case power:
			return b.LShr(x, b.Const(uint64(k), w))
		case x.Op == ZExt && y.Bits > Mask(x.A.Width):
			return b.Const(0, w)
		case x.Op == ZExt:
			return b.ZExt(b.UDiv(x.A, b.Const(y.Bits, x.A.Width)), w)
		}
	}
	return b.node(UDiv, w, 0, x, y, nil)
}

// URem is x % y of numbers without sign; x if y is 0.
func (b *Builder) URem(x, y *Expr) *Expr {
	checkEqual(URem, x, y)
	w := x.Width
	if y.Op == Const {
		k, power := powerOfTwo(y.Bits)
		switch {
		case y.isZero():
			return x
		case y.Bits == 1:
			return b.Const(0, w)
		case power:
			return b.ZExt(b.Extract(x, 0, k), w)
		case x.Op == ZExt && y.Bits > Mask(x.A.Width):
			return x
		case x.Op == ZExt:
			return b.ZExt(b.URem(x.A, b.Const(y.Bits, x.A.Width)), w)
		}
	}
	return b.node(URem, w, 0, x, y, nil)
}

// SDiv is x / y of numbers in two's complement, rounded towards zero; -1 if y is 0, and 1 if x is negative, too.
func (b *Builder) SDiv(x, y *Expr) *Expr {
	checkEqual(SDiv, x, y)
	switch {
	case x.natural() && y.natural():
		return b.UDiv(x, y)
	case y.isOnes() && y.Width > 1:
		return b.Neg(x)
	}
	return b.node(SDiv, x.Width, 0, x, y, nil)
}

// SRem is x % y of numbers in two's complement, with the sign of x; x if y is 0.
func (b *Builder) SRem(x, y *Expr) *Expr {
	checkEqual(SRem, x, y)
	switch {
	case y.isZero():
		return x
	case x.natural() && y.natural():
		return b.URem(x, y)
	}
	return b.node(SRem, x.Width, 0, x, y, nil)
}

// natural reports whether e is seen not to be negative.
func (e *Expr) natural() bool {
	return e.Op == ZExt || e.Op == Const && e.Bits&signBit(e.Width) == 0
}

// And is x & y.
func (b *Builder) And(x, y *Expr) *Expr { return b.lattice(And, x, y, 0, Mask(x.Width)) }

// Or is x | y.
func (b *Builder) Or(x, y *Expr) *Expr { return b.lattice(Or, x, y, Mask(x.Width), 0) }

// lattice is And or Or: one constant as operand is the result, and another one changes nothing.
func (b *Builder) lattice(op Op, x, y *Expr, result, nothing uint64) *Expr {
	checkEqual(op, x, y)
	x, y = ordered(x, y)
	switch {
	case y.IsConst(result), x == y, y.Op == op && (y.A == x || y.B == x):
		return y
	case y.IsConst(nothing), x.Op == op && (x.A == y || x.B == y):
		return x
	case inverse(x, y):
		return b.Const(result, x.Width)
	case y.Op == Const && x.hasConst(op):
		return b.lattice(op, x.A, b.node(op, x.Width, 0, x.B, y, nil), result, nothing)
	}
	if e := b.overlay(op, x, y); e != nil {
		return e
	}
	return b.node(op, x.Width, 0, x, y, nil)
}

// Xor is x ^ y; of truth values, whether they differ.
func (b *Builder) Xor(x, y *Expr) *Expr {
	checkEqual(Xor, x, y)
	x, y = ordered(x, y)
	switch {
	case y.isZero():
		return x
	case x == y:
		return b.Const(0, x.Width)
	case y.isOnes():
		return b.Not(x)
	case x.Op == Not:
		return b.Not(b.Xor(x.A, y))
	case y.Op == Not:
		return b.Not(b.Xor(x, y.A))
	case y.Op == Const && x.hasConst(Xor):
		return b.Xor(x.A, b.Const(x.B.Bits^y.Bits, x.Width))
	}
	if e := b.overlay(Xor, x, y); e != nil {
		return e
	}
	return b.node(Xor, x.Width, 0, x, y, nil)
}

// Not is ^x; of a truth value, its opposite.
func (b *Builder) Not(x *Expr) *Expr {
	switch x.Op {
	case Not:
		return x.A
	case Ult:
		return b.node(Ule, 1, 0, x.B, x.A, nil)
	case Ule:
		return b.node(Ult, 1, 0, x.B, x.A, nil)
	case Slt:
		return b.node(Sle, 1, 0, x.B, x.A, nil)
	case Sle:
		return b.node(Slt, 1, 0, x.B, x.A, nil)
	}
	return b.node(Not, x.Width, 0, x, nil, nil)
}

// amount is the number of bits of a shift by y, in the width of what is shifted. Go's counts have any width.
func (b *Builder) amount(y *Expr, width uint8) *Expr {
	switch {
	case y.Width < width:
		return b.ZExt(y, width)
	case y.Width > width:
		most := b.Const(uint64(width), y.Width)
		return b.Extract(b.Ite(b.Ult(y, most), y, most), 0, width)
	}
	return y
}

// Shl is x << y; y may have another width than x, as in Go.
func (b *Builder) Shl(x, y *Expr) *Expr {
	w := x.Width
	y = b.amount(y, w)
	switch {
	case y.isZero() || x.isZero():
		return x
	case y.Op == Const && y.Bits >= uint64(w):
		return b.Const(0, w)
	case y.Op == Const:
		k := uint8(y.Bits)
		return b.Concat(b.Extract(x, 0, w-k), b.Const(0, k))
	}
	return b.node(Shl, w, 0, x, y, nil)
}

// LShr is x >> y of a number without sign; y may have another width than x, as in Go.
func (b *Builder) LShr(x, y *Expr) *Expr {
	w := x.Width
	y = b.amount(y, w)
	switch {
	case y.isZero() || x.isZero():
		return x
	case y.Op == Const && y.Bits >= uint64(w):
		return b.Const(0, w)
	case y.Op == Const:
		k := uint8(y.Bits)
		return b.ZExt(b.Extract(x, k, w-k), w)
	}
	return b.node(LShr, w, 0, x, y, nil)
}

// AShr is x >> y of a number in two's complement; y, which has no sign, may have another width than x, as in Go.
func (b *Builder) AShr(x, y *Expr) *Expr {
	w := x.Width
	y = b.amount(y, w)
	switch {
	case y.isZero() || x.isZero() || w == 1:
		return x
	case x.natural():
		return b.LShr(x, y)
	case y.Op == Const:
		k := uint8(min(y.Bits, uint64(w)-1))
		return b.SExt(b.Extract(x, k, w-k), w)
	}
	return b.node(AShr, w, 0, x, y, nil)
}

// pieces appends what e is composed of, high bits first.
func (b *Builder) pieces(list []*Expr, e *Expr) []*Expr {
	switch e.Op {
	case Concat:
		return b.pieces(b.pieces(list, e.A), e.B)
	case ZExt:
		return b.pieces(append(list, b.Const(0, e.Width-e.A.Width)), e.A)
	case SExt:
		return b.pieces(append(list, b.SExt(b.Extract(e.A, e.A.Width-1, 1), e.Width-e.A.Width)), e.A)
	}
	return append(list, e)
}

// Concat has the bits of high above those of low.
func (b *Builder) Concat(high, low *Expr) *Expr {
	checkWidth(high.Width + low.Width)
	var array [8]*Expr
	list := b.pieces(array[:0], high)
	list = b.pieces(list, low)
	return b.assemble(list)
}

// assemble is the Concat of pieces, high bits first.
func (b *Builder) assemble(list []*Expr) *Expr {
	e := list[len(list)-1]
	for i := len(list) - 2; i >= 0; i-- {
		e = b.prepend(list[i], e)
	}
	return e
}

// prepend puts one piece before pieces.
func (b *Builder) prepend(piece, rest *Expr) *Expr {
	head, tail := rest, (*Expr)(nil)
	switch {
	case rest.Op == Concat:
		head, tail = rest.A, rest.B
	case rest.Op == ZExt && piece.Op == Const:
		head, tail = b.Const(0, rest.Width-rest.A.Width), rest.A
	}
	if one := b.join(piece, head); one != nil {
		if tail == nil {
			return one
		}
		return b.prepend(one, tail)
	}
	w := piece.Width + rest.Width
	if piece.Width == 1 || piece.Op == SExt && piece.A.Width == 1 {
		if sign := b.Extract(rest, rest.Width-1, 1); piece == sign || piece.Op == SExt && piece.A == sign {
			return b.SExt(rest, w)
		}
	}
	if piece.isZero() {
		return b.node(ZExt, w, 0, rest, nil, nil)
	}
	return b.node(Concat, w, 0, piece, rest, nil)
}

// join makes one piece of two neighbours, or gives nil.
func (b *Builder) join(high, low *Expr) *Expr {
	w := high.Width + low.Width
	switch {
	case high.Op == Const && low.Op == Const:
		return b.Const(high.Bits<<low.Width|low.Bits, w)
	case high.Op == Extract && low.Op == Extract && high.A == low.A && high.Bits == low.Bits+uint64(low.Width):
		return b.Extract(low.A, uint8(low.Bits), w)
	}
	return nil
}

// Extract has width bits of x, from bit low up; bit 0 is the lowest.
func (b *Builder) Extract(x *Expr, low, width uint8) *Expr {
	checkWidth(width)
	if int(low)+int(width) > int(x.Width) {
		panic("bv: an extract from above the highest bit")
	}
	switch {
	case width == x.Width:
		return x
	case x.Op == Extract:
		return b.Extract(x.A, uint8(x.Bits)+low, width)
	case x.Op == Concat && low >= x.B.Width:
		return b.Extract(x.A, low-x.B.Width, width)
	case x.Op == Concat && low+width <= x.B.Width:
		return b.Extract(x.B, low, width)
	case x.Op == Concat:
		inLow := x.B.Width - low
		return b.Concat(b.Extract(x.A, 0, width-inLow), b.Extract(x.B, low, inLow))
	case (x.Op == ZExt || x.Op == SExt) && low+width <= x.A.Width:
		return b.Extract(x.A, low, width)
	case x.Op == ZExt && low >= x.A.Width:
		return b.Const(0, width)
	case x.Op == ZExt:
		return b.ZExt(b.Extract(x.A, low, x.A.Width-low), width)
	case x.Op == SExt:
		low = min(low, x.A.Width-1)
		return b.SExt(b.Extract(x.A, low, x.A.Width-low), width)
	}
	return b.node(Extract, width, uint64(low), x, nil, nil)
}

// ZExt is x with zeros above it.
func (b *Builder) ZExt(x *Expr, width uint8) *Expr {
	checkWidth(width)
	if width <= x.Width {
		if width < x.Width {
			panic("bv: an extension to fewer bits")
		}
		return x
	}
	return b.Concat(b.Const(0, width-x.Width), x)
}

// SExt is x with copies of its sign above it.
func (b *Builder) SExt(x *Expr, width uint8) *Expr {
	checkWidth(width)
	switch {
	case width < x.Width:
		panic("bv: an extension to fewer bits")
	case width == x.Width:
		return x
	case x.Op == ZExt:
		return b.ZExt(x, width)
	case x.Op == SExt:
		return b.SExt(x.A, width)
	case x.Op == Concat && x.A.Op == Const: // the sign is known
		return b.Concat(b.SExt(x.A, width-x.B.Width), x.B)
	}
	return b.node(SExt, width, 0, x, nil, nil)
}

// overlayPieces is the most pieces that overlay makes: a mask of many runs is better a mask.
const overlayPieces = 6

// overlay is x op y, for And, Or, Xor and Add, as a Concat of pieces, where x and y are such that in each place the bits of one
// are constants that leave the other's as they are, or hide them: a word put together from shifted bytes, or a mask. Else it is
// nil.
func (b *Builder) overlay(op Op, x, y *Expr) *Expr {
	composed := func(e *Expr) bool { return e.Op == Concat || e.Op == ZExt || e.Op == Const }
	if !composed(x) && !composed(y) {
		return nil
	}
	var arrayX, arrayY [8]*Expr
	restX, restY := b.pieces(arrayX[:0], x), b.pieces(arrayY[:0], y)
	type part struct {
		of         *Expr // nil: the bit that value has, repeated
		low, width uint8
		value      uint64
	}
	var parts [overlayPieces]part
	n := 0
	var usedX, usedY uint8 // bits of the last piece that are done
	for low := uint8(0); low < x.Width; n++ {
		if n == len(parts) {
			return nil
		}
		px, py := restX[len(restX)-1], restY[len(restY)-1]
		width := min(px.run(usedX), py.run(usedY))
		// Which operand's bits are the result's: a constant that changes nothing yields to the other, one that hides the other wins.
		p := part{width: width}
		bitX, bitY := px.Bits>>usedX&1, py.Bits>>usedY&1
		neutral, hides := uint64(0), uint64(2)
		switch op {
		case And:
			neutral, hides = 1, 0
		case Or:
			hides = 1
		}
		switch {
		case px.Op == Const && bitX == neutral:
			p.of, p.low, p.value = py, usedY, bitY
		case py.Op == Const && bitY == neutral:
			p.of, p.low, p.value = px, usedX, bitX
		case px.Op == Const && bitX == hides, py.Op == Const && bitY == hides:
			p.value = hides
		default:
			return nil
		}
		if p.of != nil && p.of.Op == Const {
			p.of = nil
		}
		parts[n] = p
		low += width
		if usedX += width; usedX == px.Width {
			restX, usedX = restX[:len(restX)-1], 0
		}
		if usedY += width; usedY == py.Width {
			restY, usedY = restY[:len(restY)-1], 0
		}
	}
	list := arrayX[:0]
	for i := n - 1; i >= 0; i-- {
		if p := parts[i]; p.of == nil {
			list = append(list, b.Const(-p.value, p.width))
		} else {
			list = b.pieces(list, b.Extract(p.of, p.low, p.width))
		}
	}
	return b.assemble(list)
}

// run is the number of bits from bit low up that are alike: of a constant those that are equal, else all.
func (e *Expr) run(low uint8) uint8 {
	if e.Op != Const {
		return e.Width - low
	}
	v := e.Bits >> low
	if v&1 != 0 {
		v = ^v
	}
	return min(uint8(bits.TrailingZeros64(v)), e.Width-low)
}

// Ite is x if cond, of width 1, is 1, else y.
func (b *Builder) Ite(cond, x, y *Expr) *Expr {
	checkBool(Ite, cond)
	checkEqual(Ite, x, y)
	switch {
	case cond.IsConst(1) || x == y:
		return x
	case cond.IsConst(0):
		return y
	case cond.Op == Not:
		return b.Ite(cond.A, y, x)
	case x.Op == Ite && x.A == cond:
		return b.Ite(cond, x.B, y)
	case y.Op == Ite && y.A == cond:
		return b.Ite(cond, x, y.C)
	}
	if x.Width == 1 {
		switch {
		case x.IsConst(1):
			return b.Or(cond, y)
		case x.IsConst(0):
			return b.And(b.Not(cond), y)
		case y.IsConst(1):
			return b.Or(b.Not(cond), x)
		case y.IsConst(0):
			return b.And(cond, x)
		}
	}
	if x.Op == Const && y.Op == Const {
		if e := b.choice(cond, x, y); e != nil {
			return e
		}
	}
	return b.node(Ite, x.Width, 0, cond, x, y)
}

// choice is one of two constants as pieces: bits that they share, and copies of the condition or its opposite. It is nil if there are too many.
func (b *Builder) choice(cond, x, y *Expr) *Expr {
	runs := 0
	for low := uint8(0); low < x.Width; low += min(x.run(low), y.run(low)) {
		if runs++; runs > overlayPieces {
			return nil
		}
	}
	e := (*Expr)(nil)
	for low := uint8(0); low < x.Width; {
		width := min(x.run(low), y.run(low))
		inX, inY := x.Bits>>low&1, y.Bits>>low&1
		piece := b.Const(-inX, width)
		switch {
		case inX > inY:
			piece = b.SExt(cond, width)
		case inX < inY:
			piece = b.SExt(b.Not(cond), width)
		}
		if low += width; e == nil {
			e = piece
		} else {
			e = b.Concat(piece, e)
		}
	}
	return e
}

// Eq is x == y.
func (b *Builder) Eq(x, y *Expr) *Expr { return b.eq(x, y, eqDepth) }

// Ne is x != y.
func (b *Builder) Ne(x, y *Expr) *Expr { return b.Not(b.Eq(x, y)) }

// eqDepth bounds how far a comparison goes into its operands, such as a chain of choices that is an element of an array.
const eqDepth = 64

func (b *Builder) eq(x, y *Expr, depth int) *Expr {
	checkEqual(Eq, x, y)
	x, y = ordered(x, y)
	switch {
	case x == y:
		return b.Bool(true)
	case inverse(x, y):
		return b.Bool(false)
	case x.Width == 1:
		return b.Not(b.Xor(x, y))
	case depth == 0:
		return b.node(Eq, 1, 0, x, y, nil)
	case y.Op == Const:
		return b.eqConst(x, y, depth)
	case x.Op == y.Op && x.A != nil && x.A.Width == y.A.Width:
		switch x.Op {
		case ZExt, SExt, Not, Neg:
			return b.eq(x.A, y.A, depth-1)
		case Concat, Add, Xor, Sub:
			switch {
			case x.A == y.A:
				return b.eq(x.B, y.B, depth-1)
			case x.B == y.B:
				return b.eq(x.A, y.A, depth-1)
			}
		}
	}
	return b.node(Eq, 1, 0, x, y, nil)
}

// eqConst is x == y for a constant y: operators that have an inverse are moved to the constant.
func (b *Builder) eqConst(x, y *Expr, depth int) *Expr {
	w := x.Width
	constant := func(v uint64) *Expr { return b.Const(v, w) }
	switch {
	case x.Op == Const:
		return b.Bool(x.Bits == y.Bits)
	case x.Op == Not:
		return b.eq(x.A, constant(^y.Bits), depth-1)
	case x.Op == Neg:
		return b.eq(x.A, constant(-y.Bits), depth-1)
	case x.hasConst(Add):
		return b.eq(x.A, constant(y.Bits-x.B.Bits), depth-1)
	case x.hasConst(Xor):
		return b.eq(x.A, constant(y.Bits^x.B.Bits), depth-1)
	case x.Op == Sub && x.A.Op == Const:
		return b.eq(x.B, constant(x.A.Bits-y.Bits), depth-1)
	case (x.Op == Sub || x.Op == Xor) && y.isZero():
		return b.eq(x.A, x.B, depth-1)
	case x.Op == SExt:
		if low := b.Extract(y, 0, x.A.Width); b.SExt(low, w) == y {
			return b.eq(x.A, low, depth-1)
		}
		return b.Bool(false)
	case x.hasConst(And) && y.Bits&^x.B.Bits != 0, x.hasConst(Or) && x.B.Bits&^y.Bits != 0:
		return b.Bool(false)
	case x.Op == Ite && (x.B.Op == Const || x.C.Op == Const):
		return b.Ite(x.A, b.eq(x.B, y, depth-1), b.eq(x.C, y, depth-1))
	case x.Op == Concat || x.Op == ZExt:
		return b.eqPieces(x, y, depth)
	}
	return b.node(Eq, 1, 0, x, y, nil)
}

// eqPieces compares what is composed of pieces with a constant: constant pieces now, and what lies between them as wholes.
func (b *Builder) eqPieces(x, y *Expr, depth int) *Expr {
	var array [8]*Expr
	list := b.pieces(array[:0], x)
	var equal []*Expr
	whole := true
	low := x.Width
	for start := 0; start < len(list); {
		end := start
		width := uint8(0)
		for end < len(list) && list[end].Op != Const {
			width += list[end].Width
			end++
		}
		if end > start {
			low -= width
			if width == x.Width {
				break
			}
			equal = append(equal, b.eq(b.assemble(list[start:end]), b.Extract(y, low, width), depth-1))
		} else {
			low -= list[end].Width
			whole = false
			if list[end].Bits != b.Extract(y, low, list[end].Width).Bits {
				return b.Bool(false)
			}
			end++
		}
		start = end
	}
	if whole {
		return b.node(Eq, 1, 0, x, y, nil)
	}
	all := b.Bool(true)
	for _, e := range equal {
		all = b.And(all, e)
	}
	return all
}

// Ult is x < y of numbers without sign.
func (b *Builder) Ult(x, y *Expr) *Expr {
	checkEqual(Ult, x, y)
	w := x.Width
	switch {
	case x == y || y.isZero() || x.isOnes():
		return b.Bool(false)
	case w == 1:
		return b.And(b.Not(x), y)
	case x.Op == Const && y.Op == Const:
		return b.Bool(x.Bits < y.Bits)
	case x.Op == Const:
		return b.Not(b.Ult(y, b.Const(x.Bits+1, w)))
	case y.Op == Const:
		return b.ultConst(x, y)
	case x.Op == ZExt && y.Op == ZExt:
		inner := max(x.A.Width, y.A.Width)
		return b.Ult(b.ZExt(x.A, inner), b.ZExt(y.A, inner))
	case x.Op == Concat && y.Op == Concat && x.A == y.A:
		return b.Ult(x.B, y.B)
	case x.Op == Concat && y.Op == Concat && x.B == y.B:
		return b.Ult(x.A, y.A)
	}
	return b.node(Ult, 1, 0, x, y, nil)
}

// ultConst is x < y for a constant y that is not 0.
func (b *Builder) ultConst(x, y *Expr) *Expr {
	switch {
	case y.Bits == 1:
		return b.Eq(x, b.Const(0, x.Width))
	case y.isOnes():
		return b.Ne(x, y)
	case x.Op == ZExt && y.Bits > Mask(x.A.Width):
		return b.Bool(true)
	case x.Op == ZExt:
		return b.Ult(x.A, b.Const(y.Bits, x.A.Width))
	case x.Op == Ite && x.B.Op == Const && x.C.Op == Const:
		return b.Ite(x.A, b.Ult(x.B, y), b.Ult(x.C, y))
	case x.Op == Concat && x.A.Op == Const:
		high, low := y.Bits>>x.B.Width, b.Extract(y, 0, x.B.Width)
		if x.A.Bits != high {
			return b.Bool(x.A.Bits < high)
		}
		return b.Ult(x.B, low)
	case x.Op == Concat && x.B.Op == Const:
		high, low := b.Extract(y, x.B.Width, x.A.Width), y.Bits&Mask(x.B.Width)
		if x.B.Bits < low {
			return b.Ule(x.A, high)
		}
		return b.Ult(x.A, high)
	}
	return b.node(Ult, 1, 0, x, y, nil)
}

// Ule is x <= y of numbers without sign.
func (b *Builder) Ule(x, y *Expr) *Expr { return b.Not(b.Ult(y, x)) }

// Slt is x < y of numbers in two's complement.
func (b *Builder) Slt(x, y *Expr) *Expr {
	checkEqual(Slt, x, y)
	w := x.Width
	least, most := signBit(w), Mask(w)>>1
	switch {
	case x == y:
		return b.Bool(false)
	case w == 1:
		return b.And(x, b.Not(y))
	case x.Op == Const && y.Op == Const:
		return b.Bool(signed(x.Bits, w) < signed(y.Bits, w))
	case x.natural() && y.natural():
		return b.Ult(x, y)
	case y.IsConst(least) || x.IsConst(most):
		return b.Bool(false)
	case x.Op == Const:
		return b.Not(b.Slt(y, b.Const(x.Bits+1, w)))
	case y.Op == Const && x.Op == ZExt: // y is negative
		return b.Bool(false)
	case y.isZero():
		return b.Extract(x, w-1, 1)
	case y.IsConst(least + 1):
		return b.Eq(x, b.Const(least, w))
	case y.IsConst(most):
		return b.Ne(x, y)
	case y.Op == Const && x.Op == Ite && x.B.Op == Const && x.C.Op == Const:
		return b.Ite(x.A, b.Slt(x.B, y), b.Slt(x.C, y))
	case y.Op == Const && x.Op == SExt:
		low := b.Extract(y, 0, x.A.Width)
		if b.SExt(low, w) != y {
			return b.Bool(signed(y.Bits, w) > 0)
		}
		return b.Slt(x.A, low)
	case x.Op == SExt && y.Op == SExt:
		inner := max(x.A.Width, y.A.Width)
		return b.Slt(b.SExt(x.A, inner), b.SExt(y.A, inner))
	}
	return b.node(Slt, 1, 0, x, y, nil)
}

// Sle is x <= y of numbers in two's complement.
func (b *Builder) Sle(x, y *Expr) *Expr { return b.Not(b.Slt(y, x)) }
