//go:build linux && amd64

package native_test

import (
	"slices"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// Each cure against chance is taken away in turn: then two runs of the same tape must differ, at a call that shows
// where the chance came from. With all cures they are equal.
func TestEveryLeakIsNoticed(t *testing.T) {
	needCompiler(t)
	// The programs of testdata/leaks that show a leak, and the call at which they first do. A clock or the number of a
	// process shows at the program's start already, whatever it does then.
	shows := map[string]map[string]string{
		"aslr":        {"aslr": "write", "maps": "read", "uninitialised": "write"},
		"tsc":         {"rdtsc": "write"},
		"vdso":        {"vdso": "write", "rdtsc": "write"},
		"auxv-random": {"at_random": "write"},
		"random":      {"getrandom": "getrandom", "urandom": "read"},
		"order":       {"dir_order": "getdents64", "inodes": "getdents64"},
		"meminfo":     {"machine": "read"},
		"clock":       {"clock_call": "newfstatat", "mtimes": "newfstatat"},
		"pids":        {"pids": "start"},
		"ports":       {"ports": "getsockname"},
		// Not all CPUs have several numbers, and what counts as in use changes seldom.
		"instructions": {"rdrand": "write", "rdrand_bare": "write"},
	}
	for leak := range shows {
		if !slices.Contains(native.Leaks, leak) {
			t.Errorf("there is no leak %q", leak)
		}
	}
	for _, leak := range native.Leaks {
		if len(shows[leak]) == 0 {
			t.Errorf("no program shows the leak %q", leak)
		}
		for name, call := range shows[leak] {
			t.Run(leak+"/"+name, func(t *testing.T) {
				program := compile(t, "testdata/leaks/"+name+".c")
				if e := differs(trace(t, program), trace(t, program)); e != nil {
					t.Fatalf("without the leak, two runs differ at %+v", *e)
				}
				first := trace(t, program, leak)
				var e *record.Event
				for i := 0; i < attempts && e == nil; i++ { // what the machine reports may change a little later only
					e = differs(first, trace(t, program, leak))
				}
				if e == nil {
					t.Fatalf("%d runs are equal: the leak is not noticed", attempts+1)
				}
				if e.Call != call {
					t.Errorf("the first event that differs is %+v, want a %s", *e, call)
				}
			})
		}
	}
}

// attempts is how often a leak may give the same by chance.
const attempts = 50

// trace runs a program with some leaks and lists its events.
func trace(t *testing.T, program string, leaks ...string) []record.Event {
	t.Helper()
	spec := aloneSpec(program)
	spec.Leaks = leaks
	var events []record.Event
	out, err := engine.Run(native.New(), spec, tape.Tape{Seed: 1}, engine.Options{Observe: func(e *record.Event) { events = append(events, *e) }})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Crashes) > 0 || out.Events < 10 {
		t.Fatalf("the program did not run: %+v", out.Crashes)
	}
	return events
}

// differs gives the first event of a that b does not have.
func differs(a, b []record.Event) *record.Event {
	for i := range a {
		if i >= len(b) || a[i].Call != b[i].Call || a[i].Result != b[i].Result || a[i].Bytes != b[i].Bytes ||
			a[i].TimeNs != b[i].TimeNs || a[i].Detail != b[i].Detail {
			return &a[i]
		}
	}
	return nil
}
