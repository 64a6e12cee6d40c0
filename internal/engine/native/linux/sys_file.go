//go:build linux && amd64

package linux

import (
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"golang.org/x/sys/unix"
)

// fileLimit reports how far behind pos a process may let a file grow; EFBIG and SIGXFSZ if not at all (setrlimit(2)).
func fileLimit(k *Kernel, t *Thread, pos int64) (int64, unix.Errno) {
	limit := k.Proc(t).Limits[unix.RLIMIT_FSIZE][0]
	if uint64(pos) >= limit {
		k.SignalThread(t, kernel.Signal{Number: int(unix.SIGXFSZ)})
		return 0, unix.EFBIG
	}
	return int64(min(limit-uint64(pos), 1<<62)), 0
}

func sysLseek(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	fd, offset, whence := args[0].Int(), args[1].Int64(), args[2].Int()
	f := k.File(t, fd)
	if f == nil || f.Kind == kernel.FilePath {
		return fail(unix.EBADF)
	}
	if !k.Seekable(f) {
		return fail(unix.ESPIPE)
	}
	if move := k.Kind(f).Seek; move != nil {
		return move(k, f, offset, whence)
	}
	return 0
}

func sysTruncate(k *Kernel, t *Thread) Result {
	pathAddr, size := t.Call.Args[0].Pointer(), t.Call.Args[1].Int64()
	id, f, e := find(k, t, unix.AT_FDCWD, pathAddr, 0)
	switch {
	case e != 0:
		return fail(e)
	case f != nil:
		return truncateServed(k, f, size)
	}
	if r := grow(k, t, id, size); r != 0 {
		return r
	}
	return makesHoles(k, t, failure(k.Node(t).FS.TruncatePath(env(k, t), id, size)))
}

func sysFtruncate(k *Kernel, t *Thread) Result {
	fd, size := t.Call.Args[0].Int(), t.Call.Args[1].Int64()
	f := k.File(t, fd)
	switch {
	case f == nil || f.Kind == kernel.FilePath:
		return fail(unix.EBADF)
	case f.Flags&unix.O_ACCMODE == unix.O_RDONLY:
		return fail(unix.EINVAL)
	case f.Kind != kernel.FileInode:
		return truncateServed(k, f, size)
	}
	if r := grow(k, t, f.Inode, size); r != 0 {
		return r
	}
	return makesHoles(k, t, failure(k.Node(t).FS.Truncate(env(k, t), f.Inode, size)))
}

// truncateServed answers truncation of what is open and no file of a disk.
func truncateServed(k *Kernel, f *File, size int64) Result {
	if k.Kind(f).Sizeless && size >= 0 {
		return 0
	}
	return fail(unix.EINVAL)
}

// grow checks that a process may give a file a size.
func grow(k *Kernel, t *Thread, id fs.InodeID, size int64) Result {
	if size > k.Node(t).FS.Size(id) {
		_, e := fileLimit(k, t, size-1)
		return fail(e)
	}
	return 0
}

func sysFallocate(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	fd, mode, offset, size := args[0].Int(), args[1].Int(), args[2].Int64(), args[3].Int64()
	f := k.File(t, fd)
	switch {
	case f == nil || f.Kind == kernel.FilePath, f.Flags&unix.O_ACCMODE == unix.O_RDONLY:
		return fail(unix.EBADF)
	case f.Kind == kernel.FilePipe:
		return fail(unix.ESPIPE)
	case f.Kind != kernel.FileInode:
		return fail(unix.ENODEV)
	}
	if mode&fs.FALLOC_FL_KEEP_SIZE == 0 && offset >= 0 && size > 0 {
		if r := grow(k, t, f.Inode, offset+size); r != 0 {
			return r
		}
	}
	return makesHoles(k, t, failure(k.Node(t).FS.Fallocate(env(k, t), f.Inode, mode, offset, size)))
}

// sysFsync answers fsync(2) and fdatasync(2).
func sysFsync(k *Kernel, t *Thread) Result {
	fd := t.Call.Args[0].Int()
	f := k.File(t, fd)
	switch {
	case f == nil || f.Kind == kernel.FilePath:
		return fail(unix.EBADF)
	case f.Kind != kernel.FileInode:
		return fail(unix.EINVAL)
	}
	if !written(k, t, f) {
		return awaitDisk(k, t)
	}
	return sync(k, t, f, t.Call.Nr == unix.SYS_FDATASYNC)
}

