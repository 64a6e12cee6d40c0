package scaffolding

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bloodhound-dst/bloodhound/internal/lazyregexp"
	"github.com/bloodhound-dst/bloodhound/internal/regular"
)

// Bounds of a look at a folder, beyond which files are left out and a note says so.
const (
	maxEntries    = 20_000   // files and folders that are listed
	maxDepth      = 6        // folders below each other
	maxFileBytes  = 1 << 20  // of one file
	maxTotalBytes = 64 << 20 // of all files together
	maxWorlds     = 50       // worlds of one kind
	maxNotes      = 8        // notes about files that were not read
)

// passedOver are folders of dependencies and results of builds. Those whose names begin with a dot are passed over too.
var passedOver = []string{
	"node_modules", "vendor", "third_party", "target", "build", "dist", "out", "obj", "testdata",
	"venv", "env", "__pycache__", "site-packages",
}

// markers are names of files by which programs are recognised; a note says why one of them was not read.
var markers = lazyregexp.New(`^(go\.mod|package\.json|Cargo\.toml|pom\.xml|build\.gradle(\.kts)?|Makefile|Dockerfile|` +
	`requirements\.txt|pyproject\.toml|(docker-)?compose\.ya?ml)$`)

// plainPath are paths that need no quotes in a command or in YAML, and that no program takes for an option.
var plainPath = lazyregexp.New(`^[A-Za-z0-9_.][A-Za-z0-9_.+/-]*$`)

// folder is a bounded look at the files of a project.
type folder struct {
	root      string
	files     []string // regular files, by paths with slashes, the shallow ones first
	listed    map[string]bool
	texts     map[string]string
	readBytes int64
	notes     []string
	taken     map[string]bool // names of worlds
}

// openFolder lists at most so many files and folders.
func openFolder(root string, entries int) *folder {
	f := &folder{root: root, listed: map[string]bool{}, texts: map[string]string{}, taken: map[string]bool{}}
	left := entries
	f.list(".", 0, &left)
	if left <= 0 {
		f.note("the folder has more than %d files; the rest was not read", entries)
	}
	slices.SortFunc(f.files, func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/")), cmp.Compare(a, b))
	})
	return f
}

// list adds the regular files of a folder and of those below it. What symbolic links lead to is left out.
func (f *folder) list(dir string, depth int, left *int) {
	d, err := os.Open(filepath.Join(f.root, dir))
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			f.note("%s cannot be read", dir)
		}
		return
	}
	entries, err := d.ReadDir(*left + 1)
	d.Close()
	if err != nil && !errors.Is(err, io.EOF) {
		f.note("%s cannot be read", dir)
		return
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		if *left--; *left <= 0 {
			return
		}
		name := path.Join(dir, e.Name())
		switch {
		case e.IsDir():
			if depth < maxDepth && !strings.HasPrefix(e.Name(), ".") && !slices.Contains(passedOver, e.Name()) {
				f.list(name, depth+1, left)
			}
		case e.Type().IsRegular() && plainPath.MatchString(name):
			f.files = append(f.files, name)
			f.listed[name] = true
		case markers.MatchString(e.Name()) && e.Type()&fs.ModeSymlink != 0:
			f.note("%s is a symbolic link, which init does not follow", name)
		case markers.MatchString(e.Name()) && !e.Type().IsRegular():
			f.note("%s is not a regular file", name)
		}
	}
}

// note keeps a remark. The names in it come from the folder, so only what can be printed is kept of them.
func (f *folder) note(format string, args ...any) {
	if len(f.notes) < maxNotes {
		f.notes = append(f.notes, strings.Map(printable, fmt.Sprintf(format, args...)))
	}
}

// printable replaces what a terminal obeys, and what ends a line of YAML, such as U+0085 and U+2028.
func printable(r rune) rune {
	if !unicode.IsPrint(r) {
		return '?'
	}
	return r
}

// read gives the text of a listed file, empty for any other file, which may be behind a link, and for one that is too
// large or not text.
func (f *folder) read(name string) string {
	if text, ok := f.texts[name]; ok {
		return text
	}
	f.texts[name] = ""
	if !f.listed[name] || f.readBytes > maxTotalBytes {
		return ""
	}
	content, err := regular.Read(filepath.Join(f.root, filepath.FromSlash(name)), maxFileBytes)
	f.readBytes += int64(len(content))
	switch {
	case err != nil && int64(len(content)) > maxFileBytes:
		f.note("%s has more than %d KiB and was not read", name, maxFileBytes>>10)
		return ""
	case err != nil:
		f.note("%s cannot be read", name)
		return ""
	case bytes.IndexByte(content, 0) >= 0 || !utf8.Valid(content):
		f.note("%s is not text and was not read", name)
		return ""
	}
	f.texts[name] = string(content)
	return f.texts[name]
}

// has reports whether a regular file is there, also in a folder that is passed over.
func (f *folder) has(name string) bool {
	info, err := os.Lstat(filepath.Join(f.root, filepath.FromSlash(name)))
	return err == nil && info.Mode().IsRegular()
}

// ending are the listed files in a folder (not below it) whose names end with a text.
func (f *folder) ending(dir, end string) (names []string) {
	for _, name := range f.files {
		if path.Dir(name) == dir && strings.HasSuffix(name, end) {
			names = append(names, name)
		}
	}
	return names
}

// below reports whether a file is in a folder, or further below it.
func below(dir, name string) bool { return dir == "." || strings.HasPrefix(name, dir+"/") }

// named are the listed files with a base name.
func (f *folder) named(base string) (names []string) {
	for _, name := range f.files {
		if path.Base(name) == base {
			names = append(names, name)
		}
	}
	return names
}

// title is the name of the folder itself.
func (f *folder) title() string {
	abs, err := filepath.Abs(f.root)
	if err != nil {
		return "app"
	}
	return filepath.Base(abs)
}
