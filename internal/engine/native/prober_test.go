//go:build linux && amd64

package native_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// asProber takes the place of the program that performs probes: it gives each order to do, and says what that returns.
const asProber = `#!/usr/bin/python3
import json, os, select, time
held = []
def say(o, code, text):
    os.write(0, json.dumps({"id": o["id"], "code": code, "text": text}).encode())
def do(o):
    DO
while True:
    select.select([0], [], [])
    for line in os.read(0, 65536).splitlines():
        do(json.loads(line))
`

// Whatever becomes of the prober, a probe that it has not answered is no evidence, and the run repeats. What it answers belongs to
// the check that it was asked.
//
//ci:later
func TestProberIsNotTrusted(t *testing.T) {
	fine := "say(o, 0, o['check']['endpoint'] + ' is fine')"
	for name, c := range map[string]struct {
		do     string
		code   int    // of all probes
		text   string // in the output of all
		others bool   // some probes may hold
		fails  string // the engine's error
	}{
		"answers": {do: fine, code: world.ProbeHolds, text: "is fine"},
		"out of order": {do: "held.append(o)\n    if len(held) == 2: [say(x, 0, x['check']['endpoint'] + ' is fine') for x in reversed(held)]; held.clear()",
			code: world.ProbeHolds, text: "is fine"},
		"says much":      {do: "say(o, 1, 'several\\nlines')", code: world.ProbeViolated, text: "several\nlines"},
		"ends":           {do: "os._exit(0)", code: world.ProbeNotExecuted, text: "the prober ended with exit code 0"},
		"ends with word": {do: "raise Exception('broken')", code: world.ProbeNotExecuted, text: "the prober ended with exit code 1: Exception: broken"},
		"is killed":      {do: "os.kill(os.getpid(), 9)", code: world.ProbeNotExecuted, text: "the prober ended by SIGKILL"},
		"hangs":          {do: "pass", code: world.ProbeNotExecuted, text: "had not answered"},
		"is late": {do: "held.append(o)\n    time.sleep(11)\n    for x in held: say(x, 0, 'too late')",
			code: world.ProbeNotExecuted, text: "had not answered"},
		"hangs once": {do: "held.append(o)\n    if len(held) == 2 and not os.path.exists('/tmp/hung'): open('/tmp/hung', 'w')\n    else: " +
			fine, code: world.ProbeNotExecuted, text: "had not answered", others: true},
		"spins":        {do: "i = 0\n    while True: i += 1", code: world.ProbeHung, text: "computes and makes no system call"},
		"writes noise": {do: "os.write(0, b'noise')", fails: "the prober wrote something that is not an answer"},
		"writes twice": {do: "os.write(0, b'{\"id\": 1, \"code\": 0, \"text\": \"\"} {}')", fails: "the prober wrote something that is not an answer"},
		"another id":   {do: "say({'id': o['id'] + 99}, 0, '')", fails: "the prober answered a question that was not asked"},
		"its own id":   {do: "say({'id': 3}, 0, '')", fails: "the prober answered a question that was not asked"},
		"another code": {do: "say(o, 126, '')", fails: "the prober answered a question that was not asked"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			self := filepath.Join(t.TempDir(), "prober")
			if err := os.WriteFile(self, []byte(strings.Replace(asProber, "DO", c.do, 1)), 0o755); err != nil {
				t.Fatal(err)
			}
			spec := ruled(t, idle, idle)
			spec.MaxTimeNs, spec.Limits.SpinCPUMs = 60e9, 200
			spec.Properties = []world.Property{
				{Name: "a", Kind: world.Safety, Check: world.Check{Type: world.HTTPCheck,
					Question: world.Question{Endpoint: "http://a"}, IntervalNs: 2e9}},
				{Name: "b", Kind: world.Safety, Check: world.Check{Type: world.HTTPCheck,
					Question: world.Question{Endpoint: "http://b"}, IntervalNs: 2e9}},
			}
			run := func() (*record.Outcome, error) {
				return engine.Run(native.New(), spec, tape.Tape{Seed: 5}, engine.Options{Driver: self})
			}
			out, err := run()
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("error %v, want %q", err, c.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			again, err := run()
			if err != nil || !out.Repeat.Reproducible || out.Hash != again.Hash {
				t.Errorf("hashes %s and %s: %s %v", out.Hash, again.Hash, out.Repeat.Reason, err)
			}
			seen, ended := map[string]int{}, 0
			for _, p := range out.Probes {
				switch {
				case c.others && p.ExitCode == world.ProbeHolds:
					seen[p.Property]++
				case p.ExitCode != c.code || !strings.Contains(p.Output, c.text):
					t.Errorf("%s: exit code %d, %q; want %d, %q", p.Property, p.ExitCode, p.Output, c.code, c.text)
				case strings.Contains(p.Output, "http://") && p.Output != "http://"+p.Property+" is fine":
					t.Errorf("%s has the answer %q", p.Property, p.Output)
				default:
					ended++
					seen[p.Property]++
				}
			}
			if ended == 0 || seen["a"] == 0 || seen["b"] == 0 || out.Reason != record.Finished {
				t.Errorf("%s, and %d probes ended as they should: %+v", out.Reason, ended, out.Probes)
			}
		})
	}
}
