package inproc

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"syscall"

	"github.com/bloodhound-dst/bloodhound/internal/fault"
)

// Errors of a disk, equal to the operating system's.
var (
	ErrIO       error = syscall.EIO
	ErrNoSpace  error = syscall.ENOSPC
	ErrNotExist       = fs.ErrNotExist
)

// sectorBytes is the unit that a disk writes atomically.
const sectorBytes = 512

// maxFileBytes bounds a file, and maxWrittenBytes all writes of a run.
const (
	maxFileBytes    = 1 << 28
	maxWrittenBytes = 1 << 30
)

// Disk is the disk of a node: files in one folder. Reads see all writes. A crash loses writes that were not
// synchronised. A loss of power may keep some of them: of each file a random number of the first ones, the last of
// which may be cut at a sector.
//
// Creating, renaming and removing files takes effect in order, as in a journal: Sync of any file makes all earlier
// changes of names durable.
type Disk struct {
	node  *Node
	names map[string]*file // as programs see them
	safe  map[string]*file // after a crash
	moves []move           // of names that are not durable
	torn  *tornWrite       // the write in the middle of which the power goes
}

// file is an inode. The same one may have two names, in the two tables.
type file struct {
	data    []byte // as programs see it
	safe    []byte // what is durable
	pending []write
}

// write is one that is not durable: data at an offset, or a length.
type write struct {
	offset int
	data   []byte
	cut    bool // to the length of offset
}

// move is a change of names: from becomes to. An empty from makes a file, an empty to removes one.
type move struct {
	from, to string
	made     *file
}

// Disk returns the node's disk.
func (n *Node) Disk() *Disk { return &n.disk }

func (d *Disk) enter(c call, files ...string) *Process { return d.node.enter(c, files...) }

// slow lets a call on the disk take time.
func (d *Disk) slow(p *Process, ns int64) {
	n := d.node
	r := n.run
	if n.slowBy != 0 {
		ns += n.slowNs
		if n.server {
			r.observed(ref{id: n.slowBy})
		}
	}
	switch {
	case ns == 0:
	case p == nil:
		n.lagNs += ns
	default:
		p.suspend(synced, r.now+ns)
	}
}

// inject draws the fault that a call meets.
func (d *Disk) inject(c call, op fault.Op, name string, offset, size int) fault.Harm {
	n := d.node
	r := n.run
	if !r.lay.disk || !r.director.Plan.On || !n.server {
		return fault.Harm{}
	}
	h := r.director.Call(&fault.Call{Node: n.name, Name: callNames[c], Op: op, Path: name, Offset: int64(offset), Bytes: size})
	if h.Kind != "" && h.ID == 0 {
		r.observed(ref{kind: h.Kind, rule: h.Rule})
	}
	return h
}

// done ends a call with its event.
func (d *Disk) done(c call, p *Process, name string, arg int, digest uint64, err error) error {
	result := int64(0)
	if err != nil {
		result = -1
		err = &fs.PathError{Op: callNames[c], Path: name, Err: err}
	}
	d.node.run.event(c, d.node, p, int64(arg), result, digest^hashText(name), name)
	return err
}

// Read returns the content of a file.
func (d *Disk) Read(name string) ([]byte, error) {
	p := d.enter(callRead, name)
	d.slow(p, 0)
	f := d.names[name]
	if f == nil {
		return nil, d.done(callRead, p, name, 0, 0, ErrNotExist)
	}
	data := slices.Clone(f.data)
	switch h := d.inject(callRead, fault.Read, name, 0, len(data)); h.Kind {
	case fault.ReadFail:
		return nil, d.done(callRead, p, name, 0, 0, ErrIO)
	case fault.ReadCorrupt:
		data[h.Bit/8] ^= 1 << (h.Bit % 8)
	}
	return data, d.done(callRead, p, name, len(data), hashBytes(data), nil)
}

// Append writes to the end of a file, and creates it if it is missing.
func (d *Disk) Append(name string, data []byte) error {
	offset := 0
	if f := d.names[name]; f != nil {
		offset = len(f.data)
	}
	return d.WriteAt(name, data, offset)
}

