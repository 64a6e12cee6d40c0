//go:build linux && amd64

package dump

import (
	"cmp"
	"debug/dwarf"
	"debug/elf"
	"debug/gosym"
	"encoding/binary"
	"path"
	"slices"
	"strings"

	"github.com/go-delve/delve/pkg/dwarf/frame"
	"github.com/ianlancetaylor/demangle"

	"github.com/bloodhound-dst/bloodhound/internal/coverage/code"
)

// maxDebugBytes bounds the sections with names and lines that are read of one file.
const maxDebugBytes = 1 << 30

// module is a file with code that is mapped into a process. Its addresses are those of the file.
type module struct {
	name    string
	bias    uint64 // from addresses of the file to those of the process
	symbols []elf.Symbol
	table   *gosym.Table
	entries frame.FrameDescriptionEntries
	debug   *dwarf.Data
}

// module finds the file that has the code at an address, and the address in it.
func (w *walker) module(addr uint64) (*module, uint64) {
	in := w.mapAt(addr)
	if in == nil || !in.File {
		return nil, 0
	}
	at := place{in.Name, in.Start - in.Offset}
	m, known := w.files[at]
	if !known {
		if file := w.Open(in); file != nil {
			m = newModule(in, file, w.Debug)
		}
		w.files[at] = m
	}
	if m == nil {
		return nil, 0
	}
	return m, addr - m.bias
}

// newModule reads a file through a memory map, nil if it is no ELF file.
func newModule(in *Map, file []byte, debug func(path string) []byte) *module {
	f, err := code.OpenELF(file)
	if err != nil {
		return nil
	}
	m := &module{name: in.Name}
	for _, p := range f.Progs {
		if off := p.Off &^ (pageSize - 1); p.Type == elf.PT_LOAD && in.Offset >= off && in.Offset < p.Off+max(p.Filesz, 1) && p.Flags&elf.PF_X != 0 {
			m.bias = in.Start - (p.Vaddr&^(pageSize-1) + in.Offset - off)
		}
	}
	m.table = code.GoTable(file)
	m.readCode(f, file)
	if s, text := separate(f, debug); s != nil {
		m.readCode(s, text)
	}
	slices.SortStableFunc(m.symbols, func(a, b elf.Symbol) int { return cmp.Compare(a.Value, b.Value) })
	return m
}

// separate opens what a distribution has stripped from a file, if that is on this machine.
func separate(f *elf.File, debug func(path string) []byte) (*elf.File, []byte) {
	s := f.Section(".note.gnu.build-id")
	if s == nil || s.Flags&elf.SHF_COMPRESSED != 0 {
		return nil, nil
	}
	note, err := s.Data()
	if err != nil {
		return nil, nil
	}
	file := debug(code.DebugFileOf(note))
	d, err := code.OpenELF(file)
	if err != nil {
		return nil, nil
	}
	return d, file
}

// readCode reads the symbols and unwind tables of a file.
func (m *module) readCode(f *elf.File, file []byte) {
	for _, s := range append(code.Symbols(f, file, elf.SHT_SYMTAB), code.Symbols(f, file, elf.SHT_DYNSYM)...) {
		if t := elf.ST_TYPE(s.Info); s.Value != 0 && s.Name != "" &&
			(t == elf.STT_FUNC || t == elf.STT_NOTYPE && s.Section < elf.SHN_LORESERVE && s.Size > 0 || t == elf.STT_GNU_IFUNC) {
			m.symbols = append(m.symbols, s)
		}
	}
	for _, name := range []string{".eh_frame", ".debug_frame"} {
		s := f.Section(name)
		if s == nil || s.Type == elf.SHT_NOBITS || s.Size > maxDebugBytes {
			continue
		}
		if data, err := s.Data(); err == nil {
			m.entries = m.entries.Append(parse(data, name == ".eh_frame", s.Addr))
		}
	}
	size := uint64(0)
	for _, s := range f.Sections {
		if strings.HasPrefix(s.Name, ".debug_") || strings.HasPrefix(s.Name, ".zdebug_") {
			size += s.Size
		}
	}
	if m.debug == nil && size > 0 && size < maxDebugBytes && f.Section(".debug_info") != nil {
		m.debug, _ = f.DWARF()
	}
}

// parse reads a table of frames; none where it is broken.
func parse(data []byte, exception bool, addr uint64) (list frame.FrameDescriptionEntries) {
	defer func() { // delve trusts its input
		if recover() != nil {
			list = nil
		}
	}()
	if !exception {
		addr, data = 0, asVersion3(data)
	}
	list, err := frame.Parse(data, binary.LittleEndian, 0, 8, addr)
	if err != nil {
		return nil
	}
	return list
}

// asVersion3 writes the common entries of .debug_frame that are of version 4 as those of version 3 (DWARF 5, 6.4.1): without the sizes of
// addresses and of segments, which delve does not skip. Programs without unwind tables have such entries alone.
func asVersion3(data []byte) []byte {
	data = slices.Clone(data)
	for rest := data; len(rest) >= 4; {
		size := binary.LittleEndian.Uint32(rest)
		if uint64(size) > uint64(len(rest)-4) {
			break
		}
		entry := rest[4 : 4+size]
		if size >= 8 && binary.LittleEndian.Uint32(entry) == 1<<32-1 && entry[4] == 4 && entry[5] == 0 {
			entry[4] = 3
			copy(entry[6:], entry[8:])
			clear(entry[size-2:]) // DW_CFA_nop
		}
		rest = rest[4+size:]
	}
	return data
}

// unwind returns the file's unwind information for the frame at an address, or nil.
func (m *module) unwind(at uint64) *frame.FrameDescriptionEntry {
	fde, err := m.entries.FDEForPC(at)
	if err != nil {
		return nil
	}
	return fde
}

