// Package machine describes what a program uses of its machine, as small interfaces, so that tests can substitute a
// machine that fails (package machinefault).
package machine

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Files gives access to the files below one folder. Names are relative to it and use slashes; errors are those of
// package os.
type Files interface {
	// OpenFile opens a file, with the flags of package os.
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	Rename(from, to string) error
	Remove(name string) error
	MkdirAll(name string, perm fs.FileMode) error
	ReadDir(name string) ([]fs.DirEntry, error)
	Stat(name string) (fs.FileInfo, error)
	// SyncDir makes the names in a folder durable.
	SyncDir(name string) error
}

// File is an open file.
type File interface {
	io.Reader
	io.ReaderAt
	io.Writer
	io.WriterAt
	io.Seeker
	io.Closer
	Truncate(size int64) error
	// Sync makes everything written so far durable.
	Sync() error
	Stat() (fs.FileInfo, error)
}

// Clock tells a program the time.
type Clock interface {
	// Now returns the time of day, which may jump.
	Now() time.Time
	// Elapsed returns how long the clock has been running. It never jumps, so use it to measure durations.
	Elapsed() time.Duration
	Sleep(d time.Duration)
	// After sends on the channel when d has passed.
	After(d time.Duration) <-chan time.Time
}

// Folder returns the files below a folder of this machine.
func Folder(path string) Files { return folder(path) }

type folder string

func (f folder) path(name string) string { return filepath.Join(string(f), filepath.FromSlash(name)) }

func (f folder) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	file, err := os.OpenFile(f.path(name), flag, perm)
	if err != nil {
		return nil, err
	}
	return file, nil
}
func (f folder) Rename(from, to string) error { return os.Rename(f.path(from), f.path(to)) }
func (f folder) Remove(name string) error     { return os.Remove(f.path(name)) }
func (f folder) MkdirAll(name string, perm fs.FileMode) error {
	return os.MkdirAll(f.path(name), perm)
}
func (f folder) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(f.path(name)) }
func (f folder) Stat(name string) (fs.FileInfo, error)      { return os.Stat(f.path(name)) }
func (f folder) SyncDir(name string) error {
	d, err := os.Open(f.path(name))
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// System returns the clock of this machine.
func System() Clock { return system{time.Now()} }

type system struct{ began time.Time }

func (system) Now() time.Time                         { return time.Now() }
func (s system) Elapsed() time.Duration               { return time.Since(s.began) }
func (system) Sleep(d time.Duration)                  { time.Sleep(d) }
func (system) After(d time.Duration) <-chan time.Time { return time.After(d) }
