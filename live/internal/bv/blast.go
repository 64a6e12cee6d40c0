package bv

import (
	"encoding/binary"
	"slices"
)

// blaster makes gates of expressions: each bit is a literal (G. S. Tseitin, "On the complexity of derivation in propositional
// calculus", 1968). Equal gates are one, constants vanish in them, and a gate is defined in both directions, so that it may be
// assumed true or false.
type blaster struct {
	*sat
	words  map[*Expr][]lit // bits of an expression, lowest first
	inputs map[uint64][]lit
	gates  map[gate]lit
	wide   map[string]lit // conjunctions of more than two literals
	walk   []*Expr
}

type gate struct {
	kind    gateKind
	a, b, c lit
}

type gateKind uint8

const (
	andGate gateKind = iota
	xorGate
	muxGate
	majorityGate
	xor3Gate
)

func newBlaster() *blaster {
	return &blaster{sat: newSAT(), words: map[*Expr][]lit{}, inputs: map[uint64][]lit{}, gates: map[gate]lit{}, wide: map[string]lit{}}
}

// variablesMax is the most variables that a query may need, with which a solver takes some hundred megabytes: what has more is
// given up. A multiplication of 64 bits takes 12,000, a division 25,000.
const variablesMax = 1 << 18

// word has the bits of an expression, lowest first. It gives nil if there would be too many gates.
func (b *blaster) word(e *Expr) []lit {
	b.walk = append(b.walk[:0], e)
	for len(b.walk) > 0 {
		e := b.walk[len(b.walk)-1]
		if b.words[e] == nil {
			ready := true
			for _, x := range [...]*Expr{e.A, e.B, e.C} {
				if x != nil && b.words[x] == nil {
					b.walk = append(b.walk, x)
					ready = false
				}
			}
			if !ready {
				continue
			}
			if len(b.vars) > variablesMax {
				return nil
			}
			b.words[e] = b.blast(e)
		}
		b.walk = b.walk[:len(b.walk)-1]
	}
	return b.words[e]
}

// blast makes the bits of a node from those of its operands.
func (b *blaster) blast(e *Expr) []lit {
	var x, y, z []lit
	if e.A != nil {
		x = b.words[e.A]
	}
	if e.B != nil {
		y = b.words[e.B]
	}
	if e.C != nil {
		z = b.words[e.C]
	}
	switch e.Op {
	case Const:
		return constantWord(e.Bits, e.Width)
	case Input:
		return b.input(e.Bits, e.Width)
	case Add:
		return b.sum(x, y, litFalse)
	case Sub:
		return b.difference(x, y)
	case Neg:
		return b.difference(constantWord(0, e.Width), x)
	case Mul:
		return b.product(x, y)
	case UDiv:
		quotient, _ := b.divide(x, y)
		return quotient
	case URem:
		_, rest := b.divide(x, y)
		return rest
	case SDiv, SRem:
		signX, signY := x[len(x)-1], y[len(y)-1]
		quotient, rest := b.divide(b.negateIf(signX, x), b.negateIf(signY, y))
		if e.Op == SDiv {
			return b.negateIf(b.xor(signX, signY), quotient)
		}
		return b.negateIf(signX, rest)
	case And:
		return zip(x, y, b.and)
	case Or:
		return zip(x, y, b.or)
	case Xor:
		return zip(x, y, b.xor)
	case Not:
		return complement(x)
	case Shl:
		x = slices.Clone(x)
		slices.Reverse(x)
		x = b.shift(x, y, litFalse)
		slices.Reverse(x)
		return x
	case LShr:
		return b.shift(x, y, litFalse)
	case AShr:
		return b.shift(x, y, x[len(x)-1])
	case Concat:
		return slices.Concat(y, x)
	case Extract:
		return x[e.Bits : e.Bits+uint64(e.Width)]
	case ZExt:
		return append(slices.Clone(x), slices.Repeat([]lit{litFalse}, int(e.Width)-len(x))...)
	case SExt:
		return append(slices.Clone(x), slices.Repeat(x[len(x)-1:], int(e.Width)-len(x))...)
	case Ite:
		return zip(y, z, func(p, q lit) lit { return b.mux(x[0], p, q) })
	case Eq:
		return []lit{b.all(zip(x, y, func(p, q lit) lit { return b.xor(p, q).not() }))}
	case Ult:
		return []lit{b.less(x, y)}
	case Ule:
		return []lit{b.less(y, x).not()}
	case Slt:
		return []lit{b.less(flipSign(x), flipSign(y))}
	case Sle:
		return []lit{b.less(flipSign(y), flipSign(x)).not()}
	}
	panic("bv: an unknown operator")
}

