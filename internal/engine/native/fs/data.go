package fs

import "github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"

// ReadAt reads a regular file; 0 bytes are its end.
func (s *State) ReadAt(env *Env, id InodeID, p []byte, off int64) (int, errno.Errno) {
	in := s.inode(id)
	switch {
	case in.isDir():
		return 0, errno.EISDIR
	case !in.is(S_IFREG) || off < 0:
		return 0, errno.EINVAL
	}
	in.noticeData(s, off, off+int64(len(p)))
	if off >= in.Size || len(p) == 0 {
		return 0, errno.OK
	}
	p = p[:min(int64(len(p)), in.Size-off)]
	in.warm(off, off+int64(len(p)))
	in.tell(s, IN_ACCESS)
	switch {
	case in.Blob != 0:
		return env.Blobs.ReadAt(in.Blob, p, off)
	case in.Layer != NoLayer:
		return env.Base.ReadAt(in.Layer, in.Path, p, off)
	}
	panic("fs: a file with a size has no content")
}

// WriteAt writes a regular file and reports how many bytes fitted.
func (s *State) WriteAt(env *Env, id InodeID, p []byte, off int64) (int, errno.Errno) {
	in := s.inode(id)
	if !in.is(S_IFREG) || off < 0 {
		return 0, errno.EINVAL
	}
	if in.Seals&(F_SEAL_WRITE|F_SEAL_FUTURE_WRITE) != 0 || in.Seals&F_SEAL_GROW != 0 && off+int64(len(p)) > in.Size {
		return 0, errno.EPERM
	}
	n, e := in.writeAt(s, env, p, off)
	if n > 0 {
		in.touched(s, env)
		in.unprivilege(s, env)
		in.tell(s, IN_MODIFY)
		s.writeBack(env)
	}
	return n, e
}

// unprivilege takes the set-user-ID and set-group-ID bits away when a file is changed by other than root (write(2)).
func (in *Inode) unprivilege(s *State, env *Env) {
	if env.Cred.UID == 0 {
		return
	}
	in.Mode &^= S_ISUID
	if in.Mode&0o010 != 0 {
		in.Mode &^= S_ISGID
	}
}

// OnDisk reports whether an inode is a regular file on the node's disk, and none of the engine's own.
func (s *State) OnDisk(id InodeID) bool { return s.inode(id).is(S_IFREG) && s.inode(id).onDisk(s) }

func (in *Inode) onDisk(s *State) bool {
	return in.Synth == "" && !in.Memory && !in.Served && in.Mount >= 0 && s.Mounts[in.Mount].Type == Disk
}

// Openable reports whether a disk can fail to open an inode: a regular file or a folder that programs of the node have made or written. With makes
// it is a folder in which a file is to be made, whoever has made that.
func (s *State) Openable(id InodeID, makes bool) bool {
	in := s.inode(id)
	own := makes || in.Layer == NoLayer || in.Blob != 0
	return own && (in.is(S_IFREG) || in.isDir()) && in.onDisk(s)
}

// Rot changes bits of a file's content as a disk does by itself: nothing else of the file changes, and no watcher is notified.
func (s *State) Rot(env *Env, id InodeID, off int64, bits byte) errno.Errno {
	in := s.inode(id)
	var b [1]byte
	if _, e := env.Blobs.ReadAt(in.Blob, b[:], off); e != errno.OK {
		return e
	}
	b[0] ^= bits
	if _, e := env.Blobs.WriteAt(in.Blob, b[:], off); e != errno.OK {
		return e
	}
	in.account(s, in.allocate(off/pageBytes, off/pageBytes+1))
	return in.saw(env, off, off+1)
}

// Size is the size of an inode.
func (s *State) Size(id InodeID) int64 { return s.inode(id).Size }

// Truncate answers ftruncate(2) for an inode that is open for writing.
func (s *State) Truncate(env *Env, id InodeID, size int64) errno.Errno {
	in := s.inode(id)
	switch {
	case in.isDir():
		return errno.EISDIR
	case !in.is(S_IFREG) || size < 0:
		return errno.EINVAL
	case size > maxFileBytes:
		return errno.EFBIG
	case size < in.Size && in.Seals&F_SEAL_SHRINK != 0, size > in.Size && in.Seals&F_SEAL_GROW != 0:
		return errno.EPERM
	}
	if size != in.Size {
		if e := in.resize(s, env, size); e != errno.OK {
			return e
		}
	}
	in.touched(s, env)
	in.unprivilege(s, env)
	in.tell(s, IN_MODIFY)
	return errno.OK
}

