package report

import (
	"bufio"
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"os"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/coverage/blocks"
	"github.com/bloodhound-dst/bloodhound/internal/coverage/code"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
)

// CoverageOf is the input of a coverage report.
type CoverageOf struct {
	Name       string // the world's
	Bloodhound string // version of the program
	Seed       uint64 // of the campaign
	Runs       uint64
	Binaries   []*BinaryOf
}

// BinaryOf describes the coverage of one binary.
type BinaryOf struct {
	explore.CodeTotal
	Names   *code.Names // nil if the file cannot be read any more
	Unnamed string      // why there are no Names
	Covered blocks.Bits
	symbols string // the file that names the edges of a module, empty for others
	program *goProgram
	placed  bool // the source lines of some of its own code are known
	here    *Sources
}

// NewBinary reads the names of a binary from its file on this machine. The files of its sources are where here finds them; with nil,
// only those are found whose names are paths.
func NewBinary(f *code.File, total explore.CodeTotal, here *Sources) *BinaryOf {
	b := &BinaryOf{CodeTotal: total, Covered: f.Covered, here: here}
	if f.Module != nil {
		b.symbols = f.Module.Symbols
	}
	if f.Total == 0 {
		return b
	}
	var err error
	if b.Names, err = f.Names(); err != nil {
		b.Unnamed = err.Error()
		return b
	}
	b.program = programOfGo(f.Host)
	for i := range b.Names.Functions {
		fn := &b.Names.Functions[i]
		if b.program != nil && fn.Name == "runtime.main" {
			b.program.root, _ = strings.CutSuffix(fn.File, "/src/runtime/proc.go")
		}
		b.placed = b.placed || fn.File != "" && b.here.rank(fn.File, b.program) == rankOwn
	}
	for i := range b.Names.Functions {
		if fn := &b.Names.Functions[i]; b.rank(fn) == rankOwn {
			b.Own, b.OwnCovered = b.Own+fn.Last-fn.First, b.OwnCovered+b.count(fn)
		}
	}
	return b
}

// rank distinguishes a function of the program's own code from others.
func (b *BinaryOf) rank(f *code.Function) int {
	return b.here.rankFunction(f, groupOf(f), b.program, b.placed)
}

// title names a binary among those of a report.
func (b *BinaryOf) title() string {
	switch {
	case b.symbols != "":
		return b.Path + ", edges of " + b.symbols
	case b.Source == blocks.Edges:
		return b.Path + ", edges"
	}
	return b.Path
}

// titles returns the titles of binaries, each of them unique.
func titles(binaries []*BinaryOf) []string {
	times := map[string]int{}
	for _, b := range binaries {
		times[b.title()]++
	}
	var list []string
	for _, b := range binaries {
		title := b.title()
		if times[title] > 1 {
			title += " (" + b.Digest[:min(len(b.Digest), 12)] + ")"
		}
		list = append(list, title)
	}
	return list
}

// watched returns the totals of all binaries of a report that are watched.
func (c *CoverageOf) watched() (covered, total, programs, off int) {
	watched, not := map[string]bool{}, map[string]bool{}
	for _, b := range c.Binaries {
		if b.Off != "" {
			not[b.Path] = true
			continue
		}
		watched[b.Path] = true
		n, of := b.Judged()
		covered, total = covered+n, total+of
	}
	for p := range not {
		if !watched[p] {
			off++
		}
	}
	return covered, total, len(watched), off
}

