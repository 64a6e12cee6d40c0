//go:build linux && amd64

package linux

import (
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/net"
)

// leaving says of a call that has ended whether it may be one of a process' way out.
type leaving func(k *Kernel, t *Thread, result int64) bool

// The conditions of wayOuts.
var (
	always leaving = func(*Kernel, *Thread, int64) bool { return true }

	// toLog: what is written tells people, and not clients or the disk.
	toLog leaving = func(k *Kernel, t *Thread, _ int64) bool { return isLog(k, k.File(t, t.Call.Args[0].Int())) }

	// fromMessages: a file that is opened, looked at or read has the words of last messages, or it was at its end.
	fromMessages leaving = func(k *Kernel, t *Thread, result int64) bool {
		c := &t.Call
		if _, named := pathAt[c.Nr]; named && c.Detail != "" {
			return forMessages(k, t, c.Detail)
		}
		if (c.Nr == unix.SYS_NEWFSTATAT || c.Nr == unix.SYS_STATX) && c.Detail == "" {
			return true // fstat(2), as the C library makes it
		}
		f := k.File(t, c.Args[0].Int())
		return f != nil && (f.Inode != 0 || f.Kind == kernel.FileSynth) && (forMessages(k, t, describe(k, f)) || isRead[c.Nr] && result == 0)
	}

	// toItself: a signal to the process itself or to its group, with which it ends, or to its own children, which it ends before.
	toItself leaving = func(k *Kernel, t *Thread, _ int64) bool {
		p, pid := k.Proc(t), t.Call.Args[0].Int()
		if t.Call.Nr == unix.SYS_TKILL {
			to := k.ThreadByTID(t.Node, pid)
			return to != nil && to.Proc == t.Proc
		}
		if pid == p.PID || pid == 0 || pid == -p.PGID {
			return true
		}
		for _, id := range p.Children {
			if c := k.Procs[id]; c != nil && (c.PID == pid || -c.PGID == pid) {
				return true
			}
		}
		return false
	}

	// waits: of another thread than the one that was refused, or one that has found nothing and did not last, by the argument that is
	// its timeout.
	waits = func(timeout int) leaving {
		return func(k *Kernel, t *Thread, result int64) bool {
			short := timeout != noTimeout && t.Call.Args[timeout].Int() == 0
			return short && result == 0 || t.Name != k.Proc(t).Refusal.Thread
		}
	}

	// memory: without a file, or of a file with messages.
	memory leaving = func(k *Kernel, t *Thread, _ int64) bool {
		flags, fd := t.Call.Args[3].Uint64(), t.Call.Args[4].Int()
		f := k.File(t, fd)
		return flags&unix.MAP_ANONYMOUS != 0 || f != nil && f.Inode != 0 && forMessages(k, t, describe(k, f))
	}

	// removal: of the operations on an object of System V, IPC_RMID alone.
	removal = func(arg int) leaving {
		return func(_ *Kernel, t *Thread, _ int64) bool { return t.Call.Args[arg].Int() == unix.IPC_RMID }
	}

	// toSyslog: a socket to the daemon that keeps logs.
	toSyslog leaving = func(_ *Kernel, t *Thread, _ int64) bool {
		if t.Call.Nr == unix.SYS_SOCKET {
			family, typ := t.Call.Args[0].Uint64(), t.Call.Args[1].Uint64()
			return family == unix.AF_UNIX && typ&0xf == unix.SOCK_DGRAM
		}
		return strings.Contains(t.Call.Detail, "/dev/log") || strings.Contains(t.Call.Detail, "/systemd/journal/")
	}
)

// noTimeout says that the timeout of a call is no argument of its own.
const noTimeout = -1

