//go:build linux && amd64

package linux

import (
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/net"
	"github.com/bloodhound-dst/bloodhound/internal/record"
)

// changed notes what a finished call of a program under test has changed of its node's files, and when a driver received
// bytes from another node.
func changed(k *Kernel, t *Thread, e *kernel.Syscall, result int64) {
	if t.State == kernel.Dead || k.Tables[k.Proc(t).Table] == nil {
		return
	}
	node := k.Node(t)
	if node.Driver {
		if e.Receives && result > 0 && fromOthers(k, t) {
			node.Received = k.Events
		}
		return
	}
	switch e.Changes {
	case kernel.ChangesNothing:
	case kernel.ChangesNames:
		changedName(k, t, node, e, result)
	default:
		changedFile(k, t, node, e, result)
	}
}

// fromOthers reports whether the call of a thread reads from a connection of the internet protocols.
func fromOthers(k *Kernel, t *Thread) bool {
	fd := t.Call.Args[0].Int()
	f := k.File(t, fd)
	if f == nil || f.Kind != kernel.FileSocket {
		return false
	}
	return k.Net.Kind(net.SockID(f.Obj)).Internet()
}

// changedFile notes a call on an open file.
func changedFile(k *Kernel, t *Thread, node *kernel.Node, e *kernel.Syscall, result int64) {
	c, args := &t.Call, &t.Call.Args
	f := k.File(t, args[0].Int())
	if f == nil || f.Kind != kernel.FileInode || !node.FS.OnDisk(f.Inode) {
		return
	}
	var from, to, short int64
	switch e.Changes {
	case kernel.ChangesAtPosition:
		from, to = f.Pos-max(result, 0), f.Pos
	case kernel.ChangesAtOffset:
		from = args[3].Int64()
		to = from + max(result, 0)
	case kernel.ChangesSize:
		to = args[1].Int64()
	}
	size := args[2].Int64()
	if (c.Nr == unix.SYS_WRITE || c.Nr == unix.SYS_PWRITE64) && result >= 0 && result < size {
		short = size
	}
	note(k, node, t, e, f.Inode, record.DiskChange{From: from, To: to, Short: short}, result)
}

// changedName notes a call that gives a file another name, or takes one away, and an opening that empties a file.
func changedName(k *Kernel, t *Thread, node *kernel.Node, e *kernel.Syscall, result int64) {
	c := &t.Call
	missing := result == -int64(unix.ENOENT) && node.Changes.After > 0
	if result < 0 && !missing && !lacks(unix.Errno(-result)) {
		return
	}
	switch c.Nr {
	case unix.SYS_OPEN, unix.SYS_OPENAT, unix.SYS_OPENAT2, unix.SYS_CREAT:
		if !missing && c.Fault == "" && !empties(flagsOf(k, t), result) {
			return
		}
	default:
		if missing {
			return
		}
	}
	names := subjects(k, t)
	if len(names) == 0 || served(names[0]) || missing && !node.Changes.Beside(names[0]) {
		return
	}
	x := record.DiskChange{Path: names[0]}
	if len(names) > 1 {
		x.Old = names[1]
	}
	note(k, node, t, e, 0, x, result)
}

// lacks reports whether an error says that a disk or a process has no room, or that the disk is broken. By other errors
// programs learn what there is. Of these, one matters: after a fault, a file is missing where the program keeps others.
func lacks(e unix.Errno) bool {
	return slices.Contains([]unix.Errno{unix.EIO, unix.ENOSPC, unix.EDQUOT, unix.EMFILE, unix.ENFILE}, e)
}

// empties reports whether an open(2) empties a file, or fails to make one.
func empties(flags uint64, result int64) bool {
	if result < 0 {
		return flags&unix.O_CREAT != 0
	}
	return flags&unix.O_TRUNC != 0
}

// served reports whether a path leads to files that no disk has.
func served(path string) bool {
	return slices.ContainsFunc([]string{"/proc/", "/sys/", "/dev/"}, func(folder string) bool { return strings.HasPrefix(path, folder) })
}

// note adds a call to the changes of a node. x has what is known of it beyond the file's name.
func note(k *Kernel, node *kernel.Node, t *Thread, e *kernel.Syscall, inode fs.InodeID, x record.DiskChange, result int64) {
	detail := string(t.Call.Fault)
	if result >= 0 && detail == "" && x.Short == 0 && inode != 0 && node.Changes.Continues(inode, e.Name, x.From, x.To, k.Now) {
		return
	}
	x.Event, x.TimeNs, x.Node, x.Call, x.Fault = k.Events, k.Now, node.Name, e.Name, detail
	if x.Path == "" {
		x.Path = nameOf(node.FS, inode)
	}
	if result < 0 {
		x.Errno = unix.ErrnoName(unix.Errno(-result))
	}
	node.Changes.Note(kernel.Change{DiskChange: x, Inode: inode})
}

// lost notes what a power loss, or another disk if restored, takes from the files of a node; sizes are those that they had before.
func lost(k *Kernel, node *kernel.Node, loss int, restored bool, sizes map[fs.InodeID]int64) {
	for _, l := range node.FS.Losses(loss) {
		x := record.DiskChange{Event: k.Events, TimeNs: k.Now, Node: node.Name, Call: record.Lost, Path: nameOf(node.FS, l.Inode),
			Pages: len(l.Pages), Rows: rows(l.Pages), Restored: restored}
		if before, known := sizes[l.Inode]; known && l.Size != before {
			x.From, x.To = l.Size, before
		}
		if len(l.Names) == 0 {
			node.Changes.Note(kernel.Change{DiskChange: x})
			continue
		}
		for _, name := range l.Names { // of a folder
			x.Path = nameOf(node.FS, l.Inode) + "/" + name
			x.Old = name
			node.Changes.Note(kernel.Change{DiskChange: x})
		}
	}
}

// rows are the first record.MaxRows rows of pages, in bytes of their file.
func rows(pages []int64) (list []record.Row) {
	const page = record.DiskPageBytes
	for _, n := range pages {
		if k := len(list) - 1; k >= 0 && list[k].To == n*page {
			list[k].To += page
			continue
		}
		if len(list) == record.MaxRows {
			break
		}
		list = append(list, record.Row{From: n * page, To: (n + 1) * page})
	}
	return list
}
