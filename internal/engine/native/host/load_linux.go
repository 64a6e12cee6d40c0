//go:build linux && amd64

package host

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
)

// The real kernel looks for a program's interpreter (PT_INTERP: the dynamic loader) among this machine's files. A world whose
// files are others has its own. Then it is the loader that is executed, the program is mapped beside it here, and the
// auxiliary vector is made to say what execve(2) says of a program that was started with an interpreter.

// programBase is where a position-independent program lies. The kernel's own choice, 0x555555554000, is where it puts the heap
// of a loader that is executed by itself.
const programBase = 0x555500000000

const pageSize = 4096

var protections = map[elf.ProgFlag]uint64{elf.PF_R: unix.PROT_READ, elf.PF_W: unix.PROT_WRITE, elf.PF_X: unix.PROT_EXEC}

// headers holds the headers of a program file.
type headers struct {
	elf.Header64
	progs []elf.Prog64
}

// readHeaders reads an ELF file's headers (elf(5)). The error is ENOEXEC for what is none that runs here.
func readHeaders(fd int) (*headers, syscall.Errno) {
	var h headers
	b := make([]byte, binary.Size(h.Header64))
	if n, err := unix.Pread(fd, b, 0); err != nil || n < len(b) {
		return nil, unix.ENOEXEC
	}
	if err := binary.Read(bytes.NewReader(b), binary.LittleEndian, &h.Header64); err != nil {
		return nil, unix.ENOEXEC
	}
	size := binary.Size(elf.Prog64{})
	if string(h.Ident[:4]) != elf.ELFMAG || elf.Machine(h.Machine) != elf.EM_X86_64 || int(h.Phentsize) != size || h.Phnum == 0 || h.Phnum > 512 {
		return nil, unix.ENOEXEC
	}
	b = make([]byte, size*int(h.Phnum))
	if n, err := unix.Pread(fd, b, int64(h.Phoff)); err != nil || n < len(b) {
		return nil, unix.ENOEXEC
	}
	h.progs = make([]elf.Prog64, h.Phnum)
	if err := binary.Read(bytes.NewReader(b), binary.LittleEndian, h.progs); err != nil {
		return nil, unix.ENOEXEC
	}
	return &h, 0
}

// Interpreter is the function of that name.
func (m *Machine) Interpreter(fd int) (string, syscall.Errno) { return Interpreter(fd) }

// Interpreter returns the interpreter that a program file names in PT_INTERP, or "".
func Interpreter(fd int) (string, syscall.Errno) {
	h, errno := readHeaders(fd)
	if errno != 0 {
		return "", errno
	}
	for _, p := range h.progs {
		if elf.ProgType(p.Type) != elf.PT_INTERP {
			continue
		}
		if p.Filesz < 2 || p.Filesz > unix.PathMax {
			return "", unix.ENOEXEC
		}
		b := make([]byte, p.Filesz)
		if n, err := unix.Pread(fd, b, int64(p.Off)); err != nil || n < len(b) || b[len(b)-1] != 0 {
			return "", unix.ENOEXEC
		}
		return string(b[:bytes.IndexByte(b, 0)]), 0
	}
	return "", 0
}

// SameFile reports whether a path of this machine leads to an open file.
func (m *Machine) SameFile(fd int, path string) bool {
	var a, b unix.Stat_t
	return unix.Fstat(fd, &a) == nil && unix.Stat(path, &b) == nil && a.Dev == b.Dev && a.Ino == b.Ino
}

// RealName is the function of that name.
func (m *Machine) RealName(fd int) string { return RealName(fd) }

// RealName returns the name of an open file in /proc/PID/maps of this machine.
func RealName(fd int) string {
	name, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil {
		return ""
	}
	return strings.ReplaceAll(name, "\n", `\012`)
}

// placeProgram maps a program into a process that has just executed its interpreter, and corrects the auxiliary vector, which
// lies at an address of the stack.
func (m *Machine) placeProgram(t *thread, img machine.Image, vector uint64) syscall.Errno {
	program, errno := readHeaders(img.FD)
	if errno != 0 {
		return errno
	}
	loader, errno := readHeaders(img.InterpreterFD)
	if errno != 0 {
		return errno
	}
	fd := m.hand(t, mapped(&img), unix.O_RDONLY)
	if fd < 0 {
		return syscall.Errno(-fd)
	}
	bias, errno := m.mapSegments(t, program, uint64(fd))
	m.execute(t, unix.SYS_CLOSE, uint64(fd))
	if errno != 0 {
		return errno
	}
	for i := 0; i+16 <= len(t.auxv); i += 16 {
		value := t.auxv[i+8 : i+16]
		old := binary.LittleEndian.Uint64(value)
		now := old
		switch binary.LittleEndian.Uint64(t.auxv[i:]) {
		case atPhdr:
			now = bias + program.tableAddress()
		case atPhnum:
			now = uint64(program.Phnum)
		case atEntry:
			now = bias + program.Entry
			if elf.Type(loader.Type) == elf.ET_DYN {
				m.putBase(t, vector, old-loader.Entry)
			}
		}
		if now != old {
			binary.LittleEndian.PutUint64(value, now)
			m.writeAt(t, vector+uint64(i)+8, value)
		}
	}
	return 0
}

