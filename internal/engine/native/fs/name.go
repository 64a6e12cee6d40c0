package fs

// vacant resolves the path of a name that is to be created (and must not exist). slashOK says that slashes may
// follow it.
func (s *State) vacant(env *Env, at InodeID, path string, slashOK bool) (tail, Errno) {
	t, e := s.tail(env, at, path)
	if e != OK {
		return t, e
	}
	if t.kind != lastName {
		return t, EEXIST
	}
	_, e = s.lookup(env, t.dir, t.name)
	switch {
	case e == OK:
		return t, EEXIST
	case e != ENOENT:
		return t, e
	case t.slash && !slashOK:
		return t, ENOENT
	case s.mountOf(t.dir).ReadOnly:
		return t, EROFS
	}
	return t, s.mayCreate(env, t.dir)
}

// make creates an inode with a name. Checks were made.
func (s *State) make(env *Env, dir *Inode, name string, in Inode) (*Inode, Errno) {
	made, e := s.newInode(env, dir, in)
	if e != OK {
		return nil, e
	}
	s.atomically()
	s.noteName(dir, name)
	s.noteNew(made)
	s.enter(dir, name, made)
	s.touched(env, dir)
	s.notify(dir, IN_CREATE|isDirBit(made), 0, name)
	s.writeBack(env)
	return made, OK
}

func (s *State) newInode(env *Env, dir *Inode, in Inode) (*Inode, Errno) {
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
	s.stamp(&in, env.NowNs)
	if s.full(in.Mount) && !in.Memory {
		s.Noticed = append(s.Noticed, s.Full)
		return nil, ENOSPC
	}
	return s.create(env, in)
}

// Mkdir answers mkdir(2). The caller has applied the umask.
func (s *State) Mkdir(env *Env, at InodeID, path string, mode uint32) Errno {
	t, e := s.vacant(env, at, path, true)
	if e != OK {
		return e
	}
	_, e = s.make(env, t.dir, t.name, Inode{Mode: S_IFDIR | mode&(permBits&^(S_ISUID|S_ISGID))})
	return e
}

// Mknod answers mknod(2) for regular files, FIFOs and sockets; devices are EPERM. It gives the new inode, which has
// no reference yet. The caller has applied the umask.
func (s *State) Mknod(env *Env, at InodeID, path string, mode uint32) (InodeID, Errno) {
	switch mode & S_IFMT {
	case 0:
		mode |= S_IFREG
	case S_IFREG, S_IFIFO, S_IFSOCK:
	case S_IFCHR, S_IFBLK, S_IFDIR:
		return 0, EPERM
	default:
		return 0, EINVAL
	}
	t, e := s.vacant(env, at, path, false)
	if e != OK {
		return 0, e
	}
	in, e := s.make(env, t.dir, t.name, Inode{Mode: mode & (S_IFMT | permBits)})
	if e != OK {
		return 0, e
	}
	return in.ID, OK
}

// Symlink answers symlink(2).
func (s *State) Symlink(env *Env, target string, at InodeID, path string) Errno {
	switch {
	case target == "":
		return ENOENT
	case len(target) > maxSymlink:
		return ENAMETOOLONG
	}
	t, e := s.vacant(env, at, path, false)
	if e != OK {
		return e
	}
	_, e = s.make(env, t.dir, t.name, Inode{Mode: S_IFLNK | 0o777, Target: target})
	return e
}

// Readlink answers readlink(2) for an inode.
func (s *State) Readlink(env *Env, id InodeID) (string, Errno) {
	in := s.inode(id)
	if !in.is(S_IFLNK) {
		return "", EINVAL
	}
	return s.target(env, in)
}

// Link answers link(2): a new name for an inode.
func (s *State) Link(env *Env, id InodeID, at InodeID, path string) Errno {
	in := s.inode(id)
	t, e := s.tail(env, at, path)
	if e != OK {
		return e
	}
	if t.kind != lastName {
		return EEXIST
	}
	switch _, e := s.lookup(env, t.dir, t.name); {
	case e == OK:
		return EEXIST
	case e != ENOENT:
		return e
	case t.slash:
		return ENOENT
	case s.mountOf(t.dir).ReadOnly:
		return EROFS
	case in.Mount != t.dir.Mount:
		return EXDEV
	}
	if e := s.mayCreate(env, t.dir); e != OK {
		return e
	}
	switch {
	case in.isDir() || in.Synth != "":
		return EPERM
	case in.Nlink == 0 && !in.Tmpfile:
		return ENOENT
	case in.Nlink >= maxHardlinks:
		return EMLINK
	}
	in.Nlink++
	in.Tmpfile = false
	in.CtimeNs = env.NowNs
	s.notify(in, IN_ATTRIB, 0, "") // of the link count
	s.atomically()
	s.noteName(t.dir, t.name)
	s.enter(t.dir, t.name, in)
	s.touched(env, t.dir)
	s.notify(t.dir, IN_CREATE, 0, t.name)
	return OK
}

// Unlink answers unlink(2).
func (s *State) Unlink(env *Env, at InodeID, path string) Errno {
	t, e := s.tail(env, at, path)
	if e != OK {
		return e
	}
	if t.kind != lastName {
		return EISDIR
	}
	if e := s.writable(t.dir); e != OK {
		return e
	}
	in, e := s.lookup(env, t.dir, t.name)
	switch {
	case e != OK:
		return e
	case t.slash && in.isDir():
		return EISDIR
	case t.slash:
		return ENOTDIR
	}
	if e := s.mayDelete(env, t.dir, in, false); e != OK {
		return e
	}
	s.unlink(env, t.dir, t.name, in)
	return OK
}

