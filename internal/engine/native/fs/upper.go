package fs

import (
	"maps"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
)

// Upper is one name of a tree that is not what its root layer has there.
type Upper struct {
	Path string // relative to the root; that one is ""
	// Whiteout: the layer's name is gone. Opaque: a new folder is in the place of the layer's own.
	Whiteout, Opaque bool
	Inode            *Inode // nil of a whiteout
	Target           string // of a symbolic link
	First            string // the path under which the same file came before, or empty
}

// Upper visits what a node's programs have made of the root layer, folders before what is in them and names in order: overlayfs
// keeps the same in its upper folder. Mounts, and files that the engine serves, are left out.
func (s *State) Upper(env *Env, visit func(*Upper) error) error {
	return s.upper(env, s.inode(rootInode), s.Config.Root, visit)
}

// UpperOfMounts is Upper for what is mounted, in the order of Mounts: names are relative to the mount, whose layer is compared.
func (s *State) UpperOfMounts(env *Env, visit func(m *Mount, u *Upper) error) error {
	for i := 1; i < len(s.Mounts); i++ {
		m := &s.Mounts[i]
		if m.Type != Disk && m.Type != Tmpfs {
			continue
		}
		at, e := s.Walk(env, rootInode, m.Target, false)
		if e != errno.OK || !s.inode(at.Inode).isDir() || s.inode(at.Inode).Synth != "" {
			continue
		}
		if err := s.upper(env, s.inode(at.Inode), m.Layer, func(u *Upper) error { return visit(m, u) }); err != nil {
			return err
		}
	}
	return nil
}

func (s *State) upper(env *Env, root *Inode, layer int, visit func(*Upper) error) error {
	w := &upper{s: s, env: env, layer: layer, visit: visit, seen: map[InodeID]string{}}
	if root.ID == rootInode && w.altered(root, "") {
		if err := visit(&Upper{Inode: root}); err != nil {
			return err
		}
	}
	return w.folder(root, "")
}

type upper struct {
	s     *State
	env   *Env
	layer int
	visit func(*Upper) error
	seen  map[InodeID]string // files with several names, by the first of them
}

// base is what the layer has at a path.
func (w *upper) base(path string) (BaseAttr, bool) {
	if w.layer == NoLayer {
		return BaseAttr{}, false
	}
	attr, e := w.env.Base.Lstat(w.layer, path)
	return attr, e == errno.OK
}

// isBase reports whether a name still is the one of the layer at its path.
func (w *upper) isBase(in *Inode, path string) bool {
	if in.Layer == NoLayer || in.Layer != w.layer {
		return false
	}
	if in.Path == path {
		return true
	}
	attr, ok := w.base(path)
	return ok && in.Same.Path != "" && attr.Same == in.Same.Path
}

// altered reports whether an inode is not as the root layer has it at its path.
func (w *upper) altered(in *Inode, path string) bool {
	if !w.isBase(in, path) || in.Blob != 0 || len(in.Xattrs) > 0 {
		return true
	}
	attr, ok := w.base(path)
	return !ok || in.Mode != attr.Mode || in.UID != attr.UID || in.GID != attr.GID ||
		in.is(S_IFREG) && in.MtimeNs != attr.MtimeNs/1e9*1e9 && !w.s.undated(in.Layer, path)
}

func (w *upper) folder(dir *Inode, path string) error {
	below := dir.Layer != NoLayer // it has names in a layer
	own := below && w.isBase(dir, path)
	if below && !own {
		if e := dir.load(w.s, w.env); e != errno.OK {
			return e
		}
	}
	names := slices.Collect(maps.Keys(dir.Entries))
	if own && dir.Loaded { // such a folder keeps no entry for what is gone
		all, e := w.env.Base.ReadDir(dir.Layer, dir.Path)
		if e != errno.OK {
			return e
		}
		for _, name := range all {
			if _, ok := dir.Entries[name]; !ok && !Hides(w.env.Base, dir.Layer, dir.Path, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if err := w.name(dir, own, join(path, name), name); err != nil {
			return err
		}
	}
	return nil
}

func (w *upper) name(dir *Inode, own bool, path, name string) error {
	id := dir.Entries[name]
	if id == 0 {
		if _, there := w.base(path); own && there {
			return w.visit(&Upper{Path: path, Whiteout: true})
		}
		return nil
	}
	in := w.s.inode(id)
	if in.MountRoot || in.Synth != "" || w.served(in) {
		return nil
	}
	if w.altered(in, path) {
		u := &Upper{Path: path, Inode: in}
		if in.isDir() && own && !w.isBase(in, path) {
			attr, there := w.base(path)
			u.Opaque = there && attr.Mode&S_IFMT == S_IFDIR
		}
		if in.is(S_IFLNK) {
			var e errno.Errno
			if u.Target, e = in.target(w.s, w.env); e != errno.OK {
				return e
			}
		}
		if !in.isDir() {
			u.First = w.seen[id]
			if u.First == "" {
				w.seen[id] = path
			}
		}
		if err := w.visit(u); err != nil {
			return err
		}
	}
	if in.isDir() {
		return w.folder(in, path)
	}
	return nil
}

// served reports whether an inode is the engine's own, or a folder that was made for such alone.
func (w *upper) served(in *Inode) bool {
	if !in.isDir() || in.Layer != NoLayer {
		return in.Served
	}
	any := false
	for _, id := range in.Entries {
		if id == 0 {
			continue
		}
		if child := w.s.inode(id); !child.MountRoot && !w.served(child) {
			return false
		}
		any = true
	}
	return any
}
