package code

import (
	"bufio"
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/coverage/blocks"
)

// ModuleDigest names a module: the same in all runs and processes. file is the digest of the file that says what its edges stand for.
func ModuleDigest(m *blocks.Module, file string, edges int) string {
	if file == "" {
		file = m.Symbols
	}
	return Digest(fmt.Appendf(nil, "%s %#x %d", file, m.Guards, edges))
}

// edgesUnknown says why nothing is known of a module's edges but their numbers.
func edgesUnknown(m *blocks.Module) error {
	if m == nil || m.Symbols == "" {
		return errors.New("no known file describes its edges")
	}
	return fmt.Errorf("its edges have only numbers: the world has no symbol file %s, in /symbols or next to the program", m.Symbols)
}

// AddEdges adds the edges of a module that a process has reported: so many bits, behind those to skip. Guards are numbered from 0; other
// modules from 0 or from 1, and so the last one of the latter is place 0.
func (t *Tally) AddEdges(bits []byte, skip, count int) {
	for i := range count {
		if at := skip + i; bits[at/8]&(1<<(at%8)) != 0 && t.edges > 0 {
			t.Ran.Set(i % t.edges)
		}
	}
}

// NewEdges begins to count the edges of a module.
func NewEdges(edges int) *Tally { return &Tally{Ran: blocks.NewBits(edges), edges: edges} }

// symbolNames reads what edges stand for, from a table of tab-separated columns with the edge's number in the one called address.
func symbolNames(table []byte, edges int) (*Names, error) {
	n := &Names{known: map[string]int32{}, lines: make([][]lineOf, edges)}
	type edge struct{ function, file string }
	known := make([]edge, edges)
	var columns []string
	lines := bufio.NewScanner(bytes.NewReader(table))
	lines.Buffer(nil, len(table)+1)
	for lines.Scan() {
		text := lines.Text()
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		fields := strings.Split(text, "\t")
		if columns == nil {
			columns = fields
			continue
		}
		column := func(name string) string {
			if i := slices.Index(columns, name); i >= 0 && i < len(fields) {
				return fields[i]
			}
			return ""
		}
		number, err := strconv.ParseUint(column("address"), 0, 64)
		if err != nil || number > uint64(edges) {
			continue
		}
		i := int(number) % edges
		first, err1 := strconv.ParseInt(column("begin_line"), 10, 32)
		last, err2 := strconv.ParseInt(column("end_line"), 10, 32)
		known[i] = edge{column("function"), column("file")}
		for line := first; err1 == nil && err2 == nil && line <= min(last, first+maxEdgeLines) && known[i].file != ""; line++ {
			n.lines[i] = append(n.lines[i], lineOf{n.fileNumber(known[i].file), int32(line)})
		}
	}
	if columns == nil || !slices.Contains(columns, "address") {
		return nil, errors.New("its symbol file has no column called address")
	}
	n.group(func(i int) (name, file string) { return known[i].function, known[i].file })
	return n, nil
}

// maxEdgeLines bounds the lines that one edge stands for.
const maxEdgeLines = 10_000

// group makes functions of edges that follow each other and belong to the same one.
func (n *Names) group(of func(i int) (name, file string)) {
	for i := range n.lines {
		name, file := of(i)
		name = cmp.Or(name, "edge "+strconv.Itoa(i))
		line := 0
		if len(n.lines[i]) > 0 {
			line = int(n.lines[i][0].line)
		}
		if last := len(n.Functions) - 1; last >= 0 && n.Functions[last].Name == name && n.Functions[last].File == file {
			f := &n.Functions[last]
			f.Last++
			if line > 0 && (f.Line == 0 || line < f.Line) {
				f.Line = line
			}
			continue
		}
		n.Functions = append(n.Functions, Function{Name: name, File: file, Line: line, First: i, Last: i + 1})
	}
}

// guardNames finds what guards stand for: the code that names each of them.
func guardNames(file, debug []byte, guards uint64, edges int) (*Names, error) {
	f, err := open(file)
	if err != nil {
		return nil, err
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			guards += p.Vaddr &^ 4095
			break
		}
	}
	sites := f.guardSites(guards, edges)
	b := &Binary{}
	for _, at := range sites {
		if at != 0 {
			b.Places = append(b.Places, at)
		}
	}
	slices.Sort(b.Places)
	b.Places = slices.Compact(b.Places)
	names, err := NewNames(b, file, debug)
	if err != nil {
		return nil, err
	}
	n := &Names{known: names.known, files: names.files, lines: make([][]lineOf, edges)}
	functions := make([]*Function, edges)
	for i, at := range sites {
		if at == 0 {
			continue
		}
		place, _ := b.Find(at)
		n.lines[i] = names.lines[place]
		k := sort.Search(len(names.Functions), func(k int) bool { return names.Functions[k].Last > place })
		if k < len(names.Functions) && names.Functions[k].First <= place {
			functions[i] = &names.Functions[k]
		}
	}
	n.group(func(i int) (name, file string) {
		if fn := functions[i]; fn != nil {
			return fn.Name, fn.File
		}
		return "", ""
	})
	return n, nil
}

// guardSites are the addresses at which code names each guard, 0 where none does. What names the end of the guards too only
// registers them.
func (f *elfFile) guardSites(guards uint64, edges int) []uint64 {
	sites := make([]uint64, edges)
	end := guards + 4*uint64(edges)
	for _, fn := range f.functions() {
		text := f.text(fn.start, fn.end)
		found := map[uint64]uint64{}
		for at := 0; at < len(text); {
			in := decode(text[at:])
			if in.flow == bad {
				break
			}
			target := uint64(0)
			switch {
			case in.data && in.relative:
				target = fn.start + uint64(at+in.length) + uint64(in.disp)
			case in.length == 5 && text[at]&0xf8 == 0xb8 && f.Type == elf.ET_EXEC: // mov of an address
				target = uint64(binary.LittleEndian.Uint32(text[at+1:]))
			}
			if target >= guards && target <= end && found[target] == 0 {
				found[target] = fn.start + uint64(at)
			}
			at += in.length
		}
		if found[end] != 0 && found[guards] != 0 {
			continue
		}
		for target, at := range found {
			if i := (target - guards) / 4; target < end && (sites[i] == 0 || at < sites[i]) {
				sites[i] = at
			}
		}
	}
	return sites
}
