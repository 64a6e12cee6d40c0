package shadow

import (
	"unicode/utf8"
	"unsafe"
)

func data(s string) unsafe.Pointer { return unsafe.Pointer(unsafe.StringData(s)) }

// Byte is the shadow of s[i], or nil if i is out of bounds.
func Byte(s string, i int) *Expr {
	if !active() || uint(i) >= uint(len(s)) {
		return nil
	}
	return Load(unsafe.Add(data(s), i), 1)
}

// TextEqual is the shadow of s == t.
func TextEqual(s, t string) *Expr {
	if !active() || len(s) != len(t) {
		return nil
	}
	return Same(data(s), data(t), uintptr(len(s)))
}

// TextLess is the shadow of s < t.
func TextLess(s, t string) *Expr {
	n := min(len(s), len(t))
	if !active() || !memory.any(uintptr(data(s)), uintptr(n)) && !memory.any(uintptr(data(t)), uintptr(n)) {
		return nil
	}
	b := &current.builder
	less := b.Bool(len(s) < len(t))
	for i := n - 1; i >= 0; i-- {
		x, y := operand(Byte(s, i), uint64(s[i]), 8), operand(Byte(t, i), uint64(t[i]), 8)
		less = b.Ite(b.Eq(x, y), less, b.Ult(x, y))
	}
	return known(less)
}

// Text gives a string that a conversion of the bytes at p has made their shadows. The runtime shares strings of one byte, so one with a shadow is made anew.
func Text(made *string, p unsafe.Pointer) {
	if !active() || !memory.any(uintptr(p), uintptr(len(*made))) {
		return
	}
	*made = fresh(*made)
	Copy(data(*made), p, uintptr(len(*made)))
}

func fresh(s string) string {
	bytes := make([]byte, len(s), max(len(s), 16)) // not from the pages of tiny objects, which are shared
	copy(bytes, s)
	return unsafe.String(unsafe.SliceData(bytes), len(bytes))
}

// Concat copies the shadows of s and t to made, which is s + t.
func Concat(made, s, t string) {
	if !active() || len(made) == 0 {
		return
	}
	Copy(data(made), data(s), uintptr(len(s)))
	Copy(unsafe.Add(data(made), len(s)), data(t), uintptr(len(t)))
}

// TextCopy copies the shadows of a string to bytes that a conversion has made.
func TextCopy(p unsafe.Pointer, s string, n int) { Copy(p, data(s), uintptr(min(n, len(s)))) }

// Rune is the shadow of the rune r at s[i] that a range statement gives: a branch decides whether it is ASCII; others have none.
func Rune(site uint32, s string, i int, r rune) *Expr {
	e := Byte(s, i)
	if e == nil {
		return nil
	}
	b := &current.builder
	if !Cond(site, r < utf8.RuneSelf && r == rune(s[i]), b.Ult(e, b.Const(utf8.RuneSelf, 8))) {
		Lose(site, e)
		return nil
	}
	return known(b.ZExt(e, 32))
}

// FixText fixes all bytes of a string.
func FixText(site uint32, s string) { FixMemory(site, data(s), uintptr(len(s))) }

// FixMemory fixes n bytes at p, eight at a time.
func FixMemory(site uint32, p unsafe.Pointer, n uintptr) {
	if !active() || !memory.any(uintptr(p), n) {
		return
	}
	for i := uintptr(0); i < n; {
		size := min(8, n-i)
		if e := Load(unsafe.Add(p, i), size); e != nil {
			Fix(site, e, e.Concrete)
		}
		i += size
	}
}
