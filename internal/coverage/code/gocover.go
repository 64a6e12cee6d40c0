package code

import (
	"cmp"
	"debug/gosym"
	"encoding/binary"
	"path"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/coverage/blocks"
)

// Counters locates the counters that `go build -cover` puts into a program, and the code that they count. The formats
// are those of Go's internal/coverage, which have not changed since Go 1.20.
type Counters struct {
	from, to    uint64 // addresses of the counters
	bss, bssEnd uint64 // where the program's list of packages is
	packages    []countedPackage
	total       int
}

// Tally accumulates the counts of a run's processes.
type Tally struct {
	Counters *Counters
	Ran      blocks.Bits
	entry    uint64 // the file's
	edges    int    // for a module of edges, which has no Counters
	listAt   uint64 // the list's address in the file, 0 before it was found
	buffer   []byte
}

// NewTally begins to count for a program.
func (b *Binary) NewTally() *Tally {
	c := b.Counters
	return &Tally{Counters: c, entry: b.Entry, Ran: blocks.NewBits(c.total), buffer: make([]byte, (c.to-c.from)&^3)}
}

// countedPackage is the meta-data of a package.
type countedPackage struct {
	addr       uint64
	size       uint32
	name, path string
	functions  []countedFunction
}

type countedFunction struct {
	name, file string
	first      int // its units are the places from here on
	units      []unit
}

// unit is a part of a function that one counter counts.
type unit struct{ line, end int32 }

// Where runtime.moduledata has these, in words behind text (runtime/symtab.go).
const (
	moduleBSS      = moduleText + 6
	moduleNoptrBSS = moduleText + 8
	moduleCounters = moduleText + 10
)

// goCounters finds what `go build -cover` has put into a program, nil if it was built otherwise.
func (f *elfFile) goCounters() *Counters {
	at, table := f.goTableData()
	if table == nil {
		return nil
	}
	word, module := f.moduledata(at)
	if module == 0 {
		return nil
	}
	field := func(n uint64) uint64 { return word(module + 8*n) }
	c := &Counters{from: field(moduleCounters), to: field(moduleCounters + 1), bss: field(moduleBSS), bssEnd: field(moduleBSS + 1)}
	if c.from >= c.to || c.from < field(moduleNoptrBSS) || c.to > field(moduleNoptrBSS+1) || c.bss > c.bssEnd ||
		c.to-c.from > MaxFileBytes || c.bssEnd-c.bss > MaxFileBytes {
		return nil
	}
	for _, s := range f.Sections {
		if s.Name == ".rodata" || s.Name == ".data.rel.ro" {
			c.readPackages(s.Addr, f.bytesAt(s.Addr), s.Size)
		}
	}
	if c.total == 0 || c.total > maxPlaces {
		return nil
	}
	return c
}

// readPackages finds the meta-data of packages in a section. Nothing that every program has leads there, but it is known by its
// form: offsets and sizes that fit together to the last byte.
func (c *Counters) readPackages(addr uint64, b []byte, size uint64) {
	b = b[:min(uint64(len(b)), size)]
	for i := 0; i+metaHeader+4 <= len(b); i++ {
		if p, ok := readPackage(b[i:], c.total); ok {
			p.addr = addr + uint64(i)
			c.packages = append(c.packages, p)
			for _, fn := range p.functions {
				c.total += len(fn.units)
			}
			i += int(p.size) - 1
		}
	}
}

// metaHeader is the size of MetaSymbolHeader (internal/coverage/defs.go).
const metaHeader = 44

