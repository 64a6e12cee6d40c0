package fs

import "github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"

// NewMemory makes the inode of memfd_create(2): a regular file without a name. It has a reference, as after Open.
func (s *State) NewMemory(env *Env, name string, mode uint32, seals int) (InodeID, errno.Errno) {
	in, e := s.inode(rootInode).newInode(s, env, Inode{Mode: S_IFREG | mode&permBits, Memory: true, Seals: seals, Parent: rootInode, Name: "memfd:" + name})
	if e != errno.OK {
		return 0, e
	}
	in.Nlink, in.Refs = 0, 1
	return in.ID, errno.OK
}

// AddSeals answers fcntl(2) with F_ADD_SEALS for an inode that is open for writing.
func (s *State) AddSeals(id InodeID, seals int) errno.Errno {
	in := s.inode(id)
	switch {
	case !in.Memory || seals&^(F_SEAL_SEAL|F_SEAL_SHRINK|F_SEAL_GROW|F_SEAL_WRITE|F_SEAL_FUTURE_WRITE|F_SEAL_EXEC) != 0:
		return errno.EINVAL
	case in.Seals&F_SEAL_SEAL != 0:
		return errno.EPERM
	}
	in.Seals |= seals
	return errno.OK
}
