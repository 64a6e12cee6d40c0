package code

import (
	"bytes"
	"cmp"
	"debug/elf"
	"debug/gosym"
	"encoding/binary"
	"maps"
	"slices"
	"strings"
)

// function is a range of code that is entered at its first address.
type function struct {
	start, end uint64
	// unwound says that compilers describe all of the range as code: unwinding tables and Go's own do, symbols do not. GHC keeps tables in the
	// middle of what its symbols call a function.
	unwound bool
}

// functions returns the functions that the file lists, in order, without overlaps. It reads symbols, unwinding tables
// and Go's own tables: a stripped file of C, C++ or Rust still has the second, one of Go the third.
func (f *elfFile) functions() []function {
	var list []function
	add := func(start, end uint64, unwound bool) {
		if f.text(start, end) != nil {
			list = append(list, function{start, end, unwound})
		}
	}
	for _, s := range f.functionSymbols() {
		if !copied(s.Name) {
			add(s.Value, s.Value+s.Size, false)
		}
	}
	for _, fde := range f.unwinding() {
		add(fde.start, fde.end, true)
	}
	if table := f.goTable(); table != nil {
		for i := range table.Funcs {
			add(table.Funcs[i].Entry, table.Funcs[i].End, true)
		}
	}
	list = slices.DeleteFunc(list, func(fn function) bool { return f.inPLT(fn.start) })
	return apart(list)
}

// apart orders functions, and has each end where the next begins. Of those that begin at one address, the longest counts.
func apart(list []function) (all []function) {
	slices.SortFunc(list, func(a, b function) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
	})
	for i := 0; i < len(list); {
		fn, described := list[i], uint64(0)
		for ; i < len(list) && list[i].start == fn.start; i++ {
			if list[i].unwound {
				described = max(described, list[i].end)
			}
		}
		if i < len(list) {
			fn.end = min(fn.end, list[i].start)
		}
		fn.unwound = described >= fn.end
		all = append(all, fn)
	}
	return all
}

// functionSymbols are the symbols of functions that the file itself has.
func (f *elfFile) functionSymbols() (list []elf.Symbol) {
	for _, table := range []elf.SectionType{elf.SHT_SYMTAB, elf.SHT_DYNSYM} {
		for _, s := range Symbols(f.File, f.bytes, table) {
			if t := elf.ST_TYPE(s.Info); (t == elf.STT_FUNC || t == elf.STT_GNU_IFUNC) && s.Section != elf.SHN_UNDEF {
				list = append(list, s)
			}
		}
	}
	return list
}

// copied lists the functions that V8 takes from a program's code and executes elsewhere.
func copied(name string) bool {
	return strings.HasPrefix(name, "Builtins_") || strings.HasPrefix(name, "v8_Default_embedded_blob")
}

// inPLT reports whether an address is in the linker's own code, whose entries are not functions of the program.
func (f *elfFile) inPLT(addr uint64) bool {
	return slices.ContainsFunc(f.Sections, func(s *elf.Section) bool {
		return strings.HasPrefix(s.Name, ".plt") && addr-s.Addr < s.Size
	})
}

// Pointer encodings of .eh_frame (LSB, DWARF extensions).
const (
	ehAbs, ehU2, ehU4, ehU8, ehS2, ehS4, ehS8 = 0, 2, 3, 4, 10, 11, 12
	ehPCRelative                              = 0x10
	ehOmitted                                 = 0xff
)

// reader reads a table at an address.
type reader struct {
	b    []byte
	addr uint64 // of the next byte
	ok   bool
}

func (r *reader) readBytes(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.ok = false
		return make([]byte, min(n, 8))
	}
	p := r.b[:n]
	r.b, r.addr = r.b[n:], r.addr+n
	return p
}

func (r *reader) u8() uint8   { return r.readBytes(1)[0] }
func (r *reader) u32() uint32 { return binary.LittleEndian.Uint32(r.readBytes(4)) }

func (r *reader) leb() (v uint64) {
	for shift := 0; r.ok && shift < 64; shift += 7 {
		b := r.u8()
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v
		}
	}
	return v
}

func (r *reader) pointer(encoding uint8) uint64 {
	base := uint64(0)
	switch encoding & 0x70 {
	case 0:
	case ehPCRelative:
		base = r.addr
	default:
		r.ok = false
	}
	return base + r.value(encoding)
}