// readPackage reads the meta-data of one package, whose first unit gets a number. It is strict.
func readPackage(b []byte, first int) (p countedPackage, ok bool) {
	le := binary.LittleEndian
	p.size = le.Uint32(b)
	files, functions := le.Uint32(b[36:]), le.Uint32(b[40:])
	if p.size < metaHeader || uint64(p.size) > uint64(len(b)) || le.Uint32(b[32:]) != 0 || files == 0 || functions == 0 ||
		uint64(metaHeader)+4*uint64(functions) > uint64(p.size) {
		return p, false
	}
	b = b[:p.size]
	r := reader{b: b[metaHeader+4*functions:], addr: uint64(metaHeader + 4*functions), ok: true}
	n := r.leb()
	if n == 0 || n > uint64(len(r.b)) {
		return p, false
	}
	var names []string
	for range n {
		names = append(names, string(r.readBytes(r.leb())))
		if !r.ok {
			return p, false
		}
	}
	name := func(i uint64) string {
		if i >= n {
			r.ok = false
			return ""
		}
		return names[i]
	}
	p.name, p.path = name(uint64(le.Uint32(b[4:]))), name(uint64(le.Uint32(b[8:])))
	name(uint64(le.Uint32(b[12:])))
	for i := range functions {
		if !r.ok || uint64(le.Uint32(b[metaHeader+4*i:])) != r.addr {
			return p, false
		}
		units := r.leb()
		fn := countedFunction{name: name(r.leb()), file: name(r.leb()), first: first}
		if units > uint64(len(r.b)) {
			return p, false
		}
		for range units {
			line := r.leb()
			r.leb() // columns, and how many statements
			end := r.leb()
			r.leb()
			r.leb()
			if line > end || end > 1<<30 {
				return p, false
			}
			fn.units = append(fn.units, unit{int32(line), int32(end)})
		}
		r.leb() // whether it is a literal
		first += len(fn.units)
		p.functions = append(p.functions, fn)
	}
	return p, r.ok && len(r.b) == 0
}

// A function's counters begin with three words (internal/coverage: NumCtrsOffset, PkgIdOffset, FuncIdOffset), which are zero until
// the function runs.
const counterHeader = 3

// The place of a package in the program's list (internal/coverage/rtcov.CovMetaBlob).
const (
	listEntry   = 64
	listSize    = 8
	listPackage = 48
)

// Bias returns the offset between the file's addresses and those of a process with this auxiliary vector.
func (t *Tally) Bias(auxv []byte) uint64 {
	const atEntry = 9
	le := binary.LittleEndian
	for ; len(auxv) >= 16; auxv = auxv[16:] {
		if le.Uint64(auxv) == atEntry {
			return le.Uint64(auxv[8:]) - t.entry
		}
	}
	return 0
}

// Read adds the units that a process has run by now. bias is what was added to the file's addresses, read reads the process'
// memory. A program that has not got as far as to its packages has run none.
func (t *Tally) Read(bias uint64, read func(addr uint64, p []byte) bool) {
	byID := t.list(bias, read)
	if byID == nil || !read(t.Counters.from+bias, t.buffer) {
		return
	}
	le := binary.LittleEndian
	count := len(t.buffer) / 4
	at := func(i int) uint32 { return le.Uint32(t.buffer[4*i:]) }
	for i := 0; i+counterHeader < count; i++ {
		n := at(i)
		if n == 0 {
			continue
		}
		p, id := byID[at(i+1)], at(i+2)
		if p == nil || uint64(id) >= uint64(len(p.functions)) || int(n) != len(p.functions[id].units) || i+counterHeader+int(n) > count {
			continue
		}
		i += counterHeader
		for k := range int(n) {
			if at(i+k) != 0 {
				t.Ran.Set(p.functions[id].first + k)
			}
		}
		i += int(n) - 1
	}
}