// sync makes a file durable. A synchronisation that fails is reported once to each description that was open then, whichever
// asks (errseq_t of Linux since 4.13).
func sync(k *Kernel, t *Thread, f *File, dataOnly bool) Result {
	s := k.Node(t).FS
	if e := s.Observe(env(k, t), f.Inode, 0, s.Size(f.Inode)); e != errno.OK {
		return failure(e)
	}
	if h := harm(k, t, f.Inode, fault.Sync, 0, 0); h.Kind != "" {
		s.FailSync(env(k, t), f.Inode)
	} else if e := s.Sync(env(k, t), f.Inode, dataOnly); e != errno.OK {
		return failure(e)
	}
	if n := s.Get(f.Inode).SyncErrors; n != f.SyncErrors {
		f.SyncErrors = n
		return fail(unix.EIO)
	}
	return 0
}

func sysSync(k *Kernel, t *Thread) Result {
	if !written(k, t, nil) {
		return awaitDisk(k, t)
	}
	k.Node(t).FS.SyncAll(env(k, t))
	return 0
}

func sysSyncfs(k *Kernel, t *Thread) Result {
	fd := t.Call.Args[0].Int()
	f := k.File(t, fd)
	if f == nil || f.Kind == kernel.FilePath {
		return fail(unix.EBADF)
	}
	if !written(k, t, nil) {
		return awaitDisk(k, t)
	}
	s := k.Node(t).FS
	if f.Inode == 0 || !s.Lasting(f.Inode) {
		return 0
	}
	if e := s.ObserveAll(env(k, t)); e != errno.OK {
		return failure(e)
	}
	for _, id := range s.Changed() { // each may fail, and the others are written all the same
		if h := harm(k, t, id, fault.Sync, 0, 0); h.Kind != "" {
			s.FailSync(env(k, t), id)
		}
	}
	if e := s.SyncAll(env(k, t)); e != errno.OK {
		return failure(e)
	}
	if n := s.SyncErrors; n != f.DiskErrors { // since Linux 5.8: what failed after the file was opened, once
		f.DiskErrors = n
		return fail(unix.EIO)
	}
	return 0
}

func sysFadvise64(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	fd, size, advice := args[0].Int(), args[2].Int64(), args[3].Uint64()
	f := k.File(t, fd)
	switch {
	case f == nil:
		return fail(unix.EBADF)
	case f.Kind == kernel.FilePipe:
		return fail(unix.ESPIPE)
	case t.Call.Nr == unix.SYS_FADVISE64 && advice > unix.FADV_NOREUSE, t.Call.Nr == unix.SYS_FADVISE64 && size < 0:
		return fail(unix.EINVAL)
	}
	return 0
}

// sysSyncFileRange starts writing out a part of a file, which says nothing about what a crash leaves.
func sysSyncFileRange(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	fd, offset, size, flags := args[0].Int(), args[1].Int64(), args[2].Int64(), args[3].Uint64()
	f := k.File(t, fd)
	switch {
	case f == nil || f.Kind == kernel.FilePath:
		return fail(unix.EBADF)
	case flags&^7 != 0, offset < 0, offset+size < 0, offset+size < offset:
		return fail(unix.EINVAL)
	case f.Kind != kernel.FileInode:
		return fail(unix.ESPIPE)
	}
	return 0
}

