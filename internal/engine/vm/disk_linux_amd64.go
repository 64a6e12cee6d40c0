package vm

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"

	"github.com/bloodhound-dst/bloodhound/internal/engine/vm/wire"
)

// diskBytes is how large the disk of a node is that may lose its power. This machine gives what is written.
const diskBytes = 1 << 30

// findMke2fs looks for the program that makes an empty file system, which lies outside of the PATH of users.
func findMke2fs() (string, bool) {
	for _, name := range []string{"mke2fs", "/usr/sbin/mke2fs", "/sbin/mke2fs"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, true
		}
	}
	return "", false
}

// emptyDisk makes a file system ext4, the same each time, and gives its pages that have something: each behind its offset.
func emptyDisk(mke2fs string) ([]byte, error) {
	f, err := memory("disk")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := f.Truncate(diskBytes); err != nil {
		return nil, err
	}
	const id = "b100d000-0000-4000-8000-000000000001"
	c := exec.Command(mke2fs, "-q", "-F", "-t", "ext4", "-b", fmt.Sprint(wire.PageBytes), "-U", id, "-E",
		"hash_seed="+id+",lazy_itable_init=1,lazy_journal_init=1,nodiscard", "/proc/self/fd/3", fmt.Sprint(diskBytes/1024)+"k")
	c.ExtraFiles = []*os.File{f}
	c.Env = append(os.Environ(), "E2FSPROGS_FAKE_TIME=1577836800")
	if out, err := c.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", mke2fs, err, out)
	}
	var pages []byte
	page, zero := make([]byte, wire.PageBytes), make([]byte, wire.PageBytes)
	for at := int64(0); at < diskBytes; at += wire.PageBytes {
		if _, err := f.ReadAt(page, at); err != nil {
			return nil, err
		}
		if !bytes.Equal(page, zero) {
			pages = append(binary.LittleEndian.AppendUint64(pages, uint64(at)), page...)
		}
	}
	return pages, nil
}
