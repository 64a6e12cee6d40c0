//go:build linux && amd64

package native_test

import (
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// worker does jobs and says so, in plain lines and once as an event of an SDK.
const worker = `import os, time
print('unrelated', flush=True)
for i in range(3):
    print('job', i, 'begins', flush=True); time.sleep(0.1)
    print('job', i, 'failed' if i == 1 else 'done', flush=True)
with open(os.environ['ANTITHESIS_SDK_LOCAL_OUTPUT'], 'a') as f: f.write('{"compact": {"job": "7 begins"}}\n')
time.sleep(1000)
`

// Lines of programs, and events of an SDK, report declared jobs.
//
//ci:underway
func TestJobsAreSeen(t *testing.T) {
	spec := ruled(t, worker, idle, "pause on n2 rate 0.001")
	spec.Properties = []world.Property{{Name: "p", Kind: world.Progress, Check: world.Check{Type: world.ProgressCheck,
		Patience: world.Patience{HangNs: 1e9},
		Jobs:     world.Jobs{Start: `job\W+(\d+) begins`, Done: `job (\d+) done`, Failed: `job (\d+) failed`}}}}
	_, _, out := play(t, spec)
	got := ""
	for _, j := range out.Jobs {
		got += string(j.What) + " " + j.ID + " on " + j.Node + "; "
		if j.Property != "p" || j.Event == 0 {
			t.Errorf("%+v", j)
		}
	}
	want := "start 0 on n1; done 0 on n1; start 1 on n1; failed 1 on n1; start 2 on n1; done 2 on n1; start 7 on n1; "
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if heal := out.Heals[len(out.Heals)-1]; out.VirtualNs < heal+1e9 {
		t.Errorf("the run ended at %d ns, less than a second after the last heal at %d ns", out.VirtualNs, heal)
	}
}
