//go:build linux && amd64

package host

import (
	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
)

// passed are the calls that neither block, nor vary from run to run, nor can be the target of a fault: the kernel
// answers them without a stop. Everything else stops and is handled by the engine.
var passed = []uint32{unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK}

// ranged are the calls whose first two arguments are a range of addresses. They are passed where the range ends below the engine's
// pages. Of mmap only what is private and anonymous is passed.
var ranged = []uint32{unix.SYS_MUNMAP, unix.SYS_MPROTECT, unix.SYS_MREMAP, unix.SYS_MADVISE, unix.SYS_MMAP}

// stopping are the calls that stop the thread in any case: their handlers look at its registers or its mask of signals, or make
// it execute calls.
var stopping = []uint32{
	unix.SYS_MMAP, unix.SYS_MREMAP, unix.SYS_MSYNC, unix.SYS_MADVISE, unix.SYS_BRK, unix.SYS_MPROTECT, unix.SYS_MUNMAP, unix.SYS_SHMAT, unix.SYS_SHMDT,
	unix.SYS_CLONE, unix.SYS_CLONE3, unix.SYS_FORK, unix.SYS_VFORK, unix.SYS_EXECVE, unix.SYS_EXECVEAT, unix.SYS_EXIT,
	unix.SYS_RT_SIGSUSPEND, unix.SYS_RT_SIGTIMEDWAIT,
}

// executed are the calls that the engine makes a thread of a world execute. Nothing else is executed for it: even a thread that made
// a call in its name could not write to a file, signal a process, or open a socket. Of openat and execveat only what the engine asks
// for is executed.
var executed = []uint32{
	unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MPROTECT, unix.SYS_MREMAP, unix.SYS_MADVISE, unix.SYS_MSYNC, unix.SYS_MINCORE, unix.SYS_BRK,
	unix.SYS_CLOSE, unix.SYS_CLONE, unix.SYS_EXIT, unix.SYS_RT_SIGACTION,
}

// bases are the questions of arch_prctl(2) for the bases of FS and GS. All others would change how the process runs.
var bases = []uint32{0x1001, 0x1002, 0x1003, 0x1004} // ARCH_SET_GS, ARCH_SET_FS, ARCH_GET_FS, ARCH_GET_GS

const (
	dataNr   = 0
	dataArch = 4
	dataIP   = 8
	dataArgs = 16

	auditArchX8664 = 0xc000003e
	x32Bit         = 0x40000000
)

// filterProgram is a program of the kernel's packet filter while it is written: jumps name labels.
type filterProgram struct {
	code   []unix.SockFilter
	places map[string]int    // of labels
	jumps  map[int][2]string // by instruction: the labels to go to if it is true, and if not; "" is the next instruction
}

func (p *filterProgram) do(code uint16, k uint32) {
	p.code = append(p.code, unix.SockFilter{Code: code, K: k})
}

// load loads a word of struct seccomp_data.
func (p *filterProgram) load(at uint32) { p.do(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, at) }

// low and high load the halves of an argument.
func (p *filterProgram) low(arg uint32)  { p.load(dataArgs + 8*arg) }
func (p *filterProgram) high(arg uint32) { p.load(dataArgs + 8*arg + 4) }

func (p *filterProgram) label(name string) { p.places[name] = len(p.code) }

// when compares what was loaded with k and goes to a label.
func (p *filterProgram) when(compare uint16, k uint32, then, otherwise string) {
	p.jumps[len(p.code)] = [2]string{then, otherwise}
	p.do(unix.BPF_JMP|compare|unix.BPF_K, k)
}

func (p *filterProgram) equal(k uint32, then, otherwise string) {
	p.when(unix.BPF_JEQ, k, then, otherwise)
}

// among goes to a label if what was loaded is one of some values.
func (p *filterProgram) among(values []uint32, then string) {
	for _, v := range values {
		p.equal(v, then, "")
	}
}

func (p *filterProgram) jump(to string) {
	p.jumps[len(p.code)] = [2]string{to, to}
	p.do(unix.BPF_JMP|unix.BPF_JA, 0)
}

func (p *filterProgram) answer(action uint32) { p.do(unix.BPF_RET|unix.BPF_K, action) }

// finish puts distances in the place of labels.
func (p *filterProgram) finish() []unix.SockFilter {
	for at, to := range p.jumps {
		distance := func(label string) int {
			place, ok := p.places[label]
			switch {
			case label == "":
				return 0
			case !ok || place <= at:
				panic("host: a jump of the filter leads nowhere: " + label)
			}
			return place - at - 1
		}
		i := &p.code[at]
		if i.Code == unix.BPF_JMP|unix.BPF_JA {
			i.K = uint32(distance(to[0]))
			continue
		}
		yes, no := distance(to[0]), distance(to[1])
		if yes > 255 || no > 255 {
			panic("host: a jump of the filter is too long")
		}
		i.Jt, i.Jf = uint8(yes), uint8(no)
	}
	return p.code
}

