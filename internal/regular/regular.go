// Package regular reads files that others may have put there: a device or a pipe under the name of a file would give bytes
// without end, or none ever.
package regular

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// Read reads a regular file of at most so many bytes, and refuses everything else.
func Read(path string, limitBytes int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe does not wait for its writer
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%s is a folder", path)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	text, err := io.ReadAll(io.LimitReader(f, limitBytes+1)) // the size of a file in /proc is 0
	if err == nil && int64(len(text)) > limitBytes {
		err = fmt.Errorf("%s has more than %d bytes, the limit for such a file", path, limitBytes)
	}
	return text, err
}
