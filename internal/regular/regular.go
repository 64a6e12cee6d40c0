// Package regular reads files that others may have put there: a device or a pipe under the name of a file would give bytes
// without end, or none ever.
package regular

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// Open opens a regular file for reading, and refuses everything else: it never waits for a pipe's writer.
func Open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	switch info, e := f.Stat(); {
	case e != nil:
		err = e
	case info.IsDir():
		err = fmt.Errorf("%s is a folder", path)
	case !info.Mode().IsRegular():
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Read reads a regular file of at most so many bytes, and refuses everything else.
func Read(path string, limitBytes int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limitBytes+1)) // the size of a file in /proc is 0
	if err == nil && int64(len(text)) > limitBytes {
		err = fmt.Errorf("%s has more than %d bytes, the limit for such a file", path, limitBytes)
	}
	return text, err
}
