//go:build linux && amd64

package native_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/record"
)

// Threads that wait without a system call are cut where the engine cannot measure how long they waited, and threads that compute
// for long are not cut: the runs repeat.
//
//ci:series
func TestWaitsWithoutSystemCallsRepeat(t *testing.T) {
	wants := map[string]struct {
		shown  []string
		reason record.Reason
	}{
		"wait": {[]string{"turn 0 of 0", "turn 1 of 1", "turn 2 of 2", "turn 3 of 0", "turn 4 of 1", "turn 5 of 2", "turn 6 of 0", "turn 7 of 1",
			"turn 8 of 2", "locked 3 times"}, record.Finished},
		"compute": {[]string{"x 300000000", "count 0"}, record.Finished},
		"loops":   {[]string{"sum 1"}, record.Finished},
		"clock":   {[]string{"3 s", "3 s", "set", "seen", "timer"}, record.Finished},
		"signal":  {[]string{"alarm", "100 alarms", "100 of CPU time", "a child"}, record.Finished},
		"forever": {[]string{"work 0", "work 1", "work 2"}, record.Finished},
	}
	eachProgram(t, "spinloops", func(t *testing.T, name, source string) {
		spec := aloneSpec(compile(t, source))
		spec.MaxTimeNs = 60e9
		if name == "clock" { // which must not matter
			spec.Limits.SpinCPUMs = 200
		}
		var hashes []string
		for range 2 {
			log, out := run(t, spec, 1)
			if !out.Repeat.Reproducible {
				t.Errorf("not reproducible: %s", out.Repeat.Reason)
			}
			if shown := texts(log, ""); !slices.Equal(shown, wants[name].shown) || out.Reason != wants[name].reason {
				t.Errorf("it ended by %s (%s) and showed %q", out.Reason, out.Detail, shown)
			}
			hashes = append(hashes, out.Hash)
		}
		if hashes[0] != hashes[1] {
			t.Errorf("two runs of one tape differ: %v", hashes)
		}
	})
}

// A thread that counts while it waits for a signal differs from round to round: time passes for it all the same, others run
// meanwhile, the signal comes at its time, and the run says that it does not repeat.
func TestTimePassesForWhoComputes(t *testing.T) {
	spec := aloneSpec("/usr/bin/python3", "-c", `
import os, signal, time
rung, n = [], 0
signal.signal(signal.SIGALRM, lambda *_: rung.append(time.monotonic()))
r, w = os.pipe()
if os.fork() == 0:
    os.close(r)
    for i in range(5): time.sleep(1); os.write(w, b'x')
    os._exit(0)
os.close(w)
before = time.monotonic()
signal.alarm(3)
while not rung: n += 1
print('rung after', round(rung[0] - before, 2), flush=True)
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
for i in range(20):
    rung.clear()
    while not rung: n += 1
print('20 times after', round(rung[0] - before, 1), flush=True)
signal.setitimer(signal.ITIMER_REAL, 0)
while os.read(r, 1): n += 1
print('the child after', round(time.monotonic() - before), flush=True)
`)
	spec.MaxTimeNs, spec.Limits.SpinCPUMs = 60e9, 200
	log, out := run(t, spec, 1)
	want := []string{"rung after 3.0", "20 times after 3.2", "the child after 5"}
	if shown := texts(log, ""); !slices.Equal(shown, want) || out.Reason != record.Finished {
		t.Errorf("it ended by %s (%s) and showed %q, want %q", out.Reason, out.Detail, shown, want)
	}
	if out.Repeat.Reproducible {
		t.Error("it says that it repeats, though how far it had counted depends on the machine")
	}
}

// A thread that computes for long is looked at in single steps. It must not see that, or it could derive real time from it.
func TestStepsAreNotSeen(t *testing.T) {
	needCompiler(t)
	const source = `
#include <signal.h>
#include <stdio.h>
#include <string.h>
static volatile unsigned long traps;
static void trapped(int s) { traps++; }
int main(int argc, char **argv) {
	unsigned long flags = 0, seen = 0, i = 0, segment;
	unsigned short word = 0;
	signal(SIGTRAP, trapped);
	__asm__ volatile("mov %%ss, %0" : "=r"(segment));
	if (!strcmp(argv[1], "plain"))
		for (; i < 30000000; i++) { __asm__ volatile("pushfq; popq %0" : "=r"(flags)); seen |= flags; }
	if (!strcmp(argv[1], "short"))
		for (; i < 30000000; i++) { __asm__ volatile("pushfw; popw %0" : "=r"(word)); seen |= word; }
	if (!strcmp(argv[1], "late"))
		for (; i < 10000000; i++) { __asm__ volatile("mov %1, %%ss; pushfq; popq %0" : "=r"(flags) : "r"(segment)); seen |= flags; }
	if (!strcmp(argv[1], "restored"))
		for (; i < 5000000; i++) { __asm__ volatile("pushfq; popfq; pushfq; popq %0" : "=r"(flags) : : "cc"); seen |= flags; }
	printf("%s %lu %lu\n", seen & 0x100 ? "seen" : "unseen", i, traps);
	return 0;
}
`
	file := filepath.Join(t.TempDir(), "steps.c")
	if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	program := compile(t, file)
	for how, want := range map[string]string{"plain": "unseen 30000000 0", "short": "unseen 30000000 0",
		"late": "unseen 10000000 0", "restored": "unseen 5000000 0"} {
		for range 3 {
			spec := aloneSpec(program, how)
			log, out := run(t, spec, 1)
			if got := strings.Join(texts(log, ""), " "); got != want || !out.Repeat.Reproducible {
				t.Fatalf("%s: %q, want %q; %+v", how, got, want, out.Repeat)
			}
		}
	}
}
