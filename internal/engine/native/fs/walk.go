package fs

import (
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
)

// Place is where a path leads.
type Place struct {
	Inode InodeID
	// File is the number that Synth gave for a link such as /proc/self/fd/1: the caller's own open file. Inode is
	// then 0, or the inode of that file.
	File int64
}

// Walk resolves a path that must exist (path_resolution(7)). A relative path starts at dir. follow says what to do
// with a symbolic link at the end; a trailing slash follows it in any case. The inode has no reference yet: it is
// there until the next call.
func (s *State) Walk(env *Env, dir InodeID, path string, follow bool) (Place, errno.Errno) {
	w := walker{s: s, env: env}
	return w.walk(s.inode(dir), path, follow)
}

type walker struct {
	s       *State
	env     *Env
	links   int
	resolve Resolve
	top     *Inode // where the walk began: what RESOLVE_BENEATH and RESOLVE_IN_ROOT do not leave
}

// Resolve narrows how a path is resolved (openat2(2)).
type Resolve uint64

// Flags of Resolve.
const (
	RESOLVE_NO_XDEV       Resolve = 0x1
	RESOLVE_NO_MAGICLINKS Resolve = 0x2
	RESOLVE_NO_SYMLINKS   Resolve = 0x4
	RESOLVE_BENEATH       Resolve = 0x8
	RESOLVE_IN_ROOT       Resolve = 0x10
)

// lastKind is the kind of a path's last component.
type lastKind uint8

const (
	lastName lastKind = iota
	lastDot
	lastDotDot
	lastRoot
)

// tail is a path resolved up to its last component.
type tail struct {
	dir   *Inode
	name  string
	kind  lastKind
	slash bool // slashes follow the name
}

// tail resolves all of a path but its last component.
func (s *State) tail(env *Env, dir InodeID, path string) (tail, errno.Errno) {
	w := walker{s: s, env: env}
	return w.tail(s.inode(dir), path)
}

func (w *walker) tail(at *Inode, path string) (tail, errno.Errno) {
	if path == "" {
		return tail{}, errno.ENOENT
	}
	if len(path) > maxPathBytes {
		return tail{}, errno.ENAMETOOLONG
	}
	if path[0] == '/' {
		var e errno.Errno
		if at, e = w.root(at); e != errno.OK {
			return tail{}, e
		}
	}
	rest := strings.TrimLeft(path, "/")
	if rest == "" {
		return tail{dir: at, kind: lastRoot}, errno.OK
	}
	for {
		if !at.isDir() {
			return tail{}, errno.ENOTDIR
		}
		if e := at.access(w.s, w.env, X_OK); e != errno.OK {
			return tail{}, e
		}
		name, after := rest, ""
		if i := strings.IndexByte(rest, '/'); i >= 0 {
			name, after = rest[:i], rest[i:]
		}
		rest = strings.TrimLeft(after, "/")
		if rest == "" {
			t := tail{dir: at, name: name, slash: after != ""}
			switch name {
			case ".":
				t.kind = lastDot
			case "..":
				t.kind = lastDotDot
			}
			return t, errno.OK
		}
		switch name {
		case ".":
		case "..":
			var e errno.Errno
			if at, e = w.up(at); e != errno.OK {
				return tail{}, e
			}
		default:
			in, e := w.down(at, name)
			if e != errno.OK {
				return tail{}, e
			}
			if in.is(S_IFLNK) {
				p, e := w.follow(at, in)
				if e != errno.OK {
					return tail{}, e
				}
				if p.Inode == 0 {
					return tail{}, errno.ENOTDIR
				}
				in = w.s.inode(p.Inode)
			}
			at = in
		}
	}
}

// root is where an absolute path starts that was found at a place.
func (w *walker) root(at *Inode) (*Inode, errno.Errno) {
	root := w.s.rootOf(w.env)
	switch {
	case w.resolve&RESOLVE_BENEATH != 0:
		return nil, errno.EXDEV
	case w.resolve&RESOLVE_IN_ROOT != 0:
		root = w.top
	}
	if w.links > 0 && !w.may(at, root) { // the path of the call itself may be absolute
		return nil, errno.EXDEV
	}
	return root, errno.OK
}

