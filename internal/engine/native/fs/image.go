package fs

import (
	"maps"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/clone"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
)

// Image is a copy of a node's disk at one moment, with all writes that had completed, as if syncfs(2) had come before it. Nothing that
// lies in memory is part of it, and nothing that programs hold: open files, locks, watches. Volumes that nodes share are not part either.
type Image struct{ Tree *State }

// copyBuffer is how much of a file is copied at a time.
const copyBuffer = 1 << 20

// TakeImage copies the disk.
func (s *State) TakeImage(env *Env) (*Image, errno.Errno) {
	if e := s.ObserveAll(env); e != errno.OK {
		return nil, e
	}
	tree, e := s.copyTree(env)
	if e != errno.OK {
		return nil, e
	}
	return &Image{tree}, errno.OK
}

// copyTree copies a tree as its disk has it, with blobs of its own.
func (s *State) copyTree(env *Env) (*State, errno.Errno) {
	common := s.common
	s.common = nil
	tree := clone.Deep(s)
	s.common, tree.common = common, common
	tree.Gone, tree.Ready, tree.Noticed, tree.MappedMemory = nil, nil, nil, nil
	tree.Journal = Journal{Profile: s.Journal.Profile}
	for _, id := range slices.Sorted(maps.Keys(tree.Inodes)) {
		in := tree.Inodes[id]
		in.Unsynced, in.Lost, in.Dirty, in.SyncErrors = nil, nil, false, 0
		if in.Blob == 0 {
			continue
		}
		from := in.Blob
		in.Blob = env.NewBlob()
		if e := copyBlob(env, in.Blob, from, in.Size); e != errno.OK {
			return nil, e
		}
	}
	tree.emptyMemory()
	tree.recount(env)
	tree.Gone, tree.common = nil, nil
	return tree, errno.OK
}

// copyBlob fills a new blob with the first size bytes of another one. Holes stay holes.
func copyBlob(env *Env, to, from BlobID, size int64) errno.Errno {
	if e := env.Blobs.Create(to); e != errno.OK {
		return e
	}
	if e := env.Blobs.Truncate(to, size); e != errno.OK {
		return e
	}
	buffer := make([]byte, min(copyBuffer, size))
	for off := env.Blobs.NextData(from, 0); off >= 0 && off < size; off = env.Blobs.NextData(from, off) {
		n, e := env.Blobs.ReadAt(from, buffer[:min(int64(len(buffer)), size-off)], off)
		if e != errno.OK || n == 0 {
			return e
		}
		for part := buffer[:n]; len(part) > 0; {
			wrote, e := env.Blobs.WriteAt(to, part, off)
			if e != errno.OK {
				return e
			}
			off, part = off+int64(wrote), part[wrote:]
		}
	}
	return errno.OK
}

// Restore gives the disk the content of an image, which can be restored again. All programs of the node must be gone. id is the number of
// the fault: what differs from before counts as lost by it, for Losses and for programs that look at it.
func (s *State) Restore(env *Env, image *Image, id int) errno.Errno {
	if e := s.ObserveAll(env); e != errno.OK {
		return e
	}
	image.Tree.common = s.common
	tree, e := image.Tree.copyTree(env)
	image.Tree.common = nil
	if e != errno.OK {
		return e
	}
	before := s.written()
	for _, number := range slices.Sorted(maps.Keys(s.Inodes)) {
		old := s.Inodes[number]
		if old.is(S_IFSOCK) && tree.Inodes[number] == nil {
			tree.Gone = append(tree.Gone, number)
		}
		if old.Blob != 0 {
			env.Blobs.Free(old.Blob)
		}
		if old.Unsynced != nil && old.Unsynced.Seen != 0 {
			env.Blobs.Free(old.Unsynced.Seen)
		}
	}
	// Numbers are never used again, and the machine keeps its own history.
	tree.LastInode, tree.LastSynth = max(tree.LastInode, s.LastInode), max(tree.LastSynth, s.LastSynth)
	tree.LastNotify, tree.Cookie = s.LastNotify, s.Cookie
	tree.Life, tree.SharedLife, tree.Full, tree.SyncsFail = s.Life, s.SharedLife, s.Full, s.SyncsFail
	tree.Gone = append(s.Gone, tree.Gone...)
	maps.Copy(tree.Opened, s.Opened)
	tree.Journal.On = s.Journal.On
	tree.common, tree.Member = s.common, s.Member
	*s = *tree
	s.noteRestored(env, id, before)
	s.chill()
	return errno.OK
}

// writing describes how programs have changed a folder or a file of the disk.
type writing struct {
	names   map[string]InodeID // of a folder: names that no layer has, and 0 for those that are gone
	size    int64
	mtimeNs int64
	extents []Extent
}

// written returns what programs have written, by path.
func (s *State) written() map[string]writing {
	all := map[string]writing{}
	for id, in := range s.Inodes {
		if in.Synth != "" || in.Served || in.Memory || in.Mount < 0 || s.Mounts[in.Mount].Type != Disk {
			continue
		}
		w := writing{size: in.Size, mtimeNs: in.MtimeNs, extents: in.Extents}
		for name, child := range in.Entries {
			if c := s.lookupInode(child); c == nil || c.Layer == NoLayer && !c.MountRoot && c.Synth == "" {
				if w.names == nil {
					w.names = map[string]InodeID{}
				}
				w.names[name] = child
			}
		}
		if in.Blob == 0 && len(w.names) == 0 {
			continue
		}
		if path := s.Name(id); path != "" {
			all[path] = w
		}
	}
	return all
}

// noteRestored notes what programs that look at the disk will find changed.
func (s *State) noteRestored(env *Env, id int, before map[string]writing) {
	after := s.written()
	paths := maps.Clone(before)
	maps.Copy(paths, after)
	there := map[string]*Inode{} // found before anything is noted, since whoever looks has noticed
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if at, e := s.Walk(env, rootInode, path, false); e == errno.OK {
			there[path] = s.inode(at.Inode)
		}
	}
	for path, in := range there {
		was, is := before[path], after[path]
		if in.isDir() {
			for _, pair := range [][2]map[string]InodeID{{was.names, is.names}, {is.names, was.names}} {
				for name, child := range pair[0] {
					if other, ok := pair[1][name]; !ok || other != child {
						in.lost(id).Names[name] = true
					}
				}
			}
			continue
		}
		if !in.is(S_IFREG) || in.Size == was.size && in.MtimeNs == was.mtimeNs {
			continue
		}
		l := in.lost(id)
		l.Size = in.Size != was.size
		for _, x := range slices.Concat(was.extents, is.extents) {
			for page := x.From; page < x.To; page++ {
				l.Pages[page] = true
			}
		}
	}
}

// FreeImage gives up the bytes of an image.
func (s *State) FreeImage(env *Env, image *Image) {
	for _, in := range image.Tree.Inodes {
		if in.Blob != 0 {
			env.Blobs.Free(in.Blob)
		}
	}
}
