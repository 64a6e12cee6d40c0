//go:build linux && amd64

package linux

import (
	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
)

// system is all that this package is to the core.
var system kernel.System

// table holds all calls by number.
var table = &system.Calls

// NewSystem gives Linux to a kernel.
func NewSystem() *kernel.System { return &system }

// define enters a call. args has a letter for each argument: i a scalar, p a pointer; > behind it a pointer result.
func define(nr int, name, args string, h kernel.Handler) *kernel.Syscall {
	e := &table[nr]
	*e = kernel.Syscall{Name: name, Handle: h}
	for i, c := range args {
		switch c {
		case 'i':
			e.Scalars[i] = true
		case '>':
			e.Pointer = true
		}
	}
	return e
}

// CallName is the name of a system call's number.
func CallName(nr uint64) string {
	if nr >= uint64(len(table)) {
		nr = uint64(len(table)) - 1
	}
	return table[nr].Name
}

func init() {
	system.Kinds = behaviours
	system.Synth = func(k *Kernel) fs.Synth { return &synths{k} }
	system.Subjects, system.Charge, system.Recorded, system.Changed, system.WayOut = subjects, charge, lives, changed, leaves
	system.Act, system.Makes = actOf, makes
	system.ThreadEnds, system.ProcessEnds = robustExit, semExit
	for nr := range table {
		table[nr].Name = "call_" + itoa(nr)
	}
	table[len(table)-1].Name = "unknown call"
	defineDescriptors()
	defineFiles()
	defineSockets()
	defineWaiting()
	defineTime()
	defineSignals()
	defineProcesses()
	defineIdentity()
	defineMemory()
	defineRefused()
	mark()
}

func defineDescriptors() {
	define(unix.SYS_READ, "read", "ipi", sysRead).Restarts(kernel.RestartFlag)
	define(unix.SYS_PREAD64, "pread64", "ipii", sysPread64)
	define(unix.SYS_READV, "readv", "ipi", sysReadv).Restarts(kernel.RestartFlag)
	define(unix.SYS_PREADV, "preadv", "ipii", sysPreadv)
	define(unix.SYS_PREADV2, "preadv2", "ipiiii", sysPreadv2)
	define(unix.SYS_WRITE, "write", "ipi", sysWrite).Restarts(kernel.RestartFlag)
	define(unix.SYS_PWRITE64, "pwrite64", "ipii", sysPwrite64)
	define(unix.SYS_WRITEV, "writev", "ipi", sysWritev).Restarts(kernel.RestartFlag)
	define(unix.SYS_PWRITEV, "pwritev", "ipii", sysPwritev)
	define(unix.SYS_PWRITEV2, "pwritev2", "ipiiii", sysPwritev2)
	define(unix.SYS_CLOSE, "close", "i", sysClose)
	define(unix.SYS_CLOSE_RANGE, "close_range", "iii", sysCloseRange)
	define(unix.SYS_DUP, "dup", "i", sysDup)
	define(unix.SYS_DUP2, "dup2", "ii", sysDup2)
	define(unix.SYS_DUP3, "dup3", "iii", sysDup3)
	define(unix.SYS_FCNTL, "fcntl", "ii", sysFcntl).Restarts(kernel.RestartFlag)
	define(unix.SYS_IOCTL, "ioctl", "ii", sysIoctl)
	define(unix.SYS_PIPE, "pipe", "p", sysPipe)
	define(unix.SYS_PIPE2, "pipe2", "pi", sysPipe2)
	define(unix.SYS_TEE, "tee", "iiii", sysTee).Restarts(kernel.RestartFlag)
	define(unix.SYS_VMSPLICE, "vmsplice", "ipii", sysVmsplice).Restarts(kernel.RestartFlag)
	define(unix.SYS_EVENTFD, "eventfd", "i", sysEventfd)
	define(unix.SYS_EVENTFD2, "eventfd2", "ii", sysEventfd2)
}

