package fs

import "github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"

// vacant resolves the path of a name that is to be created (and must not exist). slashOK says that slashes may
// follow it.
func (s *State) vacant(env *Env, at InodeID, path string, slashOK bool) (tail, errno.Errno) {
	t, e := s.tail(env, at, path)
	if e != errno.OK {
		return t, e
	}
	if t.kind != lastName {
		return t, errno.EEXIST
	}
	_, e = t.dir.lookup(s, env, t.name)
	switch {
	case e == errno.OK:
		return t, errno.EEXIST
	case e != errno.ENOENT:
		return t, e
	case t.slash && !slashOK:
		return t, errno.ENOENT
	case t.dir.mountOf(s).ReadOnly:
		return t, errno.EROFS
	}
	return t, t.dir.mayCreate(s, env)
}

// make creates an inode with a name. Checks were made.
func (dir *Inode) make(s *State, env *Env, name string, in Inode) (*Inode, errno.Errno) {
	made, e := dir.newInode(s, env, in)
	if e != errno.OK {
		return nil, e
	}
	s.atomically()
	dir.noteName(s, name)
	made.noteNew(s)
	dir.enter(s, name, made)
	dir.touched(s, env)
	dir.notify(s, IN_CREATE|isDirBit(made), 0, name)
	s.writeBack(env)
	return made, errno.OK
}

func (dir *Inode) newInode(s *State, env *Env, in Inode) (*Inode, errno.Errno) {
	in.Mount, in.Layer, in.Nlink = dir.Mount, NoLayer, 1
	in.UID, in.GID = env.Cred.UID, env.Cred.GID
	if dir.Mode&S_ISGID != 0 {
		in.GID = dir.GID
		if in.isDir() {
			in.Mode |= S_ISGID
		}
	}
	if in.is(S_IFLNK) {
		in.Size = int64(len(in.Target))
	}
	(&in).stamp(s, env.NowNs)
	if s.full(in.Mount) && !in.Memory {
		s.Noticed = append(s.Noticed, s.Full)
		return nil, errno.ENOSPC
	}
	return s.create(env, in)
}

// Mkdir answers mkdir(2). The caller has applied the umask.
func (s *State) Mkdir(env *Env, at InodeID, path string, mode uint32) errno.Errno {
	t, e := s.vacant(env, at, path, true)
	if e != errno.OK {
		return e
	}
	_, e = t.dir.make(s, env, t.name, Inode{Mode: S_IFDIR | mode&(permBits&^(S_ISUID|S_ISGID))})
	return e
}

// Mknod answers mknod(2) for regular files, FIFOs and sockets; devices are EPERM. It gives the new inode, which has
// no reference yet. The caller has applied the umask.
func (s *State) Mknod(env *Env, at InodeID, path string, mode uint32) (InodeID, errno.Errno) {
	switch mode & S_IFMT {
	case 0:
		mode |= S_IFREG
	case S_IFREG, S_IFIFO, S_IFSOCK:
	case S_IFCHR, S_IFBLK, S_IFDIR:
		return 0, errno.EPERM
	default:
		return 0, errno.EINVAL
	}
	t, e := s.vacant(env, at, path, false)
	if e != errno.OK {
		return 0, e
	}
	in, e := t.dir.make(s, env, t.name, Inode{Mode: mode & (S_IFMT | permBits)})
	if e != errno.OK {
		return 0, e
	}
	return in.ID, errno.OK
}

// Symlink answers symlink(2).
func (s *State) Symlink(env *Env, target string, at InodeID, path string) errno.Errno {
	switch {
	case target == "":
		return errno.ENOENT
	case len(target) > maxSymlink:
		return errno.ENAMETOOLONG
	}
	t, e := s.vacant(env, at, path, false)
	if e != errno.OK {
		return e
	}
	_, e = t.dir.make(s, env, t.name, Inode{Mode: S_IFLNK | 0o777, Target: target})
	return e
}

// Readlink answers readlink(2) for an inode.
func (s *State) Readlink(env *Env, id InodeID) (string, errno.Errno) {
	in := s.inode(id)
	if !in.is(S_IFLNK) {
		return "", errno.EINVAL
	}
	return in.target(s, env)
}

