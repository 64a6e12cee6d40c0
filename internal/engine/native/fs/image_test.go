//go:build linux

package fs

import (
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
)

// A restored image has the content of the disk at the time of the copy, however often it is restored, and no later changes.
func TestImage(t *testing.T) {
	env, _ := testEnv(t.TempDir())
	s, err := New(env, Config{Root: NoLayer})
	if err != nil {
		t.Fatal(err)
	}
	s.StartJournal(Ext4Ordered)
	do := func(steps ...step) {
		t.Helper()
		for _, o := range steps {
			if e := run(s, env, o); e != errno.OK {
				t.Fatal(o, e)
			}
		}
	}
	empty, e := s.TakeImage(env)
	if e != errno.OK {
		t.Fatal(e)
	}
	do(step{call: "mkdir", a: "/d"}, step{call: "create", a: "/d/old"}, step{call: "write", a: "/d/old", n: 20, fill: 'x'},
		step{call: "create", a: "/tmp/memory"})
	snapshot, e := s.TakeImage(env)
	if e != errno.OK {
		t.Fatal(e)
	}
	for round := range 2 {
		do(step{call: "create", a: "/d/new"}, step{call: "write", a: "/d/old", n: 40, fill: 'y'}, step{call: "unlink", a: "/d/old"})
		if e := s.Restore(env, snapshot, round+1); e != errno.OK {
			t.Fatal(e)
		}
		if err := s.Check(); err != nil {
			t.Error(err)
		}
		if got := names(s, env, "/d"); got != "old" {
			t.Errorf("round %d: the folder has %q, want old", round, got)
		}
		if got := names(s, env, "/tmp"); got != "" {
			t.Errorf("round %d: memory has %q", round, got)
		}
		p, e := s.Walk(env, s.Root(), "/d/old", true)
		if e != errno.OK {
			t.Fatal(e)
		}
		if got := string(content(s, env, p.Inode)); got != strings.Repeat("x", 20*512) {
			t.Errorf("round %d: the file has %d bytes", round, len(got))
		}
		if len(s.TakeNoticed()) == 0 {
			t.Errorf("round %d: who reads a file that is there again has noticed nothing", round)
		}
	}
	if e := s.Restore(env, empty, 3); e != errno.OK {
		t.Fatal(e)
	}
	losses := s.Losses(3)
	if _, e := s.Walk(env, s.Root(), "/d", true); e != errno.ENOENT {
		t.Errorf("the folder is still there: %v", e)
	}
	if !slices.ContainsFunc(losses, func(l Loss) bool { return slices.Equal(l.Names, []string{"d"}) }) {
		t.Errorf("losses: %+v", losses)
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
	if !slices.Contains(s.TakeNoticed(), 3) {
		t.Error("who looks for a folder that is gone has noticed nothing")
	}
	do(step{call: "create", a: "/later"}, step{call: "sync"})
	if e := s.PowerLoss(env, 4, func(string, uint64) uint64 { return loseAll }); e != errno.OK {
		t.Fatal(e)
	}
	if _, e := s.Walk(env, s.Root(), "/later", true); e != errno.OK {
		t.Errorf("a file that was synchronised after a restore is lost: %v", e)
	}
	s.FreeImage(env, snapshot)
}
