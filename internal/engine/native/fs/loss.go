package fs

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
)

// Choose decides what becomes of something that was not durable: a number below n, where 0 is that nothing is lost. What
// names it among all that this power loss decides.
type Choose func(what string, n uint64) uint64

// Lost lists the parts of an inode that a power loss changed. The first program that looks at one of them has noticed
// the loss.
type Lost struct {
	ID    int            // of the power loss
	Pages map[int64]bool // of a file, those with other bytes
	Size  bool
	Attr  bool
	Names map[string]bool // of a directory, those that lead elsewhere
}

// lost gives what is noted of an inode.
func (in *Inode) lost(id int) *Lost {
	if in.Lost == nil || in.Lost.ID != id {
		in.Lost = &Lost{ID: id, Pages: map[int64]bool{}, Names: map[string]bool{}}
	}
	return in.Lost
}

// notice reports that a program has seen that something is lost.
func (in *Inode) notice(s *State) {
	s.Noticed = append(s.Noticed, in.Lost.ID)
	in.Lost = nil
}

// noticeData is notice for a read of a range of a file.
func (in *Inode) noticeData(s *State, off, end int64) {
	if in.Lost == nil {
		return
	}
	if in.Lost.Size && end > in.Size {
		in.notice(s)
		return
	}
	for page := range in.Lost.Pages {
		if page*pageBytes < end && off < (page+1)*pageBytes {
			in.notice(s)
			return
		}
	}
}

// Missing says that a power loss came before a range of a file was written.
func (s *State) Missing(id InodeID, loss int, from, to int64) {
	in := s.Inodes[id]
	if in == nil {
		return
	}
	for page := from / pageBytes; page*pageBytes < to; page++ {
		in.lost(loss).Pages[page] = true
	}
	if to > in.Size {
		in.lost(loss).Size = true
	}
}

// Loss describes the damage of a power loss to a file or a folder.
type Loss struct {
	Inode InodeID
	Pages []int64  // of a file: the numbers of those that have other bytes, ascending
	Size  int64    // of a file: what is left
	Names []string // of a folder: those that lead elsewhere, sorted
}

// Losses lists what a power loss has taken, by number of the inode.
func (s *State) Losses(id int) (list []Loss) {
	for _, in := range s.Inodes {
		if l := in.Lost; l != nil && l.ID == id {
			list = append(list, Loss{in.ID, slices.Sorted(maps.Keys(l.Pages)), in.Size, slices.Sorted(maps.Keys(l.Names))})
		}
	}
	slices.SortFunc(list, func(a, b Loss) int { return cmp.Compare(a.Inode, b.Inode) })
	return list
}

// UnsyncedSizes are the sizes of the files with changes that the disk may not have.
func (s *State) UnsyncedSizes() map[InodeID]int64 {
	sizes := map[InodeID]int64{}
	for id, in := range s.Inodes {
		if in.Unsynced != nil {
			sizes[id] = in.Size
		}
	}
	return sizes
}

// Sizes are the sizes of all regular files that programs have written.
func (s *State) Sizes() map[InodeID]int64 {
	sizes := map[InodeID]int64{}
	for id, in := range s.Inodes {
		if in.Blob != 0 {
			sizes[id] = in.Size
		}
	}
	return sizes
}

// TakeNoticed gives the faults whose effects were seen since the last call.
func (s *State) TakeNoticed() []int {
	n := s.Noticed
	s.Noticed = nil
	return n
}

// PowerLoss leaves what a disk holds after the power went, one of the legal images of the journal's profile, and empties
// what lies in memory. All programs of the node must be gone. id is the number of the loss.
func (s *State) PowerLoss(env *Env, id int, choose Choose) errno.Errno {
	if e := s.ObserveAll(env); e != errno.OK {
		return e
	}
	j := &s.Journal
	j.On = false // the image is made by calls that would be noted
	full := s.Full
	s.Full = 0
	defer func() { j.On, s.Full = true, full }()
	cut := int64(1<<63 - 1) // what happened later is lost
	if j.Profile == Ext4Ordered {
		cut = s.lastDurable(choose)
		s.undo(id, cut)
	} else {
		s.loseChanges(id, choose)
	}
	for _, in := range s.unsynced() {
		if e := in.loseData(s, env, id, cut, choose); e != errno.OK {
			return e
		}
	}
	j.Changes, j.Flushes, j.Bytes = nil, nil, 0
	s.emptyMemory()
	s.recount(env)
	s.chill()
	return errno.OK
}

