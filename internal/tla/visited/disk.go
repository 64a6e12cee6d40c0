package visited

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Disk makes the files for what memory has no room for. They have no name, so that the kernel removes them when the process ends, however it does.
type Disk struct {
	folder string
	stop   func() bool
	bytes  int64 // written so far to files that are still there
}

// NewDisk makes files in a folder, and the folder with the first of them. Long work asks stop now and then whether to break off;
// then ErrStopped is the error of all that follows.
func NewDisk(folder string, stop func() bool) *Disk { return &Disk{folder: folder, stop: stop} }

// ErrStopped is the error of work that was broken off.
var ErrStopped = errors.New("stopped")

// Bytes is how much lies on the disk.
func (d *Disk) Bytes() int64 { return d.bytes }

// file makes a file without a name.
func (d *Disk) file() (*file, error) {
	f, err := os.CreateTemp(d.folder, "bloodhound-states-*")
	if errors.Is(err, os.ErrNotExist) {
		if err = os.MkdirAll(d.folder, 0o700); err == nil {
			f, err = os.CreateTemp(d.folder, "bloodhound-states-*")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("no file for states can be made: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, fmt.Errorf("a file for states cannot be removed: %w", err)
	}
	return &file{f: f, disk: d}, nil
}

// file is one on a disk. It grows at its end.
type file struct {
	f    *os.File
	disk *Disk
	size int64
}

func (f *file) append(b []byte) error {
	n, err := f.f.WriteAt(b, f.size)
	f.size += int64(n)
	f.disk.bytes += int64(n)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("the disk of %s is full, with %d MB of states on it; choose another folder with --metadir, or raise --memory",
			f.disk.folder, f.disk.bytes>>20)
	}
	if err != nil {
		return fmt.Errorf("states cannot be written to %s: %w", f.disk.folder, err)
	}
	return nil
}

// read fills b from a place of the file.
func (f *file) read(b []byte, at int64) error {
	if _, err := f.f.ReadAt(b, at); err != nil {
		return fmt.Errorf("states cannot be read again from %s: %w", f.disk.folder, err)
	}
	return nil
}

// close gives the space of the file back.
func (f *file) close() {
	f.disk.bytes -= f.size
	f.f.Close()
}
