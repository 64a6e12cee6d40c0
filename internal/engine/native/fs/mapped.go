package fs

import (
	"bytes"
	"maps"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
)

// Programs store into MAP_SHARED maps of files without a call. Observe compares such a file with its bytes at the
// last look, and notes each page that differs as a write would have been noted (journal.go). It looks before
// whatever depends on the stores: a synchronisation, a call that changes the file, a rename over another file, a
// power loss. What a page held between two looks and not at one of them is no state that a crash image may have.

// Storable notes that programs may store into a map of a file from now on.
func (s *State) Storable(env *Env, id InodeID) errno.Errno {
	in := s.inode(id)
	if in.Stores || !in.lasting(s) {
		return errno.OK
	}
	in.Stores = true
	if in.journals(s) || s.SyncsFail {
		return in.remember(s, env)
	}
	return errno.OK
}

// MayFailSyncs notes whether synchronisations of files may fail: that matters for what is dirty alone. Files into
// which programs store are looked at although no power loss is possible.
func (s *State) MayFailSyncs(env *Env, may bool) errno.Errno {
	s.SyncsFail = may
	if !may {
		return errno.OK
	}
	return s.ObserveAll(env)
}

// NoteShared notes that a program maps a file of the disk shared.
func (s *State) NoteShared(id InodeID) {
	if s.ByBlob == nil {
		s.ByBlob = map[BlobID]InodeID{}
	}
	s.ByBlob[s.inode(id).Blob] = id
}

// remember keeps a file's bytes, with which the next look compares.
func (in *Inode) remember(s *State, env *Env) errno.Errno {
	id := env.NewBlob()
	if e := env.Blobs.Create(id); e != errno.OK {
		return e
	}
	in.unsynced().Seen = id
	if e := env.Blobs.Truncate(id, in.Size); e != errno.OK {
		return e
	}
	return in.saw(env, 0, in.Size)
}

// lookBytes is how much of a file is compared or copied at once.
const lookBytes = 64 * pageBytes

// saw copies a range of a file to the bytes with which the next look compares.
func (in *Inode) saw(env *Env, from, to int64) errno.Errno {
	u := in.Unsynced
	if u == nil || u.Seen == 0 {
		return errno.OK
	}
	part := make([]byte, min(lookBytes, to-from))
	for off := from; off < to; off += int64(len(part)) {
		data := env.Blobs.NextData(in.Blob, off)
		if data < 0 || data >= to {
			return errno.OK
		}
		off = data / pageBytes * pageBytes
		off = max(off, from)
		n, e := env.Blobs.ReadAt(in.Blob, part[:min(int64(len(part)), to-off)], off)
		if e != errno.OK {
			return e
		}
		if _, e := env.Blobs.WriteAt(u.Seen, part[:n], off); e != errno.OK {
			return e
		}
	}
	return errno.OK
}

// Observe notes what programs have stored through maps into the pages of a range of a file since the last look.
func (s *State) Observe(env *Env, id InodeID, from, to int64) errno.Errno {
	return s.inode(id).observe(s, env, from, to)
}

// observe is Observe.
func (in *Inode) observe(s *State, env *Env, from, to int64) errno.Errno {
	if !in.Stores {
		return errno.OK
	}
	u := in.Unsynced
	if u == nil || u.Seen == 0 {
		in.Dirty = true // whatever the programs have done
		if s.SyncsFail {
			return in.remember(s, env)
		}
		return errno.OK
	}
	from, to = from/pageBytes*pageBytes, min(to, in.Size)
	size := min(int64(lookBytes), (to-from+pageBytes-1)/pageBytes*pageBytes)
	if size <= 0 {
		return errno.OK
	}
	now, then := make([]byte, size), make([]byte, size)
	began := false
	for off := from; off < to; off += size {
		next := to
		for _, blob := range []BlobID{in.Blob, u.Seen} {
			if data := env.Blobs.NextData(blob, off); data >= 0 {
				next = min(next, data)
			}
		}
		if off = next / pageBytes * pageBytes; off >= to {
			break
		}
		for _, side := range []struct {
			blob  BlobID
			bytes []byte
		}{{in.Blob, now}, {u.Seen, then}} {
			n, e := env.Blobs.ReadAt(side.blob, side.bytes, off)
			if e != errno.OK {
				return e
			}
			clear(side.bytes[n:])
		}
		if bytes.Equal(now, then) {
			continue
		}
		for at := int64(0); at < size && off+at < to; at += pageBytes {
			if bytes.Equal(now[at:at+pageBytes], then[at:at+pageBytes]) {
				continue
			}
			if !began {
				s.atomically()
				began = true
			}
			if e := in.noteStore(s, env, (off+at)/pageBytes, then[at:at+pageBytes], now[at:at+pageBytes]); e != errno.OK {
				return e
			}
		}
	}
	if began {
		in.Life = s.Life
		in.touched(s, env)
	}
	return errno.OK
}

// noteStore notes that the content of a page has changed by stores.
func (in *Inode) noteStore(s *State, env *Env, page int64, then, now []byte) errno.Errno {
	u := in.Unsynced
	var old []byte
	if in.journals(s) && len(bytes.Trim(then, "\x00")) > 0 {
		old = bytes.Clone(then)
	}
	if disk, failed := u.Failed[page]; failed { // it is dirty again
		old = disk
		delete(u.Failed, page)
	}
	u.Pages[page] = append(u.Pages[page], OldPage{Data: old, Until: s.Journal.Seq, Stored: true})
	s.Journal.Bytes += int64(len(old))
	if grown := in.allocate(page, page+1); grown > 0 { // ext4 commits with the page that it was allocated
		in.account(s, grown)
		u.Meta = true
	}
	size := min(pageBytes, in.Size-page*pageBytes)
	_, e := env.Blobs.WriteAt(u.Seen, now[:size], page*pageBytes)
	return e
}

