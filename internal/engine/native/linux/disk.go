//go:build linux && amd64

package linux

import (
	"path"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/net"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"golang.org/x/sys/unix"
)

// harm asks which fault to inject into a call on a file, and reports that the program sees it, unless that depends
// on what the disk takes. Files that the node has not written,
// such as programs and libraries, are read without harm.
func harm(k *Kernel, t *Thread, id fs.InodeID, op fault.Op, off int64, n int) fault.Harm {
	node := k.Node(t)
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
	h := k.DiskFault(&fault.Call{Node: node.Name, Name: k.CallName(t), Op: op, Path: nameOf(node.FS, id), Offset: off, Bytes: n})
	if h.Kind != "" {
		t.Call.Meet(h.Kind)
		if h.ID == 0 && h.Kind != fault.PartialWrite {
			k.Seen(net.FaultRef{Kind: h.Kind, Rule: h.Rule})
		}
	}
	return h
}

// opening asks which openings of a thread's call fail; nil where none can.
func opening(k *Kernel, t *Thread) func(id fs.InodeID, name string) errno.Errno {
	node := k.Node(t)
	if !node.OpensHarmed {
		return nil
	}
	return func(id fs.InodeID, name string) errno.Errno {
		if !node.FS.Openable(id, name != "") {
			return errno.OK
		}
		file := path.Join(nameOf(node.FS, id), name)
		h := k.DiskFault(&fault.Call{Node: node.Name, Name: k.CallName(t), Makes: makes(k, t), Op: fault.Open, Path: file})
		if h.Kind == "" {
			return errno.OK
		}
		t.Call.Meet(h.Kind)
		k.Seen(net.FaultRef{Kind: h.Kind, Rule: h.Rule})
		return errno.EIO
	}
}

// store writes to a regular file what faults let through.
func store(k *Kernel, t *Thread, f *File, data []byte, pos int64) Result {
	h := harm(k, t, f.Inode, fault.Write, pos, len(data))
	end := pos + int64(len(data))
	switch h.Kind {
	case fault.WriteFail:
		return fail(unix.EIO)
	case fault.PartialWrite, fault.TornWrite:
		data = data[:h.Bytes]
	}
	n, e := k.Node(t).FS.WriteAt(env(k, t), f.Inode, data, pos)
	if h.Kind == fault.PartialWrite && n == len(data) { // else the disk had no room for so much
		k.Seen(net.FaultRef{Kind: h.Kind, Rule: h.Rule})
	}
	switch {
	case h.Kind == fault.TornWrite:
		return tear(k, t, f, pos+int64(n), end, h.ID)
	case e != errno.OK && n == 0:
		return failure(e)
	}
	return Result(n)
}

// tear ends a write in its middle. What comes before is on the disk, and so is, as the disk may write whenever it likes,
// all that was done to the file. The thread never comes back: the world around takes the power away.
func tear(k *Kernel, t *Thread, f *File, from, to int64, number int) Result {
	n := k.Node(t)
	n.FS.Sync(env(k, t), f.Inode, false)
	n.Torn = kernel.Torn{Inode: f.Inode, From: from, To: to}
	k.Notices = append(k.Notices, kernel.Notice{Kind: kernel.TornWrite, Event: k.Events + 1, TimeNs: k.Now, Node: n.ID, Tag: int64(number)})
	return k.Block(t, 0)
}

// rot flips a bit of a file on the disk, and in the page cache.
func rot(k *Kernel, t *Thread, f *File, pos int64, bit int) unix.Errno {
	return unix.Errno(k.Node(t).FS.Rot(env(k, t), f.Inode, pos+int64(bit/8), byte(1<<(bit%8))))
}

// slowed makes a thread wait for its disk before its call on a file does its work. op is Read or Write.
func slowed(k *Kernel, t *Thread, f *File, op fault.Op) (Result, bool) {
	c, node := &t.Call, k.Node(t)
	switch {
	case c.Slow != 0 || c.DiskNs != 0: // it has begun to wait
		if !t.Written(k) {
			return k.Block(t, c.DiskNs, Key{Kind: kernel.KeyThread, ID: t.ID}), true
		}
		sawSlow(k, t)
		return 0, false
	case node.Slow.Fault == 0 && node.Disk.ReadMostNs == 0, f.Kind != kernel.FileInode || !node.FS.OnDisk(f.Inode):
		return 0, false
	}
	ns := stalled(k, node, op)
	if c.Slow = node.Slow.Fault; c.Slow != 0 {
		ns = kernel.SatAdd(ns, node.Slow.Ns)
	} else if ns == 0 {
		return 0, false
	}
	c.DiskNs = kernel.SatAdd(k.Now, ns)
	return k.Block(t, c.DiskNs, Key{Kind: kernel.KeyThread, ID: t.ID}), true
}

// stalled draws how long a read or a write waits for a disk that has a speed: mostly not at all.
func stalled(k *Kernel, node *kernel.Node, op fault.Op) int64 {
	switch {
	case node.Disk.ReadMostNs == 0:
		return 0
	case op == fault.Read:
		return fault.Between(0, node.Disk.ReadMostNs, k.Tape.Rare("speed/"+node.Name+"/read", fault.SpeedSteps, fault.ReadWaitPPM))
	}
	return fault.Between(0, node.Disk.WriteMostNs, k.Tape.Rare("speed/"+node.Name+"/write", fault.SpeedSteps, fault.WriteWaitPPM))
}

// syncNs is how long a synchronisation takes.
func syncNs(k *Kernel, node *kernel.Node) int64 {
	if node.Disk.SyncMostNs == 0 {
		return k.Cost.SyncNs
	}
	return fault.Between(node.Disk.SyncLeastNs, node.Disk.SyncMostNs, k.Tape.Rare("speed/"+node.Name+"/sync", fault.SpeedSteps, 0))
}

// sawSlow reports that a program has waited for a slow disk.
func sawSlow(k *Kernel, t *Thread) {
	if t.Call.Slow != 0 {
		k.Seen(net.FaultRef{Kind: fault.SlowDisk, ID: t.Call.Slow})
	}
}

// written reports whether the disk has had its time to write. What is synchronised is durable at the end of the call,
// and the power may go before. f is the file, or nil for all of the disk.
func written(k *Kernel, t *Thread, f *File) bool {
	if t.Call.Again {
		if t.Written(k) {
			sawSlow(k, t)
			return true
		}
		return false
	}
	if n := k.Node(t); n.Slow.Fault != 0 && (f == nil || n.FS.OnDisk(f.Inode)) {
		t.Call.Slow = n.Slow.Fault
	}
	return k.Cost.SyncNs == 0 && t.Call.Slow == 0 && k.Node(t).Disk.SyncMostNs == 0
}

// awaitDisk makes a thread wait for the disk.
func awaitDisk(k *Kernel, t *Thread) Result {
	ns := int64(0)
	if node := k.Node(t); !t.Call.Again {
		if ns = syncNs(k, node); t.Call.Slow != 0 {
			ns = kernel.SatAdd(ns, node.Slow.Ns)
		}
	}
	return k.AwaitDisk(t, ns)
}
