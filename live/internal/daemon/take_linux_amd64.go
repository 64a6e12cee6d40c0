package daemon

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Checkpoint is a copy of a daemon that stands still, and is forked for each list of inputs.
type Checkpoint struct {
	PID    int           // of the copy
	Paused time.Duration // for how long the daemon stood still

	daemon int // the process id that the copy believes to have
	start  unix.PtraceRegs
	mask   uint64
	gate   gate
	files  map[int]*file
	clock  clock

	lock sync.Mutex // one call at a time
	work chan func()
	over bool
}

// TakeCheckpoint makes a checkpoint. The daemon stands still for as long as a fork takes, and goes on as if nothing had happened.
func (d *Daemon) TakeCheckpoint() (*Checkpoint, error) {
	if err := check(d.PID); err != nil {
		return nil, err
	}
	known, err := status(d.PID)
	if err != nil {
		return nil, err
	}
	if b, err := born(d.PID); err != nil || b != d.born {
		return nil, fmt.Errorf("process %d is no longer the same process: attach to the daemon again", d.PID)
	}
	c := &Checkpoint{daemon: inNamespace(known), work: make(chan func())}
	taken := make(chan error)
	go func() {
		// Only the thread that traces a process can use it. It ends with this goroutine, and the kernel ends the copies with it.
		runtime.LockOSThread()
		taken <- c.captureDaemon(d)
		for f := range c.work {
			f()
		}
	}()
	if err := <-taken; err != nil {
		close(c.work)
		return nil, err
	}
	return c, nil
}

// do has the tracing thread do something.
func (c *Checkpoint) do(f func() error) error {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.over {
		return ErrEnded
	}
	done := make(chan error)
	c.work <- func() { done <- f() }
	return <-done
}

// Close ends the checkpoint. It is no error that it was killed before.
func (c *Checkpoint) Close() error {
	err := c.do(c.kill)
	if err == ErrEnded {
		return nil
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	if !c.over {
		c.over = true
		close(c.work)
	}
	return err
}

// kill ends the copy.
func (c *Checkpoint) kill() error {
	for !c.gate.over {
		if err := unix.Kill(c.PID, unix.SIGKILL); err != nil {
			return err
		}
		s, _, err := wait(c.PID)
		if err != nil {
			return err
		}
		c.gate.over = !s.Stopped()
	}
	return nil
}

// Files are the open files of the daemon at the checkpoint.
func (c *Checkpoint) Files() []File { return list(c.files) }

func list(files map[int]*file) (list []File) {
	for _, fd := range slices.Sorted(maps.Keys(files)) {
		f := files[fd]
		list = append(list, File{FD: fd, Name: f.name, Peer: f.peer, Listen: f.listen})
	}
	return list
}

func (c *Checkpoint) captureDaemon(d *Daemon) error {
	var regs unix.PtraceRegs
	shared, err := c.copy(d, &regs)
	if c.PID == 0 {
		return err
	}
	c.start = regs
	if restarts(&regs) {
		c.start.Rip -= 2
		c.start.Rax = number(c.PID, &regs)
	}
	c.start.Orig_rax = noCall
	c.gate = gate{pid: c.PID, at: d.code.gate, regs: c.start}
	if err == nil {
		err = c.shutIn(d, shared)
	}
	if err == nil {
		err = resolve(d.PID, c.files)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("cannot isolate the copy of process %d: %w", d.PID, err), c.kill())
	}
	return nil
}

// copy has the daemon fork, and lets it go. The copy is no child of the daemon, which could see it: the daemon makes a process that has its memory,
// that process makes the copy and ends, and the daemon reaps it; none of the two can be waited for by a call of the daemon's own code.
func (c *Checkpoint) copy(d *Daemon, own *unix.PtraceRegs) (list []sharedMemory, err error) {
	if err := d.stop(own); err != nil {
		return nil, err
	}
	stopped := time.Now()
	detach := func(err error) ([]sharedMemory, error) { return nil, errors.Join(err, unix.PtraceDetach(d.PID)) }
	if err := hasOneThread(d.PID); err != nil { // it may have started a thread since it was checked
		return detach(err)
	}
	if err := d.code.check(d.PID); err != nil {
		return detach(err)
	}
	maps, err := readMaps(d.PID)
	if err != nil {
		return detach(err)
	}
	if c.files, err = readFiles(d.PID); err != nil {
		return detach(err)
	}
	if err := readSockets(d.PID, c.files); err != nil {
		return detach(err)
	}
	if list, err = readShared(d.PID, maps); err != nil {
		return detach(err)
	}
	if err := c.clock.read(); err != nil {
		return detach(err)
	}
	if c.mask, err = mask(d.PID); err != nil {
		return detach(err)
	}
	way, err := newWayHome(d.PID, d.code, maps, own, c.mask)
	if err != nil {
		return detach(err)
	}
	g := gate{pid: d.PID, at: d.code.gate, regs: *own}
	if err = way.leave(d.PID, own); err == nil {
		err = c.fork(&g, way)
	}
	if err != nil {
		err = fmt.Errorf("process %d cannot fork: %w", d.PID, err)
	}
	resumed := *own
	resume(d.PID, &resumed, c.mask)
	err = errors.Join(err, way.arrive(d.PID, &resumed, c.mask))
	signal := 0
	for i, s := range g.signals {
		if i == 0 {
			signal = int(s)
		} else {
			unix.Kill(d.PID, s)
		}
	}
	err = errors.Join(err, ptrace(unix.PTRACE_DETACH, d.PID, 0, uintptr(signal)))
	c.Paused = time.Since(stopped)
	if c.PID != 0 {
		err = errors.Join(err, writeMemory(c.PID, way.at, way.was))
	}
	return list, err
}

