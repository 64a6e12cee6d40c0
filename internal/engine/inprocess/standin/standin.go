// Package standin builds Go packages with stand-ins for sync and sync/atomic (sim/inproc/sync), by `-overlay` of the go command: copies of their files
// import the stand-ins under the names of the originals, and start goroutines by them.
//
// The standard library stays as it is. Its caches outlive a run, so that it locks more often in the first run than in later ones, and the compiler puts
// instructions in the place of calls of functions of sync/atomic.
package standin

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/bloodhound-dst/bloodhound/internal/engine/inprocess/points"
)

// Module is the module that has the stand-ins, whose own packages do not get them.
const module = "github.com/bloodhound-dst/bloodhound"

// The packages that stand in, by what they stand in for.
var standIns = map[string]string{
	"sync":        module + "/sim/inproc/sync",
	"sync/atomic": module + "/sim/inproc/sync/atomic",
}

// goName is the name by which a rewritten file imports the package that starts goroutines.
const goName = "bloodhoundSync"

// Result describes the written copies.
type Result struct {
	Overlay         string // the file for -overlay
	Packages, Files int    // that have copies
	// Channels are places at which a goroutine may wait for a channel, which the stand-ins do not know.
	Channels []token.Position
}

// Write makes copies of the files of packages and of their tests, and of the packages that these import, in a folder. Packages of the standard library and of
// the module cache stay as they are.
func Write(dir, out string, patterns []string) (*Result, error) {
	names, err := editable(dir, patterns)
	if err != nil {
		return nil, err
	}
	list, err := packages.Load(&packages.Config{
		Dir: dir, Tests: true,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedModule,
	}, names...)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(out, 0o777); err != nil {
		return nil, err
	}
	r := &Result{Overlay: filepath.Join(out, "overlay.json")}
	m := &points.Manifest{Overlay: r.Overlay, Files: map[string]string{}}
	replace := map[string]string{}
	manifest := filepath.Join(out, "manifest.json")
	seen, dirs := map[string]bool{}, map[string]bool{}
	for _, p := range list {
		if len(p.Errors) > 0 {
			return nil, fmt.Errorf("package %s: %w", p.PkgPath, p.Errors[0])
		}
		if strings.HasSuffix(p.PkgPath, ".test") {
			continue
		}
		for i, f := range p.Syntax {
			name := p.CompiledGoFiles[i]
			if seen[name] || !slices.Contains(p.GoFiles, name) {
				continue
			}
			seen[name] = true
			text, err := os.ReadFile(name)
			if err != nil {
				return nil, err
			}
			x := rewriting{p: p, file: f, text: text, result: r}
			changed, err := x.rewrite(manifest)
			if err != nil {
				return nil, err
			}
			if changed == nil {
				continue
			}
			sum := sha256.Sum256([]byte(name))
			to := filepath.Join(out, hex.EncodeToString(sum[:8])+"-"+filepath.Base(name))
			if err := os.WriteFile(to, changed, 0o666); err != nil {
				return nil, err
			}
			replace[name] = to
			dirs[filepath.Dir(name)] = true
		}
	}
	r.Packages, r.Files = len(dirs), len(replace)
	for dir := range dirs {
		if err := m.Add(dir); err != nil {
			return nil, err
		}
	}
	for name, v := range map[string]any{r.Overlay: map[string]any{"Replace": replace}, manifest: m} {
		data, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(name, append(data, '\n'), 0o666); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// editable are the packages among some, and among those that they and their tests import, whose files the user may edit.
func editable(dir string, patterns []string) ([]string, error) {
	const form = `{{with .Module}}{{with .Replace}}{{.Version}}{{else}}{{.Version}}{{end}}{{else}}std{{end}} {{.ImportPath}}`
	list := exec.Command("go", append([]string{"list", "-deps", "-test", "-f", form, "--"}, patterns...)...)
	list.Dir = dir
	var said strings.Builder
	list.Stderr = &said
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %s", strings.Join(patterns, " "), cmp.Or(strings.TrimSpace(said.String()), err.Error()))
	}
	var names []string
	for line := range strings.Lines(string(out)) {
		version, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		name, _, variant := strings.Cut(name, " [")
		if version != "" || variant || own(name) || strings.HasSuffix(name, ".test") {
			continue
		}
		names = append(names, name)
	}
	return names, nil
}

// own reports whether a package is a part of this project that its users' code runs on.
func own(path string) bool {
	path, inside := strings.CutPrefix(strings.TrimSuffix(path, "_test"), module)
	return inside && !strings.HasPrefix(path, "/examples/") && !strings.Contains(path, "/testdata/")
}

// rewriting is the work on one file.
type rewriting struct {
	p      *packages.Package
	file   *ast.File
	text   []byte
	result *Result
	edits  []edit
	err    error
}

// edit replaces a part of the text.
type edit struct {
	from, to int
	text     string
}

func (x *rewriting) offset(p token.Pos) int { return x.p.Fset.PositionFor(p, false).Offset }

func (x *rewriting) replace(from, to token.Pos, text string) {
	x.edits = append(x.edits, edit{x.offset(from), x.offset(to), text})
}

// rewrite gives the text of the copy, or nil if the file stays as it is. Lines keep their numbers.
func (x *rewriting) rewrite(manifest string) ([]byte, error) {
	for _, s := range x.file.Imports {
		path, _ := strconv.Unquote(s.Path.Value)
		to, ok := standIns[path]
		if !ok {
			continue
		}
		name := ""
		if s.Name == nil {
			name = path[strings.LastIndexByte(path, '/')+1:] + " "
		}
		x.replace(s.Path.Pos(), s.Path.End(), name+strconv.Quote(to))
	}
	ast.Inspect(x.file, x.node)
	if x.err != nil || len(x.edits) == 0 {
		return nil, x.err
	}
	last := x.file.Name.End() // an import must not follow a declaration
	for _, d := range x.file.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			last = g.End()
		}
	}
	x.replace(x.file.Name.End(), x.file.Name.End(), fmt.Sprintf("; import %s %q", goName, standIns["sync"]))
	x.replace(last, last, fmt.Sprintf("; var _ = %s.Built(%q)", goName, manifest))
	slices.SortStableFunc(x.edits, func(a, b edit) int { return a.from - b.from })
	var b bytes.Buffer
	at := 0
	for _, e := range x.edits {
		b.Write(x.text[at:e.from])
		b.WriteString(e.text)
		at = e.to
	}
	b.Write(x.text[at:])
	return b.Bytes(), nil
}

