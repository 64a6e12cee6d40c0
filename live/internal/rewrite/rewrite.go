package rewrite

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/bloodhound-dst/bloodhound/live/internal/shadow"
)

// unit is a package that is rewritten.
type unit struct {
	fset   *token.FileSet
	types  *types.Package
	info   *types.Info
	sizes  types.Sizes
	scope  *scope
	temps  int
	sites  *[]shadow.Site
	failed map[token.Pos]string // functions without a second body, with the reason
	files  []*file
}

// scope selects the code to rewrite.
type scope struct {
	packages map[string]bool // by path
	blind    map[string]bool // functions of them, by their full names, whose calls nobody sees: they have no body in Go, or the compiler allows no more in it
	leave    *regexp.Regexp  // functions that the user wants to be left, by their full names; nil is none
}

func (s *scope) leaves(f *types.Func) bool {
	return s.leave != nil && s.leave.MatchString(f.FullName())
}

// follows reports whether a call of a function is seen there.
func (s *scope) follows(f *types.Func) bool {
	return f.Pkg() != nil && s.packages[f.Pkg().Path()] && !s.blind[f.FullName()] && !s.leaves(f)
}

// add adds a package.
func (s *scope) add(p *packages.Package) {
	s.packages[p.PkgPath] = true
	for _, tree := range p.Syntax {
		for _, d := range tree.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && (d.Body == nil || strings.HasPrefix(unable(p.TypesInfo, d), directive)) {
				if f, ok := p.TypesInfo.Defs[d.Name].(*types.Func); ok {
					s.blind[f.FullName()] = true
				}
			}
		}
	}
}

// file is one file of it.
type file struct {
	pkg      *unit
	name     string // absolute
	src      []byte
	tree     *ast.File
	imports  map[string]string // package path to the name here
	edits    []edit
	bodies   []string // second bodies, which follow the file
	owners   []owner
	function string // that is written
	made     bool   // cgo generated it; it stays as it is
}

// edit inserts text at a place, in place of what is up to end.
type edit struct {
	at, end int
	text    string
	owner   token.Pos
}

// owner says which function bytes of the rewritten file belong to.
type owner struct {
	from, to int
	pos      token.Pos
}

// function is the result for one function or literal.
type function struct {
	pos    token.Pos
	name   string
	reason string // "" if it has a second body
}

func newUnit(p *packages.Package, s *scope, sites *[]shadow.Site, read func(string) ([]byte, error)) (*unit, error) {
	u := &unit{fset: p.Fset, types: p.Types, info: p.TypesInfo, sizes: p.TypesSizes, scope: s, sites: sites, failed: map[token.Pos]string{}}
	for i, tree := range p.Syntax {
		name := p.CompiledGoFiles[i]
		src, err := read(name)
		if err != nil {
			return nil, err
		}
		f := &file{pkg: u, name: name, src: src, tree: tree, imports: map[string]string{}, made: !slices.Contains(p.GoFiles, name)}
		for _, spec := range tree.Imports {
			if obj := importedBy(u.info, spec); obj != nil && (spec.Name == nil || spec.Name.Name != "_" && spec.Name.Name != ".") {
				f.imports[obj.Imported().Path()] = obj.Name()
			}
		}
		u.files = append(u.files, f)
	}
	return u, nil
}

func importedBy(info *types.Info, spec *ast.ImportSpec) *types.PkgName {
	if spec.Name != nil {
		obj, _ := info.Defs[spec.Name].(*types.PkgName)
		return obj
	}
	obj, _ := info.Implicits[spec].(*types.PkgName)
	return obj
}

func (f *file) offset(p token.Pos) int { return f.pkg.fset.PositionFor(p, false).Offset }

// text is the source between two places.
func (f *file) text(from, to token.Pos) string { return string(f.src[f.offset(from):f.offset(to)]) }

