package scaffolding

import (
	"path"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/lazyregexp"
)

var (
	cMain      = lazyregexp.New(`(?m)\bmain\s*\(`)
	makeOutput = lazyregexp.New(`(?m)^(?:TARGET|PROG|PROGRAM|BIN|NAME|EXE)\s*[:?]?=\s*([A-Za-z0-9_./-]+)\s*$`)
	makeMinusO = lazyregexp.New(`-o\s+([A-Za-z0-9_./-]+)`)
	makeTarget = lazyregexp.New(`(?m)^([A-Za-z0-9_./-]+)\s*:(?:[^=]|$)`)
	noPrograms = lazyregexp.New(`^(all|clean|install|test|check|run|build)$|\.(o|a|so|c|h)$|^\.`)
)

// cPrograms are folders of C with a Makefile, and single files with a main function where there is none.
func cPrograms(f *folder) (found []sketch) {
	made := map[string]bool{}
	for _, makefile := range append(f.named("Makefile"), f.named("makefile")...) {
		dir := path.Dir(makefile)
		sources := f.cSources(dir)
		if len(sources) == 0 || made[dir] || len(found) >= maxWorlds {
			continue
		}
		made[dir] = true
		output := outputOf(f.read(makefile))
		if output == "" {
			f.note("%s: the program that it builds was not recognised", makefile)
			continue
		}
		build := []string{"make"}
		if dir != "." {
			build = append(build, "-C", dir)
		}
		command := path.Join(dir, output)
		if !strings.Contains(command, "/") {
			command = "./" + command
		}
		what := "the C program " + path.Join(dir, output) + " of " + makefile
		found = append(found, program(makefile, what, path.Base(output), f.serverOf(sources), build, command))
	}
	for _, name := range f.files {
		if path.Ext(name) != ".c" || strings.Contains(name, "/") || made["."] || len(found) >= maxWorlds ||
			!cMain.MatchString(f.read(name)) {
			continue
		}
		title := strings.TrimSuffix(name, ".c")
		binary := ".bloodhound/bin/" + title
		build := shellSteps(".", []string{"mkdir -p .bloodhound/bin", "cc -O2 -pthread -o " + binary + " " + name})
		found = append(found, program(name, "the C program "+name, title, f.serverOf([]string{name}), build, binary))
	}
	return found
}

// cSources are the C files in a folder and in its src, those with main first; none if there is no main.
func (f *folder) cSources(dir string) (names []string) {
	var rest []string
	for _, name := range append(f.ending(dir, ".c"), f.ending(path.Join(dir, "src"), ".c")...) {
		if cMain.MatchString(f.read(name)) {
			names = append(names, name)
		} else {
			rest = append(rest, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return append(names, rest...)
}

// outputOf is the program that a Makefile builds, empty if that is not plain.
func outputOf(makefile string) string {
	candidates := []string{}
	for _, pattern := range []*lazyregexp.Regexp{makeOutput, makeMinusO, makeTarget} {
		for _, m := range pattern.FindAllStringSubmatch(makefile, 50) {
			candidates = append(candidates, m[1])
		}
	}
	for _, c := range candidates {
		if !noPrograms.MatchString(c) && plainPath.MatchString(c) && !strings.HasPrefix(c, "../") {
			return path.Clean(c)
		}
	}
	return ""
}
