//go:build unix

package cpus

import (
	"syscall"
	"time"
)

// UsedHere is the CPU time of this process so far (getrusage(2)). It is 0 where the system does not count it, as the others are.
func UsedHere() time.Duration { return used(syscall.RUSAGE_SELF) }

// UsedByChildren is the CPU time of the processes that this one has started, and theirs, which have ended and were waited for.
func UsedByChildren() time.Duration { return used(syscall.RUSAGE_CHILDREN) }

func used(who int) time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(who, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
