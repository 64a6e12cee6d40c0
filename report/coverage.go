package report

import (
	"bufio"
	"bytes"
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

	"github.com/bloodhound-dst/bloodhound/coverage/code"
	"github.com/bloodhound-dst/bloodhound/explore"
)

// CoverageOf is what a coverage report is made from.
type CoverageOf struct {
	Name       string // the world's
	Bloodhound string // version of the program
	Seed       uint64 // of the campaign
	Runs       uint64
	Binaries   []*BinaryOf
}

// BinaryOf is what is known of one binary.
type BinaryOf struct {
	explore.CodeTotal
	Names   *code.Names // nil if the file cannot be read any more
	Unnamed string      // why there are no Names
	Covered code.Bits
}

// NewBinary reads the names of a binary from its file on this machine.
func NewBinary(f *code.File, total explore.CodeTotal) *BinaryOf {
	b := &BinaryOf{CodeTotal: total, Covered: f.Covered}
	if f.Total == 0 {
		return b
	}
	var err error
	if b.Names, err = f.Names(); err != nil {
		b.Unnamed = err.Error()
	}
	return b
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

// sourceFile is what is known of the lines of a source file: for each line of which there is code whether any of it ran.
type sourceFile struct {
	name  string
	lines map[int]bool
}

// sources are the source files of a binary, in order of names.
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
				f = &sourceFile{l.File, map[int]bool{}}
				byName[l.File] = f
				list = append(list, f)
			}
			f.lines[l.Line] = f.lines[l.Line] || b.Covered.Has(i)
		}
	}
	slices.SortFunc(list, func(x, y *sourceFile) int { return strings.Compare(x.name, y.name) })
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

