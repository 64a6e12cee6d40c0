// Package clone copies state that is plain data: numbers, texts, structs, arrays, slices, maps and pointers. A copy shares no
// memory with its original that either could write to. Pointers that lead to one object lead to one object in the copy, too.
//
// A function, channel, interface or unsafe pointer is not data. Of panics where it meets one that is not nil; Flaws names the
// fields of a type that could hold one, for tests.
package clone

import (
	"fmt"
	"reflect"
	"sync"
	"unsafe"
)

// Deep makes a deep copy of v.
func Deep[T any](v T) T {
	var to T
	lock.Lock()
	k := compile(reflect.TypeFor[T]())
	lock.Unlock()
	k.copy(unsafe.Pointer(&to), unsafe.Pointer(&v), copied{})
	return to
}

// copied has the copy of each object that pointers led to, in one call of Of.
type copied map[object]unsafe.Pointer

// object names what a pointer leads to: a struct and its first field lie at one place.
type object struct {
	at  unsafe.Pointer
	typ *copier
}

// copier copies values of one type. The values of a flat type hold no reference that could be written through, so that
// copying their memory is enough; deep copies all others, and overwrites all of the value that lies at its target.
type copier struct {
	typ  reflect.Type
	flat bool
	deep func(to, from unsafe.Pointer, seen copied)
}

func (k *copier) valueAt(p unsafe.Pointer) reflect.Value { return reflect.NewAt(k.typ, p).Elem() }

func (k *copier) copy(to, from unsafe.Pointer, seen copied) {
	if k.flat {
		k.valueAt(to).Set(k.valueAt(from))
	} else {
		k.deep(to, from, seen)
	}
}

// copiers are made once for each type, under the lock.
var (
	copiers = map[reflect.Type]*copier{}
	lock    sync.Mutex
)

// compile makes the copier of a type. A type that contains itself meets its own unfinished copier, which is not flat yet:
// this happens behind a pointer, slice or map only, where it does not matter.
func compile(t reflect.Type) *copier {
	if k := copiers[t]; k != nil {
		return k
	}
	k := &copier{typ: t}
	copiers[t] = k
	switch t.Kind() {
	case reflect.Struct:
		k.compileStruct()
	case reflect.Array:
		k.compileArray()
	case reflect.Pointer:
		k.compilePointer()
	case reflect.Slice:
		k.compileSlice()
	case reflect.Map:
		k.compileMap()
	case reflect.Func, reflect.Chan, reflect.Interface, reflect.UnsafePointer:
		k.deep = func(to, from unsafe.Pointer, _ copied) {
			if !k.valueAt(from).IsZero() {
				panic(fmt.Sprintf("clone: a value of type %s is not data", t))
			}
			k.valueAt(to).SetZero()
		}
	default:
		k.flat = true
	}
	return k
}

func (k *copier) compileStruct() {
	type field struct {
		*copier
		offset uintptr
	}
	var fields []field
	for i := range k.typ.NumField() {
		f := k.typ.Field(i)
		if c := compile(f.Type); !c.flat {
			fields = append(fields, field{c, f.Offset})
		}
	}
	k.flat = len(fields) == 0
	k.deep = func(to, from unsafe.Pointer, seen copied) {
		k.valueAt(to).Set(k.valueAt(from))
		for _, f := range fields {
			f.deep(unsafe.Add(to, f.offset), unsafe.Add(from, f.offset), seen)
		}
	}
}

func (k *copier) compileArray() {
	elem, size := compile(k.typ.Elem()), k.typ.Elem().Size()
	k.flat = elem.flat
	k.deep = func(to, from unsafe.Pointer, seen copied) {
		for i := range uintptr(k.typ.Len()) {
			elem.deep(unsafe.Add(to, i*size), unsafe.Add(from, i*size), seen)
		}
	}
}

func (k *copier) compilePointer() {
	elem := compile(k.typ.Elem())
	k.deep = func(to, from unsafe.Pointer, seen copied) {
		at := *(*unsafe.Pointer)(from)
		if at == nil {
			*(*unsafe.Pointer)(to) = nil
			return
		}
		new, ok := seen[object{at, elem}]
		if !ok {
			new = reflect.New(elem.typ).UnsafePointer()
			seen[object{at, elem}] = new
			elem.copy(new, at, seen)
		}
		*(*unsafe.Pointer)(to) = new
	}
}

