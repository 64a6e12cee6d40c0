package fs

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
)

// Everything that changes the durable part of a State passes through the functions of this file.

// create puts an inode into the table.
func (s *State) create(env *Env, in Inode) (*Inode, errno.Errno) {
	if in.Mount < 0 {
		c := s.common
		if len(c.Inodes) >= s.Config.Inodes {
			return nil, errno.ENOSPC
		}
		c.LastInode++
		in.ID = c.LastInode
		c.Inodes[in.ID] = &in
		return &in, errno.OK
	}
	if len(s.Inodes)-len(s.Synths) >= s.Config.Inodes {
		return nil, errno.ENOSPC
	}
	s.LastInode++
	in.ID = s.LastInode
	s.Inodes[in.ID] = &in
	return &in, errno.OK
}

// enter makes name in dir lead to an inode.
func (dir *Inode) enter(s *State, name string, in *Inode) {
	if dir.Entries == nil {
		dir.Entries = map[string]InodeID{}
	}
	dir.Entries[name] = in.ID
	in.Parent, in.Name = dir.ID, name
}

// leave takes a name out of dir, and one link from its inode.
func (dir *Inode) leave(s *State, env *Env, name string, in *Inode) {
	dir.unname(s, name)
	in.CtimeNs = env.NowNs
	if in.isDir() {
		s.inode(in.Parent).Refs++ // so that .. continues to lead there
		in.Nlink = 0
	} else {
		in.Nlink--
	}
	in.drop(s, env)
}

// unname removes an entry of dir. Where the base may still have the name, a whiteout stays.
func (dir *Inode) unname(s *State, name string) {
	if dir.Layer != NoLayer && !dir.Loaded {
		dir.Entries[name] = 0
	} else {
		delete(dir.Entries, name)
	}
}

// drop forgets an inode that nothing refers to.
func (in *Inode) drop(s *State, env *Env) {
	if in.Nlink+in.Unseen > 0 || in.Refs > 0 || in.Synth != "" {
		return
	}
	in.notify(s, IN_DELETE_SELF, 0, "")
	in.unwatch(s)
	if in.Held > 0 {
		return
	}
	in.discard(s, env)
	if in.Mount < 0 {
		delete(s.common.Inodes, in.ID)
	} else {
		delete(s.Inodes, in.ID)
	}
	delete(*in.links(s), in.Same)
	if in.is(S_IFSOCK) {
		s.Gone = append(s.Gone, in.ID)
	}
	if in.isDir() {
		s.Unref(env, in.Parent)
	}
}

// TakeGone gives the inodes of sockets that went since the last call.
func (s *State) TakeGone() []InodeID {
	g := s.Gone
	s.Gone = nil
	return g
}

// changed notes that an inode's attributes changed.
func (in *Inode) changed(s *State, env *Env) {
	in.CtimeNs = env.NowNs
	in.tell(s, IN_ATTRIB)
}

// touched notes that the names in a directory or the bytes of a file changed.
func (in *Inode) touched(s *State, env *Env) {
	in.MtimeNs, in.CtimeNs, in.Dirty = env.NowNs, env.NowNs, true
}

func (in *Inode) stamp(s *State, ns int64) {
	in.AtimeNs, in.MtimeNs, in.CtimeNs, in.BtimeNs = ns, ns, ns, ns
}

// own makes sure that a regular file has a blob with its content.
func (in *Inode) own(s *State, env *Env) errno.Errno {
	if in.Blob != 0 {
		return errno.OK
	}
	pages := int64(0)
	if in.Layer != NoLayer {
		pages = (in.Size + pageBytes - 1) / pageBytes
	}
	if pages > in.freePages(s) {
		return errno.ENOSPC
	}
	id := env.NewBlob()
	if e := env.Blobs.Create(id); e != errno.OK {
		return e
	}
	if pages > 0 {
		if e := env.Blobs.CopyFromBase(id, env.Base, in.Layer, in.Path, in.Size); e != errno.OK {
			env.Blobs.Free(id)
			return e
		}
		in.account(s, in.allocate(0, pages))
	}
	in.Blob, in.Layer, in.Path = id, NoLayer, ""
	return errno.OK
}

// discard gives up the bytes of an inode.
func (in *Inode) discard(s *State, env *Env) {
	if !in.is(S_IFREG) {
		return
	}
	if u := in.Unsynced; u != nil {
		in.forgetData(s, func(int64) bool { return true })
		if u.Seen != 0 {
			env.Blobs.Free(u.Seen)
		}
		in.Unsynced = nil
	}
	if in.Blob != 0 {
		env.Blobs.Free(in.Blob)
		delete(s.ByBlob, in.Blob)
		in.Stores = false
		in.account(s, -in.pages())
	}
	in.Blob, in.Extents, in.Layer, in.Path, in.Size = 0, nil, NoLayer, "", 0
}

// resize sets the size of a regular file.
func (in *Inode) resize(s *State, env *Env, size int64) errno.Errno {
	if !in.journals(s) && (size == 0 && in.Refs == 0 && !in.Mapped || size == 0 && in.Blob == 0) {
		in.discard(s, env)
		return errno.OK
	}
	if e := in.own(s, env); e != errno.OK {
		return e
	}
	if e := in.noteData(s, env, size, in.Size, size, true); e != errno.OK {
		return e
	}
	if e := env.Blobs.Truncate(in.Blob, size); e != errno.OK {
		return e
	}
	if u := in.Unsynced; u != nil && u.Seen != 0 {
		if e := env.Blobs.Truncate(u.Seen, size); e != errno.OK {
			return e
		}
	}
	if size < in.Size {
		in.account(s, -in.release((size+pageBytes-1)/pageBytes, maxFileBytes))
	}
	in.Size = size
	return errno.OK
}

