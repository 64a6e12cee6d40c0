//go:build linux && amd64

package dump

import (
	"bytes"
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// Map is a range of addresses of a process.
type Map struct {
	Start, End, Offset        uint64
	Read, Write, Exec, Shared bool
	Name                      string // as the process sees it; empty for memory without a file
	File                      bool   // it belongs to a file
}

// Thread is a thread as it stood when the process ended.
type Thread struct {
	TID  int
	Name string
	Regs unix.PtraceRegs
	// XState is the extended state as NT_X86_XSTATE has it; empty where the machine gives none.
	XState []byte
	// Executed says that the thread has just executed the instruction before the one that it stands at, and is of interest for that.
	Executed bool
}

// Page says where the content of a page of memory comes from, as far as is known without reading it.
type Page uint8

const (
	Absent  Page = iota // not in memory: zeros, or what its file has
	OfFile              // in memory as its file has it
	Private             // in memory, and the process' own
)

// Process is a process that a signal ends. All numbers are those that the process itself sees.
type Process struct {
	PID, PPID, PGID, SID, UID, GID int
	Comm                           string
	Argv                           []string
	Signal                         int
	Info                           [128]byte // siginfo_t
	Auxv                           []byte
	Maps                           []Map    // in order of addresses
	Threads                        []Thread // the one that took the signal is the first
	// ReadAt copies memory, and gives how many bytes could be read.
	ReadAt func(addr uint64, p []byte) int
	// Pages describes the pages from an address on.
	Pages func(addr uint64, p []Page) bool
	// Open reads the file of a map whole; nil if it cannot.
	Open func(m *Map) []byte
	// Files keeps what was read of files with code from one look at stacks to the next; nil keeps nothing.
	Files Files
	// Debug reads a file of this machine that has what a distribution has stripped from another one; nil if there is none.
	Debug func(path string) []byte
}

// Files are the files with code of the processes of one file system.
type Files map[place]*module

// place is where a file is mapped: how far it lies before its content.
type place struct {
	name string
	base uint64
}

// mapAt finds the map that holds an address.
func (p *Process) mapAt(addr uint64) *Map {
	for i := range p.Maps {
		if m := &p.Maps[i]; addr >= m.Start && addr < m.End {
			return m
		}
	}
	return nil
}

// word reads eight bytes of memory.
func (p *Process) word(addr uint64) (uint64, bool) {
	var b [8]byte
	if p.ReadAt(addr, b[:]) != len(b) {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b[:]), true
}

// Where the XSAVE area (Intel SDM volume 1, 13.4) has its header, behind what FXSAVE stores.
const (
	fxsaveBytes   = 512
	fxsaveUsed    = 464 // the rest is for software
	xsaveHeader   = 512
	xsaveExtended = 576

	protectionKeys = 9 // the number of the component with PKRU
)

// Component is where a machine stores a part of the extended state (CPUID leaf 13).
type Component struct{ Number, Offset, Size int }

// OneForm brings extended state to the one form that means it: a component in its initial state, all zeros, is not marked as in
// use, whether the processor has noticed that or not (SDM volume 1, 13.6: XINUSE is the processor's own affair). Where no component
// beyond the protection keys is in use, the area ends behind these, as debuggers know it.
func OneForm(area []byte, components []Component) []byte {
	if len(area) < xsaveExtended {
		return area
	}
	const legacy = 3 // x87 and SSE have their whole state in the area in any case
	used := binary.LittleEndian.Uint64(area[xsaveHeader:]) | legacy
	end, known := xsaveExtended, uint64(legacy)
	for _, c := range components {
		if c.Number < 2 || c.Offset+c.Size > len(area) {
			continue
		}
		if part := area[c.Offset : c.Offset+c.Size]; len(bytes.Trim(part, "\x00")) == 0 {
			used &^= 1 << c.Number
		}
		if c.Number <= protectionKeys {
			end, known = max(end, c.Offset+c.Size), known|1<<c.Number
		}
	}
	binary.LittleEndian.PutUint64(area[xsaveHeader:], used)
	if used&^known == 0 {
		features := area[fxsaveUsed : fxsaveUsed+8] // XCR0, by which debuggers know what the area has
		binary.LittleEndian.PutUint64(features, binary.LittleEndian.Uint64(features)&known)
		area = area[:end]
	}
	return area
}
