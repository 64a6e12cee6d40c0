package shadow

import (
	"reflect"
	"unsafe"

	"github.com/bloodhound-dst/bloodhound/internal/live/bv"
)

// Values of type parameters lie in memory. What they are is known when they are used: example is one of them.

// Signed and unsigned operators, by those that the rewriter names: it names unsigned ones.
var signedOps = map[bv.Op]bv.Op{bv.UDiv: bv.SDiv, bv.URem: bv.SRem, bv.Ult: bv.Slt, bv.Ule: bv.Sle}

// numeric reports whether a value is an integer or a truth value, and whether it has a sign.
func numeric(example any) (ok, signed bool) {
	switch k := reflect.TypeOf(example).Kind(); {
	case k == reflect.Bool:
		return true, false
	case k >= reflect.Int && k <= reflect.Int64:
		return true, true
	case k >= reflect.Uint && k <= reflect.Uintptr:
		return true, false
	}
	return false, false
}

// Operate is the shadow of an operator applied to what lies at p and at q, both of n bytes and of one type.
func Operate(op bv.Op, p, q unsafe.Pointer, n uintptr, example any) *Expr {
	if !active() || example == nil {
		return nil
	}
	ok, signed := numeric(example)
	switch {
	case ok && signed && signedOps[op] != 0:
		op = signedOps[op]
		fallthrough
	case ok:
		return Binary(op, Load(p, n), Load(q, n), read(p, n), read(q, n), uint8(n*8))
	case reflect.TypeOf(example).Kind() == reflect.String:
		return operateText(op, *(*string)(p), *(*string)(q))
	case op == bv.Eq:
		return Same(p, q, n)
	}
	return nil
}

func operateText(op bv.Op, s, t string) *Expr {
	switch op {
	case bv.Eq:
		return TextEqual(s, t)
	case bv.Ult:
		return TextLess(s, t)
	case bv.Ule:
		return Unary(bv.Not, TextLess(t, s))
	}
	return nil
}

// Widen is the shadow of the integer of n bytes at p as one of width bits.
func Widen(p unsafe.Pointer, n uintptr, example any, width uint8) *Expr {
	e := Load(p, min(n, 8))
	if e == nil || example == nil {
		return nil
	}
	ok, signed := numeric(example)
	if !ok {
		return nil
	}
	return Convert(e, signed, width)
}

// Narrow gives the integer of n bytes at p, to which a value was converted, the shadow of that value, or none if it is no integer.
func Narrow(p unsafe.Pointer, n uintptr, example any, e *Expr, signed bool) {
	if !active() {
		return
	}
	Clear(p, n)
	if e == nil || example == nil {
		return
	}
	if ok, _ := numeric(example); ok {
		Store(p, n, Convert(e, signed, uint8(n*8)))
	}
}

// Fields is the shadow of whether two values of one struct or array type, at p and at q, are equal. The layout has for each part of it a kind, an offset and a length. equal is what the
// program found: parts without shadows that differ decide it.
func Fields(p, q unsafe.Pointer, layout string, equal bool) *Expr {
	if !active() {
		return nil
	}
	b := &current.builder
	all := b.Bool(true)
	for i := 0; i+5 <= len(layout); i += 5 {
		at := uintptr(layout[i+1])<<8 | uintptr(layout[i+2])
		n := uintptr(layout[i+3])<<8 | uintptr(layout[i+4])
		x, y := unsafe.Add(p, at), unsafe.Add(q, at)
		var e *Expr
		same := false
		switch layout[i] {
		case 't':
			s, t := *(*string)(x), *(*string)(y)
			e, same = TextEqual(s, t), s == t
		default:
			e, same = Same(x, y, n), string(unsafe.Slice((*byte)(x), n)) == string(unsafe.Slice((*byte)(y), n))
		}
		switch {
		case e != nil:
			all = b.And(all, e)
		case !same && !equal:
			return nil
		}
	}
	if (all.Concrete != 0) != equal {
		return nil // a part that is not compared by its bytes, such as an interface
	}
	return known(all)
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