// up is what .. means.
func (w *walker) up(at *Inode) (*Inode, errno.Errno) {
	if at == w.top {
		switch {
		case w.resolve&RESOLVE_BENEATH != 0:
			return nil, errno.EXDEV
		case w.resolve&RESOLVE_IN_ROOT != 0:
			return at, errno.OK
		}
	}
	parent := at
	if at != w.s.rootOf(w.env) {
		parent = at.parent(w.s)
	}
	if !w.may(at, parent) {
		return nil, errno.EXDEV
	}
	return parent, errno.OK
}

// down finds a name in a folder.
func (w *walker) down(dir *Inode, name string) (*Inode, errno.Errno) {
	in, e := dir.lookup(w.s, w.env, name)
	if e == errno.OK && !w.may(dir, in) {
		return nil, errno.EXDEV
	}
	return in, e
}

// may reports whether a step from one inode to another stays where the walk has to.
func (w *walker) may(from, to *Inode) bool {
	return w.resolve&RESOLVE_NO_XDEV == 0 || from.Mount == to.Mount
}

// walk resolves a path to the end.
func (w *walker) walk(at *Inode, path string, follow bool) (Place, errno.Errno) {
	t, e := w.tail(at, path)
	if e != errno.OK {
		return Place{}, e
	}
	return w.end(t, follow)
}

// end resolves the last component of a path.
func (w *walker) end(t tail, follow bool) (Place, errno.Errno) {
	in, e := t.dir, errno.OK
	switch t.kind {
	case lastDotDot:
		in, e = w.up(t.dir)
	case lastName:
		in, e = w.down(t.dir, t.name)
	}
	if e != errno.OK {
		return Place{}, e
	}
	p := Place{Inode: in.ID}
	if in.is(S_IFLNK) && (follow || t.slash) {
		if p, e = w.follow(t.dir, in); e != errno.OK {
			return Place{}, e
		}
	}
	if t.slash && (p.Inode == 0 || !w.s.inode(p.Inode).isDir()) {
		return Place{}, errno.ENOTDIR
	}
	return p, errno.OK
}

// follow resolves a symbolic link found in dir.
func (w *walker) follow(dir, link *Inode) (Place, errno.Errno) {
	if w.links++; w.links > maxLinks || w.resolve&RESOLVE_NO_SYMLINKS != 0 {
		return Place{}, errno.ELOOP
	}
	if link.Synth != "" {
		attr, e := w.env.Synth.Lookup(link.Synth)
		if e != errno.OK {
			return Place{}, e
		}
		if attr.File != 0 || attr.Inode != 0 {
			return w.jump(dir, attr)
		}
		return w.walk(dir, attr.Target, true)
	}
	target, e := link.target(w.s, w.env)
	if e != errno.OK {
		return Place{}, e
	}
	return w.walk(dir, target, true)
}

// jump follows a magic link found in dir: it leads to an object rather than to a name (proc(5)).
func (w *walker) jump(dir *Inode, to SynthAttr) (Place, errno.Errno) {
	switch {
	case w.resolve&RESOLVE_NO_MAGICLINKS != 0:
		return Place{}, errno.ELOOP
	case w.resolve&(RESOLVE_BENEATH|RESOLVE_IN_ROOT) != 0,
		w.resolve&RESOLVE_NO_XDEV != 0 && (to.Inode == 0 || w.s.inode(to.Inode).Mount != dir.Mount):
		return Place{}, errno.EXDEV
	}
	return Place{Inode: to.Inode, File: to.File}, errno.OK
}

// target reads a symbolic link.
func (link *Inode) target(s *State, env *Env) (string, errno.Errno) {
	if link.Synth != "" {
		attr, e := env.Synth.Lookup(link.Synth)
		return attr.Target, e
	}
	if link.Target == "" && link.Layer != NoLayer {
		t, e := env.Base.Readlink(link.Layer, link.Path)
		if e != errno.OK {
			return "", e
		}
		link.Target = t
	}
	return link.Target, errno.OK
}

// rootOf is the root directory of whoever makes a call.
func (s *State) rootOf(env *Env) *Inode {
	if env.Root == 0 {
		return s.inode(rootInode)
	}
	return s.inode(env.Root)
}

// parent is the directory that has a directory.
func (in *Inode) parent(s *State) *Inode {
	if in.ID == rootInode {
		return in
	}
	dir, _ := in.place(s)
	return s.inode(dir)
}