// units names the units that a report counts.
func (c *CoverageOf) units() string {
	var words []string
	for _, b := range c.Binaries {
		if w := b.Source.Blocks(); b.Off == "" && !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	switch {
	case len(words) == 1:
		return words[0]
	case slices.Contains(words, blocks.Edges.Blocks()):
		return "blocks and edges"
	}
	return "blocks"
}

// Sentence says how much ran, in one line.
func (c *CoverageOf) Sentence() string {
	covered, total, programs, off := c.watched()
	whose := ""
	if slices.ContainsFunc(c.Binaries, func(b *BinaryOf) bool { return b.Own > 0 && b.Own < b.Total }) {
		whose = " of own code"
	}
	text := fmt.Sprintf("%d of %d %s%s ran in %s", covered, total, c.units(), whose, plural.Count(programs, "program"))
	if total > 0 {
		text += fmt.Sprintf(" (%.1f %%)", share(covered, total))
	}
	if programs == 0 {
		text = "no program was watched"
	}
	if off > 0 {
		text += fmt.Sprintf("; coverage is off for %d", off)
	}
	return text
}

// count counts the covered places among those of a function.
func (b *BinaryOf) count(f *code.Function) (covered int) {
	for i := f.First; i < f.Last; i++ {
		if b.Covered.Has(i) {
			covered++
		}
	}
	return covered
}

// sourceFile records, for each line with code of a source file, whether any of that code ran.
type sourceFile struct {
	name  string
	here  string // its path on this machine, empty if it is not here
	rank  int
	lines map[int]bool
}

// sources are the source files of a binary: those of the program's own code first, then in order of names.
func (b *BinaryOf) sources() []*sourceFile {
	if b.Names == nil {
		return nil
	}
	byName := map[string]*sourceFile{}
	var list []*sourceFile
	for i := range b.Total {
		for _, l := range b.Names.Lines(i) {
			f := byName[l.File]
			if f == nil {
				f = &sourceFile{name: l.File, here: b.here.find(l.File, b.program), rank: b.here.rank(l.File, b.program), lines: map[int]bool{}}
				byName[l.File] = f
				list = append(list, f)
			}
			f.lines[l.Line] = f.lines[l.Line] || b.Covered.Has(i)
		}
	}
	slices.SortFunc(list, func(x, y *sourceFile) int {
		return cmp.Or(cmp.Compare(x.rank, y.rank), strings.Compare(x.name, y.name))
	})
	return list
}

func (s *sourceFile) covered() (n int) {
	for _, ran := range s.lines {
		if ran {
			n++
		}
	}
	return n
}

func (s *sourceFile) numbers() []int {
	var list []int
	for n := range s.lines {
		list = append(list, n)
	}
	sort.Ints(list)
	return list
}

// CoverageLCOV writes the coverage of programs' own code as genhtml and most editors read it: lines, and functions. Binaries without line
// information stand there with their functions alone, as a source file of the binary's own name.
func CoverageLCOV(w io.Writer, c CoverageOf) error {
	out := bufio.NewWriter(w)
	for _, b := range c.Binaries {
		if b.Names == nil || b.Off != "" {
			continue
		}
		functions := map[string][]*code.Function{}
		for i := range b.Names.Functions {
			f := &b.Names.Functions[i]
			if b.Own > 0 && b.rank(f) != rankOwn {
				continue
			}
			functions[f.File] = append(functions[f.File], f)
		}
		record := func(name string, lines *sourceFile) {
			shown := name
			if lines != nil && lines.here != "" {
				shown = lines.here
			}
			fmt.Fprintf(out, "TN:%s\nSF:%s\n", oneLine(c.Name), oneLine(shown))
			key := name
			if lines == nil {
				key = ""
			}
			hit := 0
			for _, f := range functions[key] {
				fmt.Fprintf(out, "FN:%d,%s\n", max(f.Line, 1), oneLine(f.Name))
			}
			for _, f := range functions[key] {
				n := 0
				if b.count(f) > 0 {
					n = 1
					hit++
				}
				fmt.Fprintf(out, "FNDA:%d,%s\n", n, oneLine(f.Name))
			}
			fmt.Fprintf(out, "FNF:%d\nFNH:%d\n", len(functions[key]), hit)
			if lines != nil {
				for _, n := range lines.numbers() {
					ran := 0
					if lines.lines[n] {
						ran = 1
					}
					fmt.Fprintf(out, "DA:%d,%d\n", n, ran)
				}
				fmt.Fprintf(out, "LF:%d\nLH:%d\n", len(lines.lines), lines.covered())
			}
			fmt.Fprint(out, "end_of_record\n")
		}
		for _, s := range b.sources() {
			if s.rank == rankOwn || b.Own == 0 {
				record(s.name, s)
			}
		}
		if len(functions[""]) > 0 {
			record(b.Path, nil)
		}
	}
	return out.Flush()
}

func oneLine(s string) string { return strings.NewReplacer("\n", " ", "\r", " ").Replace(s) }

// CoverageText writes the coverage as lines: binaries, and their functions.
func CoverageText(w io.Writer, c CoverageOf) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s: %s in %s of the campaign of seed %d\n", oneLine(c.Name), c.Sentence(), plural.Count(c.Runs, "run"), c.Seed)
	titles := titles(c.Binaries)
	for i, b := range c.Binaries {
		fmt.Fprintf(out, "\n%s: %s\n", oneLine(titles[i]), b.CodeTotal)
		if b.Names == nil {
			if b.Unnamed != "" {
				fmt.Fprintf(out, "  no names: %s\n", b.Unnamed)
			}
			continue
		}
		view := &binaryView{BinaryOf: b, Groups: b.groups()}
		for _, g := range view.OwnGroups() {
			fmt.Fprintf(out, "%6d/%-6d %5.1f %%  %s\n", g.Covered, g.Total, g.Share(), oneLine(orElse(g.Name, "functions without a source file")))
			for _, f := range g.Functions {
				fmt.Fprintf(out, "  %6d/%-6d %s  %s\n", f.Covered, f.Total, oneLine(f.Name), f.At)
			}
		}
		for _, f := range view.Folded() {
			fmt.Fprintf(out, "%6d/%-6d %5.1f %%  %s (%s)\n", f.Covered, f.Total, f.Share(), f.Title, plural.Count(len(f.Groups), f.Word))
		}
	}
	return out.Flush()
}

