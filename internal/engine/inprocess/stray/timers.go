package stray

import (
	"flag"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/sdk"
)

// The goroutine of a function of time.AfterFunc has no creator: the runtime starts it when the time has come. So a run is made with a profile of all
// allocations, which tells who has called AfterFunc, and a trace, which tells whose functions were executed.

// lingerMs is how long such functions are awaited after a run, in milliseconds.
const lingerMs = 100

// usualRate is Go's default of runtime.MemProfileRate.
const usualRate = 512 << 10

// watched is the goroutine that calls the function of a WatchTimers, or 0.
var watched atomic.Uint64

// Watched reports whether the present goroutine is one whose timers are watched. Coroutines that it starts call their functions by Watching.
func Watched() bool { return watched.Load() != 0 && watched.Load() == Goroutine() }

// Watching calls a function on a coroutine of a goroutine that is Watched.
//
//go:noinline
func Watching(call func()) {
	call()
	runtime.KeepAlive(&watched) // no tail call: this frame identifies the run in stacks
}

// WatchTimers does what Watch does for the functions of time.AfterFunc that a function literal in the calling function is, and returns those that were
// executed. Programs that profile their memory are not watched, since their profile would change.
func WatchTimers(run func()) ([]Group, error) {
	watching.Lock()
	defer watching.Unlock()
	if f := flag.Lookup("test.memprofile"); runtime.MemProfileRate != usualRate || f != nil && f.Value.String() != "" {
		return nil, nil
	}
	before := timers()
	var started map[frame]int64
	list, err := record(func() {
		func() {
			runtime.MemProfileRate = 1
			watched.Store(Goroutine())
			defer func() {
				runtime.MemProfileRate = usualRate
				watched.Store(0)
			}()
			Watching(run)
		}()
		for range 3 { // the profile lags behind by two collections
			runtime.GC()
		}
		started = timers()
		for f, n := range before {
			if started[f] -= n; started[f] <= 0 {
				delete(started, f)
			}
		}
		if len(started) > 0 {
			time.Sleep(lingerMs * time.Millisecond)
		}
	})
	if err != nil {
		return nil, err
	}
	count := map[Group]int{}
	for f := range started {
		g := Group{Kind: Timer, Place: sdk.Location{File: f.file, Line: f.line, Function: short(f.function)}}
		for _, c := range list {
			if c.by == 0 && strings.HasPrefix(c.main.function, f.function+".") {
				count[g]++
			}
		}
	}
	return sorted(count), nil
}

// timers counts the calls of time.AfterFunc by functions that were Watching, by the place of the call.
func timers() map[frame]int64 {
	var records []runtime.MemProfileRecord
	for n, ok := runtime.MemProfile(nil, true); !ok; n, ok = runtime.MemProfile(records, true) {
		if len(records) < n {
			records = make([]runtime.MemProfileRecord, n+n/8+64)
			continue
		}
	}
	count := map[frame]int64{}
	for i := range records {
		if r := &records[i]; r.AllocObjects > 0 {
			if at, ok := timer(r.Stack()); ok {
				count[at] += r.AllocObjects
			}
		}
	}
	return count
}

// timer finds the caller of time.AfterFunc in the stack of an allocation.
func timer(stack []uintptr) (caller frame, ok bool) {
	frames := runtime.CallersFrames(stack)
	calls := false
	for {
		f, more := frames.Next()
		switch {
		case calls && caller.function == "":
			caller = frame{f.Function, f.File, f.Line}
		case f.Function == "time.AfterFunc":
			calls = true
		case calls && f.Function == module+"internal/engine/inprocess/stray.Watching":
			return caller, true
		}
		if !more {
			return frame{}, false
		}
	}
}
