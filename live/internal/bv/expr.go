// Package bv has expressions over bit-vectors and a solver for them. The concolic engine records with them what a program computed from its
// inputs, and asks for inputs that take another branch.
//
// The logic is QF_BV of SMT-LIB (https://smt-lib.org/logics-all.shtml#QF_BV) for widths of 1 to 64 bits. A truth value is an
// expression of width 1. Operators mean what SMT-LIB's do, also where Go's differ: a division by zero gives all ones (SDiv: 1 for
// a negative dividend), a remainder by zero gives the dividend, and a shift by the width or more gives zeros (AShr: copies of the
// sign). A program in Go that divides by zero panics, so whoever records it reports a branch on the divisor.
//
// One file is one step:
//
//	expr.go      Expr, what a node of an expression is, and its text for people
//	builder.go   Builder, which keeps equal nodes once
//	simplify.go  the constructors, and the identities by which they simplify
//	eval.go      the value of an expression for given inputs
//	wire.go      the binary form in which expressions cross a pipe
//	solver.go    Solver, and the order of its steps
//	domain.go    what constraints say of single inputs
//	repair.go    a local search from a model that is nearly right
//	blast.go     expressions as gates
//	sat.go       a SAT solver
//
// Everything is deterministic: the same calls in the same order give the same expressions and answers.
package bv

import (
	"fmt"
	"strconv"
)

// Op is the operator of a node.
type Op uint8

// The operators, with their names in SMT-LIB. Operands of a binary operator have equal widths, except for Concat.
const (
	Const   Op = iota // Bits is the value
	Input             // Bits is the number of the input
	Add               // bvadd
	Sub               // bvsub
	Mul               // bvmul
	UDiv              // bvudiv
	URem              // bvurem
	SDiv              // bvsdiv, which rounds towards zero as Go does
	SRem              // bvsrem, with the sign of the dividend
	And               // bvand, and for width 1
	Or                // bvor, or
	Xor               // bvxor, xor
	Not               // bvnot, not
	Neg               // bvneg
	Shl               // bvshl
	LShr              // bvlshr
	AShr              // bvashr
	Concat            // A has the high bits, B the low ones
	Extract           // Width bits of A, from bit number Bits up
	ZExt              // zero_extend to Width
	SExt              // sign_extend to Width
	Ite               // if A, of width 1, then B, else C
	Eq                // =; this and what follows has width 1
	Ult               // bvult
	Ule               // bvule
	Slt               // bvslt
	Sle               // bvsle
	ops               // their number
)

var opNames = [ops]string{"const", "input", "bvadd", "bvsub", "bvmul", "bvudiv", "bvurem", "bvsdiv", "bvsrem", "bvand", "bvor", "bvxor", "bvnot", "bvneg",
	"bvshl", "bvlshr", "bvashr", "concat", "extract", "zero_extend", "sign_extend", "ite", "=", "bvult", "bvule", "bvslt", "bvsle"}

func (op Op) String() string {
	if op >= ops {
		return "op" + strconv.Itoa(int(op))
	}
	return opNames[op]
}

// arity is the number of operands.
func (op Op) arity() int {
	switch op {
	case Const, Input:
		return 0
	case Not, Neg, Extract, ZExt, SExt:
		return 1
	case Ite:
		return 3
	}
	return 2
}

// MaxWidth is the largest width of an expression, in bits.
const MaxWidth = 64

// Expr is a node of an expression. A Builder makes it, and nobody changes it. Two expressions of one Builder are the same pointer if they are the same term.
type Expr struct {
	Op      Op
	Width   uint8 // in bits, 1 to MaxWidth
	id      uint32
	size    uint32 // nodes of the tree, operands that are shared counted each time, at most sizeMax
	A, B, C *Expr
	Bits    uint64 // the value of a Const, the number of an Input, the lowest bit of an Extract
	// Concrete is the value for the inputs' concrete values: what the program computed on the path that made the expression.
	Concrete uint64
}

const sizeMax = 1 << 30

// IsConst reports whether an expression is the constant v.
func (e *Expr) IsConst(v uint64) bool { return e.Op == Const && e.Bits == v }

// Mask has the lowest width bits set; a width is 1 to MaxWidth.
func Mask(width uint8) uint64 { return ^uint64(0) >> (MaxWidth - width) }

// signed is the value of a number in two's complement of some width.
func signed(v uint64, width uint8) int64 { return int64(v<<(MaxWidth-width)) >> (MaxWidth - width) }

// signBit is the highest bit of a width.
func signBit(width uint8) uint64 { return 1 << (width - 1) }

// textMax is the most bytes that String gives, roughly: a term can be exponentially longer than its graph.
const textMax = 4096

// String is the term in the manner of SMT-LIB, for people: an input n is in<n>, and what is too long is cut by dots.
func (e *Expr) String() string { return string(e.text(nil)) }

func (e *Expr) text(dst []byte) []byte {
	if len(dst) > textMax {
		return append(dst, "..."...)
	}
	switch e.Op {
	case Const:
		return e.constant(dst)
	case Input:
		return strconv.AppendUint(append(dst, "in"...), e.Bits, 10)
	}
	dst = append(append(dst, '('), e.Function()...)
	for _, x := range [...]*Expr{e.A, e.B, e.C} {
		if x != nil {
			dst = x.text(append(dst, ' '))
		}
	}
	return append(dst, ')')
}

// constant is a Const as SMT-LIB writes it: #x and hexadecimal digits if the width has no others, else #b and bits.
func (e *Expr) constant(dst []byte) []byte {
	prefix, bits := "#b", uint8(1)
	if e.Width%4 == 0 {
		prefix, bits = "#x", 4
	}
	dst = append(dst, prefix...)
	for low := e.Width; low > 0; {
		low -= bits
		dst = append(dst, "0123456789abcdef"[e.Bits>>low&Mask(bits)])
	}
	return dst
}

// Function is the function of SMT-LIB that a node with operands applies, with the indexes of an indexed one.
func (e *Expr) Function() string {
	switch e.Op {
	case Extract:
		return fmt.Sprintf("(_ extract %d %d)", e.Bits+uint64(e.Width)-1, e.Bits)
	case ZExt, SExt:
		return fmt.Sprintf("(_ %v %d)", e.Op, e.Width-e.A.Width)
	}
	return e.Op.String()
}
