package cli

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// A killed program may leave a folder at any moment of making it. The next one removes it, and no folder that is in use.
//
//ci:user
func TestScratchFoldersOfKilledProgramsGo(t *testing.T) {
	parent := t.TempDir()
	used, err := newScratch(parent)
	if err != nil {
		t.Fatal(err)
	}
	unlocked, locked := filepath.Join(parent, "run-1"), filepath.Join(parent, "run-2")
	for _, dir := range []string{unlocked, filepath.Join(locked, "world")} {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(lockName(locked), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	next, err := newScratch(parent)
	if err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]bool{used.dir: true, next.dir: true, unlocked: false, locked: false} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", filepath.Base(dir), err == nil, want)
		}
	}
	used.close()
	next.close()
	if left, _ := os.ReadDir(parent); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// Programs that begin at once in one project do not take each other's folders away.
//
//ci:user
func TestScratchFoldersMadeAtOnce(t *testing.T) {
	parent := t.TempDir()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				s, err := newScratch(parent)
				if err != nil {
					t.Error(err)
					return
				}
				if err := os.WriteFile(filepath.Join(s.dir, "file"), nil, 0o666); err != nil {
					t.Error(err)
				}
				s.close()
			}
		})
	}
	all.Wait()
	if left, _ := os.ReadDir(parent); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
