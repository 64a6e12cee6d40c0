package report

import "strconv"

// flags names the values of an argument: of a field of bits that has one of several values, and of single bits.
type flags struct {
	mask   int64 // the field; 0 if there is none
	values map[int64]string
	last   bool // the field's name follows those of the bits
	bits   []bit
}

type bit struct {
	value int64
	name  string
}

// append writes an argument by its names. What has none is written as a number.
func (f *flags) append(b []byte, v int64) []byte {
	if v>>31 == -1 { // an int of C, with its sign extended
		v = int64(uint32(v))
	}
	field, rest := v&f.mask, v&^f.mask
	begin := len(b)
	add := func(name string) {
		if len(b) > begin {
			b = append(b, '|')
		}
		b = append(b, name...)
	}
	addField := func() {
		if name, ok := f.values[field]; !ok {
			add(string(appendHex(nil, field)))
		} else if name != "" {
			add(name)
		}
	}
	if f.mask != 0 && !f.last {
		addField()
	}
	for _, x := range f.bits {
		if rest&x.value == x.value {
			add(x.name)
			rest &^= x.value
		}
	}
	if rest != 0 {
		add("0x" + strconv.FormatUint(uint64(rest), 16))
	}
	if f.last {
		addField()
	}
	if len(b) == begin {
		b = append(b, '0')
	}
	return b
}

// all is the mask of arguments that have one value.
const all = 1<<32 - 1