// node looks at a part of the file.
func (x *rewriting) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		x.start(n)
	case *ast.SendStmt, *ast.SelectStmt:
		x.result.Channels = append(x.result.Channels, x.p.Fset.Position(n.Pos()))
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			x.result.Channels = append(x.result.Channels, x.p.Fset.Position(n.Pos()))
		}
	case *ast.RangeStmt:
		if _, ok := x.p.TypesInfo.TypeOf(n.X).Underlying().(*types.Chan); ok {
			x.result.Channels = append(x.result.Channels, x.p.Fset.Position(n.Pos()))
		}
	}
	return true
}

// start makes a go statement a call. What the statement evaluates is evaluated before that call:
//
//	go f(a, 1)   { bloodhound0, bloodhound1 := f, a; bloodhoundSync.Go(func() { bloodhound0(bloodhound1, 1) }) }
func (x *rewriting) start(s *ast.GoStmt) {
	call := s.Call
	if f, ok := call.Fun.(*ast.FuncLit); ok && len(call.Args) == 0 && f.Type.Results == nil {
		x.replace(s.Go, f.Pos(), goName+".Go(")
		x.replace(f.End(), call.End(), ")")
		return
	}
	if len(call.Args) == 1 {
		if t, ok := x.p.TypesInfo.TypeOf(call.Args[0]).(*types.Tuple); ok {
			x.err = fmt.Errorf("%s: a go statement whose arguments are the %d results of one call cannot be "+
				"switched: assign them to variables first",
				x.p.Fset.Position(s.Pos()), t.Len())
			return
		}
	}
	var names, operands []string
	at := s.Go // the first byte that is not written yet
	for _, e := range append([]ast.Expr{call.Fun}, call.Args...) {
		if x.stays(e) {
			operands = append(operands, string(x.text[x.offset(e.Pos()):x.offset(e.End())]))
			continue
		}
		name := "bloodhound" + strconv.Itoa(len(names))
		between := ", "
		if len(names) == 0 {
			between = ""
		}
		x.replace(at, e.Pos(), between+x.lines(at, e.Pos()))
		at = e.End()
		names, operands = append(names, name), append(operands, name)
	}
	dots := ""
	if call.Ellipsis.IsValid() {
		dots = "..."
	}
	begin := goName + ".Go(func() { " + operands[0] + "(" + strings.Join(operands[1:], ", ") + dots + ") })"
	if len(names) == 0 {
		x.replace(s.Go, s.End(), begin+x.lines(s.Go, s.End()))
		return
	}
	first := slices.IndexFunc(x.edits, func(e edit) bool { return e.from == x.offset(s.Go) })
	x.edits[first].text = "{ " + strings.Join(names, ", ") + " := " + x.edits[first].text
	x.replace(at, s.End(), "; "+begin+" }"+x.lines(at, s.End()))
}

// lines are the ends of lines in a part of the text.
func (x *rewriting) lines(from, to token.Pos) string {
	return strings.Repeat("\n", bytes.Count(x.text[x.offset(from):x.offset(to)], []byte{'\n'}))
}

// stays reports whether an operand means the same when the goroutine runs: a constant, nil, a type, a declared function.
func (x *rewriting) stays(e ast.Expr) bool {
	tv := x.p.TypesInfo.Types[e]
	if tv.Value != nil || tv.IsNil() || tv.IsBuiltin() || tv.IsType() {
		return true
	}
	name, ok := e.(*ast.Ident)
	if s, selects := e.(*ast.SelectorExpr); selects {
		name, ok = s.Sel, true
	}
	if !ok {
		return false
	}
	f, ok := x.p.TypesInfo.Uses[name].(*types.Func)
	return ok && f.Signature().Recv() == nil
}
