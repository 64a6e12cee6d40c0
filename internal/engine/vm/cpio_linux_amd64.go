package vm

import (
	"fmt"
	"io"
)

// archive writes a cpio archive of the form newc, which the kernel unpacks as its first files (initramfs,
// Documentation/driver-api/early-userspace/buffer-format.rst). The same entries give the same bytes.
type archive struct {
	w     io.Writer
	bytes int64
	inode int
	err   error
}

// Kinds of entries, as in st_mode.
const (
	cpioFolder = 0o040000
	cpioFile   = 0o100000
	cpioDevice = 0o020000
)

func (a *archive) put(b []byte) {
	if a.err == nil {
		_, a.err = a.w.Write(b)
		a.bytes += int64(len(b))
	}
}

func (a *archive) pad() {
	for a.bytes%4 != 0 {
		a.put([]byte{0})
	}
}

func (a *archive) entry(name string, mode uint32, major, minor int, content []byte) {
	a.inode++
	a.put(fmt.Appendf(nil, "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X", a.inode, mode, 0, 0, 1, 0, len(content),
		0, 0, major, minor, len(name)+1, 0))
	a.put(append([]byte(name), 0))
	a.pad()
	a.put(content)
	a.pad()
}

func (a *archive) folder(name string)               { a.entry(name, cpioFolder|0o755, 0, 0, nil) }
func (a *archive) file(name string, content []byte) { a.entry(name, cpioFile|0o755, 0, 0, content) }

// end writes what ends the archive.
func (a *archive) end() error {
	a.entry("TRAILER!!!", 0, 0, 0, nil)
	return a.err
}
