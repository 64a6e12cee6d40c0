//go:build linux && amd64

package native_test

import (
	"slices"
	"testing"

	"github.com/bloodhound-dst/bloodhound/engine"
)

// Threads that wait without a system call are cut where it cannot be told how long they waited, and threads that compute
// for long are not cut: the runs repeat.
func TestWaitsWithoutSystemCallsRepeat(t *testing.T) {
	wants := map[string]struct {
		shown  []string
		reason engine.Reason
	}{
		"wait": {[]string{"turn 0 of 0", "turn 1 of 1", "turn 2 of 2", "turn 3 of 0", "turn 4 of 1", "turn 5 of 2", "turn 6 of 0", "turn 7 of 1",
			"turn 8 of 2", "locked 3 times"}, engine.Finished},
		"compute": {[]string{"x 300000000", "count 0"}, engine.Finished},
		"loops":   {[]string{"sum 1"}, engine.Finished},
		"clock":   {[]string{"3 s", "3 s", "set", "seen", "timer"}, engine.Finished},
		"forever": {[]string{"work 0", "work 1", "work 2"}, engine.Finished},
	}
	eachProgram(t, "circles", func(t *testing.T, name, source string) {
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