// TruncatePath answers truncate(2) for an inode that a path led to.
func (s *State) TruncatePath(env *Env, id InodeID, size int64) errno.Errno {
	in := s.inode(id)
	switch {
	case size < 0:
		return errno.EINVAL
	case in.isDir():
		return errno.EISDIR
	case !in.is(S_IFREG) && in.Rdev != DevSDK || in.Synth != "":
		return errno.EINVAL
	}
	if e := in.access(s, env, W_OK); e != errno.OK {
		return e
	}
	if in.is(S_IFCHR) {
		return errno.OK // to its writers it is a file; what they have written stays written
	}
	if e := in.writable(s); e != errno.OK {
		return e
	}
	if env.runs(in) {
		return errno.ETXTBSY
	}
	return s.Truncate(env, id, size)
}

// Fallocate answers fallocate(2) for an inode that is open for writing.
func (s *State) Fallocate(env *Env, id InodeID, mode int, off, size int64) errno.Errno {
	in := s.inode(id)
	if off < 0 || size <= 0 {
		return errno.EINVAL
	}
	switch mode {
	case 0, FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, FALLOC_FL_ZERO_RANGE, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE:
	default:
		return errno.EOPNOTSUPP
	}
	switch {
	case in.is(S_IFIFO):
		return errno.ESPIPE
	case in.isDir():
		return errno.EISDIR
	case !in.is(S_IFREG):
		return errno.ENODEV
	case off+size > maxFileBytes || off+size < 0:
		return errno.EFBIG
	case mode&(FALLOC_FL_PUNCH_HOLE|FALLOC_FL_ZERO_RANGE) != 0 && in.Seals&(F_SEAL_WRITE|F_SEAL_FUTURE_WRITE) != 0:
		return errno.EPERM
	case mode&FALLOC_FL_KEEP_SIZE == 0 && off+size > in.Size && in.Seals&F_SEAL_GROW != 0:
		return errno.EPERM
	}
	if e := in.fallocate(s, env, mode, off, size); e != errno.OK {
		return e
	}
	in.touched(s, env)
	in.unprivilege(s, env)
	in.tell(s, IN_MODIFY)
	return errno.OK
}

func (in *Inode) fallocate(s *State, env *Env, mode int, off, size int64) errno.Errno {
	end := off + size
	if mode&FALLOC_FL_PUNCH_HOLE != 0 {
		if off >= in.Size {
			return errno.OK
		}
		if end > in.Size { // also what is allocated in the last page
			size = (in.Size+pageBytes-1)/pageBytes*pageBytes - off
		}
		return in.punch(s, env, off, size, false)
	}
	if e := in.own(s, env); e != errno.OK {
		return e
	}
	from, to := off/pageBytes, (end+pageBytes-1)/pageBytes
	if in.roomFor(s, from, to) < to {
		return errno.ENOSPC
	}
	if mode&FALLOC_FL_ZERO_RANGE != 0 && off < in.Size {
		if e := in.punch(s, env, off, min(end, in.Size)-off, true); e != errno.OK {
			return e
		}
	}
	if mode&FALLOC_FL_KEEP_SIZE == 0 && end > in.Size {
		if e := in.resize(s, env, end); e != errno.OK {
			return e
		}
	}
	in.account(s, in.allocate(from, to))
	return errno.OK
}

// SeekData answers lseek(2) with SEEK_DATA.
func (s *State) SeekData(id InodeID, off int64) (int64, errno.Errno) {
	in := s.inode(id)
	if off < 0 || off >= in.Size {
		return 0, errno.ENXIO
	}
	at := in.data(off)
	if at < 0 || at >= in.Size {
		return 0, errno.ENXIO
	}
	return at, errno.OK
}

// SeekHole answers lseek(2) with SEEK_HOLE.
func (s *State) SeekHole(id InodeID, off int64) (int64, errno.Errno) {
	in := s.inode(id)
	if off < 0 || off >= in.Size {
		return 0, errno.ENXIO
	}
	return in.hole(off), errno.OK
}

// Content is where the bytes of a regular file are: a blob, or a file of a layer.
type Content struct {
	Blob  BlobID
	Layer int
	Path  string
}

// Content finds the bytes of a regular file, for mapping or executing them. With owned set they are in a blob
// afterwards, which writers share, and from then on the file counts as one without holes.
func (s *State) Content(env *Env, id InodeID, owned bool) (Content, errno.Errno) {
	in := s.inode(id)
	if !in.is(S_IFREG) || in.Synth != "" {
		return Content{}, errno.ENODEV
	}
	if owned && in.Seals&(F_SEAL_WRITE|F_SEAL_FUTURE_WRITE) != 0 {
		return Content{}, errno.EPERM
	}
	if owned || in.Layer == NoLayer {
		if e := in.own(s, env); e != errno.OK {
			return Content{}, e
		}
		if owned && !in.Mapped && in.inMemory(s) {
			s.MappedMemory = append(s.MappedMemory, id)
		}
		in.Mapped = in.Mapped || owned
	} else {
		in.used(s)
	}
	return Content{Blob: in.Blob, Layer: in.Layer, Path: in.Path}, errno.OK
}
