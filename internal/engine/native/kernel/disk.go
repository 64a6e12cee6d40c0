//go:build linux && amd64

package kernel

import (
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/net"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"golang.org/x/sys/unix"
)

// harm asks which fault to inject into a call on a file, and tells that the program sees it, unless that depends
// on what the disk takes. Files that the node has not written,
// such as programs and libraries, are read without harm.
func (k *Kernel) harm(t *Thread, id fs.InodeID, op fault.Op, off int64, n int) fault.Harm {
	node := k.node(t)
	if !node.Harmed {
		return fault.Harm{}
	}
	in := node.FS.Get(id)
	switch {
	case !node.FS.OnDisk(id) || op != fault.Sync && n == 0:
		return fault.Harm{}
	case op == fault.Read && in.Blob == 0, op == fault.Sync && !in.Dirty:
		return fault.Harm{}
	}
	h := k.DiskFault(&fault.Call{Node: node.Name, Name: table[t.Call.Nr].name, Op: op, Path: nameOf(node.FS, id), Offset: off, Bytes: n})
	if h.Kind != "" {
		t.Call.Detail = string(h.Kind)
		if h.ID == 0 && h.Kind != fault.PartialWrite {
			k.Seen(net.FaultRef{Kind: h.Kind, Rule: h.Rule})
		}
	}
	return h
}

// store writes to a regular file what faults let through.
func (k *Kernel) store(t *Thread, f *File, data []byte, pos int64) Result {
	h := k.harm(t, f.Inode, fault.Write, pos, len(data))
	end := pos + int64(len(data))
	switch h.Kind {
	case fault.WriteFail:
		return fail(unix.EIO)
	case fault.PartialWrite, fault.TornWrite:
		data = data[:h.Bytes]
	}
	n, e := k.node(t).FS.WriteAt(k.env(t), f.Inode, data, pos)
	if h.Kind == fault.PartialWrite && n == len(data) { // else the disk had no room for so much
		k.Seen(net.FaultRef{Kind: h.Kind, Rule: h.Rule})
	}
	switch {
	case h.Kind == fault.TornWrite:
		return k.tear(t, f, pos+int64(n), end, h.ID)
	case e != fs.OK && n == 0:
		return fsFail(e)
	}
	return Result(n)
}

// Torn is a write of which the disk has a part when the power goes: up to From and not up to To.
type Torn struct {
	Inode    fs.InodeID
	From, To int64
}

// tear ends a write in its middle. What comes before is on the disk, and so is, as the disk may write whenever it likes,
// all that was done to the file. The thread never comes back: the world around takes the power away.
func (k *Kernel) tear(t *Thread, f *File, from, to int64, number int) Result {
	n := k.node(t)
	n.FS.Sync(k.env(t), f.Inode, false)
	n.Torn = Torn{Inode: f.Inode, From: from, To: to}
	k.Notices = append(k.Notices, Notice{Kind: TornWrite, Event: k.Events + 1, TimeNs: k.Now, Node: n.ID, Tag: int64(number)})
	return k.block(t, 0)
}

// rot flips a bit of a file on the disk, and in the page cache.
func (k *Kernel) rot(t *Thread, f *File, pos int64, bit int) unix.Errno {
	return errno(k.node(t).FS.Rot(k.env(t), f.Inode, pos+int64(bit/8), byte(1<<(bit%8))))
}

// Slow is how much longer than usual a disk takes for a call, and the fault that makes it so.
type Slow struct {
	Ns    int64
	Fault int
}

// slowed makes a thread wait for a slow disk before its call on a file does its work.
func (k *Kernel) slowed(t *Thread, f *File) (Result, bool) {
	slow := k.node(t).Slow
	switch {
	case t.Call.Slow != 0:
		if !t.expired(k) {
			return k.block(t, t.Call.Until, Key{Kind: KeyThread, ID: t.ID}), true
		}
		k.sawSlow(t)
		return 0, false
	case slow.Fault == 0 || f.Kind != FileInode || !k.node(t).FS.OnDisk(f.Inode):
		return 0, false
	}
	t.Call.Slow = slow.Fault
	return k.block(t, satAdd(k.Now, slow.Ns), Key{Kind: KeyThread, ID: t.ID}), true
}

// sawSlow tells that a program has waited for a slow disk.
func (k *Kernel) sawSlow(t *Thread) {
	if t.Call.Slow != 0 {
		k.Seen(net.FaultRef{Kind: fault.SlowDisk, ID: t.Call.Slow})
	}
}

// written reports whether the disk has had its time to write. What is synchronised is durable at the end of the call,
// and the power may go before. f is the file, or nil for all of the disk.
func (k *Kernel) written(t *Thread, f *File) bool {
	if t.Call.Again {
		if t.expired(k) {
			k.sawSlow(t)
			return true
		}
		return false
	}
	if n := k.node(t); n.Slow.Fault != 0 && (f == nil || n.FS.OnDisk(f.Inode)) {
		t.Call.Slow = n.Slow.Fault
	}
	return k.Cost.SyncNs == 0 && t.Call.Slow == 0
}

// awaitDisk makes a thread wait for the disk.
func (k *Kernel) awaitDisk(t *Thread) Result {
	until := t.Call.Until
	if !t.Call.Again {
		until = satAdd(k.Now, k.Cost.SyncNs)
		if t.Call.Slow != 0 {
			until = satAdd(until, k.node(t).Slow.Ns)
		}
	}
	return k.block(t, until, Key{Kind: KeyThread, ID: t.ID})
}