// flagNames has the names of the arguments of callArguments (Linux on x86-64).
var flagNames = map[string]*flags{
	"open": {mask: 3, values: map[int64]string{0: "O_RDONLY", 1: "O_WRONLY", 2: "O_RDWR"}, bits: []bit{{0x410000, "O_TMPFILE"}, {0x101000, "O_SYNC"},
		{0x40, "O_CREAT"}, {0x80, "O_EXCL"}, {0x100, "O_NOCTTY"}, {0x200, "O_TRUNC"}, {0x400, "O_APPEND"}, {0x800, "O_NONBLOCK"},
		{0x1000, "O_DSYNC"}, {0x2000, "O_ASYNC"}, {0x4000, "O_DIRECT"}, {0x8000, "O_LARGEFILE"}, {0x10000, "O_DIRECTORY"},
		{0x20000, "O_NOFOLLOW"}, {0x40000, "O_NOATIME"}, {0x80000, "O_CLOEXEC"}, {0x200000, "O_PATH"}}},
	"pipe": {bits: []bit{{0x800, "O_NONBLOCK"}, {0x4000, "O_DIRECT"}, {0x80000, "O_CLOEXEC"}}},
	"access": {mask: 7, values: map[int64]string{0: "F_OK", 1: "X_OK", 2: "W_OK", 3: "W_OK|X_OK", 4: "R_OK", 5: "R_OK|X_OK", 6: "R_OK|W_OK",
		7: "R_OK|W_OK|X_OK"}},
	"atflags": {bits: []bit{{0x100, "AT_SYMLINK_NOFOLLOW"}, {0x200, "AT_REMOVEDIR"}, {0x400, "AT_SYMLINK_FOLLOW"}, {0x800, "AT_NO_AUTOMOUNT"},
		{0x1000, "AT_EMPTY_PATH"}}},
	"rename":   {bits: []bit{{1, "RENAME_NOREPLACE"}, {2, "RENAME_EXCHANGE"}, {4, "RENAME_WHITEOUT"}}},
	"whence":   {mask: all, values: map[int64]string{0: "SEEK_SET", 1: "SEEK_CUR", 2: "SEEK_END", 3: "SEEK_DATA", 4: "SEEK_HOLE"}},
	"rwf":      {bits: []bit{{1, "RWF_HIPRI"}, {2, "RWF_DSYNC"}, {4, "RWF_SYNC"}, {8, "RWF_NOWAIT"}, {16, "RWF_APPEND"}}},
	"flock":    {bits: []bit{{1, "LOCK_SH"}, {2, "LOCK_EX"}, {8, "LOCK_UN"}, {4, "LOCK_NB"}}},
	"memfd":    {bits: []bit{{1, "MFD_CLOEXEC"}, {2, "MFD_ALLOW_SEALING"}, {4, "MFD_HUGETLB"}}},
	"splice":   {bits: []bit{{1, "SPLICE_F_MOVE"}, {2, "SPLICE_F_NONBLOCK"}, {4, "SPLICE_F_MORE"}, {8, "SPLICE_F_GIFT"}}},
	"random":   {bits: []bit{{1, "GRND_NONBLOCK"}, {2, "GRND_RANDOM"}, {4, "GRND_INSECURE"}}},
	"eventfd":  {bits: []bit{{1, "EFD_SEMAPHORE"}, {0x800, "EFD_NONBLOCK"}, {0x80000, "EFD_CLOEXEC"}}},
	"epoll":    {bits: []bit{{0x80000, "EPOLL_CLOEXEC"}}},
	"epollop":  {mask: all, values: map[int64]string{1: "EPOLL_CTL_ADD", 2: "EPOLL_CTL_DEL", 3: "EPOLL_CTL_MOD"}},
	"shutdown": {mask: all, values: map[int64]string{0: "SHUT_RD", 1: "SHUT_WR", 2: "SHUT_RDWR"}},
	"fallocate": {bits: []bit{{1, "FALLOC_FL_KEEP_SIZE"}, {2, "FALLOC_FL_PUNCH_HOLE"}, {8, "FALLOC_FL_COLLAPSE_RANGE"}, {0x10, "FALLOC_FL_ZERO_RANGE"},
		{0x20, "FALLOC_FL_INSERT_RANGE"}}},
	"syncrange": {bits: []bit{{1, "SYNC_FILE_RANGE_WAIT_BEFORE"}, {2, "SYNC_FILE_RANGE_WRITE"}, {4, "SYNC_FILE_RANGE_WAIT_AFTER"}}},
	"fcntl": {mask: all, values: map[int64]string{0: "F_DUPFD", 1: "F_GETFD", 2: "F_SETFD", 3: "F_GETFL", 4: "F_SETFL", 5: "F_GETLK", 6: "F_SETLK",
		7: "F_SETLKW", 8: "F_SETOWN", 9: "F_GETOWN", 36: "F_OFD_GETLK", 37: "F_OFD_SETLK", 38: "F_OFD_SETLKW", 1024: "F_SETLEASE",
		1025: "F_GETLEASE", 1030: "F_DUPFD_CLOEXEC", 1031: "F_SETPIPE_SZ", 1032: "F_GETPIPE_SZ", 1033: "F_ADD_SEALS", 1034: "F_GET_SEALS"}},
	"family": {mask: all, values: map[int64]string{0: "AF_UNSPEC", 1: "AF_UNIX", 2: "AF_INET", 10: "AF_INET6", 16: "AF_NETLINK", 17: "AF_PACKET"}},
	"socktype": {mask: 0xf, values: map[int64]string{1: "SOCK_STREAM", 2: "SOCK_DGRAM", 3: "SOCK_RAW", 5: "SOCK_SEQPACKET"},
		bits: []bit{{0x800, "SOCK_NONBLOCK"}, {0x80000, "SOCK_CLOEXEC"}}},
	"sockflags": {bits: []bit{{0x800, "SOCK_NONBLOCK"}, {0x80000, "SOCK_CLOEXEC"}}},
	"solevel":   {mask: all, values: map[int64]string{0: "SOL_IP", 1: "SOL_SOCKET", 6: "SOL_TCP", 17: "SOL_UDP", 41: "SOL_IPV6"}},
	"msg": {bits: []bit{{1, "MSG_OOB"}, {2, "MSG_PEEK"}, {4, "MSG_DONTROUTE"}, {0x20, "MSG_TRUNC"}, {0x40, "MSG_DONTWAIT"}, {0x80, "MSG_EOR"},
		{0x100, "MSG_WAITALL"}, {0x4000, "MSG_NOSIGNAL"}, {0x8000, "MSG_MORE"}, {0x10000, "MSG_WAITFORONE"}, {0x40000000, "MSG_CMSG_CLOEXEC"}}},
	"futex": {mask: 0xff, values: map[int64]string{0: "FUTEX_WAIT", 1: "FUTEX_WAKE", 3: "FUTEX_REQUEUE", 4: "FUTEX_CMP_REQUEUE", 5: "FUTEX_WAKE_OP",
		6: "FUTEX_LOCK_PI", 7: "FUTEX_UNLOCK_PI", 9: "FUTEX_WAIT_BITSET", 10: "FUTEX_WAKE_BITSET",
		0x80: "FUTEX_WAIT_PRIVATE", 0x81: "FUTEX_WAKE_PRIVATE", 0x83: "FUTEX_REQUEUE_PRIVATE", 0x84: "FUTEX_CMP_REQUEUE_PRIVATE",
		0x85: "FUTEX_WAKE_OP_PRIVATE", 0x86: "FUTEX_LOCK_PI_PRIVATE", 0x87: "FUTEX_UNLOCK_PI_PRIVATE", 0x89: "FUTEX_WAIT_BITSET_PRIVATE",
		0x8a: "FUTEX_WAKE_BITSET_PRIVATE"}, bits: []bit{{0x100, "FUTEX_CLOCK_REALTIME"}}},
	"clock": {mask: all, values: map[int64]string{0: "CLOCK_REALTIME", 1: "CLOCK_MONOTONIC", 2: "CLOCK_PROCESS_CPUTIME_ID", 3: "CLOCK_THREAD_CPUTIME_ID",
		4: "CLOCK_MONOTONIC_RAW", 5: "CLOCK_REALTIME_COARSE", 6: "CLOCK_MONOTONIC_COARSE", 7: "CLOCK_BOOTTIME"}},
	"timer": {bits: []bit{{1, "TIMER_ABSTIME"}}},
	"wait":  {bits: []bit{{1, "WNOHANG"}, {2, "WSTOPPED"}, {4, "WEXITED"}, {8, "WCONTINUED"}, {0x1000000, "WNOWAIT"}}},
	"signal": {mask: all, values: map[int64]string{1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS",
		8: "SIGFPE", 9: "SIGKILL", 10: "SIGUSR1", 11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM", 16: "SIGSTKFLT",
		17: "SIGCHLD", 18: "SIGCONT", 19: "SIGSTOP", 20: "SIGTSTP", 21: "SIGTTIN", 22: "SIGTTOU", 23: "SIGURG", 24: "SIGXCPU", 25: "SIGXFSZ",
		26: "SIGVTALRM", 27: "SIGPROF", 28: "SIGWINCH", 29: "SIGIO", 30: "SIGPWR", 31: "SIGSYS"}},
	"clone": {mask: 0xff, values: map[int64]string{0: "", 17: "SIGCHLD"}, last: true, bits: []bit{{0x100, "CLONE_VM"}, {0x200, "CLONE_FS"},
		{0x400, "CLONE_FILES"}, {0x800, "CLONE_SIGHAND"}, {0x1000, "CLONE_PIDFD"}, {0x4000, "CLONE_VFORK"}, {0x8000, "CLONE_PARENT"}, {0x10000, "CLONE_THREAD"},
		{0x40000, "CLONE_SYSVSEM"}, {0x80000, "CLONE_SETTLS"}, {0x100000, "CLONE_PARENT_SETTID"}, {0x200000, "CLONE_CHILD_CLEARTID"},
		{0x1000000, "CLONE_CHILD_SETTID"}}},
	"prot": {mask: 7, values: map[int64]string{0: "PROT_NONE", 1: "PROT_READ", 2: "PROT_WRITE", 3: "PROT_READ|PROT_WRITE", 4: "PROT_EXEC",
		5: "PROT_READ|PROT_EXEC", 6: "PROT_WRITE|PROT_EXEC", 7: "PROT_READ|PROT_WRITE|PROT_EXEC"}},
	"map": {mask: 3, values: map[int64]string{1: "MAP_SHARED", 2: "MAP_PRIVATE", 3: "MAP_SHARED_VALIDATE"}, bits: []bit{{0x10, "MAP_FIXED"},
		{0x20, "MAP_ANONYMOUS"}, {0x100, "MAP_GROWSDOWN"}, {0x800, "MAP_DENYWRITE"}, {0x2000, "MAP_LOCKED"}, {0x4000, "MAP_NORESERVE"},
		{0x8000, "MAP_POPULATE"}, {0x20000, "MAP_STACK"}, {0x100000, "MAP_FIXED_NOREPLACE"}}},
	"madvise": {mask: all, values: map[int64]string{0: "MADV_NORMAL", 1: "MADV_RANDOM", 2: "MADV_SEQUENTIAL", 3: "MADV_WILLNEED", 4: "MADV_DONTNEED",
		8: "MADV_FREE", 14: "MADV_HUGEPAGE", 15: "MADV_NOHUGEPAGE", 16: "MADV_DONTDUMP"}},
	"msync": {bits: []bit{{1, "MS_ASYNC"}, {2, "MS_INVALIDATE"}, {4, "MS_SYNC"}}},
}