// CoverageLCOV writes the coverage as genhtml and most editors read it: lines, and functions. Binaries without line
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
			functions[f.File] = append(functions[f.File], f)
		}
		record := func(name string, lines *sourceFile) {
			fmt.Fprintf(out, "TN:%s\nSF:%s\n", oneLine(c.Name), oneLine(name))
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
			record(s.name, s)
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
	fmt.Fprintf(out, "%s: blocks that %d runs of the campaign of seed %d executed\n", oneLine(c.Name), c.Runs, c.Seed)
	for _, b := range c.Binaries {
		fmt.Fprintf(out, "\n%s: %s\n", b.Path, b.CodeTotal)
		if b.Names == nil {
			if b.Unnamed != "" {
				fmt.Fprintf(out, "  no names: %s\n", b.Unnamed)
			}
			continue
		}
		for i := range b.Names.Functions {
			f := &b.Names.Functions[i]
			place := ""
			if f.File != "" {
				place = fmt.Sprintf("  %s:%d", f.File, f.Line)
			}
			fmt.Fprintf(out, "%6d/%-6d %s%s\n", b.count(f), f.Last-f.First, oneLine(f.Name), place)
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
}

type fileDocument struct {
	File    string `json:"file"`
	Covered []int  `json:"covered"` // lines
	Missed  []int  `json:"missed"`
}

// CoverageJSON writes the coverage as one JSON document.
func CoverageJSON(w io.Writer, c CoverageOf) error {
	doc := coverageDocument{Bloodhound: c.Bloodhound, Name: c.Name, Seed: c.Seed, Runs: c.Runs, Binaries: []binaryDocument{}}
	for _, b := range c.Binaries {
		d := binaryDocument{CodeTotal: b.CodeTotal, Unnamed: b.Unnamed}
		if b.Names != nil {
			for i := range b.Names.Functions {
				f := &b.Names.Functions[i]
				d.Functions = append(d.Functions, functionDocument{f.Name, f.File, f.Line, b.count(f), f.Last - f.First})
			}
		}
		for _, s := range b.sources() {
			f := fileDocument{File: s.name, Covered: []int{}, Missed: []int{}}
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

var coverageTemplate = template.Must(template.New("coverage").Funcs(functions).Parse(coverageText))

type coverageView struct {
	CoverageOf
	Covered, Total int
	Binaries       []*binaryView
}

type binaryView struct {
	*BinaryOf
	Groups      []*groupView
	Sources     []*sourceView
	SourcesLeft int
}

// groupView are functions that belong together: of a source file, or of a package.
type groupView struct {
	Name           string
	Covered, Total int // blocks
	Ran            int // functions of which any block ran
	Functions      []functionView
}

type functionView struct {
	Name, Place    string
	Covered, Total int
}

type sourceView struct {
	Name           string
	Covered, Total int // lines
	Lines          []sourceLine
}

type sourceLine struct {
	Number int
	Class  string // ran, missed, or empty: there is no code
	Text   string
}

// Share is in percent.
func (g *groupView) Share() float64  { return share(g.Covered, g.Total) }
func (s *sourceView) Share() float64 { return share(s.Covered, s.Total) }
func (b *binaryView) Share() float64 { return share(b.CodeTotal.Covered, b.CodeTotal.Total) }

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
	CoverageSourceBytes = 8 << 20 // of all of them
	coverageLineBytes   = 400
)

// CoveragePage writes the coverage as one HTML file that needs nothing else: binaries, their functions, and the text of source
// files that are on this machine.
func CoveragePage(w io.Writer, c CoverageOf) error {
	v := coverageView{CoverageOf: c}
	left := CoverageSourceBytes
	for _, b := range c.Binaries {
		if b.Off == "" {
			v.Covered, v.Total = v.Covered+b.CodeTotal.Covered, v.Total+b.CodeTotal.Total
		}
		view := &binaryView{BinaryOf: b, Groups: b.groups()}
		for _, s := range b.sources() {
			if s.covered() == 0 {
				continue // the functions tell that
			}
			shown := s.view()
			size := 0
			for _, l := range shown.Lines {
				size += len(l.Text)
			}
			if shown.Lines == nil || size > left || len(view.Sources) == CoverageSources {
				view.SourcesLeft++
				continue
			}
			left -= size
			view.Sources = append(view.Sources, shown)
		}
		v.Binaries = append(v.Binaries, view)
	}
	return coverageTemplate.Execute(w, &v)
}

// groups are the functions of a binary by package or source file, those of which much ran first.
func (b *BinaryOf) groups() []*groupView {
	if b.Names == nil {
		return nil
	}
	byName := map[string]*groupView{}
	var list []*groupView
	for i := range b.Names.Functions {
		f := &b.Names.Functions[i]
		name := groupOf(f)
		g := byName[name]
		if g == nil {
			g = &groupView{Name: name}
			byName[name] = g
			list = append(list, g)
		}
		n := b.count(f)
		g.Covered, g.Total = g.Covered+n, g.Total+f.Last-f.First
		if n > 0 {
			g.Ran++
		}
		place := ""
		if f.File != "" {
			place = fmt.Sprintf("%s:%d", path.Base(f.File), f.Line)
		}
		g.Functions = append(g.Functions, functionView{f.Name, place, n, f.Last - f.First})
	}
	slices.SortStableFunc(list, func(x, y *groupView) int {
		if x.Covered != y.Covered {
			return y.Covered - x.Covered
		}
		return strings.Compare(x.Name, y.Name)
	})
	return list
}

// groupOf is the package of a Go function, or else the source file, or else nothing.
func groupOf(f *code.Function) string {
	if strings.HasSuffix(f.File, ".go") || strings.HasSuffix(f.File, ".s") || f.File == "" && strings.Contains(f.Name, "/") {
		slash := strings.LastIndexByte(f.Name[:len(f.Name)-len(afterBracket(f.Name))], '/') + 1
		if dot := strings.IndexByte(f.Name[slash:], '.'); dot >= 0 {
			return f.Name[:slash+dot]
		}
	}
	return f.File
}

// afterBracket is what follows the first bracket of a name: type arguments have slashes of their own.
func afterBracket(name string) string {
	if i := strings.IndexAny(name, "[({"); i >= 0 {
		return name[i:]
	}
	return ""
}

// view is a source file with its text, which is missing if the file is not on this machine.
func (s *sourceFile) view() *sourceView {
	v := &sourceView{Name: s.name, Covered: s.covered(), Total: len(s.lines)}
	text, err := os.ReadFile(s.name)
	if err != nil || bytes.IndexByte(text, 0) >= 0 || len(text) > CoverageSourceBytes {
		return v
	}
	for i, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		l := sourceLine{Number: i + 1, Text: strings.ToValidUTF8(line[:min(len(line), coverageLineBytes)], "?")}
		if ran, ok := s.lines[i+1]; ok {
			if l.Class = "missed"; ran {
				l.Class = "ran"
			}
		}
		v.Lines = append(v.Lines, l)
	}
	return v
}