func (s *State) unlink(env *Env, dir *Inode, name string, in *Inode) {
	s.touched(env, dir)
	if !in.isDir() {
		s.notify(in, IN_ATTRIB, 0, "") // of the link count
	}
	s.notify(dir, IN_DELETE|isDirBit(in), 0, name)
	s.atomically()
	s.noteName(dir, name)
	s.leave(env, dir, name, in)
	s.writeBack(env)
}

// Rmdir answers rmdir(2).
func (s *State) Rmdir(env *Env, at InodeID, path string) Errno {
	t, e := s.tail(env, at, path)
	if e != OK {
		return e
	}
	switch t.kind {
	case lastDot:
		return EINVAL
	case lastDotDot:
		return ENOTEMPTY
	case lastRoot:
		return EBUSY
	}
	if e := s.writable(t.dir); e != OK {
		return e
	}
	in, e := s.lookup(env, t.dir, t.name)
	if e != OK {
		return e
	}
	if e := s.mayDelete(env, t.dir, in, true); e != OK {
		return e
	}
	if e := s.empty(env, in); e != OK {
		return e
	}
	s.unlink(env, t.dir, t.name, in)
	return OK
}

// Rename answers renameat2(2).
func (s *State) Rename(env *Env, fromAt InodeID, from string, toAt InodeID, to string, flags int) Errno {
	exchange := flags&RENAME_EXCHANGE != 0
	if flags&^(RENAME_NOREPLACE|RENAME_EXCHANGE) != 0 || flags == RENAME_NOREPLACE|RENAME_EXCHANGE {
		return EINVAL
	}
	o, e := s.tail(env, fromAt, from)
	if e != OK {
		return e
	}
	n, e := s.tail(env, toAt, to)
	if e != OK {
		return e
	}
	switch {
	case o.dir.Mount != n.dir.Mount:
		return EXDEV
	case o.kind != lastName:
		return EBUSY
	case n.kind != lastName && flags&RENAME_NOREPLACE != 0:
		return EEXIST
	case n.kind != lastName:
		return EBUSY
	case s.mountOf(o.dir).ReadOnly:
		return EROFS
	}
	a, e := s.lookup(env, o.dir, o.name)
	if e != OK {
		return e
	}
	b, e := s.lookup(env, n.dir, n.name)
	switch {
	case e != OK && e != ENOENT:
		return e
	case b != nil && flags&RENAME_NOREPLACE != 0:
		return EEXIST
	case b == nil && exchange:
		return ENOENT
	case exchange && !b.isDir() && n.slash:
		return ENOTDIR
	case !a.isDir() && (o.slash || !exchange && n.slash):
		return ENOTDIR
	case s.above(a, n.dir):
		return EINVAL
	case b != nil && s.above(b, o.dir) && exchange:
		return EINVAL
	case b != nil && s.above(b, o.dir):
		return ENOTEMPTY
	case a == b:
		return OK
	}
	if e := s.mayRename(env, o.dir, n.dir, a, b, exchange); e != OK {
		return e
	}
	s.Cookie++
	s.atomically()
	s.noteName(n.dir, n.name)
	s.noteName(o.dir, o.name)
	if exchange {
		s.enter(o.dir, o.name, b)
		s.enter(n.dir, n.name, a)
		s.touched(env, o.dir)
		s.touched(env, n.dir)
		s.moved(env, a, nil, o, n)
		s.Cookie++
		s.moved(env, b, nil, n, o)
		return OK
	}
	s.touched(env, o.dir)
	s.touched(env, n.dir)
	s.unname(o.dir, o.name)
	if b != nil {
		s.noteFlush(a)
		b.Refs++ // it goes when all have been told of the rename
		s.leave(env, n.dir, n.name, b)
	}
	s.enter(n.dir, n.name, a)
	s.moved(env, a, b, o, n)
	if b != nil {
		s.Unref(env, b.ID)
	}
	s.writeBack(env)
	return OK
}

// mayRename makes the checks of a rename that need no more names. b is nil if the new name is free.
func (s *State) mayRename(env *Env, from, to, a, b *Inode, exchange bool) Errno {
	if e := s.mayDelete(env, from, a, a.isDir()); e != OK {
		return e
	}
	e := OK
	switch {
	case b == nil:
		e = s.mayCreate(env, to)
	case exchange:
		e = s.mayDelete(env, to, b, b.isDir())
	default:
		e = s.mayDelete(env, to, b, a.isDir())
	}
	if e != OK {
		return e
	}
	if from != to { // the entry .. of a directory changes
		if a.isDir() && s.access(env, a, W_OK) != OK || exchange && b.isDir() && s.access(env, b, W_OK) != OK {
			return EACCES
		}
	}
	if b != nil && b.isDir() && !exchange {
		return s.empty(env, b)
	}
	return OK
}

// above reports whether a directory is another one or contains it.
func (s *State) above(in, dir *Inode) bool {
	for {
		if in == dir {
			return true
		}
		if dir.ID == rootInode {
			return false
		}
		dir = s.parent(dir)
	}
}

// moved tells of a rename; over is what had the new name.
func (s *State) moved(env *Env, in, over *Inode, from, to tail) {
	in.CtimeNs = env.NowNs
	bit := isDirBit(in)
	s.notify(from.dir, IN_MOVED_FROM|bit, s.Cookie, from.name)
	s.notify(to.dir, IN_MOVED_TO|bit, s.Cookie, to.name)
	if over != nil {
		s.notify(over, IN_ATTRIB|isDirBit(over), 0, "") // of the link count
	}
	s.notify(in, IN_MOVE_SELF, 0, "")
}