// site numbers a place. Number 0 is none.
func (w *writer) site(n ast.Node, kind string) string {
	p := w.f.pkg.fset.Position(n.Pos())
	text := w.f.text(n.Pos(), n.End())
	if line, _, more := strings.Cut(text, "\n"); more {
		text = line + " ..."
	}
	*w.f.pkg.sites = append(*w.f.pkg.sites, shadow.Site{File: p.Filename, Line: p.Line, Func: w.f.function, Kind: kind, Text: text})
	return fmt.Sprint(len(*w.f.pkg.sites) - 1)
}

// rewrite makes the second bodies of all functions of a package.
func (u *unit) rewrite() (functions []function) {
	for _, f := range u.files {
		f.edits, f.bodies = nil, nil
		for _, d := range f.tree.Decls {
			if f.made {
				functions = append(functions, function{pos: d.Pos(), name: "cgo",
					reason: "cgo generated it, and computations in C cannot be followed; CGO_ENABLED=0 builds without cgo"})
				continue
			}
			use := usageOf(u.info, d)
			switch d := d.(type) {
			case *ast.FuncDecl:
				functions = append(functions, f.decl(d, use))
				if d.Body != nil {
					functions = append(functions, f.literals(d, d.Name.Name, use)...)
				}
			case *ast.GenDecl:
				functions = append(functions, f.literals(d, "package "+u.types.Name(), use)...)
			}
		}
	}
	return functions
}

// attempt calls write, and gives the reason if it cannot be done.
func (u *unit) attempt(pos token.Pos, write func()) (reason string) {
	if reason := u.failed[pos]; reason != "" {
		return reason
	}
	defer func() {
		if e := recover(); e != nil {
			// What the rewriter did not think of must not be the end of a user's build.
			no, ok := e.(unsupported)
			if !ok {
				no.reason = fmt.Sprintf("the rewriter fails: %v", e)
			}
			reason = no.reason
			u.failed[pos] = reason
		}
	}()
	write()
	return ""
}

func (f *file) writer(use *usage) *writer {
	return &writer{f: f, info: f.pkg.info, use: use, out: &strings.Builder{}, names: map[types.Object]string{}, hoisted: map[ast.Expr]value{}}
}

// decl gives a function its second body.
func (f *file) decl(d *ast.FuncDecl, use *usage) function {
	r := function{pos: d.Pos(), name: d.Name.Name}
	if r.reason = unable(f.pkg.info, d); r.reason != "" {
		f.unseen(d, r.reason)
		return r
	}
	f.function = d.Name.Name
	if d.Recv != nil {
		f.function = strings.Trim(f.text(d.Recv.Pos(), d.Recv.End()), "()") + "." + d.Name.Name
		if i := strings.IndexByte(f.function, ' '); i >= 0 {
			f.function = f.function[i+1:]
		}
	}
	if f.pkg.scope.leaves(f.pkg.info.Defs[d.Name].(*types.Func)) {
		r.reason = namedByLeave
		return r
	}
	r.reason = f.pkg.attempt(d.Pos(), func() {
		w := f.writer(use)
		sig := f.pkg.info.Defs[d.Name].Type().(*types.Signature)
		w.second(d.Type, d.Recv, sig, d.Body)
		header := "func "
		if d.Recv != nil {
			header += f.text(d.Recv.Pos(), d.Recv.End()) + " "
		}
		header += body + f.text(d.Name.Pos(), d.Type.End())
		call, edits := f.forward(d, sig)
		p := f.pkg.fset.Position(d.Pos())
		f.bodies = append(f.bodies, fmt.Sprintf("\n//line %s:%d\n%s {\n%s}\n", f.name, p.Line, header, w.out))
		f.owners = append(f.owners, owner{pos: d.Pos()})
		for _, e := range edits {
			e.owner = d.Pos()
			f.edits = append(f.edits, e)
		}
		at := f.offset(d.Body.Lbrace) + 1
		f.edits = append(f.edits, edit{at: at, end: at, text: " if bh_On { " + call + " };", owner: d.Pos()})
	})
	if r.reason != "" {
		f.unseen(d, r.reason)
	}
	return r
}

