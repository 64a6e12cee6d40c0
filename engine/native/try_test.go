//go:build linux && amd64

package native

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/engine"
	"github.com/bloodhound-dst/bloodhound/tape"
	"github.com/bloodhound-dst/bloodhound/world"
)

func TestTry(t *testing.T) {
	argv := strings.Fields(os.Getenv("TRY"))
	if len(argv) == 0 {
		t.Skip("no TRY")
	}
	if argv[0] == "sh" {
		argv = []string{"/bin/sh", "-c", strings.TrimPrefix(os.Getenv("TRY"), "sh ")}
	}
	spec := &world.Spec{Dir: "/", StartUnixNs: 1735689600e9, MaxTimeNs: 20e9, TimeStepNs: 10e6, Cost: world.Cost{CallNs: 1000, ClockReadNs: 50},
		Nodes: []world.Node{{Name: "n1", Role: world.Server, Hostname: "n1", IPv4: "10.77.0.10", Root: "host", Command: argv, WorkingDir: "/tmp"}}}
	var hash string
	for i := range 2 {
		start := time.Now()
		var trace *os.File
		if os.Getenv("TRACE") != "" {
			trace, _ = os.Create(os.Getenv("TRACE") + string(rune('0'+i)))
		}
		out, err := engine.Run(New(), spec, tape.Tape{Seed: 1}, engine.Options{Log: func(l engine.LogLine) {
			if i == 0 {
				t.Logf("%d %s %s", l.TimeNs, l.Stream, l.Text)
			}
		}, Observe: func(e *engine.Event) {
			if trace != nil {
				trace.WriteString(format(e))
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s %s hash %s repeat %v events %d virtual %.3f wall %v", out.Reason, out.Detail, out.Hash, out.Repeat, out.Events, float64(out.VirtualNs)/1e9, time.Since(start))
		for _, r := range out.Refused {
			t.Logf("refused %+v", r)
		}
		for _, c := range out.Crashes {
			t.Logf("crash %+v", c)
		}
		if hash != "" && hash != out.Hash {
			t.Errorf("hash differs")
		}
		hash = out.Hash
	}
}
