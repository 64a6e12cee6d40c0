package daemon

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Events of ptrace(2), which are the third byte of a status.
const (
	eventFork, eventVfork, eventClone = unix.PTRACE_EVENT_FORK, unix.PTRACE_EVENT_VFORK, unix.PTRACE_EVENT_CLONE
	eventStop                         = unix.PTRACE_EVENT_STOP
	eventSeccomp                      = unix.PTRACE_EVENT_SECCOMP
)

// Options of ptrace(2): of the daemon, whose forks are traced from their first instruction, and of copies, which end with their tracer.
const (
	traceDaemon = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK
	traceCopy   = traceDaemon | unix.PTRACE_O_TRACESECCOMP | unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_EXITKILL
)

// noCall is the number of a call when there is none: the kernel does not restart what was interrupted (orig_rax).
const noCall = ^uint64(0)

func event(s unix.WaitStatus) int { return int(s) >> 16 }

// wait waits for a tracee to stop or end.
func wait(pid int) (s unix.WaitStatus, usage unix.Rusage, err error) {
	for {
		_, err = unix.Wait4(pid, &s, unix.WALL, &usage)
		if err != unix.EINTR {
			return s, usage, err
		}
	}
}

// ended is the error of a tracee that ended while it was worked on.
func ended(pid int, s unix.WaitStatus) error {
	return fmt.Errorf("process %d has ended (status %#x): %w", pid, uint32(s), ErrEnded)
}

func ptrace(request, pid int, address, data uintptr) error {
	if _, _, errno := unix.RawSyscall6(unix.SYS_PTRACE, uintptr(request), uintptr(pid), address, data, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// mask reads the blocked signals of a stopped tracee.
func mask(pid int) (set uint64, err error) {
	_, _, errno := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_GETSIGMASK, uintptr(pid), 8, uintptr(unsafe.Pointer(&set)), 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return set, nil
}

func setMask(pid int, set uint64) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_SETSIGMASK, uintptr(pid), 8, uintptr(unsafe.Pointer(&set)), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// gate is a stopped tracee that executes calls for this process. Its registers are lost: who needs them restores them.
type gate struct {
	pid     int
	at      uint64                // an instruction `syscall`
	regs    unix.PtraceRegs       // of calls, but for their arguments
	made    func(child int) error // is called when a call has made a process, before the call ends
	signals []unix.Signal
	over    bool // it has ended, and its number may be another process's
}

// call has the tracee execute a call, and returns its result, or its error.
//
// It does not step by instructions (PTRACE_SINGLESTEP): the kernel leaves the flag for that set in a tracee whose tracer is killed.
func (g *gate) call(number uint64, args ...uint64) (uint64, error) {
	r := g.regs
	r.Rip, r.Rax, r.Orig_rax = g.at, number, noCall
	for i, p := range []*uint64{&r.Rdi, &r.Rsi, &r.Rdx, &r.R10, &r.R8, &r.R9} {
		*p = 0
		if i < len(args) {
			*p = args[i]
		}
	}
	if err := unix.PtraceSetRegs(g.pid, &r); err == unix.ESRCH { // it was killed
		return 0, ErrEnded
	} else if err != nil {
		return 0, err
	}
	var failed error
	for inside := false; ; {
		if err := ptrace(unix.PTRACE_SYSCALL, g.pid, 0, 0); err != nil && err != unix.ESRCH {
			return 0, err
		}
		s, _, err := wait(g.pid)
		if err != nil {
			return 0, err
		}
		if !s.Stopped() {
			g.over = true
			return 0, ended(g.pid, s)
		}
		switch e := event(s); {
		case e == eventClone || e == eventFork || e == eventVfork:
			child, err := unix.PtraceGetEventMsg(g.pid)
			if err == nil {
				err = g.made(int(child))
			}
			failed = errors.Join(failed, err)
		case e == 0 && s.StopSignal() == unix.SIGTRAP|0x80:
			if inside = !inside; inside {
				continue
			}
			if err := unix.PtraceGetRegs(g.pid, &r); err != nil {
				return 0, err
			}
			code := int64(r.Rax)
			switch {
			case restarts(&r): // a signal that cannot be blocked
			case code < 0 && code > -4096:
				return 0, errors.Join(failed, unix.Errno(-code))
			default:
				return r.Rax, failed
			}
		case e == 0: // a signal that cannot be blocked
			g.signals = append(g.signals, s.StopSignal())
		}
	}
}

// first waits for the first stop of a process that a tracee has made.
func first(pid int) error {
	s, _, err := wait(pid)
	if err == nil && !s.Stopped() {
		err = ended(pid, s)
	}
	return err
}

// patience is how long a daemon may take to stop: a call that cannot be interrupted, of a disk say, may take seconds.
const patience = 5 * time.Second

// stop stops the daemon between two instructions, and not in the vDSO, whose code copies have in another form. When it is an error, the end of the
// calling thread lets the daemon go.
func (d *Daemon) stop(regs *unix.PtraceRegs) error {
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if err := ptrace(unix.PTRACE_SEIZE, d.PID, 0, traceDaemon); err != nil {
			return mayNotTrace(d.PID, err)
		}
		if err := unix.PtraceInterrupt(d.PID); err != nil {
			return err
		}
		if err := d.interrupted(deadline); err != nil {
			return err
		}
		if err := unix.PtraceGetRegs(d.PID, regs); err != nil {
			return err
		}
		if !d.vdso.has(regs.Rip) {
			return nil
		}
		if err := unix.PtraceDetach(d.PID); err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("process %d is always reading the clock: try again", d.PID)
		}
	}
}