// filter is the seccomp program (seccomp(2)): passed calls, ranged calls away from the engine's pages, and questions for a signal's
// action are allowed, and so is what the engine makes a thread execute. All else is notified, or stops for the tracer. With memory
// set, calls that ask for memory stop as well.
func filter(memory, notify bool) []unix.SockFilter {
	p := &filterProgram{places: map[string]int{}, jumps: map[int][2]string{}}
	p.load(dataArch)
	p.equal(auditArchX8664, "", "trace")
	p.load(dataNr)
	p.among(passed, "allow") // first: the kernel keeps a table of the numbers that are allowed whatever else is true
	if !memory {
		p.equal(unix.SYS_BRK, "allow", "")
	}

	p.load(dataIP + 4)
	p.equal(passIP>>32, "", "program")
	p.load(dataIP)
	p.equal(passIP&(1<<32-1), "", "program")
	p.load(dataNr)
	p.among(executed, "allow")
	p.equal(unix.SYS_OPENAT, "", "executes")
	p.low(2)
	p.do(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, ^uint32(unix.O_RDWR|unix.O_CLOEXEC))
	p.equal(0, "allow", "deny")
	p.label("executes")
	p.equal(unix.SYS_ARCH_PRCTL, "", "executes a program")
	p.low(0)
	p.equal(archCPUID, "allow", "deny")
	p.label("executes a program")
	p.equal(unix.SYS_EXECVEAT, "", "deny")
	p.low(4)
	p.equal(unix.AT_EMPTY_PATH, "allow", "deny")

	p.label("program")
	p.load(dataNr)
	p.among(ranged, "range")
	p.equal(unix.SYS_ARCH_PRCTL, "", "not arch_prctl")
	p.low(0)
	p.among(bases, "allow")
	p.jump("engine")
	p.label("not arch_prctl")
	// prctl: names of anonymous maps are for people alone, and kernels without them answer an error
	p.equal(unix.SYS_PRCTL, "", "not prctl")
	p.low(0)
	p.equal(unix.PR_SET_VMA, "done", "engine")
	p.label("not prctl")
	// rt_sigaction: without a new action, argument 1, it only asks for the present one
	p.equal(unix.SYS_RT_SIGACTION, "", "engine")
	p.low(1)
	p.equal(0, "", "engine")
	p.high(1)
	p.equal(0, "allow", "engine")

	// The end of the range, in two halves.
	p.label("range")
	const low, high = 0, 1 // places of the filter's memory
	p.low(1)
	p.do(unix.BPF_MISC|unix.BPF_TAX, 0)
	p.low(0)
	p.do(unix.BPF_ALU|unix.BPF_ADD|unix.BPF_X, 0)
	p.do(unix.BPF_ST, low)
	p.do(unix.BPF_LD|unix.BPF_IMM, 0)
	p.do(unix.BPF_ST, high)
	p.do(unix.BPF_LD|unix.BPF_MEM, low)
	p.jumps[len(p.code)] = [2]string{"no carry", ""}
	p.do(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_X, 0)
	p.do(unix.BPF_LD|unix.BPF_IMM, 1)
	p.do(unix.BPF_ST, high)
	p.label("no carry")
	p.high(0)
	p.when(unix.BPF_JGT, machine.EngineFrom>>32, "trace", "")
	p.do(unix.BPF_MISC|unix.BPF_TAX, 0)
	p.high(1)
	p.when(unix.BPF_JGT, machine.EngineFrom>>32, "trace", "")
	p.do(unix.BPF_ALU|unix.BPF_ADD|unix.BPF_X, 0)
	p.do(unix.BPF_LDX|unix.BPF_MEM, high)
	p.do(unix.BPF_ALU|unix.BPF_ADD|unix.BPF_X, 0)
	p.when(unix.BPF_JGT, machine.EngineFrom>>32, "trace", "")
	p.equal(machine.EngineFrom>>32, "", "apart")
	p.do(unix.BPF_LD|unix.BPF_MEM, low)
	p.when(unix.BPF_JGT, machine.EngineFrom&(1<<32-1), "trace", "")
	p.label("apart")
	p.load(dataNr)
	p.equal(unix.SYS_MUNMAP, "allow", "")
	p.equal(unix.SYS_MADVISE, "advice", "")
	if memory {
		p.jump("trace")
	}
	p.equal(unix.SYS_MMAP, "", "trace") // mprotect and mremap may be of code

	p.low(3)
	p.do(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, 0xf|unix.MAP_ANONYMOUS|unix.MAP_HUGETLB|machine.Populating)
	p.equal(unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, "code", "trace")
	p.label("code") // calls that make memory executable are noted
	p.low(2)
	p.when(unix.BPF_JSET, unix.PROT_EXEC, "trace", "allow")
	p.label("advice")
	p.low(2)
	p.equal(unix.MADV_DONTNEED, "trace", "") // of code, it drops breakpoints
	p.among(machine.Advice, "allow")
	p.jump("trace")

	p.label("engine")
	if notify {
		p.load(dataNr)
		p.among(stopping, "trace")
		p.answer(unix.SECCOMP_RET_USER_NOTIF)
	}
	p.label("trace")
	p.answer(unix.SECCOMP_RET_TRACE)
	p.label("allow")
	p.answer(unix.SECCOMP_RET_ALLOW)
	p.label("done") // the call is not made, and its result is 0
	p.answer(unix.SECCOMP_RET_ERRNO)
	p.label("deny")
	p.answer(unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM))
	return p.finish()
}
