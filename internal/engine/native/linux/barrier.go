//go:build linux && amd64

package linux

import (
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/net"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"golang.org/x/sys/unix"
)

// An access to a shared map of a file may fail as a bus error (mmap(2)): a store into a hole while the disk is
// full, and the first access to a page that lies on the disk alone while reads may fail. Such parts of maps are
// barred: the real map lacks a permission, and Barred decides when a program comes there. Without these faults
// nothing is barred, and maps cost nothing.

const (
	maxBars = 4096 // of one address space: further parts are not barred, and accesses to them succeed
	// coldBytes is how much of a file is read in at once where a program comes to a page of it: Linux maps so much
	// around a fault.
	coldBytes = 64 << 10
	pageSize  = 4096
)

// FillDisk gives a node's disk no room because of a fault, or room again if id is 0.
func FillDisk(k *Kernel, node *Node, id int) {
	node.FS.Full = id
	barAll(k, node)
}

// SyncsFail notes whether synchronisations on a node's disk may fail.
func SyncsFail(k *Kernel, node *Node, may bool) {
	if may != node.FS.SyncsFail {
		node.FS.MayFailSyncs(k.TreeEnv(node), may)
	}
}

// barAll bars parts of the maps of all processes of a node.
func barAll(k *Kernel, n *Node) {
	if len(n.FS.ByBlob) == 0 {
		return
	}
	done := map[kernel.SpaceID]bool{}
	for _, id := range n.Procs {
		p := k.Procs[id]
		if p.Zombie || done[p.Space] {
			continue
		}
		i := slices.IndexFunc(p.Threads, func(id kernel.ThreadID) bool { return k.Threads[id].State != kernel.Dead })
		if i >= 0 {
			done[p.Space] = true
			bar(k, k.Threads[p.Threads[i]])
		}
	}
}

// bar bars what is to be barred of the maps of a thread's process now, and nothing else.
func bar(k *Kernel, t *Thread) {
	unbar(k, t)
	n, space := k.Node(t), k.Spaces[k.Proc(t).Space]
	if n.FS.Full == 0 && !n.ReadsHarmed || len(n.FS.ByBlob) == 0 {
		return
	}
	for line := range strings.Lines(k.M.Maps(t.ID)) {
		m, ok := machine.ParseMap(line)
		if !ok || !m.Shared || m.Executable || !m.Readable || m.Blob == 0 {
			continue
		}
		id := n.FS.FileOf(fs.BlobID(m.Blob))
		if id == 0 {
			continue
		}
		add := func(parts []fs.Extent, taken uint64) {
			for _, x := range parts {
				if len(space.Bars) == maxBars {
					return
				}
				b := kernel.Bar{Prot: m.Prot(), Taken: taken, File: id, Blob: m.Blob, Offset: x.From * pageSize}
				b.Start = m.Start + uint64(b.Offset) - m.Offset
				b.End = b.Start + uint64(x.To-x.From)*pageSize
				space.Bars = append(space.Bars, b)
				k.M.Permit(t.ID, b.Start, b.End, b.Prot&^taken)
			}
		}
		from, to := int64(m.Offset)/pageSize, int64(m.Offset+m.End-m.Start)/pageSize
		var cold []fs.Extent
		if n.ReadsHarmed {
			cold = n.FS.Cold(id, from, to)
			add(cold, m.Prot())
		}
		if n.FS.Full != 0 && m.Writable {
			add(without(n.FS.Holes(env(k, t), id, from, to), cold), unix.PROT_WRITE)
		}
	}
	for _, b := range space.Bars {
		k.M.Watch(t.ID, b.Start, b.End)
	}
}

// without takes ranges, taken, from other ones.
func without(list, taken []fs.Extent) (left []fs.Extent) {
	for _, x := range list {
		for _, y := range taken {
			if y.To <= x.From || y.From >= x.To {
				continue
			}
			if y.From > x.From {
				left = append(left, fs.Extent{From: x.From, To: y.From})
			}
			x.From = min(y.To, x.To)
		}
		if x.From < x.To {
			left = append(left, x)
		}
	}
	return left
}

