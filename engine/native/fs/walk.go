package fs

import "strings"

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
func (s *State) Walk(env *Env, dir InodeID, path string, follow bool) (Place, Errno) {
	w := walker{s: s, env: env}
	return w.resolve(s.inode(dir), path, follow)
}

type walker struct {
	s     *State
	env   *Env
	links int
}

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
func (s *State) tail(env *Env, dir InodeID, path string) (tail, Errno) {
	w := walker{s: s, env: env}
	return w.tail(s.inode(dir), path)
}

func (w *walker) tail(at *Inode, path string) (tail, Errno) {
	if path == "" {
		return tail{}, ENOENT
	}
	if len(path) > maxPathBytes {
		return tail{}, ENAMETOOLONG
	}
	if path[0] == '/' {
		at = w.s.inode(rootInode)
	}
	rest := strings.TrimLeft(path, "/")
	if rest == "" {
		return tail{dir: at, kind: lastRoot}, OK
	}
	for {
		if !at.isDir() {
			return tail{}, ENOTDIR
		}
		if e := w.s.access(w.env, at, X_OK); e != OK {
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
			return t, OK
		}
		switch name {
		case ".":
		case "..":
			at = w.s.parent(at)
		default:
			in, e := w.s.lookup(w.env, at, name)
			if e != OK {
				return tail{}, e
			}
			if in.is(S_IFLNK) {
				p, e := w.follow(at, in)
				if e != OK {
					return tail{}, e
				}
				if p.Inode == 0 {
					return tail{}, ENOTDIR
				}
				in = w.s.inode(p.Inode)
			}
			at = in
		}
	}
}

// resolve resolves a path to the end.
func (w *walker) resolve(at *Inode, path string, follow bool) (Place, Errno) {
	t, e := w.tail(at, path)
	if e != OK {
		return Place{}, e
	}
	return w.end(t, follow)
}

// end resolves the last component of a path.
func (w *walker) end(t tail, follow bool) (Place, Errno) {
	var in *Inode
	switch t.kind {
	case lastRoot, lastDot:
		in = t.dir
	case lastDotDot:
		in = w.s.parent(t.dir)
	default:
		var e Errno
		if in, e = w.s.lookup(w.env, t.dir, t.name); e != OK {
			return Place{}, e
		}
	}
	p := Place{Inode: in.ID}
	if in.is(S_IFLNK) && (follow || t.slash) {
		var e Errno
		if p, e = w.follow(t.dir, in); e != OK {
			return Place{}, e
		}
	}
	if t.slash && (p.Inode == 0 || !w.s.inode(p.Inode).isDir()) {
		return Place{}, ENOTDIR
	}
	return p, OK
}

// follow resolves a symbolic link found in dir.
func (w *walker) follow(dir, link *Inode) (Place, Errno) {
	if w.links++; w.links > maxLinks {
		return Place{}, ELOOP
	}
	if link.Synth != "" {
		attr, e := w.env.Synth.Lookup(link.Synth)
		if e != OK {
			return Place{}, e
		}
		if attr.File != 0 || attr.Inode != 0 {
			return Place{Inode: attr.Inode, File: attr.File}, OK
		}
		return w.resolve(dir, attr.Target, true)
	}
	target, e := w.s.target(w.env, link)
	if e != OK {
		return Place{}, e
	}
	return w.resolve(dir, target, true)
}

// target reads a symbolic link.
func (s *State) target(env *Env, link *Inode) (string, Errno) {
	if link.Synth != "" {
		attr, e := env.Synth.Lookup(link.Synth)
		return attr.Target, e
	}
	if link.Target == "" && link.Layer != NoLayer {
		t, e := env.Base.Readlink(link.Layer, link.Path)
		if e != OK {
			return "", e
		}
		link.Target = t
	}
	return link.Target, OK
}

// parent is what .. means.
func (s *State) parent(in *Inode) *Inode {
	if in.ID == rootInode {
		return in
	}
	return s.inode(in.Parent)
}
