package bv

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The binary form of expressions is a graph: the number of nodes, the nodes, operands before those who have them, then the number
// of roots, and the roots. A node is a byte for the operator, a byte for the width, its operands, and Bits of a Const, an Input
// or an Extract; an Input has its concrete value, too. An operand is how many nodes before its owner it is, and a root is the
// number of its node. Numbers are varints of encoding/binary.

// Append appends expressions of one Builder to dst, in the form that Parse reads. Nodes that they share are there once.
func Append(dst []byte, roots ...*Expr) []byte {
	order := Nodes(roots...)
	places := make(map[*Expr]uint64, len(order))
	dst = binary.AppendUvarint(dst, uint64(len(order)))
	for i, e := range order {
		places[e] = uint64(i)
		dst = append(dst, byte(e.Op), e.Width)
		for _, x := range [...]*Expr{e.A, e.B, e.C} {
			if x != nil {
				dst = binary.AppendUvarint(dst, uint64(i)-places[x])
			}
		}
		switch e.Op {
		case Const, Extract:
			dst = binary.AppendUvarint(dst, e.Bits)
		case Input:
			dst = binary.AppendUvarint(binary.AppendUvarint(dst, e.Bits), e.Concrete)
		}
	}
	dst = binary.AppendUvarint(dst, uint64(len(roots)))
	for _, e := range roots {
		dst = binary.AppendUvarint(dst, places[e])
	}
	return dst
}

// Nodes are the nodes of expressions, each once, operands before those who have them.
func Nodes(roots ...*Expr) (order []*Expr) {
	done := map[*Expr]bool{}
	var walk []*Expr
	for _, root := range roots {
		walk = append(walk, root)
		for len(walk) > 0 {
			e := walk[len(walk)-1]
			ready := true
			for _, x := range [...]*Expr{e.C, e.B, e.A} {
				if x != nil && !done[x] {
					walk = append(walk, x)
					ready = false
				}
			}
			if ready {
				walk = walk[:len(walk)-1]
				if !done[e] {
					done[e] = true
					order = append(order, e)
				}
			}
		}
	}
	return order
}

var errEnds = errors.New("the text ends early")

// Parse makes in b the expressions that Append wrote, and gives what follows them. Whatever data is, it takes memory in
// proportion to its length. What it makes before an error stays in b.
func Parse(b *Builder, data []byte) (roots []*Expr, rest []byte, err error) {
	p := &parser{b: b, data: data}
	roots, err = p.parse()
	if err != nil {
		return nil, nil, fmt.Errorf("expressions at byte %d: %w", len(data)-len(p.data), err)
	}
	return roots, p.data, nil
}

type parser struct {
	b     *Builder
	data  []byte
	nodes []*Expr
}

func (p *parser) parse() (roots []*Expr, err error) {
	n, err := p.count(3) // the least bytes of a node: a Const
	if err != nil {
		return nil, err
	}
	p.nodes = make([]*Expr, 0, n)
	for range n {
		e, err := p.node()
		if err != nil {
			return nil, err
		}
		p.nodes = append(p.nodes, e)
	}
	n, err = p.count(1)
	if err != nil {
		return nil, err
	}
	roots = make([]*Expr, n)
	for i := range roots {
		place, err := p.number()
		if err != nil {
			return nil, err
		}
		if place >= uint64(len(p.nodes)) {
			return nil, fmt.Errorf("root %d is node %d of %d", i, place, len(p.nodes))
		}
		roots[i] = p.nodes[place]
	}
	return roots, nil
}

func (p *parser) number() (uint64, error) {
	v, n := binary.Uvarint(p.data)
	if n == 0 {
		return 0, errEnds
	}
	if n < 0 {
		return 0, errors.New("a number of more than 64 bits")
	}
	p.data = p.data[n:]
	return v, nil
}

// count is a number of things that have a least size in bytes, so that not more of them are believed than can follow.
func (p *parser) count(least int) (int, error) {
	n, err := p.number()
	if err == nil && n > uint64(len(p.data)/least) {
		err = errEnds
	}
	return int(n), err
}