// interrupted waits for the stop that was asked for. Signals that come before it are delivered.
func (d *Daemon) interrupted(deadline time.Time) error {
	for {
		var s unix.WaitStatus
		pid, err := unix.Wait4(d.PID, &s, unix.WALL|unix.WNOHANG, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return err
		case pid == 0:
			if time.Now().After(deadline) {
				return fmt.Errorf("process %d did not stop within %v, because it is in a call that cannot be "+
					"interrupted: try again later", d.PID, patience)
			}
			time.Sleep(20 * time.Microsecond)
		case !s.Stopped():
			return ended(d.PID, s)
		case event(s) == eventStop:
			return nil
		case event(s) != 0: // it forks on its own: its child is none of ours
			child, err := unix.PtraceGetEventMsg(d.PID)
			if err != nil {
				return err
			}
			if _, _, err := wait(int(child)); err != nil {
				return err
			}
			if err := unix.PtraceDetach(int(child)); err != nil {
				return err
			}
			if err := unix.PtraceCont(d.PID, 0); err != nil {
				return err
			}
		default:
			if err := unix.PtraceCont(d.PID, int(s.StopSignal())); err != nil {
				return err
			}
		}
	}
}

// readMemory reads memory of a process.
func readMemory(pid int, from uint64, into []byte) error {
	for len(into) > 0 {
		local := []unix.Iovec{{Base: &into[0]}}
		local[0].SetLen(len(into))
		n, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: uintptr(from), Len: len(into)}}, 0)
		if err != nil {
			return err
		}
		if n == 0 {
			return unix.EFAULT
		}
		into, from = into[n:], from+uint64(n)
	}
	return nil
}

// writeMemory writes memory of a process where the process may write it.
func writeMemory(pid int, to uint64, data []byte) error {
	for len(data) > 0 {
		local := []unix.Iovec{{Base: &data[0]}}
		local[0].SetLen(len(data))
		n, err := unix.ProcessVMWritev(pid, local, []unix.RemoteIovec{{Base: uintptr(to), Len: len(data)}}, 0)
		if err != nil {
			return err
		}
		if n == 0 {
			return unix.EFAULT
		}
		data, to = data[n:], to+uint64(n)
	}
	return nil
}
