//go:build linux && amd64

package campaign

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// The trace of a run that begins at a snapshot has the events of the same run from boot, from there on.
func TestTracesFromSnapshots(t *testing.T) {
	dir := t.TempDir()
	spec := &world.Spec{Dir: dir, StartUnixNs: 1735689600e9, MaxTimeNs: 10e9, TimeStepNs: 10e6, Cost: world.Cost{CallNs: 1000, ClockReadNs: 50},
		Nodes: []world.Node{{Name: "n1", Role: world.Server, Hostname: "n1", IPv4: "10.77.0.10", Root: "host", WorkingDir: "/tmp",
			Env:     []string{"PATH=/usr/bin:/bin"},
			Command: []string{"/bin/sh", "-c", "for i in 1 2 3 4 5 6 7 8; do sleep 0.1; echo $i; done"}}}}
	setup := &explore.Setup{Spec: spec, Scratch: dir}
	w := new(worker)
	defer w.snapshots.Close()
	run := func(name string, seed uint64, fromBoot bool) (*explore.Reply, string) {
		t.Helper()
		file := filepath.Join(dir, name)
		job := &explore.Job{Request: runner.Play(tape.FromReady(1, seed)), Trace: &explore.Trace{File: file, Format: "text", Late: !fromBoot}}
		job.FromBoot = fromBoot
		r := w.do(setup, job, func(explore.Progress) {}, nil)
		if r.Error != "" {
			t.Fatal(r.Error)
		}
		return r, file
	}
	run("first", 2, false) // it takes the snapshot
	late, lateFile := run("late", 3, false)
	boot, bootFile := run("boot", 3, true)
	if late.Began == nil || boot.Began != nil {
		t.Fatalf("the runs begin at %+v and %+v", late.Began, boot.Began)
	}
	if p, err := explore.Compare(lateFile, bootFile); p != nil || err != nil || late.Summary.Hash != boot.Summary.Hash {
		t.Errorf("%+v, %v", p, err)
	}
	a, err := os.Stat(lateFile)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.Stat(bootFile)
	if err != nil {
		t.Fatal(err)
	}
	if a.Size() == 0 || a.Size() >= b.Size() {
		t.Errorf("the trace from the snapshot has %d bytes, the one from boot %d", a.Size(), b.Size())
	}
}
