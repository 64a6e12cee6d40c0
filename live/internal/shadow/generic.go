package shadow

import (
	"reflect"
	"unsafe"

	"github.com/bloodhound-dst/bloodhound/live/internal/bv"
)

// Values of type parameters lie in memory. What they are is known when they are used: like is a pointer to one of their type.

// Signed and unsigned operators, by those that the rewriter names: it names unsigned ones.
var signedOps = map[bv.Op]bv.Op{bv.UDiv: bv.SDiv, bv.URem: bv.SRem, bv.Ult: bv.Slt, bv.Ule: bv.Sle}

// numeric reports whether values of a type are integers or truth values, and whether they have a sign.
func numeric(t reflect.Type) (ok, signed bool) {
	switch k := t.Kind(); {
	case k == reflect.Bool:
		return true, false
	case k >= reflect.Int && k <= reflect.Int64:
		return true, true
	case k >= reflect.Uint && k <= reflect.Uintptr:
		return true, false
	}
	return false, false
}

// Operate is the shadow of an operator applied to what lies at p and at q, both of one type.
func Operate(op bv.Op, p, q unsafe.Pointer, like any) *Expr {
	if !active() {
		return nil
	}
	t := reflect.TypeOf(like).Elem()
	n := t.Size()
	ok, signed := numeric(t)
	switch {
	case ok && signed && signedOps[op] != 0:
		op = signedOps[op]
		fallthrough
	case ok:
		return Binary(op, Load(p, n), Load(q, n), read(p, n), read(q, n), uint8(n*8))
	case op == bv.Eq:
		return equal(p, q, t)
	case t.Kind() == reflect.String:
		return less(op, *(*string)(p), *(*string)(q))
	}
	return nil
}

func less(op bv.Op, s, t string) *Expr {
	switch op {
	case bv.Ult:
		return TextLess(s, t)
	case bv.Ule:
		return Unary(bv.Not, TextLess(t, s))
	}
	return nil
}

// Widen is the shadow of the integer at p as one of width bits.
func Widen(p unsafe.Pointer, like any, width uint8) *Expr {
	if !active() {
		return nil
	}
	t := reflect.TypeOf(like).Elem()
	ok, signed := numeric(t)
	if !ok {
		return nil
	}
	return Convert(Load(p, t.Size()), signed, width)
}

// Narrow gives the integer at p, to which a value was converted, the shadow of that value. What is no integer has none.
func Narrow(site uint32, p unsafe.Pointer, like any, e *Expr, signed bool) {
	if !active() {
		return
	}
	t := reflect.TypeOf(like).Elem()
	n := t.Size()
	Clear(p, n)
	if e == nil {
		return
	}
	if ok, _ := numeric(t); ok {
		Store(p, n, Convert(e, signed, uint8(n*8)))
	} else {
		Lose(site, e)
	}
}

// Search is the shadow of the index of the first t in s, or of -1.
func Search(s, t string) *Expr {
	if !active() || !memory.any(uintptr(data(s)), uintptr(len(s))) && !memory.any(uintptr(data(t)), uintptr(len(t))) {
		return nil
	}
	b := &current.builder
	at := b.Const(bv.Mask(64), 64)
	for i := len(s) - len(t); i >= 0; i-- {
		here := s[i : i+len(t)]
		at = b.Ite(operand(TextEqual(here, t), truth(here == t), 1), b.Const(uint64(i), 64), at)
	}
	return known(at)
}

// Times is the shadow of how often the byte c is in s.
func Times(s string, c *Expr, value byte) *Expr {
	if !active() || c == nil && !memory.any(uintptr(data(s)), uintptr(len(s))) {
		return nil
	}
	b := &current.builder
	c = operand(c, uint64(value), 8)
	n := b.Const(0, 64)
	for i := range len(s) {
		n = b.Add(n, b.ZExt(b.Eq(operand(Byte(s, i), uint64(s[i]), 8), c), 64))
	}
	return known(n)
}