// list reads which package has which number: packages are numbered from 1 on as they come to run, but for those of the runtime,
// whose numbers are fixed.
func (t *Tally) list(bias uint64, read func(addr uint64, p []byte) bool) map[uint32]*countedPackage {
	c, le := t.Counters, binary.LittleEndian
	try := func(head []byte) map[uint32]*countedPackage {
		at, n, room := le.Uint64(head), le.Uint64(head[8:]), le.Uint64(head[16:])
		if at == 0 || at%8 != 0 || n == 0 || n > uint64(len(c.packages)) || room < n || room > 4*n+64 {
			return nil
		}
		entries := make([]byte, n*listEntry)
		if !read(at, entries[:listEntry]) || c.packageAt(entries, bias) == nil || !read(at, entries) {
			return nil
		}
		byID := map[uint32]*countedPackage{}
		for i := range n {
			e := entries[i*listEntry:]
			p := c.packageAt(e, bias)
			if p == nil {
				return nil
			}
			byID[uint32(i+1)] = p
			if fixed := le.Uint64(e[listPackage:]); fixed != ^uint64(0) {
				byID[uint32(fixed)] = p
			}
		}
		return byID
	}
	if t.listAt != 0 {
		var head [24]byte
		if !read(t.listAt+bias, head[:]) {
			return nil
		}
		return try(head[:])
	}
	bss := make([]byte, c.bssEnd-c.bss)
	if !read(c.bss+bias, bss) {
		return nil
	}
	for i := 0; i+24 <= len(bss); i += 8 {
		if byID := try(bss[i:]); byID != nil {
			t.listAt = c.bss + uint64(i)
			return byID
		}
	}
	return nil
}

// packageAt is the package that an entry of the list stands for.
func (c *Counters) packageAt(entry []byte, bias uint64) *countedPackage {
	le := binary.LittleEndian
	at := le.Uint64(entry) - bias
	i, ok := slices.BinarySearchFunc(c.packages, at, func(p countedPackage, at uint64) int { return cmp.Compare(p.addr, at) })
	if !ok || le.Uint32(entry[listSize:]) != c.packages[i].size {
		return nil
	}
	return &c.packages[i]
}

// names are the functions and lines of units. Meta-data has source files by the import paths of their packages; where they lie,
// the table of functions knows.
func (c *Counters) names(table *gosym.Table) *Names {
	n := &Names{known: map[string]int32{}, lines: make([][]lineOf, c.total)}
	mainPath := ""
	for _, p := range c.packages {
		if p.name == "main" {
			mainPath = p.path
		}
	}
	roots := sourcesOf(table, mainPath)
	for _, p := range c.packages {
		short := p.path
		if p.name == "main" {
			short = "main"
		}
		for _, fn := range p.functions {
			file := roots.find(fn.file)
			f := Function{Name: short + "." + fn.name, Package: short, File: file, First: fn.first, Last: fn.first + len(fn.units)}
			for i, u := range fn.units {
				if i == 0 {
					f.Line = int(u.line)
				}
				for line := u.line; line <= u.end; line++ {
					n.lines[fn.first+i] = append(n.lines[fn.first+i], lineOf{n.fileNumber(file), line})
				}
			}
			if len(fn.units) > 0 {
				n.Functions = append(n.Functions, f)
			}
		}
	}
	return n
}

// sourceRoots are the folders in which packages lie whose import paths begin alike, by that beginning.
type sourceRoots map[string]string

// sourcesOf learns from a program's table of functions, which has source files by where they lay when it was built.
func sourcesOf(table *gosym.Table, mainPath string) sourceRoots {
	roots := sourceRoots{}
	if table == nil {
		return roots
	}
	defer func() { recover() }() // gosym trusts its input
	for i := range table.Funcs {
		fn := &table.Funcs[i]
		file, _, known := table.PCToLine(fn.Entry)
		pkg, dir := fn.PackageName(), path.Dir(file)
		if known == nil || pkg == "" || !path.IsAbs(file) || !strings.HasSuffix(file, ".go") {
			continue
		}
		if pkg == "main" {
			pkg = mainPath
		}
		for path.Base(pkg) == path.Base(dir) && path.Dir(pkg) != "." {
			pkg, dir = path.Dir(pkg), path.Dir(dir)
		}
		if roots[pkg] == "" {
			roots[pkg] = dir
		}
	}
	return roots
}

// find is where a source file lies that is named by the import path of its package.
func (r sourceRoots) find(file string) string {
	for pkg := path.Dir(file); pkg != "."; pkg = path.Dir(pkg) {
		if dir := r[pkg]; dir != "" {
			return dir + file[len(pkg):]
		}
	}
	return file
}
