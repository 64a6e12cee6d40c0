package eval

import (
	"github.com/bloodhound-dst/bloodhound/internal/tla/cells"
)

// Watch has the evaluator record in r, from now on, what Step and Value depend on; with nil it records nothing.
func (ev *Evaluator) Watch(r *cells.Reads) { ev.x.m.reads = r }

// compares notes that the next value of a variable is looked at, which may have parts of the present one.
func (m *machine) compares(variable int) {
	if r := m.reads; r != nil && variable < r.Cells.Variables() {
		r.Whole(variable)
	}
}

// anything notes that what is evaluated may depend on all of the state. Nothing more is noted until what it gives is called.
func (m *machine) anything() (notes func()) {
	r := m.reads
	if r == nil {
		return func() {}
	}
	r.All, m.reads = true, nil
	return func() { m.reads = r }
}
