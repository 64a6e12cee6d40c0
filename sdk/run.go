package sdk

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// Run is one run of a test: it decides which calls fail, and records the outcome. Its methods may be called from any
// goroutine, except FailNow, Fatal, Fatalf and Cleanup, which are reserved for the goroutine of the test's function, as
// with testing.T.
type Run struct {
	ctx    context.Context
	cancel context.CancelFunc
	mu     sync.Mutex
	src    *tape.Source
	by     *surroundings // decides in place of src, if there is one
	calm   bool          // no faults any more

	counts   map[string]*Count
	unseen   []string // kinds of faults that the program has not observed yet
	story    []string
	failures []string
	mistake  string // in the use of these packages; one of failures
	cleanups []func()
	late     sync.WaitGroup // calls that are made later
	watched  []*Progress
	done     bool
	dir      string // for TempDir
}

// Count counts, for one kind of fault, how often it could happen, happened and was noticed.
type Count struct {
	Asked     int // calls before Quiet that could have failed this way
	Delivered int // calls that did fail this way
	Observed  int // failures after which the program looked at the error, or called a wrapped dependency again

	hoped float64 // how often it should have been delivered, by its rates
}

// Mishap reports whether a fault happens now (Source).
func (r *Run) Mishap(kind string, rate float64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.unseen) > 0 && rate > 0 { // else something has happened to the same call
		r.see(0)
	}
	if r.calm || r.done {
		return false
	}
	c := r.count(kind)
	c.Asked++
	c.hoped += rate
	if r.by != nil {
		if !r.by.mishap(kind, rate) {
			return false
		}
	} else if r.src.Rare("fault/"+kind, 2, max(1, uint64(rate*tape.Certain))) == 0 || rate == 0 { // draw i belongs to call i
		return false
	}
	c.Delivered++
	r.unseen = append(r.unseen, kind)
	r.note(fmt.Sprintf("fault %s at call %d", kind, c.Asked))
	return true
}

// expect notes that a fault might happen.
func (r *Run) expect(kind string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count(kind)
}

// observed notes that the program has looked at the error of a fault.
func (r *Run) observed(kind string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.unseen, kind); i >= 0 {
		r.see(i)
	}
}

// see notes that the program has observed one of r.unseen. The caller has the lock.
func (r *Run) see(i int) {
	kind := r.unseen[i]
	r.unseen = slices.Delete(r.unseen, i, i+1)
	r.count(kind).Observed++
	if r.by != nil {
		r.by.observed(kind)
	}
}

func (r *Run) count(kind string) *Count {
	c := r.counts[kind]
	if c == nil {
		c = &Count{}
		r.counts[kind] = c
	}
	return c
}

// note adds a line to the story of the run. The caller has the lock.
func (r *Run) note(text string) {
	const most = 1000
	if len(r.story) < most {
		r.story = append(r.story, text)
	}
}

// Sleep waits for d (Source).
func (r *Run) Sleep(d time.Duration) { time.Sleep(d) }

// Later calls do after d, in the background. Quiet and the end of the run wait for it.
func (r *Run) Later(d time.Duration, do func()) {
	r.late.Go(func() {
		time.Sleep(d)
		do()
	})
}

