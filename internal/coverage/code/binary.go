package code

import (
	"cmp"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
)

// Limits of what is watched.
const (
	// MaxFileBytes bounds a program's file.
	MaxFileBytes = 1 << 30
	// maxPlaces bounds the places of one binary; blocks beyond them are left out, entries of functions last.
	maxPlaces = 4 << 20
	// maxSegments bounds the executable segments of a file, and maxSections its sections of code in each.
	maxSegments = 64
	maxSections = 4096
)

// Binary is an ELF file and where its blocks begin.
type Binary struct {
	Digest string // SHA-256 of the file, hex
	// Places are addresses as the file has them, before a program is loaded anywhere, in order.
	Places []uint64
	// Original has the byte of the file at each place.
	Original []byte
	// Own are the numbers of the places in the program's own functions; none where they are not known from those of its runtime.
	Own []uint32
	// Shared are the numbers of the places in functions that have an atomic instruction: what such code shares is contended.
	Shared   []uint32
	Segments []Segment // what is executable
	Entry    uint64
	// Counters is set for a program that itself counts which of its parts run: nothing else in the program is then
	// watched.
	Counters *Counters
}

// Segment is a part of a file that is mapped executable.
type Segment struct{ Addr, Offset, Size uint64 }

// Errors of Analyse: why nothing of a file can be watched.
var (
	errNotELF      = errors.New("it is not an ELF program for x86-64")
	ErrTooLarge    = fmt.Errorf("it is larger than %d MiB", MaxFileBytes>>20)
	errNoFunctions = errors.New("it describes no functions: it has neither symbols, nor .eh_frame, nor Go's tables")
)

// Digest is the SHA-256 of a file's bytes, hex.
func Digest(file []byte) string {
	sum := sha256.Sum256(file)
	return hex.EncodeToString(sum[:])
}

// Analyse finds the places of a file. It is a pure function of the file's bytes.
func Analyse(file []byte) (*Binary, error) {
	if len(file) > MaxFileBytes {
		return nil, ErrTooLarge
	}
	f, err := open(file)
	if err != nil {
		return nil, err
	}
	b := &Binary{Digest: Digest(file), Segments: f.segments, Entry: f.Entry}
	if b.Counters = f.goCounters(); b.Counters != nil {
		return b, nil
	}
	functions := f.functions()
	if len(functions) == 0 {
		return nil, errNoFunctions
	}
	var atomic []bool
	b.Places, atomic = f.places(functions)
	b.Own, b.Shared = b.within(functions, f.own(functions)), b.within(functions, atomic)
	b.Original = make([]byte, len(b.Places))
	for i, p := range b.Places {
		b.Original[i] = file[b.Offset(p)]
	}
	return b, nil
}

// within are the numbers of the places in some of the functions.
func (b *Binary) within(functions []function, some []bool) (list []uint32) {
	at := 0
	for i := range some {
		for ; at < len(b.Places) && b.Places[at] < functions[i].end; at++ {
			if some[i] && b.Places[at] >= functions[i].start {
				list = append(list, uint32(at))
			}
		}
	}
	return list
}

// Offset is where the file has the byte of an address in a segment.
func (b *Binary) Offset(addr uint64) uint64 {
	for _, s := range b.Segments {
		if addr-s.Addr < s.Size {
			return addr - s.Addr + s.Offset
		}
	}
	panic(fmt.Sprintf("code: address %#x is not in an executable segment", addr))
}

// Total is how many blocks of the binary runs can report.
func (b *Binary) Total() int {
	if b.Counters != nil {
		return b.Counters.total
	}
	return len(b.Places)
}

// Find is the number of the place at an address.
func (b *Binary) Find(addr uint64) (int, bool) { return slices.BinarySearch(b.Places, addr) }

// elfFile is an ELF file in memory.
type elfFile struct {
	*elf.File
	bytes    []byte
	segments []Segment // what is mapped executable
	code     []Segment // the part of it that holds code
}

func open(file []byte) (*elfFile, error) {
	f, err := OpenELF(file)
	if err != nil || f.Machine != elf.EM_X86_64 || f.Class != elf.ELFCLASS64 || f.Type != elf.ET_EXEC && f.Type != elf.ET_DYN {
		return nil, errNotELF
	}
	e := &elfFile{File: f, bytes: file}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 && p.Off < uint64(len(file)) {
			e.segments = append(e.segments, Segment{p.Vaddr, p.Off, min(p.Filesz, uint64(len(file))-p.Off)})
		}
	}
	if len(e.segments) == 0 || len(e.segments) > maxSegments {
		return nil, errNotELF
	}
	slices.SortFunc(e.segments, func(a, b Segment) int { return cmp.Compare(a.Addr, b.Addr) })
	e.code = e.codeSections()
	return e, nil
}

// codeSections lists the sections that hold code. Linkers may put read-only data into the same segment (ld -z noseparate-code, gold, lld
// --no-rosegment). A file without sections tells nothing of that: its segments count as a whole.
func (f *elfFile) codeSections() (list []Segment) {
	const wanted = elf.SHF_ALLOC | elf.SHF_EXECINSTR
	for _, s := range f.Sections {
		if s.Flags&wanted != wanted || s.Type == elf.SHT_NOBITS {
			continue
		}
		for _, segment := range f.segments {
			from, to := max(s.Addr, segment.Addr), min(s.Addr+s.Size, segment.Addr+segment.Size)
			if from < to && len(list) < maxSections {
				list = append(list, Segment{from, segment.Offset + from - segment.Addr, to - from})
			}
		}
	}
	if len(list) == 0 {
		return f.segments
	}
	slices.SortFunc(list, func(a, b Segment) int { return cmp.Compare(a.Addr, b.Addr) })
	return list
}

// text is the code between two addresses, nil if they are not in one piece of code.
func (f *elfFile) text(from, to uint64) []byte {
	for _, s := range f.code {
		if from >= s.Addr && from < to && to-s.Addr <= s.Size {
			return f.bytes[s.Offset+from-s.Addr : s.Offset+to-s.Addr]
		}
	}
	return nil
}

// piece is the piece of code around an address, empty if there is none.
func (f *elfFile) piece(addr uint64) Segment {
	for _, s := range f.code {
		if addr-s.Addr < s.Size {
			return s
		}
	}
	return Segment{}
}

// bytesAt returns the file's bytes from an address to the end of its segment, or nil if no segment has the address.
func (f *elfFile) bytesAt(addr uint64) []byte {
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && addr-p.Vaddr < p.Filesz && p.Off < uint64(len(f.bytes)) && p.Filesz <= uint64(len(f.bytes))-p.Off {
			return f.bytes[p.Off+addr-p.Vaddr : p.Off+p.Filesz]
		}
	}
	return nil
}