func (b *blaster) input(n uint64, width uint8) []lit {
	if b.inputs[n] == nil {
		bits := make([]lit, width)
		for i := int(width) - 1; i >= 0; i-- { // high bits are decided on first
			bits[i] = b.newVariable()
		}
		b.inputs[n] = bits
	}
	return b.inputs[n]
}

func constantWord(v uint64, width uint8) []lit {
	bits := make([]lit, width)
	for i := range bits {
		bits[i] = litFalse ^ lit(v>>i&1)
	}
	return bits
}

func zip(x, y []lit, f func(p, q lit) lit) []lit {
	z := make([]lit, len(x))
	for i := range x {
		z[i] = f(x[i], y[i])
	}
	return z
}

func complement(x []lit) []lit {
	z := make([]lit, len(x))
	for i := range x {
		z[i] = x[i].not()
	}
	return z
}

// flipSign makes the order of numbers in two's complement that of numbers without sign.
func flipSign(x []lit) []lit {
	x = slices.Clone(x)
	x[len(x)-1] = x[len(x)-1].not()
	return x
}

func (b *blaster) sum(x, y []lit, carry lit) []lit {
	z := make([]lit, len(x))
	for i := range x {
		z[i] = b.xor3(x[i], y[i], carry)
		if i < len(x)-1 {
			carry = b.majority(x[i], y[i], carry)
		}
	}
	return z
}

func (b *blaster) difference(x, y []lit) []lit { return b.sum(x, complement(y), litTrue) }

// negateIf is -x if cond, else x.
func (b *blaster) negateIf(cond lit, x []lit) []lit {
	return b.sum(constantWord(0, uint8(len(x))), zip(x, x, func(p, _ lit) lit { return b.xor(p, cond) }), cond)
}

// less is the borrow of x - y.
func (b *blaster) less(x, y []lit) lit {
	borrow := litFalse
	for i := range x {
		borrow = b.majority(x[i].not(), y[i], borrow)
	}
	return borrow
}

// product adds x, shifted, for each bit of y.
func (b *blaster) product(x, y []lit) []lit {
	constants := func(x []lit) (n int) {
		for _, l := range x {
			if l <= litFalse {
				n++
			}
		}
		return n
	}
	if constants(x) > constants(y) {
		x, y = y, x
	}
	z := slices.Repeat([]lit{litFalse}, len(x))
	for i, bit := range y {
		if bit != litFalse {
			row := zip(x[:len(x)-i], x[:len(x)-i], func(p, _ lit) lit { return b.and(p, bit) })
			copy(z[i:], b.sum(z[i:], row, litFalse))
		}
	}
	return z
}

// divide is long division, as on paper: the rest takes the next bit of x, and y is taken from it if it fits. Of a zero y this
// makes all ones and x, as SMT-LIB wants. It is a circuit without variables of its own: values of x and y imply all others, which
// equations (quotient * y + rest = x) would not have.
func (b *blaster) divide(x, y []lit) (quotient, rest []lit) {
	w := len(x)
	quotient = make([]lit, w)
	rest = slices.Repeat([]lit{litFalse}, w)
	y = append(slices.Clone(y), litFalse)
	for i := w - 1; i >= 0; i-- {
		next := append([]lit{x[i]}, rest...)
		fits := b.less(next, y).not()
		less := b.difference(next[:w], y[:w])
		quotient[i] = fits
		rest = zip(less, next[:w], func(p, q lit) lit { return b.mux(fits, p, q) })
	}
	return quotient, rest
}

// shift moves x down by the number y; fill comes from above.
func (b *blaster) shift(x, y []lit, fill lit) []lit {
	beyond := litFalse
	for k, bit := range y {
		if k >= 6 || 1<<k >= len(x) {
			beyond = b.or(beyond, bit)
			continue
		}
		moved := append(slices.Clone(x[1<<k:]), slices.Repeat([]lit{fill}, 1<<k)...)
		x = zip(moved, x, func(p, q lit) lit { return b.mux(bit, p, q) })
	}
	return zip(x, x, func(p, _ lit) lit { return b.mux(beyond, fill, p) })
}

// and is the conjunction of two literals.
func (b *blaster) and(p, q lit) lit {
	if p > q {
		p, q = q, p
	}
	switch {
	case p == litTrue || p == q:
		return q
	case p == litFalse || p == q.not():
		return litFalse
	}
	return b.gate(gate{andGate, p, q, 0}, func(g lit) {
		b.add(g.not(), p)
		b.add(g.not(), q)
		b.add(g, p.not(), q.not())
	})
}

func (b *blaster) or(p, q lit) lit { return b.and(p.not(), q.not()).not() }