func (r *reader) value(encoding uint8) uint64 {
	le := binary.LittleEndian
	switch encoding & 0xf {
	case ehAbs, ehU8, ehS8:
		return le.Uint64(r.readBytes(8))
	case ehU4:
		return uint64(le.Uint32(r.readBytes(4)))
	case ehS4:
		return uint64(int64(int32(le.Uint32(r.readBytes(4)))))
	case ehU2:
		return uint64(le.Uint16(r.readBytes(2)))
	case ehS2:
		return uint64(int64(int16(le.Uint16(r.readBytes(2)))))
	}
	r.ok = false
	return 0
}

// unwinding are the ranges of code for which .eh_frame describes how to unwind them: functions, and parts of functions that lie
// elsewhere.
func (f *elfFile) unwinding() []function {
	at, left := uint64(0), ^uint64(0) // left: entries that are still to come
	if s := f.Section(".eh_frame"); s != nil && s.Type != elf.SHT_NOBITS {
		at = s.Addr
	} else {
		for _, p := range f.Progs {
			if p.Type == elf.PT_GNU_EH_FRAME {
				r := reader{f.bytesAt(p.Vaddr), p.Vaddr, true}
				head := r.readBytes(4)
				at = r.pointer(head[1])
				if left = r.pointer(head[2]); !r.ok || head[0] != 1 {
					at = 0
				}
			}
		}
	}
	if at == 0 {
		return nil
	}
	type common struct {
		pointers uint8
		signal   bool
		ok       bool
	}
	var list []function
	commons := map[uint64]common{}
	r := reader{f.bytesAt(at), at, true}
	for r.ok && left > 0 && len(r.b) >= 4 {
		size := uint64(r.u32())
		if size == 0xffffffff {
			size = binary.LittleEndian.Uint64(r.readBytes(8))
		}
		if size == 0 { // the end of one object file's table
			continue
		}
		start := r.addr
		e := reader{r.readBytes(size), start, true}
		if !r.ok {
			break
		}
		id := e.u32()
		if id == 0 {
			c := common{ok: true}
			version := e.u8()
			var augmentation []byte
			for b := e.u8(); e.ok && b != 0; b = e.u8() {
				augmentation = append(augmentation, b)
			}
			e.leb()
			e.leb()
			if version == 1 {
				e.u8()
			} else {
				e.leb()
			}
			for _, a := range augmentation {
				switch a {
				case 'z':
					e.leb()
				case 'R':
					c.pointers = e.u8()
				case 'P':
					e.value(e.u8())
				case 'L':
					e.u8()
				case 'S':
					c.signal = true
				case 'B':
				default:
					c.ok = false
				}
			}
			c.ok = c.ok && e.ok && c.pointers != ehOmitted
			commons[start-4] = c
			if size > 0xfffffffe {
				commons[start-12] = c
			}
			continue
		}
		left--
		c := commons[start-uint64(id)]
		from := e.pointer(c.pointers)
		to := from + e.value(c.pointers)
		// What a signal handler returns to is not called, and unwinders look at its bytes.
		if c.ok && !c.signal && e.ok && from < to {
			list = append(list, function{from, to, true})
		}
	}
	return list
}

// goTableData finds the table of functions that each Go program carries; data is nil if there is none. The system's linker, which links
// programs that use C, puts it into a section among other data.
func (f *elfFile) goTableData() (addr uint64, data []byte) {
	for _, name := range []string{".gopclntab", ".data.rel.ro.gopclntab"} {
		if s := f.Section(name); s != nil {
			return s.Addr, f.sectionData(s)
		}
	}
	for _, name := range []string{".data.rel.ro", ".rodata"} {
		s := f.Section(name)
		if s == nil {
			continue
		}
		b := f.sectionData(s)
		for at := 0; at+minGoTable <= len(b); at += goTableAlign {
			i := bytes.Index(b[at:], goTableStart)
			if i < 0 {
				break
			}
			if at += i &^ (goTableAlign - 1); isGoTable(b[at:]) {
				return s.Addr + uint64(at), b[at:]
			}
		}
	}
	return 0, nil
}

// A table of Go's functions begins with its version, two zeros, the alignment of code and the size of a pointer (runtime.pcHeader). All versions
// since Go 1.16 have three bytes in common.
const (
	minGoTable   = 64
	goTableAlign = 32
)

var goTableStart = []byte{0xff, 0xff, 0xff, 0, 0, 1, 8}

