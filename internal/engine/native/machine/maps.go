//go:build linux && amd64

package machine

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Span is a range of addresses.
type Span struct{ From, To uint64 }

// RealMap is one line of the real /proc/PID/maps.
type RealMap struct {
	Start, End, Offset uint64
	Readable, Writable bool
	Executable, Shared bool
	Name               string // in the machine's tree
	Blob               int64  // what is mapped, if it is one of the engine's blobs
}

// Prot is the protection of the map as mmap(2) takes it.
func (m *RealMap) Prot() (prot uint64) {
	if m.Readable {
		prot |= unix.PROT_READ
	}
	if m.Writable {
		prot |= unix.PROT_WRITE
	}
	if m.Executable {
		prot |= unix.PROT_EXEC
	}
	return prot
}

// ParseMap reads a line of /proc/PID/maps (proc_pid_maps(5)).
func ParseMap(line string) (m RealMap, ok bool) {
	var f [5]string
	rest := strings.TrimSuffix(line, "\n")
	for i := range f {
		f[i], rest, _ = strings.Cut(rest, " ")
	}
	if f[4] == "" || len(f[1]) < 4 {
		return m, false
	}
	from, to, _ := strings.Cut(f[0], "-")
	m.Start, _ = strconv.ParseUint(from, 16, 64)
	m.End, _ = strconv.ParseUint(to, 16, 64)
	m.Offset, _ = strconv.ParseUint(f[2], 16, 64)
	m.Readable, m.Writable, m.Executable, m.Shared = f[1][0] == 'r', f[1][1] == 'w', f[1][2] == 'x', f[1][3] == 's'
	m.Name = strings.TrimLeft(rest, " ")
	if blob, is := strings.CutPrefix(m.Name, "/memfd:blob-"); is {
		blob, _, _ = strings.Cut(blob, " ")
		m.Blob, _ = strconv.ParseInt(blob, 10, 64)
	}
	return m, true
}

// MapAt finds the line that holds an address.
func MapAt(maps string, addr uint64) (RealMap, bool) {
	for line := range strings.Lines(maps) {
		if m, ok := ParseMap(line); ok && addr >= m.Start && addr < m.End {
			return m, true
		}
	}
	return RealMap{}, false
}
