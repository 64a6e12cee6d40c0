// Package filetree records the names and permissions in a folder, so that a run can be made again without the files that came later.
package filetree

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// MaxNames bounds the names that a Tree has. Folders near the top come first; those beyond the bound are not listed.
const MaxNames = 4096

// stateFolder is where Bloodhound keeps its files. Programs see its folder bin alone, and nothing if that is empty.
const stateFolder = ".bloodhound"

// Tree has the names in a folder and in those below it, as far as they were listed. Paths begin at the folder, which is "" itself.
type Tree struct {
	// Folders has the names in each folder, joined by slashes.
	Folders map[string]string `json:"folders"`
	// Modes has the permissions of files that do not have 0644, and of folders that do not have 0755.
	Modes map[string]uint32 `json:"modes,omitempty"`
	// Unlooked says that no permissions are known.
	Unlooked bool `json:"unlooked,omitempty"`
	// Unknown has the paths whose permissions are not known, and, with a slash at the end, the folders in which none are: SetNames and Add
	// know names alone.
	Unknown []string `json:"unknown,omitempty"`
}

// Read lists a folder, but for what hidden reports of an absolute path. What lies in folders of version control is not listed.
func Read(dir string, hidden func(path string) bool) *Tree {
	t := &Tree{Folders: map[string]string{}, Modes: map[string]uint32{}}
	if info, err := os.Stat(dir); err == nil && permissions(info.Mode()) != usual(true) {
		t.Modes[""] = permissions(info.Mode())
	}
	left := MaxNames
	for folders := []string{""}; len(folders) > 0 && left > 0; folders = folders[1:] {
		left -= t.list(dir, folders[0], left, hidden, &folders)
	}
	return t
}

// list lists one folder of at most so many names, appends those in it to folders, and gives the number of its names.
func (t *Tree) list(dir, folder string, most int, hidden func(path string) bool, folders *[]string) int {
	entries, err := os.ReadDir(filepath.Join(dir, folder))
	if err != nil || len(entries) > most {
		return 0
	}
	var names []string
	for _, e := range entries {
		inside := path.Join(folder, e.Name())
		full := filepath.Join(dir, inside)
		if hidden(full) || !shown(full) {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue // it has gone meanwhile
		}
		names = append(names, e.Name())
		if mode := permissions(info.Mode()); mode != usual(e.IsDir()) && e.Type()&fs.ModeSymlink == 0 {
			t.Modes[inside] = mode
		}
		if e.IsDir() && !slices.Contains(versionControl, e.Name()) {
			*folders = append(*folders, inside)
		}
	}
	t.Folders[folder] = strings.Join(names, "/")
	return len(names)
}

// versionControl are folders whose contents change with each commit.
var versionControl = []string{".git", ".hg", ".jj", ".svn"}

// shown reports whether programs see a path: of a state folder, they see its programs alone.
func shown(full string) bool {
	if filepath.Base(filepath.Dir(full)) == stateFolder {
		return filepath.Base(full) == "bin"
	}
	if filepath.Base(full) != stateFolder {
		return true
	}
	programs, err := os.ReadDir(filepath.Join(full, "bin"))
	return err == nil && len(programs) > 0
}

// special are the bits beyond rwxrwxrwx, as Unix has them.
var special = map[fs.FileMode]uint32{fs.ModeSetuid: 0o4000, fs.ModeSetgid: 0o2000, fs.ModeSticky: 0o1000}

// permissions are the bits of a mode that chmod(2) changes, as Unix has them.
func permissions(mode fs.FileMode) uint32 {
	bits := uint32(mode.Perm())
	for bit, unix := range special {
		if mode&bit != 0 {
			bits |= unix
		}
	}
	return bits
}

func usual(folder bool) uint32 {
	if folder {
		return 0o755
	}
	return 0o644
}

// SetNames replaces the names in a folder, joined by slashes, by those that a run saw there. Of a folder that was not listed, the permissions
// stay unknown.
func (t *Tree) SetNames(folder, names string) {
	before, listed := t.Folders[folder]
	t.Folders[folder] = names
	if !listed {
		t.Unknown = append(t.Unknown, folder+"/")
		return
	}
	had := strings.Split(before, "/")
	for _, name := range strings.Split(names, "/") {
		if name != "" && !slices.Contains(had, name) {
			t.Unknown = append(t.Unknown, path.Join(folder, name))
		}
	}
}

