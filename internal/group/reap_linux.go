package group

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

func inGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// reap waits for a command's end. What is left of its group is killed while the dead command still holds the group's number,
// which could belong to another process later.
func reap(c *exec.Cmd) error {
	for unix.Waitid(unix.P_PID, c.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
	return c.Wait()
}
