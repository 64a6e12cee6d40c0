//go:build unix

package trial

import (
	"syscall"
	"time"
)

// cpuTime is what this process has computed so far.
func cpuTime() time.Duration { return computed(syscall.RUSAGE_SELF) }

// WorkersCPU is what processes that this one has started, and theirs, had computed when they ended. It is 0 where the system does not count it.
func WorkersCPU() time.Duration { return computed(syscall.RUSAGE_CHILDREN) }

// CPU is what this process and those that it has waited for have computed so far.
func CPU() time.Duration { return cpuTime() + WorkersCPU() }

func computed(who int) time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(who, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
