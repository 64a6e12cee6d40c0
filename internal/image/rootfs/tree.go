package rootfs

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// Tree is the combination of an image's layers: each path with its entry, with only Folders, Files and links. It never
// changes after it is made, so worlds can share it.
type Tree struct {
	entries  map[string]*Entry
	children map[string][]string // sorted names, by folder
	same     map[string]string   // of names that are hard links of each other: the first of them in order
	count    map[string]int      // how many names a first one stands for
}

// NewTree lays layers over each other, the lowest first (OCI image specification, "Applying Changesets").
func NewTree(layers ...*Layer) *Tree {
	t := &Tree{entries: map[string]*Entry{"": {Kind: Folder, Mode: 0o755}}}
	below := map[string]map[string]bool{"": {}} // names, by folder
	from := map[*Entry]int{}                    // the layer of each hard link
	var remove func(p string)
	remove = func(p string) {
		for name := range below[p] {
			remove(path.Join(p, name))
		}
		delete(below, p)
		delete(t.entries, p)
	}
	unlink := func(p string) {
		if _, ok := t.entries[p]; !ok || p == "" {
			return
		}
		remove(p)
		dir, name := Split(p)
		delete(below[dir], name)
	}
	var put func(e *Entry)
	put = func(e *Entry) {
		if e.Path != "" {
			dir, name := Split(e.Path)
			if parent := t.entries[dir]; parent == nil || parent.Kind != Folder { // a layer need not name the folders above
				put(&Entry{Path: dir, Kind: Folder, Mode: 0o755})
			}
			below[dir][name] = true
		}
		if old := t.entries[e.Path]; old != nil && (old.Kind != Folder || e.Kind != Folder) {
			remove(e.Path)
		}
		if e.Kind == Folder && below[e.Path] == nil {
			below[e.Path] = map[string]bool{}
		}
		t.entries[e.Path] = e
	}
	for n, l := range layers {
		for i := range l.Entries { // these hide what is below the layer, wherever they stand in it
			switch e := &l.Entries[i]; e.Kind {
			case Whiteout:
				unlink(e.Path)
			case Opaque:
				for _, name := range slices.Collect(maps.Keys(below[e.Path])) {
					unlink(path.Join(e.Path, name))
				}
			}
		}
		for i := range l.Entries {
			if e := &l.Entries[i]; e.Kind != Whiteout && e.Kind != Opaque {
				put(e)
				from[e] = n
			}
		}
	}
	t.children = make(map[string][]string, len(below))
	for dir, names := range below {
		t.children[dir] = slices.Sorted(maps.Keys(names))
	}
	t.same = links(t.entries, from)
	t.count = map[string]int{}
	for _, first := range t.same {
		t.count[first]++
	}
	return t
}

// links finds the names that are hard links of each other: those of one layer that share their first name.
func links(entries map[string]*Entry, from map[*Entry]int) map[string]string {
	type inode struct {
		layer int
		first string
	}
	groups := map[inode][]string{}
	for p, e := range entries {
		if e.First != "" {
			id := inode{from[e], e.First}
			groups[id] = append(groups[id], p)
		}
	}
	same := map[string]string{}
	for id, names := range groups {
		if e := entries[id.first]; e != nil && e.First == "" && from[e] == id.layer && e.Digest == entries[names[0]].Digest {
			names = append(names, id.first)
		}
		first := slices.Min(names)
		for _, p := range names {
			same[p] = first
		}
	}
	return same
}

// Same is the name that stands for all hard links of a path, the path itself if it has only one.
func (t *Tree) Same(p string) string {
	if first, ok := t.same[p]; ok {
		return first
	}
	return p
}

// Links is how many names the file of a path has.
func (t *Tree) Links(p string) int { return max(t.count[t.Same(p)], 1) }

// Split splits a path into its folder and its last element; both are empty for the root.
func Split(p string) (dir, name string) {
	dir, name = path.Split(p)
	return strings.TrimSuffix(dir, "/"), name
}

// Lookup finds the entry of a path, relative to the root and clean; nil is that there is none. Links are not followed.
func (t *Tree) Lookup(p string) *Entry { return t.entries[p] }

// Names lists a folder, sorted.
func (t *Tree) Names(p string) []string { return t.children[p] }

// Bytes is the size of all files, each name of a file for itself.
func (t *Tree) Bytes() int64 {
	var n int64
	for _, e := range t.entries {
		n += e.Size
	}
	return n
}

// Len is how many names the tree has.
func (t *Tree) Len() int { return len(t.entries) }
