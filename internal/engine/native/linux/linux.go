//go:build linux && amd64

// Package linux is what Linux is beyond the kernel's core: the table of system calls with its handlers (calls.go), a Behaviour for each
// kind of open file in a file of its own (kind.go lists them), /proc and /sys (procfs.go, sysctl.go), the start of programs (process.go)
// and what the world does to a node. It has no state: functions take the Kernel that they act on.
package linux

import (
	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
)

// The types that every handler names.
type (
	Kernel    = kernel.Kernel
	Thread    = kernel.Thread
	Proc      = kernel.Proc
	Node      = kernel.Node
	File      = kernel.File
	Key       = kernel.Key
	Iovec     = kernel.Iovec
	Result    = kernel.Result
	Behaviour = kernel.Behaviour
)

func fail(e unix.Errno) Result { return -Result(e) }

// stored is 0, or EFAULT where the program's memory could not be written.
func stored(ok bool) Result {
	if ok {
		return 0
	}
	return fail(unix.EFAULT)
}
