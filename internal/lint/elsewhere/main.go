// Command elsewhere vets modules for other systems than this one: elsewhere SYSTEM/PROCESSOR[,...] FOLDER[=MODFILE]...
//
// For each system, `go vet` would compile all packages and their dependencies, although nothing executes them. Elsewhere checks the
// types of packages and tests from their sources instead. Where a package has other files than on linux/amd64, for which `go vet` runs,
// vet's analyzers examine it. Modules share the packages that several of them use.
package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/analysis/suite/vet"
	"golang.org/x/tools/go/packages"
)

// base is the system for which `go vet` runs.
var base = func() build.Context {
	c := build.Default
	c.GOOS, c.GOARCH, c.CgoEnabled = "linux", "amd64", true
	return c
}()

// newer has the analyzers of the suite that `go vet` of this version of Go does not have yet.
var newer = []string{"scannererr", "sqlrowserr"}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: elsewhere SYSTEM/PROCESSOR[,...] FOLDER[=MODFILE]...")
		os.Exit(2)
	}
	failed := false
	for system := range strings.SplitSeq(os.Args[1], ",") {
		findings, err := vetFor(system, os.Args[2:])
		for _, f := range findings {
			fmt.Fprintf(os.Stderr, "%s: %s\n", system, f)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "elsewhere: %s: %v\n", system, err)
		}
		failed = failed || err != nil || len(findings) > 0
	}
	if failed {
		os.Exit(1)
	}
}

// vetFor returns the findings in modules for a system, in the order of modules and packages.
func vetFor(system string, modules []string) (findings []string, err error) {
	goos, goarch, ok := strings.Cut(system, "/")
	if !ok {
		return nil, fmt.Errorf("%q is no SYSTEM/PROCESSOR", system)
	}
	c := &loader{
		env:    append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0"),
		fset:   token.NewFileSet(),
		sizes:  types.SizesFor("gc", goarch),
		loaded: map[string]*loaded{},
	}
	for _, module := range modules {
		folder, modfile, _ := strings.Cut(module, "=")
		if err := c.load(folder, modfile); err != nil {
			return nil, fmt.Errorf("%s: %w", folder, err)
		}
	}
	graph, err := checker.Analyze(c.analyzers(), c.different, nil)
	if err != nil {
		return nil, err
	}
	findings = c.findings
	for _, root := range graph.Roots {
		if root.Err != nil {
			return nil, fmt.Errorf("%s: %w", root, root.Err)
		}
		for _, d := range root.Diagnostics {
			findings = append(findings, fmt.Sprintf("%s: %s", c.fset.Position(d.Pos), d.Message))
		}
	}
	slices.Sort(findings)
	return slices.Compact(findings), nil // a package and its test have files in common
}

// listed is a package or a test of one, as `go list` describes it.
type listed struct {
	Dir, ImportPath, Name, ForTest string
	Standard, DepOnly              bool
	GoFiles, SFiles                []string
	IgnoredGoFiles                 []string
	Imports                        []string
	ImportMap                      map[string]string
	Module                         *struct{ GoVersion string }
	Error                          *struct{ Pos, Err string }
}

type loaded struct {
	types             *types.Package
	*packages.Package // only of modules that are vetted
}

// loader checks the types of packages for one system.
type loader struct {
	env       []string
	fset      *token.FileSet
	sizes     types.Sizes
	loaded    map[string]*loaded // by identities
	different []*packages.Package
	findings  []string
}

func (*loader) analyzers() []*analysis.Analyzer {
	return slices.DeleteFunc(slices.Clone(vet.Suite), func(a *analysis.Analyzer) bool { return slices.Contains(newer, a.Name) })
}

// load checks all packages of a module, and what they import.
func (c *loader) load(folder, modfile string) error {
	list := exec.Command("go", "list", "-e", "-deps", "-test",
		"-json=Dir,ImportPath,Name,ForTest,Standard,DepOnly,GoFiles,SFiles,IgnoredGoFiles,Imports,ImportMap,Module,Error")
	if modfile != "" {
		list.Args = append(list.Args, "-modfile="+modfile)
	}
	list.Args = append(list.Args, "./...")
	list.Dir, list.Env, list.Stderr = folder, c.env, os.Stderr
	out, err := list.StdoutPipe()
	if err != nil {
		return err
	}
	if err := list.Start(); err != nil {
		return err
	}
	// Packages come after those that they import. An identity has the identities of imports: modules may require other versions of them.
	identities := map[string]string{"unsafe": "unsafe"}
	for d := json.NewDecoder(out); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return errors.Join(err, list.Wait())
		}
		if p.Error != nil {
			c.findings = append(c.findings, strings.TrimPrefix(p.Error.Pos+": "+p.Error.Err, ": "))
		}
		if p.ImportPath == "unsafe" || strings.HasSuffix(p.ImportPath, ".test") { // a program that go test writes
			continue
		}
		c.add(&p, identities)
	}
	return list.Wait()
}