// WriteFile replaces the content of a file. A crash may leave anything between the old content and the new: to get one or the other, write
// another file, sync it and rename it.
func (d *Disk) WriteFile(name string, data []byte) error {
	if err := d.Truncate(name, 0); err != nil {
		return err
	}
	return d.WriteAt(name, data, 0)
}

// WriteAt writes at an offset of a file, and creates it if it is missing.
func (d *Disk) WriteAt(name string, data []byte, offset int) error {
	p := d.enter(callWrite, name)
	d.slow(p, 0)
	n := d.node
	if offset < 0 || offset+len(data) > maxFileBytes {
		return d.done(callWrite, p, name, offset, 0, syscall.EFBIG)
	}
	if n.fullBy != 0 {
		if n.server {
			n.run.observed(ref{id: n.fullBy})
		}
		return d.done(callWrite, p, name, offset, 0, ErrNoSpace)
	}
	h := d.inject(callWrite, fault.Write, name, offset, len(data))
	digest := hashBytes(data)
	switch h.Kind {
	case fault.WriteFail:
		return d.done(callWrite, p, name, offset, digest, ErrIO)
	case fault.PartialWrite:
		d.put(name, data[:h.Bytes], offset)
		return d.done(callWrite, p, name, offset, digest, fmt.Errorf("%d of %d bytes were written: %w", h.Bytes, len(data), ErrNoSpace))
	case fault.TornWrite:
		d.torn = &tornWrite{d.open(name), write{offset: offset, data: data[:h.Bytes]}}
		n.run.fail(n.run.director.InjectByID(h.ID))
		panic(killed{})
	}
	d.put(name, data, offset)
	return d.done(callWrite, p, name, offset, digest, nil)
}

func (d *Disk) put(name string, data []byte, offset int) {
	r := d.node.run
	most := r.spec.Limits.MemoryBytes
	if most == 0 {
		most = maxWrittenBytes
	}
	if r.written += int64(len(data)); r.written > most {
		r.limit = fmt.Sprintf("the limit of %d bytes written to disks", most)
	}
	d.open(name).write(write{offset: offset, data: slices.Clone(data)})
}

// open gives a file, and makes it if it is missing.
func (d *Disk) open(name string) *file {
	if f := d.names[name]; f != nil {
		return f
	}
	if d.names == nil {
		d.names = map[string]*file{}
	}
	f := &file{}
	d.names[name] = f
	d.moves = append(d.moves, move{to: name, made: f})
	return f
}

func (f *file) write(w write) {
	f.data = w.apply(f.data)
	f.pending = append(f.pending, w)
}

// apply makes a write in some bytes.
func (w *write) apply(data []byte) []byte {
	switch {
	case w.cut && w.offset <= len(data):
		return data[:w.offset]
	case w.cut:
		return append(data, make([]byte, w.offset-len(data))...)
	}
	if gap := w.offset - len(data); gap > 0 {
		data = append(data, make([]byte, gap)...)
	}
	k := copy(data[w.offset:], w.data)
	return append(data, w.data[k:]...)
}

// Truncate sets the length of a file, and creates it if it is missing.
func (d *Disk) Truncate(name string, size int) error {
	p := d.enter(callWrite, name)
	d.slow(p, 0)
	if size < 0 || size > maxFileBytes {
		return d.done(callWrite, p, name, size, 0, syscall.EINVAL)
	}
	d.open(name).write(write{offset: size, cut: true})
	return d.done(callWrite, p, name, size, 1, nil)
}

// Sync makes the content of a file and all earlier changes of names durable. After an error it is unknown which of them
// are durable, and a second Sync does not write what the first one should have.
func (d *Disk) Sync(name string) error {
	p := d.enter(callFsync, name)
	d.slow(p, d.node.run.spec.Cost.SyncNs)
	f := d.names[name]
	if f == nil {
		return d.done(callFsync, p, name, 0, 0, ErrNotExist)
	}
	if h := d.inject(callFsync, fault.Sync, name, 0, 0); h.Kind == fault.FsyncFail {
		f.pending = f.pending[:0] // the system holds it for written, and never tries again
		return d.done(callFsync, p, name, 0, 0, ErrIO)
	}
	for _, m := range d.moves {
		d.safe = m.apply(d.safe)
	}
	d.moves = d.moves[:0]
	f.sync()
	return d.done(callFsync, p, name, len(f.data), 0, nil)
}