func sysMemfdCreate(k *Kernel, t *Thread) Result {
	nameAddr, flags := t.Call.Args[0].Pointer(), int(t.Call.Args[1].Int64())
	name, e := k.CString(t, nameAddr, 249)
	if e == unix.ENAMETOOLONG {
		e = unix.EINVAL
	}
	if e != 0 {
		return fail(e)
	}
	if flags&^(unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_NOEXEC_SEAL|unix.MFD_EXEC) != 0 {
		return fail(unix.EINVAL)
	}
	mode, seals := uint32(0o777), unix.F_SEAL_SEAL
	if flags&unix.MFD_ALLOW_SEALING != 0 {
		seals = 0
	}
	if flags&unix.MFD_NOEXEC_SEAL != 0 {
		mode, seals = 0o666, unix.F_SEAL_EXEC
	}
	id, fe := k.Node(t).FS.NewMemory(env(k, t), name, mode, seals)
	if fe != errno.OK {
		return failure(fe)
	}
	f := k.NewFile(t, kernel.FileInode, unix.O_RDWR)
	f.Inode, f.BornOpen = id, true
	cloexec := 0
	if flags&unix.MFD_CLOEXEC != 0 {
		cloexec = unix.O_CLOEXEC
	}
	return k.Opened(t, f, cloexec)
}

// sendfile and copy_file_range move bytes between files inside the kernel.
func sysSendfile(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	outFD, inFD, offsetAddr, size := args[0].Int(), args[1].Int(), args[2].Pointer(), args[3].Size()
	out, in := k.File(t, outFD), k.File(t, inFD)
	if out == nil || in == nil || in.Flags&unix.O_ACCMODE == unix.O_WRONLY || out.Flags&unix.O_ACCMODE == unix.O_RDONLY {
		return fail(unix.EBADF)
	}
	if in.Kind != kernel.FileInode && in.Kind != kernel.FileSynth {
		return fail(unix.EINVAL)
	}
	if out.Kind == kernel.FileInode && out.Flags&unix.O_APPEND != 0 {
		return fail(unix.EINVAL)
	}
	pos := in.Pos
	if offsetAddr != 0 {
		v, ok := k.InU64(t, offsetAddr)
		if !ok {
			return fail(unix.EFAULT)
		}
		pos = int64(v)
	}
	data, r := k.Kind(in).Take(k, t, in, pos, int(min(size, kernel.MaxTransfer)), false)
	if r != 0 || len(data) == 0 {
		return r
	}
	r = push(k, t, out, data, -1)
	if r <= 0 {
		return r
	}
	if offsetAddr != 0 {
		k.OutU64(t, offsetAddr, uint64(pos+int64(r)))
	} else {
		in.Pos = pos + int64(r)
	}
	return r
}

// push writes bytes of the kernel's own to a file, at an offset if the file has such and that is not -1.
func push(k *Kernel, t *Thread, f *File, data []byte, offset int64) Result {
	if push := k.Kind(f).Push; push != nil {
		return push(k, t, f, data, offset)
	}
	return fail(unix.EINVAL)
}

func sysCopyFileRange(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	inFD, inOffset, outFD, outOffset := args[0].Int(), args[1].Pointer(), args[2].Int(), args[3].Pointer()
	length, flags := args[4].Size(), args[5].Uint64()
	in, out := k.File(t, inFD), k.File(t, outFD)
	if in == nil || out == nil || in.Flags&unix.O_ACCMODE == unix.O_WRONLY || out.Flags&unix.O_ACCMODE == unix.O_RDONLY || out.Flags&unix.O_APPEND != 0 {
		return fail(unix.EBADF)
	}
	if in.Kind != kernel.FileInode || out.Kind != kernel.FileInode || flags != 0 {
		return fail(unix.EINVAL)
	}
	from, to := in.Pos, out.Pos
	for _, x := range []struct {
		addr uint64
		pos  *int64
	}{{inOffset, &from}, {outOffset, &to}} {
		if x.addr != 0 {
			v, ok := k.InU64(t, x.addr)
			if !ok {
				return fail(unix.EFAULT)
			}
			*x.pos = int64(v)
		}
	}
	if size := int64(min(length, kernel.MaxTransfer)); in.Inode == out.Inode && from < to+size && to < from+size {
		return fail(unix.EINVAL)
	}
	data, r := k.Kind(in).Take(k, t, in, from, int(min(length, kernel.MaxTransfer)), false)
	if r != 0 {
		return r
	}
	n := store(k, t, out, data, to)
	if n < 0 {
		return n
	}
	if inOffset != 0 {
		k.OutU64(t, inOffset, uint64(from+int64(n)))
	} else {
		in.Pos = from + int64(n)
	}
	if outOffset != 0 {
		k.OutU64(t, outOffset, uint64(to+int64(n)))
	} else {
		out.Pos = to + int64(n)
	}
	return n
}