// unseen makes a function without a second body count its calls, if it may call others.
func (f *file) unseen(d *ast.FuncDecl, reason string) {
	if d.Body == nil || strings.HasPrefix(reason, directive) || strings.HasPrefix(reason, early) {
		return
	}
	f.count(d.Pos(), d.Body, d.Name.Name+": "+reason)
}

func (f *file) count(pos token.Pos, body *ast.BlockStmt, text string) {
	p := f.pkg.fset.Position(pos)
	*f.pkg.sites = append(*f.pkg.sites, shadow.Site{File: p.Filename, Line: p.Line, Func: f.function, Kind: "lost", Text: text})
	at := f.offset(body.Lbrace) + 1
	f.edits = append(f.edits, edit{at: at, end: at, text: fmt.Sprintf(" if bh_On { bh_Unseen(%d) };", len(*f.pkg.sites)-1), owner: pos})
}

// forward is the call of the second body with the parameters of the first, with edits that give names to those that have none.
func (f *file) forward(d *ast.FuncDecl, sig *types.Signature) (call string, edits []edit) {
	count := 0
	name := func(field *ast.Field) (names []string) {
		if len(field.Names) == 0 {
			count++
			n := fmt.Sprintf("%sa%d", prefix, count)
			at := f.offset(field.Type.Pos())
			edits = append(edits, edit{at: at, end: at, text: n + " "})
			return []string{n}
		}
		for _, id := range field.Names {
			n := id.Name
			if n == "_" {
				count++
				n = fmt.Sprintf("%sa%d", prefix, count)
				edits = append(edits, edit{at: f.offset(id.Pos()), end: f.offset(id.End()), text: n})
			}
			names = append(names, n)
		}
		return names
	}
	call = body + d.Name.Name
	if d.Recv != nil {
		call = name(d.Recv.List[0])[0] + "." + call
	}
	if d.Type.TypeParams != nil {
		var list []string
		for _, field := range d.Type.TypeParams.List {
			for _, id := range field.Names {
				if id.Name == "_" {
					panic(unsupported{"a type parameter without a name", id.Pos()})
				}
				list = append(list, id.Name)
			}
		}
		call += "[" + strings.Join(list, ", ") + "]"
	}
	var args []string
	for _, field := range d.Type.Params.List {
		args = append(args, name(field)...)
	}
	call += "(" + strings.Join(args, ", ")
	if sig.Variadic() {
		call += "..."
	}
	call += ")"
	if sig.Results().Len() > 0 {
		return "return " + call, edits
	}
	return call + "; return", edits
}

// literals gives the literals of a first body, or of a declaration of variables, second bodies inside them.
func (f *file) literals(root ast.Node, name string, use *usage) (list []function) {
	ast.Inspect(root, func(n ast.Node) bool {
		lit, ok := n.(*ast.FuncLit)
		if !ok {
			return true
		}
		f.function = name + ".func"
		r := function{pos: lit.Pos(), name: f.function}
		if r.reason = jumps(lit.Body); r.reason == "" { // recover works where the second body lies
			r.reason = f.pkg.attempt(lit.Pos(), func() {
				w := f.writer(use)
				sig := f.pkg.info.TypeOf(lit).(*types.Signature)
				w.second(lit.Type, nil, sig, lit.Body)
				if sig.Results().Len() == 0 {
					w.emit("return")
				}
				at := f.offset(lit.Body.Lbrace) + 1
				p := f.pkg.fset.Position(lit.Body.Lbrace + 1)
				f.edits = append(f.edits, edit{at: at, end: at,
					text: fmt.Sprintf(" if bh_On {\n%s};/*line %s:%d:%d*/", w.out, f.name, p.Line, p.Column), owner: lit.Pos()})
			})
		}
		if r.reason != "" {
			f.count(lit.Pos(), lit.Body, f.function+": "+r.reason)
		}
		list = append(list, r)
		return true
	})
	return list
}

