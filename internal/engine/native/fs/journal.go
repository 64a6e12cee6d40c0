package fs

import (
	"bytes"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
)

// A node's disk keeps what was synchronised; the rest lies in the page cache and in the running transaction, and a power
// loss takes a part of that rest. The Journal notes what is not durable: for each name its earlier inodes, for each page its
// earlier bytes, for each file its earlier sizes and attributes. PowerLoss (loss.go) makes a crash image from the Journal.
//
// What the real file system promises is taken from fsync(2), ext4(5) (data=ordered, auto_da_alloc) and Pillai et al.,
// "All File Systems Are Not Created Equal", OSDI 2014.

// Profile says what a file system promises about what was not synchronised.
type Profile uint8

const (
	// Ext4Ordered is ext4 with data=ordered: changes of names, attributes and truncations become durable in their order,
	// fsync of any file makes all earlier ones durable, a rename over a file brings the data of the new one along, and a
	// file does not grow over bytes that were not written.
	Ext4Ordered Profile = iota
	// PosixMinimal promises what fsync(2) says and no more: a new name is durable when its directory was synchronised,
	// and each change may be lost on its own.
	PosixMinimal
)

// Journal holds the changes that a node's disk has not made durable yet. It records nothing unless it is On.
type Journal struct {
	On      bool
	Profile Profile
	Seq     int64    // of the last change
	Changes []Change // of names and attributes, and truncations, in their order
	Flushes []Flush
	// Bytes is how much is kept of earlier contents.
	Bytes int64
}

// Change is one change of metadata. Those of one call have the same number: they become durable together.
type Change struct {
	Seq   int64
	Kind  ChangeKind
	Inode InodeID // the directory of a name, or the inode
	Name  string
	Old   InodeID // what the name led to; 0 with Had is a whiteout
	Had   bool
	Attr  *Attributes
}

// ChangeKind says what a Change is of.
type ChangeKind uint8

const (
	NameChange ChangeKind = iota
	AttrChange
	SizeChange // a truncation, a hole, an allocation
)

// Attributes holds the attributes of an inode before a change.
type Attributes struct {
	Mode     uint32
	UID, GID int
	Xattrs   []Xattr
}

// Flush says that the data that an inode had at a time is durable if the changes up to that time are: ext4 does so when
// a file is renamed over another (auto_da_alloc).
type Flush struct {
	Seq   int64
	Inode InodeID
}

// Unsynced holds the changes of a regular file that are not durable.
type Unsynced struct {
	// Pages are the earlier contents of pages, oldest first; the first is what the disk has.
	Pages map[int64][]OldPage
	Sizes []OldSize
	// Meta says that the size or the existence of the file is not durable: fdatasync must commit it.
	Meta bool
	// Failed has what the disk holds of pages that count as clean because a synchronisation failed (see FailSync); nil is
	// zeros. A page is never here and in Pages.
	Failed map[int64][]byte
	// Seen holds the bytes of a file that programs store into through maps, as they were at the last look
	// (mapped.go).
	Seen BlobID
}

// OldPage is one earlier content of a page; nil is zeros.
type OldPage struct {
	Data      []byte
	Until     int64 // the number of the change that ended it
	Truncated bool  // that change is one of Changes: a truncation, not a write
	// Stored says that the change was made through a map: a file may have grown since, and the page not have been
	// written.
	Stored bool
}

// OldSize is one earlier size of a file.
type OldSize struct {
	Size      int64
	Until     int64
	Truncated bool
}

// Limits of what a journal keeps: beyond them the disk writes back by itself, as any kernel does when too much is dirty.
const (
	maxUnsynced = 256 << 20 // bytes of earlier contents
	maxChanges  = 1 << 16
)

// StartJournal begins to note what is not durable. All that is there now is durable.
func (s *State) StartJournal(p Profile) { s.Journal = Journal{On: true, Profile: p} }

// journals reports whether changes of an inode are to be noted: it lies on the disk.
func (in *Inode) journals(s *State) bool {
	return s.Journal.On && in.lasting(s)
}

// lasting is Lasting.
func (in *Inode) lasting(s *State) bool {
	return in.Synth == "" && !in.Memory && in.Mount >= 0 && s.Mounts[in.Mount].Type == Disk
}

// Lasting reports whether an inode, of whatever type, lies on the node's disk.
func (s *State) Lasting(id InodeID) bool { return s.inode(id).lasting(s) }

