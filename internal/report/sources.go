package report

import (
	"bytes"
	"debug/buildinfo"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/bloodhound-dst/bloodhound/internal/coverage/code"
)

// Sources finds source files on this machine by the names that binaries have for them. Most names are paths, but what is built
// with -trimpath has its files by modules, and what is built with prefixes that are mapped by paths below its project.
type Sources struct {
	// Project is the folder of the world's configuration.
	Project string
	// GoRoot and GoModules are Go's own folder, and the one of modules that it has downloaded: GOROOT and GOMODCACHE.
	GoRoot, GoModules string
	modules           map[string]string // folders of the project's own modules, by module path
}

// Bounds of the search for the project's own modules.
const (
	moduleFolders = 2000
	moduleDepth   = 4 // below the project's folder, and above it
)

// ownModules finds the go.mod files of the project: in its folder, around it and below.
func (s *Sources) ownModules() map[string]string {
	if s.modules != nil {
		return s.modules
	}
	s.modules = map[string]string{}
	add := func(dir string) {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err != nil {
			return
		}
		for line := range strings.Lines(string(text)) {
			if fields := strings.Fields(line); len(fields) >= 2 && fields[0] == "module" {
				if name := strings.Trim(fields[1], "\"`"); s.modules[name] == "" {
					s.modules[name] = dir
				}
				return
			}
		}
	}
	type folder struct {
		dir   string
		depth int
	}
	queue := []folder{{s.Project, 0}}
	for i := 0; i < len(queue) && i < moduleFolders; i++ {
		add(queue[i].dir)
		entries, err := os.ReadDir(queue[i].dir)
		if err != nil || queue[i].depth == moduleDepth {
			continue
		}
		for _, e := range entries {
			if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && e.Name() != "node_modules" && e.Name() != "vendor" {
				queue = append(queue, folder{filepath.Join(queue[i].dir, e.Name()), queue[i].depth + 1})
			}
		}
	}
	for dir, i := filepath.Dir(s.Project), 0; i < moduleDepth && dir != filepath.Dir(dir); dir, i = filepath.Dir(dir), i+1 {
		add(dir)
	}
	return s.modules
}

// goProgram holds the build information of a Go program.
type goProgram struct {
	version string // of Go
	module  string // its own module, or the path of its main package
	root    string // where the source of Go lay, if the program has paths
}

// programOfGo reads what a file says of how Go has built it, nil if it is none of Go.
func programOfGo(file string) *goProgram {
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return nil
	}
	g := &goProgram{version: info.GoVersion, module: info.Main.Path}
	if g.module == "" {
		g.module = info.Path
	}
	return g
}

// find is the path on this machine of a source file, empty if it is not here. g may be nil.
func (s *Sources) find(name string, g *goProgram) string {
	try := func(file string) string {
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			return file
		}
		return ""
	}
	switch {
	case name == "":
		return ""
	case path.IsAbs(name):
		return try(name)
	case s == nil:
		return ""
	}
	name = path.Clean(name)
	if name == ".." || strings.HasPrefix(name, "../") {
		return ""
	}
	if g == nil {
		return try(filepath.Join(s.Project, name))
	}
	if module, file, ok := strings.Cut(name, "@"); ok {
		if s.GoModules == "" {
			return ""
		}
		return try(filepath.Join(s.GoModules, escapedModule(module)+"@"+escapedModule(file[:len(file)-len(afterSlash(file))])+afterSlash(file)))
	}
	longest := ""
	for module := range s.ownModules() {
		if strings.HasPrefix(name, module+"/") && len(module) > len(longest) {
			longest = module
		}
	}
	if longest != "" {
		return try(filepath.Join(s.modules[longest], name[len(longest):]))
	}
	// Another version of Go has other lines.
	version, _ := os.ReadFile(filepath.Join(s.GoRoot, "VERSION"))
	if first, _, _ := bytes.Cut(version, []byte("\n")); s.GoRoot != "" && string(first) == g.version {
		return try(filepath.Join(s.GoRoot, "src", name))
	}
	if s.GoModules == "" {
		return ""
	}
	return try(filepath.Join(s.GoModules, "golang.org", "toolchain@v0.0.1-"+g.version+".linux-amd64", "src", name))
}

// afterSlash returns the path in the module, which follows the version.
func afterSlash(file string) string {
	if i := strings.IndexByte(file, '/'); i >= 0 {
		return file[i:]
	}
	return ""
}

