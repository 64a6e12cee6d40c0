package fs

import (
	"strconv"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
)

// Opened is what Open gives. The inode has a reference, to be given back by Unref.
type Opened struct {
	Inode InodeID
	File  int64 // as in Place: an open file of the caller's own; there is no reference then
	Mode  uint32
	Rdev  uint64
	Synth string // path of a synthetic file or directory
	Made  bool   // by this call
}

// Open answers open(2) with flags of x86-64. The caller has applied the umask to mode. What the type of the inode
// demands besides (waiting for the other side of a FIFO, ENXIO for sockets, content of synthetic files) is the
// caller's.
func (s *State) Open(env *Env, at InodeID, path string, flags int, mode uint32) (Opened, errno.Errno) {
	return s.OpenResolving(env, at, path, flags, mode, 0)
}

// OpenResolving answers openat2(2), but for what it checks of its arguments.
func (s *State) OpenResolving(env *Env, at InodeID, path string, flags int, mode uint32, resolve Resolve) (Opened, errno.Errno) {
	if flags&O_PATH != 0 {
		flags &= O_PATH | O_DIRECTORY | O_NOFOLLOW
	}
	w := walker{s: s, env: env, resolve: resolve, top: s.inode(at)}
	if flags&oTmpfile != 0 {
		return w.openTmpfile(path, flags, mode)
	}
	if flags&(O_CREAT|O_DIRECTORY) == O_CREAT|O_DIRECTORY {
		return Opened{}, errno.EINVAL
	}
	t, e := w.tail(w.top, path)
	if e != errno.OK {
		return Opened{}, e
	}
	if flags&O_CREAT != 0 {
		return w.openCreate(t, flags, mode)
	}
	p, e := w.end(t, flags&O_NOFOLLOW == 0)
	if e != errno.OK {
		return Opened{}, e
	}
	if p.File != 0 {
		return Opened{File: p.File, Inode: p.Inode}, errno.OK
	}
	return s.inode(p.Inode).openInode(s, env, flags, false)
}

// openCreate opens the last component of a path with O_CREAT, following links to a name that may have to be made.
func (w *walker) openCreate(t tail, flags int, mode uint32) (Opened, errno.Errno) {
	s := w.s
	for {
		if t.kind != lastName {
			if flags&O_EXCL != 0 {
				return Opened{}, errno.EEXIST
			}
			return Opened{}, errno.EISDIR
		}
		if t.slash {
			return Opened{}, errno.EISDIR
		}
		in, e := w.down(t.dir, t.name)
		if e == errno.ENOENT {
			return s.openNew(w.env, t, flags, mode)
		}
		if e != errno.OK {
			return Opened{}, e
		}
		if in.is(S_IFLNK) && flags&(O_EXCL|O_NOFOLLOW) == 0 {
			if in.Synth != "" {
				p, e := w.follow(t.dir, in)
				if e != errno.OK || p.File != 0 {
					return Opened{File: p.File, Inode: p.Inode}, e
				}
				return s.inode(p.Inode).openInode(s, w.env, flags, false)
			}
			if w.links++; w.links > maxLinks || w.resolve&RESOLVE_NO_SYMLINKS != 0 {
				return Opened{}, errno.ELOOP
			}
			target, e := in.target(s, w.env)
			if e != errno.OK {
				return Opened{}, e
			}
			if t, e = w.tail(t.dir, target); e != errno.OK {
				return Opened{}, e
			}
			continue
		}
		switch {
		case flags&O_EXCL != 0:
			return Opened{}, errno.EEXIST
		case in.isDir():
			return Opened{}, errno.EISDIR
		}
		return in.openInode(s, w.env, flags, false)
	}
}

func (s *State) openNew(env *Env, t tail, flags int, mode uint32) (Opened, errno.Errno) {
	if e := t.dir.writable(s); e != errno.OK {
		return Opened{}, e
	}
	if t.dir.Synth != "" {
		return Opened{}, errno.ENOENT
	}
	if e := env.opening(t.dir, t.name); e != errno.OK {
		return Opened{}, e
	}
	if e := t.dir.mayCreate(s, env); e != errno.OK {
		return Opened{}, e
	}
	in, e := t.dir.make(s, env, t.name, Inode{Mode: S_IFREG | mode&permBits})
	if e != errno.OK {
		return Opened{}, e
	}
	return in.openInode(s, env, flags, true)
}

