package fs

import (
	"bytes"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
)

// Flags of setxattr(2).
const (
	XATTR_CREATE  = 1
	XATTR_REPLACE = 2
)

// xattrName checks a name. Only user.* is kept, on regular files and directories (xattr(7)).
func (in *Inode) xattrName(s *State, name string, write bool) errno.Errno {
	switch {
	case name == "" || len(name) > maxXattrName:
		return errno.ERANGE
	case !strings.HasPrefix(name, "user."):
		return errno.EOPNOTSUPP
	case name == "user.":
		return errno.EINVAL
	case in.Synth != "":
		return errno.EOPNOTSUPP
	case !in.is(S_IFREG) && !in.isDir() && write:
		return errno.EPERM
	case !in.is(S_IFREG) && !in.isDir():
		return errno.ENODATA
	}
	return errno.OK
}

func (in *Inode) xattr(name string) (int, bool) {
	return slices.BinarySearchFunc(in.Xattrs, name, func(x Xattr, name string) int { return strings.Compare(x.Name, name) })
}

// GetXattr answers getxattr(2).
func (s *State) GetXattr(env *Env, id InodeID, name string) ([]byte, errno.Errno) {
	in := s.inode(id)
	if e := in.xattrName(s, name, false); e != errno.OK {
		return nil, e
	}
	if e := in.access(s, env, R_OK); e != errno.OK {
		return nil, e
	}
	i, ok := in.xattr(name)
	if !ok {
		return nil, errno.ENODATA
	}
	return in.Xattrs[i].Value, errno.OK
}

// SetXattr answers setxattr(2).
func (s *State) SetXattr(env *Env, id InodeID, name string, value []byte, flags int) errno.Errno {
	in := s.inode(id)
	if flags&^(XATTR_CREATE|XATTR_REPLACE) != 0 || flags == XATTR_CREATE|XATTR_REPLACE {
		return errno.EINVAL
	}
	if len(value) > maxXattrBytes {
		return errno.E2BIG
	}
	if e := in.alterXattr(s, env, name); e != errno.OK {
		return e
	}
	i, ok := in.xattr(name)
	switch {
	case ok && flags == XATTR_CREATE:
		return errno.EEXIST
	case !ok && flags == XATTR_REPLACE:
		return errno.ENODATA
	}
	total := len(name) + len(value)
	for _, x := range in.Xattrs {
		if x.Name != name {
			total += len(x.Name) + len(x.Value)
		}
	}
	if total > maxXattrBytes {
		return errno.ENOSPC
	}
	in.noteAttributes(s)
	if ok {
		in.Xattrs[i].Value = bytes.Clone(value)
	} else {
		in.Xattrs = slices.Insert(in.Xattrs, i, Xattr{name, bytes.Clone(value)})
	}
	in.changed(s, env)
	return errno.OK
}

func (in *Inode) alterXattr(s *State, env *Env, name string) errno.Errno {
	if e := in.writable(s); e != errno.OK {
		return e
	}
	if e := in.xattrName(s, name, true); e != errno.OK {
		return e
	}
	return in.access(s, env, W_OK)
}

// ListXattr answers listxattr(2).
func (s *State) ListXattr(id InodeID) []string {
	var names []string
	for _, x := range s.inode(id).Xattrs {
		names = append(names, x.Name)
	}
	return names
}

// RemoveXattr answers removexattr(2).
func (s *State) RemoveXattr(env *Env, id InodeID, name string) errno.Errno {
	in := s.inode(id)
	if e := in.alterXattr(s, env, name); e != errno.OK {
		return e
	}
	i, ok := in.xattr(name)
	if !ok {
		return errno.ENODATA
	}
	in.noteAttributes(s)
	in.Xattrs = slices.Delete(in.Xattrs, i, i+1)
	in.changed(s, env)
	return errno.OK
}