func (c *Checkpoint) fork(g *gate, way *wayHome) error {
	g.regs.Rsp = way.home
	if _, err := g.call(unix.SYS_PRCTL, unix.PR_GET_CHILD_SUBREAPER, way.scratch); err != nil {
		return err
	}
	var reaper [4]byte
	if err := readMemory(g.pid, way.scratch, reaper[:]); err != nil {
		return err
	}
	if le.Uint32(reaper[:]) != 0 {
		return errors.New("it adopts the children of its children, and would adopt its copy (PR_SET_CHILD_SUBREAPER)")
	}
	// The daemon waits in the kernel until the helper has ended: were both to run, the daemon could overwrite the stack of the helper.
	g.made = func(helper int) error { return c.help(helper, g, way) }
	g.regs.Rsp = way.reap
	const flags = unix.CLONE_VM | unix.CLONE_VFORK | unix.CLONE_FILES | unix.CLONE_FS | unix.CLONE_PARENT_SETTID
	helper, err := g.call(unix.SYS_CLONE, flags, way.exit, way.child)
	g.regs.Rsp = way.home
	if helper != 0 {
		_, reaped := g.call(unix.SYS_WAIT4, helper, 0, unix.WALL, 0)
		err = errors.Join(err, reaped)
	}
	return err
}

// help has the process between daemon and copy make the copy, and end.
func (c *Checkpoint) help(pid int, g *gate, way *wayHome) error {
	if err := first(pid); err != nil {
		return err
	}
	h := gate{pid: pid, at: g.at, regs: g.regs, made: func(copy int) error {
		if err := first(copy); err != nil {
			return err
		}
		c.PID = copy
		return unix.PtraceSetOptions(copy, traceCopy)
	}}
	h.regs.Rsp = way.exit
	_, err := h.call(unix.SYS_CLONE, uint64(unix.SIGCHLD), way.exit)
	if _, gone := h.call(unix.SYS_EXIT, 0); !errors.Is(gone, ErrEnded) {
		err = errors.Join(err, fmt.Errorf("the process between daemon and copy did not end: %w", gone))
	}
	return err
}

// Errors of the kernel's own, for calls that a signal has interrupted and that are restarted (include/linux/errno.h).
const (
	restartSystem, restartNoInterrupt, restartNoHandler, restartBlock = 512, 513, 514, 516
)

// restarts reports whether a process is stopped in a call that it makes again.
func restarts(r *unix.PtraceRegs) bool {
	if int64(r.Orig_rax) < 0 {
		return false
	}
	switch -int64(r.Rax) {
	case restartSystem, restartNoInterrupt, restartNoHandler, restartBlock:
		return true
	case int64(unix.EINTR):
		return interrupts(r.Orig_rax)
	}
	return false
}

// number is the call that a process makes again. The kernel may have restarted it before, under the number of restart_syscall(2): then the
// instruction before has the number that the program gave (mov $number,%eax), as the C library's functions do. Without, the number stays that of
// restart_syscall, which an explorer finds interrupted.
func number(pid int, r *unix.PtraceRegs) uint64 {
	const move = 0xb8
	var code [7]byte
	if r.Orig_rax == unix.SYS_RESTART_SYSCALL && readMemory(pid, r.Rip-uint64(len(code)), code[:]) == nil && code[0] == move {
		return uint64(le.Uint32(code[1:]))
	}
	return r.Orig_rax
}

// interrupts reports whether a call fails with EINTR when a process is stopped and goes on, without a signal (signal(7)).
func interrupts(number uint64) bool {
	switch number {
	case unix.SYS_EPOLL_WAIT, unix.SYS_EPOLL_PWAIT, unix.SYS_EPOLL_PWAIT2, unix.SYS_RT_SIGTIMEDWAIT, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP:
		return true
	}
	return false
}

// resume has the kernel restart a call that only the stop has interrupted, unless a signal is pending that the daemon gets (blocked are those that it
// does not).
func resume(pid int, r *unix.PtraceRegs, blocked uint64) {
	if !restarts(r) || -int64(r.Rax) != int64(unix.EINTR) || pending(pid)&^blocked != 0 {
		return
	}
	r.Rax = ^uint64(restartNoInterrupt - 1)
}

// pending is the set of signals that wait for a process.
func pending(pid int) uint64 {
	s, err := status(pid)
	if err != nil {
		return ^uint64(0)
	}
	return signals(s["SigPnd"]) | signals(s["ShdPnd"])
}

// signals reads a set of /proc/PID/status.
func signals(hex string) uint64 {
	set, err := strconv.ParseUint(hex, 16, 64)
	if err != nil {
		return ^uint64(0)
	}
	return set
}
