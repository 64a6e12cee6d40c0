package scaffolding

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/lazyregexp"
)

var (
	packageMain = lazyregexp.New(`(?m)^package main\b`)
	funcMain    = lazyregexp.New(`(?m)^func main\(\)`)
	ignored     = lazyregexp.New(`(?m)^//go:build .*\bignore\b`)
	modulePath  = lazyregexp.New(`(?m)^module\s+"?([^\s"]+)`)
)

// goPrograms are the main packages of Go modules.
func goPrograms(f *folder) (found []sketch) {
	modules := f.named("go.mod")
	if len(modules) == 0 {
		return nil
	}
	// A file belongs to the innermost module around it.
	moduleOf := func(name string) string {
		best := ""
		for _, m := range modules {
			if dir := path.Dir(m); below(dir, name) && len(dir) >= len(best) {
				best = dir
			}
		}
		return best
	}
	mains := map[string]bool{}
	var dirs []string
	for _, name := range f.files {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") ||
			moduleOf(name) == "" || mains[path.Dir(name)] {
			continue
		}
		if text := f.read(name); packageMain.MatchString(text) && funcMain.MatchString(text) && !ignored.MatchString(text) {
			mains[path.Dir(name)] = true
			dirs = append(dirs, path.Dir(name))
		}
	}
	if len(dirs) == 0 {
		f.note("%s: the module has no main package to run as a node; "+
			"docs/how-to/test-go-code-in-process.md tests packages without one", modules[0])
		return nil
	}
	for _, dir := range dirs[:min(len(dirs), maxWorlds)] {
		found = append(found, f.goProgram(dir, moduleOf(dir+"/x.go"), mains))
	}
	// Servers come first, then commands in cmd, then what is not deep below.
	rank := func(s sketch) int {
		r := strings.Count(s.name, "/") * 2
		if strings.HasPrefix(s.name, "./cmd/") {
			r -= 3
		}
		if s.server.port == 0 {
			r += 100
		}
		return r
	}
	slices.SortStableFunc(found, func(a, b sketch) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.name, b.name))
	})
	return found
}

func (f *folder) goProgram(dir, module string, mains map[string]bool) sketch {
	var own, shared []string
	listens := false
	for _, name := range f.files {
		switch {
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || !below(module, name):
		case path.Dir(name) == dir:
			own = append(own, name)
			listens = listens || f.listening(name)
		case !mains[path.Dir(name)]:
			shared = append(shared, name)
		}
	}
	s := f.serverOf(own)
	// Packages that the main package imports may have the routes, or all of the server.
	if imported := f.imported(module, own, shared); len(imported) > 0 {
		all := f.serverOf(append(own, imported...))
		if s.port != 0 && listens {
			all.port, all.portIn = s.port, s.portIn
		}
		s, listens = all, listens || all.http
	}
	if !listens {
		s.port, s.http = 0, false
	}
	goMod := f.read(path.Join(module, "go.mod"))
	base := path.Base(dir)
	if dir == module {
		base = path.Base(firstGroup(modulePath, goMod))
	}
	base = nodeNameOf(base)
	name := "./" + dir
	if dir == "." {
		name = "go.mod"
	}
	build := []string{"go", "build", "-o", ".bloodhound/bin/" + base}
	target := "./" + strings.TrimPrefix(strings.TrimPrefix(dir, module), "/")
	if module != "." { // paths of -o are relative to the module then
		up := strings.Repeat("../", strings.Count(module, "/")+1)
		build = []string{"go", "build", "-C", module, "-o", up + ".bloodhound/bin/" + base}
	}
	if module == "." {
		target = "./" + dir
	}
	if target == "./" || target == "./." {
		target = "."
	}
	what := "the Go program " + strings.TrimSuffix(name, "/")
	if dir == "." {
		what = "the Go program of go.mod"
	}
	k := program(name, what, base, s, append(build, target), ".bloodhound/bin/"+base)
	k.nodes[0].buildEnv = []variable{{"CGO_ENABLED", "0"}}
	return k
}

// imported are files of packages whose folders the own files import.
func (f *folder) imported(module string, own, shared []string) (names []string) {
	var text strings.Builder
	for _, name := range own {
		text.WriteString(f.read(name))
	}
	for _, name := range shared {
		dir := strings.TrimPrefix(path.Dir(name), module+"/")
		if dir != module && strings.Contains(text.String(), "/"+dir+`"`) {
			names = append(names, name)
		}
	}
	return names
}
