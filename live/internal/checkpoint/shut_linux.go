//go:build bloodhound_live && linux && amd64

package checkpoint

import (
	"bytes"
	"fmt"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// shutIn takes all from this copy by which it could reach the live process or others. It reports the step that failed, by its place in steps.
func (e *explorers) shutIn() (step byte, err error) {
	if err := endWith(e.parent); err != nil {
		return 1, err
	}
	if err := unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE, Nice: 19}, 0); err != nil {
		return 2, err
	}
	if err := ownMemory(); err != nil {
		return 3, err
	}
	if err := e.bound(); err != nil {
		return 4, err
	}
	if err := e.closeFiles(); err != nil {
		return 5, err
	}
	if err := filter(); err != nil {
		return 6, err
	}
	return 0, nil
}

// bound has the kernel refuse this copy, and its explorers, memory beyond what they may have.
func (e *explorers) bound() error {
	text, err := readAll("/proc/self/statm")
	if err != nil {
		return err
	}
	var pages uint64
	if _, err := fmt.Sscan(string(text), &pages); err != nil {
		return unix.EINVAL
	}
	most := pages*uint64(unix.Getpagesize()) + e.MemoryBytes
	return unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: most, Max: most})
}

// endWith has the kernel end this process when its parent ends.
func endWith(parent int) error {
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return err
	}
	if unix.Getppid() != parent { // it ended before
		return unix.ESRCH
	}
	return nil
}

// ownMemory replaces what this process shares with others by copies that are its own.
func ownMemory() error {
	maps, err := readAll("/proc/self/maps")
	if err != nil {
		return err
	}
	for line := range bytes.Lines(maps) {
		var from, to uintptr
		var rights string
		if _, err := fmt.Sscanf(string(line), "%x-%x %s", &from, &to, &rights); err != nil {
			return unix.EINVAL
		}
		if rights[3] != 's' || rights[1] != 'w' {
			continue
		}
		if err := ownRange(from, to-from); err != nil {
			return err
		}
	}
	return nil
}

// readAll reads a file by system calls alone: package os would show it to the poller of the live process.
func readAll(name string) (all []byte, err error) {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	for buffer := make([]byte, 1<<16); ; {
		n, err := unix.Read(fd, buffer)
		if n <= 0 {
			return all, err
		}
		all = append(all, buffer[:n]...)
	}
}

// ownRange copies a range of shared memory, and puts the copy in its place.
func ownRange(at, bytes uintptr) error {
	own, err := unix.MmapPtr(-1, 0, nil, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return err
	}
	place := *(*unsafe.Pointer)(unsafe.Pointer(&at)) // an address of /proc/self/maps
	copy(unsafe.Slice((*byte)(own), bytes), unsafe.Slice((*byte)(place), bytes))
	_, err = unix.MremapPtr(own, bytes, place, bytes, unix.MREMAP_MAYMOVE|unix.MREMAP_FIXED)
	return err
}

// closeFiles closes all files but the two pipes, which get numbers that no file of the live process had: code of a copy that writes to a file by
// its number finds none. Standard input and outputs are /dev/null.
func (e *explorers) closeFiles() error {
	top, err := highest()
	if err != nil {
		return err
	}
	e.result = top + 3
	for i, fd := range []*int{&e.in, &e.out} {
		if err := unix.Dup3(*fd, top+1+i, unix.O_CLOEXEC); err != nil {
			return err
		}
		*fd = top + 1 + i
	}
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	for fd := range 3 {
		if err := unix.Dup3(null, fd, 0); err != nil {
			return err
		}
	}
	return unix.CloseRange(3, uint(top), 0)
}

// highest is the highest number of an open file.
func highest() (top int, err error) {
	fd, err := unix.Open("/proc/self/fd", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	var names []string
	for buffer := make([]byte, 1<<13); ; {
		n, err := unix.ReadDirent(fd, buffer)
		if err != nil {
			return 0, err
		}
		if n == 0 {
			break
		}
		_, _, names = unix.ParseDirent(buffer[:n], -1, names)
	}
	for _, name := range names {
		n, _ := strconv.Atoi(name)
		top = max(top, n)
	}
	return top, nil
}

// allowed are the calls that a copy may make: those on memory, on the files that it has, which are its pipes, and those by which a checkpoint makes
// explorers and waits for them. It cannot open, connect, map a file, send a signal to another process, start a thread, or read a clock.
var allowed = []uint32{
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_CLOSE, unix.SYS_CLOSE_RANGE, unix.SYS_PPOLL, unix.SYS_PIPE2, unix.SYS_DUP3,
	unix.SYS_MMAP, unix.SYS_MPROTECT, unix.SYS_MUNMAP, unix.SYS_MADVISE, unix.SYS_MREMAP, unix.SYS_BRK,
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK,
	unix.SYS_FUTEX, unix.SYS_SCHED_YIELD, unix.SYS_NANOSLEEP, unix.SYS_GETPID, unix.SYS_GETPPID, unix.SYS_GETTID, unix.SYS_GETRANDOM,
	unix.SYS_WAIT4, unix.SYS_PIDFD_SEND_SIGNAL, unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
}

// cloneFlags are the flags of the only allowed clone.
const cloneFlags = unix.CLONE_PIDFD | uintptr(unix.SIGCHLD)

// filter refuses all calls but the allowed ones, with EPERM.
func filter() error {
	const (
		number, arch, argument = 0, 4, 16 // in struct seccomp_data
		allow, refuse          = 0x7fff0000, 0x00050000 | uint32(unix.EPERM)
	)
	load := func(k uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: k}
	}
	equal := func(k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: yes, Jf: no, K: k}
	}
	give := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	program := []unix.SockFilter{
		load(arch), equal(unix.AUDIT_ARCH_X86_64, 1, 0), give(refuse),
		load(number),
		equal(unix.SYS_CLONE, 0, 4), load(argument), equal(uint32(cloneFlags), 0, 1), give(allow), give(refuse),
		equal(unix.SYS_PRCTL, 0, 4), load(argument), equal(unix.PR_SET_PDEATHSIG, 0, 1), give(allow), give(refuse),
	}
	for _, n := range allowed {
		program = append(program, equal(n, 0, 1), give(allow))
	}
	program = append(program, give(refuse))
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	f := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&f)), 0, 0)
}