// function names the function at an address, and where it begins.
func (m *module) function(at uint64) (name string, start uint64) {
	if m.table != nil {
		if f := m.table.PCToFunc(at); f != nil {
			return f.Name, f.Entry
		}
	}
	i, _ := slices.BinarySearchFunc(m.symbols, at, func(s elf.Symbol, at uint64) int {
		if s.Value <= at {
			return -1
		}
		return 1
	})
	best := -1
	for i--; i >= 0; i-- {
		s := &m.symbols[i]
		if best >= 0 && s.Value != m.symbols[best].Value {
			break
		}
		if s.Size > 0 && at-s.Value >= s.Size {
			if best < 0 && at-s.Value > 1<<20 {
				break
			}
			continue
		}
		if best < 0 || s.Size > 0 && m.symbols[best].Size == 0 || elf.ST_TYPE(s.Info) == elf.STT_FUNC && code.Better(s.Name, m.symbols[best].Name) {
			best = i
		}
	}
	if best < 0 {
		return "", 0
	}
	return demangle.Filter(m.symbols[best].Name), m.symbols[best].Value
}

// frames are the calls at an address: what was inlined there, innermost first, and the function itself as the last.
func (m *module) frames(at uint64) []Frame {
	list := []Frame{{}}
	if m.table != nil {
		if file, line, f := m.table.PCToLine(at); f != nil && line > 0 {
			list[0].File, list[0].Line = file, line
		}
	}
	if m.debug == nil {
		return list
	}
	unit, err := m.debug.Reader().SeekPC(at)
	if err != nil {
		return list
	}
	lines, err := m.debug.LineReader(unit)
	if err != nil || lines == nil {
		return list
	}
	dir, _ := unit.Val(dwarf.AttrCompDir).(string)
	entry := lineAt(lines, at)
	if entry == nil {
		return list
	}
	list[0].File, list[0].Line = inFolder(dir, entry.File.Name), entry.Line
	files := lines.Files()
	for _, in := range m.inlined(unit, at) { // from the outermost on
		called := list[0]
		called.Inlined, called.Function = true, in.name
		outer := Frame{Line: int(in.line)}
		if in.file >= 0 && int(in.file) < len(files) && files[in.file] != nil {
			outer.File = inFolder(dir, files[in.file].Name)
		}
		list = append([]Frame{called, outer}, list[1:]...)
	}
	return list
}

// lineAt finds the row of a table of lines that an address belongs to, nil if there is none. Sequences may come in any order.
func lineAt(lines *dwarf.LineReader, at uint64) *dwarf.LineEntry {
	var row, last dwarf.LineEntry
	for inside := false; lines.Next(&row) == nil; inside = !row.EndSequence {
		if inside && last.Address <= at && at < row.Address && last.File != nil {
			return &last
		}
		last = row
	}
	return nil
}

// inlinedCall is a call that a compiler has replaced by what it calls.
type inlinedCall struct {
	name       string
	file, line int64 // of the call
}

// inlined are the inlined calls around an address, from the outermost on.
func (m *module) inlined(unit *dwarf.Entry, at uint64) (list []inlinedCall) {
	r := m.debug.Reader()
	r.Seek(unit.Offset)
	r.Next()
	m.within(r, at, &list, 0)
	return list
}

// maxNesting bounds how deep entries are looked into.
const maxNesting = 512

// within looks through the entries beside each other from which a reader continues, and into those that hold an address.
func (m *module) within(r *dwarf.Reader, at uint64, list *[]inlinedCall, depth int) (found bool) {
	for depth < maxNesting {
		e, err := r.Next()
		if err != nil || e == nil || e.Tag == 0 {
			return false
		}
		switch e.Tag {
		case dwarf.TagSubprogram, dwarf.TagLexDwarfBlock, dwarf.TagInlinedSubroutine:
			ranges, err := m.debug.Ranges(e)
			if err == nil && slices.ContainsFunc(ranges, func(x [2]uint64) bool { return x[0] <= at && at < x[1] }) {
				if e.Tag == dwarf.TagInlinedSubroutine {
					file, _ := e.Val(dwarf.AttrCallFile).(int64)
					line, _ := e.Val(dwarf.AttrCallLine).(int64)
					*list = append(*list, inlinedCall{m.named(e), file, line})
				}
				if e.Children {
					m.within(r, at, list, depth+1)
				}
				return true
			}
		case dwarf.TagNamespace, dwarf.TagStructType, dwarf.TagClassType, dwarf.TagEnumerationType, dwarf.TagUnionType: // in which functions may be declared
			if e.Children && m.within(r, at, list, depth+1) {
				return true
			}
			continue
		}
		if e.Children {
			r.SkipChildren()
		}
	}
	return false
}

// named is the name of a function's entry, which may refer to another one.
func (m *module) named(e *dwarf.Entry) string {
	for range 8 {
		if name, ok := e.Val(dwarf.AttrLinkageName).(string); ok {
			return demangle.Filter(name)
		}
		next, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
		if !ok {
			next, ok = e.Val(dwarf.AttrSpecification).(dwarf.Offset)
		}
		if !ok {
			name, _ := e.Val(dwarf.AttrName).(string)
			return name
		}
		r := m.debug.Reader()
		r.Seek(next)
		var err error
		if e, err = r.Next(); err != nil || e == nil {
			return ""
		}
	}
	return ""
}

// inFolder is a source file's whole path.
func inFolder(dir, name string) string {
	if path.IsAbs(name) || !path.IsAbs(dir) {
		return name
	}
	return path.Join(dir, name)
}