// wayOuts are the calls by which programs leave: they tell what is wrong, give up what they have, and end. None of them takes in anything
// that a program could go on with, and none begins anything, so that one which falls back to other means makes calls that are not here.
// Those that the machine's kernel answers without the engine are not seen, and need no place.
var wayOuts = byNumber([]wayOut{
	{toLog, []uint64{
		unix.SYS_WRITE, unix.SYS_WRITEV, unix.SYS_PWRITE64, unix.SYS_PWRITEV, unix.SYS_PWRITEV2, unix.SYS_SENDTO, unix.SYS_SENDMSG,
	}},
	{toSyslog, []uint64{unix.SYS_SOCKET, unix.SYS_CONNECT}},
	{fromMessages, []uint64{
		unix.SYS_OPEN, unix.SYS_OPENAT, unix.SYS_STAT, unix.SYS_LSTAT, unix.SYS_NEWFSTATAT, unix.SYS_STATX,
		unix.SYS_ACCESS, unix.SYS_FACCESSAT, unix.SYS_FACCESSAT2, unix.SYS_READLINK, unix.SYS_READLINKAT,
		unix.SYS_READ, unix.SYS_READV, unix.SYS_PREAD64, unix.SYS_GETDENTS64,
	}},
	{always, []uint64{ // what is known of open files
		unix.SYS_FSTAT, unix.SYS_LSEEK, unix.SYS_IOCTL, unix.SYS_FCNTL, unix.SYS_FADVISE64, unix.SYS_GETCWD,
	}},
	{always, []uint64{ // what it gives up
		unix.SYS_CLOSE, unix.SYS_CLOSE_RANGE, unix.SYS_DUP, unix.SYS_DUP2, unix.SYS_DUP3, unix.SYS_SHUTDOWN, unix.SYS_EPOLL_CTL,
		unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_FLOCK, unix.SYS_UNLINK, unix.SYS_UNLINKAT, unix.SYS_RMDIR,
		unix.SYS_SHMDT, unix.SYS_TIMER_DELETE, unix.SYS_MUNLOCK, unix.SYS_MUNLOCKALL,
	}},
	{removal(1), []uint64{unix.SYS_SHMCTL, unix.SYS_MSGCTL}},
	{removal(2), []uint64{unix.SYS_SEMCTL}},
	{memory, []uint64{unix.SYS_MMAP}},
	{always, []uint64{
		unix.SYS_MUNMAP, unix.SYS_MREMAP, unix.SYS_MPROTECT, unix.SYS_MADVISE, unix.SYS_BRK, unix.SYS_MEMBARRIER,
	}},
	{always, []uint64{ // threads meet
		unix.SYS_FUTEX, unix.SYS_SCHED_YIELD, unix.SYS_SET_ROBUST_LIST, unix.SYS_SET_TID_ADDRESS,
	}},
	{waits(2), []uint64{unix.SYS_POLL}},
	{waits(3), []uint64{unix.SYS_EPOLL_WAIT, unix.SYS_EPOLL_PWAIT}},
	{waits(noTimeout), []uint64{
		unix.SYS_PPOLL, unix.SYS_SELECT, unix.SYS_PSELECT6, unix.SYS_EPOLL_PWAIT2, unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP,
		unix.SYS_RT_SIGTIMEDWAIT,
	}},
	{toItself, []uint64{unix.SYS_KILL, unix.SYS_TKILL, unix.SYS_TGKILL}},
	{always, []uint64{
		unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK, unix.SYS_RT_SIGPENDING,
		unix.SYS_WAIT4, unix.SYS_WAITID, unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
	}},
	{always, []uint64{ // what it is, and when; the first malloc of the C library asks for random bytes
		unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_GETPPID, unix.SYS_GETPGRP, unix.SYS_GETUID, unix.SYS_GETEUID, unix.SYS_GETGID,
		unix.SYS_GETEGID, unix.SYS_UNAME, unix.SYS_CLOCK_GETTIME, unix.SYS_GETTIMEOFDAY, unix.SYS_TIME, unix.SYS_TIMES,
		unix.SYS_GETRUSAGE, unix.SYS_GETRLIMIT, unix.SYS_PRLIMIT64, unix.SYS_SYSINFO, unix.SYS_UMASK, unix.SYS_GETCPU, unix.SYS_GETRANDOM,
	}},
})

// wayOut is a row of wayOuts.
type wayOut struct {
	when  leaving
	calls []uint64
}

func byNumber(rows []wayOut) map[uint64]leaving {
	all := map[uint64]leaving{}
	for _, r := range rows {
		for _, nr := range r.calls {
			if all[nr] != nil {
				panic("linux: two rows for the call " + itoa(int(nr)))
			}
			all[nr] = r.when
		}
	}
	return all
}

var isRead = map[uint64]bool{unix.SYS_READ: true, unix.SYS_READV: true, unix.SYS_PREAD64: true, unix.SYS_GETDENTS64: true}

// messageFolders and messageNames say where programs look for the words of their last messages: descriptions of themselves, translations,
// zones of time, lines of their own source, and the code that prints those. Programs keep no settings and no data there.
var (
	messageFolders = []string{
		"/proc/", "/sys/devices/system/cpu/", "/usr/share/locale", "/usr/lib/locale/", "/usr/share/zoneinfo/", "/usr/lib/debug/",
		"/etc/ld.so.", "/usr/share/gcc/",
	}
	messageNames = []string{
		"*.py", "*.pyc", "__pycache__", "python3*", "*.rb", "*.so", "*.so.*", "*.mo", "gconv-modules*", "localtime", "locale.alias",
	}
)

func forMessages(k *Kernel, t *Thread, name string) bool {
	if name == k.Proc(t).Path {
		return true
	}
	for _, folder := range messageFolders {
		if strings.HasPrefix(name, folder) {
			return true
		}
	}
	for _, pattern := range messageNames {
		if ok, _ := path.Match(pattern, path.Base(name)); ok {
			return true
		}
	}
	return false
}

// isLog reports whether what is written to a file is for people to read, or wakes a thread of the process itself.
func isLog(k *Kernel, f *File) bool {
	if f == nil {
		return true // the write has failed
	}
	switch f.Kind {
	case kernel.FileLog, kernel.FileNull, kernel.FileEvent, kernel.FilePipe, kernel.FileSDK:
		return true
	case kernel.FileInode:
		return f.Flags&unix.O_APPEND != 0 || strings.HasSuffix(describe(k, f), ".log")
	case kernel.FileSocket:
		kind := k.Net.Kind(net.SockID(f.Obj))
		return kind.Family == net.AF_UNIX && kind.Type == unix.SOCK_DGRAM
	}
	return false
}

// leaves is System.WayOut.
func leaves(k *Kernel, t *Thread, result int64) bool {
	if result == -int64(unix.EBADF) { // the result of the refused call, used as if it were a file
		return true
	}
	allowed := wayOuts[t.Call.Nr]
	return allowed != nil && t.State != kernel.Dead && allowed(k, t, result)
}
