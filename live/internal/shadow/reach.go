package shadow

import (
	"reflect"
	"runtime"
	"slices"
	"strings"
	"unsafe"
)

// reachMax is how many values Reach looks at. If there are more, one of them may have a shadow.
const reachMax = 4096

// Reach counts, at a site, values that go to a function without a second body, if one of them has a shadow or leads to memory that has one.
func Reach(site uint32, values ...any) {
	if !active() || !memory.some() {
		return
	}
	r := reach{seen: map[place]bool{}}
	for _, v := range values {
		if r.boxed(reflect.ValueOf(v), Boxed(v)) {
			current.Lost[site]++
			return
		}
	}
}

// place is memory that was looked at.
type place struct {
	p unsafe.Pointer
	t reflect.Type
}

type reach struct {
	seen  map[place]bool
	count int
}

// boxed looks at a value that an interface holds, at p unless it is a pointer.
func (r *reach) boxed(v reflect.Value, p unsafe.Pointer) bool {
	switch {
	case !v.IsValid():
		return false
	case !direct(v.Type()):
		return r.memory(p, v.Type())
	}
	word := p
	return r.parts(unsafe.Pointer(&word), v.Type())
}

// memory looks at a value of a type at p.
func (r *reach) memory(p unsafe.Pointer, t reflect.Type) bool {
	if p == nil || t.Size() == 0 || r.seen[place{p, t}] {
		return false
	}
	r.seen[place{p, t}] = true
	return memory.exactly(uintptr(p), t.Size()) || r.parts(p, t)
}

// parts looks at what the value at p leads to.
func (r *reach) parts(p unsafe.Pointer, t reflect.Type) bool {
	if r.count++; r.count > reachMax {
		return true
	}
	switch t.Kind() {
	case reflect.Pointer:
		return r.memory(*(*unsafe.Pointer)(p), t.Elem())
	case reflect.UnsafePointer:
		q := *(*uintptr)(p)
		return q != 0 && memory.any(q, 1)
	case reflect.String:
		s := *(*string)(p)
		return memory.exactly(uintptr(data(s)), uintptr(len(s)))
	case reflect.Interface:
		return r.boxed(reflect.NewAt(t, p).Elem().Elem(), (*word)(p).data)
	case reflect.Map:
		// Shadows of what it has in itself were lost when that was put there. It may change while one looks at it, so all that leads on may lead to a shadow.
		return reflect.NewAt(t, p).Elem().Len() > 0 && (leads(t.Key()) || leads(t.Elem()))
	case reflect.Slice:
		v := reflect.NewAt(t, p).Elem()
		q := v.UnsafePointer()
		if memory.exactly(uintptr(q), uintptr(v.Len())*t.Elem().Size()) {
			return true
		}
		return r.elements(q, v.Len(), t.Elem())
	case reflect.Array:
		return r.elements(p, t.Len(), t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); leads(f.Type) && r.parts(unsafe.Add(p, f.Offset), f.Type) {
				return true
			}
		}
	}
	return false
}

func (r *reach) elements(p unsafe.Pointer, n int, t reflect.Type) bool {
	if !leads(t) {
		return false
	}
	for i := range n {
		if r.parts(unsafe.Add(p, uintptr(i)*t.Size()), t) {
			return true
		}
	}
	return false
}

// leads reports whether values of a type lead to other memory. Functions do, but what they have captured they use by their own
// second bodies; what goes to a channel was counted then.
func leads(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.UnsafePointer, reflect.String, reflect.Interface, reflect.Map, reflect.Slice:
		return true
	case reflect.Array:
		return t.Len() > 0 && leads(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if leads(t.Field(i).Type) {
				return true
			}
		}
	}
	return false
}

// foreigners has what foreign has found: by the type that an interface holds, or by the code of a function.
var foreigners = map[any]bool{}

// foreign reports whether a function value, or a method of what an interface holds, is of a package that is not instrumented.
// Such code may call instrumented code, which must not take the arguments for its own.
func foreign(of any) bool {
	t := reflect.TypeOf(of)
	if t == nil {
		return false
	}
	var key any = t
	if t.Kind() == reflect.Func {
		key = reflect.ValueOf(of).Pointer()
	}
	known, ok := foreigners[key]
	if !ok {
		Aside(func() { known = !Follows(home(of, t)) })
		foreigners[key] = known
	}
	return known
}

// Aside calls f, which is no part of the path: functions of the standard library that it calls may have second bodies.
func Aside(f func()) {
	on, was := On, recording
	On, recording = false, false
	f()
	On, recording = on, was
}

// Follows reports whether a package is instrumented; of none, "", it is not known.
func Follows(path string) bool { return path == "" || slices.Contains(Packages, path) }

// home is the package of a type, or of the function of a value: "" if it has none.
func home(of any, t reflect.Type) string {
	if t.Kind() == reflect.Func {
		f := runtime.FuncForPC(reflect.ValueOf(of).Pointer())
		if f == nil {
			return ""
		}
		return PackageOf(f.Name())
	}
	for t.Kind() == reflect.Pointer && t.Name() == "" {
		t = t.Elem()
	}
	return t.PkgPath()
}

// PackageOf is the path of the package in the name of a function, as the runtime has it.
func PackageOf(function string) string {
	last := strings.LastIndexByte(function, '/') + 1
	name, _, _ := strings.Cut(function[last:], ".")
	return function[:last] + strings.ReplaceAll(name, "%2e", ".")
}