// unbar gives back what was barred of the maps of a thread's process.
func unbar(k *Kernel, t *Thread) {
	space := k.Spaces[k.Proc(t).Space]
	if len(space.Bars) == 0 {
		return
	}
	for line := range strings.Lines(k.M.Maps(t.ID)) {
		m, ok := machine.ParseMap(line)
		if !ok || m.Blob == 0 {
			continue
		}
		for i := range space.Bars {
			if b := &space.Bars[i]; b.Start < m.End && b.End > m.Start && isBarred(b, &m) {
				k.M.Permit(t.ID, max(m.Start, b.Start), min(m.End, b.End), b.Prot)
			}
		}
	}
	space.Bars = nil
}

// isBarred reports whether a real map is still of the file of a bar, and lacks what that takes.
func isBarred(b *kernel.Bar, m *machine.RealMap) bool {
	place := int64(m.Offset) - int64(m.Start)
	return m.Blob == b.Blob && m.Prot() == b.Prot&^b.Taken && place == b.Offset-int64(b.Start)
}

// barredAs finds the part of a bar that is still mapped as it was barred, in the real map that holds an address.
// munmap passes the engine by.
func barredAs(k *Kernel, t *Thread, b *kernel.Bar, addr uint64) (from, to uint64, ok bool) {
	m, ok := machine.MapAt(k.M.Maps(t.ID), addr)
	if !ok || !isBarred(b, &m) {
		return 0, 0, false
	}
	return max(m.Start, b.Start), min(m.End, b.End), true
}

// lift gives a part of bar i back, wherever it is still mapped. The rest of it stays.
func lift(k *Kernel, t *Thread, space *kernel.Space, i int, from, to uint64) {
	b := space.Bars[i]
	for at := from; at < to; {
		m, ok := nextMap(k, t, at)
		if !ok || m.Start >= to {
			break
		}
		at = max(at, m.Start)
		if start, end, ok := barredAs(k, t, &b, at); ok {
			k.M.Permit(t.ID, max(start, from), min(end, to), b.Prot)
		}
		at = m.End
	}
	var rest []kernel.Bar
	for _, part := range [][2]uint64{{b.Start, from}, {to, b.End}} {
		if part[0] < part[1] {
			r := b
			r.Start, r.End, r.Offset = part[0], part[1], b.Offset+int64(part[0]-b.Start)
			rest = append(rest, r)
		}
	}
	space.Bars = slices.Replace(space.Bars, i, i+1, rest...)
}

// nextMap finds the first real map of a thread's process that ends behind an address.
func nextMap(k *Kernel, t *Thread, addr uint64) (m machine.RealMap, ok bool) {
	for line := range strings.Lines(k.M.Maps(t.ID)) {
		if m, ok = machine.ParseMap(line); ok && m.End > addr {
			return m, true
		}
	}
	return machine.RealMap{}, false
}

// Barred decides about an access to some addresses for which a permission is lacking, if they are barred.
func Barred(k *Kernel, id kernel.ThreadID, addr, size uint64, by machine.Access) machine.Admission {
	t := k.Threads[id]
	if t == nil || k.Procs[t.Proc] == nil || k.Spaces[k.Proc(t).Space] == nil {
		return machine.NotBarred
	}
	space, answer := k.Spaces[k.Proc(t).Space], machine.NotBarred
	for end := addr + size; addr < end && len(space.Bars) > 0; {
		if by == machine.ByLook {
			if slices.ContainsFunc(space.Bars, func(b kernel.Bar) bool {
				return b.Start < end && b.End > addr && b.Taken&unix.PROT_READ != 0
			}) {
				return machine.Refused
			}
			break
		}
		i, at := nextBar(k, t, space, addr, end)
		if i < 0 {
			break
		}
		next, admitted := admit(k, t, space, i, at)
		if !admitted {
			return machine.Refused
		}
		answer, addr = machine.Admitted, next
	}
	return answer
}

// nextBar finds the first bar in a range of addresses that is there still, -1 for none, and where it begins in the range.
func nextBar(k *Kernel, t *Thread, space *kernel.Space, addr, end uint64) (i int, at uint64) {
	i = -1
	for n := range space.Bars {
		b := &space.Bars[n]
		from := max(addr, b.Start)
		if b.Start >= end || b.End <= addr || i >= 0 && from >= at {
			continue
		}
		if _, _, ok := barredAs(k, t, b, from); ok {
			i, at = n, from
		}
	}
	return i, at
}