// putBase says where the interpreter lies.
func (m *Machine) putBase(t *thread, vector, base uint64) {
	for i := 0; i+16 <= len(t.auxv); i += 16 {
		if binary.LittleEndian.Uint64(t.auxv[i:]) == atBase {
			binary.LittleEndian.PutUint64(t.auxv[i+8:], base)
			m.writeAt(t, vector+uint64(i)+8, t.auxv[i+8:i+16])
		}
	}
}

// tableAddress returns the address of the program headers before the bias is added.
func (h *headers) tableAddress() uint64 {
	for _, p := range h.progs {
		if elf.ProgType(p.Type) == elf.PT_PHDR {
			return p.Vaddr
		}
	}
	for _, p := range h.progs {
		if elf.ProgType(p.Type) == elf.PT_LOAD && p.Off <= h.Phoff && h.Phoff < p.Off+p.Filesz {
			return h.Phoff - p.Off + p.Vaddr
		}
	}
	return 0
}

func pageDown(v uint64) uint64 { return v &^ (pageSize - 1) }
func pageUp(v uint64) uint64   { return pageDown(v + pageSize - 1) }

// mapSegments maps what a program wants loaded, as fs/binfmt_elf.c does, and gives what was added to its addresses.
func (m *Machine) mapSegments(t *thread, h *headers, fd uint64) (bias uint64, errno syscall.Errno) {
	low, high := ^uint64(0), uint64(0)
	for _, p := range h.progs {
		if elf.ProgType(p.Type) == elf.PT_LOAD {
			// What is mapped over what is there must lie within what was free.
			if p.Filesz > p.Memsz || p.Memsz > machine.LastAddress || p.Vaddr > machine.LastAddress {
				return 0, unix.EINVAL
			}
			low, high = min(low, pageDown(p.Vaddr)), max(high, pageUp(p.Vaddr+p.Memsz))
		}
	}
	if low >= high {
		return 0, unix.ENOEXEC
	}
	switch elf.Type(h.Type) {
	case elf.ET_EXEC:
	case elf.ET_DYN:
		bias = programBase - low
	default:
		return 0, unix.ENOEXEC
	}
	const place = 0x100000 // MAP_FIXED_NOREPLACE
	if v := m.execute(t, unix.SYS_MMAP, low+bias, high-low, unix.PROT_NONE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE|place, ^uint64(0), 0); v < 0 {
		return 0, syscall.Errno(-v)
	}
	for _, p := range h.progs {
		if elf.ProgType(p.Type) != elf.PT_LOAD {
			continue
		}
		prot := uint64(0)
		for flag, bit := range protections {
			if elf.ProgFlag(p.Flags)&flag != 0 {
				prot |= bit
			}
		}
		start, from := pageDown(p.Vaddr)+bias, p.Vaddr-pageDown(p.Vaddr)
		end, all := p.Vaddr+bias+p.Filesz, p.Vaddr+bias+p.Memsz
		if p.Filesz > 0 {
			if v := m.execute(t, unix.SYS_MMAP, start, p.Filesz+from, prot, unix.MAP_PRIVATE|unix.MAP_FIXED, fd, p.Off-from); v < 0 {
				return 0, syscall.Errno(-v)
			}
		} else {
			end = start
		}
		if all <= end {
			continue
		}
		if rest := min(pageUp(end), all) - end; rest > 0 && p.Filesz > 0 && prot&unix.PROT_WRITE != 0 {
			if m.writeAt(t, end, make([]byte, rest)) != int(rest) {
				return 0, unix.EFAULT
			}
		}
		if pageUp(all) > pageUp(end) {
			if v := m.execute(t, unix.SYS_MMAP, pageUp(end), pageUp(all)-pageUp(end), prot,
				unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_FIXED, ^uint64(0), 0); v < 0 {
				return 0, syscall.Errno(-v)
			}
		}
	}
	return bias, 0
}
