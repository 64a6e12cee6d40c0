package sdk

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Fault is one kind of fault of a dependency. Packages that wrap a dependency make those beside a Point's by it, such as a body that is cut.
type Fault struct {
	source Source
	kind   string
	rate   float64
}

// maxKind is what a world takes as the name of a fault, in bytes.
const maxKind = 100

// NewFault makes a fault. kind is its name in the ledger, a word of letters, digits, _, - and dots. It panics if the rate is not
// between 0 and 1, or if it is above 0 and nothing decides.
func NewFault(s Source, kind string, rate float64) *Fault {
	word := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.'
	}
	switch {
	case kind == "" || len(kind) > maxKind || strings.IndexFunc(kind, func(c rune) bool { return !word(c) }) >= 0:
		panic(fmt.Sprintf("sdk: %q is no name of a fault: use at most %d letters, digits, _, - and dots", kind, maxKind))
	case !(rate >= 0 && rate <= 1):
		panic(fmt.Sprintf("sdk: the rate %v of %s is not between 0 and 1: write a share of the calls, such as 0.05", rate, kind))
	case rate > 0 && s == nil:
		panic("sdk: " + kind + " has a rate, and nothing decides about it: pass the Run")
	}
	if e, ok := s.(expecter); ok && rate > 0 {
		e.expect(kind)
	}
	return &Fault{s, kind, rate}
}

// expecter is a Source that notes which faults might happen, and reports those that no call asks about.
type expecter interface{ expect(kind string) }

// Happens decides about the next call. It does not happen to a call to which something else has (taken); that takes a draw all
// the same, so that those of later calls do not shift if the other fault is taken away.
func (f *Fault) Happens(taken bool) bool {
	switch {
	case f.rate == 0:
		return false
	case taken:
		f.source.Mishap(f.kind, 0)
		return false
	}
	return f.source.Mishap(f.kind, f.rate)
}

// Error is what a caller sees of the fault. It wraps cause, or io.ErrUnexpectedEOF without one: what a client sees whose connection ends.
func (f *Fault) Error(cause error) error {
	if cause == nil {
		cause = io.ErrUnexpectedEOF
	}
	return &Error{kind: f.kind, cause: cause, source: f.source}
}

// Rates are the probabilities of what happens to a call in place of its success, each from 0 to 1.
type Rates struct {
	Before float64 // an error, and nothing was done
	After  float64 // the same error, and it was done: the answer is lost
	Late   float64 // the same error, and it is done after Delay
	Twice  float64 // it is done twice
	Slow   float64 // it is done, and takes Delay longer
	// Delay is that of Late and Slow; 0 is 100 ms.
	Delay time.Duration
}

// Way is what happens to a call.
type Way uint8

const (
	Fine Way = iota
	Before
	After
	Late
	Twice
	Slow
	ways
)

var suffixes = [ways]string{Before: "_before", After: "_after", Late: "_late", Twice: "_twice", Slow: "_slow"}

// Answer is an error that a dependency itself answers in place of success: one of the catalogue that it documents, or one that
// its contract excludes, which is a class of its own.
type Answer struct {
	Name string // in the ledger, such as "503"
	// Before and After are the probabilities that it is given before the call is done, which then does not happen, and after.
	Before, After float64
	// Breach says that the dependency's contract has no such answer.
	Breach bool
}

// Point is a call at which faults happen, for packages that wrap a dependency.
type Point struct {
	Delay   time.Duration
	source  Source
	ways    [ways]*Fault
	answers [][2]*Fault // before and after
	off     bool
}

// NewPoint makes the point of an operation of a dependency, such as "commit" of "db", at which s decides. Its faults are
// db_commit_before, db_commit_after and so on; those of an answer are db_commit_NAME_before or db_commit_breach_NAME_before. It
// panics as NewFault does, and if calls are to be late in a world inside the process.
func NewPoint(s Source, dependency, operation string, r Rates, answers ...Answer) *Point {
	p := &Point{Delay: r.Delay, source: s, off: true}
	if p.Delay == 0 {
		p.Delay = 100 * time.Millisecond
	}
	name := dependency + "_" + operation
	if _, ok := s.(postponer); r.Late > 0 && s != nil && !ok {
		panic("sdk: " + name + " cannot be late here: only a Run makes calls later")
	}
	fault := func(kind string, rate float64) *Fault {
		p.off = p.off && rate == 0
		return NewFault(s, kind, rate)
	}
	for w, rate := range [ways]float64{Before: r.Before, After: r.After, Late: r.Late, Twice: r.Twice, Slow: r.Slow} {
		p.ways[w] = fault(name+suffixes[w], rate)
	}
	for _, a := range answers {
		kind := name + "_" + a.Name
		if a.Breach {
			kind = name + "_breach_" + a.Name
		}
		p.answers = append(p.answers, [2]*Fault{fault(kind+"_before", a.Before), fault(kind+"_after", a.After)})
	}
	return p
}

// Call is what happens to one call of a Point.
type Call struct {
	Way Way
	// Answer is the number of the answer that the caller gets, if Way is Before or After, and -1 if it gets none: the connection ends.
	Answer int
	fault  *Fault
}

// Call decides what happens to the next call, and waits if that is to be slow.
func (p *Point) Call() Call {
	c := Call{Answer: -1}
	if p.off {
		return c
	}
	for w := Before; w < ways; w++ {
		if f := p.ways[w]; f.Happens(c.Way != Fine) {
			c.Way, c.fault = w, f
		}
	}
	for i, a := range p.answers {
		for k, w := range [2]Way{Before, After} {
			if f := a[k]; f.Happens(c.Way != Fine) {
				c = Call{w, i, f}
			}
		}
	}
	if c.Way == Slow {
		p.source.Sleep(p.Delay)
	}
	return c
}

// Error is the error of a call that a fault made (Fault.Error).
func (c Call) Error(cause error) error { return c.fault.Error(cause) }

// Later does what a late call does, after the Delay, beside the caller. Quiet and the end of the run wait for it.
func (p *Point) Later(do func()) { p.source.(postponer).Later(p.Delay, do) }

// postponer is a Source that makes calls later.
type postponer interface {
	Later(d time.Duration, do func())
}
