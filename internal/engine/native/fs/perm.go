package fs

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
)

// permits checks the permission bits of an inode (path_resolution(7)); want is a union of R_OK, W_OK and X_OK.
func (c *Cred) permits(in *Inode, want uint32) bool {
	if c.UID == 0 { // CAP_DAC_OVERRIDE: all, but execute only what some class of users may execute
		return want&X_OK == 0 || in.isDir() || in.Mode&0o111 != 0
	}
	bits := in.Mode
	switch {
	case c.UID == in.UID:
		bits >>= 6
	case c.member(in.GID):
		bits >>= 3
	}
	return bits&want == want
}

func (c *Cred) member(gid int) bool { return c.GID == gid || slices.Contains(c.Groups, gid) }

func (c *Cred) owns(in *Inode) bool { return c.UID == 0 || c.UID == in.UID }

func (in *Inode) access(s *State, env *Env, want uint32) errno.Errno {
	if !env.Cred.permits(in, want) {
		return errno.EACCES
	}
	return errno.OK
}

// writable answers EROFS for what lies on a read-only mount.
func (in *Inode) writable(s *State) errno.Errno {
	if in.mountOf(s).ReadOnly {
		return errno.EROFS
	}
	return errno.OK
}

// runs reports whether an inode is a program that runs, and so may not be written.
func (env *Env) runs(in *Inode) bool { return env.Programs != nil && env.Programs.Runs(in.ID) }

// mayCreate is the check before a new name.
func (dir *Inode) mayCreate(s *State, env *Env) errno.Errno {
	if dir.Nlink == 0 {
		return errno.ENOENT
	}
	if dir.Synth != "" {
		return errno.ENOENT // /proc and /sys know all names that they can have
	}
	if dir.Fixed {
		return errno.EPERM
	}
	return dir.access(s, env, W_OK|X_OK)
}

// mayDelete is the check before a name goes; asDir says that the caller wants a directory to go.
func (dir *Inode) mayDelete(s *State, env *Env, victim *Inode, asDir bool) errno.Errno {
	if dir.Synth != "" || dir.Fixed || victim.Fixed {
		return errno.EPERM
	}
	if e := dir.access(s, env, W_OK|X_OK); e != errno.OK {
		return e
	}
	c := &env.Cred
	if dir.Mode&S_ISVTX != 0 && c.UID != 0 && c.UID != victim.UID && c.UID != dir.UID {
		return errno.EPERM
	}
	switch {
	case asDir && !victim.isDir():
		return errno.ENOTDIR
	case !asDir && victim.isDir():
		return errno.EISDIR
	case victim.MountRoot:
		return errno.EBUSY
	}
	return errno.OK
}

// Access answers access(2) for an inode.
func (s *State) Access(env *Env, id InodeID, want uint32) errno.Errno {
	in := s.inode(id)
	if want&W_OK != 0 && (in.is(S_IFREG) || in.isDir() || in.is(S_IFLNK)) {
		if e := in.writable(s); e != errno.OK {
			return e
		}
	}
	return in.access(s, env, want)
}
