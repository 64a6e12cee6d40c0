//go:build linux && amd64

package linux

import (
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/net"
	"github.com/bloodhound-dst/bloodhound/internal/splitmix"
)

// lives adds a call to the life of the node's main process.
func lives(k *Kernel, l *kernel.Life, t *Thread, result int64) {
	if t.State == kernel.Dead || k.Proc(t).Tag != l.Tag {
		return
	}
	c := &t.Call
	learn := func(what uint64) { // a sum, which does not depend on the order of threads
		l.Sum += splitmix.Mix(splitmix.Mix(c.Nr+splitmix.Gamma) ^ splitmix.Mix(uint64(min(result, 0))+splitmix.Gamma) ^ what)
	}
	switch c.Nr {
	case unix.SYS_OPEN, unix.SYS_OPENAT, unix.SYS_OPENAT2, unix.SYS_CREAT, unix.SYS_STAT, unix.SYS_LSTAT, unix.SYS_NEWFSTATAT, unix.SYS_STATX,
		unix.SYS_ACCESS, unix.SYS_FACCESSAT, unix.SYS_FACCESSAT2, unix.SYS_MKDIR, unix.SYS_MKDIRAT, unix.SYS_RMDIR, unix.SYS_UNLINK, unix.SYS_UNLINKAT,
		unix.SYS_RENAME, unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_LINK, unix.SYS_LINKAT, unix.SYS_SYMLINK, unix.SYS_SYMLINKAT,
		unix.SYS_CHDIR, unix.SYS_EXECVE, unix.SYS_STATFS, unix.SYS_GETXATTR, unix.SYS_FLOCK, unix.SYS_FCNTL, unix.SYS_BIND, unix.SYS_LISTEN,
		unix.SYS_WRITE, unix.SYS_FALLOCATE, unix.SYS_FTRUNCATE:
		learn(0)
	case unix.SYS_READLINK, unix.SYS_READLINKAT:
		learn(c.Digest)
	case unix.SYS_READ, unix.SYS_PREAD64, unix.SYS_READV, unix.SYS_PREADV, unix.SYS_PREADV2, unix.SYS_GETDENTS, unix.SYS_GETDENTS64:
		if f := k.File(t, c.Args[0].Int()); f != nil && f.Kind != kernel.FileRandom && f.Kind != kernel.FileSocket && !ownProc(f.Path) {
			learn(c.Digest)
		}
	case unix.SYS_MMAP: // of what the world has written: its bytes are read without a call
		if f := k.File(t, c.Args[4].Int()); f != nil && f.Kind == kernel.FileInode && k.Node(t).FS.Get(f.Inode).Blob != 0 {
			l.Open = true
		}
	case unix.SYS_SHMGET, unix.SYS_SEMGET, unix.SYS_MSGGET, unix.SYS_MQ_OPEN:
		l.Open = true
	}
	switch c.Nr {
	case unix.SYS_ACCEPT, unix.SYS_ACCEPT4:
		l.Open = l.Open || result >= 0
	case unix.SYS_CONNECT, unix.SYS_READ, unix.SYS_WRITE, unix.SYS_READV, unix.SYS_WRITEV, unix.SYS_SENDTO, unix.SYS_RECVFROM, unix.SYS_SENDMSG,
		unix.SYS_RECVMSG, unix.SYS_SENDMMSG, unix.SYS_RECVMMSG:
		if f := k.File(t, c.Args[0].Int()); f != nil && f.Kind == kernel.FileSocket {
			switch kind := k.Net.Kind(net.SockID(f.Obj)); {
			case kind.Family == net.AF_UNIX:
				learn(c.Digest)
			case kind.Internet():
				l.Open = true
			}
		}
	}
}

// ownProc reports whether a path is that of what /proc says of a process, which has its number in it.
func ownProc(path string) bool {
	rest, ok := strings.CutPrefix(path, "/proc/")
	return ok && rest != "" && (rest[0] >= '0' && rest[0] <= '9' || strings.HasPrefix(rest, "self/") || strings.HasPrefix(rest, "thread-self/"))
}
