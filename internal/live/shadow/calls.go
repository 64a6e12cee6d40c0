package shadow

import "unsafe"

// Record has the shadows of the arguments, or of the results, of one call.
type Record struct {
	tag   uint32 // the signature of the function; 0 if the record was read
	slots [slotsMax]struct {
		e     *Expr
		cells []cell
	}
	used int
}

// slotsMax is how many arguments or results of a call have shadows: the receiver, if any, and those that follow.
const slotsMax = 16

var arguments, results Record

func (r *Record) begin(tag uint32) {
	for i := range r.used {
		r.slots[i].e, r.slots[i].cells = nil, nil
	}
	r.tag, r.used = tag, 0
}

// take is the record if it is of a signature and has a shadow. It is read once.
func (r *Record) take(tag uint32) *Record {
	same := r.tag == tag
	r.tag = 0
	if !same || r.used == 0 {
		return nil
	}
	return r
}

func (r *Record) set(i int, e *Expr) {
	if e != nil && i < slotsMax {
		r.slots[i].e = e
		r.used = max(r.used, i+1)
	}
}

func (r *Record) setMemory(i int, p unsafe.Pointer, n uintptr) {
	if i >= slotsMax || !memory.any(uintptr(p), n) {
		return
	}
	if list := memory.cells(p, n); list != nil {
		r.slots[i].cells, r.slots[i].e = list, nil
		r.used = max(r.used, i+1)
	}
}

// Call begins the arguments of a call of a signature.
func Call(tag uint32) {
	if active() {
		arguments.begin(tag)
		results.tag = 0
	}
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

// Enter gives a function of a signature its arguments' shadows: nil if there are none.
func Enter(tag uint32) *Record {
	if !active() {
		return nil
	}
	return arguments.take(tag)
}

// Return begins the results of a function of a signature.
func Return(tag uint32) {
	if active() {
		results.begin(tag)
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
	arguments.tag = 0
	return results.take(tag)
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
