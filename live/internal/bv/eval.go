package bv

import "math/bits"

// apply is the value of a node whose operands have the values x, y and z.
func (e *Expr) apply(x, y, z uint64) uint64 {
	w := e.Width
	switch e.Op {
	case Const:
		return e.Bits
	case Input:
		return e.Concrete
	case Add:
		return (x + y) & Mask(w)
	case Sub:
		return (x - y) & Mask(w)
	case Mul:
		return x * y & Mask(w)
	case UDiv:
		if y == 0 {
			return Mask(w)
		}
		return x / y
	case URem:
		if y == 0 {
			return x
		}
		return x % y
	case SDiv:
		// Go gives the least number divided by -1 as itself, as SMT-LIB does.
		if y == 0 {
			return signQuotient(x, w)
		}
		return uint64(signed(x, w)/signed(y, w)) & Mask(w)
	case SRem:
		if y == 0 {
			return x
		}
		return uint64(signed(x, w)%signed(y, w)) & Mask(w)
	case And:
		return x & y
	case Or:
		return x | y
	case Xor:
		return x ^ y
	case Not:
		return ^x & Mask(w)
	case Neg:
		return -x & Mask(w)
	case Shl:
		if y >= uint64(w) {
			return 0
		}
		return x << y & Mask(w)
	case LShr:
		if y >= uint64(w) {
			return 0
		}
		return x >> y
	case AShr:
		return uint64(signed(x, w)>>min(y, uint64(w)-1)) & Mask(w)
	case Concat:
		return x<<e.B.Width | y
	case Extract:
		return x >> e.Bits & Mask(w)
	case ZExt:
		return x
	case SExt:
		return uint64(signed(x, e.A.Width)) & Mask(w)
	case Ite:
		if x != 0 {
			return y
		}
		return z
	case Eq:
		return truth(x == y)
	case Ult:
		return truth(x < y)
	case Ule:
		return truth(x <= y)
	case Slt:
		return truth(signed(x, e.A.Width) < signed(y, e.A.Width))
	case Sle:
		return truth(signed(x, e.A.Width) <= signed(y, e.A.Width))
	}
	panic("bv: an unknown operator")
}

// signQuotient is x divided by zero in bvsdiv: 1 for a negative x, -1 for others.
func signQuotient(x uint64, w uint8) uint64 {
	if signed(x, w) < 0 {
		return 1
	}
	return Mask(w)
}

// Eval is the value of e if input n has the value inputs[n]; an input that the slice lacks has the value 0. It takes time in the
// nodes of the graph, however long the term is.
func Eval(e *Expr, inputs []uint64) uint64 {
	var ev evaluator
	ev.beginRound(inputs)
	return ev.value(e)
}

// treeNodes is the size of a tree below which walking it is cheaper than remembering what was visited.
const treeNodes = 48

// evaluator remembers values of nodes for one vector of inputs.
type evaluator struct {
	inputs []uint64
	values []uint64 // by identity
	stamps []uint32 // the round in which a value was computed
	round  uint32
	walk   []*Expr
}

func (ev *evaluator) beginRound(inputs []uint64) {
	ev.inputs = inputs
	if ev.round++; ev.round == 0 {
		clear(ev.stamps)
		ev.round = 1
	}
}

func (ev *evaluator) value(e *Expr) uint64 {
	if e.size <= treeNodes {
		return ev.tree(e)
	}
	if n := int(e.id) + 1; n > len(ev.stamps) { // operands have smaller identities
		n = max(n, 2*len(ev.stamps))
		ev.stamps = append(ev.stamps, make([]uint32, n-len(ev.stamps))...)
		ev.values = append(ev.values, make([]uint64, n-len(ev.values))...)
	}
	ev.walk = append(ev.walk[:0], e)
	for len(ev.walk) > 0 {
		e := ev.walk[len(ev.walk)-1]
		if ev.stamps[e.id] != ev.round {
			var v [3]uint64
			ready := true
			for i, x := range [...]*Expr{e.A, e.B, e.C} {
				switch {
				case x == nil:
				case x.size <= treeNodes:
					v[i] = ev.tree(x)
				case ev.stamps[x.id] == ev.round:
					v[i] = ev.values[x.id]
				default:
					ev.walk = append(ev.walk, x)
					ready = false
				}
			}
			if !ready {
				continue
			}
			ev.values[e.id], ev.stamps[e.id] = e.apply(v[0], v[1], v[2]), ev.round
		}
		ev.walk = ev.walk[:len(ev.walk)-1]
	}
	return ev.values[e.id]
}

func (ev *evaluator) tree(e *Expr) uint64 {
	switch e.Op.arity() {
	case 0:
		if e.Op == Const {
			return e.Bits
		}
		if e.Bits >= uint64(len(ev.inputs)) {
			return 0
		}
		return ev.inputs[e.Bits] & Mask(e.Width)
	case 1:
		return e.apply(ev.tree(e.A), 0, 0)
	case 2:
		return e.apply(ev.tree(e.A), ev.tree(e.B), 0)
	}
	return e.apply(ev.tree(e.A), ev.tree(e.B), ev.tree(e.C))
}

// powerOfTwo is the logarithm of v if v is a power of two.
func powerOfTwo(v uint64) (k uint8, ok bool) {
	return uint8(bits.TrailingZeros64(v)), v != 0 && v&(v-1) == 0
}