// escapedModule is a module path or a version as Go's module cache has it: capitals are small letters behind an exclamation mark.
func escapedModule(name string) string {
	var b strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			b.WriteByte('!')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// Ranks of code: people look for their own first, then for what they chose, and last for what each program has.
const (
	rankOwn = iota
	rankDependency
	rankCommon
)

// rank orders packages of Go programs. Modules of the project are its own code, whatever program they are in.
func (s *Sources) rankPackage(pkg string, g *goProgram) int {
	first, _, _ := strings.Cut(pkg, "/")
	within := func(module string) bool { return pkg == module || strings.HasPrefix(pkg, module+"/") }
	switch {
	case pkg == "":
		return rankCommon // the compiler makes it
	case pkg == "main" || within(g.module):
		return rankOwn
	}
	if s != nil {
		for module := range s.ownModules() {
			if within(module) {
				return rankOwn
			}
		}
	}
	if strings.Contains(first, ".") {
		return rankDependency
	}
	return rankCommon
}

// rank orders source files in the same way.
func (s *Sources) rank(file string, g *goProgram) int {
	switch {
	case g == nil || !strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, ".s"):
		return rankFile(file)
	case !path.IsAbs(file):
		module, below, _ := strings.Cut(file, "@")
		return s.rankPackage(path.Dir(module+afterSlash(below)), g)
	case g.root != "" && strings.HasPrefix(file, g.root+"/"), strings.Contains(file, "/pkg/mod/golang.org/toolchain@"),
		s != nil && s.GoRoot != "" && strings.HasPrefix(file, s.GoRoot+"/"):
		return rankCommon
	case strings.Contains(file, "/pkg/mod/"), strings.Contains(file, "/vendor/"):
		return rankDependency
	}
	return rankOwn
}

// Parts of the paths of source files that are not of a program itself: what comes with the languages, by where systems, compilers and
// distributions have it, and what programs require, by where package managers put it.
var (
	commonFiles = []string{"/usr/include/", "/usr/lib/gcc", "/usr/lib/llvm", "/rustc/", "/rust/deps/", "/usr/src/rustc",
		"/rustlib/src/rust/", "/library/std/src/", "/library/core/src/", "/library/alloc/src/",
		"/glibc-", "/gcc-", "/musl-", "/libstdc++-v3/", "/libgcc/", "/compiler-rt/", "../sysdeps/", "../csu/", "./csu/", "./nptl/"}
	dependencyFiles = []string{"/.cargo/registry/", "/.cargo/git/", "/cargo/registry/", "/vendor/", "/third_party/",
		"/thirdparty/", "/.conan", "/vcpkg", "/node_modules/", "/usr/local/include/"}
)

// rankFile orders source files of other languages than Go by where they lay when they were compiled.
func rankFile(file string) int {
	has := func(part string) bool {
		return strings.Contains(file, part) || !strings.HasPrefix(part, "/") && strings.HasPrefix(file, part)
	}
	switch {
	case slices.ContainsFunc(commonFiles, has):
		return rankCommon
	case slices.ContainsFunc(dependencyFiles, has):
		return rankDependency
	}
	return rankOwn
}

// startup are functions that compilers put into each program.
var startup = []string{"_start", "_init", "_fini", "deregister_tm_clones", "register_tm_clones", "__do_global_dtors_aux",
	"frame_dummy", "__libc_csu_init", "__libc_csu_fini", "_dl_relocate_static_pie"}

// commonNames begin the names of functions of what comes with C++ and Rust, as they are demangled.
var commonNames = []string{"std::", "__gnu_cxx::", "__cxxabiv1::", "core::", "alloc::", "<alloc::", "<core::", "<std::",
	"__rust_", "__rustc", "rust_", "hashbrown::", "gimli::", "addr2line::", "object::", "miniz_oxide::", "rustc_demangle::"}

// rankFunction orders functions: by packages in Go, by source files elsewhere, and by names where no file is known. Where files are known of
// the program's own code, which placed says, a function without one was built elsewhere.
func (s *Sources) rankFunction(f *code.Function, group string, g *goProgram, placed bool) int {
	switch {
	case g != nil && (group == "" || f.Package != "" || group != f.File):
		return s.rankPackage(group, g)
	case slices.Contains(startup, f.Name):
		return rankCommon
	case f.File != "":
		return s.rank(f.File, g)
	}
	name := strings.TrimPrefix(f.Name, "void ")
	if slices.ContainsFunc(commonNames, func(p string) bool { return strings.HasPrefix(name, p) }) {
		return rankCommon
	}
	if placed {
		return rankDependency
	}
	return rankOwn
}
