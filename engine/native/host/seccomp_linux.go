//go:build linux && amd64

package host

import (
	"slices"

	"golang.org/x/sys/unix"
)

// passed are the calls that neither block, nor vary from run to run, nor can be the target of a fault: the kernel
// answers them without a stop. Everything else stops and is handled by the engine.
var passed = []uint32{
	unix.SYS_MUNMAP,
	unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK, unix.SYS_ARCH_PRCTL,
}

// growing are the calls that ask for memory. They are passed, too, unless faults may answer them.
var growing = []uint32{unix.SYS_BRK, unix.SYS_MPROTECT, unix.SYS_MREMAP}

// stopping are the calls that stop the thread in any case: their handlers look at its registers or its mask of signals, or make
// it execute calls.
var stopping = []uint32{
	unix.SYS_MMAP, unix.SYS_MREMAP, unix.SYS_MSYNC, unix.SYS_MADVISE, unix.SYS_BRK, unix.SYS_MPROTECT, unix.SYS_SHMAT, unix.SYS_SHMDT,
	unix.SYS_CLONE, unix.SYS_CLONE3, unix.SYS_FORK, unix.SYS_VFORK, unix.SYS_EXECVE, unix.SYS_EXECVEAT, unix.SYS_EXIT,
	unix.SYS_RT_SIGSUSPEND, unix.SYS_RT_SIGTIMEDWAIT,
}

const (
	dataNr   = 0
	dataArch = 4
	dataIP   = 8
	dataArgs = 16

	auditArchX8664 = 0xc000003e
	madvFree       = 8
	x32Bit         = 0x40000000
)

func stmt(code uint16, k uint32) unix.SockFilter { return unix.SockFilter{Code: code, K: k} }

func jump(code uint16, k uint32, jt, jf uint8) unix.SockFilter {
	return unix.SockFilter{Code: code, Jt: jt, Jf: jf, K: k}
}

// filter is the seccomp program (seccomp(2)): passed calls, private anonymous maps, and advice other than
// MADV_FREE (whose effect depends on the machine's memory pressure) are allowed, and so are questions for a signal's action and
// what the engine makes a thread execute. All else is notified, or stops for the tracer. With memory set, calls that ask for memory stop as well.
func filter(memory, notify bool) []unix.SockFilter {
	const (
		load  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		and   = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
		ret   = unix.BPF_RET | unix.BPF_K
	)
	allow := stmt(ret, unix.SECCOMP_RET_ALLOW)
	trace := stmt(ret, unix.SECCOMP_RET_TRACE)
	done := stmt(ret, unix.SECCOMP_RET_ERRNO) // of no error: the call is not made, and its result is 0
	f := []unix.SockFilter{
		stmt(load, dataArch),
		jump(equal, auditArchX8664, 1, 0),
		trace,
		stmt(load, dataNr),
	}
	calls, anonymous := slices.Concat(passed, growing), allow
	if memory {
		calls, anonymous = passed, trace
	}
	for _, nr := range calls { // first: the kernel keeps a table of the numbers that are allowed whatever else is true
		f = append(f, jump(equal, nr, 0, 1), allow)
	}
	f = append(f,
		stmt(load, dataIP),
		jump(equal, passIP&(1<<32-1), 0, 3),
		stmt(load, dataIP+4),
		jump(equal, passIP>>32, 0, 1),
		allow,
		stmt(load, dataNr),
		// mmap: flags are argument 3; bits SHARED 1, PRIVATE 2, ANONYMOUS 0x20
		jump(equal, unix.SYS_MMAP, 0, 5),
		stmt(load, dataArgs+3*8),
		stmt(and, unix.MAP_SHARED|unix.MAP_PRIVATE|unix.MAP_ANONYMOUS),
		jump(equal, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, 0, 1),
		anonymous,
		trace,
		jump(equal, unix.SYS_MADVISE, 0, 4),
		stmt(load, dataArgs+2*8),
		jump(equal, madvFree, 0, 1),
		trace,
		allow,
		// prctl: names of anonymous maps are for people alone, and kernels without them answer an error
		jump(equal, unix.SYS_PRCTL, 0, 4),
		stmt(load, dataArgs),
		jump(equal, unix.PR_SET_VMA, 0, 1),
		done,
		stmt(load, dataNr),
		// rt_sigaction: without a new action, argument 1, it only asks for the present one
		jump(equal, unix.SYS_RT_SIGACTION, 0, 6),
		stmt(load, dataArgs+8),
		jump(equal, 0, 0, 3),
		stmt(load, dataArgs+8+4),
		jump(equal, 0, 0, 1),
		allow,
		stmt(load, dataNr),
	)
	if notify {
		for _, nr := range stopping {
			f = append(f, jump(equal, nr, 0, 1), trace)
		}
		return append(f, stmt(ret, unix.SECCOMP_RET_USER_NOTIF))
	}
	return append(f, trace)
}
