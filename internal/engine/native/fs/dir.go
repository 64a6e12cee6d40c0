package fs

import (
	"path"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
)

// lookup finds a name in a directory; . and .. are not names. The caller has checked the right to search.
func (dir *Inode) lookup(s *State, env *Env, name string) (*Inode, errno.Errno) {
	if len(name) > maxNameBytes {
		return nil, errno.ENAMETOOLONG
	}
	if dir.Synth != "" {
		path := dir.Synth + "/" + name
		attr, e := env.Synth.Lookup(path)
		if e != errno.OK {
			return nil, e
		}
		in := s.synthInode(path, attr)
		in.Mount, in.Parent, in.Name = dir.Mount, dir.ID, name
		return in, errno.OK
	}
	if dir.Lost != nil && dir.Lost.Names[name] {
		dir.notice(s)
	}
	if id, ok := s.Over[dir.ID][name]; ok {
		return s.inode(id), errno.OK
	}
	if id, ok := dir.Entries[name]; ok {
		if id == 0 {
			return nil, errno.ENOENT
		}
		return s.inode(id), errno.OK
	}
	if dir.Layer == NoLayer || dir.Loaded || Hides(env.Base, dir.Layer, dir.Path, name) {
		return nil, errno.ENOENT
	}
	return dir.adopt(s, env, name)
}

// StateFolder is where runs keep their own files; other runs change all its files but its bin folder.
const StateFolder = ".bloodhound"

