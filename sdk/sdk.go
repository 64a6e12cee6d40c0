// Package sdk decides which of the calls fail that a Go program makes to what it depends on, in tests. The packages below it wrap dependencies: sqlfault
// a driver of database/sql, httpfault clients and servers of HTTP.
//
//	func TestShop(t *testing.T) {
//		sdk.Test(t, func(r *sdk.Run) {
//			db := sql.OpenDB(sqlfault.Wrap(connector, "db", sqlfault.Faults{Commit: sdk.Rates{After: 0.1}}, r))
//			...
//			r.Quiet()
//			// what must hold when nothing fails any more
//		})
//	}
//
// Test plays many runs, each with other faults, and makes the first one that fails smaller. A caller sees the same error whether a call failed before or after
// it took effect, as it would in production. The test also fails if a fault that it names never happened, or if the program never looked at one.
package sdk

import (
	"errors"
	"io"
	"time"
)

// Source decides which calls fail. A *Run is one in an ordinary test, and a *inproc.Process of package sim/inproc is one in a world.
type Source interface {
	// Mishap reports whether a fault happens now. kind is its name in the ledger, rate its probability, from 0 to 1. Each call is one draw of the kind, also one
	// with a rate of 0, which never happens.
	Mishap(kind string, rate float64) bool
	Sleep(d time.Duration)
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

// Point is a call at which faults happen, for packages that wrap a dependency.
type Point struct {
	Delay time.Duration
	rates [ways]float64
	kinds [ways]string
	off   bool
}

// NewPoint makes the point of an operation of a dependency, such as "commit" of "db". Its faults are db_commit_before, db_commit_after and so on. It panics if a rate is not
// between 0 and 1.
func NewPoint(dependency, operation string, r Rates) *Point {
	p := &Point{Delay: r.Delay, rates: [ways]float64{Before: r.Before, After: r.After, Late: r.Late, Twice: r.Twice, Slow: r.Slow}, off: true}
	if p.Delay == 0 {
		p.Delay = 100 * time.Millisecond
	}
	for w, rate := range p.rates {
		if !(rate >= 0 && rate <= 1) {
			panic("sdk: the rate of " + dependency + "_" + operation + suffixes[w] + " is not between 0 and 1")
		}
		p.kinds[w] = dependency + "_" + operation + suffixes[w]
		p.off = p.off && rate == 0
	}
	return p
}

// Way decides what happens to the next call, and waits if that is to be slow.
func (p *Point) Way(s Source) Way {
	if p.off {
		return Fine
	}
	way := Fine
	for w := Before; w < ways; w++ {
		switch {
		case p.rates[w] == 0:
		case way != Fine:
			s.Mishap(p.kinds[w], 0) // one happens, and the draws of the others must not shift if it is taken away
		case s.Mishap(p.kinds[w], p.rates[w]):
			way = w
		}
	}
	if way == Slow {
		s.Sleep(p.Delay)
	}
	return way
}

// Lost is the error of a call whose fault has way. It wraps cause, or io.ErrUnexpectedEOF without one: what a client sees whose connection ends.
func (p *Point) Lost(s Source, way Way, cause error) error {
	if cause == nil {
		cause = io.ErrUnexpectedEOF
	}
	return &Error{kind: p.kinds[way], cause: cause, source: s}
}

// Error is the error of a call that a fault made. Its text does not reveal whether the call took effect.
type Error struct {
	kind   string
	cause  error
	source Source
}

// observer is a Source that counts which of its faults programs have seen.
type observer interface{ observed(kind string) }

func (e *Error) seen() {
	if o, ok := e.source.(observer); ok {
		o.observed(e.kind)
	}
}

func (e *Error) Error() string {
	e.seen()
	return e.cause.Error() + " (a fault of the test)"
}

// Unwrap returns what a real client would see.
func (e *Error) Unwrap() error {
	e.seen()
	return e.cause
}

// Kind returns the name of the fault that made err, for tests, or "". A program under test must not call it.
func Kind(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.kind
	}
	return ""
}
