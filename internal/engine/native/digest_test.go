//go:build linux && amd64

package native_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
	"github.com/bloodhound-dst/bloodhound/internal/filedigest"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// An outcome reports which base files a run has opened and which base folders it has listed, so that a replay can name
// what has changed in them.
func TestFilesOfAnOutcome(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b", "a", "unlisted/c", ".bloodhound/bin/app", ".bloodhound/failures/x"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	run := func() map[string]string {
		t.Helper()
		s := &world.Spec{Dir: dir, StartUnixNs: 1735689600e9, MaxTimeNs: 10e9, TimeStepNs: 10e6, Cost: world.Cost{CallNs: 1000, ClockReadNs: 50},
			Nodes: []world.Node{{Name: "n1", Role: world.Server, Hostname: "n1", IPv4: "10.77.0.10", Root: "host", WorkingDir: dir,
				Command: []string{"/bin/sh", "-c", "ls -a . .bloodhound; cat a; echo new >made; cat unlisted/c"}}}}
		o, err := engine.Run(native.New(), s, tape.Tape{Seed: 1}, engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(o.Crashes) > 0 {
			t.Fatal(o.Crashes)
		}
		return o.Files
	}
	first := run()
	for path, want := range map[string]string{dir + "/": ".bloodhound/a/b/unlisted", dir + "/.bloodhound/": "bin", dir + "/unlisted/": "", dir + "/b": ""} {
		if first[path] != want {
			t.Errorf("%s is %q, want %q", path, first[path], want)
		}
	}
	if len(first[dir+"/a"]) != 64 || len(first[dir+"/unlisted/c"]) != 64 || len(first["/bin/sh"])+len(first["/usr/bin/dash"])+len(first["/usr/bin/bash"]) == 0 {
		t.Errorf("files %v", first)
	}

	if err := os.WriteFile(filepath.Join(dir, "extra"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(time.Second) // whatever the resolution of the disk's times
	if err := os.Chtimes(dir, later, later); err != nil {
		t.Fatal(err)
	}
	if got := run()[dir+"/"]; got != ".bloodhound/a/b/extra/unlisted" {
		t.Errorf("after a file was added, the folder is %q", got)
	}

	for i := range 100 {
		if err := os.WriteFile(filepath.Join(dir, strings.Repeat("x", 100)+string(rune('a'+i%26))+string(rune('a'+i/26))), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	later = later.Add(time.Second)
	if err := os.Chtimes(dir, later, later); err != nil {
		t.Fatal(err)
	}
	if got := run()[dir+"/"]; !strings.HasPrefix(got, "sha256:") || len(got) > 100 {
		t.Errorf("of a folder with many names, %q is kept", got)
	}
}

// A file that is too large to hash keeps no run from its end: it has its size and date, whether it was opened or executed.
func TestFilesOfAnOutcomeThatAreTooLarge(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"opened", "executed"} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte("#!/bin/sh\nexit 3\n"), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(file, 8<<40); err != nil {
			needs.Missing(t, "a file system with sparse files of 8 TiB", err)
		}
	}
	s := &world.Spec{Dir: dir, StartUnixNs: 1735689600e9, MaxTimeNs: 10e9, TimeStepNs: 10e6, Cost: world.Cost{CallNs: 1000, ClockReadNs: 50},
		Nodes: []world.Node{{Name: "n1", Role: world.Server, Hostname: "n1", IPv4: "10.77.0.10", Root: "host", WorkingDir: dir,
			Command: []string{"/bin/sh", "-c", "exec 3<opened; head -c 9 <&3; ./executed"}}}}
	o, err := engine.Run(native.New(), s, tape.Tape{Seed: 1}, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"opened", "executed"} {
		if got, ok := o.Files[filepath.Join(dir, name)]; !ok || filedigest.Hashed(got) {
			t.Errorf("%s is %q", name, got)
		}
	}
	if len(o.Crashes) != 1 || o.Crashes[0].ExitCode != 3 {
		t.Errorf("crashes %+v", o.Crashes)
	}
}
