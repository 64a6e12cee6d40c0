package cli

import (
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// endGrace is how long a program may take to end after a TERM.
const endGrace = 2 * time.Second

// runGroup runs a command of exec.CommandContext in a process group of its own. When its context is done, the group gets a TERM, and the command a KILL if it does not
// end by that; what the command leaves of its group is killed.
func runGroup(c *exec.Cmd) error {
	runtime.LockOSThread() // a command that ends with this program ends with the thread that has started it
	defer runtime.UnlockOSThread()
	c.SysProcAttr = inGroup()
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGTERM) }
	c.WaitDelay = endGrace
	if err := c.Start(); err != nil {
		return err
	}
	return reap(c)
}
