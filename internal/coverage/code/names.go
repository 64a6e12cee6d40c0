package code

import (
	"debug/dwarf"
	"debug/elf"
	"debug/gosym"
	"encoding/hex"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// Function is a function of a binary, with the places that lie in it.
type Function struct {
	Name    string // demangled; an address such as 0x1234 where the file has no name for it
	Package string // of Go, if it is a function of Go and has one
	Start   uint64
	File    string // the source file, if it is known
	Line    int    // where it begins there, 0 if that is not known
	First   int    // its places are Binary.Places[First:Last]
	Last    int
}

// Line is a line of a source file that code was made from.
type Line struct {
	File string
	Line int
}

// Names lead from the places of a binary to what people know them by.
type Names struct {
	Functions []Function // those that have places, in order of addresses
	// lines holds the source lines of each place's block: several, if the file has DWARF.
	lines [][]lineOf
	files []string
	known map[string]int32 // the numbers of files
	ends  []uint64         // of each place's block
}

type lineOf struct {
	file int32
	line int32
}

// Lines are the lines of a block.
func (n *Names) Lines(place int) []Line {
	if n.lines == nil {
		return nil
	}
	var list []Line
	for _, l := range n.lines[place] {
		list = append(list, Line{n.files[l.file], int(l.line)})
	}
	return list
}

// DebugFile is where distributions put what they strip from a binary: below folders such as /usr/lib/debug. It is empty for a
// file that has no build id.
func DebugFile(file []byte) string {
	f, err := open(file)
	if err != nil {
		return ""
	}
	s := f.Section(".note.gnu.build-id")
	if s == nil {
		return ""
	}
	note := f.bytesAt(s.Addr)
	return DebugFileOf(note[:min(s.Size, uint64(len(note)))])
}

// DebugFileOf is DebugFile for the content of a file's .note.gnu.build-id.
func DebugFileOf(note []byte) string {
	if len(note) < 18 {
		return ""
	}
	id := hex.EncodeToString(note[16:])
	return path.Join("/usr/lib/debug/.build-id", id[:2], id[2:]+".debug")
}

// GoTable is the table of functions that a Go program carries, nil if a file is none.
func GoTable(file []byte) *gosym.Table {
	f, err := open(file)
	if err != nil {
		return nil
	}
	return f.goTable()
}

// NewNames reads the names of a binary's places from its file, and from what was stripped from it, which may be nil.
func NewNames(b *Binary, file, debug []byte) (*Names, error) {
	f, err := open(file)
	if err != nil {
		return nil, err
	}
	if b.Counters != nil {
		return b.Counters.names(f.goTable()), nil
	}
	n := &Names{known: map[string]int32{}}
	sources := []*elfFile{f}
	if debug != nil {
		if d, err := OpenELF(debug); err == nil {
			sources = append(sources, &elfFile{File: d, bytes: debug})
		}
	}
	table := f.goTable()
	known := map[uint64]string{}
	for _, s := range sources {
		for _, sym := range s.functionSymbols() {
			if sym.Name != "" && Better(sym.Name, known[sym.Value]) {
				known[sym.Value] = sym.Name
			}
		}
	}
	goFunctions := map[uint64]*gosym.Func{}
	if table != nil {
		for i := range table.Funcs {
			goFunctions[table.Funcs[i].Entry] = &table.Funcs[i]
		}
	}
	functions := f.functions()
	for i, fn := range functions {
		first, _ := b.Find(fn.start)
		last, _ := b.Find(fn.end)
		if first == last {
			continue
		}
		name, pkg := demangle.Filter(known[fn.start]), ""
		if g := goFunctions[fn.start]; g != nil {
			name, pkg = g.Name, g.PackageName()
		}
		if name == "" {
			name = addressName(fn.start)
		}
		n.Functions = append(n.Functions, Function{Name: name, Package: pkg, Start: functions[i].start, First: first, Last: last})
	}
	n.lines = make([][]lineOf, len(b.Places))
	n.ends = f.blockEnds(b, functions)
	for _, s := range sources {
		n.dwarfLines(s.File, b)
	}
	if table != nil {
		n.goLines(table, b)
	}
	for i := range n.Functions {
		if l := n.lines[n.Functions[i].First]; len(l) > 0 {
			n.Functions[i].File, n.Functions[i].Line = n.files[l[0].file], int(l[0].line)
		}
	}
	return n, nil
}

// Better reports whether a symbol's name is to be preferred to another of the same address: names of a program's own to those
// that begin with an underscore, then shorter ones.
func Better(name, than string) bool {
	if than == "" {
		return true
	}
	a, b := strings.HasPrefix(name, "_") && !strings.HasPrefix(name, "_Z"), strings.HasPrefix(than, "_") && !strings.HasPrefix(than, "_Z")
	if a != b {
		return b
	}
	if len(name) != len(than) {
		return len(name) < len(than)
	}
	return name < than
}

// addressName stands for the name of a function that has none.
func addressName(start uint64) string { return "0x" + strconv.FormatUint(start, 16) }

// Nameless reports whether the file has no name for the function.
func (f *Function) Nameless() bool { return f.Name == addressName(f.Start) }

// fileNumber is the number of a source file.
func (n *Names) fileNumber(name string) int32 {
	i, ok := n.known[name]
	if !ok {
		i = int32(len(n.files))
		n.files = append(n.files, name)
		n.known[name] = i
	}
	return i
}

// goLines gives each place that has no line yet the line at which its block begins.
func (n *Names) goLines(table *gosym.Table, b *Binary) {
	defer func() { recover() }() // gosym trusts its input
	for i, p := range b.Places {
		if len(n.lines[i]) > 0 {
			continue
		}
		if file, line, fn := table.PCToLine(p); fn != nil && line > 0 && file != "" && file != "<autogenerated>" {
			n.lines[i] = []lineOf{{n.fileNumber(file), int32(line)}}
		}
	}
}

// dwarfLines gives places the lines of their blocks: of all code from a place to the next.
func (n *Names) dwarfLines(f *elf.File, b *Binary) {
	data, err := f.DWARF()
	if err != nil {
		return
	}
	entries := data.Reader()
	for {
		unit, err := entries.Next()
		if err != nil || unit == nil {
			return
		}
		entries.SkipChildren()
		if unit.Tag != dwarf.TagCompileUnit {
			continue
		}
		rows, err := data.LineReader(unit)
		if err != nil || rows == nil {
			continue
		}
		dir, _ := unit.Val(dwarf.AttrCompDir).(string)
		n.unitLines(rows, b, dir)
	}
}

// unitLines reads the lines of one unit. A name in brackets is of what a compiler makes, and of no file. Names that are not
// absolute, as gcc writes them, begin in the folder where it was compiled.
func (n *Names) unitLines(rows *dwarf.LineReader, b *Binary, dir string) {
	var row, last dwarf.LineEntry
	have := false
	for {
		if err := rows.Next(&row); err == io.EOF || err != nil {
			return
		}
		if have && row.Address > last.Address && last.Line > 0 && last.File != nil && last.File.Name != "" && last.File.Name[0] != '<' {
			l := lineOf{n.fileNumber(inFolder(dir, last.File.Name)), int32(last.Line)}
			i, at := b.Find(last.Address)
			if !at {
				i-- // in the middle of a block
			}
			for i = max(i, 0); i < len(b.Places) && b.Places[i] < row.Address; i++ {
				if !slices.Contains(n.lines[i], l) && n.ends[i] > last.Address {
					n.lines[i] = append(n.lines[i], l)
				}
			}
		}
		last, have = row, !row.EndSequence
	}
}

// inFolder is a file's whole path.
func inFolder(dir, name string) string {
	if path.IsAbs(name) || !path.IsAbs(dir) {
		return name
	}
	return path.Join(dir, name)
}

// blockEnds are the addresses behind each place's block: the next place, or what a jump or a return leads away from.
func (f *elfFile) blockEnds(b *Binary, functions []function) []uint64 {
	ends := make([]uint64, len(b.Places))
	fn := 0
	for i, p := range b.Places {
		for functions[fn].end <= p {
			fn++
		}
		limit := functions[fn].end
		if i+1 < len(b.Places) {
			limit = min(limit, b.Places[i+1])
		}
		text := f.text(p, limit)
		at := 0
		for at < len(text) {
			in := decode(text[at:])
			if in.flow == bad {
				break
			}
			if at += in.length; in.flow == jump || in.flow == away || in.flow == stop {
				break
			}
		}
		ends[i] = p + uint64(at)
	}
	return ends
}
