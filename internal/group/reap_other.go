//go:build !linux

package group

import (
	"os/exec"
	"syscall"
)

func inGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// reap waits for a command's end, and kills what is left of its group.
func reap(c *exec.Cmd) error {
	err := c.Wait()
	syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
	return err
}