// atomically begins a change of metadata: those that are noted until the next begin become durable together.
func (s *State) atomically() { s.Journal.Seq++ }

// noteName notes what a name leads to, before it changes.
func (dir *Inode) noteName(s *State, name string) {
	if !dir.journals(s) {
		return
	}
	old, had := dir.Entries[name]
	s.Journal.Changes = append(s.Journal.Changes, Change{Seq: s.Journal.Seq, Kind: NameChange, Inode: dir.ID, Name: name, Old: old, Had: had})
	dir.Held++
	if old != 0 {
		s.inode(old).Held++ // it may come back
	}
}

// noteAttributes notes the attributes of an inode, before they change.
func (in *Inode) noteAttributes(s *State) {
	if !in.journals(s) {
		return
	}
	s.atomically()
	s.Journal.Changes = append(s.Journal.Changes, Change{Seq: s.Journal.Seq, Kind: AttrChange, Inode: in.ID,
		Attr: &Attributes{Mode: in.Mode, UID: in.UID, GID: in.GID, Xattrs: slices.Clone(in.Xattrs)}})
	in.Held++
}

// noteFlush notes that a file takes the place of another by a rename.
func (in *Inode) noteFlush(s *State) {
	if in.journals(s) && in.Unsynced != nil && s.Journal.Profile == Ext4Ordered {
		s.Journal.Flushes = append(s.Journal.Flushes, Flush{Seq: s.Journal.Seq, Inode: in.ID})
	}
}

// noteNew notes that a file was made.
func (in *Inode) noteNew(s *State) {
	if in.journals(s) && in.is(S_IFREG) {
		in.unsynced().Meta = true
	}
}

func (in *Inode) unsynced() *Unsynced {
	if in.Unsynced == nil {
		in.Unsynced = &Unsynced{Pages: map[int64][]OldPage{}}
	}
	return in.Unsynced
}

// noteData notes the bytes of a range and the size of a file, before a write (or, with cut, a truncation to size or a
// hole) changes them.
func (in *Inode) noteData(s *State, env *Env, off, end, size int64, cut bool) errno.Errno {
	if !in.journals(s) {
		return errno.OK
	}
	if e := in.observe(s, env, off, end); e != errno.OK {
		return e
	}
	j, u := &s.Journal, in.unsynced()
	s.atomically()
	if cut {
		j.Changes = append(j.Changes, Change{Seq: j.Seq, Kind: SizeChange, Inode: in.ID})
		in.Held++
		u.Meta = true
	}
	for page := off / pageBytes; page*pageBytes < end; page++ {
		old, e := in.page(s, env, page)
		if e != errno.OK {
			return e
		}
		if disk, failed := u.Failed[page]; failed { // it is dirty again
			old = disk
			delete(u.Failed, page)
		}
		if old == nil && cut && len(u.Pages[page]) == 0 {
			continue // a hole stays a hole
		}
		u.Pages[page] = append(u.Pages[page], OldPage{Data: old, Until: j.Seq, Truncated: cut})
		j.Bytes += int64(len(old))
	}
	if size != in.Size || cut {
		u.Sizes = append(u.Sizes, OldSize{Size: in.Size, Until: j.Seq, Truncated: cut})
		u.Meta = true
	}
	return errno.OK
}

// page reads one page of a file; nil is zeros.
func (in *Inode) page(s *State, env *Env, page int64) ([]byte, errno.Errno) {
	if in.Blob == 0 || !in.has(page) {
		return nil, errno.OK
	}
	p := make([]byte, pageBytes)
	if _, e := env.Blobs.ReadAt(in.Blob, p, page*pageBytes); e != errno.OK {
		return nil, e
	}
	if len(bytes.Trim(p, "\x00")) == 0 {
		return nil, errno.OK
	}
	return p, errno.OK
}

// has reports whether a page is allocated.
func (in *Inode) has(page int64) bool {
	i := in.first(page)
	return i < len(in.Extents) && in.Extents[i].From <= page
}

// Sync answers fsync(2), and fdatasync(2) with dataOnly, for an inode.
func (s *State) Sync(env *Env, id InodeID, dataOnly bool) errno.Errno {
	in := s.inode(id)
	if e := in.observe(s, env, 0, in.Size); e != errno.OK {
		return e
	}
	in.Dirty = false
	if !in.journals(s) {
		in.syncData(s)
		return errno.OK
	}
	commit := !dataOnly || in.isDir() || in.Unsynced != nil && in.Unsynced.Meta // the data of a directory are its names
	in.syncData(s)
	if commit {
		s.commitFor(env, id)
	}
	return errno.OK
}

