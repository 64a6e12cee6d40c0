package bv

import "fmt"

// Builder makes expressions. It keeps equal nodes once (hash-consing), so that equal terms are equal pointers and a loop that
// doubles a term adds one node a turn. The zero Builder is ready. It is for one goroutine.
//
// A Builder may have the expressions of one path or of many. Concrete belongs to one path only: an Input keeps the concrete value
// of the first call that names it, and everything above follows from that. Who gathers many paths in one Builder takes values
// from Eval.
type Builder struct {
	slabs  [][]Expr // the nodes, by identity minus 1
	count  uint32
	inputs map[int]*Expr
	table  []*Expr // an open hash table, whose length is a power of two
	resets uint32
}

const slabNodes = 1024

// Len is the number of nodes; each takes about a hundred bytes.
func (b *Builder) Len() int { return int(b.count) }

// Reset forgets all nodes and keeps their memory: expressions made before must not be used any more.
func (b *Builder) Reset() {
	clear(b.table)
	clear(b.inputs)
	b.count = 0
	b.resets++
}

// nodeAt returns the node with an identity.
func (b *Builder) nodeAt(id uint32) *Expr { return &b.slabs[(id-1)/slabNodes][(id-1)%slabNodes] }

func id(e *Expr) uint64 {
	if e == nil {
		return 0
	}
	return uint64(e.id)
}

func (e *Expr) hash() uint64 {
	// Multiplication by an odd number and a fold of the high half, a round for each word (as in wyhash, and in FxHash).
	const odd = 0x9e3779b97f4a7c15
	h := uint64(e.Op)<<8 | uint64(e.Width)
	for _, word := range [...]uint64{id(e.A) | id(e.B)<<32, id(e.C), e.Bits} {
		h = (h ^ word) * odd
		h ^= h >> 29
	}
	return h
}

// intern is the one node that equals e.
func (b *Builder) intern(e Expr) *Expr {
	if int(b.count)*2 >= len(b.table) {
		b.grow()
	}
	slots := uint64(len(b.table) - 1)
	i := e.hash() & slots
	for ; b.table[i] != nil; i = (i + 1) & slots {
		if n := b.table[i]; n.Op == e.Op && n.Width == e.Width && n.A == e.A && n.B == e.B && n.C == e.C && n.Bits == e.Bits {
			return n
		}
	}
	if int(b.count) == len(b.slabs)*slabNodes {
		b.slabs = append(b.slabs, make([]Expr, slabNodes))
	}
	b.count++
	e.id, e.size = b.count, 1
	for _, x := range [...]*Expr{e.A, e.B, e.C} {
		if x != nil {
			e.size = min(e.size+x.size, sizeMax)
		}
	}
	n := b.nodeAt(e.id)
	*n = e
	b.table[i] = n
	return n
}

func (b *Builder) grow() {
	b.table = make([]*Expr, max(256, 2*len(b.table)))
	slots := uint64(len(b.table) - 1)
	for id := uint32(1); id <= b.count; id++ {
		n := b.nodeAt(id)
		i := n.hash() & slots
		for b.table[i] != nil {
			i = (i + 1) & slots
		}
		b.table[i] = n
	}
}

// node is an operator applied to its operands: a constant if they are constants.
func (b *Builder) node(op Op, width uint8, bits uint64, x, y, z *Expr) *Expr {
	e := Expr{Op: op, Width: width, Bits: bits, A: x, B: y, C: z}
	constant := true
	var v [3]uint64
	for i, x := range [...]*Expr{x, y, z} {
		if x != nil {
			v[i] = x.Concrete
			constant = constant && x.Op == Const
		}
	}
	e.Concrete = e.apply(v[0], v[1], v[2])
	if constant {
		return b.Const(e.Concrete, width)
	}
	return b.intern(e)
}

// Const is a constant; what of v is above the width is cut off.
func (b *Builder) Const(v uint64, width uint8) *Expr {
	checkWidth(width)
	v &= Mask(width)
	return b.intern(Expr{Op: Const, Width: width, Bits: v, Concrete: v})
}

// Bool is a truth value.
func (b *Builder) Bool(v bool) *Expr { return b.Const(truth(v), 1) }

// MaxInputs is the number of inputs that can be told apart.
const MaxInputs = 1 << 16

// Input is input number n, from 0 to MaxInputs-1, which has one width everywhere, and on this path a concrete value.
func (b *Builder) Input(n int, width uint8, concrete uint64) *Expr {
	checkWidth(width)
	if n < 0 || n >= MaxInputs {
		panic(fmt.Sprintf("bv: input %d; the last is %d", n, MaxInputs-1))
	}
	e := b.inputs[n]
	if e == nil {
		if b.inputs == nil {
			b.inputs = map[int]*Expr{}
		}
		e = b.intern(Expr{Op: Input, Width: width, Bits: uint64(n), Concrete: concrete & Mask(width)})
		b.inputs[n] = e
	}
	if e.Width != width {
		panic(fmt.Sprintf("bv: input %d of %d bits, and of %d", n, e.Width, width))
	}
	return e
}

func truth(v bool) uint64 {
	if v {
		return 1
	}
	return 0
}

func checkWidth(width uint8) {
	if width < 1 || width > MaxWidth {
		panic(fmt.Sprintf("bv: a width of %d bits; it is 1 to %d", width, MaxWidth))
	}
}

func checkEqual(op Op, x, y *Expr) {
	if x.Width != y.Width {
		panic(fmt.Sprintf("bv: %v of %d and %d bits", op, x.Width, y.Width))
	}
}

func checkBool(op Op, x *Expr) {
	if x.Width != 1 {
		panic(fmt.Sprintf("bv: %v of a condition of %d bits", op, x.Width))
	}
}
