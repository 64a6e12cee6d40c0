package cli

import (
	"os"
	"path/filepath"
	"syscall"

	"github.com/bloodhound-dst/bloodhound/internal/report"
)

// scratch is a folder that does not outlive the program: what a killed program has left the next one removes.
type scratch struct {
	dir  string
	lock *os.File
}

// newScratch makes a scratch folder in parent, and removes those that are not in use.
func newScratch(parent string) (*scratch, error) {
	removeStale(parent)
	fresh, err := os.MkdirTemp(parent, "new-")
	if err != nil {
		return nil, failed(report.DiskError(err, parent))
	}
	lock, err := os.OpenFile(lockName(fresh), os.O_CREATE|os.O_RDWR, 0o666)
	s := &scratch{filepath.Join(parent, "run-"+filepath.Base(fresh)), lock}
	if err == nil {
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err == nil {
		err = os.Rename(fresh, s.dir) // from here on others look at it, and find it locked
	}
	if err != nil {
		os.RemoveAll(fresh)
		return nil, failed(report.DiskError(err, parent))
	}
	return s, nil
}

// lockName is the file whose lock shows that a scratch folder is in use.
func lockName(scratch string) string { return filepath.Join(scratch, ".lock") }

// removeStale removes the scratch folders whose lock is free.
func removeStale(parent string) {
	old, _ := filepath.Glob(filepath.Join(parent, "run-*"))
	for _, dir := range old {
		f, err := os.OpenFile(lockName(dir), os.O_RDWR, 0)
		if err != nil {
			continue // being made, removed by another process, or another user's
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			os.RemoveAll(dir)
		}
		f.Close()
	}
}

func (s *scratch) close() {
	os.RemoveAll(s.dir)
	s.lock.Close()
}
