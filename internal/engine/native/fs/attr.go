package fs

import "github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"

// Attr is what stat(2) and statx(2) report.
type Attr struct {
	Inode    InodeID
	Dev      uint64
	Mount    int
	Mode     uint32
	Nlink    int
	UID, GID int
	Rdev     uint64
	Size     int64
	Blocks   int64 // of 512 bytes
	AtimeNs  int64
	MtimeNs  int64
	CtimeNs  int64
	BtimeNs  int64
	Root     bool // of a mount
}

// BlockSize is st_blksize.
const BlockSize = pageBytes

// Stat reports the attributes of an inode.
func (s *State) Stat(id InodeID) Attr {
	in := s.inode(id)
	if in.Lost != nil && (in.Lost.Size || in.Lost.Attr) {
		in.notice(s)
	}
	a := Attr{
		Inode: in.ID, Dev: in.mountOf(s).Dev, Mount: s.MountIndex(in), Mode: in.Mode, Nlink: in.Nlink + in.Unseen, UID: in.UID,
		GID: in.GID, Rdev: in.Rdev, Size: in.Size,
		AtimeNs: in.AtimeNs, MtimeNs: in.MtimeNs, CtimeNs: in.CtimeNs, BtimeNs: in.BtimeNs, Root: in.MountRoot,
	}
	switch {
	case in.Synth != "":
	case in.isDir():
		a.Size, a.Blocks = pageBytes, pageBytes/blockBytes
	case in.is(S_IFREG) && in.Layer != NoLayer:
		a.Blocks = (in.Size + pageBytes - 1) / pageBytes * (pageBytes / blockBytes)
	case in.is(S_IFREG):
		a.Blocks = in.pages() * (pageBytes / blockBytes)
	}
	return a
}

// mayAlter is the check before attributes change.
func (in *Inode) mayAlter(s *State, env *Env) errno.Errno {
	if e := in.writable(s); e != errno.OK {
		return e
	}
	if in.Synth != "" {
		return errno.EPERM
	}
	return errno.OK
}

// Chmod answers chmod(2) for an inode.
func (s *State) Chmod(env *Env, id InodeID, mode uint32) errno.Errno {
	in := s.inode(id)
	if e := in.mayAlter(s, env); e != errno.OK {
		return e
	}
	if !env.Cred.owns(in) {
		return errno.EPERM
	}
	if in.is(S_IFLNK) {
		return errno.EOPNOTSUPP
	}
	mode &= permBits
	if env.Cred.UID != 0 && !env.Cred.member(in.GID) {
		mode &^= S_ISGID
	}
	in.noteAttributes(s)
	in.Mode = in.Mode&S_IFMT | mode
	in.changed(s, env)
	return errno.OK
}

// Chown answers chown(2) for an inode; -1 keeps an id.
func (s *State) Chown(env *Env, id InodeID, uid, gid int) errno.Errno {
	in := s.inode(id)
	if e := in.mayAlter(s, env); e != errno.OK {
		return e
	}
	if c := &env.Cred; c.UID != 0 {
		if uid != -1 && (c.UID != in.UID || uid != in.UID) || gid != -1 && gid != in.GID && (c.UID != in.UID || !c.member(gid)) {
			return errno.EPERM
		}
	}
	in.noteAttributes(s)
	if uid != -1 {
		in.UID = uid
	}
	if gid != -1 {
		in.GID = gid
	}
	if !in.isDir() {
		in.Mode &^= S_ISUID
		if in.Mode&0o010 != 0 {
			in.Mode &^= S_ISGID
		}
	}
	in.changed(s, env)
	return errno.OK
}

// TimeChange says what utimensat(2) does to one time.
type TimeChange uint8

const (
	KeepTime TimeChange = iota // UTIME_OMIT
	SetTime
	NowTime // UTIME_NOW
)

// Utimens answers utimensat(2) for an inode.
func (s *State) Utimens(env *Env, id InodeID, atime TimeChange, atimeNs int64, mtime TimeChange, mtimeNs int64) errno.Errno {
	in := s.inode(id)
	if atime == KeepTime && mtime == KeepTime {
		return errno.OK
	}
	if e := in.mayAlter(s, env); e != errno.OK {
		return e
	}
	if !env.Cred.owns(in) {
		if atime != NowTime || mtime != NowTime {
			return errno.EPERM
		}
		if e := in.access(s, env, W_OK); e != errno.OK {
			return e
		}
	}
	set := func(to *int64, how TimeChange, ns int64) {
		switch how {
		case SetTime:
			*to = ns
		case NowTime:
			*to = env.NowNs
		}
	}
	set(&in.AtimeNs, atime, atimeNs)
	set(&in.MtimeNs, mtime, mtimeNs)
	in.changed(s, env)
	return errno.OK
}

// Statfs is what statfs(2) reports, in blocks of 4096 bytes.
type Statfs struct {
	Type                        int64
	Blocks, Free, Files, FFree  int64
	ReadOnly                    bool
	BlockSize, NameMax, Mountid int64
}

// Numbers of file system types (statfs(2)).
const (
	typeExt4  = 0xef53
	typeTmpfs = 0x01021994
	typeProc  = 0x9fa0
	typeSys   = 0x62656572
)

// Statfs describes the file system of an inode: the quota is the size of the disk, and of a tmpfs without one of its own.
func (s *State) Statfs(id InodeID) Statfs {
	in := s.inode(id)
	m := s.MountIndex(in)
	f := Statfs{BlockSize: pageBytes, NameMax: maxNameBytes, Mountid: int64(m), ReadOnly: s.Mounts[m].ReadOnly}
	switch s.Mounts[m].Type {
	case Proc:
		f.Type = typeProc
		return f
	case Sys:
		f.Type = typeSys
		return f
	case Tmpfs, Dev:
		f.Type = typeTmpfs
	default:
		f.Type = typeExt4
	}
	f.Blocks, f.Free = s.Config.QuotaBytes/pageBytes, in.freePages(s)
	if size := s.Mounts[m].SizeBytes; size > 0 {
		f.Blocks = size / pageBytes
	}
	if s.full(in.Mount) && f.Free > 0 {
		s.Noticed = append(s.Noticed, s.Full)
		f.Free = 0
	}
	f.Files, f.FFree = int64(s.Config.Inodes), int64(s.Config.Inodes-(len(s.Inodes)-len(s.Synths)))
	return f
}
