package project

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
)

// scratch is a folder that does not outlive the program: what a killed program has left the next one removes.
type scratch struct {
	dir  string
	lock *os.File
}

// scratchTries bounds how often a folder is made anew that another process took for one left behind, before it was locked.
const scratchTries = 100

// newScratch makes a scratch folder in parent, and removes those that are not in use.
func newScratch(parent string) (*scratch, error) {
	removeStale(parent)
	var err error
	for range scratchTries {
		s := &scratch{}
		if s.dir, err = os.MkdirTemp(parent, "run-"); err != nil {
			break
		}
		if err = s.take(); err == nil {
			return s, nil
		}
		os.RemoveAll(s.dir)
		if !errors.Is(err, errTaken) {
			break
		}
	}
	return nil, console.Failed(stateError(err, filepath.Dir(parent)))
}

// errTaken is that another process has removed a folder, or is about to.
var errTaken = errors.New("another process removes it")

// take locks a folder that was made just now.
func (s *scratch) take() (err error) {
	name := lockName(s.dir)
	if s.lock, err = os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o666); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return errTaken
		}
		return err
	}
	if err = syscall.Flock(int(s.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		err = errTaken
	}
	if err == nil {
		locked, _ := s.lock.Stat()
		if there, gone := os.Stat(name); gone != nil || !os.SameFile(locked, there) {
			err = errTaken
		}
	}
	if err != nil {
		s.lock.Close()
	}
	return err
}

// lockName is the file whose lock shows that a scratch folder is in use.
func lockName(scratch string) string { return filepath.Join(scratch, ".lock") }

// removeStale removes the scratch folders whose lock is free, or which a killed program had no time to lock.
func removeStale(parent string) {
	old, _ := filepath.Glob(filepath.Join(parent, "run-*"))
	for _, dir := range old {
		f, err := os.OpenFile(lockName(dir), os.O_CREATE|os.O_RDWR, 0o666)
		if err != nil {
			continue // removed by another process, or another user's
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
