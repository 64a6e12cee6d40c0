//go:build linux && amd64

package host

import (
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
)

// ptrace makes its call without telling Go's scheduler: the loop's thread is locked and pinned, and handing its
// processor over for each of some hundred thousand short calls a second costs more than the calls.
func ptrace(req int, tid int, addr, data uintptr) syscall.Errno {
	_, _, e := syscall.RawSyscall6(unix.SYS_PTRACE, uintptr(req), uintptr(tid), addr, data, 0, 0)
	return e
}

// wait4 waits for one thread without telling Go's scheduler: it would take the processor from this goroutine at nearly
// every wait and give it to another thread, which on a busy CPU has to wait for its turn before it can give it back. But a
// thread of a world may compute for long, and the garbage collector must be able to stop this goroutine meanwhile: the
// signal by which the runtime asks for that ends the wait (see interruptible), and the scheduler is asked.
func wait4(tid int, options int) (int, syscall.WaitStatus, syscall.Errno) {
	for {
		n, status, errno := waitOnce(tid, options)
		if errno != syscall.EINTR {
			return n, status, errno
		}
		runtime.Gosched()
	}
}

func waitOnce(tid int, options int) (int, syscall.WaitStatus, syscall.Errno) {
	status := int32(0)
	r, _, e := syscall.RawSyscall6(unix.SYS_WAIT4, uintptr(tid), uintptr(unsafe.Pointer(&status)), uintptr(options|unix.WALL), 0, 0, 0)
	return int(r), syscall.WaitStatus(status), e
}

// wait waits for the next stop of a thread of the machine, or for its end.
func (m *Machine) wait(t *thread) (syscall.WaitStatus, syscall.Errno) {
	m.watch.waits.Add(1)
	defer m.watch.waits.Add(1)
	for {
		_, status, errno := waitOnce(t.tid, 0)
		if errno != syscall.EINTR {
			return status, errno
		}
		runtime.Gosched()
		m.bury(t)
	}
}

// bury takes in the ends of the other threads of a process whose main thread is waited for: where another party kills a process, the
// machine for want of memory say, Linux reports the end of its main thread only after those of all others.
func (m *Machine) bury(t *thread) {
	if !t.leader || m.alive[t.tgid] <= 1 {
		return
	}
	for _, o := range m.threads {
		if o == t || o.tgid != t.tgid {
			continue
		}
		// Stops of traced threads are reported whatever the options, and stay for whoever waits for them.
		var info unix.Siginfo
		if unix.Waitid(unix.P_PID, o.tid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT|unix.WALL, nil) != nil || info.Signo == 0 || !ended(info.Code) {
			continue
		}
		_, status, _ := wait4(o.tid, unix.WNOHANG)
		o.queued = &machine.Stop{Kind: machine.StopExit, Status: status}
		o.tid += nowhere
		m.alive[t.tgid]--
	}
}

// ended reports whether a code of SIGCHLD is of an end, and not of a stop (sigaction(2)).
func ended(code int32) bool {
	const exited, dumped = 1, 3
	return code >= exited && code <= dumped
}

// Offsets into struct user_regs_struct for PTRACE_POKEUSER (sys/user.h).
const (
	userRax     = 10 * 8
	userOrigRax = 15 * 8
	userRip     = 16 * 8
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

// interruptible takes SA_RESTART from SIGURG, by which Go's runtime asks a thread to stop, and from SIGCHLD, by which Linux reports
// the ends of threads: a wait that the runtime knows nothing of ends with EINTR then.
func interruptible() {
	for _, sig := range []syscall.Signal{unix.SIGURG, unix.SIGCHLD} {
		var sa sigaction
		rtSigaction(sig, nil, &sa)
		sa.flags &^= saRestart
		rtSigaction(sig, &sa, nil)
	}
}

const (
	saNoCldStop = 1
	saRestart   = 0x10000000
)

// sigaction is the kernel's struct (rt_sigaction(2)).
type sigaction struct {
	handler  uintptr
	flags    uint64
	restorer uintptr
	mask     uint64
}

func rtSigaction(sig syscall.Signal, set, old *sigaction) syscall.Errno {
	_, _, e := syscall.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(set)),
		uintptr(unsafe.Pointer(old)), unsafe.Sizeof(set.mask), 0, 0)
	return e
}

// Pin binds the calling OS thread, and all processes that it starts from now on, to the CPU on which it runs: a wake-up across CPUs
// costs ten times more than one on the same CPU. Linux starts a thread where there is least to do.
func Pin() error {
	var cpu uint32
	if _, _, e := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0); e != 0 {
		return e
	}
	var set unix.CPUSet
	set.Set(int(cpu))
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
