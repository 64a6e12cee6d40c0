//go:build linux && amd64

package host

import (
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// raw makes a system call without telling Go's scheduler: the loop's thread is locked and pinned, and handing its
// processor over for each of some hundred thousand short calls a second costs more than the calls.
func raw(nr uintptr, a ...uintptr) (uintptr, syscall.Errno) {
	var x [6]uintptr
	copy(x[:], a)
	r, _, e := syscall.RawSyscall6(nr, x[0], x[1], x[2], x[3], x[4], x[5])
	return r, e
}

func ptrace(req int, tid int, addr, data uintptr) syscall.Errno {
	_, _, e := syscall.RawSyscall6(unix.SYS_PTRACE, uintptr(req), uintptr(tid), addr, data, 0, 0)
	return e
}

// wait4 waits for one thread. Go's scheduler is told: a thread of a world may compute for long, and meanwhile the
// garbage collector (which must stop every thread that it believes to run Go code) and the watchdog have work to do.
func wait4(tid int, options int) (int, syscall.WaitStatus, syscall.Errno) {
	status := int32(0)
	for {
		r, _, e := syscall.Syscall6(unix.SYS_WAIT4, uintptr(tid), uintptr(unsafe.Pointer(&status)), uintptr(options|unix.WALL), 0, 0, 0)
		if e == syscall.EINTR {
			continue
		}
		return int(r), syscall.WaitStatus(status), e
	}
}

// Offsets into struct user_regs_struct for PTRACE_POKEUSER (sys/user.h).
const (
	userRax     = 10 * 8
	userOrigRax = 15 * 8
)

const (
	ptraceGetSyscallInfo = 0x420e
	ptraceGetSigmask     = 0x420a
	ptraceSetSigmask     = 0x420b

	traceOptions = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK | unix.PTRACE_O_TRACECLONE |
		unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_TRACESECCOMP | unix.PTRACE_O_EXITKILL
)

// syscallInfo is struct ptrace_syscall_info (linux/ptrace.h), entry and seccomp variants.
type syscallInfo struct {
	op    uint8
	_     [3]uint8
	arch  uint32
	ip    uint64
	sp    uint64
	nr    uint64
	args  [6]uint64
	extra [2]uint64
}

const (
	infoNone    = 0
	infoEntry   = 1
	infoExit    = 2
	infoSeccomp = 3
)

// quietChildSignals sets SA_NOCLDSTOP for SIGCHLD: every ptrace stop would signal the Go runtime otherwise, which
// makes a stop a fifth slower.
func quietChildSignals() {
	var sa [4]uint64 // handler, flags, restorer, mask
	raw(unix.SYS_RT_SIGACTION, uintptr(unix.SIGCHLD), 0, uintptr(unsafe.Pointer(&sa)), 8)
	sa[1] |= 1 // SA_NOCLDSTOP
	raw(unix.SYS_RT_SIGACTION, uintptr(unix.SIGCHLD), uintptr(unsafe.Pointer(&sa)), 0, 8)
	runtime.KeepAlive(&sa)
}

// Pin binds the calling OS thread, and all processes that it starts from now on, to one CPU: a wake-up across CPUs
// costs ten times more than one on the same CPU.
func Pin(cpu int) error {
	var set unix.CPUSet
	set.Set(cpu)
	return unix.SchedSetaffinity(0, &set)
}

// AllowedCPUs lists the CPUs that this process may run on.
func AllowedCPUs() []int {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return []int{0}
	}
	var cpus []int
	for i := range len(set) * 64 {
		if set.IsSet(i) {
			cpus = append(cpus, i)
		}
	}
	return cpus
}