// render is a file with its edits and the second bodies.
func (f *file) render() []byte {
	edits := slices.Clone(f.edits)
	sort.SliceStable(edits, func(i, j int) bool { return edits[i].at < edits[j].at })
	var out bytes.Buffer
	owners := f.owners
	f.owners = nil
	last := 0
	for _, e := range edits {
		out.Write(f.src[last:e.at])
		from := out.Len()
		out.WriteString(e.text)
		f.owners = append(f.owners, owner{from, out.Len(), e.owner})
		last = e.end
	}
	out.Write(f.src[last:])
	for i, b := range f.bodies {
		from := out.Len()
		out.WriteString(b)
		f.owners = append(f.owners, owner{from, out.Len(), owners[i].pos})
	}
	return out.Bytes()
}

// result is the rewritten text of a package, by file, and what became of its functions.
func (u *unit) result(imports map[string]*packages.Package, goVersion string) (map[string][]byte, []function, error) {
	for range maxRounds {
		temps, sites := u.temps, len(*u.sites)
		functions := u.rewrite()
		texts := map[string][]byte{}
		for _, f := range u.files {
			texts[f.name] = f.render()
		}
		wrong, err := u.check(texts, imports, goVersion)
		if err != nil {
			return nil, nil, err
		}
		if len(wrong) == 0 {
			maps.DeleteFunc(texts, func(name string, _ []byte) bool { return u.made(name) })
			return texts, functions, nil
		}
		for pos, reason := range wrong {
			u.failed[pos] = reason
		}
		u.temps, *u.sites = temps, (*u.sites)[:sites]
	}
	return nil, nil, fmt.Errorf("package %s: the rewritten text has errors after %d rounds", u.types.Path(), maxRounds)
}

// made reports whether cgo has made a file.
func (u *unit) made(name string) bool {
	return slices.ContainsFunc(u.files, func(f *file) bool { return f.name == name && f.made })
}

// maxRounds bounds how often a package is rewritten: each round leaves out the functions that had an error in the one before.
const maxRounds = 20

// check type-checks rewritten files and gives the functions that have errors.
func (u *unit) check(texts map[string][]byte, imports map[string]*packages.Package, goVersion string) (map[token.Pos]string, error) {
	wrong := map[token.Pos]string{}
	fset := token.NewFileSet()
	var trees []*ast.File
	names := map[string]*file{}
	var stray error
	report := func(p token.Position, msg string) {
		f := names[p.Filename]
		if f == nil {
			stray = fmt.Errorf("%s:%d: %s", filepath.Base(p.Filename), p.Line, msg)
			return
		}
		best := owner{to: 1 << 60}
		for _, o := range f.owners {
			if o.from <= p.Offset && p.Offset < o.to && o.to-o.from < best.to-best.from {
				best = o
			}
		}
		if best.pos == token.NoPos {
			stray = fmt.Errorf("%s:%d: %s", p.Filename, p.Line, msg)
			return
		}
		wrong[best.pos] = "the rewriter: " + msg
	}
	for _, f := range u.files {
		names[f.name] = f
		tree, err := parser.ParseFile(fset, f.name, texts[f.name], parser.SkipObjectResolution)
		if err != nil {
			f.syntax(fset, err, report)
			continue
		}
		trees = append(trees, tree)
	}
	if len(wrong) > 0 || stray != nil {
		return wrong, stray
	}
	extra, err := parser.ParseFile(fset, "bh_declarations.go", declarations(u.types.Name(), u.types.Path()), parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	conf := types.Config{
		GoVersion: goVersion,
		Sizes:     u.sizes,
		Importer:  importer(imports),
		Error: func(err error) {
			if e, ok := err.(types.Error); ok {
				report(e.Fset.PositionFor(e.Pos, false), e.Msg)
			}
		},
	}
	conf.Check(u.types.Path(), fset, append(trees, extra), nil)
	if len(wrong) > 0 {
		return wrong, nil
	}
	return nil, stray
}

type importer map[string]*packages.Package

// Import gives the types of a package that was loaded.
func (m importer) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if p := m[path]; p != nil && p.Types != nil {
		return p.Types, nil
	}
	return nil, fmt.Errorf("package %s was not loaded", path)
}