func defineFiles() {
	for nr, x := range map[int]struct {
		name string
		args string
		h    kernel.Handler
	}{
		unix.SYS_OPEN: {"open", "pii", fromCwd(sysOpen)}, unix.SYS_CREAT: {"creat", "pi", sysCreat},
		unix.SYS_OPENAT: {"openat", "ipii", fromDir(sysOpen)}, unix.SYS_OPENAT2: {"openat2", "ippi", sysOpenat2},
		unix.SYS_LSEEK: {"lseek", "iii", sysLseek}, unix.SYS_GETDENTS64: {"getdents64", "ipi", sysGetdents64},
		unix.SYS_GETDENTS: {"getdents", "ipi", sysGetdents},
		unix.SYS_STAT:     {"stat", "pp", sysStat}, unix.SYS_LSTAT: {"lstat", "pp", sysLstat},
		unix.SYS_FSTAT: {"fstat", "ip", sysFstat}, unix.SYS_NEWFSTATAT: {"newfstatat", "ippi", sysNewfstatat}, unix.SYS_STATX: {"statx", "ipiip", sysStatx},
		unix.SYS_ACCESS: {"access", "pi", fromCwd(sysAccess)}, unix.SYS_FACCESSAT: {"faccessat", "ipi", fromDir(sysAccess)},
		unix.SYS_FACCESSAT2: {"faccessat2", "ipii", sysFaccessat2},
		unix.SYS_GETCWD:     {"getcwd", "pi", sysGetcwd}, unix.SYS_CHDIR: {"chdir", "p", sysChdir},
		unix.SYS_CHROOT: {"chroot", "p", sysChroot}, unix.SYS_FCHDIR: {"fchdir", "i", sysFchdir},
		unix.SYS_MKDIR: {"mkdir", "pi", fromCwd(mkdir)}, unix.SYS_MKDIRAT: {"mkdirat", "ipi", fromDir(mkdir)},
		unix.SYS_MKNOD: {"mknod", "pii", fromCwd(mknod)}, unix.SYS_MKNODAT: {"mknodat", "ipii", fromDir(mknod)},
		unix.SYS_RMDIR: {"rmdir", "p", sysRmdir}, unix.SYS_UNLINK: {"unlink", "p", sysUnlink}, unix.SYS_UNLINKAT: {"unlinkat", "ipi", sysUnlinkat},
		unix.SYS_RENAME: {"rename", "pp", sysRename}, unix.SYS_RENAMEAT: {"renameat", "ipip", sysRenameat},
		unix.SYS_RENAMEAT2: {"renameat2", "ipipi", sysRenameat2},
		unix.SYS_LINK:      {"link", "pp", sysLink}, unix.SYS_LINKAT: {"linkat", "ipipi", sysLinkat},
		unix.SYS_SYMLINK: {"symlink", "pp", sysSymlink}, unix.SYS_SYMLINKAT: {"symlinkat", "pip", sysSymlinkat},
		unix.SYS_READLINK: {"readlink", "ppi", fromCwd(readlink)}, unix.SYS_READLINKAT: {"readlinkat", "ippi", fromDir(readlink)},
		unix.SYS_CHMOD: {"chmod", "pi", inodeHandler(byPath, sysChmod)}, unix.SYS_FCHMOD: {"fchmod", "ii", inodeHandler(byFD, sysChmod)},
		unix.SYS_FCHMODAT: {"fchmodat", "ipi", sysFchmodat}, unix.SYS_FCHMODAT2: {"fchmodat2", "ipii", sysFchmodat2},
		unix.SYS_CHOWN: {"chown", "pii", inodeHandler(byPath, sysChown)}, unix.SYS_LCHOWN: {"lchown", "pii", inodeHandler(byLink, sysChown)},
		unix.SYS_FCHOWN: {"fchown", "iii", inodeHandler(byFD, sysChown)}, unix.SYS_FCHOWNAT: {"fchownat", "ipiii", sysFchownat},
		unix.SYS_UTIMENSAT: {"utimensat", "ippi", sysUtimensat}, unix.SYS_UTIMES: {"utimes", "pp", fromCwd(sysUtimes)},
		unix.SYS_FUTIMESAT: {"futimesat", "ipp", fromDir(sysUtimes)}, unix.SYS_UTIME: {"utime", "pp", sysUtime},
		unix.SYS_TRUNCATE: {"truncate", "pi", sysTruncate}, unix.SYS_FTRUNCATE: {"ftruncate", "ii", sysFtruncate},
		unix.SYS_FALLOCATE: {"fallocate", "iiii", sysFallocate},
		unix.SYS_FSYNC:     {"fsync", "i", sysFsync}, unix.SYS_FDATASYNC: {"fdatasync", "i", sysFsync},
		unix.SYS_SYNC: {"sync", "", sysSync}, unix.SYS_SYNCFS: {"syncfs", "i", sysSyncfs},
		unix.SYS_SYNC_FILE_RANGE: {"sync_file_range", "iiii", sysSyncFileRange},
		unix.SYS_FADVISE64:       {"fadvise64", "iiii", sysFadvise64}, unix.SYS_READAHEAD: {"readahead", "iii", sysFadvise64},
		unix.SYS_STATFS: {"statfs", "pp", sysStatfs}, unix.SYS_FSTATFS: {"fstatfs", "ip", sysFstatfs},
		unix.SYS_MEMFD_CREATE:    {"memfd_create", "pi", sysMemfdCreate},
		unix.SYS_SENDFILE:        {"sendfile", "iipi", sysSendfile},
		unix.SYS_COPY_FILE_RANGE: {"copy_file_range", "ipipii", sysCopyFileRange}, unix.SYS_SPLICE: {"splice", "ipipii", sysSplice},
		unix.SYS_FLOCK:             {"flock", "ii", sysFlock},
		unix.SYS_INOTIFY_INIT:      {"inotify_init", "", sysInotifyInit},
		unix.SYS_INOTIFY_INIT1:     {"inotify_init1", "i", sysInotifyInit1},
		unix.SYS_INOTIFY_ADD_WATCH: {"inotify_add_watch", "ipi", sysInotifyAddWatch}, unix.SYS_INOTIFY_RM_WATCH: {"inotify_rm_watch", "ii", sysInotifyRmWatch},
		unix.SYS_SETXATTR:  {"setxattr", "pppii", inodeHandler(byPath, setXattr)},
		unix.SYS_LSETXATTR: {"lsetxattr", "pppii", inodeHandler(byLink, setXattr)}, unix.SYS_FSETXATTR: {"fsetxattr", "ippii", inodeHandler(byFD, setXattr)},
		unix.SYS_GETXATTR:  {"getxattr", "pppi", inodeHandler(byPath, getXattr)},
		unix.SYS_LGETXATTR: {"lgetxattr", "pppi", inodeHandler(byLink, getXattr)}, unix.SYS_FGETXATTR: {"fgetxattr", "ippi", inodeHandler(byFD, getXattr)},
		unix.SYS_LISTXATTR:  {"listxattr", "ppi", inodeHandler(byPath, listXattr)},
		unix.SYS_LLISTXATTR: {"llistxattr", "ppi", inodeHandler(byLink, listXattr)}, unix.SYS_FLISTXATTR: {"flistxattr", "ipi", inodeHandler(byFD, listXattr)},
		unix.SYS_REMOVEXATTR:  {"removexattr", "pp", inodeHandler(byPath, removeXattr)},
		unix.SYS_LREMOVEXATTR: {"lremovexattr", "pp", inodeHandler(byLink, removeXattr)},
		unix.SYS_FREMOVEXATTR: {"fremovexattr", "ip", inodeHandler(byFD, removeXattr)},
	} {
		define(nr, x.name, x.args, x.h)
	}
	table[unix.SYS_FLOCK].Restart = kernel.RestartFlag
	for _, nr := range []int{unix.SYS_OPEN, unix.SYS_CREAT, unix.SYS_OPENAT, unix.SYS_OPENAT2, unix.SYS_SPLICE, unix.SYS_SENDFILE} {
		table[nr].Restart = kernel.RestartFlag
	}
}
