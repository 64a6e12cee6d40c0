package machinefault

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/bloodhound-dst/bloodhound/sdk"
)

// file is an open file of a Disk. The disk's lock guards it.
type file struct {
	under *os.File
	disk  *Disk
	node  *node // nil if it is only read
	name  string
	flag  int
	pos   int64
}

// usable is the error of a file that was closed, by a loss of power or by the program.
func (f *file) usable() error {
	if !f.disk.opened[f] {
		return fs.ErrClosed
	}
	return nil
}

// call makes a call on the file.
func (f *file) call(p *sdk.Point, op string, changes bool, do func() error) error {
	return f.disk.call(p, op, f.name, changes, func() error {
		if err := f.usable(); err != nil {
			return &fs.PathError{Op: op, Path: f.name, Err: err}
		}
		return do()
	})
}

// Close closes the file (machine.File).
func (f *file) Close() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	delete(f.disk.opened, f)
	return f.under.Close()
}

// Read reads on (machine.File).
func (f *file) Read(b []byte) (n int, err error) {
	err = f.call(f.disk.read, "read", false, func() (err error) {
		n, err = f.under.ReadAt(b, f.pos)
		if f.pos += int64(n); n > 0 && err == io.EOF {
			err = nil
		}
		return err
	})
	return f.got(n, err)
}

// ReadAt reads somewhere (machine.File).
func (f *file) ReadAt(b []byte, at int64) (n int, err error) {
	err = f.call(f.disk.read, "read", false, func() (err error) {
		n, err = f.under.ReadAt(b, at)
		return err
	})
	return f.got(n, err)
}

// got is the result of a read: nothing was read where a fault happened.
func (f *file) got(n int, err error) (int, error) {
	if sdk.Kind(err) != "" {
		return 0, err
	}
	return n, err
}

// Write writes on, or at the end (machine.File).
func (f *file) Write(b []byte) (int, error) {
	return f.write(b, func() (at int64, err error) {
		if at = f.pos; f.flag&os.O_APPEND != 0 {
			at, err = f.size()
		}
		return at, err
	}, func(end int64) { f.pos = end })
}

// WriteAt writes somewhere (machine.File).
func (f *file) WriteAt(b []byte, at int64) (int, error) {
	if f.flag&os.O_APPEND != 0 {
		return 0, errors.New("os: invalid use of WriteAt on file opened with O_APPEND")
	}
	return f.write(b, func() (int64, error) { return at, nil }, func(int64) {})
}

// write writes where it is to be, and reports the end of what was written.
func (f *file) write(b []byte, where func() (int64, error), wrote func(end int64)) (int, error) {
	d := f.disk
	call, fault, err := d.beginCall(d.write, true, d.full, d.short)
	defer d.mu.Unlock()
	failed := func(n int, err error) (int, error) {
		return n, &fs.PathError{Op: "write", Path: f.name, Err: err}
	}
	if err == nil {
		err = f.usable()
	}
	if err == nil && f.node == nil {
		err = syscall.EBADF
	}
	switch {
	case err != nil:
		return failed(0, err)
	case call.Way == sdk.Before:
		return failed(0, call.Error(syscall.EIO))
	case fault == d.full:
		return failed(0, fault.Error(syscall.ENOSPC))
	case fault == d.short:
		b = b[:len(b)/2]
	}
	at, err := where()
	if err == nil {
		err = f.put(b, at)
	}
	if err != nil {
		return failed(0, err)
	}
	wrote(at + int64(len(b)))
	switch {
	case call.Way == sdk.After:
		return failed(0, call.Error(syscall.EIO))
	case fault == d.short:
		return failed(len(b), fault.Error(syscall.EIO))
	}
	return len(b), nil
}

func (f *file) size() (int64, error) {
	info, err := f.under.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// put writes, and keeps what was there before.
func (f *file) put(b []byte, at int64) error {
	if !f.disk.keepsWrites && f.disk.capacity == 0 {
		_, err := f.under.WriteAt(b, at)
		return err
	}
	size, err := f.size()
	if err != nil {
		return err
	}
	if grows := at + int64(len(b)) - size; f.disk.capacity > 0 && grows > 0 {
		used, err := f.disk.used()
		if err != nil {
			return err
		}
		if used+grows > f.disk.capacity {
			return syscall.ENOSPC
		}
	}
	w := written{at: at, data: append([]byte(nil), b...), was: make([]byte, max(0, min(int64(len(b)), size-at))), size: size}
	if _, err := f.under.ReadAt(w.was, at); err != nil && err != io.EOF {
		return err
	}
	if _, err := f.under.WriteAt(b, at); err != nil {
		return err
	}
	f.node.writes = append(f.node.writes, w)
	return nil
}

// cut changes the size of the file, and keeps what was there before.
func (f *file) cut(to int64) error {
	if !f.disk.keepsWrites {
		return f.under.Truncate(to)
	}
	size, err := f.size()
	if err != nil {
		return err
	}
	w := written{at: to, was: make([]byte, max(0, size-to)), size: size, cut: true}
	if _, err := f.under.ReadAt(w.was, to); err != nil && err != io.EOF {
		return err
	}
	if err := f.under.Truncate(to); err != nil {
		return err
	}
	f.node.writes = append(f.node.writes, w)
	return nil
}

// Truncate changes the size (machine.File).
func (f *file) Truncate(size int64) error {
	return f.call(f.disk.write, "truncate", true, func() error {
		if f.node == nil {
			return &fs.PathError{Op: "truncate", Path: f.name, Err: syscall.EINVAL}
		}
		return f.cut(size)
	})
}

// Sync makes durable what was written, and all changes of names (machine.File).
func (f *file) Sync() error {
	done := false
	err := f.call(f.disk.sync, "sync", true, func() error {
		done = true
		if f.node == nil {
			return f.disk.commit()
		}
		f.node.sync()
		return f.disk.commit()
	})
	if err != nil && !done && f.node != nil {
		f.disk.mu.Lock()
		defer f.disk.mu.Unlock()
		for i := range f.node.writes {
			f.node.writes[i].never = !f.node.writes[i].durable
		}
	}
	return err
}

// Seek says where to read or write on (machine.File).
func (f *file) Seek(offset int64, whence int) (int64, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	switch whence {
	case io.SeekCurrent:
		offset += f.pos
	case io.SeekEnd:
		size, err := f.size()
		if err != nil {
			return 0, err
		}
		offset += size
	}
	if offset < 0 {
		return 0, &fs.PathError{Op: "seek", Path: f.name, Err: syscall.EINVAL}
	}
	f.pos = offset
	return offset, nil
}

// Stat says what the file is (machine.File).
func (f *file) Stat() (info fs.FileInfo, err error) {
	err = f.call(f.disk.read, "stat", false, func() (err error) {
		info, err = f.under.Stat()
		return err
	})
	return info, err
}
