package code

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"slices"
)

// Files of programs are written by whoever wrote the program, who may mean no good: their tables lead a reader that trusts them to fill
// all memory, or to read for ever. debug/elf copies each name, and a name may be most of the file; it decompresses what says to be
// compressed, and follows versions of symbols in cycles.

// OpenELF is elf.NewFile for a file that is not trusted.
func OpenELF(file []byte) (*elf.File, error) {
	if !namesSections(file) {
		return nil, errNotELF
	}
	return elf.NewFile(bytes.NewReader(file))
}

// names are texts of a table of them, which may take so many bytes together.
type names struct {
	table  []byte
	budget int
}

// nameAt returns the name at an offset of the table. It returns false if there is none, or if the names are too long in total.
func (n *names) nameAt(i uint32) (string, bool) {
	if uint64(i) >= uint64(len(n.table)) {
		return "", false
	}
	rest := n.table[i:]
	end := bytes.IndexByte(rest[:min(len(rest), n.budget+1)], 0)
	if end < 0 {
		return "", false
	}
	n.budget -= end
	return string(rest[:end]), true
}

// namesIn bounds the names of a file: symbols share the ends of names at most.
func namesIn(file, table []byte) *names { return &names{table, 4*len(file) + 1<<16} }

// section gives a section's bytes as they are in the file, nil if that is compressed or not there.
func section(file []byte, typ elf.SectionType, flags elf.SectionFlag, offset, size uint64) []byte {
	if typ == elf.SHT_NOBITS || flags&elf.SHF_COMPRESSED != 0 || offset > uint64(len(file)) || size > uint64(len(file))-offset {
		return nil
	}
	return file[offset : offset+size]
}

// namesSections reports whether the names of a file's sections can be read.
func namesSections(file []byte) bool {
	var h elf.Header64
	if len(file) < binary.Size(h) || elf.Class(file[elf.EI_CLASS]) != elf.ELFCLASS64 || elf.Data(file[elf.EI_DATA]) != elf.ELFDATA2LSB {
		return false
	}
	binary.Decode(file, binary.LittleEndian, &h)
	if h.Shoff == 0 {
		return true
	}
	if h.Shstrndx == 0 { // SHN_UNDEF: the sections have no names
		return true
	}
	var s elf.Section64
	size := uint64(binary.Size(s))
	headers := section(file, elf.SHT_NULL, 0, h.Shoff, size*uint64(h.Shnum))
	if h.Shnum == 0 || uint64(h.Shentsize) != size || headers == nil || h.Shstrndx >= h.Shnum {
		return false
	}
	binary.Decode(headers[size*uint64(h.Shstrndx):], binary.LittleEndian, &s)
	list := namesIn(file, section(file, elf.SectionType(s.Type), elf.SectionFlag(s.Flags), s.Off, s.Size))
	for ; len(headers) > 0; headers = headers[size:] {
		if _, ok := list.nameAt(binary.LittleEndian.Uint32(headers)); !ok {
			return false
		}
	}
	return true
}

// Symbols returns the symbols in a table of a file, SHT_SYMTAB or SHT_DYNSYM, without versions, or none if the table is
// broken.
func Symbols(f *elf.File, file []byte, table elf.SectionType) (list []elf.Symbol) {
	s := f.SectionByType(table)
	if s == nil || uint64(s.Link) >= uint64(len(f.Sections)) {
		return nil
	}
	texts := f.Sections[s.Link]
	names := namesIn(file, section(file, texts.Type, texts.Flags, texts.Offset, texts.FileSize))
	b := section(file, s.Type, s.Flags, s.Offset, s.FileSize)
	var sym elf.Sym64
	for size := binary.Size(sym); len(b) >= size; b = b[size:] {
		binary.Decode(b, binary.LittleEndian, &sym)
		name, ok := names.nameAt(sym.Name)
		if !ok {
			return nil
		}
		list = append(list, elf.Symbol{Name: name, Info: sym.Info, Other: sym.Other, Section: elf.SectionIndex(sym.Shndx), Value: sym.Value, Size: sym.Size})
	}
	return list
}

// Versions of Go's table of functions, by their first bytes (internal/abi).
const (
	goTable116 = 0xfffffffa
	goTable118 = 0xfffffff0
	goTable120 = 0xfffffff1
)

// namesFunctions reports whether the names in a table of Go's functions can be read. Tables of Go before 1.16 are not read.
func namesFunctions(file, table []byte) bool {
	const header, word = 8, 8
	le := binary.LittleEndian
	var nameTable, data, entry, wide int
	switch le.Uint32(table) {
	case goTable116:
		nameTable, data, entry, wide = 2, 6, 8, 8
	case goTable118, goTable120:
		nameTable, data, entry, wide = 3, 7, 4, 4
	default:
		return false
	}
	if len(table) < header+word*(data+1) || table[7] != word {
		return false
	}
	part := func(i int) []byte {
		at := le.Uint64(table[header+word*i:])
		return table[min(at, uint64(len(table))):]
	}
	count, functions := le.Uint64(table[header:]), part(data)
	if count > uint64(len(functions)/(2*wide)) {
		return false
	}
	names := namesIn(file, part(nameTable))
	for i := range int(count) {
		at := le.Uint64(append(slices.Clone(functions[(2*i+1)*wide:(2*i+2)*wide]), make([]byte, word-wide)...))
		if at > uint64(len(functions)) || uint64(len(functions))-at < uint64(entry+4) {
			return false
		}
		if _, ok := names.nameAt(le.Uint32(functions[at+uint64(entry):])); !ok {
			return false
		}
	}
	return true
}
