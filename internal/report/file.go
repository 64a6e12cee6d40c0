package report

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
)

// WriteFile replaces a file as a whole: after a crash or an error there is the old content or the new one, and
// nothing in between. Its folder is made if it is missing.
func WriteFile(path string, data []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return DiskError(err, dir)
	}
	name := filepath.Join(dir, fmt.Sprintf(".%s.%d.%d", filepath.Base(path), os.Getpid(), temporary.Add(1)))
	tmp, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o666)
	if err != nil {
		return DiskError(err, dir)
	}
	err = func() error {
		defer tmp.Close()
		if _, err := tmp.Write(data); err != nil {
			return err
		}
		if err := tmp.Sync(); err != nil {
			return err
		}
		return tmp.Close()
	}()
	if err == nil {
		err = os.Rename(name, path)
	}
	if err != nil {
		os.Remove(name)
		return DiskError(err, dir)
	}
	if d, err := os.Open(dir); err == nil { // the new name, too, survives a power loss
		d.Sync()
		d.Close()
	}
	return nil
}

// Unwritable says why a file cannot be written, and what to do about it; nothing if it can be. It changes no file.
func Unwritable(path string) (problem, remedy string) {
	dir := filepath.Dir(path)
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "there is no folder " + dir, "create it, or choose a file in another folder"
	case err != nil:
		return err.Error(), "name a file in another folder"
	case !info.IsDir():
		return dir + " is not a folder", "name a file in one"
	}
	old, err := os.Stat(path)
	switch {
	case err == nil && old.IsDir():
		return path + " is a folder", "name a file in it"
	case err == nil && !old.Mode().IsRegular(): // a pipe would wait for its reader
		return "", ""
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return err.Error(), "choose a file that you can write to"
	}
	f.Close()
	if old == nil {
		os.Remove(path)
	}
	return "", ""
}

// temporary numbers the temporary files of this process.
var temporary atomic.Uint64

// DiskError adds the remedy to errors of a disk.
func DiskError(err error, dir string) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w: the disk of %s is full; free some space there and try again (files that were stored before are untouched)", err, dir)
	case errors.Is(err, syscall.EFBIG):
		return fmt.Errorf("%w: the limit on file size is too low (ulimit -f); raise it and try again", err)
	case errors.Is(err, os.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w: %s must be writable", err, dir)
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%w: a file is in the way of a folder in %s; move the file away", err, dir)
	}
	return err
}
