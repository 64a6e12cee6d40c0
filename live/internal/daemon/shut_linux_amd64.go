package daemon

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sharedMemory is memory of the daemon that others can see. A page that cannot be read is not in it.
type sharedMemory struct {
	mapping
	pages map[uint64][]byte // by address
}

// readShared copies the shared memory of the daemon, while it stands still.
func readShared(pid int, maps []mapping) (list []sharedMemory, err error) {
	var sum uint64
	for _, m := range maps {
		if m.rights[3] != 's' {
			continue
		}
		if sum += m.to - m.from; sum > maxSharedBytes {
			return nil, fmt.Errorf("process %d shares more than %d MiB of memory with others, which would be "+
				"copied while it is paused: start it with less",
				pid, maxSharedBytes>>20)
		}
		s := sharedMemory{mapping: m, pages: map[uint64][]byte{}}
		if m.rights[0] == 'r' {
			whole := make([]byte, m.to-m.from)
			if readMemory(pid, m.from, whole) == nil {
				s.pages[m.from] = whole
			} else { // the file may be shorter than what is mapped
				for at := m.from; at < m.to; at += pageBytes {
					page := make([]byte, pageBytes)
					if readMemory(pid, at, page) == nil {
						s.pages[at] = page
					}
				}
			}
		}
		list = append(list, s)
	}
	return list, nil
}

const pageBytes = 4096

// shutIn takes all from the copy by which it could reach the daemon or others.
func (c *Checkpoint) shutIn(d *Daemon, shared []sharedMemory) error {
	g := &c.gate
	must := func(number uint64, args ...uint64) (result uint64, err error) {
		if result, err = g.call(number, args...); err != nil {
			err = fmt.Errorf("call %d %x: %w", number, args, err)
		}
		return result, err
	}
	if _, err := must(unix.SYS_CLOSE_RANGE, 0, uint64(^uint32(0)), 0); err != nil {
		return err
	}
	if _, err := must(unix.SYS_SETSID); err != nil {
		return err
	}
	for i := range shared {
		if err := c.ownMemory(&shared[i], must); err != nil {
			return err
		}
	}
	if err := patch(c.PID, &d.vdso); err != nil {
		return err
	}
	if err := c.limit(); err != nil {
		return err
	}
	if err := c.filter(must); err != nil {
		return err
	}
	// A copy is the first that the kernel ends when memory runs out. This is of no use where the kernel does not allow it.
	os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", c.PID), []byte("1000"), 0)
	return unix.Setpriority(unix.PRIO_PROCESS, c.PID, 19)
}

// ownMemory puts a copy of shared memory in its place.
func (c *Checkpoint) ownMemory(s *sharedMemory, must func(uint64, ...uint64) (uint64, error)) error {
	length := s.to - s.from
	if _, err := must(unix.SYS_MMAP, s.from, length, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_FIXED|unix.MAP_NORESERVE, ^uint64(0), 0); err != nil {
		return err
	}
	for at, page := range s.pages {
		if err := writeMemory(c.PID, at, page); err != nil {
			return err
		}
	}
	protection := uint64(0)
	for i, p := range []uint64{unix.PROT_READ, unix.PROT_WRITE, unix.PROT_EXEC} {
		if s.rights[i] != '-' {
			protection |= p
		}
	}
	_, err := must(unix.SYS_MPROTECT, s.from, length, protection)
	return err
}

// clocks are the functions of the vDSO, and the calls that do the same.
var clocks = map[string]uint32{
	"clock_gettime": unix.SYS_CLOCK_GETTIME, "gettimeofday": unix.SYS_GETTIMEOFDAY, "time": unix.SYS_TIME,
	"clock_getres": unix.SYS_CLOCK_GETRES, "getcpu": unix.SYS_GETCPU, "getrandom": unix.SYS_GETRANDOM,
}

// patch has the functions of a copy's vDSO make system calls, which are answered, where they read clocks by themselves.
func patch(pid int, v *vdso) error {
	for name, at := range v.functions {
		number, ok := clocks[strings.TrimPrefix(name, "__vdso_")]
		code := []byte{0xb8, 0, 0, 0, 0, 0x0f, 0x05, 0xc3} // mov $number,%eax; syscall; ret
		if !ok {
			number = ^uint32(0) // ENOSYS
		}
		code[1], code[2], code[3], code[4] = byte(number), byte(number>>8), byte(number>>16), byte(number>>24)
		if _, err := unix.PtracePokeText(pid, uintptr(at), code); err != nil {
			return fmt.Errorf("cannot replace the vDSO's %s: %w", name, err)
		}
	}
	return nil
}

