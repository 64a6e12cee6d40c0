// Package live explores the behaviour of Go code for unseen inputs: it runs a handler, records the conditions that the
// inputs decided, and solves for inputs that decide them differently.
//
// A test names the handler and marks the fields of its input that are unknown:
//
//	func TestUpdate(t *testing.T) {
//		live.Explore(t, live.Handler{Run: func() {
//			table, update := newTable(), validUpdate()
//			live.Symbolic("prefix", &update.Prefix)
//			live.Symbolic("length", &update.Length)
//			table.Handle(update)
//			live.Check("no prefix of ours is taken over", table.Origin(ours) == us)
//		}})
//	}
//
// The command `bloodhound live test` builds such a test with instrumented packages and runs it. Under plain `go test`
// the handler runs once, with the example values of its fields.
package live

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"unsafe"

	"github.com/bloodhound-dst/bloodhound/live/internal/search"
	"github.com/bloodhound-dst/bloodhound/live/internal/shadow"
)

// Integer is a type that a symbolic field may have, besides bool.
type Integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

// Symbolic makes a field an unknown input of the running handler. The field's value is an example, which the first path
// uses. Findings name the input.
func Symbolic[T Integer | ~bool](name string, field *T) {
	seen()
	shadow.Symbolic(name, unsafe.Pointer(field), unsafe.Sizeof(*field), reflect.TypeFor[T]().Kind() == reflect.Bool)
}

// SymbolicBytes makes each byte an unknown input, named NAME[0] and so on. The length stays fixed.
func SymbolicBytes(name string, b []byte) {
	seen()
	for i := range b {
		shadow.Symbolic(fmt.Sprintf("%s[%d]", name, i), unsafe.Pointer(&b[i]), 1, false)
	}
}

// marking has, by where inputs are marked, whether the code there is instrumented.
var marking = map[uintptr]bool{}

// seen counts inputs that are marked by code without instrumentation: that code also uses the input, and nobody sees
// how.
func seen() {
	if !shadow.Recording() {
		return
	}
	var pcs [1]uintptr
	runtime.Callers(3, pcs[:])
	follows, ok := marking[pcs[0]]
	if !ok {
		shadow.Aside(func() {
			f, _ := runtime.CallersFrames(pcs[:]).Next()
			follows = shadow.Follows(shadow.PackageOf(f.Function))
		})
		marking[pcs[0]] = follows
	}
	if !follows {
		shadow.Unmarked()
	}
}

// Check states a condition that must hold after the handler has run. In instrumented code a failing check is a branch
// that the search tries to reach.
func Check(name string, holds bool) {
	if !holds {
		failures = append(failures, search.Failure{What: name})
	}
}

// failures holds the failures of the run.
var failures []search.Failure

// runOnce calls a handler: a panic of it is a failure.
func runOnce(run func()) (panicked []search.Failure) {
	failures = nil
	defer func() {
		shadow.On = false // what follows is not of the path
		panicked = failures
		if e := recover(); e != nil {
			panicked = append(panicked, search.Failure{What: fmt.Sprintf("panic: %v", e), Where: panicSite()})
		}
	}()
	run()
	return nil
}

// panicSite is the function of the handler that panicked, with file and line.
func panicSite() string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	panicking := false
	for {
		f, more := frames.Next()
		switch {
		case f.Function == "runtime.gopanic":
			panicking = true
		case panicking && !strings.HasPrefix(f.Function, "runtime."):
			return fmt.Sprintf("%s:%d", f.File, f.Line)
		}
		if !more {
			return ""
		}
	}
}
