package explore

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// isolate puts a worker into a process group of its own, so that a Ctrl-C on the terminal reaches us alone, and has
// the kernel kill it when we die.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// kill kills a worker and all of its process group.
func kill(cmd *exec.Cmd) {
	if cmd.Process != nil {
		unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
	}
}

// reap waits for a worker's end. What is left of its process group is killed while the dead worker still holds the
// group's number, which could belong to another process later.
func reap(cmd *exec.Cmd) {
	for unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	kill(cmd)
	cmd.Wait()
}

type start struct {
	cmd  *exec.Cmd
	cpu  int
	done chan error
}

var (
	starterOnce sync.Once
	starts      = make(chan start)
)

// starter starts all workers from one thread that lives as long as the program: Pdeathsig watches the thread that
// forked, not the process, and the CPU of a child is that of the thread that forked it.
func starter() {
	runtime.LockOSThread()
	var all unix.CPUSet
	known := unix.SchedGetaffinity(0, &all) == nil
	for s := range starts {
		pinned := false
		if known && s.cpu >= 0 {
			var one unix.CPUSet
			one.Set(s.cpu)
			pinned = unix.SchedSetaffinity(0, &one) == nil
		}
		err := s.cmd.Start()
		if pinned {
			unix.SchedSetaffinity(0, &all)
		}
		s.done <- err
	}
}

func startPinned(cmd *exec.Cmd, cpu int) error {
	starterOnce.Do(func() { go starter() })
	s := start{cmd, cpu, make(chan error)}
	starts <- s
	return <-s.done
}
