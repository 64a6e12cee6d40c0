package report

import (
	"strconv"
	"strings"
	"sync"

	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// callArguments lists the arguments of system calls, in words of argumentForms. A trace has the scalars among them; of pointers it has the
// path or the address that the call names. Calls that are not listed print their scalars in hexadecimal.
var callArguments = map[string]string{
	// files
	"open": "path open mode", "creat": "path mode", "openat": "at path open mode", "openat2": "at path _ n",
	"close": "fd", "close_range": "fd fd x", "read": "fd _ n", "pread64": "fd _ n n", "readv": "fd _ n", "preadv": "fd _ n n",
	"preadv2": "fd _ n n n rwf", "write": "fd _ n", "pwrite64": "fd _ n n", "writev": "fd _ n", "pwritev": "fd _ n n",
	"pwritev2": "fd _ n n n rwf", "lseek": "fd n whence", "getdents64": "fd _ n", "getdents": "fd _ n", "stat": "path _", "lstat": "path _",
	"fstat": "fd _", "newfstatat": "at path _ atflags", "statx": "at path atflags x _", "access": "path access", "faccessat": "at path access",
	"faccessat2": "at path access atflags", "getcwd": "_ n", "chdir": "path", "chroot": "path", "fchdir": "fd", "mkdir": "path mode",
	"mkdirat": "at path mode", "mknod": "path mode x", "mknodat": "at path mode x", "rmdir": "path", "unlink": "path",
	"unlinkat": "at path atflags", "rename": "path path", "renameat": "at path at path", "renameat2": "at path at path rename",
	"link": "path path", "linkat": "at path at path atflags", "symlink": "target link", "symlinkat": "target at link", "readlink": "path _ n",
	"readlinkat": "at path _ n", "chmod": "path mode", "fchmod": "fd mode", "fchmodat": "at path mode", "fchmodat2": "at path mode atflags",
	"chown": "path int int", "lchown": "path int int", "fchown": "fd int int", "fchownat": "at path int int atflags", "truncate": "path n",
	"ftruncate": "fd n", "fallocate": "fd fallocate n n", "fsync": "fd", "fdatasync": "fd", "sync": "", "syncfs": "fd",
	"sync_file_range": "fd n n syncrange", "fadvise64": "fd n n n", "readahead": "fd n n", "statfs": "path _", "fstatfs": "fd _",
	"memfd_create": "_ memfd", "sendfile": "fd fd _ n", "copy_file_range": "fd _ fd _ n x", "splice": "fd _ fd _ n splice", "flock": "fd flock",
	"dup": "fd", "dup2": "fd fd", "dup3": "fd fd open", "fcntl": "fd fcntl", "ioctl": "fd x", "pipe": "_", "pipe2": "_ pipe",
	"tee": "fd fd n splice", "inotify_init": "", "inotify_init1": "pipe", "inotify_add_watch": "fd path x", "inotify_rm_watch": "fd n",
	"umask": "mode",
	// sockets
	"socket": "family socktype int", "socketpair": "family socktype int _", "bind": "fd path n", "listen": "fd int", "accept": "fd path _",
	"accept4": "fd path _ sockflags", "connect": "fd path n", "getsockname": "fd _ _", "getpeername": "fd _ _",
	"setsockopt": "fd solevel int _ int", "getsockopt": "fd solevel int _ _", "sendto": "fd _ n msg path n", "recvfrom": "fd _ n msg path _",
	"sendmsg": "fd _ msg", "recvmsg": "fd _ msg", "sendmmsg": "fd _ int msg", "recvmmsg": "fd _ int msg _", "shutdown": "fd shutdown",
	// waiting
	"poll": "_ n int", "ppoll": "_ n _", "select": "int _ _ _ _", "pselect6": "int _ _ _ _ _", "epoll_create": "int", "epoll_create1": "epoll",
	"epoll_ctl": "fd epollop fd _", "epoll_wait": "fd _ int int", "epoll_pwait": "fd _ int int", "epoll_pwait2": "fd _ int _", "futex": "_ futex n",
	"eventfd": "n", "eventfd2": "n eventfd", "set_robust_list": "_ n", "get_robust_list": "n _ _",
	// time
	"clock_gettime": "clock _", "clock_settime": "clock _", "clock_getres": "clock _", "gettimeofday": "_ _", "time": "_", "times": "_",
	"nanosleep": "_ _", "clock_nanosleep": "clock timer _ _", "alarm": "n", "setitimer": "n _ _", "getitimer": "n _",
	"timer_create": "clock _ _", "timer_settime": "int timer _ _", "timer_gettime": "int _", "timer_delete": "int", "timerfd_create": "clock pipe",
	"timerfd_settime": "fd timer _ _", "timerfd_gettime": "fd _", "sched_yield": "",
	// signals and processes
	"rt_sigaction": "signal _ _ n", "kill": "int signal", "tkill": "int signal", "tgkill": "int int signal", "pause": "",
	"signalfd": "fd _ n", "signalfd4": "fd _ n pipe", "fork": "", "vfork": "", "clone": "clone", "clone3": "_ n", "execve": "path _ _",
	"execveat": "at path _ _ atflags", "exit": "int", "exit_group": "int", "wait4": "int _ wait _", "waitid": "int int _ wait _", "pidfd_open": "int pipe",
	"pidfd_send_signal": "fd signal _ x", "set_tid_address": "_", "getpid": "", "gettid": "", "getppid": "", "getuid": "", "getgid": "",
	"setpgid": "int int", "getpgid": "int", "setsid": "", "getrandom": "_ n random", "prctl": "n", "uname": "_", "getrlimit": "n _",
	"setrlimit": "n _", "prlimit64": "int int _ _", "getrusage": "int _",
	// memory; addresses are no part of a trace
	"mmap": "_ n prot map fd x", "brk": "_", "mremap": "_ n n x", "mprotect": "_ n prot", "munmap": "_ n", "madvise": "_ n madvise",
	"msync": "_ n msync", "mlock": "_ n", "munlock": "_ n",
}

// argument is one argument of a system call.
type argument struct {
	scalar bool
	path   int // which of the names that the call's detail has, from 1 on; 0 if it is no name
	form   func(b []byte, v int64) []byte
	mode   bool // which strace leaves out where the call creates nothing
}

// argumentForms writes scalars; the names that are missing are names of bits or values.
var argumentForms = map[string]func(b []byte, v int64) []byte{
	"n":    func(b []byte, v int64) []byte { return strconv.AppendInt(b, v, 10) },
	"int":  appendInt,
	"fd":   appendInt,
	"x":    appendHex,
	"mode": appendOctal,
	"at": func(b []byte, v int64) []byte {
		if asInt(v) == atFDCWD {
			return append(b, "AT_FDCWD"...)
		}
		return appendInt(b, v)
	},
}

// atFDCWD stands for the working folder.
const atFDCWD = -100

// asInt reads an int of C from a register that has it without its sign extended.
func asInt(v int64) int64 {
	if v>>32 == 0 && v>>31 == 1 {
		return int64(int32(v))
	}
	return v
}

func appendInt(b []byte, v int64) []byte { return strconv.AppendInt(b, asInt(v), 10) }

func appendHex(b []byte, v int64) []byte {
	if v >= 0 && v < 10 {
		return strconv.AppendInt(b, v, 10)
	}
	return strconv.AppendUint(append(b, "0x"...), uint64(v), 16)
}

func appendOctal(b []byte, v int64) []byte {
	if v == 0 {
		return append(b, '0')
	}
	return strconv.AppendUint(append(b, '0'), uint64(v), 8)
}

// callLayouts are callArguments, read.
var callLayouts = sync.OnceValue(func() map[string][]argument {
	layouts := make(map[string][]argument, len(callArguments))
	for call, text := range callArguments {
		list := []argument{}
		paths := 0
		for _, word := range strings.Fields(text) {
			a := argument{scalar: true, form: argumentForms[word]}
			switch word {
			case "_":
				a = argument{}
			case "path":
				paths++
				a = argument{path: paths}
			case "link": // the detail of a symlink names the link first, its arguments name it last
				a = argument{path: 1}
			case "target":
				a = argument{path: 2}
			case "mode":
				a.mode = strings.HasPrefix(call, "open")
			}
			if names, ok := flagNames[word]; ok {
				a.form = names.append
			}
			list = append(list, a)
		}
		layouts[call] = list
	}
	return layouts
})

// scalarsIn counts the arguments that a trace has.
func scalarsIn(list []argument) (n int) {
	for _, a := range list {
		if a.scalar {
			n++
		}
	}
	return n
}

// appendCall appends a call, its result and the fault that it met, as strace prints them:
//
//	openat(AT_FDCWD, "notes.json", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//
// "..." stands for what a trace does not have: buffers and structures.
func appendCall(b []byte, e *record.Event) []byte {
	b = append(append(b, e.Call...), '(')
	detail, injected := splitFault(e.Detail)
	list, known := callLayouts()[e.Call]
	if known && scalarsIn(list) == len(e.Args) && (len(list) > 0 || detail == "") {
		b, detail = appendArguments(b, list, e.Args, detail)
	} else {
		for i, v := range e.Args {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = appendHex(b, v)
		}
	}
	b = appendResult(append(b, ") = "...), e.Result)
	if injected != "" {
		b = append(append(append(b, " (INJECTED: "...), injected...), ')')
	}
	if detail != "" {
		b = append(b, ' ')
		b = strconv.AppendQuoteToASCII(b, detail)
	}
	return b
}

// splitFault parts the detail of an event from the fault that the call met (see Call.Meet of the native kernel).
func splitFault(detail string) (rest, kind string) {
	at := strings.LastIndex(detail, ": ")
	rest, kind = "", detail
	if at >= 0 {
		rest, kind = detail[:at], detail[at+2:]
	}
	if kind == "" || !fault.Known(world.FaultKind(kind)) {
		return detail, ""
	}
	return rest, kind
}

// appendArguments appends the arguments of a call whose layout is known. rest is the detail if no argument shows it.
func appendArguments(b []byte, list []argument, scalars []int64, detail string) (out []byte, rest string) {
	first, second, _ := strings.Cut(detail, " -> ")
	if !hasPath(list, 2) {
		first, second = detail, ""
	}
	rest = detail
	creates, omitted := false, false
	for i, a := range list {
		var v int64
		if a.scalar {
			v, scalars = scalars[0], scalars[1:]
		}
		if a.mode && v == 0 && !creates {
			continue
		}
		name := first
		if a.path == 2 {
			name = second
		}
		hidden := !a.scalar && (a.path == 0 || name == "")
		if hidden && omitted {
			continue // one "..." for several
		}
		omitted = hidden
		if i > 0 {
			b = append(b, ", "...)
		}
		switch {
		case hidden:
			b = append(b, "..."...)
		case a.path > 0:
			b, rest = strconv.AppendQuoteToASCII(b, name), ""
		default:
			at := len(b)
			b = a.form(b, v)
			creates = creates || strings.Contains(string(b[at:]), "O_CREAT") || strings.Contains(string(b[at:]), "O_TMPFILE")
		}
	}
	return b, rest
}

func hasPath(list []argument, n int) bool {
	for _, a := range list {
		if a.path == n {
			return true
		}
	}
	return false
}

// appendResult appends the result of a call. Linux returns errors as small negative numbers, and libraries as -1.
func appendResult(b []byte, result int64) []byte {
	if result < 0 && result >= -4095 {
		if name, ok := errnoNames[-result]; ok {
			short, words, _ := strings.Cut(name, " ")
			return append(append(append(append(append(b, "-1 "...), short...), " ("...), words...), ')')
		}
	}
	return strconv.AppendInt(b, result, 10)
}