// Add adds a path, and the folders that lead to it, where the Tree lists these.
func (t *Tree) Add(file string) {
	for file = path.Clean(file); file != "." && file != "/"; file = path.Dir(file) {
		folder, name := split(file)
		if names, listed := t.Folders[folder]; listed && !slices.Contains(strings.Split(names, "/"), name) {
			t.Folders[folder] = strings.Trim(names+"/"+name, "/")
			t.Unknown = append(t.Unknown, file)
		}
	}
}

func split(file string) (folder, name string) {
	folder, name = path.Split(file)
	return strings.TrimSuffix(folder, "/"), name
}

// Later has the paths of a folder that a Tree of it from before did not have, in order, without those inside of later folders.
func (t *Tree) Later(now *Tree) []string {
	var later []string
	for folder, names := range now.Folders {
		before, listed := t.Folders[folder]
		if !listed {
			continue
		}
		had := strings.Split(before, "/")
		for _, name := range strings.Split(names, "/") {
			if name != "" && !slices.Contains(had, name) {
				later = append(later, path.Join(folder, name))
			}
		}
	}
	slices.Sort(later)
	return later
}

// ModesChanged tells which permissions differ in a later Tree of the same folder, where both have them.
func (t *Tree) ModesChanged(now *Tree) []string {
	if t.Unlooked || now.Unlooked {
		return nil
	}
	paths := slices.Collect(maps.Keys(t.Modes))
	paths = slices.AppendSeq(paths, maps.Keys(now.Modes))
	slices.Sort(paths)
	then, later := t.LookupAt("/"), now.LookupAt("/")
	var list []string
	for _, file := range slices.Compact(paths) {
		_, isFolder := t.Folders[file]
		before, had := then.Mode("/"+file, isFolder)
		after, has := later.Mode("/"+file, isFolder)
		if had && has && before != after {
			list = append(list, fmt.Sprintf("the permissions of %s were %04o and are %04o", cmp.Or(file, "the project's folder"), before, after))
		}
	}
	return list
}

// Clone copies a Tree.
func (t *Tree) Clone() *Tree {
	return &Tree{Folders: maps.Clone(t.Folders), Modes: maps.Clone(t.Modes), Unlooked: t.Unlooked, Unknown: slices.Clone(t.Unknown)}
}

// Lookup finds names of a Tree.
type Lookup struct {
	dir     string
	tree    *Tree
	names   map[string]map[string]bool
	unknown map[string]bool
}

// LookupAt is the Lookup of a Tree that lies at an absolute path. A nil Tree and its nil Lookup know nothing.
func (t *Tree) LookupAt(dir string) *Lookup {
	if t == nil {
		return nil
	}
	l := &Lookup{dir: strings.TrimSuffix(dir, "/"), tree: t, names: map[string]map[string]bool{},
		unknown: map[string]bool{}}
	for _, path := range t.Unknown {
		l.unknown[path] = true
	}
	for folder, names := range t.Folders {
		set := map[string]bool{}
		for _, name := range strings.Split(names, "/") {
			set[name] = true
		}
		l.names[folder] = set
	}
	return l
}

// Later reports whether an absolute path has a name that its folder did not have, as far as that folder was listed.
func (l *Lookup) Later(full string) bool {
	if l == nil {
		return false
	}
	file, inside := strings.CutPrefix(full, l.dir+"/")
	if !inside || file == "" {
		return false
	}
	folder, name := split(file)
	names, listed := l.names[folder]
	return listed && !names[name]
}

// Mode gives the permissions that an absolute path had, if these are known.
func (l *Lookup) Mode(full string, isFolder bool) (mode uint32, known bool) {
	if l == nil || l.tree.Unlooked {
		return 0, false
	}
	file, inside := strings.CutPrefix(full+"/", l.dir+"/")
	if !inside {
		return 0, false
	}
	file = strings.TrimSuffix(file, "/")
	if mode, unusual := l.tree.Modes[file]; unusual {
		return mode, true
	}
	folder, name := split(file)
	if l.unknown[file] || l.unknown[folder+"/"] {
		return 0, false
	}
	return usual(isFolder), file == "" || l.names[folder][name]
}