func (p *parser) node() (*Expr, error) {
	if len(p.data) < 2 {
		return nil, errEnds
	}
	op, width := Op(p.data[0]), p.data[1]
	p.data = p.data[2:]
	if op >= ops {
		return nil, fmt.Errorf("operator %d; the last is %d", op, ops-1)
	}
	if width < 1 || width > MaxWidth {
		return nil, fmt.Errorf("a width of %d bits; it is 1 to %d", width, MaxWidth)
	}
	var x [3]*Expr
	for i := range op.arity() {
		back, err := p.number()
		if err != nil {
			return nil, err
		}
		if back < 1 || back > uint64(len(p.nodes)) {
			return nil, fmt.Errorf("an operand %d nodes before node %d", back, len(p.nodes))
		}
		x[i] = p.nodes[uint64(len(p.nodes))-back]
	}
	var v, concrete uint64
	var err error
	switch op {
	case Input:
		if v, err = p.number(); err == nil {
			concrete, err = p.number()
		}
	case Const, Extract:
		v, err = p.number()
	}
	if err != nil {
		return nil, err
	}
	if err := p.check(op, width, v, x); err != nil {
		return nil, err
	}
	if op == Input {
		return p.b.Input(int(v), width, concrete), nil
	}
	return p.b.apply(op, width, v, x[0], x[1], x[2]), nil
}

// check has the rules that the constructors of a Builder expect their callers to keep.
func (p *parser) check(op Op, width uint8, v uint64, x [3]*Expr) error {
	ok := true
	switch op {
	case Const:
		ok = v <= Mask(width)
	case Input:
		if v >= MaxInputs {
			return fmt.Errorf("input %d; the last is %d", v, MaxInputs-1)
		}
		if e := p.b.inputs[int(v)]; e != nil && e.Width != width {
			return fmt.Errorf("input %d of %d bits, and of %d", v, e.Width, width)
		}
	case Not, Neg:
		ok = x[0].Width == width
	case Concat:
		ok = x[0].Width+x[1].Width == width
	case Extract:
		ok = v < MaxWidth && uint8(v)+width <= x[0].Width
	case ZExt, SExt:
		ok = x[0].Width <= width
	case Ite:
		ok = x[0].Width == 1 && x[1].Width == width && x[2].Width == width
	case Eq, Ult, Ule, Slt, Sle:
		ok = width == 1 && x[0].Width == x[1].Width
	default:
		ok = x[0].Width == width && x[1].Width == width
	}
	if !ok {
		return fmt.Errorf("%v of %d bits does not fit its operands", op, width)
	}
	return nil
}

// apply is an operator but Input, applied by its constructor.
func (b *Builder) apply(op Op, width uint8, v uint64, x, y, z *Expr) *Expr {
	switch op {
	case Const:
		return b.Const(v, width)
	case Not:
		return b.Not(x)
	case Neg:
		return b.Neg(x)
	case Concat:
		return b.Concat(x, y)
	case Extract:
		return b.Extract(x, uint8(v), width)
	case ZExt:
		return b.ZExt(x, width)
	case SExt:
		return b.SExt(x, width)
	case Ite:
		return b.Ite(x, y, z)
	}
	return constructors[op](b, x, y)
}

// constructors holds the constructors of operators with two operands.
var constructors = [ops]func(b *Builder, x, y *Expr) *Expr{
	Add: (*Builder).Add, Sub: (*Builder).Sub, Mul: (*Builder).Mul, UDiv: (*Builder).UDiv, URem: (*Builder).URem, SDiv: (*Builder).SDiv, SRem: (*Builder).SRem,
	And: (*Builder).And, Or: (*Builder).Or, Xor: (*Builder).Xor, Shl: (*Builder).Shl, LShr: (*Builder).LShr, AShr: (*Builder).AShr,
	Eq: (*Builder).Eq, Ult: (*Builder).Ult, Ule: (*Builder).Ule, Slt: (*Builder).Slt, Sle: (*Builder).Sle,
}
