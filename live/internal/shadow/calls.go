package shadow

import (
	"reflect"
	"unsafe"
)

// Record has the shadows of the arguments, or of the results, of one call.
type Record struct {
	tag   uint32 // the signature of the function; 0 if the record was read
	site  uint32 // of the call, or of the function that returns
	slots [slotsMax]struct {
		e     *Expr
		cells []cell
	}
	used int
}

// slotsMax is how many arguments or results of a call have shadows: the receiver, if any, and those that follow.
const slotsMax = 16

var arguments, results Record

// A tag has a number for how many arguments and results a signature has, and one for their types: 0 if some are type parameters, which agree with any.
const tagTypes = 0xffff

func agree(a, b uint32) bool {
	return a == b || a != 0 && b != 0 && a&^tagTypes == b&^tagTypes && (a&tagTypes == 0 || b&tagTypes == 0)
}

// drop counts a record that nobody has read, such as arguments of a function without a second body.
func (r *Record) drop() {
	if r.tag != 0 && r.used > 0 {
		current.Lost[r.site]++
	}
	r.tag = 0
}

func (r *Record) beginRecord(tag, site uint32) {
	r.drop()
	r.site = site
	for i := range r.used {
		r.slots[i].e, r.slots[i].cells = nil, nil
	}
	r.tag, r.used = tag, 0
}

// takeRecord returns the record if it is of a signature and has a shadow, else nil. A record is read once.
func (r *Record) takeRecord(tag uint32) *Record {
	if !agree(r.tag, tag) {
		r.drop()
		return nil
	}
	r.tag = 0
	if r.used == 0 {
		return nil
	}
	return r
}

func (r *Record) set(i int, e *Expr) {
	if e != nil && i >= slotsMax {
		current.Lost[r.site]++
	}
	if e != nil && i < slotsMax {
		r.slots[i].e = e
		r.used = max(r.used, i+1)
	}
}

func (r *Record) setMemory(i int, p unsafe.Pointer, n uintptr) {
	if !memory.any(uintptr(p), n) {
		return
	}
	if i >= slotsMax {
		current.Lost[r.site]++
		return
	}
	if list := memory.cells(p, n); list != nil {
		r.slots[i].cells, r.slots[i].e = list, nil
		r.used = max(r.used, i+1)
	}
}

// Call begins the arguments of a call, at a site, of a function that has a name.
func Call(tag, site uint32) {
	if active() {
		beginCall(tag, site)
	}
}

func beginCall(tag, site uint32) {
	arguments.beginRecord(tag, site)
	results.drop()
	awaited = -1
}

// open are calls of functions that have no name there, by a value or by an interface, until they are done: whether a second body
// has taken the arguments. awaited is the one that nobody has entered yet, or -1.
var (
	open    []entered
	awaited int
)

type entered uint8

const (
	byNone entered = iota
	byFunction
	byLoop // the body of a range statement over a function
)

// CallValue is Call for a function value, or for a method of what an interface holds. It gives the number of the call.
func CallValue(tag, site uint32, of any) int {
	if !active() {
		return -1
	}
	beginCall(tag, site)
	if !foreign(of) {
		awaited = len(open)
	}
	open = append(open, byNone)
	return len(open) - 1
}

// Done ends such a call, and reports whether it went to a function without a second body.
func Done(n int) bool {
	if !active() || n < 0 || n >= len(open) {
		return false
	}
	by := open[n]
	open, awaited = open[:n], -1
	if by != byFunction {
		results.tag = 0 // of what that function has called
	}
	arguments.drop()
	return by == byNone
}

func enter(tag uint32, by entered) *Record {
	if !active() {
		return nil
	}
	if awaited >= 0 && agree(arguments.tag, tag) {
		open[awaited] = by
	}
	awaited = -1
	return arguments.takeRecord(tag)
}

// Pass is an argument of the call.
func Pass(i int, e *Expr) {
	if active() {
		arguments.set(i, e)
	}
}

// PassMemory is an argument that n bytes at p hold.
func PassMemory(i int, p unsafe.Pointer, n uintptr) {
	if active() {
		arguments.setMemory(i, p, n)
	}
}

// PassHeld is the receiver of a method that is called by an interface: what that holds, or points to, if the method has a value for its receiver. The
// compiler's own code copies it, from the memory that has its shadows. A method of an embedded field has another receiver, whose shadows are lost.
func PassHeld(of any, method string) {
	if !active() || of == nil {
		return
	}
	t, p, byValue := receiverOf(of, method)
	switch {
	case !byValue || p == nil:
	case !embeds(t):
		arguments.setMemory(0, p, t.Size())
	case held(t, p, 0):
		current.Lost[arguments.site]++
	}
}

// LoseHeld counts, at a site, a method of what an interface holds that becomes a function value, which has a copy of the receiver.
func LoseHeld(site uint32, of any, method string) {
	if !active() || of == nil {
		return
	}
	if t, p, byValue := receiverOf(of, method); byValue && p != nil && held(t, p, 0) {
		current.Lost[site]++
	}
}