// commitFor makes the changes of metadata durable that a synchronisation of an inode brings along.
func (s *State) commitFor(env *Env, id InodeID) {
	s.commit(env, func(c *Change) bool { return s.Journal.Profile == Ext4Ordered || c.Inode == id })
}

// FailSync is an fsync(2) whose writes fail. As on Linux the pages count as clean all the same: the page cache
// keeps the new bytes and no later fsync writes them, unless they are written again. The disk keeps what it had, and zeros
// where the file has grown.
func (s *State) FailSync(env *Env, id InodeID) errno.Errno {
	return s.FailRange(env, id, 0, maxFileBytes)
}

// FailRange is FailSync for an msync(2) of a part of a file.
func (s *State) FailRange(env *Env, id InodeID, from, to int64) errno.Errno {
	in := s.inode(id)
	in.SyncErrors++
	s.SyncErrors++
	if e := in.observe(s, env, from, to); e != errno.OK {
		return e
	}
	in.Dirty = false
	if in.Unsynced == nil {
		return errno.OK
	}
	s.commitFor(env, id) // so that no truncation can come back
	if in.Unsynced != nil {
		in.clean(s, from, to, true)
	}
	return errno.OK
}

// clean drops the earlier contents of the pages of a range, which the disk has as they are, or, with failed, as
// they were. The file has at least the size up to which it was written. Its changes of metadata must be durable.
func (in *Inode) clean(s *State, from, to int64, failed bool) {
	u := in.Unsynced
	for page, old := range u.Pages {
		if (page+1)*pageBytes <= from || page*pageBytes >= to {
			continue
		}
		if failed {
			if u.Failed == nil {
				u.Failed = map[int64][]byte{}
			}
			u.Failed[page] = old[0].Data
		}
		for _, o := range old {
			s.Journal.Bytes -= int64(len(o.Data))
		}
		delete(u.Pages, page)
	}
	written := min(to, in.Size)
	var sizes []OldSize // in which the file may be found
	for i, o := range u.Sizes {
		next := in.Size
		if i+1 < len(u.Sizes) {
			next = u.Sizes[i+1].Size
		}
		if written < in.Size && next > written {
			o.Size = max(o.Size, written)
			sizes = append(sizes, o)
		}
	}
	u.Sizes = sizes
	in.Dirty = len(u.Pages) > 0 || len(u.Sizes) > 0
	in.forgetData(s, func(int64) bool { return false }) // lets go of it if all is durable
}