// lastDurable chooses how many changes of metadata are lost, from the last one back, and gives the number of the last
// that is not.
func (s *State) lastDurable(choose Choose) int64 {
	var calls []int64
	for i := range s.Journal.Changes {
		if c := &s.Journal.Changes[i]; len(calls) == 0 || calls[len(calls)-1] != c.Seq {
			calls = append(calls, c.Seq)
		}
	}
	lost := 0
	if len(calls) > 0 {
		lost = int(choose("metadata", uint64(len(calls)+1)))
	}
	switch {
	case lost == 0:
		return 1<<63 - 1
	case lost == len(calls):
		return calls[0] - 1
	}
	return calls[len(calls)-1-lost]
}

// undo takes the changes of names and attributes behind a number back.
func (s *State) undo(id int, cut int64) {
	for i := len(s.Journal.Changes) - 1; i >= 0 && s.Journal.Changes[i].Seq > cut; i-- {
		s.revert(id, &s.Journal.Changes[i])
	}
}

func (s *State) revert(id int, c *Change) {
	in := s.inode(c.Inode)
	switch c.Kind {
	case NameChange:
		in.lost(id).Names[c.Name] = true
		if c.Had {
			in.Entries[c.Name] = c.Old
		} else {
			delete(in.Entries, c.Name)
		}
		if c.Old != 0 {
			s.inode(c.Old).Parent, s.inode(c.Old).Name = in.ID, c.Name
		}
	case AttrChange:
		in.lost(id).Attr = true
		in.Mode, in.UID, in.GID, in.Xattrs = c.Attr.Mode, c.Attr.UID, c.Attr.GID, c.Attr.Xattrs
	case SizeChange: // loseData sees to it
	}
}

// loseChanges chooses for each name, and for the attributes of each inode, which of its states the disk has.
func (s *State) loseChanges(id int, choose Choose) {
	type slot struct {
		kind  ChangeKind
		inode InodeID
		name  string
	}
	states := map[slot][]*Change{}
	var slots []slot
	for i := range s.Journal.Changes {
		c := &s.Journal.Changes[i]
		if c.Kind == SizeChange {
			continue
		}
		k := slot{c.Kind, c.Inode, c.Name}
		if states[k] == nil {
			slots = append(slots, k)
		}
		states[k] = append(states[k], c)
	}
	for _, k := range slots {
		of := states[k]
		what := fmt.Sprintf("name/%d/%s", k.inode, k.name)
		if k.kind == AttrChange {
			what = fmt.Sprintf("attributes/%d", k.inode)
		}
		if lost := choose(what, uint64(len(of)+1)); lost > 0 {
			s.revert(id, of[len(of)-int(lost)])
		}
	}
}

// How the data of one file is lost.
const (
	keepAll    = iota
	loseAll    // all that may go is gone
	stopThere  // the state of one moment
	loseSome   // each page on its own
	tearSome   // each sector on its own
	waysToLose // how many there are
)

// sectorBytes is the unit that a disk writes atomically.
const sectorBytes = 512

// loseData chooses what the disk has of a file's pages and of its size. cut is the last change of metadata that is
// durable.
func (in *Inode) loseData(s *State, env *Env, id int, cut int64, choose Choose) errno.Errno {
	l := losing{s: s, env: env, in: in, u: in.Unsynced, id: id, cut: cut, choose: choose, who: fmt.Sprintf("file/%d", in.ID)}
	in.Unsynced = nil
	if l.u.Seen != 0 {
		env.Blobs.Free(l.u.Seen)
	}
	if s.Inodes[in.ID] == nil || len(l.u.Pages) == 0 && len(l.u.Sizes) == 0 && len(l.u.Failed) == 0 {
		return errno.OK
	}
	for _, f := range s.Journal.Flushes {
		if f.Inode == in.ID && f.Seq <= cut {
			l.flushed = f.Seq
		}
	}
	l.way = choose(l.who, waysToLose)
	if l.way == stopThere {
		if moments := l.u.moments(); len(moments) > 0 {
			l.moment = moments[choose(l.who+"/moment", uint64(len(moments)))]
		}
	}
	size, durableSize, written := l.size()
	present := in.Size
	for _, page := range slices.Sorted(maps.Keys(l.u.Pages)) {
		if e := l.page(page, page*pageBytes >= durableSize, written); e != errno.OK {
			return e
		}
	}
	for _, page := range slices.Sorted(maps.Keys(l.u.Failed)) {
		image := l.u.Failed[page]
		if image == nil {
			image = make([]byte, pageBytes)
		}
		if e := l.put(page, image); e != errno.OK {
			return e
		}
	}
	if size != present {
		in.lost(id).Size = true
	}
	if in.Blob == 0 && size == 0 {
		return errno.OK
	}
	return in.resize(s, env, size) // which also cuts what a restored page has behind the end
}