func (k *copier) compileSlice() {
	elem, size := compile(k.typ.Elem()), k.typ.Elem().Size()
	k.deep = func(to, from unsafe.Pointer, seen copied) {
		old := k.valueAt(from)
		if old.IsNil() {
			k.valueAt(to).SetZero()
			return
		}
		n := old.Len()
		new := reflect.MakeSlice(k.typ, n, n)
		if elem.flat {
			reflect.Copy(new, old)
		} else {
			a, b := new.UnsafePointer(), old.UnsafePointer()
			for i := range uintptr(n) {
				elem.deep(unsafe.Add(a, i*size), unsafe.Add(b, i*size), seen)
			}
		}
		k.valueAt(to).Set(new)
	}
}

func (k *copier) compileMap() {
	key, elem := compile(k.typ.Key()), compile(k.typ.Elem())
	k.deep = func(to, from unsafe.Pointer, seen copied) {
		old := k.valueAt(from)
		if old.IsNil() {
			k.valueAt(to).SetZero()
			return
		}
		new := reflect.MakeMapWithSize(k.typ, old.Len())
		from1, to1 := reflect.New(key.typ), reflect.New(key.typ)
		from2, to2 := reflect.New(elem.typ), reflect.New(elem.typ)
		for i := old.MapRange(); i.Next(); {
			from1.Elem().SetIterKey(i)
			from2.Elem().SetIterValue(i)
			key.copy(to1.UnsafePointer(), from1.UnsafePointer(), seen)
			elem.copy(to2.UnsafePointer(), from2.UnsafePointer(), seen)
			new.SetMapIndex(to1.Elem(), to2.Elem())
		}
		k.valueAt(to).Set(new)
	}
}

// Flaws names the fields below a type, by their paths, that could hold something that is not data. No flaws: Of copies the whole value.
func Flaws(t reflect.Type) []string {
	var flaws []string
	walked := map[reflect.Type]bool{}
	var walk func(path string, t reflect.Type)
	walk = func(path string, t reflect.Type) {
		if walked[t] {
			return
		}
		walked[t] = true
		switch t.Kind() {
		case reflect.Func, reflect.Chan, reflect.UnsafePointer, reflect.Interface, reflect.Uintptr:
			flaws = append(flaws, fmt.Sprintf("%s is a %s", path, t))
		case reflect.Pointer, reflect.Slice, reflect.Array:
			walk(path, t.Elem())
		case reflect.Map:
			walk(path+"[key]", t.Key())
			walk(path+"[]", t.Elem())
		case reflect.Struct:
			for i := range t.NumField() {
				walk(path+"."+t.Field(i).Name, t.Field(i).Type)
			}
		}
	}
	walk(t.String(), t)
	return flaws
}

// Shared names the places of a, by their paths, whose memory b reaches, too, and could be written to from there. A copy shares nothing.
func Shared[T any](a, b T) []string {
	reached := map[uintptr]bool{}
	visit(reflect.ValueOf(&b).Elem(), "", map[place]bool{}, func(at uintptr, _ string) { reached[at] = true })
	var shared []string
	visit(reflect.ValueOf(&a).Elem(), reflect.TypeFor[T]().String(), map[place]bool{}, func(at uintptr, path string) {
		if reached[at] {
			shared = append(shared, path)
		}
	})
	return shared
}

type place struct {
	at  uintptr
	typ reflect.Type
}

// visit calls do for the memory behind each pointer, slice and map below v.
func visit(v reflect.Value, path string, visited map[place]bool, do func(at uintptr, path string)) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice:
		if v.IsNil() || v.Kind() == reflect.Slice && v.Cap() == 0 || v.Kind() == reflect.Pointer && v.Type().Elem().Size() == 0 {
			return
		}
		if o := (place{v.Pointer(), v.Type()}); visited[o] && v.Kind() != reflect.Slice {
			return
		} else {
			visited[o] = true
		}
		do(v.Pointer(), path)
	}
	switch v.Kind() {
	case reflect.Pointer:
		visit(v.Elem(), path, visited, do)
	case reflect.Struct:
		for i := range v.NumField() {
			visit(v.Field(i), path+"."+v.Type().Field(i).Name, visited, do)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			visit(v.Index(i), fmt.Sprintf("%s[%d]", path, i), visited, do)
		}
	case reflect.Map:
		for i := v.MapRange(); i.Next(); {
			visit(i.Key(), path+"[key]", visited, do)
			visit(i.Value(), fmt.Sprintf("%s[%v]", path, i.Key()), visited, do)
		}
	}
}
