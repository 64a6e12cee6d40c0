package rewrite

import (
	"encoding/json"
	"fmt"
	"go/scanner"
	"go/token"
	"go/version"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/bloodhound-dst/bloodhound/live/internal/shadow"
)

// Options say what to rewrite.
type Options struct {
	Dir      string         // of the module
	Patterns []string       // packages that are rewritten, as the go command names them
	Tests    []string       // those of them whose tests are rewritten, too: package paths
	Flags    []string       // of the go command, such as -modfile
	Env      []string       // of the go command; nil is this process's
	Leave    *regexp.Regexp // functions that keep their first body only, by their full names; nil is none
	Out      string         // the folder for the rewritten files
}

// Result describes the rewritten packages.
type Result struct {
	Overlay  string   // the file for go build -overlay
	Flags    []string // by which the go command builds what was rewritten
	Sites    string   // the file with the places that the runtime names by number (shadow.SitesVariable)
	Packages []Package
}

// Package describes the result for a package.
type Package struct {
	Path      string
	Functions int            // with literals
	Second    int            // those that have a second body
	Reasons   map[string]int // why others have none
	Left      []Left         // the others, one by one
	Refused   string         // why the package was left alone
}

// Left is a function that keeps its first body only.
type Left struct {
	At     string // file:line
	Name   string
	Reason string
}

// namedByLeave says why a function is left that Options.Leave matches.
const namedByLeave = "named by --leave"

// Rewrite loads packages, rewrites them, and writes the overlay.
func Rewrite(o Options) (*Result, error) {
	list, err := loadPackages(o)
	if err != nil {
		return nil, err
	}
	within := &scope{packages: map[string]bool{}, blind: map[string]bool{}, leave: o.Leave}
	r := &Result{Overlay: filepath.Join(o.Out, "overlay.json"), Sites: filepath.Join(o.Out, "sites.json")}
	r.Flags = append([]string{"-overlay=" + r.Overlay}, o.Flags...)
	sites := []shadow.Site{{Kind: "lost", Text: "code that is not instrumented, or a stack that has grown by much"}}
	var kept []*packages.Package
	for _, p := range list {
		if reason := refuse(p); reason != "" {
			r.Packages = append(r.Packages, Package{Path: p.PkgPath, Refused: reason})
			continue
		}
		within.add(p)
		kept = append(kept, p)
	}
	overlay := map[string]string{}
	for i, p := range kept {
		summary, err := add(p, within, &sites, overlay, filepath.Join(o.Out, fmt.Sprintf("p%d", i)))
		if err != nil {
			return nil, err
		}
		r.Packages = append(r.Packages, summary)
	}
	named := func(p Package) bool { return p.Reasons[namedByLeave] > 0 }
	if o.Leave != nil && !slices.ContainsFunc(r.Packages, named) {
		return nil, fmt.Errorf("--leave: no function of the instrumented packages matches %s: write names like "+
			"net/netip.ParseAddr and (*example.com/kv.server).set", o.Leave)
	}
	for name, v := range map[string]any{r.Overlay: map[string]any{"Replace": overlay}, r.Sites: sites} {
		data, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(name, data, 0o666); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// loadPackages gives the packages of the patterns with syntax, in an order that does not depend on the machine. Of a package
// whose tests are wanted it gives the variant that has them.
func loadPackages(o Options) ([]*packages.Package, error) {
	conf := &packages.Config{
		Dir:        o.Dir,
		BuildFlags: o.Flags,
		Env:        o.Env,
		Tests:      len(o.Tests) > 0,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedTypesSizes |
			packages.NeedModule,
	}
	all, err := packages.Load(conf, o.Patterns...)
	if err != nil {
		return nil, err
	}
	chosen := map[string]*packages.Package{}
	for _, p := range all {
		if len(p.Errors) > 0 {
			return nil, fmt.Errorf("package %s: %w", p.PkgPath, p.Errors[0])
		}
		if strings.HasSuffix(p.PkgPath, ".test") || outer(p) && !slices.Contains(o.Tests, strings.TrimSuffix(p.PkgPath, outerSuffix)) {
			continue
		}
		tested := p.ID != p.PkgPath
		if have := chosen[p.PkgPath]; have == nil || tested == slices.Contains(o.Tests, p.PkgPath) {
			chosen[p.PkgPath] = p
		}
	}
	var list []*packages.Package
	for _, p := range chosen {
		list = append(list, p)
	}
	// Packages of the standard library come first, so that their sites keep their numbers, and the build cache what it made of them, while others change.
	sort.Slice(list, func(i, j int) bool {
		if a, b := list[i].Module == nil, list[j].Module == nil; a != b {
			return a
		}
		return list[i].PkgPath < list[j].PkgPath
	})
	return list, nil
}

// outerSuffix ends the path, and the name, of a package of tests that lies beside the one that it tests.
const outerSuffix = "_test"

func outer(p *packages.Package) bool {
	return strings.HasSuffix(p.PkgPath, outerSuffix) && strings.HasSuffix(p.Name, outerSuffix)
}

// generics is the first version of the language that has them.
const generics = "go1.18"

// refuse says why a package is left alone, or "".
func refuse(p *packages.Package) string {
	if len(p.Syntax) == 0 {
		return "it has no Go files"
	}
	if p.Module != nil && p.Module.GoVersion != "" && version.Compare("go"+p.Module.GoVersion, generics) < 0 {
		return fmt.Sprintf("its module is of go%s, and second bodies are generic: only a module of %s or later can have them", p.Module.GoVersion, generics)
	}
	return ""
}

// add rewrites a package into a folder.
func add(p *packages.Package, within *scope, sites *[]shadow.Site, overlay map[string]string, folder string) (Package, error) {
	summary := Package{Path: p.PkgPath, Reasons: map[string]int{}}
	u, err := newUnit(p, within, sites, os.ReadFile)
	if err != nil {
		return summary, err
	}
	version := ""
	if p.Module != nil && p.Module.GoVersion != "" {
		version = "go" + p.Module.GoVersion
	}
	texts, functions, err := u.result(p.Imports, version)
	if err != nil {
		return summary, err
	}
	for _, f := range functions {
		summary.Functions++
		if f.reason == "" {
			summary.Second++
		} else {
			summary.Reasons[f.reason]++
			at := p.Fset.Position(f.pos)
			summary.Left = append(summary.Left, Left{fmt.Sprintf("%s:%d", at.Filename, at.Line), f.name, f.reason})
		}
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return summary, err
	}
	dir := filepath.Dir(p.GoFiles[0])
	name := "bh_declarations.go"
	if outer(p) {
		name = "bh_declarations_outer_test.go"
	}
	texts[filepath.Join(dir, name)] = []byte(declarations(p.Name, p.PkgPath))
	if p.Imports["runtime/cgo"] == nil && !outer(p) {
		texts[filepath.Join(dir, "bh_declarations.s")] = nil // cgo allows no such file, and needs none
	}
	for name, text := range texts {
		to := filepath.Join(folder, filepath.Base(name))
		if err := os.WriteFile(to, text, 0o666); err != nil {
			return summary, err
		}
		overlay[name] = to
	}
	return summary, nil
}

// syntax reports an error of the parser.
func (f *file) syntax(fset *token.FileSet, err error, report func(token.Position, string)) {
	list, ok := err.(scanner.ErrorList)
	if !ok {
		report(token.Position{Filename: f.name}, err.Error())
		return
	}
	// The scanner has applied the line directives; offsets are as they are.
	for _, e := range list[:1] {
		report(token.Position{Filename: f.name, Offset: e.Pos.Offset, Line: e.Pos.Line}, e.Msg)
	}
}