// Link answers link(2): a new name for an inode.
func (s *State) Link(env *Env, id InodeID, at InodeID, path string) errno.Errno {
	in := s.inode(id)
	t, e := s.tail(env, at, path)
	if e != errno.OK {
		return e
	}
	if t.kind != lastName {
		return errno.EEXIST
	}
	switch _, e := t.dir.lookup(s, env, t.name); {
	case e == errno.OK:
		return errno.EEXIST
	case e != errno.ENOENT:
		return e
	case t.slash:
		return errno.ENOENT
	case t.dir.mountOf(s).ReadOnly:
		return errno.EROFS
	case in.Mount != t.dir.Mount:
		return errno.EXDEV
	}
	if e := t.dir.mayCreate(s, env); e != errno.OK {
		return e
	}
	switch {
	case in.isDir() || in.Synth != "":
		return errno.EPERM
	case in.Nlink == 0 && !in.Tmpfile:
		return errno.ENOENT
	case in.Nlink >= maxHardlinks:
		return errno.EMLINK
	}
	in.Nlink++
	in.Tmpfile = false
	in.CtimeNs = env.NowNs
	in.notify(s, IN_ATTRIB, 0, "") // of the link count
	s.atomically()
	t.dir.noteName(s, t.name)
	t.dir.enter(s, t.name, in)
	t.dir.touched(s, env)
	t.dir.notify(s, IN_CREATE, 0, t.name)
	return errno.OK
}

// Unlink answers unlink(2).
func (s *State) Unlink(env *Env, at InodeID, path string) errno.Errno {
	t, e := s.tail(env, at, path)
	if e != errno.OK {
		return e
	}
	if t.kind != lastName {
		return errno.EISDIR
	}
	if e := t.dir.writable(s); e != errno.OK {
		return e
	}
	in, e := t.dir.lookup(s, env, t.name)
	switch {
	case e != errno.OK:
		return e
	case t.slash && in.isDir():
		return errno.EISDIR
	case t.slash:
		return errno.ENOTDIR
	}
	if e := t.dir.mayDelete(s, env, in, false); e != errno.OK {
		return e
	}
	t.dir.unlink(s, env, t.name, in)
	return errno.OK
}

func (dir *Inode) unlink(s *State, env *Env, name string, in *Inode) {
	dir.touched(s, env)
	if !in.isDir() {
		in.notify(s, IN_ATTRIB, 0, "") // of the link count
	}
	dir.notify(s, IN_DELETE|isDirBit(in), 0, name)
	s.atomically()
	dir.noteName(s, name)
	dir.leave(s, env, name, in)
	s.writeBack(env)
}

// Rmdir answers rmdir(2).
func (s *State) Rmdir(env *Env, at InodeID, path string) errno.Errno {
	t, e := s.tail(env, at, path)
	if e != errno.OK {
		return e
	}
	switch t.kind {
	case lastDot:
		return errno.EINVAL
	case lastDotDot:
		return errno.ENOTEMPTY
	case lastRoot:
		return errno.EBUSY
	}
	if e := t.dir.writable(s); e != errno.OK {
		return e
	}
	in, e := t.dir.lookup(s, env, t.name)
	if e != errno.OK {
		return e
	}
	if e := t.dir.mayDelete(s, env, in, true); e != errno.OK {
		return e
	}
	if e := in.empty(s, env); e != errno.OK {
		return e
	}
	t.dir.unlink(s, env, t.name, in)
	return errno.OK
}

