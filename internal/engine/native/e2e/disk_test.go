//go:build linux && amd64

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// diskWorld is a key-value server on one node that loses its power again and again, and clients that read and write.
const diskWorld = `simulation: {max_time: 60s}
nodes:
  db: {command: %s}
workload:
  driver: http
  config:
    target: http://db:8080
    qps: 30
    duration: 20s
    clients: 4
    timeout: 1s
    operations:
      - {type: put, weight: 1, key_pattern: "k{random:0-9}"}
      - {type: get, weight: 1, key_pattern: "k{random:0-9}"}
properties:
  - {name: linearizable, kind: safety, check: {type: linearizability, operations: [put, get]}}
faults:
  disk: {profile: %s}
  rules:
    - {kind: power_loss, rate: 0.01, duration_ms: [20, 100]}
`

// TestAcknowledgedCommits lets the power go under real databases. What is configured to be durable must be, over many
// losses, and what is not must be found out within 50 tapes.
//
//ci:series
func TestAcknowledgedCommits(t *testing.T) {
	server{name: "disk"}.require(t)
	const python = "/usr/bin/python3"
	bolt := filepath.Join(t.TempDir(), "bolt")
	build := exec.Command("go", "build", "-o", bolt, ".") // a module of its own
	build.Dir = "testdata/disk/bolt"
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, c := range []struct {
		name, command, profile string
		durable                bool
		// soak leaves a case to the soak: one with the same mechanism is in every test.
		soak bool
	}{
		{"sqlite, a rollback journal, EXTRA", python + " sqlite.py delete extra", "ext4-ordered", true, true},
		{"sqlite, a rollback journal, EXTRA, a minimal file system", python + " sqlite.py delete extra", "posix-minimal", true, true},
		// FULL does not synchronise the folder when the journal, whose end is the commit, is removed.
		{"sqlite, a rollback journal, FULL", python + " sqlite.py delete full", "ext4-ordered", false, false},
		{"sqlite, a rollback journal, FULL, a minimal file system", python + " sqlite.py delete full", "posix-minimal", false, true},
		{"sqlite, a rollback journal, OFF", python + " sqlite.py delete off", "ext4-ordered", false, true},
		{"sqlite, WAL, FULL", python + " sqlite.py wal full", "ext4-ordered", true, false},
		{"sqlite, WAL, OFF", python + " sqlite.py wal off", "ext4-ordered", false, true},
		{"bbolt", "./bolt", "ext4-ordered", true, false},
		{"bbolt, no sync", "./bolt -nosync", "ext4-ordered", false, true},
		{"a mapped file", python + " mapped.py sync", "ext4-ordered", true, false},
		{"a mapped file, not synchronised", python + " mapped.py", "ext4-ordered", false, false},
		{"rename", python + " rename.py file dir", "posix-minimal", true, false},
		{"rename, the directory not synchronised", python + " rename.py file", "ext4-ordered", false, true},
		{"rename, the directory not synchronised, a minimal file system", python + " rename.py file", "posix-minimal", false, true},
		{"rename, nothing synchronised", python + " rename.py", "ext4-ordered", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.soak && !soak {
				t.Skip("runs with BLOODHOUND_SOAK=1")
			}
			if strings.HasPrefix(c.command, python) {
				needs.Program(t, python)
			}
			s := server{name: c.name, dir: t.TempDir()}
			for from, to := range map[string]string{"testdata/disk/sqlite.py": "sqlite.py",
				"testdata/disk/rename.py": "rename.py", "testdata/disk/mapped.py": "mapped.py", bolt: "bolt"} {
				content, err := os.ReadFile(from)
				if err == nil {
					err = os.WriteFile(filepath.Join(s.dir, to), content, 0o755)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(s.dir, "bloodhound.yaml"), []byte(fmt.Sprintf(diskWorld, c.command, c.profile)), 0o644); err != nil {
				t.Fatal(err)
			}
			tapes, losses := 50, uint64(1) // the first that is found ends the campaign
			if c.durable {
				if tapes, losses = 2, 10; soak {
					tapes, losses = 100, 1000
				}
			}
			var d exploreDocument
			if code := s.call(t, &d, "explore", "--json", "--no-shrink", "--strategy", "random", "--seeds",
				fmt.Sprint(tapes)); code != 0 && code != 1 && code != 5 {
				t.Fatalf("explore ended with exit code %d: %s%s", code, d.Error, d.Judgement)
			}
			var power uint64
			for _, e := range d.Campaign.Faults.Entries {
				if e.Kind == "power_loss" {
					power = e.Delivered
				}
			}
			t.Logf("%d power losses in %d runs, %d operations ok", power, d.Campaign.Runs, d.Campaign.Operations.OK)
			if power < losses || c.durable && d.Campaign.Operations.OK < 100 { // a loss that was found needs no more
				t.Errorf("%d power losses, want %d; %d operations were ok", power, losses, d.Campaign.Operations.OK)
			}
			lost := false
			for _, p := range d.Campaign.Properties {
				if p.Property == "linearizable" {
					lost = p.Violated > 0
					if c.durable && p.Holds != d.Campaign.Runs {
						t.Errorf("an acknowledged commit was lost, or the check has no verdict: %+v", p)
					}
				}
			}
			// A database that does not even open any more has lost as much.
			if !c.durable && !lost && d.Campaign.Violated == 0 {
				t.Errorf("nothing was lost in %d runs", d.Campaign.Runs)
			}
		})
	}
}

// exploreDocument holds the fields of `explore --json` that the tests read.
type exploreDocument struct {
	Error, Judgement string
	Campaign         struct {
		Runs, Violated uint64
		Operations     struct{ OK uint64 }
		Faults         struct {
			Entries []struct {
				Kind      string
				Delivered uint64
			}
		}
		Properties []struct {
			Property        string
			Holds, Violated uint64
			Reason          string
		}
	}
}
