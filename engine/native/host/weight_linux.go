//go:build linux && amd64

package host

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Weight bounds how much memory of its own a process has, in bytes. Both are cheap to ask for.
type Weight struct {
	// Mapped is what it could have: all that is private and writable. It is the same on every machine.
	Mapped int64
	// AtMost is what it really has or more; how much more depends on the machine.
	AtMost int64
}

// Weight reads /proc/PID/status (proc_pid_status(5)). Linux counts what is resident in batches, for each CPU and thread, so
// that its sums are short of the truth by as much.
func (m *Machine) Weight(id ThreadID) Weight {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", m.get(id).tgid))
	kib := amounts(b)
	cpus := onlineCPUs()
	short := (cpus*max(32, 2*cpus) + 64*kib["Threads"]) * pageSize
	return Weight{Mapped: (kib["VmData"] + kib["VmStk"]) << 10, AtMost: (kib["RssAnon"]+kib["VmSwap"])<<10 + short}
}

// PrivateBytes is how much memory of its own a process really has, resident or swapped out; what several processes share
// after a fork counts in parts. It walks all of the process' pages (smaps_rollup of proc_pid_smaps(5)).
func (m *Machine) PrivateBytes(id ThreadID) int64 { return privateBytes(m.get(id).tgid) }

func privateBytes(tgid int) int64 {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", tgid))
	kib := amounts(b)
	return (kib["Pss_Anon"] + kib["SwapPss"]) << 10
}

// LimitMemory stops a thread by force, with StopSpin, while the memory that all processes have of their own is beyond a limit: it may
// take much of it without a system call.
func (m *Machine) LimitMemory(bytes int64) { m.watch.limitBytes.Store(bytes) }

// Due tells, now and then, that it is time to look at what lies outside the world.
func (m *Machine) Due() bool { return m.watch.due.Load() && m.watch.due.Swap(false) }

// Held is how much memory of their own all processes have together, or more: what they share after a fork counts for each of them. With
// exactly set it counts in parts, which takes long.
func (m *Machine) Held(exactly bool) int64 {
	total := int64(0)
	for tgid := range m.alive {
		if exactly {
			total += privateBytes(tgid)
		} else {
			total += ownBytes(tgid)
		}
	}
	m.watch.heldBytes.Store(total)
	return total
}

// ownBytes reads from /proc/PID/statm how much memory of its own a process has (proc_pid_statm(5)); 0 if it is gone.
func ownBytes(tgid int) int64 {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", tgid))
	var size, resident, shared int64
	fmt.Sscan(string(b), &size, &resident, &shared)
	return (resident - shared) * pageSize
}

// MachineBytes is how much memory this machine has, 0 if nobody knows.
func MachineBytes() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return int64(info.Totalram) * int64(info.Unit)
}

// amounts reads lines such as "Name:  12 kB".
func amounts(b []byte) map[string]int64 {
	out := map[string]int64{}
	for line := range bytes.Lines(b) {
		f := strings.Fields(string(line))
		if len(f) < 2 {
			continue
		}
		if n, err := strconv.ParseInt(f[1], 10, 64); err == nil {
			out[strings.TrimSuffix(f[0], ":")] = n
		}
	}
	return out
}

// onlineCPUs is how many CPUs the machine has, whichever of them this process may use.
var onlineCPUs = sync.OnceValue(func() int64 {
	b, err := os.ReadFile("/sys/devices/system/cpu/online")
	last := strings.TrimSpace(string(b))
	last = last[strings.LastIndexAny(last, ",-")+1:]
	n, e := strconv.ParseInt(last, 10, 64)
	if err != nil || e != nil {
		return 1024
	}
	return n + 1
})