// storable lists the files into which programs may store through maps, by number.
func (s *State) storable() []*Inode {
	var list []*Inode
	for _, id := range slices.Sorted(maps.Values(s.ByBlob)) {
		if in := s.inode(id); in.Stores {
			list = append(list, in)
		}
	}
	return list
}

// ObserveAll is Observe of all files.
func (s *State) ObserveAll(env *Env) errno.Errno {
	for _, in := range s.storable() {
		if e := in.observe(s, env, 0, in.Size); e != errno.OK {
			return e
		}
	}
	return errno.OK
}

// Unwritten reports whether the disk lacks bytes of a range of a file. It looks at the range first.
func (s *State) Unwritten(env *Env, id InodeID, from, to int64) bool {
	in := s.inode(id)
	in.observe(s, env, from, to)
	if in.Unsynced == nil || in.Unsynced.Seen == 0 {
		return in.Dirty
	}
	for page := range in.Unsynced.Pages {
		if page*pageBytes < to && (page+1)*pageBytes > from {
			return true
		}
	}
	return false
}

// FileOf finds the file of a shared map by what is mapped; 0 for none on the disk.
func (s *State) FileOf(blob BlobID) InodeID { return s.ByBlob[blob] }

// LookAt notes that a program maps a range of a file to read it: it may see what a power loss has taken.
func (s *State) LookAt(id InodeID, from, to int64) { s.inode(id).noticeData(s, from, to) }

// Holes are the pages of a range, [from, to), that take no room on the disk: a store into one of them needs some.
// What a program has only read through a map, or set to zeros there, is not among them if the machine has given the
// page memory.
func (s *State) Holes(env *Env, id InodeID, from, to int64) (holes []Extent) {
	in := s.inode(id)
	in.observe(s, env, from*pageBytes, to*pageBytes)
	to = min(to, (in.Size+pageBytes-1)/pageBytes)
	for page := from; page < to; {
		i := in.first(page)
		next := to
		if i < len(in.Extents) {
			if in.Extents[i].From <= page {
				page = in.Extents[i].To
				continue
			}
			next = min(next, in.Extents[i].From)
		}
		data := env.Blobs.NextData(in.Blob, page*pageBytes)
		if data >= 0 && data/pageBytes < next {
			next = data / pageBytes
		}
		if next > page {
			holes = append(holes, Extent{page, next})
		}
		page = next
		if data >= 0 && data/pageBytes == page {
			page++
		}
	}
	return holes
}

// chill notes that the page cache was emptied: what files have lies on the disk.
func (s *State) chill() {
	for _, in := range s.Inodes {
		if in.Blob != 0 && in.lasting(s) {
			in.Chilled = []Extent{{0, (in.Size + pageBytes - 1) / pageBytes}}
		}
	}
}

// Evict notes that the page cache has dropped what it held of a file from before the last end of its node's
// programs: Linux drops pages that the disk has as they are whenever it likes. It does so once.
func (s *State) Evict(env *Env, id InodeID) {
	in := s.inode(id)
	if !s.FromBefore(id) || in.Evicted == s.Life || !in.lasting(s) {
		return
	}
	in.Evicted = s.Life
	in.observe(s, env, 0, in.Size)
	u := in.Unsynced
	switch {
	case u == nil && in.Dirty: // nobody knows which pages
	case u == nil:
		in.Chilled = []Extent{{0, (in.Size + pageBytes - 1) / pageBytes}}
	default:
		in.Chilled = nil
		for page := int64(0); page*pageBytes < in.Size; page++ {
			_, failed := u.Failed[page]
			if failed || len(u.Pages[page]) > 0 {
				continue
			}
			if n := len(in.Chilled); n > 0 && in.Chilled[n-1].To == page {
				in.Chilled[n-1].To++
			} else {
				in.Chilled = append(in.Chilled, Extent{page, page + 1})
			}
		}
	}
}

// Warm notes that a range of a file has come into the page cache.
func (s *State) Warm(id InodeID, from, to int64) { s.inode(id).warm(from, to) }

func (in *Inode) warm(from, to int64) {
	if len(in.Chilled) == 0 {
		return
	}
	from, to = from/pageBytes, (to+pageBytes-1)/pageBytes
	var cold []Extent
	for _, x := range in.Chilled {
		for _, part := range []Extent{{x.From, min(x.To, from)}, {max(x.From, to), x.To}} {
			if part.From < part.To {
				cold = append(cold, part)
			}
		}
	}
	in.Chilled = cold
}

// Cold are the pages of a range, [from, to), that lie on the disk and not in the page cache.
func (s *State) Cold(id InodeID, from, to int64) (cold []Extent) {
	in := s.inode(id)
	to = min(to, (in.Size+pageBytes-1)/pageBytes)
	for _, x := range in.Chilled {
		if part := (Extent{max(x.From, from), min(x.To, to)}); part.From < part.To {
			cold = append(cold, part)
		}
	}
	return cold
}
