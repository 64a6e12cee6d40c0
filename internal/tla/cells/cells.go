// Package cells divides states into cells, so that a search can remember on which parts of a state a step depends.
package cells

import (
	"math/bits"

	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// Cells divides states: a variable whose value is a function has a cell for each of its arguments, and another variable is one
// cell. So a search can know that a step depends on, or changes, what one server has, whatever others have.
type Cells struct {
	first []int         // of each variable, and at the end how many there are
	shape []value.Value // of a variable that is divided: a function with its arguments
}

// Most bounds how many cells there are, and so the variables of a specification that is divided.
const Most = 256

// mostArguments bounds into how many cells a variable is divided.
const mostArguments = 16

// Set is a set of cells.
type Set [Most / 64]uint64

// Add puts a cell into the set.
func (s *Set) Add(cell int) { s[cell/64] |= 1 << (cell % 64) }

// Remove takes a cell out of the set.
func (s *Set) Remove(cell int) { s[cell/64] &^= 1 << (cell % 64) }

// Has reports whether a cell is in the set.
func (s *Set) Has(cell int) bool { return s[cell/64]&(1<<(cell%64)) != 0 }

// Meets reports whether two sets have a cell in common.
func (s *Set) Meets(o *Set) bool {
	met := uint64(0)
	for i := range s {
		met |= s[i] & o[i]
	}
	return met != 0
}

// Each calls f with each cell in the set.
func (s *Set) Each(f func(cell int)) {
	for i, word := range s {
		for ; word != 0; word &= word - 1 {
			f(64*i + bits.TrailingZeros64(word))
		}
	}
}

// Divide divides states as far as all of those that are given, of which there is one at least, can be divided alike. They have MostCells variables at most.
func Divide(like [][]value.Value) *Cells {
	width := len(like[0])
	c := &Cells{shape: make([]value.Value, width)}
	total := width
	for i := range width {
		v := like[0][i]
		n := parts(v)
		alike := n >= 2 && n <= mostArguments && total+n-1 <= Most
		for _, o := range like[1:] {
			alike = alike && fits(v, o[i])
		}
		if alike {
			c.shape[i] = v
			total += n - 1
		}
	}
	at := 0
	for _, v := range c.shape {
		c.first = append(c.first, at)
		at += max(parts(v), 1)
	}
	c.first = append(c.first, at)
	return c
}

// parts is how many arguments a function has that is spelled out; 0 for all else.
func parts(v value.Value) int {
	switch f := v.(type) {
	case *value.Tuple:
		return len(f.Items)
	case *value.Record:
		return len(f.Values)
	case *value.Function:
		return len(f.Values)
	}
	return 0
}

// fits reports whether a value is a function with the arguments of another.
func fits(shape, v value.Value) bool {
	switch s := shape.(type) {
	case *value.Tuple:
		f, ok := v.(*value.Tuple)
		return ok && len(f.Items) == len(s.Items)
	case *value.Record:
		f, ok := v.(*value.Record)
		if !ok || len(f.Names) != len(s.Names) {
			return false
		}
		for i, n := range s.Names {
			if n != f.Names[i] {
				return false
			}
		}
		return true
	case *value.Function:
		f, ok := v.(*value.Function)
		return ok && (f.Domain == s.Domain || f.Domain.Fingerprint() == s.Domain.Fingerprint())
	}
	return false
}

// Variables is how many variables the states have.
func (c *Cells) Variables() int { return len(c.first) - 1 }

// Count is how many cells there are.
func (c *Cells) Count() int { return c.first[len(c.first)-1] }

// Range returns the cells of a variable: the first, and the one after the last.
func (c *Cells) Range(variable int) (from, to int) { return c.first[variable], c.first[variable+1] }

// Parts are the values of a variable's cells, if its value can be divided as it was at first.
func (c *Cells) Parts(variable int, v value.Value) ([]value.Value, bool) {
	if shape := c.shape[variable]; shape == nil || !fits(shape, v) {
		return nil, false
	}
	switch f := v.(type) {
	case *value.Tuple:
		return f.Items, true
	case *value.Record:
		return f.Values, true
	}
	return v.(*value.Function).Values, true
}

// Whole is the value of a variable that is divided into parts. It keeps them.
func (c *Cells) Whole(variable int, parts []value.Value) value.Value {
	switch s := c.shape[variable].(type) {
	case *value.Tuple:
		return value.NewTuple(parts)
	case *value.Record:
		return value.NewRecord(s.Names, parts)
	}
	return value.NewFunction(c.shape[variable].(*value.Function).Domain, parts)
}

// Reads records which cells of a state an evaluation depends on. An evaluation of the same operator with the same arguments in
// another state that has the same in these cells does the same. (What is remembered of a definition was evaluated in the same
// moment, and was noted then.)
type Reads struct {
	Cells *Cells
	Set   Set
	// All says that it may depend on anything.
	All bool
	// kept are the variables that are UNCHANGED in the step that is under way, and excepted those whose next value is [v EXCEPT ...] of the variable v itself.
	Kept, Excepted Set
}

// Clear removes all records.
func (r *Reads) Clear() { *r = Reads{Cells: r.Cells} }

// Keeps reports, while Evaluator.Step gives a state, whether the step leaves a variable UNCHANGED.
func (r *Reads) Keeps(variable int) bool { return r.Kept.Has(variable) }

// Excepts reports, while Evaluator.Step gives a state, whether a variable has a value that is its old one but for arguments that
// are among the cells that were read.
func (r *Reads) Excepts(variable int) bool { return r.Excepted.Has(variable) }

// Whole notes that a variable was read.
func (r *Reads) Whole(variable int) {
	for i := r.Cells.first[variable]; i < r.Cells.first[variable+1]; i++ {
		r.Set.Add(i)
	}
}

// Argument notes that of a variable, whose value is f, the value for one argument was read.
func (r *Reads) Argument(variable int, f, key value.Value) {
	from := r.Cells.first[variable]
	if r.Cells.first[variable+1]-from > 1 && fits(r.Cells.shape[variable], f) {
		if at := argumentAt(f, key); at >= 0 {
			r.Set.Add(from + at)
			return
		}
	}
	r.Whole(variable)
}

// argumentAt is the place of an argument of a function that is spelled out, from 0 on; -1: it has no such argument.
func argumentAt(f, key value.Value) int {
	switch f := f.(type) {
	case *value.Tuple:
		if n, ok := key.(value.Int); ok && n >= 1 && int(n) <= len(f.Items) {
			return int(n - 1)
		}
	case *value.Record:
		if n, ok := key.(*value.String); ok {
			return f.Field(n)
		}
	case *value.Function:
		if i, ok := f.Domain.Find(key); ok {
			return i
		}
	}
	return -1
}
