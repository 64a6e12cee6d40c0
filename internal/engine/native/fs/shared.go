package fs

import (
	"fmt"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
)

// firstShared is the number of the first inode of what nodes share: above all numbers of a node's own.
const firstShared = InodeID(1) << 44

// Shared is the volumes that several nodes of a world mount, each one tree that all of them see. It lies on no node's disk: no
// fault is injected into it, and what was written stays when a node loses its power. The mount of volume v is -v in its inodes.
type Shared struct {
	Inodes    map[InodeID]*Inode
	LastInode InodeID
	Roots     []InodeID // of volume i+1; 0: not mounted yet
	UsedBytes int64     // allocated, in whole pages
	Linked    map[Origin]InodeID
	Life      int // how often the programs of any node were killed by a fault

	members []*State
}

// NewShared makes volumes, which are empty until a node mounts them.
func NewShared(volumes int) *Shared {
	return &Shared{Inodes: map[InodeID]*Inode{}, LastInode: firstShared - 1, Roots: make([]InodeID, volumes)}
}

// Join makes a node see the volumes. A State that was stored joins again, with the number that it had.
func (s *State) Join(c *Shared, member int) {
	s.common, s.Member = c, member
	for len(c.members) <= member {
		c.members = append(c.members, nil)
	}
	c.members[member] = s
}

// Killed notes that a fault has killed the machine's programs.
func (s *State) Killed() {
	s.Life++
	if s.common != nil {
		s.common.Life++
		s.SharedLife = s.common.Life
	}
}

// FromBefore reports whether a file was written, and last before a fault has killed the machine's programs.
func (s *State) FromBefore(id InodeID) bool {
	in, life := s.inode(id), s.Life
	if in.Mount < 0 {
		life = s.SharedLife
	}
	return in.Blob != 0 && !in.Served && in.Life < life
}

// InShared reports whether an inode is seen by several nodes.
func InShared(id InodeID) bool { return id >= firstShared }

// lookupInode returns an inode, or nil if there is none.
func (s *State) lookupInode(id InodeID) *Inode {
	if InShared(id) && s.common != nil {
		return s.common.Inodes[id]
	}
	return s.Inodes[id]
}

// MountIndex returns the index in Mounts of the mount that an inode lies on. If the node has mounted a volume twice, it
// prefers a writable mount.
func (s *State) MountIndex(in *Inode) int {
	if in.Mount >= 0 {
		return in.Mount
	}
	of := func(m Mount) bool { return m.Shared == -in.Mount }
	if i := slices.IndexFunc(s.Mounts, func(m Mount) bool { return of(m) && !m.ReadOnly }); i >= 0 {
		return i
	}
	i := slices.IndexFunc(s.Mounts, of)
	if i < 0 {
		panic(fmt.Sprintf("fs: inode %d lies on no mount of this node", in.ID))
	}
	return i
}

func (in *Inode) mountOf(s *State) *Mount { return &s.Mounts[s.MountIndex(in)] }

// place gives the directory and the name of an inode as this node sees it.
func (in *Inode) place(s *State) (InodeID, string) {
	if in.MountRoot && in.Mount < 0 {
		m := in.mountOf(s)
		return m.Parent, m.Name
	}
	return in.Parent, in.Name
}

// links are the files of an inode's layer that have several names.
func (in *Inode) links(s *State) *map[Origin]InodeID {
	if in.Mount < 0 {
		return &s.common.Linked
	}
	return &s.Linked
}

// watching is the node that a watcher belongs to.
func (s *State) watching(w Watcher) *State {
	if s.common == nil {
		return s
	}
	return s.common.members[w.Member]
}

// mountShared mounts a volume that other nodes have too. The first one to do so says what it begins with.
func (s *State) mountShared(env *Env, v Volume) error {
	dir, name, e := s.furnish(env, v.Target)
	if e != errno.OK {
		return fmt.Errorf("volume %s: %w", v.Target, e)
	}
	if dir.Synth != "" {
		return fmt.Errorf("volume %s: %w", v.Target, errno.EPERM)
	}
	root := &s.common.Roots[v.Shared-1]
	if *root == 0 {
		in := Inode{Mount: -v.Shared, Mode: S_IFDIR | 0o755, Layer: NoLayer, MountRoot: true, Nlink: 1}
		(&in).stamp(s, s.Config.StartNs)
		if v.Layer != NoLayer {
			attr, e := env.Base.Lstat(v.Layer, "")
			if e != errno.OK {
				return fmt.Errorf("volume %s: %s: %w", v.Target, s.Config.Layers[v.Layer], e)
			}
			(&in).describe(s, attr, v.Layer, "")
		}
		made, e := s.create(env, in)
		if e != errno.OK {
			return fmt.Errorf("volume %s: %w", v.Target, e)
		}
		made.Parent, *root = made.ID, made.ID
	}
	if e := dir.mountAt(s, env, name, s.inode(*root)); e != errno.OK {
		return fmt.Errorf("volume %s: %w", v.Target, e)
	}
	s.Mounts = append(s.Mounts, Mount{Target: v.Target, Dev: 0x800 + uint64(len(s.Mounts)) + 1, Layer: v.Layer,
		ReadOnly: v.ReadOnly, Shared: v.Shared, Parent: dir.ID, Name: name})
	return nil
}

// mountAt makes a name lead to the root of a mount. In a folder that nodes share it does so for this node alone: the others see
// a folder, or a file, that is empty.
func (dir *Inode) mountAt(s *State, env *Env, name string, root *Inode) errno.Errno {
	if dir.Mount >= 0 {
		if covered := s.Inodes[dir.Entries[name]]; covered != nil {
			covered.cover(s)
		}
		if dir.Entries == nil {
			dir.Entries = map[string]InodeID{}
		}
		dir.Entries[name] = root.ID
		return errno.OK
	}
	switch _, e := dir.lookup(s, env, name); e {
	case errno.OK:
	case errno.ENOENT:
		if _, e := dir.make(s, env, name, Inode{Mode: root.Mode&S_IFMT | 0o755}); e != errno.OK {
			return e
		}
	default:
		return e
	}
	if s.Over[dir.ID] == nil {
		if s.Over == nil {
			s.Over = map[InodeID]map[string]InodeID{}
		}
		s.Over[dir.ID] = map[string]InodeID{}
	}
	s.Over[dir.ID][name] = root.ID
	return errno.OK
}