// Hides reports whether nodes do not see a name in a folder of a layer. Of a state folder they see bin alone. They do not see
// one without programs in bin: runs make, fill and remove it.
func Hides(base Base, layer int, dir, name string) bool {
	if path.Base(dir) == StateFolder {
		return name != "bin"
	}
	if name != StateFolder {
		return false
	}
	bin := path.Join(dir, name, "bin")
	if _, e := base.Lstat(layer, bin); e != errno.OK {
		return true
	}
	programs, e := base.ReadDir(layer, bin)
	return e == errno.OK && len(programs) == 0
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// adopt makes an inode for a base name.
func (dir *Inode) adopt(s *State, env *Env, name string) (*Inode, errno.Errno) {
	path := join(dir.Path, name)
	attr, e := env.Base.Lstat(dir.Layer, path)
	if e == errno.ENOTDIR {
		e = errno.ENOENT
	}
	if e != errno.OK {
		return nil, e
	}
	from := Origin{Layer: dir.Layer, Path: attr.Same}
	links := dir.links(s)
	if known := s.lookupInode((*links)[from]); known != nil && attr.Same != "" {
		known.Nlink++
		known.Unseen--
		dir.enter(s, name, known)
		return known, errno.OK
	}
	in := Inode{Mount: dir.Mount, Nlink: 1}
	(&in).describe(s, attr, dir.Layer, path)
	if attr.Same != "" {
		in.Same, in.Unseen = from, attr.Nlink-1
	}
	made, e := s.create(env, in)
	if e != errno.OK {
		return nil, errno.ENOMEM
	}
	if attr.Same != "" {
		if *links == nil {
			*links = map[Origin]InodeID{}
		}
		(*links)[from] = made.ID
	}
	dir.enter(s, name, made)
	return made, errno.OK
}

// describe fills an inode with what the base says.
func (in *Inode) describe(s *State, attr BaseAttr, layer int, path string) {
	in.Mode, in.UID, in.GID, in.Rdev = attr.Mode, attr.UID, attr.GID, attr.Rdev
	in.Layer, in.Path = layer, path
	in.Nlink = 1
	in.stamp(s, s.Config.StartNs)
	if in.is(S_IFREG) {
		in.Size = attr.Size
		if !s.undated(layer, path) {
			in.stamp(s, attr.MtimeNs/1e9*1e9)
		}
	}
	if in.is(S_IFLNK) {
		in.Size = attr.Size
	}
}

func (s *State) undated(layer int, path string) bool {
	name := s.HostPath(layer, path)
	return slices.ContainsFunc(s.Config.Undated, func(u string) bool { return name == u || strings.HasPrefix(name, u+"/") })
}

// synthInode gives the inode of a name in /proc or /sys.
func (s *State) synthInode(path string, attr SynthAttr) *Inode {
	in := s.Inodes[s.Synths[path]]
	if in == nil {
		if len(s.Synths) >= maxSynths {
			s.forgetSynths()
		}
		s.LastSynth++
		in = &Inode{ID: s.LastSynth, Synth: path, Layer: NoLayer, Nlink: 1}
		in.stamp(s, s.Config.StartNs)
		s.Inodes[in.ID] = in
		s.Synths[path] = in.ID
	}
	in.Mode, in.UID, in.GID, in.Size = attr.Mode, attr.UID, attr.GID, 0
	if in.is(S_IFLNK) {
		in.Size = int64(len(attr.Target))
	}
	return in
}

// forgetSynths drops the names of /proc and /sys that no descriptor holds.
func (s *State) forgetSynths() {
	keep := map[InodeID]bool{}
	for _, id := range s.Synths {
		if in := s.Inodes[id]; in.Refs > 0 {
			for ; in != nil && in.Synth != "" && !keep[in.ID]; in = s.Inodes[in.Parent] {
				keep[in.ID] = true
			}
		}
	}
	for path, id := range s.Synths {
		if !keep[id] {
			delete(s.Inodes, id)
			delete(s.Synths, path)
		}
	}
}

// load makes all base names of a directory entries.
func (dir *Inode) load(s *State, env *Env) errno.Errno {
	if dir.Loaded || dir.Layer == NoLayer {
		return errno.OK
	}
	names, e := env.Base.ReadDir(dir.Layer, dir.Path)
	if e != errno.OK {
		return e
	}
	slices.Sort(names)
	for _, name := range names {
		if _, known := dir.Entries[name]; known || Hides(env.Base, dir.Layer, dir.Path, name) {
			continue
		}
		if _, e := dir.adopt(s, env, name); e == errno.ENOMEM {
			return e
		}
	}
	for name, id := range dir.Entries {
		if id == 0 {
			delete(dir.Entries, name)
		}
	}
	dir.Loaded = true
	return errno.OK
}

// DirEntry is one name of a directory.
type DirEntry struct {
	Name  string
	Inode InodeID
	Mode  uint32 // type
}

// ReadDir lists a directory: . and .., then its names in order. A caller that hands out the list piece by piece keeps
// it: later changes must not shift it.
func (s *State) ReadDir(env *Env, id InodeID) ([]DirEntry, errno.Errno) {
	dir := s.inode(id)
	if !dir.isDir() {
		return nil, errno.ENOTDIR
	}
	if dir.Nlink == 0 {
		return nil, errno.ENOENT
	}
	list := []DirEntry{{".", dir.ID, S_IFDIR}, {"..", dir.parent(s).ID, S_IFDIR}}
	if dir.Synth != "" {
		names, e := env.Synth.ReadDir(dir.Synth)
		if e != errno.OK {
			return nil, e
		}
		names = slices.Clone(names)
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			if in, e := dir.lookup(s, env, name); e == errno.OK {
				list = append(list, DirEntry{name, in.ID, in.Mode & S_IFMT})
			}
		}
		return list, errno.OK
	}
	if e := dir.load(s, env); e != errno.OK {
		return nil, e
	}
	for _, name := range dir.names() {
		id := dir.Entries[name]
		if over, ok := s.Over[dir.ID][name]; ok {
			id = over
		}
		in := s.inode(id)
		list = append(list, DirEntry{name, in.ID, in.Mode & S_IFMT})
	}
	dir.tell(s, IN_ACCESS)
	return list, errno.OK
}

// names lists the entries of a directory in order, without whiteouts.
func (in *Inode) names() []string {
	names := make([]string, 0, len(in.Entries))
	for name, id := range in.Entries {
		if id != 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// empty answers ENOTEMPTY for a directory with names.
func (dir *Inode) empty(s *State, env *Env) errno.Errno {
	if e := dir.load(s, env); e != errno.OK {
		return e
	}
	for _, id := range dir.Entries {
		if id != 0 {
			return errno.ENOTEMPTY
		}
	}
	return errno.OK
}