// coverageDocument is the JSON form.
type coverageDocument struct {
	Bloodhound string           `json:"bloodhound"`
	Name       string           `json:"name"`
	Seed       uint64           `json:"seed"`
	Runs       uint64           `json:"runs"`
	Binaries   []binaryDocument `json:"binaries"`
}

type binaryDocument struct {
	explore.CodeTotal
	Symbols   string             `json:"symbols,omitempty"` // of a module of edges
	Unnamed   string             `json:"unnamed,omitempty"`
	Functions []functionDocument `json:"functions,omitempty"`
	Files     []fileDocument     `json:"files,omitempty"`
}

type functionDocument struct {
	Name    string `json:"name"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Covered int    `json:"covered"`
	Total   int    `json:"total"`
	Package string `json:"package,omitempty"` // of Go; elsewhere the source file
	Own     bool   `json:"own"`               // it is of the program's own code
}

type fileDocument struct {
	File    string `json:"file"`
	Own     bool   `json:"own"`
	Covered []int  `json:"covered"` // lines
	Missed  []int  `json:"missed"`
}

// CoverageJSON writes the coverage as one JSON document.
func CoverageJSON(w io.Writer, c CoverageOf) error {
	doc := coverageDocument{Bloodhound: c.Bloodhound, Name: c.Name, Seed: c.Seed, Runs: c.Runs, Binaries: []binaryDocument{}}
	for _, b := range c.Binaries {
		d := binaryDocument{CodeTotal: b.CodeTotal, Symbols: b.symbols, Unnamed: b.Unnamed}
		if b.Names != nil {
			for i := range b.Names.Functions {
				f := &b.Names.Functions[i]
				d.Functions = append(d.Functions, functionDocument{f.Name, f.File, f.Line, b.count(f), f.Last - f.First, groupOf(f), b.rank(f) == rankOwn})
			}
		}
		for _, s := range b.sources() {
			f := fileDocument{File: s.name, Own: s.rank == rankOwn, Covered: []int{}, Missed: []int{}}
			for _, n := range s.numbers() {
				if s.lines[n] {
					f.Covered = append(f.Covered, n)
				} else {
					f.Missed = append(f.Missed, n)
				}
			}
			d.Files = append(d.Files, f)
		}
		doc.Binaries = append(doc.Binaries, d)
	}
	return json.NewEncoder(w).Encode(doc)
}

//go:embed coverage.html
var coverageText string

var coverageTemplate = template.Must(template.New("coverage").Funcs(functions).Funcs(template.FuncMap{"tables": tables, "path": breakable}).Parse(coverageText))

// breakable is a path, or a name of a function, that a narrow screen breaks behind slashes and dots.
func breakable(path string) template.HTML {
	text := template.HTMLEscapeString(Visible(path, pageLineRunes))
	return template.HTML(strings.NewReplacer("/", "/<wbr>", ".", ".<wbr>").Replace(text))
}

type coverageView struct {
	CoverageOf
	Total    int
	Edges    bool // some count edges
	Binaries []*binaryView
}

type binaryView struct {
	*BinaryOf
	Title    string
	Unit     string // what is counted
	Nameless int    // functions that have no name
	Groups   []*groupView
	Sources  []*sourceView // of its own code, with their text
	Others   []*sourceView // of other code, likewise
	Absent   []*sourceView // that are not on this machine
	TooMany  []*sourceView // beyond the bounds of a page
}

// groupView are functions that belong together: of a source file, or of a package.
type groupView struct {
	Name           string
	Unit           string // what is counted
	Covered, Total int
	Ran            int // functions of which any code ran
	Open           bool
	Placed         bool // of some function it is known where it begins
	Functions      []functionView
	rank           int
}

type functionView struct {
	Name, Place, At string // At is its whole place
	Covered, Total  int
}

type sourceView struct {
	Name           string
	Covered, Total int // lines
	Lines          []sourceLine
}

type sourceLine struct {
	Class string // ran, missed, or empty: there is no code
	Text  string
}

// foldedGroups are groups of dependencies, or of the standard library.
type foldedGroups struct {
	Title  string
	Word   string // for what each of them is
	Groups []*groupView
	groupView
}

// OwnGroups are the groups of the program's own code.
func (b *binaryView) OwnGroups() []*groupView { return ranked(b.Groups, rankOwn) }

// Folded are the others.
func (b *binaryView) Folded() (list []foldedGroups) {
	for _, x := range []struct {
		rank  int
		title string
	}{{rankDependency, "dependencies"}, {rankCommon, "standard library and runtime"}} {
		groups := ranked(b.Groups, x.rank)
		if len(groups) == 0 {
			continue
		}
		f := foldedGroups{Title: x.title, Word: "source file", Groups: groups}
		if b.program != nil {
			f.Word = "package"
		}
		for _, g := range groups {
			f.Covered, f.Total = f.Covered+g.Covered, f.Total+g.Total
		}
		list = append(list, f)
	}
	return list
}

func ranked(groups []*groupView, rank int) (list []*groupView) {
	for _, g := range groups {
		if g.rank == rank {
			list = append(list, g)
		}
	}
	return list
}

// Missed counts the blocks or lines that did not run.
func (g *groupView) Missed() int   { return g.Total - g.Covered }
func (f functionView) Missed() int { return f.Total - f.Covered }
func (s *sourceView) Missed() int  { return s.Total - s.Covered }

// Share is in percent.
func (g *groupView) Share() float64  { return share(g.Covered, g.Total) }
func (s *sourceView) Share() float64 { return share(s.Covered, s.Total) }
func (b *binaryView) Share() float64 { return share(b.Judged()) }

// Ran counts the functions of which any block ran, Functions all.
func (b *binaryView) Ran() (n int) {
	for _, g := range b.Groups {
		n += g.Ran
	}
	return n
}

// Functions counts the functions of a binary.
func (b *binaryView) Functions() (n int) {
	for _, g := range b.Groups {
		n += len(g.Functions)
	}
	return n
}

func share(part, of int) float64 {
	if of == 0 {
		return 0
	}
	return 100 * float64(part) / float64(of)
}

// Bounds of a coverage page.
const (
	CoverageSources     = 400     // source files that are shown with their text
	CoverageSourceBytes = 3 << 20 // of all of them
	coverageLineBytes   = 400
	openFunctions       = 10_000 // of a program's only group, which is shown at once
)

// CoveragePage writes the coverage as one HTML file that needs nothing else: binaries, their functions, and the text of source
// files that are on this machine.
func CoveragePage(w io.Writer, c CoverageOf) error {
	v := coverageView{CoverageOf: c}
	_, v.Total, _, _ = c.watched()
	left, titles := CoverageSourceBytes, titles(c.Binaries)
	for i, b := range c.Binaries {
		view := &binaryView{BinaryOf: b, Title: titles[i], Unit: b.Source.Blocks(), Groups: b.groups()}
		v.Edges = v.Edges || b.Source == blocks.Edges
		if b.Names != nil {
			for i := range b.Names.Functions {
				if b.Names.Functions[i].Nameless() {
					view.Nameless++
				}
			}
		}
		shownFiles := 0
		for _, s := range b.sources() {
			if s.covered() == 0 {
				continue // the functions report that
			}
			shown := s.view()
			size := 0
			for _, l := range shown.Lines {
				size += len(l.Text)
			}
			switch {
			case shown.Lines == nil:
				view.Absent = append(view.Absent, shown)
			case size > left || shownFiles == CoverageSources:
				view.TooMany = append(view.TooMany, shown)
			default:
				left -= size
				shownFiles++
				if s.rank == rankOwn || b.Own == 0 {
					view.Sources = append(view.Sources, shown)
				} else {
					view.Others = append(view.Others, shown)
				}
			}
		}
		for _, list := range [][]*sourceView{view.Sources, view.Others, view.Absent, view.TooMany} {
			slices.SortStableFunc(list, func(x, y *sourceView) int { return cmp.Compare(y.Missed(), x.Missed()) })
		}
		v.Binaries = append(v.Binaries, view)
	}
	return coverageTemplate.Execute(w, &v)
}

// groups are the functions of a binary by package or source file: own code first, then by the blocks that were missed, most first.
// So are the functions of a group.
func (b *BinaryOf) groups() []*groupView {
	if b.Names == nil {
		return nil
	}
	byName := map[string]*groupView{}
	var list []*groupView
	for i := range b.Names.Functions {
		f := &b.Names.Functions[i]
		name, rank := groupOf(f), b.rank(f)
		key := fmt.Sprint(rank, " ", name)
		g := byName[key]
		if g == nil {
			g = &groupView{Name: name, Unit: b.Source.Blocks(), rank: rank}
			byName[key] = g
			list = append(list, g)
		}
		n := b.count(f)
		g.Covered, g.Total = g.Covered+n, g.Total+f.Last-f.First
		if n > 0 {
			g.Ran++
		}
		place, at := "", ""
		if f.File != "" {
			at = fmt.Sprintf("%s:%d", f.File, f.Line)
			place = path.Base(at)
			g.Placed = true
		}
		g.Functions = append(g.Functions, functionView{f.Name, place, at, n, f.Last - f.First})
	}
	slices.SortStableFunc(list, func(x, y *groupView) int {
		return cmp.Or(cmp.Compare(x.rank, y.rank), cmp.Compare(y.Missed(), x.Missed()), strings.Compare(x.Name, y.Name))
	})
	for _, g := range list {
		own := 0
		for _, other := range list {
			if other.rank == rankOwn {
				own++
			}
		}
		g.Open = g.rank == rankOwn && own == 1 && len(g.Functions) <= openFunctions
		slices.SortStableFunc(g.Functions, func(x, y functionView) int { return cmp.Compare(y.Missed(), x.Missed()) })
	}
	return list
}

// groupOf is the package of a Go function, or else the source file, or else nothing.
func groupOf(f *code.Function) string {
	if f.Package != "" {
		return f.Package
	}
	if strings.HasPrefix(f.Name, "type:") || strings.HasPrefix(f.Name, "type..") || strings.HasPrefix(f.Name, "go:") {
		return "" // Go's compiler makes it
	}
	if strings.HasSuffix(f.File, ".go") || strings.HasSuffix(f.File, ".s") || f.File == "" && strings.Contains(f.Name, "/") {
		slash := strings.LastIndexByte(f.Name[:len(f.Name)-len(afterBracket(f.Name))], '/') + 1
		if dot := strings.IndexByte(f.Name[slash:], '.'); dot >= 0 {
			return f.Name[:slash+dot]
		}
	}
	return f.File
}

// afterBracket returns a name from its first bracket on: type arguments have slashes of their own.
func afterBracket(name string) string {
	if i := strings.IndexAny(name, "[({"); i >= 0 {
		return name[i:]
	}
	return ""
}

// view is a source file with its text, which is missing if the file is not on this machine.
func (s *sourceFile) view() *sourceView {
	v := &sourceView{Name: s.name, Covered: s.covered(), Total: len(s.lines)}
	if s.here == "" {
		return v
	}
	text, err := os.ReadFile(s.here)
	if err != nil || bytes.IndexByte(text, 0) >= 0 || len(text) > CoverageSourceBytes {
		return v
	}
	for i, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		l := sourceLine{Text: strings.ToValidUTF8(line[:min(len(line), coverageLineBytes)], "?")}
		if ran, ok := s.lines[i+1]; ok {
			if l.Class = "missed"; ran {
				l.Class = "ran"
			}
		}
		v.Lines = append(v.Lines, l)
	}
	return v
}