func defineWaiting() {
	define(unix.SYS_POLL, "poll", "pii", sysPoll)
	define(unix.SYS_PPOLL, "ppoll", "pip", sysPpoll).Interrupted = selectInterrupted
	define(unix.SYS_SELECT, "select", "ipppp", sysSelect).Interrupted = selectInterrupted
	define(unix.SYS_PSELECT6, "pselect6", "ippppp", sysPselect6).Interrupted = selectInterrupted
	define(unix.SYS_EPOLL_CREATE, "epoll_create", "i", sysEpollCreate)
	define(unix.SYS_EPOLL_CREATE1, "epoll_create1", "i", sysEpollCreate1)
	define(unix.SYS_EPOLL_CTL, "epoll_ctl", "iiip", sysEpollCtl)
	define(unix.SYS_EPOLL_WAIT, "epoll_wait", "ipii", sysEpollWait)
	define(unix.SYS_EPOLL_PWAIT, "epoll_pwait", "ipii", sysEpollPwait)
	define(unix.SYS_EPOLL_PWAIT2, "epoll_pwait2", "ipip", sysEpollPwait2)
	define(unix.SYS_FUTEX, "futex", "pii", sysFutex).Restarts(kernel.RestartNoTimeout)
	define(unix.SYS_SET_ROBUST_LIST, "set_robust_list", "pi", sysSetRobustList)
	define(unix.SYS_GET_ROBUST_LIST, "get_robust_list", "ipp", sysGetRobustList)
}

func defineTime() {
	define(unix.SYS_CLOCK_GETTIME, "clock_gettime", "ip", sysClockGettime).Neutral = true
	define(unix.SYS_CLOCK_SETTIME, "clock_settime", "ip", sysClockSettime)
	define(unix.SYS_CLOCK_GETRES, "clock_getres", "ip", sysClockGetres)
	define(unix.SYS_GETTIMEOFDAY, "gettimeofday", "pp", sysGettimeofday).Neutral = true
	define(unix.SYS_TIME, "time", "p", sysTime).Neutral = true
	define(unix.SYS_TIMES, "times", "p", sysTimes).Neutral = true
	define(unix.SYS_NANOSLEEP, "nanosleep", "pp", sysNanosleep).Interrupted = sleepInterrupted
	define(unix.SYS_CLOCK_NANOSLEEP, "clock_nanosleep", "iipp", sysClockNanosleep).Interrupted = sleepInterrupted
	define(unix.SYS_ALARM, "alarm", "i", sysAlarm)
	define(unix.SYS_SETITIMER, "setitimer", "ipp", sysSetitimer)
	define(unix.SYS_GETITIMER, "getitimer", "ip", sysGetitimer)
	define(unix.SYS_TIMER_CREATE, "timer_create", "ipp", sysTimerCreate)
	define(unix.SYS_TIMER_SETTIME, "timer_settime", "iipp", sysTimerSettime)
	define(unix.SYS_TIMER_GETTIME, "timer_gettime", "ip", sysTimerGettime)
	define(unix.SYS_TIMER_GETOVERRUN, "timer_getoverrun", "i", sysTimerGetoverrun)
	define(unix.SYS_TIMER_DELETE, "timer_delete", "i", sysTimerDelete)
	define(unix.SYS_TIMERFD_CREATE, "timerfd_create", "ii", sysTimerfdCreate)
	define(unix.SYS_TIMERFD_SETTIME, "timerfd_settime", "iipp", sysTimerfdSettime)
	define(unix.SYS_TIMERFD_GETTIME, "timerfd_gettime", "ip", sysTimerfdGettime)
	define(unix.SYS_SCHED_YIELD, "sched_yield", "", sysSchedYield).Neutral = true
}

func defineSignals() {
	define(unix.SYS_RT_SIGACTION, "rt_sigaction", "ippi", sysRtSigaction)
	define(unix.SYS_RT_SIGPENDING, "rt_sigpending", "pi", sysRtSigpending)
	define(unix.SYS_RT_SIGSUSPEND, "rt_sigsuspend", "pi", sysRtSigsuspend)
	define(unix.SYS_RT_SIGTIMEDWAIT, "rt_sigtimedwait", "pppi", sysRtSigtimedwait)
	define(unix.SYS_RT_SIGQUEUEINFO, "rt_sigqueueinfo", "iip", sysRtSigqueueinfo)
	define(unix.SYS_RT_TGSIGQUEUEINFO, "rt_tgsigqueueinfo", "iiip", sysRtTgsigqueueinfo)
	define(unix.SYS_PAUSE, "pause", "", sysPause)
	define(unix.SYS_KILL, "kill", "ii", sysKill)
	define(unix.SYS_TKILL, "tkill", "ii", sysTkill)
	define(unix.SYS_TGKILL, "tgkill", "iii", sysTgkill)
	define(unix.SYS_SIGNALFD, "signalfd", "ipi", sysSignalfd)
	define(unix.SYS_SIGNALFD4, "signalfd4", "ipii", sysSignalfd4)
}

