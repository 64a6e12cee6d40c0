package vm

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// QEMU has a thread for the guest's CPU and a main thread. When the CPU has nothing to do, the main thread advances the guest's clock to its
// next timer. It looks for that whenever something wakes it up (icount_start_warp_timer in QEMU's main_loop_wait), also while the CPU executes
// its last instructions before it rests: these are then part of the time twice, and how many they are depends on the host. So a filter of system
// calls (seccomp_unotify(2)) has the main thread ask before it waits for events, and it waits here until the CPU rests.

// mainLoop holds the main threads of all QEMUs of this process back while their CPUs execute.
type mainLoop struct {
	listener int
	mu       sync.Mutex
	threads  map[int]*threads // by the ids of both
}

// threads tracks the threads of one QEMU.
type threads struct {
	loop    *mainLoop
	main    int
	cpu     int
	stat    *os.File // of the CPU's thread
	call    *os.File // the system call in which it is
	held    uint64   // the notification in which the main thread waits, or 0
	through int      // while this is above 0, the main thread passes
	locked  int      // so many looks in a row the CPU's thread has waited for a lock
}

// A thread whose CPU rests waits on a condition variable, which glibc does by the second operation. Locks have the first one.
const (
	futexWait       = 0
	futexWaitBitset = 9
)

// filterMain has the kernel report, to the descriptor that it returns, waits for events and on condition variables. It holds for this thread, and for
// all that it starts.
func filterMain() (listener int, err error) {
	const (
		load       = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal      = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		and        = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
		end        = unix.BPF_RET | unix.BPF_K
		nr, second = 0, 16 + 8 // offsets in struct seccomp_data
	)
	program := []unix.SockFilter{
		{Code: load, K: nr},
		{Code: equal, K: unix.SYS_PPOLL, Jt: 4},
		{Code: equal, K: unix.SYS_FUTEX, Jf: 4},
		{Code: load, K: second},
		{Code: and, K: 0x7f},
		{Code: equal, K: futexWaitBitset, Jf: 1},
		{Code: end, K: unix.SECCOMP_RET_USER_NOTIF},
		{Code: end, K: unix.SECCOMP_RET_ALLOW},
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, err
	}
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return -1, fmt.Errorf("seccomp: %w; QEMU's threads cannot be kept in step (the engine vm needs Linux 5.5 or later)", errno)
	}
	return int(fd), nil
}

func newMainLoop(listener int) *mainLoop {
	l := &mainLoop{listener: listener, threads: map[int]*threads{}}
	go l.serve()
	go l.lookAgain()
	return l
}

// notification is a struct seccomp_notif, reply a struct seccomp_notif_resp.
type notification struct {
	id         uint64
	pid, flags uint32
	nr         int32
	arch       uint32
	ip         uint64
	args       [6]uint64
}

type passage struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

func (l *mainLoop) serve() {
	runtime.LockOSThread()
	for {
		var n notification
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(l.listener), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&n))); errno != 0 {
			continue // the thread that asked has ended, or a signal came
		}
		l.mu.Lock()
		t := l.threads[int(n.pid)]
		switch {
		case t != nil && int(n.pid) == t.cpu:
			l.pass(n.id)
			t.release()
		case t != nil && n.nr == unix.SYS_PPOLL && t.through == 0 && t.state() != rests:
			t.held = n.id
		default:
			l.pass(n.id)
		}
		l.mu.Unlock()
	}
}

// pass lets a thread make the call in which it waits.
func (l *mainLoop) pass(id uint64) {
	p := passage{id: id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	unix.Syscall(unix.SYS_IOCTL, uintptr(l.listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&p)))
}

// lookAgain lets main threads pass whose CPU has come to rest between its notification and the main thread's, or waits for a lock that the
// main thread has: nobody else has one for long.
func (l *mainLoop) lookAgain() {
	const (
		pause = 2 * time.Millisecond
		long  = 50
	)
	for range time.Tick(pause) {
		l.mu.Lock()
		for _, t := range l.threads {
			if t.held == 0 {
				continue
			}
			state := t.state()
			if state == locks {
				t.locked++
			} else {
				t.locked = 0
			}
			if state == rests || t.locked > long {
				t.release()
			}
		}
		l.mu.Unlock()
	}
}

// add begins to hold back the main thread of a QEMU whose CPU has the thread cpu.
func (l *mainLoop) add(main, cpu int) (*threads, error) {
	stat, err := os.Open(fmt.Sprintf("/proc/%d/task/%d/stat", main, cpu))
	if err != nil {
		return nil, err
	}
	call, err := os.Open(fmt.Sprintf("/proc/%d/task/%d/syscall", main, cpu))
	if err != nil {
		stat.Close()
		return nil, err
	}
	t := &threads{loop: l, main: main, cpu: cpu, stat: stat, call: call}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.threads[main], l.threads[cpu] = t, t
	return t, nil
}

// remove ends that, after the QEMU has ended.
func (t *threads) remove() {
	t.loop.mu.Lock()
	defer t.loop.mu.Unlock()
	delete(t.loop.threads, t.main)
	delete(t.loop.threads, t.cpu)
	t.stat.Close()
	t.call.Close()
}

// The states of a CPU's thread.
const (
	runs = iota
	locks
	rests
)

// state reads the state of the CPU's thread: it runs, waits for a lock, or rests, waiting on its condition variable
// (proc_pid_syscall(5)). Only the main thread ends a rest. A thread that was woken but has no CPU of this machine yet
// still shows the call in which it rested, but no longer sleeps (proc_pid_stat(5)).
func (t *threads) state() int {
	var text [512]byte
	n, err := t.stat.ReadAt(text[:], 0)
	if n == 0 && err != nil {
		return rests // it has ended
	}
	_, rest, _ := bytes.Cut(text[:n], []byte(") "))
	if !bytes.HasPrefix(rest, []byte("S")) {
		return runs
	}
	n, err = t.call.ReadAt(text[:], 0)
	if n == 0 && err != nil {
		return rests
	}
	fields := bytes.Fields(text[:n])
	if len(fields) < 3 || string(fields[0]) != strconv.Itoa(unix.SYS_FUTEX) {
		return runs
	}
	operation, err := strconv.ParseUint(string(bytes.TrimPrefix(fields[2], []byte("0x"))), 16, 64)
	switch {
	case err == nil && operation&0x7f == futexWaitBitset:
		return rests
	case err == nil && operation&0x7f == futexWait:
		return locks
	}
	return runs
}

func (t *threads) release() {
	if t.held != 0 {
		t.loop.pass(t.held)
		t.held, t.locked = 0, 0
	}
}

// letThrough lets the main thread pass, until the function that it returns is called.
func (t *threads) letThrough() (end func()) {
	l := t.loop
	l.mu.Lock()
	defer l.mu.Unlock()
	t.through++
	t.release()
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		t.through--
	}
}