func isGoTable(b []byte) bool {
	if len(b) < minGoTable || !bytes.Equal(b[1:8], goTableStart) {
		return false
	}
	switch binary.LittleEndian.Uint32(b) {
	case goTable116, goTable118, goTable120:
		return true
	}
	return false
}

// sectionData returns the content of a section that programs load, or nil if it is cut off.
func (f *elfFile) sectionData(s *elf.Section) []byte {
	if s.Type == elf.SHT_NOBITS || s.Size < minGoTable {
		return nil
	}
	data := f.bytesAt(s.Addr)
	if uint64(len(data)) < s.Size {
		return nil
	}
	return data[:s.Size]
}

// goTable reads the table of functions of a Go program, nil if there is none.
func (f *elfFile) goTable() (table *gosym.Table) {
	addr, data := f.goTableData()
	if data == nil || !namesFunctions(f.bytes, data) {
		return nil
	}
	defer func() { // gosym trusts its input
		if recover() != nil {
			table = nil
		}
	}()
	table, err := gosym.NewTable(nil, gosym.NewLineTable(data, f.goText(addr, data)))
	if err != nil || len(table.Funcs) == 0 {
		return nil
	}
	return table
}

// Where runtime.moduledata has text, in words: behind pcHeader, six slices, findfunctab, minpc and maxpc (runtime/symtab.go).
const moduleText = 1 + 6*3 + 3

// goText is the address that the table's entries count from, runtime.text: not the section's own where C is linked in before
// it. The table's header has it up to Go 1.25, unless it is to be relocated; runtime.moduledata has it in any case.
func (f *elfFile) goText(at uint64, table []byte) uint64 {
	le := binary.LittleEndian
	if header := le.Uint64(table[24:]); f.text(header, header+1) != nil {
		return header
	}
	for _, s := range Symbols(f.File, f.bytes, elf.SHT_SYMTAB) {
		if s.Name == "runtime.text" {
			return s.Value
		}
	}
	if word, module := f.moduledata(at); module != 0 {
		return word(module + 8*moduleText)
	}
	if s := f.Section(".text"); s != nil {
		return s.Addr
	}
	return 0
}

// moduledata is the address of runtime.moduledata, which begins with the address of the table: as a word of the file, or as a
// relocation that makes it one. It is 0 if there is none. word reads a word at an address.
func (f *elfFile) moduledata(at uint64) (word func(addr uint64) uint64, addr uint64) {
	relocated := f.relocations()
	le := binary.LittleEndian
	word = func(addr uint64) uint64 {
		if v, ok := relocated[addr]; ok {
			return v
		}
		if b := f.bytesAt(addr); len(b) >= 8 {
			return le.Uint64(b)
		}
		return 0
	}
	is := func(addr uint64) bool {
		text := word(addr + 8*moduleText)
		return f.text(text, text+1) != nil && word(addr+8*(moduleText+1)) > text
	}
	for _, s := range f.Sections {
		if s.Type == elf.SHT_NOBITS || s.Flags&elf.SHF_ALLOC == 0 || s.Flags&elf.SHF_WRITE == 0 {
			continue
		}
		b := f.bytesAt(s.Addr)
		for i := 0; i+8 <= len(b) && uint64(i) < s.Size; i += 8 {
			if addr := s.Addr + uint64(i); le.Uint64(b[i:]) == at && is(addr) {
				return word, addr
			}
		}
	}
	for _, addr := range slices.Sorted(maps.Keys(relocated)) {
		if relocated[addr] == at && is(addr) {
			return word, addr
		}
	}
	return word, 0
}

// relocations are the words that a loader writes into a position-independent file: addends of R_X86_64_RELATIVE.
func (f *elfFile) relocations() map[uint64]uint64 {
	words := map[uint64]uint64{}
	le := binary.LittleEndian
	for _, s := range f.Sections {
		if s.Type != elf.SHT_RELA || s.Flags&elf.SHF_ALLOC == 0 {
			continue
		}
		b := f.bytesAt(s.Addr)
		b = b[:min(uint64(len(b)), s.Size)]
		for ; len(b) >= 24; b = b[24:] {
			if elf.R_X86_64(le.Uint32(b[8:])) == elf.R_X86_64_RELATIVE {
				words[le.Uint64(b)] = le.Uint64(b[16:])
			}
		}
	}
	return words
}