func defineProcesses() {
	define(unix.SYS_FORK, "fork", "", sysFork)
	define(unix.SYS_VFORK, "vfork", "", sysVfork)
	define(unix.SYS_CLONE, "clone", "i", sysClone)
	define(unix.SYS_CLONE3, "clone3", "pi", sysClone3)
	define(unix.SYS_EXECVE, "execve", "ppp", sysExecve)
	define(unix.SYS_EXECVEAT, "execveat", "ipppi", sysExecveat)
	define(unix.SYS_EXIT, "exit", "i", sysExit)
	define(unix.SYS_EXIT_GROUP, "exit_group", "i", sysExitGroup)
	define(unix.SYS_WAIT4, "wait4", "ipip", sysWait4).Restarts(kernel.RestartFlag)
	define(unix.SYS_WAITID, "waitid", "iipip", sysWaitid).Restarts(kernel.RestartFlag)
	define(unix.SYS_PIDFD_OPEN, "pidfd_open", "ii", sysPidfdOpen)
	define(unix.SYS_PIDFD_SEND_SIGNAL, "pidfd_send_signal", "iipi", sysPidfdSendSignal)
	define(unix.SYS_SET_TID_ADDRESS, "set_tid_address", "p", sysSetTidAddress)
}

func defineIdentity() {
	for nr, x := range map[int]struct {
		name string
		args string
		h    kernel.Handler
	}{
		unix.SYS_GETPID: {"getpid", "", sysGetpid}, unix.SYS_GETTID: {"gettid", "", sysGettid}, unix.SYS_GETPPID: {"getppid", "", sysGetppid},
		unix.SYS_GETUID: {"getuid", "", forUsers(getReal)}, unix.SYS_GETEUID: {"geteuid", "", forUsers(getEffective)},
		unix.SYS_GETGID: {"getgid", "", forGroups(getReal)}, unix.SYS_GETEGID: {"getegid", "", forGroups(getEffective)},
		unix.SYS_GETRESUID: {"getresuid", "ppp", forUsers(getAll)}, unix.SYS_GETRESGID: {"getresgid", "ppp", forGroups(getAll)},
		unix.SYS_SETUID: {"setuid", "i", forUsers(setOne)}, unix.SYS_SETGID: {"setgid", "i", forGroups(setOne)},
		unix.SYS_SETREUID: {"setreuid", "ii", forUsers(setTwo)}, unix.SYS_SETREGID: {"setregid", "ii", forGroups(setTwo)},
		unix.SYS_SETRESUID: {"setresuid", "iii", forUsers(setAll)}, unix.SYS_SETRESGID: {"setresgid", "iii", forGroups(setAll)},
		unix.SYS_SETFSUID: {"setfsuid", "i", forUsers(setFS)}, unix.SYS_SETFSGID: {"setfsgid", "i", forGroups(setFS)},
		unix.SYS_GETGROUPS: {"getgroups", "ip", sysGetgroups}, unix.SYS_SETGROUPS: {"setgroups", "ip", sysSetgroups},
		unix.SYS_SETPGID: {"setpgid", "ii", sysSetpgid}, unix.SYS_GETPGID: {"getpgid", "i", sysGetpgid}, unix.SYS_GETPGRP: {"getpgrp", "", sysGetpgrp},
		unix.SYS_GETSID: {"getsid", "i", sysGetsid}, unix.SYS_SETSID: {"setsid", "", sysSetsid},
		unix.SYS_UNAME: {"uname", "p", sysUname}, unix.SYS_SETHOSTNAME: {"sethostname", "pi", sysSethostname}, unix.SYS_SYSINFO: {"sysinfo", "p", sysSysinfo},
		unix.SYS_GETCPU: {"getcpu", "pp", sysGetcpu}, unix.SYS_GETRANDOM: {"getrandom", "pii", sysGetrandom},
		unix.SYS_GETRUSAGE: {"getrusage", "ip", sysGetrusage}, unix.SYS_GETRLIMIT: {"getrlimit", "ip", sysGetrlimit},
		unix.SYS_SETRLIMIT: {"setrlimit", "ip", sysSetrlimit}, unix.SYS_PRLIMIT64: {"prlimit64", "iipp", sysPrlimit64},
		unix.SYS_UMASK: {"umask", "i", sysUmask}, unix.SYS_PRCTL: {"prctl", "i", sysPrctl},
		unix.SYS_CAPGET: {"capget", "pp", sysCapget}, unix.SYS_CAPSET: {"capset", "pp", sysCapset},
		unix.SYS_SCHED_GETAFFINITY:  {"sched_getaffinity", "iip", sysSchedGetaffinity},
		unix.SYS_SCHED_SETAFFINITY:  {"sched_setaffinity", "iip", sysSchedSetaffinity},
		unix.SYS_SCHED_GETSCHEDULER: {"sched_getscheduler", "i", sysSchedGetscheduler},
		unix.SYS_SCHED_SETSCHEDULER: {"sched_setscheduler", "iip", sysSchedSetscheduler},
		unix.SYS_SCHED_GETPARAM:     {"sched_getparam", "ip", sysSchedGetparam}, unix.SYS_SCHED_SETPARAM: {"sched_setparam", "ip", sysZero},
		unix.SYS_SCHED_GET_PRIORITY_MAX: {"sched_get_priority_max", "i", schedPriority(99)},
		unix.SYS_SCHED_GET_PRIORITY_MIN: {"sched_get_priority_min", "i", schedPriority(1)},
		unix.SYS_SCHED_RR_GET_INTERVAL:  {"sched_rr_get_interval", "ip", sysSchedRRGetInterval},
		unix.SYS_SCHED_GETATTR:          {"sched_getattr", "ipii", sysSchedGetattr},
		unix.SYS_SCHED_SETATTR:          {"sched_setattr", "ipi", sysSchedSetattr},
		unix.SYS_SETDOMAINNAME:          {"setdomainname", "pi", sysSetdomainname}, unix.SYS_VHANGUP: {"vhangup", "", sysVhangup},
		unix.SYS_ADJTIMEX: {"adjtimex", "p", sysAdjtimex}, unix.SYS_CLOCK_ADJTIME: {"clock_adjtime", "ip", sysClockAdjtime},
		unix.SYS_GETPRIORITY: {"getpriority", "ii", sysGetpriority}, unix.SYS_SETPRIORITY: {"setpriority", "iii", sysSetpriority},
		unix.SYS_IOPRIO_GET: {"ioprio_get", "ii", sysZero}, unix.SYS_IOPRIO_SET: {"ioprio_set", "iii", sysZero},
		unix.SYS_PERSONALITY: {"personality", "i", sysPersonality}, unix.SYS_MEMBARRIER: {"membarrier", "iii", sysMembarrier},
	} {
		define(nr, x.name, x.args, x.h)
	}
}