// receiverOf is the type and the memory of the value that an interface holds or points to. byValue is false if the method has a pointer for its receiver,
// or if the interface holds a pointer of another kind.
func receiverOf(of any, method string) (t reflect.Type, p unsafe.Pointer, byValue bool) {
	t, p = reflect.TypeOf(of), Boxed(of)
	if t.Kind() != reflect.Pointer {
		return t, p, !direct(t)
	}
	t = t.Elem()
	if method[0] < 'A' || method[0] > 'Z' { // reflect shows exported methods only
		return t, p, true
	}
	key := methodOf{t, method}
	known, ok := methods[key]
	if !ok {
		Aside(func() { _, known = t.MethodByName(method) })
		methods[key] = known
	}
	return t, p, known
}

// methods has what receiverOf has found: whether a type that is no pointer has a method.
var methods = map[methodOf]bool{}

type methodOf struct {
	of   reflect.Type
	name string
}

// embeds reports whether a type may have methods of an embedded field.
func embeds(t reflect.Type) bool {
	known, ok := embedding[t]
	if !ok && t.Kind() == reflect.Struct {
		Aside(func() {
			for i := range t.NumField() {
				known = known || t.Field(i).Anonymous
			}
		})
		embedding[t] = known
	}
	return known
}

// embedding has what embeds has found of structures.
var embedding = map[reflect.Type]bool{}

// held reports whether a value, or what its embedded fields lead to, has shadows. What lies deep counts as having some.
func held(t reflect.Type, p unsafe.Pointer, depth int) (found bool) {
	const deepest = 4
	switch {
	case depth > deepest || memory.any(uintptr(p), t.Size()):
		return true
	case t.Kind() != reflect.Struct:
		return false
	}
	type field struct {
		t reflect.Type
		p unsafe.Pointer
	}
	var embedded []field
	Aside(func() {
		for i := range t.NumField() {
			f := t.Field(i)
			at := unsafe.Add(p, f.Offset)
			switch {
			case !f.Anonymous:
			case f.Type.Kind() == reflect.Pointer:
				if q := *(*unsafe.Pointer)(at); q != nil {
					embedded = append(embedded, field{f.Type.Elem(), q})
				}
			case f.Type.Kind() == reflect.Interface:
				if v := reflect.NewAt(f.Type, at).Elem().Elem(); v.IsValid() && v.Kind() == reflect.Pointer && !v.IsNil() {
					embedded = append(embedded, field{v.Type().Elem(), v.UnsafePointer()})
				} else if v.IsValid() && !direct(v.Type()) {
					embedded = append(embedded, field{v.Type(), (*word)(at).data})
				}
			case f.Type.Kind() == reflect.Struct:
				embedded = append(embedded, field{f.Type, at})
			}
		}
	})
	for _, f := range embedded {
		found = found || held(f.t, f.p, depth+1)
	}
	return found
}

// Enter gives a function of a signature its arguments' shadows: nil if there are none.
func Enter(tag uint32) *Record { return enter(tag, byFunction) }

// EnterLoop is Enter for the body of a range statement over a function.
func EnterLoop(tag uint32) *Record { return enter(tag, byLoop) }

// Return begins the results of a function of a signature.
func Return(tag, site uint32) {
	if active() {
		results.beginRecord(tag, site)
	}
}

// Give is a result.
func Give(i int, e *Expr) {
	if active() {
		results.set(i, e)
	}
}

// GiveMemory is a result that n bytes at p hold.
func GiveMemory(i int, p unsafe.Pointer, n uintptr) {
	if active() {
		results.setMemory(i, p, n)
	}
}

// Back gives the caller the results' shadows.
func Back(tag uint32) *Record {
	if !active() {
		return nil
	}
	arguments.drop()
	return results.takeRecord(tag)
}

// Ignore ends a call whose results the program does not use.
func Ignore() {
	if active() {
		arguments.drop()
		results.tag = 0
	}
}

// Get is the shadow of a scalar of a record, whose value is v.
func Get(r *Record, i int, v uint64, width uint8) *Expr {
	if r == nil || i >= r.used {
		return nil
	}
	e := r.slots[i].e
	if e == nil && r.slots[i].cells != nil { // a generic function has given it
		e = number(r.slots[i].cells, v, width)
	}
	if e == nil {
		return nil
	}
	if !valid(e, v, width) {
		current.Stale++
		return nil
	}
	return e
}

// GetMemory gives n bytes at p the shadows of a record, or removes those that they have.
func GetMemory(r *Record, i int, p unsafe.Pointer, n uintptr) {
	if !active() {
		return
	}
	if r == nil || i >= r.used {
		Clear(p, n)
		return
	}
	if e := r.slots[i].e; e != nil { // a generic function takes it
		if e.Width == 1 {
			StoreBool(p, e)
		} else if uintptr(e.Width) == 8*n {
			Store(p, n, e)
		}
		return
	}
	memory.place(p, n, r.slots[i].cells)
}

// number is the shadow of a number whose bytes are cells, and whose value is v.
func number(cells []cell, v uint64, width uint8) *Expr {
	b := &current.builder
	var word *Expr
	for i := range uintptr(width+7) / 8 {
		e := b.Const(v>>(8*i), 8)
		for _, c := range cells {
			if c.at == i {
				e = c.e
			}
		}
		if word == nil {
			word = e
		} else {
			word = b.Concat(e, word)
		}
	}
	return known(b.Extract(word, 0, width))
}