// losing is a power loss at work on one file.
type losing struct {
	s       *State
	env     *Env
	in      *Inode
	u       *Unsynced
	id      int
	cut     int64 // the last change of metadata that is durable
	flushed int64 // what was there at this change is durable
	way     uint64
	moment  int64 // for stopThere: the change before which the file's state is the one of the disk
	who     string
	choose  Choose
}

// ended says which change ended an earlier state of a page or a size.
type ended struct {
	seq int64
	cut bool // by a change of metadata: as long as that is not durable, nothing behind it is
	// stays says that a rename over another file has not brought the change to the disk (flushed).
	stays bool
}

// span gives the states that the disk may have: from the first to the last, where len(old) is the present one.
func (l *losing) span(old []ended) (from, to int) {
	to = len(old)
	if l.s.Journal.Profile != Ext4Ordered {
		return 0, to
	}
	for i, o := range old {
		switch {
		case o.cut && o.seq <= l.cut, o.seq <= l.flushed && !o.stays:
			from = i + 1
		case o.cut && to == len(old):
			to = i
		}
	}
	return from, max(from, to)
}

// chooseState chooses one of the states of a span.
func (l *losing) chooseState(from, to int, old []ended, what string) int {
	switch l.way {
	case keepAll:
		return to
	case loseAll:
		return from
	case stopThere:
		for i := from; i < to; i++ {
			if old[i].seq >= l.moment {
				return i
			}
		}
		return to
	}
	return to - int(l.choose(what, uint64(to-from+1)))
}

// size chooses the file's size. durable is the least that it may be, and all that was written before the change written
// is on the disk, where the file has grown.
func (l *losing) size() (size, durable, written int64) {
	old := make([]ended, len(l.u.Sizes))
	sizes := make([]int64, len(old)+1)
	for i, o := range l.u.Sizes {
		old[i], sizes[i] = ended{seq: o.Until, cut: o.Truncated}, o.Size
	}
	sizes[len(old)] = l.in.Size
	from, to := l.span(old)
	chosen := l.chooseState(from, to, old, l.who+"/size")
	size, durable = sizes[chosen], sizes[from]
	if chosen == from {
		return size, durable, 0
	}
	before, last := sizes[chosen-1], old[chosen-1]
	whole := (size - 1) / pageBytes // pages before the last one
	if first := before/pageBytes + 1; l.way >= loseSome && !last.cut && whole >= first && whole*pageBytes > before {
		// The last write of a growing file may have come to any whole page.
		if lost := l.choose(l.who+"/size/pages", uint64(whole-first+2)); lost > 0 {
			size = (whole - int64(lost-1)) * pageBytes
		}
	}
	return size, durable, last.seq
}

// page chooses the bytes of a page. grown says that it lies behind the durable size: there the disk has what was written
// before the change written, or more.
func (l *losing) page(page int64, grown bool, written int64) errno.Errno {
	old := make([]ended, len(l.u.Pages[page]))
	gone := flushed(l.u.Pages[page], l.flushed)
	for i, o := range l.u.Pages[page] {
		old[i] = ended{o.Until, o.Truncated, i >= gone}
	}
	from, to := l.span(old)
	if grown && l.s.Journal.Profile == Ext4Ordered {
		for i := from; i < to && old[i].seq <= written; i++ {
			if !l.u.Pages[page][i].Stored {
				from = i + 1
			}
		}
	}
	states := make([][]byte, 0, to-from+1) // newest first
	for i := to; i >= from; i-- {
		state, e := l.in.pageState(l.s, l.env, page, l.u.Pages[page], i)
		if e != errno.OK {
			return e
		}
		states = append(states, state)
	}
	what := fmt.Sprintf("%s/page/%d", l.who, page)
	var image []byte
	switch l.way {
	case loseSome:
		image = pick(states, 0, pageBytes, what, l.choose)
	case tearSome:
		for sector := 0; sector < pageBytes; sector += sectorBytes {
			image = append(image, pick(states, sector, sector+sectorBytes, fmt.Sprintf("%s/%d", what, sector/sectorBytes), l.choose)...)
		}
	default:
		image = states[to-l.chooseState(from, to, old, "")]
	}
	return l.put(page, image)
}

// put makes the disk hold an image of a page.
func (l *losing) put(page int64, image []byte) errno.Errno {
	present, e := l.in.pageState(l.s, l.env, page, nil, 0)
	if e != errno.OK || bytes.Equal(image, present) {
		return e
	}
	l.in.lost(l.id).Pages[page] = true
	return l.in.restore(l.s, l.env, page, image)
}