func defineMemory() {
	define(unix.SYS_MMAP, "mmap", "-iiiii>", sysMmap)
	define(unix.SYS_BRK, "brk", ">", sysBrk)
	define(unix.SYS_MREMAP, "mremap", "-iii>", sysMremap)
	define(unix.SYS_MPROTECT, "mprotect", "-ii", sysMprotect)
	define(unix.SYS_MUNMAP, "munmap", "-i", sysMunmap)
	define(unix.SYS_ARCH_PRCTL, "arch_prctl", "i", sysArchPrctl)
	define(unix.SYS_PKEY_ALLOC, "pkey_alloc", "ii", sysPkeyAlloc)
	define(unix.SYS_PKEY_FREE, "pkey_free", "i", sysPkeyFree)
	define(unix.SYS_PKEY_MPROTECT, "pkey_mprotect", "-iii", sysPkeyMprotect)
	define(unix.SYS_MADVISE, "madvise", "-ii", sysMadvise)
	define(unix.SYS_MSYNC, "msync", "-ii", sysMsync)
	define(unix.SYS_MINCORE, "mincore", "-ip", sysMincore)
	define(unix.SYS_MLOCK, "mlock", "-i", sysZero)
	define(unix.SYS_MLOCK2, "mlock2", "-ii", sysZero)
	define(unix.SYS_MUNLOCK, "munlock", "-i", sysZero)
	define(unix.SYS_MLOCKALL, "mlockall", "i", sysZero)
	define(unix.SYS_MUNLOCKALL, "munlockall", "", sysZero)
	define(unix.SYS_SEMGET, "semget", "iii", sysSemget)
	define(unix.SYS_SEMOP, "semop", "ipi", sysSemop)
	define(unix.SYS_SEMTIMEDOP, "semtimedop", "ipip", sysSemtimedop)
	define(unix.SYS_SEMCTL, "semctl", "iii", sysSemctl)
	define(unix.SYS_MSGGET, "msgget", "ii", sysMsgget)
	define(unix.SYS_MSGSND, "msgsnd", "ipii", sysMsgsnd)
	define(unix.SYS_MSGRCV, "msgrcv", "ipiii", sysMsgrcv)
	define(unix.SYS_MSGCTL, "msgctl", "ii", sysMsgctl)
	define(unix.SYS_SHMGET, "shmget", "iii", sysShmget)
	define(unix.SYS_SHMAT, "shmat", "i-i>", sysShmat)
	define(unix.SYS_SHMDT, "shmdt", "-", sysShmdt)
	define(unix.SYS_SHMCTL, "shmctl", "ii", sysShmctl)
}

