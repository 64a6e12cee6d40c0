package shadow

import (
	"reflect"
	"unsafe"
)

// part is a piece of the memory of a type that a comparison compares, and a key of a map consists of.
type part struct {
	at, size uintptr
	typ      reflect.Type // nil for numbers, which are their bytes
}

// layouts are the parts of types.
var layouts = map[reflect.Type][]part{}

func layoutOf(t reflect.Type) []part {
	list, ok := layouts[t]
	if !ok {
		list = parts(nil, t, 0)
		layouts[t] = list
	}
	return list
}

func parts(list []part, t reflect.Type, at uintptr) []part {
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.Name != "_" {
				list = parts(list, f.Type, at+f.Offset)
			}
		}
		return list
	case reflect.Array:
		if ok, _ := numeric(t.Elem()); ok {
			return append(list, part{at, t.Size(), nil})
		}
		for i := range t.Len() {
			list = parts(list, t.Elem(), at+uintptr(i)*t.Elem().Size())
		}
		return list
	}
	if ok, _ := numeric(t); ok {
		return append(list, part{at, t.Size(), nil})
	}
	return append(list, part{at, t.Size(), t})
}

// Equal is the shadow of whether the values at p and at q, of the type that like points to, are equal.
func Equal(p, q unsafe.Pointer, like any) *Expr {
	if !active() {
		return nil
	}
	return equal(p, q, reflect.TypeOf(like).Elem())
}

func equal(p, q unsafe.Pointer, t reflect.Type) *Expr {
	e, same := compare(p, q, t)
	if e == nil || !same {
		return nil
	}
	return known(e)
}

// compare gives the condition that values are equal, and false if they differ whatever the inputs are. The condition is nil if
// they are equal whatever the inputs are.
func compare(p, q unsafe.Pointer, t reflect.Type) (all *Expr, may bool) {
	b := &current.builder
	for _, f := range layoutOf(t) {
		e, may := f.compare(unsafe.Add(p, f.at), unsafe.Add(q, f.at))
		switch {
		case !may:
			return nil, false
		case e != nil && all == nil:
			all = e
		case e != nil:
			all = b.And(all, e)
		}
	}
	return all, true
}

func (f part) compare(x, y unsafe.Pointer) (*Expr, bool) {
	if f.typ == nil {
		e := Same(x, y, f.size)
		return e, e != nil || string(unsafe.Slice((*byte)(x), f.size)) == string(unsafe.Slice((*byte)(y), f.size))
	}
	switch f.typ.Kind() {
	case reflect.String:
		s, t := *(*string)(x), *(*string)(y)
		e := TextEqual(s, t)
		return e, e != nil || s == t
	case reflect.Interface:
		return compareHeld(reflect.NewAt(f.typ, x).Elem(), reflect.NewAt(f.typ, y).Elem(), x, y)
	}
	return nil, reflect.NewAt(f.typ, x).Elem().Equal(reflect.NewAt(f.typ, y).Elem()) // no shadow is kept for floats, nor for pointers
}

// compareHeld compares interfaces, which lie at x and at y.
func compareHeld(v, w reflect.Value, x, y unsafe.Pointer) (*Expr, bool) {
	v, w = v.Elem(), w.Elem()
	if !v.IsValid() || !w.IsValid() {
		return nil, v.IsValid() == w.IsValid()
	}
	if v.Type() != w.Type() {
		return nil, false
	}
	p, q := (*word)(x).data, (*word)(y).data
	if direct(v.Type()) {
		return nil, p == q
	}
	return compare(p, q, v.Type())
}

// direct reports whether an interface has a value of a type in itself, as it has pointers.
func direct(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Chan, reflect.Func, reflect.UnsafePointer:
		return true
	case reflect.Struct:
		return t.NumField() == 1 && direct(t.Field(0).Type)
	case reflect.Array:
		return t.Len() == 1 && direct(t.Elem())
	}
	return false
}

// Interfaces is the shadow of x == y.
func Interfaces(x, y any) *Expr {
	if !active() {
		return nil
	}
	return equal(unsafe.Pointer(&x), unsafe.Pointer(&y), reflect.TypeFor[any]())
}