// Changed lists the files that were changed since they were synchronised last, by number.
func (s *State) Changed() []InodeID {
	var list []InodeID
	for id, in := range s.Inodes {
		if in.Dirty {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return list
}

// SyncAll answers sync(2) and syncfs(2).
func (s *State) SyncAll(env *Env) errno.Errno {
	if e := s.ObserveAll(env); e != errno.OK {
		return e
	}
	for _, id := range s.Changed() {
		s.inode(id).Dirty = false
	}
	for _, in := range s.unsynced() {
		in.syncData(s)
	}
	s.commit(env, func(*Change) bool { return true })
	return errno.OK
}

// SyncRange answers msync(2) of a part of a file: its bytes become durable, and the file's size up to there, as by
// fdatasync(2).
func (s *State) SyncRange(env *Env, id InodeID, from, to int64) errno.Errno {
	in := s.inode(id)
	if e := in.observe(s, env, from, to); e != errno.OK {
		return e
	}
	if in.Unsynced == nil {
		in.Dirty = false
		return errno.OK
	}
	if in.journals(s) && in.Unsynced.Meta {
		s.commitFor(env, id)
	}
	if in.Unsynced != nil {
		in.clean(s, from, to, false)
	}
	return errno.OK
}

// unsynced lists the inodes with data that is not durable, by number.
func (s *State) unsynced() []*Inode {
	var list []*Inode
	for _, in := range s.Inodes {
		if in.Unsynced != nil {
			list = append(list, in)
		}
	}
	slices.SortFunc(list, func(a, b *Inode) int { return int(a.ID - b.ID) })
	return list
}

// syncData makes the bytes of a file durable.
func (in *Inode) syncData(s *State) {
	if in.Unsynced != nil {
		in.forgetData(s, func(int64) bool { return true })
	}
}

// forgetData drops the earlier contents and sizes that ended by a change for which ended holds.
func (in *Inode) forgetData(s *State, ended func(seq int64) bool) {
	u := in.Unsynced
	for page, old := range u.Pages {
		kept := slices.DeleteFunc(old, func(o OldPage) bool {
			if ended(o.Until) {
				s.Journal.Bytes -= int64(len(o.Data))
				return true
			}
			return false
		})
		if len(kept) == 0 {
			delete(u.Pages, page)
		} else {
			u.Pages[page] = kept
		}
	}
	u.Sizes = slices.DeleteFunc(u.Sizes, func(o OldSize) bool { return ended(o.Until) })
	if len(u.Pages) == 0 && len(u.Sizes) == 0 && len(u.Failed) == 0 && !u.Meta && u.Seen == 0 {
		in.Unsynced = nil
	}
}

// flush drops what a file's data was before a rename over another file brought it to the disk.
func (in *Inode) flush(s *State, seq int64) {
	u := in.Unsynced
	for page, old := range u.Pages {
		gone := flushed(old, seq)
		for _, o := range old[:gone] {
			s.Journal.Bytes -= int64(len(o.Data))
		}
		u.Pages[page] = slices.Delete(old, 0, gone)
	}
	u.Sizes = slices.DeleteFunc(u.Sizes, func(o OldSize) bool { return o.Until <= seq })
	in.forgetData(s, func(int64) bool { return false })
}

// flushed counts the earlier contents of a page that can not come back after a rename over another file, which the
// change seq made. Such a rename writes what has no place on the disk yet (ext4_alloc_da_blocks of Linux). A store
// into a page that has one is no part of that.
func flushed(old []OldPage, seq int64) (gone int) {
	for i, o := range old {
		if o.Until <= seq && (!o.Stored || i == 0 && o.Data == nil) {
			gone = i + 1
		}
	}
	return gone
}

// commit makes the changes durable for which durable holds.
func (s *State) commit(env *Env, durable func(*Change) bool) {
	j := &s.Journal
	var kept []Change
	var gone []Change
	for i := range j.Changes {
		if c := j.Changes[i]; durable(&c) {
			gone = append(gone, c)
		} else {
			kept = append(kept, c)
		}
	}
	j.Changes = kept
	if j.Profile == Ext4Ordered {
		// What a flush brought along is durable now, and what a durable truncation ended can never come back.
		for _, f := range j.Flushes {
			if in := s.Inodes[f.Inode]; in != nil && in.Unsynced != nil {
				in.flush(s, f.Seq)
			}
		}
		j.Flushes = nil
	}
	for _, in := range s.unsynced() {
		if j.Profile == Ext4Ordered {
			in.Unsynced.Meta = len(in.Unsynced.Sizes) > 0
		}
		in.forgetCut(s, gone)
	}
	for i := range gone {
		c := &gone[i]
		s.release(env, c.Inode)
		if c.Kind == NameChange && c.Old != 0 {
			s.release(env, c.Old)
		}
	}
}

// release lets go of an inode that a change held.
func (s *State) release(env *Env, id InodeID) {
	in := s.inode(id)
	in.Held--
	in.drop(s, env)
}

// forgetCut drops what truncations among durable changes ended.
func (in *Inode) forgetCut(s *State, durable []Change) {
	u := in.Unsynced
	last := int64(0)
	for i := range durable {
		if c := &durable[i]; c.Kind == SizeChange && c.Inode == in.ID {
			last = c.Seq
		}
	}
	for page, old := range u.Pages {
		for i := len(old) - 1; i >= 0; i-- {
			if old[i].Truncated && old[i].Until <= last {
				for _, o := range old[:i+1] {
					s.Journal.Bytes -= int64(len(o.Data))
				}
				u.Pages[page] = slices.Clone(old[i+1:])
				break
			}
		}
		if len(u.Pages[page]) == 0 {
			delete(u.Pages, page)
		}
	}
	for i := len(u.Sizes) - 1; i >= 0; i-- {
		if u.Sizes[i].Truncated && u.Sizes[i].Until <= last {
			u.Sizes = slices.Clone(u.Sizes[i+1:])
			break
		}
	}
	in.forgetData(s, func(int64) bool { return false })
}

// writeBack makes all durable when the journal holds too much.
func (s *State) writeBack(env *Env) {
	if s.Journal.Bytes > maxUnsynced || len(s.Journal.Changes) > maxChanges {
		s.SyncAll(env)
	}
}
