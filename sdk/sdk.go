// Package sdk makes calls of a Go program to its dependencies fail, in tests. The packages below it wrap dependencies:
// sqlfault drivers of database/sql, httpfault HTTP clients and servers, grpcfault gRPC clients and servers, redisfault
// clients of go-redis, and machinefault files, clocks and memory. Package truth judges what a program reads after
// failed calls.
//
//	func TestShop(t *testing.T) {
//		sdk.Test(t, func(r *sdk.Run) {
//			db := sql.OpenDB(sqlfault.Wrap(connector, "db", sqlfault.Faults{Commit: sdk.Rates{After: 0.1}}, r))
//			...
//			r.Quiet()
//			// check what must hold once nothing fails any more
//		})
//	}
//
// Test plays many runs, each with different faults, and shrinks the first one that fails. A caller sees the same error
// whether a call failed before or after it took effect, as it would in production. The test also fails if a fault that
// it names never happened, or if the program never looked at the error of one.
package sdk

import (
	"errors"
	"runtime"
	"strings"
	"time"
)

// Source decides which calls fail: a *Run in an ordinary test, and a *inproc.Process of package sim/inproc in a world.
type Source interface {
	// Mishap reports whether a fault happens now. kind is its name in the ledger, rate its probability, from 0 to 1.
	// Each call takes one draw of kind. A rate of 0 never happens but still takes its draw; it is passed when another
	// fault has already happened to the same call of the program.
	Mishap(kind string, rate float64) bool
	Sleep(d time.Duration)
}

// Error is the error of a call to which a fault happened. Its text does not reveal whether the call took effect.
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

// Unwrap returns the error that a real client would see.
func (e *Error) Unwrap() error {
	if !asksForItself() {
		e.seen()
	}
	return e.cause
}

// asksForItself reports whether Unwrap is called by package database/sql, which looks at each error for driver.ErrBadConn: the program has not seen it yet.
func asksForItself() bool {
	var pcs [8]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])]) // without Callers, this function and Unwrap
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, "errors.") {
			return strings.HasPrefix(f.Function, "database/sql.")
		}
		if !more {
			return false
		}
	}
}

// Kind returns the name of the fault behind err, or "" if there is none. It is for tests; a program under test must not
// call it.
func Kind(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.kind
	}
	return ""
}
