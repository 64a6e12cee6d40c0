//go:build linux && amd64

package native_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/engine"
	"github.com/bloodhound-dst/bloodhound/engine/native"
	"github.com/bloodhound-dst/bloodhound/tape"
	"github.com/bloodhound-dst/bloodhound/world"
)

// aloneSpec is a world of one node in which argv runs in an empty folder. The program's own folder is mounted where it
// is on the host: temporary folders are private inside.
func aloneSpec(argv []string) *world.Spec {
	dir := filepath.Dir(argv[0])
	return &world.Spec{
		Dir: dir, StartUnixNs: 1735689600e9, MaxTimeNs: 120e9, TimeStepNs: 10e6, Cost: world.Cost{CallNs: 1000, ClockReadNs: 50},
		Nodes: []world.Node{{Name: "n1", Role: world.Server, Hostname: "n1", IPv4: "10.77.0.10", IPv6: "fd77::10", Root: "host", Command: argv, WorkingDir: "/work",
			Volumes: []world.Volume{{Kind: world.Bind, Source: dir, Target: dir}, {Kind: world.Named, Source: "work", Target: "/work"}}}},
	}
}

// runInside runs a program inside the engine, alone on a node with the host's files as its root and an empty working
// folder, and returns what it wrote to its standard output and its exit code.
var runInside = func(t *testing.T, argv []string) (stdout string, exit int) {
	t.Helper()
	var text strings.Builder
	out, err := engine.Run(native.New(), aloneSpec(argv), tape.Tape{Seed: 1}, engine.Options{Log: func(l engine.LogLine) {
		if l.Stream == "stdout" {
			text.WriteString(l.Text + "\n")
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if out.Reason != engine.Finished {
		t.Errorf("the world ended by %s %s", out.Reason, out.Detail)
	}
	for _, r := range out.Refused {
		t.Logf("refused: %s = %s", r.Call, r.Errno)
	}
	const mainPID = 10 // a node's first process
	for _, c := range out.Crashes {
		if c.PID != mainPID { // the program under test is free to make children that crash
			continue
		}
		exit = c.ExitCode
		if c.Signal != "" {
			t.Errorf("ended by %s", c.Signal)
		}
	}
	return text.String(), exit
}
