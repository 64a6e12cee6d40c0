// Package group runs a command in a process group of its own, so that none of its processes outlives it, and keeps a bounded part of its output.
package group

import (
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// endGrace is how long a program may take to end after a TERM.
const endGrace = 2 * time.Second

// Run runs a command of exec.CommandContext in a process group of its own. When its context is done, the group gets a TERM, and
// the command a KILL if it does not end by that; what the command leaves of its group is killed.
func Run(c *exec.Cmd) error {
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

// MaxOutput bounds what Output keeps: so many bytes of the beginning, and of the end.
const MaxOutput = 4 << 10

// Output keeps the beginning and the end of what is written to it.
type Output struct {
	head, tail []byte
	cut        bool // there is more between them
}

func (o *Output) Write(p []byte) (int, error) {
	o.head = append(o.head, p[:min(len(p), MaxOutput-len(o.head))]...)
	o.tail = append(o.tail, p...)
	if len(o.tail) > 2*MaxOutput {
		o.tail, o.cut = slices.Clone(o.tail[len(o.tail)-MaxOutput:]), true
	}
	return len(p), nil
}

// String is all that was written, or the beginning and the end.
func (o *Output) String() string {
	if !o.cut {
		return string(o.tail)
	}
	return string(o.head) + "\n...\n" + string(o.tail[len(o.tail)-MaxOutput:])
}
