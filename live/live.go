// Package live explores what Go code does with inputs that it has not seen: it runs a handler, records which conditions the
// inputs decided, and solves for inputs that decide otherwise.
//
// A test marks the handler, and which fields of its input are unknown:
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
// The command `bloodhound live test` builds such a test with instrumented packages and runs it. Under plain `go test` the handler
// runs once, with the values that its fields have.
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

// Integer is what a symbolic field can be, beside a truth value.
type Integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

// Symbolic makes a field an unknown input of the handler that runs. Its value is an example: the first path has it. The input is named in findings.
func Symbolic[T Integer | ~bool](name string, field *T) {
	seen()
	shadow.Symbolic(name, unsafe.Pointer(field), unsafe.Sizeof(*field), reflect.TypeFor[T]().Kind() == reflect.Bool)
}

// SymbolicBytes makes each byte an unknown input, named NAME[0] and so on. The length stays.
func SymbolicBytes(name string, b []byte) {
	seen()
	for i := range b {
		shadow.Symbolic(fmt.Sprintf("%s[%d]", name, i), unsafe.Pointer(&b[i]), 1, false)
	}
}

// marking has, by where inputs are marked, whether the code there is instrumented.
var marking = map[uintptr]bool{}

// seen counts that an input is marked by code that is not instrumented: it uses the input, too, and nobody sees how.
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

// Check states what must hold when the handler has run. In instrumented code a check that fails is a branch that the search looks for.
func Check(name string, holds bool) {
	if !holds {
		failures = append(failures, search.Failure{What: name})
	}
}

// failures are those of the run.
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