// pageState is the i-th content of a page, of which old are the earlier ones, in full.
func (in *Inode) pageState(s *State, env *Env, page int64, old []OldPage, i int) ([]byte, errno.Errno) {
	state, e := []byte(nil), errno.OK
	if i < len(old) {
		state = old[i].Data
	} else {
		state, e = in.page(s, env, page)
	}
	if state == nil {
		state = make([]byte, pageBytes)
	}
	return state, e
}

// pick chooses one of the different contents that a part of a page had, newest first.
func pick(states [][]byte, from, to int, what string, choose Choose) []byte {
	var distinct [][]byte
	for _, state := range states {
		if part := state[from:to]; !slices.ContainsFunc(distinct, func(d []byte) bool { return bytes.Equal(d, part) }) {
			distinct = append(distinct, part)
		}
	}
	if len(distinct) == 1 {
		return distinct[0]
	}
	return distinct[choose(what, uint64(len(distinct)))]
}

// moments are the numbers of the changes that ended a state of a file, the last one first.
func (u *Unsynced) moments() []int64 {
	var seqs []int64
	for _, old := range u.Pages {
		for i := range old {
			seqs = append(seqs, old[i].Until)
		}
	}
	for i := range u.Sizes {
		seqs = append(seqs, u.Sizes[i].Until)
	}
	slices.Sort(seqs)
	seqs = slices.Compact(seqs)
	slices.Reverse(seqs)
	return seqs
}

// restore puts the bytes of a page in place. A page of zeros becomes a hole.
func (in *Inode) restore(s *State, env *Env, page int64, image []byte) errno.Errno {
	if len(bytes.Trim(image, "\x00")) == 0 {
		return in.punch(s, env, page*pageBytes, pageBytes, false)
	}
	_, e := in.writeAt(s, env, image, page*pageBytes)
	return e
}

// emptyMemory clears the trees that lie in memory. Mounts below them stay, and the directories that lead there.
func (s *State) emptyMemory() {
	kept := map[InodeID]bool{rootInode: true}
	for _, in := range s.Inodes {
		if in.MountRoot {
			for up := in; !kept[up.ID]; up = s.inode(up.Parent) {
				kept[up.ID] = true
			}
		}
	}
	for _, m := range s.Mounts {
		if m.Shared != 0 {
			kept[s.common.Roots[m.Shared-1]] = true
			for up := s.inode(m.Parent); !kept[up.ID]; up = s.inode(up.Parent) {
				kept[up.ID] = true
			}
		}
	}
	for id := range kept {
		if InShared(id) {
			continue
		}
		in := s.inode(id)
		if s.Mounts[in.Mount].Type != Tmpfs {
			continue
		}
		for name, child := range in.Entries {
			if !kept[child] {
				delete(in.Entries, name)
			}
		}
	}
}

// recount makes links and references what the names say, and drops what no name leads to.
func (s *State) recount(env *Env) {
	type name struct {
		dir InodeID
		at  string
	}
	reached := map[InodeID][]name{rootInode: nil}
	queue := []InodeID{rootInode}
	for dir, mounts := range s.Over {
		for at, id := range mounts {
			if !InShared(id) {
				reached[id] = []name{{dir, at}}
				queue = append(queue, id)
			}
		}
	}
	slices.Sort(queue)
	for ; len(queue) > 0; queue = queue[1:] {
		dir := s.inode(queue[0])
		for _, at := range slices.Sorted(maps.Keys(dir.Entries)) {
			id := dir.Entries[at]
			if id == 0 {
				continue
			}
			in := s.inode(id)
			_, known := reached[id]
			if known && in.isDir() {
				dir.unname(s, at) // a directory has one name: the first one found stays
				continue
			}
			reached[id] = append(reached[id], name{dir.ID, at})
			if !known && in.isDir() && !InShared(id) {
				queue = append(queue, id)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.Inodes)) {
		in := s.Inodes[id]
		if in.Synth != "" {
			continue
		}
		in.Flocks, in.Locks, in.Watches, in.Refs, in.Held = nil, nil, nil, 0, 0
		in.Mapped, in.Stores, in.Tmpfile = false, false, false
		names, ok := reached[id]
		if !ok && in.Unseen > 0 { // it has a name that no program has looked at yet
			in.Nlink = 0
			continue
		}
		if !ok {
			in.discard(s, env)
			delete(s.Inodes, id)
			delete(s.Linked, in.Same)
			if in.is(S_IFSOCK) {
				s.Gone = append(s.Gone, id)
			}
			continue
		}
		if id == rootInode {
			continue
		}
		in.Nlink = len(names)
		in.Parent, in.Name = names[0].dir, names[0].at
	}
	s.Instances, s.Ready, s.ByBlob = map[int64]*Inotify{}, nil, nil
}
