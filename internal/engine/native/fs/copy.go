package fs

import (
	"bytes"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
)

// CopyVolume gives the mount at target what another node's mount at source has: the copy starts with all writes that
// have completed there. It is durable at once. empty says that nothing was there.
func (s *State) CopyVolume(env *Env, target string, from *State, fromEnv *Env, source string) (empty bool, e errno.Errno) {
	there, e := from.Walk(fromEnv, from.Root(), source, true)
	if e != errno.OK {
		return false, e
	}
	here, e := s.Walk(env, s.Root(), target, true)
	if e != errno.OK {
		return false, e
	}
	journal := s.Journal.On
	s.Journal.On = false
	defer func() { s.Journal.On = journal }()
	c := copying{s: s, env: env, from: from, fromEnv: fromEnv, known: map[InodeID]*Inode{}, buffer: make([]byte, 1<<20)}
	src, dst := from.inode(there.Inode), s.inode(here.Inode)
	if e := c.folder(src, dst); e != errno.OK {
		return false, e
	}
	c.attributes(src, dst)
	return len(dst.Entries) == 0, errno.OK
}

type copying struct {
	s, from      *State
	env, fromEnv *Env
	known        map[InodeID]*Inode // copies of files that may have further names
	buffer       []byte
}

func (c *copying) folder(src, dst *Inode) errno.Errno {
	if e := src.load(c.from, c.fromEnv); e != errno.OK {
		return e
	}
	for _, name := range src.names() {
		child, e := src.lookup(c.from, c.fromEnv, name)
		if e != errno.OK {
			return e
		}
		if child.MountRoot {
			continue
		}
		if made := c.known[child.ID]; made != nil {
			made.Nlink++
			dst.enter(c.s, name, made)
			continue
		}
		made, e := c.s.create(c.env, Inode{Mount: dst.Mount, Mode: child.Mode, Layer: NoLayer, Nlink: 1, Rdev: child.Rdev, Target: child.Target})
		if e != errno.OK {
			return e
		}
		dst.enter(c.s, name, made)
		switch {
		case child.isDir():
			e = c.folder(child, made)
		case child.is(S_IFREG):
			e = c.content(child, made)
		case child.is(S_IFLNK):
			made.Target, e = child.target(c.from, c.fromEnv)
			made.Size = int64(len(made.Target))
		}
		if e != errno.OK {
			return e
		}
		if !child.isDir() {
			c.known[child.ID] = made
		}
		c.attributes(child, made)
	}
	return errno.OK
}

func (c *copying) attributes(src, dst *Inode) {
	dst.Mode, dst.UID, dst.GID = src.Mode, src.UID, src.GID
	dst.AtimeNs, dst.MtimeNs, dst.CtimeNs, dst.BtimeNs = src.AtimeNs, src.MtimeNs, src.CtimeNs, src.BtimeNs
	dst.Xattrs = nil
	for _, x := range src.Xattrs {
		dst.Xattrs = append(dst.Xattrs, Xattr{x.Name, bytes.Clone(x.Value)})
	}
}

// content copies a file's bytes; parts that are all zeros become holes.
func (c *copying) content(src, dst *Inode) errno.Errno {
	if src.Size == 0 {
		return errno.OK
	}
	if e := dst.resize(c.s, c.env, src.Size); e != errno.OK {
		return e
	}
	for off := int64(0); off < src.Size; {
		n, e := c.from.ReadAt(c.fromEnv, src.ID, c.buffer, off)
		if e != errno.OK || n == 0 {
			return e
		}
		if part := c.buffer[:n]; bytes.Count(part, []byte{0}) < n {
			if wrote, e := dst.writeAt(c.s, c.env, part, off); e != errno.OK || wrote < n {
				return max(e, errno.ENOSPC)
			}
		}
		off += int64(n)
	}
	return errno.OK
}