// admit decides about an access to an address that is barred by bar i, and gives the address up to which it is not
// any more.
func admit(k *Kernel, t *Thread, space *kernel.Space, i int, addr uint64) (next uint64, admitted bool) {
	b, tree := space.Bars[i], k.Node(t).FS
	offset := b.Offset + int64(addr-b.Start)
	if b.Taken&unix.PROT_READ == 0 {
		page := offset / pageSize
		if tree.Full != 0 && len(tree.Holes(env(k, t), b.File, page, page+1)) > 0 {
			k.Seen(net.FaultRef{Kind: fault.DiskFull, ID: tree.Full})
			return 0, false
		}
		lift(k, t, space, i, b.Start, b.End)
		return b.End, true
	}
	from := max(b.Start, addr-min(addr, uint64(offset%coldBytes)))
	to := min(b.End, addr+uint64(coldBytes-offset%coldBytes))
	start := b.Offset + int64(from-b.Start)
	if len(tree.Cold(b.File, start/pageSize, (start+int64(to-from))/pageSize)) > 0 { // another map may have brought it
		if !load(k, t, b.File, start, int(to-from)) {
			return 0, false
		}
		tree.Warm(b.File, start, start+int64(to-from))
	}
	lift(k, t, space, i, from, to)
	if tree.Full != 0 {
		bar(k, t)
	}
	return to, true
}

// load reads a part of a mapped file from the disk, as mmap in rules, and reports whether that has succeeded.
func load(k *Kernel, t *Thread, id fs.InodeID, off int64, size int) bool {
	node := k.Node(t)
	size = int(min(int64(size), node.FS.Size(id)-off))
	if !node.Harmed || size <= 0 {
		return true
	}
	h := k.DiskFault(&fault.Call{Node: node.Name, Name: "mmap", Op: fault.Read, Path: nameOf(node.FS, id),
		Offset: off, Bytes: size})
	if h.Kind != "" && h.ID == 0 {
		k.Seen(net.FaultRef{Kind: h.Kind, Rule: h.Rule})
	}
	switch h.Kind {
	case fault.ReadFail:
		return false
	case fault.ReadCorrupt:
		node.FS.Rot(env(k, t), id, off+int64(h.Bit/8), byte(1<<(h.Bit%8)))
	}
	return true
}

// changesMaps executes a call that changes the maps of a range of addresses, of which parts may be barred.
func changesMaps(k *Kernel, t *Thread, call func(*Kernel, *Thread) Result) Result {
	addr, size := t.Call.Args[0].Pointer(), t.Call.Args[1].Size()
	meets := func(b kernel.Bar) bool { return b.Start < addr+max(size, 1) && b.End > addr }
	if !slices.ContainsFunc(k.Spaces[k.Proc(t).Space].Bars, meets) {
		return call(k, t)
	}
	unbar(k, t)
	r := call(k, t)
	if r == kernel.Passed {
		r = Result(k.M.Native(t.ID))
	}
	bar(k, t)
	return r
}

// makesHoles follows a call that may have taken pages from a file that is mapped, and returns its result.
func makesHoles(k *Kernel, t *Thread, r Result) Result {
	if n := k.Node(t); n.FS.Full != 0 {
		barAll(k, n)
	}
	return r
}

// storable notes that a thread's process may store into the shared maps of files in a range of addresses.
func storable(k *Kernel, t *Thread, addr, size uint64) unix.Errno {
	tree := k.Node(t).FS
	if len(tree.ByBlob) == 0 {
		return 0
	}
	for line := range strings.Lines(k.M.Maps(t.ID)) {
		m, ok := machine.ParseMap(line)
		if !ok || !m.Shared || m.Blob == 0 || m.End <= addr || m.Start >= addr+size {
			continue
		}
		if id := tree.FileOf(fs.BlobID(m.Blob)); id != 0 {
			if e := tree.Storable(env(k, t), id); e != errno.OK {
				return unix.Errno(e)
			}
		}
	}
	return 0
}

// shownAs gives the access of a line of maps as the program has it: the engine has barred it perhaps.
func shownAs(space *kernel.Space, m *machine.RealMap, access string) (shown string, barred bool) {
	i := slices.IndexFunc(space.Bars, func(b kernel.Bar) bool { return m.Start >= b.Start && m.Start < b.End })
	if i < 0 || space.Bars[i].Blob != m.Blob || m.Prot() != space.Bars[i].Prot&^space.Bars[i].Taken {
		return access, false
	}
	letters := []byte(access)
	for bit, letter := range "rwx" {
		if space.Bars[i].Prot&(1<<bit) != 0 {
			letters[bit] = byte(letter)
		}
	}
	return string(letters), true
}