// Rename answers renameat2(2).
func (s *State) Rename(env *Env, fromAt InodeID, from string, toAt InodeID, to string, flags int) errno.Errno {
	exchange := flags&RENAME_EXCHANGE != 0
	if flags&^(RENAME_NOREPLACE|RENAME_EXCHANGE) != 0 || flags == RENAME_NOREPLACE|RENAME_EXCHANGE {
		return errno.EINVAL
	}
	o, e := s.tail(env, fromAt, from)
	if e != errno.OK {
		return e
	}
	n, e := s.tail(env, toAt, to)
	if e != errno.OK {
		return e
	}
	switch {
	case o.dir.Mount != n.dir.Mount:
		return errno.EXDEV
	case o.kind != lastName:
		return errno.EBUSY
	case n.kind != lastName && flags&RENAME_NOREPLACE != 0:
		return errno.EEXIST
	case n.kind != lastName:
		return errno.EBUSY
	case o.dir.mountOf(s).ReadOnly:
		return errno.EROFS
	}
	a, e := o.dir.lookup(s, env, o.name)
	if e != errno.OK {
		return e
	}
	b, e := n.dir.lookup(s, env, n.name)
	switch {
	case e != errno.OK && e != errno.ENOENT:
		return e
	case b != nil && flags&RENAME_NOREPLACE != 0:
		return errno.EEXIST
	case b == nil && exchange:
		return errno.ENOENT
	case exchange && !b.isDir() && n.slash:
		return errno.ENOTDIR
	case !a.isDir() && (o.slash || !exchange && n.slash):
		return errno.ENOTDIR
	case a.above(s, n.dir):
		return errno.EINVAL
	case b != nil && b.above(s, o.dir) && exchange:
		return errno.EINVAL
	case b != nil && b.above(s, o.dir):
		return errno.ENOTEMPTY
	case a == b:
		return errno.OK
	}
	if e := o.dir.mayRename(s, env, n.dir, a, b, exchange); e != errno.OK {
		return e
	}
	if b != nil && !exchange { // its stores so far come with it
		if e := a.observe(s, env, 0, a.Size); e != errno.OK {
			return e
		}
	}
	s.Cookie++
	s.atomically()
	n.dir.noteName(s, n.name)
	o.dir.noteName(s, o.name)
	if exchange {
		o.dir.enter(s, o.name, b)
		n.dir.enter(s, n.name, a)
		o.dir.touched(s, env)
		n.dir.touched(s, env)
		a.moved(s, env, nil, o, n)
		s.Cookie++
		b.moved(s, env, nil, n, o)
		return errno.OK
	}
	o.dir.touched(s, env)
	n.dir.touched(s, env)
	o.dir.unname(s, o.name)
	if b != nil {
		a.noteFlush(s)
		b.Refs++ // it goes when all watchers have been notified of the rename
		n.dir.leave(s, env, n.name, b)
	}
	n.dir.enter(s, n.name, a)
	a.moved(s, env, b, o, n)
	if b != nil {
		s.Unref(env, b.ID)
	}
	s.writeBack(env)
	return errno.OK
}

// mayRename makes the checks of a rename that need no more names. b is nil if the new name is free.
func (from *Inode) mayRename(s *State, env *Env, to, a, b *Inode, exchange bool) errno.Errno {
	if e := from.mayDelete(s, env, a, a.isDir()); e != errno.OK {
		return e
	}
	e := errno.OK
	switch {
	case b == nil:
		e = to.mayCreate(s, env)
	case exchange:
		e = to.mayDelete(s, env, b, b.isDir())
	default:
		e = to.mayDelete(s, env, b, a.isDir())
	}
	if e != errno.OK {
		return e
	}
	if from != to { // the entry .. of a directory changes
		if a.isDir() && a.access(s, env, W_OK) != errno.OK || exchange && b.isDir() && b.access(s, env, W_OK) != errno.OK {
			return errno.EACCES
		}
	}
	if b != nil && b.isDir() && !exchange {
		return b.empty(s, env)
	}
	return errno.OK
}

// above reports whether a directory is another one or contains it.
func (in *Inode) above(s *State, dir *Inode) bool {
	for {
		if in == dir {
			return true
		}
		if dir.ID == rootInode {
			return false
		}
		dir = dir.parent(s)
	}
}

// moved reports a rename; over is what had the new name.
func (in *Inode) moved(s *State, env *Env, over *Inode, from, to tail) {
	in.CtimeNs = env.NowNs
	bit := isDirBit(in)
	from.dir.notify(s, IN_MOVED_FROM|bit, s.Cookie, from.name)
	to.dir.notify(s, IN_MOVED_TO|bit, s.Cookie, to.name)
	if over != nil {
		over.notify(s, IN_ATTRIB|isDirBit(over), 0, "") // of the link count
	}
	in.notify(s, IN_MOVE_SELF, 0, "")
}