// Choose draws a number from 0 to k-1, for inputs of the test. name names the choice. Shrinking prefers 0, so 0 should
// stand for the simplest input.
func (r *Run) Choose(name string, k int) int {
	if k < 1 {
		panic(fmt.Sprintf("sdk: Choose(%q, %d); there must be something to choose from", name, k))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by != nil {
		return r.by.choose(name, k)
	}
	return int(r.src.Choose("choice/"+name, uint64(k)))
}

// Quiet ends the faults and waits for late calls. In a world of Bloodhound it also ends the faults that the world
// injects. What the test checks afterwards must hold even though earlier calls failed.
func (r *Run) Quiet() {
	defer r.late.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calm {
		return
	}
	r.calm = true
	r.note("no more faults")
	if r.by != nil {
		if err := r.by.quiet(); err != nil {
			panic(fmt.Sprintf("sdk: faults do not end: %v", err))
		}
	}
	for _, p := range r.watched {
		p.start()
	}
}

// Context returns a context that is cancelled when the run ends.
func (r *Run) Context() context.Context { return r.ctx }

// Logf adds a line to the story, which is printed if the run fails.
func (r *Run) Logf(format string, args ...any) {
	text := fmt.Sprintf(format, args...) // not under the lock, which the text of an injected error takes
	r.mu.Lock()
	defer r.mu.Unlock()
	r.note(text)
}

// Errorf marks the run as failed and continues.
func (r *Run) Errorf(format string, args ...any) {
	text := fmt.Sprintf(format, args...) // as in Logf
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fail(text)
}

// fail notes a failure. The caller has the lock.
func (r *Run) fail(text string) {
	r.failures = append(r.failures, text)
	r.note("failure: " + text)
}

// FailNow marks the run as failed and ends it.
func (r *Run) FailNow() {
	r.mu.Lock()
	if len(r.failures) == 0 {
		r.failures = append(r.failures, "FailNow was called")
	}
	r.mu.Unlock()
	runtime.Goexit()
}

// Fatalf marks the run as failed, with a message, and ends it.
func (r *Run) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

// Failed reports whether the run has failed.
func (r *Run) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.failures) > 0
}

// Helper does nothing; libraries for tests call it.
func (r *Run) Helper() {}

// Cleanup registers a function to call when the run ends. Functions run in reverse order.
func (r *Run) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }

// TempDir makes an empty folder and removes it after the test.
func (r *Run) TempDir() string {
	dir, err := os.MkdirTemp(r.dir, "")
	if err != nil {
		r.Fatalf("TempDir: %v", err)
	}
	return dir
}

// play makes a run of body.
func play(t *testing.T, tp tape.Tape, by *surroundings, body func(*Run)) *Run {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := &Run{ctx: ctx, cancel: cancel, src: tape.NewSource(tp), by: by, counts: map[string]*Count{}, dir: t.TempDir()}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() {
			r.late.Wait()
			for len(r.cleanups) > 0 {
				last := len(r.cleanups) - 1
				f := r.cleanups[last]
				r.cleanups = r.cleanups[:last]
				f()
			}
		}()
		defer func() {
			if p := recover(); p != nil {
				if r.mistake = mistake(p); r.mistake != "" {
					r.Errorf("%s", r.mistake)
				} else {
					r.Errorf("panic: %v\n%s", p, debug.Stack())
				}
			}
		}()
		body(r)
	}()
	<-ended
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endWatches()
	r.done = true
	return r
}

// mistake returns the text of a panic by which a function of these packages refuses its arguments, after the place of
// its call. It returns "" for other panics.
// It is called where the panic is recovered.
func mistake(panicked any) string {
	text, ok := panicked.(string)
	if !ok {
		return ""
	}
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	panicking, ours := false, false
	for {
		f, more := frames.Next()
		path, own := strings.CutPrefix(f.Function, reflect.TypeFor[Run]().PkgPath())
		own = own && (path[0] == '.' || path[0] == '/') && !strings.HasSuffix(f.File, "_test.go")
		switch {
		case f.Function == "runtime.gopanic":
			panicking = true
		case panicking && own:
			ours = true
		case panicking && ours:
			return fmt.Sprintf("%s:%d: %s", filepath.Base(f.File), f.Line, text)
		case panicking:
			return ""
		}
		if !more {
			return ""
		}
	}
}

// text returns the story of a run and its ledger.
func (r *Run) text() string { return strings.Join(r.story, "\n") + "\n" + ledger(r.counts) }

// ledger prints the counts of each kind of fault.
func ledger(counts map[string]*Count) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-32s %10s %10s %10s\n", "faults", "asked", "delivered", "observed")
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		c := counts[kind]
		fmt.Fprintf(&b, "%-32s %10d %10d %10d\n", kind, c.Asked, c.Delivered, c.Observed)
	}
	return b.String()
}