func (b *blaster) gate(key gate, define func(g lit)) lit {
	g, ok := b.gates[key]
	if !ok {
		g = b.newVariable()
		b.gates[key] = g
		define(g)
	}
	return g
}

// all is the conjunction of literals.
func (b *blaster) all(list []lit) lit {
	list = slices.Clone(list)
	slices.Sort(list)
	list = slices.Compact(list)
	if len(list) > 0 && list[0] == litTrue {
		list = list[1:]
	}
	for i, l := range list {
		if l == litFalse || i > 0 && l == list[i-1].not() {
			return litFalse
		}
	}
	switch len(list) {
	case 0:
		return litTrue
	case 1:
		return list[0]
	case 2:
		return b.and(list[0], list[1])
	}
	var key []byte
	for _, l := range list {
		key = binary.NativeEndian.AppendUint32(key, uint32(l))
	}
	g, ok := b.wide[string(key)]
	if !ok {
		g = b.newVariable()
		b.wide[string(key)] = g
		some := []lit{g}
		for _, l := range list {
			b.add(g.not(), l)
			some = append(some, l.not())
		}
		b.add(some...)
	}
	return g
}

// xor is whether two literals differ.
func (b *blaster) xor(p, q lit) lit {
	negate := (p^q)&1 != 0
	p, q = min(p&^1, q&^1), max(p&^1, q&^1)
	switch {
	case p == q:
		return litFalse.flip(negate)
	case p == litTrue:
		return q.flip(!negate)
	}
	return b.gate(gate{xorGate, p, q, 0}, func(g lit) {
		b.add(g.not(), p, q)
		b.add(g.not(), p.not(), q.not())
		b.add(g, p.not(), q)
		b.add(g, p, q.not())
	}).flip(negate)
}

// xor3 is whether an odd number of three literals is true.
func (b *blaster) xor3(p, q, r lit) lit {
	negate := (p^q^r)&1 != 0
	list := [3]lit{p &^ 1, q &^ 1, r &^ 1}
	slices.Sort(list[:])
	p, q, r = list[0], list[1], list[2]
	switch {
	case p == q:
		return r.flip(negate)
	case q == r:
		return p.flip(negate)
	case p == litTrue:
		return b.xor(q, r).flip(!negate)
	}
	return b.gate(gate{xor3Gate, p, q, r}, func(g lit) {
		for signs := range 8 { // each clause forbids one wrong value of g
			x, y, z := p.flip(signs&1 != 0), q.flip(signs&2 != 0), r.flip(signs&4 != 0)
			even := (signs^signs>>1^signs>>2)&1 == 0 // x, y and z false: as many of p, q and r are true as there are signs
			b.add(x, y, z, g.flip(even))
		}
	}).flip(negate)
}

// mux is p if cond, else q.
func (b *blaster) mux(cond, p, q lit) lit {
	if cond&1 != 0 {
		cond, p, q = cond.not(), q, p
	}
	switch {
	case cond == litTrue:
		return p
	case p == q:
		return p
	case p == q.not():
		return b.xor(cond, q)
	case p == litTrue || p == cond:
		return b.or(cond, q)
	case p == litFalse || p == cond.not():
		return b.and(cond.not(), q)
	case q == litTrue || q == cond.not():
		return b.or(cond.not(), p)
	case q == litFalse || q == cond:
		return b.and(cond, p)
	}
	negate := p&1 != 0
	p, q = p.flip(negate), q.flip(negate)
	return b.gate(gate{muxGate, cond, p, q}, func(g lit) {
		b.add(cond.not(), p.not(), g)
		b.add(cond.not(), p, g.not())
		b.add(cond, q.not(), g)
		b.add(cond, q, g.not())
		b.add(p.not(), q.not(), g) // implied by the others, but not by unit propagation
		b.add(p, q, g.not())
	}).flip(negate)
}

// majority is whether at least two of three literals are true.
func (b *blaster) majority(p, q, r lit) lit {
	list := [3]lit{p, q, r}
	slices.Sort(list[:])
	p, q, r = list[0], list[1], list[2]
	switch {
	case p == q:
		return p
	case q == r:
		return q
	case p == q.not():
		return r
	case q == r.not():
		return p
	case p == litTrue:
		return b.or(q, r)
	case p == litFalse:
		return b.and(q, r)
	}
	negate := p&1 != 0
	p, q, r = p.flip(negate), q.flip(negate), r.flip(negate)
	return b.gate(gate{majorityGate, p, q, r}, func(g lit) {
		for _, pair := range [3][2]lit{{p, q}, {p, r}, {q, r}} {
			b.add(pair[0].not(), pair[1].not(), g)
			b.add(pair[0], pair[1], g.not())
		}
	}).flip(negate)
}