// sync makes the file durable.
func (f *file) sync() {
	for i := range f.pending {
		f.safe = f.pending[i].apply(f.safe)
	}
	f.pending = f.pending[:0]
}

func (m *move) apply(names map[string]*file) map[string]*file {
	if names == nil {
		names = map[string]*file{}
	}
	f := m.made
	if m.from != "" {
		f = names[m.from]
		delete(names, m.from)
	}
	if m.to != "" && f != nil {
		names[m.to] = f
	}
	return names
}

// Rename renames a file, and replaces the file that has the new name.
func (d *Disk) Rename(from, to string) error {
	p := d.enter(callRename, to, from)
	d.slow(p, 0)
	if d.names[from] == nil {
		return d.done(callRename, p, from, 0, 0, ErrNotExist)
	}
	m := move{from: from, to: to}
	d.names = m.apply(d.names)
	d.moves = append(d.moves, m)
	return d.done(callRename, p, to, 0, hashText(from), nil)
}

// Remove removes a file.
func (d *Disk) Remove(name string) error {
	p := d.enter(callUnlink, name)
	d.slow(p, 0)
	if d.names[name] == nil {
		return d.done(callUnlink, p, name, 0, 0, ErrNotExist)
	}
	m := move{from: name}
	d.names = m.apply(d.names)
	d.moves = append(d.moves, m)
	return d.done(callUnlink, p, name, 0, 0, nil)
}

// List returns the names of all files, sorted.
func (d *Disk) List() []string {
	d.node.enterQuiet("List")
	return slices.Sorted(maps.Keys(d.names))
}

// files returns all files that a name leads to, in order of names: those of the durable table first.
func (d *Disk) files() []*file {
	var list []*file
	for _, table := range []map[string]*file{d.safe, d.names} {
		for _, name := range slices.Sorted(maps.Keys(table)) {
			if f := table[name]; !slices.Contains(list, f) {
				list = append(list, f)
			}
		}
	}
	return list
}

// lose reduces the disk to its durable contents after a crash. After a loss of power, take draws how many of the last
// changes of names, and of the last writes of each file, are lost; the last write that remains may be torn.
func (d *Disk) lose(take func(what string, n uint64) uint64) {
	files := d.files()
	if take != nil {
		kept := len(d.moves) - int(take("names", uint64(len(d.moves))+1))
		for i := range d.moves[:kept] {
			d.safe = d.moves[i].apply(d.safe)
		}
		for i, f := range files {
			kept := len(f.pending) - int(take(strconv.Itoa(i), uint64(len(f.pending))+1))
			for j := range f.pending[:kept] {
				w := f.pending[j]
				if cuts := w.cuts(); j == kept-1 && cuts > 0 {
					if gone := take(strconv.Itoa(i)+"/torn", uint64(cuts)+1); gone > 0 {
						w.data = w.data[:(w.offset/sectorBytes+cuts+1-int(gone))*sectorBytes-w.offset]
					}
				}
				f.safe = w.apply(f.safe)
			}
		}
	}
	if t := d.torn; t != nil {
		t.file.safe = t.apply(t.file.safe)
		d.torn = nil
	}
	for _, f := range files {
		f.data, f.pending = slices.Clone(f.safe), nil
	}
	d.names, d.moves = maps.Clone(d.safe), nil
}

// tornWrite is a write of which some sectors have reached the disk as the power went.
type tornWrite struct {
	file *file
	write
}

// cuts counts the ends of sectors inside a write.
func (w *write) cuts() int {
	if w.cut || len(w.data) == 0 {
		return 0
	}
	return (w.offset+len(w.data)-1)/sectorBytes - w.offset/sectorBytes
}