// limit bounds the memory of a copy. It leaves no core file.
func (c *Checkpoint) limit() error {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", c.PID))
	if err != nil {
		return err
	}
	var pages uint64
	if _, err := fmt.Sscan(string(text), &pages); err != nil {
		return err
	}
	var limit unix.Rlimit
	if err := unix.Prlimit(c.PID, unix.RLIMIT_AS, nil, &limit); err != nil {
		return err
	}
	most := min(limit.Max, pages*pageBytes+growthBytes)
	return errors.Join(
		unix.Prlimit(c.PID, unix.RLIMIT_AS, &unix.Rlimit{Cur: most, Max: most}, nil),
		unix.Prlimit(c.PID, unix.RLIMIT_CORE, &unix.Rlimit{}, nil))
}

// own are the calls that a copy makes without being stopped: those on its own registers, signals and identity. Calls on memory are checked further.
var own = []uint32{
	unix.SYS_MUNMAP, unix.SYS_MPROTECT, unix.SYS_BRK,
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK,
	unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ, unix.SYS_SCHED_YIELD,
	unix.SYS_GETUID, unix.SYS_GETEUID, unix.SYS_GETGID, unix.SYS_GETEGID, unix.SYS_GETRESUID, unix.SYS_GETRESGID, unix.SYS_GETGROUPS, unix.SYS_UNAME,
}

// Of mmap(2) a copy may use anonymous memory of its own; flags that take memory from the machine, as huge and locked pages do, are not among them.
const (
	mapNeeds  = unix.MAP_PRIVATE | unix.MAP_ANONYMOUS
	mapAllows = mapNeeds | unix.MAP_FIXED | unix.MAP_FIXED_NOREPLACE | unix.MAP_NORESERVE | unix.MAP_STACK |
		unix.MAP_GROWSDOWN | unix.MAP_DENYWRITE | unix.MAP_POPULATE
)

// advice lists the advice that a copy may give to madvise(2): none affects pages that it shares with the daemon.
var advice = []uint32{unix.MADV_NORMAL, unix.MADV_RANDOM, unix.MADV_SEQUENTIAL, unix.MADV_DONTNEED, unix.MADV_FREE,
	unix.MADV_HUGEPAGE, unix.MADV_NOHUGEPAGE, unix.MADV_DONTDUMP, unix.MADV_DODUMP}

// instructions are the filter of a copy's calls: own ones are made, those of another instruction set end the copy, and all others stop it.
func instructions() []unix.SockFilter {
	const (
		number, arch, argument = 0, 4, 16 // in struct seccomp_data
		allow, stop, kill      = 0x7fff0000, 0x7ff00000, 0x80000000
	)
	load := func(k uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: k}
	}
	jump := func(how uint16, k uint32, yes, no int) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | how | unix.BPF_K, Jt: uint8(yes), Jf: uint8(no), K: k}
	}
	mask := func(k uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: k}
	}
	give := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	p := []unix.SockFilter{load(arch), jump(unix.BPF_JEQ, unix.AUDIT_ARCH_X86_64, 1, 0), give(kill), load(number)}
	for _, n := range own {
		p = append(p, jump(unix.BPF_JEQ, n, 0, 1), give(allow))
	}
	disallowed := uint32(0xffffffff) &^ uint32(mapAllows)
	p = append(p, jump(unix.BPF_JEQ, unix.SYS_MMAP, 0, 7),
		load(argument+3*8), mask(mapNeeds), jump(unix.BPF_JEQ, mapNeeds, 0, 3),
		load(argument+3*8), jump(unix.BPF_JSET, disallowed, 1, 0), give(allow), give(stop))
	p = append(p, jump(unix.BPF_JEQ, unix.SYS_MREMAP, 0, 1), give(allow))
	p = append(p, jump(unix.BPF_JEQ, unix.SYS_MADVISE, 1, 0), give(stop), load(argument+2*8))
	for _, a := range advice {
		p = append(p, jump(unix.BPF_JEQ, a, 0, 1), give(allow))
	}
	return append(p, give(stop))
}

// filter has the copy and all its explorers stop at calls that are not their own.
func (c *Checkpoint) filter(must func(uint64, ...uint64) (uint64, error)) error {
	page, err := must(unix.SYS_MMAP, 0, pageBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, ^uint64(0), 0)
	if err != nil {
		return err
	}
	p := instructions()
	code := unsafe.Slice((*byte)(unsafe.Pointer(&p[0])), len(p)*int(unsafe.Sizeof(p[0])))
	head := make([]byte, 16) // struct sock_fprog
	le.PutUint16(head, uint16(len(p)))
	le.PutUint64(head[8:], page+uint64(len(head)))
	if err := writeMemory(c.PID, page, append(head, code...)); err != nil {
		return err
	}
	if _, err := must(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1); err != nil {
		return err
	}
	if _, err := must(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, page); err != nil {
		return err
	}
	_, err = must(unix.SYS_MUNMAP, page, pageBytes)
	return err
}