func (w *walker) openTmpfile(path string, flags int, mode uint32) (Opened, errno.Errno) {
	s, env := w.s, w.env
	if flags&O_DIRECTORY == 0 || flags&O_ACCMODE == O_RDONLY || flags&O_CREAT != 0 {
		return Opened{}, errno.EINVAL
	}
	p, e := w.walk(w.top, path, true)
	if e != errno.OK {
		return Opened{}, e
	}
	if p.Inode == 0 || !s.inode(p.Inode).isDir() { // a magic link may lead to a pipe
		return Opened{}, errno.ENOTDIR
	}
	dir := s.inode(p.Inode)
	if e := dir.writable(s); e != errno.OK {
		return Opened{}, e
	}
	if dir.Synth != "" {
		return Opened{}, errno.EOPNOTSUPP
	}
	if e := env.opening(dir, "#tmp"); e != errno.OK {
		return Opened{}, e
	}
	if e := dir.mayCreate(s, env); e != errno.OK {
		return Opened{}, e
	}
	in, e := dir.newInode(s, env, Inode{Mode: S_IFREG | mode&permBits, Tmpfile: flags&O_EXCL == 0})
	if e != errno.OK {
		return Opened{}, e
	}
	in.Nlink = 0
	in.Parent, in.Name = dir.ID, "#"+strconv.FormatInt(int64(in.ID), 10)
	return in.openInode(s, env, flags, true)
}

// openInode opens what a path led to. made says that the call has just created it: its permissions do not count.
func (in *Inode) openInode(s *State, env *Env, flags int, made bool) (Opened, errno.Errno) {
	if !made {
		if e := env.opening(in, ""); e != errno.OK {
			return Opened{}, e
		}
	}
	if flags&O_DIRECTORY != 0 && flags&oTmpfile == 0 && !in.isDir() {
		return Opened{}, errno.ENOTDIR
	}
	o := Opened{Inode: in.ID, Mode: in.Mode, Rdev: in.Rdev, Synth: in.Synth, Made: made}
	if flags&O_PATH != 0 {
		in.Refs++
		return o, errno.OK
	}
	want := [4]uint32{R_OK, W_OK, R_OK | W_OK, R_OK | W_OK}[flags&O_ACCMODE]
	if flags&O_TRUNC != 0 {
		want |= W_OK
	}
	switch {
	case in.is(S_IFLNK):
		return Opened{}, errno.ELOOP
	case in.isDir() && want&W_OK != 0:
		return Opened{}, errno.EISDIR
	}
	if !made {
		if e := in.access(s, env, want); e != errno.OK {
			return Opened{}, e
		}
	}
	if flags&O_NOATIME != 0 && !env.Cred.owns(in) {
		return Opened{}, errno.EPERM
	}
	if in.Synth == "" && in.is(S_IFREG) {
		if want&W_OK != 0 {
			if e := in.writable(s); e != errno.OK {
				return Opened{}, e
			}
			if env.runs(in) {
				return Opened{}, errno.ETXTBSY
			}
		}
		if e := in.openRegular(s, env); e != errno.OK {
			return Opened{}, e
		}
	}
	in.tell(s, IN_OPEN)
	if flags&O_TRUNC != 0 && in.Synth == "" && in.is(S_IFREG) {
		if e := in.resize(s, env, 0); e != errno.OK {
			return Opened{}, e
		}
		in.touched(s, env)
		in.unprivilege(s, env)
		in.tell(s, IN_MODIFY)
	}
	in.Refs++
	return o, errno.OK
}

func (in *Inode) openRegular(s *State, env *Env) errno.Errno {
	if in.Layer != NoLayer {
		if _, e := env.Base.ReadAt(in.Layer, in.Path, nil, 0); e != errno.OK {
			return e
		}
		in.used(s)
	}
	return errno.OK
}

// used notes that a base file was opened.
func (in *Inode) used(s *State) {
	s.Opened[s.HostPath(in.Layer, in.Path)] = true
}

// Ref adds a reference to an inode.
func (s *State) Ref(id InodeID) { s.inode(id).Refs++ }

// Unref gives a reference back. An inode without links and references goes, and its bytes with it.
func (s *State) Unref(env *Env, id InodeID) {
	in := s.inode(id)
	if in.Refs--; in.Refs < 0 {
		panic("fs: more references given back than taken")
	}
	in.drop(s, env)
}

// Close notifies the watchers of an inode that an open file is being closed; Unref must follow.
func (s *State) Close(id InodeID, written bool) {
	if written {
		s.inode(id).tell(s, IN_CLOSE_WRITE)
	} else {
		s.inode(id).tell(s, IN_CLOSE_NOWRITE)
	}
}