// defineRefused has calls that are refused by design: a clear errno, and a line in the run's report. Programs are used to these answers.
func defineRefused() {
	for nr, x := range map[int]struct {
		name string
		e    unix.Errno
	}{
		unix.SYS_IO_URING_SETUP: {"io_uring_setup", unix.ENOSYS}, unix.SYS_IO_URING_ENTER: {"io_uring_enter", unix.ENOSYS},
		unix.SYS_IO_URING_REGISTER: {"io_uring_register", unix.ENOSYS},
		unix.SYS_PERF_EVENT_OPEN:   {"perf_event_open", unix.EACCES}, unix.SYS_BPF: {"bpf", unix.EPERM}, unix.SYS_PTRACE: {"ptrace", unix.EPERM},
		unix.SYS_MOUNT: {"mount", unix.EPERM}, unix.SYS_UMOUNT2: {"umount2", unix.EPERM}, unix.SYS_PIVOT_ROOT: {"pivot_root", unix.EPERM},
		unix.SYS_UNSHARE: {"unshare", unix.EPERM}, unix.SYS_SETNS: {"setns", unix.EPERM}, unix.SYS_REBOOT: {"reboot", unix.EPERM},
		unix.SYS_INIT_MODULE: {"init_module", unix.EPERM}, unix.SYS_FINIT_MODULE: {"finit_module", unix.EPERM},
		unix.SYS_DELETE_MODULE: {"delete_module", unix.EPERM},
		unix.SYS_KEXEC_LOAD:    {"kexec_load", unix.EPERM}, unix.SYS_SWAPON: {"swapon", unix.EPERM}, unix.SYS_SWAPOFF: {"swapoff", unix.EPERM},
		unix.SYS_SECCOMP: {"seccomp", unix.EINVAL}, unix.SYS_PROCESS_VM_READV: {"process_vm_readv", unix.EPERM},
		unix.SYS_PROCESS_VM_WRITEV: {"process_vm_writev", unix.EPERM},
		unix.SYS_SETTIMEOFDAY:      {"settimeofday", unix.EPERM},
		unix.SYS_USERFAULTFD:       {"userfaultfd", unix.EPERM}, unix.SYS_OPEN_BY_HANDLE_AT: {"open_by_handle_at", unix.EPERM},
		unix.SYS_NAME_TO_HANDLE_AT: {"name_to_handle_at", unix.EOPNOTSUPP},
		unix.SYS_FANOTIFY_INIT:     {"fanotify_init", unix.EPERM}, unix.SYS_MODIFY_LDT: {"modify_ldt", unix.ENOSYS},
		unix.SYS_IOPL: {"iopl", unix.EPERM}, unix.SYS_IOPERM: {"ioperm", unix.EPERM},
		unix.SYS_ACCT: {"acct", unix.EPERM}, unix.SYS_SYSLOG: {"syslog", unix.EPERM}, unix.SYS_QUOTACTL: {"quotactl", unix.EPERM},
		unix.SYS_PIDFD_GETFD: {"pidfd_getfd", unix.EPERM}, unix.SYS_KCMP: {"kcmp", unix.EPERM},
		unix.SYS_MBIND: {"mbind", unix.ENOSYS}, unix.SYS_SET_MEMPOLICY: {"set_mempolicy", unix.ENOSYS},
		unix.SYS_GET_MEMPOLICY: {"get_mempolicy", unix.ENOSYS}, unix.SYS_MOVE_PAGES: {"move_pages", unix.ENOSYS},
		unix.SYS_IO_SETUP: {"io_setup", unix.ENOSYS}, unix.SYS_MEMFD_SECRET: {"memfd_secret", unix.ENOSYS},
		unix.SYS_LANDLOCK_CREATE_RULESET: {"landlock_create_ruleset", unix.EOPNOTSUPP},
		unix.SYS_ADD_KEY:                 {"add_key", unix.ENOSYS}, unix.SYS_KEYCTL: {"keyctl", unix.ENOSYS},
		unix.SYS_REQUEST_KEY:      {"request_key", unix.ENOSYS},
		unix.SYS_REMAP_FILE_PAGES: {"remap_file_pages", unix.ENOSYS}, unix.SYS_MQ_OPEN: {"mq_open", unix.ENOSYS},
	} {
		name, e := x.name, x.e
		define(nr, name, "", func(k *Kernel, t *Thread) Result { return k.Refuse(t, name, e) })
	}
	// rseq would show on which CPU a thread runs and when it was preempted; libraries do without it in silence.
	define(unix.SYS_RSEQ, "rseq", "", func(k *Kernel, t *Thread) Result { return fail(unix.ENOSYS) })
}