// errnoNames has the errors of Linux, with the words of its C library.
var errnoNames = map[int64]string{
	1: "EPERM Operation not permitted", 2: "ENOENT No such file or directory", 3: "ESRCH No such process", 4: "EINTR Interrupted system call",
	5: "EIO Input/output error", 6: "ENXIO No such device or address", 7: "E2BIG Argument list too long", 8: "ENOEXEC Exec format error",
	9: "EBADF Bad file descriptor", 10: "ECHILD No child processes", 11: "EAGAIN Resource temporarily unavailable",
	12: "ENOMEM Cannot allocate memory", 13: "EACCES Permission denied", 14: "EFAULT Bad address", 15: "ENOTBLK Block device required",
	16: "EBUSY Device or resource busy", 17: "EEXIST File exists", 18: "EXDEV Invalid cross-device link", 19: "ENODEV No such device",
	20: "ENOTDIR Not a directory", 21: "EISDIR Is a directory", 22: "EINVAL Invalid argument", 23: "ENFILE Too many open files in system",
	24: "EMFILE Too many open files", 25: "ENOTTY Inappropriate ioctl for device", 26: "ETXTBSY Text file busy", 27: "EFBIG File too large",
	28: "ENOSPC No space left on device", 29: "ESPIPE Illegal seek", 30: "EROFS Read-only file system", 31: "EMLINK Too many links",
	32: "EPIPE Broken pipe", 33: "EDOM Numerical argument out of domain", 34: "ERANGE Numerical result out of range",
	35: "EDEADLK Resource deadlock avoided", 36: "ENAMETOOLONG File name too long", 37: "ENOLCK No locks available",
	38: "ENOSYS Function not implemented", 39: "ENOTEMPTY Directory not empty", 40: "ELOOP Too many levels of symbolic links",
	61: "ENODATA No data available", 71: "EPROTO Protocol error", 74: "EBADMSG Bad message", 75: "EOVERFLOW Value too large for defined data type",
	84: "EILSEQ Invalid or incomplete multibyte or wide character", 88: "ENOTSOCK Socket operation on non-socket",
	89: "EDESTADDRREQ Destination address required", 90: "EMSGSIZE Message too long", 91: "EPROTOTYPE Protocol wrong type for socket",
	92: "ENOPROTOOPT Protocol not available", 93: "EPROTONOSUPPORT Protocol not supported", 94: "ESOCKTNOSUPPORT Socket type not supported",
	95: "EOPNOTSUPP Operation not supported", 97: "EAFNOSUPPORT Address family not supported by protocol", 98: "EADDRINUSE Address already in use",
	99: "EADDRNOTAVAIL Cannot assign requested address", 100: "ENETDOWN Network is down", 101: "ENETUNREACH Network is unreachable",
	102: "ENETRESET Network dropped connection on reset", 103: "ECONNABORTED Software caused connection abort",
	104: "ECONNRESET Connection reset by peer", 105: "ENOBUFS No buffer space available", 106: "EISCONN Transport endpoint is already connected",
	107: "ENOTCONN Transport endpoint is not connected", 108: "ESHUTDOWN Cannot send after transport endpoint shutdown",
	110: "ETIMEDOUT Connection timed out", 111: "ECONNREFUSED Connection refused", 112: "EHOSTDOWN Host is down",
	113: "EHOSTUNREACH No route to host", 114: "EALREADY Operation already in progress", 115: "EINPROGRESS Operation now in progress",
	116: "ESTALE Stale file handle", 122: "EDQUOT Disk quota exceeded", 125: "ECANCELED Operation canceled",
	130: "EOWNERDEAD Owner died", 131: "ENOTRECOVERABLE State not recoverable",
}
