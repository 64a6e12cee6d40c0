package sdk

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Fault is one kind of fault of a dependency. Packages that wrap a dependency use it for faults that a Point does not
// have, such as a body that is cut.
type Fault struct {
	source Source
	kind   string
	rate   float64
}

// maxKind bounds the name of a fault, in bytes; worlds accept no longer one.
const maxKind = 100

// NewFault makes a fault. kind is its name in the ledger, made of letters, digits, _, - and dots. NewFault panics if
// the rate is not between 0 and 1, or if it is above 0 and s is nil.
func NewFault(s Source, kind string, rate float64) *Fault {
	word := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.'
	}
	switch {
	case kind == "" || len(kind) > maxKind || strings.IndexFunc(kind, func(c rune) bool { return !word(c) }) >= 0:
		panic(fmt.Sprintf("sdk: %q is not a valid fault name: use at most %d letters, digits, _, - and dots", kind, maxKind))
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

// Happens decides whether the fault happens to the next call. taken says that another fault has already happened to it;
// then this one does not, but still takes a draw, so that later draws stay the same if the other fault is removed.
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

// Error returns the error that a caller sees. It wraps cause, or without one io.ErrUnexpectedEOF, which a client sees
// when its connection ends.
func (f *Fault) Error(cause error) error {
	if cause == nil {
		cause = io.ErrUnexpectedEOF
	}
	return &Error{kind: f.kind, cause: cause, source: f.source}
}

// Rates sets the probabilities of faults of a call, each from 0 to 1.
type Rates struct {
	Before float64 // fails, and the call was not done
	After  float64 // fails with the same error, but the call was done: the answer is lost
	Late   float64 // fails with the same error, and the call is done after Delay
	Twice  float64 // succeeds, but the call is done twice
	Slow   float64 // succeeds, but takes Delay longer
	// Delay applies to Late and Slow. 0 stands for 100 ms.
	Delay time.Duration
}

// Way says whether and how a call fails.
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

// Answer is an error that a dependency itself returns instead of success: one that it documents, or one that its
// contract excludes, which counts separately.
type Answer struct {
	Name string // in the ledger, such as "503"
	// Before is the probability that the dependency answers so without doing the call, After that it does the call
	// first.
	Before, After float64
	// Breach marks an answer that the dependency's contract excludes.
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

// NewPoint makes the point of an operation of a dependency, such as "commit" of "db". s decides which faults happen.
// The ledger calls them db_commit_before, db_commit_after and so on; answers are db_commit_NAME_before or
// db_commit_breach_NAME_before. NewPoint panics as NewFault does, and if Late is set in a world inside the process.
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

// Call is the decision about one call of a Point.
type Call struct {
	Way Way
	// Answer is the index of the answer that the caller gets if Way is Before or After, or -1 if the connection ends
	// without one.
	Answer int
	fault  *Fault
}

// Call decides which fault, if any, happens to the next call. If the call is slow, Call waits.
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

// Error returns the error of a call to which a fault happened; see Fault.Error.
func (c Call) Error(cause error) error { return c.fault.Error(cause) }

// Later calls do after the Delay, in the background. Quiet and the end of the run wait for it.
func (p *Point) Later(do func()) { p.source.(postponer).Later(p.Delay, do) }

// postponer is a Source that makes calls later.
type postponer interface {
	Later(d time.Duration, do func())
}