// mark sets what several calls have in common.
func mark() {
	for _, nr := range []int{
		unix.SYS_READ, unix.SYS_READV, unix.SYS_PREADV2, unix.SYS_WRITE, unix.SYS_WRITEV, unix.SYS_PWRITEV2, unix.SYS_SPLICE,
		unix.SYS_TEE, unix.SYS_VMSPLICE, unix.SYS_SENDFILE,
		unix.SYS_ACCEPT, unix.SYS_ACCEPT4, unix.SYS_CONNECT, unix.SYS_SENDTO, unix.SYS_SENDMSG, unix.SYS_SENDMMSG,
		unix.SYS_RECVFROM, unix.SYS_RECVMSG, unix.SYS_RECVMMSG,
		unix.SYS_EPOLL_WAIT, unix.SYS_EPOLL_PWAIT, unix.SYS_EPOLL_PWAIT2, unix.SYS_FLOCK, unix.SYS_FCNTL,
	} {
		table[nr].Holds = true
	}
	for _, nr := range []int{unix.SYS_READ, unix.SYS_READV, unix.SYS_PREAD64, unix.SYS_PREADV, unix.SYS_WRITE, unix.SYS_WRITEV,
		unix.SYS_PWRITE64, unix.SYS_PWRITEV,
		unix.SYS_SENDTO, unix.SYS_SENDMSG, unix.SYS_SENDMMSG, unix.SYS_RECVFROM, unix.SYS_RECVMSG, unix.SYS_RECVMMSG,
		unix.SYS_SENDFILE, unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_FTRUNCATE} {
		table[nr].Descriptor = true
	}
	for _, nr := range []int{unix.SYS_READ, unix.SYS_READV, unix.SYS_RECVFROM, unix.SYS_RECVMSG, unix.SYS_RECVMMSG} {
		table[nr].Receives = true
	}
	for change, calls := range map[kernel.Changing][]int{
		kernel.ChangesNames: {unix.SYS_OPEN, unix.SYS_OPENAT, unix.SYS_OPENAT2, unix.SYS_CREAT, unix.SYS_RENAME,
			unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_UNLINK, unix.SYS_UNLINKAT,
			unix.SYS_LINK, unix.SYS_LINKAT, unix.SYS_TRUNCATE},
		kernel.ChangesAtPosition: {unix.SYS_WRITE, unix.SYS_WRITEV},
		kernel.ChangesAtOffset:   {unix.SYS_PWRITE64, unix.SYS_PWRITEV, unix.SYS_PWRITEV2},
		kernel.ChangesSize:       {unix.SYS_FTRUNCATE},
		kernel.ChangesDurable:    {unix.SYS_FSYNC, unix.SYS_FDATASYNC},
	} {
		for _, nr := range calls {
			table[nr].Changes = change
		}
	}
	table[unix.SYS_FUTEX].Abandon = futexForget
	for _, nr := range []int{unix.SYS_OPEN, unix.SYS_OPENAT, unix.SYS_OPENAT2, unix.SYS_CREAT} {
		table[nr].Abandon = abandonOpen
	}
	for _, nr := range []int{unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_SYNC, unix.SYS_SYNCFS, unix.SYS_MSYNC} {
		table[nr].Deaf = true
	}
}