func (c *loader) add(p *listed, identities map[string]string) {
	imports := map[string]*loaded{}
	identity := []string{p.Dir, p.ImportPath}
	for _, path := range p.Imports {
		id := cmp.Or(identities[path], path)
		imports[path] = c.loaded[id]
		identity = append(identity, id)
	}
	slices.Sort(identity[2:])
	id := fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(identity, "\n"))))
	identities[p.ImportPath] = id
	if got := c.loaded[id]; got == nil || got.Package == nil && !p.DepOnly {
		c.loaded[id] = c.check(p, imports)
	}
}

// check parses a package and checks its types: all of it if it belongs to a module that is vetted, otherwise what it declares.
func (c *loader) check(p *listed, imports map[string]*loaded) *loaded {
	own := !p.DepOnly
	fail := func(err error) {
		if own {
			c.findings = append(c.findings, err.Error())
		}
	}
	var files []*ast.File
	var paths []string
	for _, name := range p.GoFiles {
		path := filepath.Join(p.Dir, name)
		mode := parser.SkipObjectResolution
		if own {
			mode |= parser.ParseComments
		}
		f, err := parser.ParseFile(c.fset, path, nil, mode)
		if err != nil {
			fail(err)
		}
		if f != nil {
			files, paths = append(files, f), append(paths, path)
		}
	}
	config := types.Config{
		Importer: importer(func(path string) (*types.Package, error) {
			if path == "unsafe" {
				return types.Unsafe, nil
			}
			if got := imports[cmp.Or(p.ImportMap[path], path)]; got != nil {
				return got.types, nil
			}
			return nil, fmt.Errorf("package %s is missing", path)
		}),
		IgnoreFuncBodies: !own,
		FakeImportC:      true,
		Sizes:            c.sizes,
		Error:            fail,
	}
	if p.Module != nil && p.Module.GoVersion != "" {
		config.GoVersion = "go" + p.Module.GoVersion
	}
	path, _, _ := strings.Cut(p.ImportPath, " ") // the rest names the test that it is built for
	if !own {
		checked, _ := config.Check(path, c.fset, files, nil) // its own tests find mistakes in it
		return &loaded{types: checked}
	}
	c.bodies(p, files)
	info := &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Instances: map[*ast.Ident]types.Instance{}, Defs: map[*ast.Ident]types.Object{},
		Uses: map[*ast.Ident]types.Object{}, Implicits: map[ast.Node]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
		Scopes: map[ast.Node]*types.Scope{}, FileVersions: map[*ast.File]string{},
	}
	mistakes := len(c.findings)
	checked, _ := config.Check(path, c.fset, files, info)
	vetted := &packages.Package{
		ID: p.ImportPath, Name: p.Name, PkgPath: path, ForTest: p.ForTest, Dir: p.Dir, Fset: c.fset,
		GoFiles: paths, CompiledGoFiles: paths, Syntax: files,
		Types: checked, TypesInfo: info, TypesSizes: c.sizes, Imports: map[string]*packages.Package{},
	}
	for _, name := range p.SFiles {
		vetted.OtherFiles = append(vetted.OtherFiles, filepath.Join(p.Dir, name))
	}
	for path, got := range imports {
		if got != nil && got.Package != nil { // facts about others are not looked for
			vetted.Imports[path] = got.Package
		}
	}
	if len(c.findings) == mistakes && differs(p) {
		c.different = append(c.different, vetted)
	}
	return &loaded{types: checked, Package: vetted}
}

// bodies looks for functions without a body in packages without assembly, which only the compiler refuses.
func (c *loader) bodies(p *listed, files []*ast.File) {
	for _, f := range files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body == nil && len(p.SFiles) == 0 && !linked(f, fn.Name.Name) {
				c.findings = append(c.findings, fmt.Sprintf("%s: %s has no body", c.fset.Position(fn.Pos()), fn.Name.Name))
			}
		}
	}
}

func linked(f *ast.File, name string) bool {
	for _, group := range f.Comments {
		for _, comment := range group.List {
			if strings.HasPrefix(comment.Text, "//go:linkname "+name+" ") {
				return true
			}
		}
	}
	return false
}

// differs reports whether a package has other files than on base.
func differs(p *listed) bool {
	on := func(name string) bool {
		match, err := base.MatchFile(p.Dir, name)
		return match && err == nil
	}
	return slices.ContainsFunc(append(p.GoFiles, p.SFiles...), func(name string) bool { return !on(name) }) ||
		slices.ContainsFunc(p.IgnoredGoFiles, on)
}

type importer func(path string) (*types.Package, error)

func (i importer) Import(path string) (*types.Package, error) { return i(path) }
