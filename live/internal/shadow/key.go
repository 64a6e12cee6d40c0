package shadow

import (
	"cmp"
	"reflect"
	"slices"
	"unsafe"

	"github.com/bloodhound-dst/bloodhound/live/internal/bv"
)

// A key of a map that depends on an input is decided: which of the map's keys it is, or none. The keys are compared in an order that is the same on each path.

// Key decides which of the keys of a map a number is, whose value is v. If it is none, and made is set, the number is fixed.
func Key(site uint32, e *Expr, v uint64, keys []uint64, made bool) {
	if e == nil || !active() {
		return
	}
	b := &current.builder
	v &= bv.Mask(e.Width)
	Aside(func() { slices.Sort(keys) }) // by its first body
	for _, k := range keys {
		if Cond(site, v == k, b.Eq(e, b.Const(k, e.Width))) {
			return
		}
	}
	if made {
		Fix(site, e, v)
	}
}

// Depends reports whether a byte of a string has a shadow.
func Depends(s string) bool { return active() && memory.any(uintptr(data(s)), uintptr(len(s))) }

// KeyText decides which of the keys of a map, all of the length of s, s is. If it is none, and made is set, s is fixed.
func KeyText(site uint32, s string, keys []string, made bool) {
	Aside(func() { slices.Sort(keys) }) // by its first body
	for _, k := range keys {
		if Cond(site, s == k, TextEqual(s, k)) {
			return
		}
	}
	if made {
		FixText(site, s)
	}
}

// DependsValue reports whether a part of the value at p, of the type that like points to, has a shadow.
func DependsValue(p unsafe.Pointer, like any) bool {
	return active() && slices.ContainsFunc(layoutOf(reflect.TypeOf(like).Elem()), func(f part) bool {
		x := unsafe.Add(p, f.at)
		switch {
		case f.typ == nil:
			return memory.any(uintptr(x), f.size)
		case f.typ.Kind() == reflect.String:
			return Depends(*(*string)(x))
		}
		return f.typ.Kind() == reflect.Interface
	})
}

// KeyValue decides which of the n keys of a map that lie at keys the value at p is, of the type that like points to. If it is
// none, and made is set, the value is fixed.
func KeyValue(site uint32, p unsafe.Pointer, like any, keys unsafe.Pointer, n int, made bool) {
	t := reflect.TypeOf(like).Elem()
	order, ok := ordered(t, keys, n)
	for _, k := range order {
		e, may := compare(p, k, t)
		if !may {
			continue
		}
		if e == nil || Cond(site, e.Concrete != 0, e) {
			return
		}
	}
	if made || !ok {
		fix(site, p, t)
	}
}

// ordered sorts values of a type, which lie one after the other. It reports false, and gives none, if their order would depend on
// more than they are equal by, as that of interfaces does.
func ordered(t reflect.Type, at unsafe.Pointer, n int) (list []unsafe.Pointer, ok bool) {
	layout := layoutOf(t)
	for _, f := range layout {
		if f.typ != nil && f.typ.Kind() != reflect.String && f.typ.Kind() != reflect.Pointer {
			return nil, false
		}
	}
	for i := range n {
		list = append(list, unsafe.Add(at, uintptr(i)*t.Size()))
	}
	Aside(func() {
		slices.SortFunc(list, func(x, y unsafe.Pointer) int {
			for _, f := range layout {
				if c := cmp.Compare(f.bytes(x), f.bytes(y)); c != 0 {
					return c
				}
			}
			return 0
		})
	})
	return list, true
}

// bytes returns the bytes of a part of a value, or of the string that it is.
func (f part) bytes(p unsafe.Pointer) string {
	x := unsafe.Add(p, f.at)
	if f.typ != nil && f.typ.Kind() == reflect.String {
		return *(*string)(x)
	}
	return unsafe.String((*byte)(x), f.size)
}

// FixKey fixes the key of a map that lies at p.
func FixKey(site uint32, p unsafe.Pointer, like any) {
	if active() {
		fix(site, p, reflect.TypeOf(like).Elem())
	}
}

func fix(site uint32, p unsafe.Pointer, t reflect.Type) {
	for _, f := range layoutOf(t) {
		x := unsafe.Add(p, f.at)
		switch {
		case f.typ == nil:
			FixMemory(site, x, f.size)
		case f.typ.Kind() == reflect.String:
			FixText(site, *(*string)(x))
		case f.typ.Kind() == reflect.Interface:
			v := reflect.NewAt(f.typ, x).Elem().Elem()
			if v.IsValid() && !direct(v.Type()) {
				fix(site, (*word)(x).data, v.Type())
			}
		}
	}
}
