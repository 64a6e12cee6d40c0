//go:build linux && amd64

package kernel

import (
	"github.com/bloodhound-dst/bloodhound/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/engine/native/net"
	"github.com/bloodhound-dst/bloodhound/fault"
	"golang.org/x/sys/unix"
)

// harm asks what strikes a call on an open file, and tells that the program sees it. Files that the node has not written,
// such as programs and libraries, are read without harm.
func (k *Kernel) harm(t *Thread, f *File, op fault.Op, off int64, n int) fault.Harm {
	node := k.node(t)
	if !node.Harmed {
		return fault.Harm{}
	}
	in := node.FS.Get(f.Inode)
	switch {
	case !node.FS.OnDisk(f.Inode) || op != fault.Sync && n == 0:
		return fault.Harm{}
	case op == fault.Read && in.Blob == 0, op == fault.Sync && !in.Dirty:
		return fault.Harm{}
	}
	h := k.DiskFault(&fault.Call{Node: node.Name, Name: table[t.Call.Nr].name, Op: op, Path: nameOf(node.FS, f.Inode), Offset: off, Bytes: n})
	if h.Kind != "" {
		t.Call.Detail = string(h.Kind)
		k.Seen(net.FaultRef{Kind: h.Kind})
	}
	return h
}

// store writes to a regular file what faults let through.
func (k *Kernel) store(t *Thread, f *File, data []byte, pos int64) (int, unix.Errno) {
	switch h := k.harm(t, f, fault.Write, pos, len(data)); h.Kind {
	case fault.WriteFail:
		return 0, unix.EIO
	case fault.PartialWrite:
		data = data[:h.Bytes]
	}
	n, e := k.node(t).FS.WriteAt(k.env(t), f.Inode, data, pos)
	if e == fs.OK {
		return n, 0
	}
	return n, errno(e)
}
