//go:build linux && amd64

package native_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/bloodhound-dst/bloodhound/engine"
	"github.com/bloodhound-dst/bloodhound/engine/native"
	"github.com/bloodhound-dst/bloodhound/tape"
)

// Each cure against chance is taken away in turn: then two runs of the same tape must differ, at a call that shows
// where the chance came from. With all cures they are equal.
func TestEveryLeakIsNoticed(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler (cc) in PATH")
	}
	program := filepath.Join(t.TempDir(), "leak")
	if out, err := exec.Command(cc, "-O1", "-o", program, "testdata/leak/leak.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// The first event that differs; an own clock, port or address shows only when the program tells it.
	shows := map[string]string{"aslr": "write", "tsc": "write", "vdso": "write", "auxv-random": "write", "random": "getrandom", "order": "getdents64",
		"meminfo": "read", "clock": "newfstatat", "pids": "start", "ports": "getsockname"}
	run := func(t *testing.T, leak string, leaks []string) []engine.Event {
		spec := aloneSpec([]string{program, leak})
		spec.Leaks = leaks
		var events []engine.Event
		out, err := engine.Run(native.New(), spec, tape.Tape{Seed: 1}, engine.Options{Observe: func(e *engine.Event) { events = append(events, *e) }})
		if err != nil {
			t.Fatal(err)
		}
		if len(out.Crashes) > 0 || out.Events < 10 {
			t.Fatalf("the program did not run: %+v", out.Crashes)
		}
		return events
	}
	for _, leak := range native.Leaks {
		t.Run(leak, func(t *testing.T) {
			if e := differs(run(t, leak, nil), run(t, leak, nil)); e != nil {
				t.Fatalf("without the leak, two runs differ at %+v", *e)
			}
			first := run(t, leak, []string{leak})
			var e *engine.Event
			for i := 0; i < attempts && e == nil; i++ { // what the machine tells may change a little later only
				e = differs(first, run(t, leak, []string{leak}))
			}
			if e == nil {
				t.Fatalf("%d runs are equal: the leak is not noticed", attempts+1)
			}
			if e.Call != shows[leak] {
				t.Errorf("the first event that differs is %+v, want a %s", *e, shows[leak])
			}
		})
	}
}

// attempts is how often a leak may give the same by chance.
const attempts = 50

// differs gives the first event of a that b does not have.
func differs(a, b []engine.Event) *engine.Event {
	for i := range a {
		if i >= len(b) || a[i].Call != b[i].Call || a[i].Result != b[i].Result || a[i].Bytes != b[i].Bytes || a[i].TimeNs != b[i].TimeNs || a[i].Detail != b[i].Detail {
			return &a[i]
		}
	}
	return nil
}
