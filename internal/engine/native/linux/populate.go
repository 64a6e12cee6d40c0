//go:build linux && amd64

package linux

import (
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
	"golang.org/x/sys/unix"
)

// populateBytes is how much memory the real kernel gives to a process in one go. It does that in one call, which no signal but SIGKILL
// ends, so all limits are checked between two of these.
const populateBytes = 16 << 20

// populate gives a thread's process the pages of a range, as MADV_POPULATE_READ or MADV_POPULATE_WRITE does (madvise(2)). A node's limit
// of memory binds on the way. A run that is to end does so on the way as well, and the call has any result.
func populate(k *Kernel, t *Thread, addr, size, advice uint64) Result {
	n := k.Node(t)
	for done := uint64(0); ; {
		part := min(size-done, populateBytes)
		if r := Result(k.M.Execute(t.ID, unix.SYS_MADVISE, addr+done, part, advice)); r < 0 {
			return r
		}
		if done += part; done >= size {
			return 0
		}
		if n.Memory.LimitBytes > 0 {
			if limitMemory(k, n); t.State == kernel.Dead {
				return kernel.Gone
			}
		}
		if k.Halts != nil && k.Halts() {
			return fail(unix.EINTR)
		}
	}
}

// populateMap populates a new map, if its flags ask for that. Linux does not report that it could not (mmap(2)).
func populateMap(k *Kernel, t *Thread, addr Result, size, prot, flags uint64) Result {
	if addr < 0 || flags&machine.Populating == 0 || flags&unix.MAP_NONBLOCK != 0 && flags&unix.MAP_LOCKED == 0 {
		return addr
	}
	advice := uint64(unix.MADV_POPULATE_READ)
	if prot&unix.PROT_WRITE != 0 && flags&0xf == unix.MAP_PRIVATE {
		advice = unix.MADV_POPULATE_WRITE
	}
	if populate(k, t, uint64(addr), (size+4095)&^4095, advice) == kernel.Gone {
		return kernel.Gone
	}
	return addr
}