// writeAt writes to a regular file; at the quota it writes less, or answers ENOSPC.
func (in *Inode) writeAt(s *State, env *Env, p []byte, off int64) (int, errno.Errno) {
	if len(p) == 0 {
		return 0, errno.OK
	}
	if off >= maxFileBytes {
		return 0, errno.EFBIG
	}
	if e := in.own(s, env); e != errno.OK {
		return 0, e
	}
	end := min(off+int64(len(p)), maxFileBytes)
	to := in.roomFor(s, off/pageBytes, (end+pageBytes-1)/pageBytes)
	if end = min(end, to*pageBytes); end <= off {
		return 0, errno.ENOSPC
	}
	in.Life = s.Life
	if in.Mount < 0 {
		in.Life = s.common.Life
	}
	if e := in.noteData(s, env, off, end, max(in.Size, end), false); e != errno.OK {
		return 0, e
	}
	n, e := env.Blobs.WriteAt(in.Blob, p[:end-off], off)
	if n == 0 {
		return 0, e
	}
	end = off + int64(n)
	in.account(s, in.allocate(off/pageBytes, (end+pageBytes-1)/pageBytes))
	in.Size = max(in.Size, end)
	in.warm(off, end)
	return n, in.saw(env, off, end)
}

// punch makes a range of a regular file read as zeros.
func (in *Inode) punch(s *State, env *Env, off, size int64, keepAllocated bool) errno.Errno {
	if e := in.own(s, env); e != errno.OK {
		return e
	}
	if e := in.noteData(s, env, off, off+size, in.Size, true); e != errno.OK {
		return e
	}
	if e := env.Blobs.PunchHole(in.Blob, off, size); e != errno.OK {
		return e
	}
	if u := in.Unsynced; u != nil && u.Seen != 0 {
		if e := env.Blobs.PunchHole(u.Seen, off, size); e != errno.OK {
			return e
		}
	}
	if !keepAllocated {
		from, to := (off+pageBytes-1)/pageBytes, (off+size)/pageBytes
		if from < to {
			in.account(s, -in.release(from, to))
		}
	}
	return errno.OK
}

// roomFor returns up to which page a write of [from, to) can go.
func (in *Inode) roomFor(s *State, from, to int64) int64 {
	room := in.affordable(from, to, in.freePages(s))
	if s.full(in.Mount) && !in.Memory {
		if none := in.affordable(from, to, 0); none < room {
			s.Noticed = append(s.Noticed, s.Full)
			return none
		}
	}
	return room
}

// full reports whether a fault has filled the disk that a mount lies on.
func (s *State) full(mount int) bool {
	return s.Full != 0 && mount >= 0 && s.Mounts[mount].Type == Disk
}

// freePages is how much an inode may grow.
func (in *Inode) freePages(s *State) int64 {
	if in.Mount < 0 {
		return (s.Config.QuotaBytes - s.common.UsedBytes) / pageBytes
	}
	free := s.Config.QuotaBytes - s.UsedBytes
	if m := &s.Mounts[in.Mount]; m.SizeBytes > 0 && !in.Memory {
		free = min(free, m.SizeBytes-m.UsedBytes)
	}
	return free / pageBytes
}

// account notes that pages were given to an inode, or taken from it.
func (in *Inode) account(s *State, pages int64) {
	if in.Mount < 0 {
		s.common.UsedBytes += pages * pageBytes
		return
	}
	s.UsedBytes += pages * pageBytes
	if in.Memory {
		s.MemfdBytes += pages * pageBytes
	} else {
		s.Mounts[in.Mount].UsedBytes += pages * pageBytes
	}
}

// inMemory reports whether the bytes of an inode lie in the node's memory, and not on a disk.
func (in *Inode) inMemory(s *State) bool {
	return in.Memory || in.Mount >= 0 && s.Mounts[in.Mount].Type == Tmpfs
}

// WrittenBytes is how much memory was given to the files of memfd_create(2) and on a tmpfs by calls.
func (s *State) WrittenBytes() int64 {
	total := s.MemfdBytes
	for i := range s.Mounts {
		if s.Mounts[i].Type == Tmpfs {
			total += s.Mounts[i].UsedBytes
		}
	}
	return total
}

// MemoryBytes is how much of the node's memory its files take: those of memfd_create(2) and on a tmpfs. allocated reports how
// much a blob really has, since not all writes to files that are mapped are seen here.
func (s *State) MemoryBytes(allocated func(BlobID) int64) int64 {
	total := s.WrittenBytes()
	s.MappedMemory = slices.DeleteFunc(s.MappedMemory, func(id InodeID) bool { return s.Inodes[id] == nil })
	for _, id := range s.MappedMemory {
		if in := s.inode(id); in.Blob != 0 {
			total += max(allocated(in.Blob)-in.pages()*pageBytes, 0)
		}
	}
	return total
}
