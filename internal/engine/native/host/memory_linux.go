//go:build linux && amd64

package host

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
)

// MemoryBounds reads /proc/PID/status (proc_pid_status(5)). Linux counts what is resident in batches, for each CPU and thread, so
// that its sums are short of the truth by as much.
func (m *Machine) MemoryBounds(id ThreadID) machine.MemoryBounds {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", m.get(id).tid))
	kib := amounts(b)
	cpus := onlineCPUs()
	short := (cpus*max(32, 2*cpus) + 64*kib["Threads"]) * pageSize
	return machine.MemoryBounds{Mapped: (kib["VmData"] + kib["VmStk"]) << 10, AtMost: (kib["RssAnon"]+kib["VmSwap"])<<10 + short}
}

// PrivateBytes is how much memory of its own a process really has, resident or swapped out; what several processes share
// after a fork counts in parts. It walks all of the process' pages (smaps_rollup of proc_pid_smaps(5)).
func (m *Machine) PrivateBytes(id ThreadID) int64 { return privateBytes(m.get(id).tid) }

func privateBytes(tid int) int64 {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", tid))
	kib := amounts(b)
	return (kib["Pss_Anon"] + kib["SwapPss"]) << 10
}

// LimitMemory stops a thread by force, with StopSpin, while all memory that the world takes of the machine is beyond a limit: a program
// may take much memory without a system call. blobs are the world's.
func (m *Machine) LimitMemory(bytes int64, blobs *Blobs) {
	w := m.watch
	w.began, w.beganBytes = machineWide(), ownBytes(os.Getpid())
	w.blobs = blobs
	m.Held(false) // what it holds later is compared with this
	w.limitBytes.Store(bytes)
}

// Due reports, now and then, that it is time to look at what lies outside the world.
func (m *Machine) Due() bool { return m.watch.due.Load() && m.watch.due.Swap(false) }

// holding measures the memory of the machine that a world takes, in bytes.
type holding struct {
	own    int64 // its processes' own, and by how much this process has grown
	blobs  int64 // the files that it has written, and what its processes share
	tables int64 // page tables
	maps   int64 // what the machine's kernel keeps of maps
}

func (h *holding) bytes() int64 { return h.own + h.blobs + h.tables + h.maps }

// Held is how much memory of the machine the world takes, or more: what its processes share after a fork counts for each of them, and as
// page tables, and for maps, by how much the whole machine has more. With exactly set all counts as what it is, which takes long.
func (m *Machine) Held(exactly bool) int64 {
	w := m.watch
	now := machineWide()
	h := &holding{own: max(ownBytes(os.Getpid())-w.beganBytes, 0), blobs: w.blobs.Bytes()}
	for _, tid := range m.processes() {
		if exactly {
			h.own += privateBytes(tid)
			h.tables += tableBytes(tid)
			h.maps += mapBytes(tid)
		} else {
			h.own += ownBytes(tid)
		}
	}
	if exactly { // what others of the machine take does not count from now on
		w.began.tables, w.began.kernel = now.tables-h.tables, now.kernel-h.maps
	} else {
		h.tables, h.maps = max(now.tables-w.began.tables, 0), max(now.kernel-w.began.kernel, 0)
	}
	w.held.Store(&seen{holding: *h, machine: now})
	return h.bytes()
}

// kernelStackBytes is the size of the kernel's stack of a thread.
const kernelStackBytes = 16 << 10

// Bytes is how much memory of the machine the world has, of what it shares with other worlds in parts.
func (c *Checkpoint) Bytes() int64 {
	bytes := c.Blobs.share()
	for _, tid := range c.Machine.processes() {
		bytes += privateBytes(tid) + tableBytes(tid)
	}
	for _, n := range c.Machine.alive {
		bytes += int64(n) * kernelStackBytes
	}
	return bytes
}

// processes gives a thread of each process that has its memory still.
func (m *Machine) processes() map[int]int {
	list := make(map[int]int, len(m.alive))
	for _, t := range m.threads {
		if !t.ended && t.tid < nowhere {
			list[t.tgid] = t.tid
		}
	}
	return list
}

// Tidy gives back the memory of blobs that were freed and that no process maps any more, when there are many.
func (m *Machine) Tidy() {
	if b := m.watch.blobs; b.Untidy() {
		b.Sweep(m.mappedFiles())
	}
}

// mappedFiles are the inodes of the memfds that processes map (proc_pid_maps(5)).
func (m *Machine) mappedFiles() map[uint64]bool {
	mapped := map[uint64]bool{}
	for _, tid := range m.processes() {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/maps", tid))
		for line := range bytes.Lines(b) {
			if f := bytes.Fields(line); len(f) > 5 && bytes.HasPrefix(f[5], []byte("/memfd:")) {
				if inode, err := strconv.ParseUint(string(f[4]), 10, 64); err == nil {
					mapped[inode] = true
				}
			}
		}
	}
	return mapped
}

// machineBytes is memory of the whole machine that is no process' own (proc_meminfo(5)).
type machineBytes struct {
	files  int64 // files in memory and shared memory
	tables int64 // page tables
	kernel int64 // the kernel's own, which it cannot give back
}

func machineWide() machineBytes {
	var buf [1 << 12]byte
	b := readProc("/proc/meminfo", buf[:])
	return machineBytes{files: amount(b, "Shmem") << 10, tables: amount(b, "PageTables") << 10, kernel: amount(b, "SUnreclaim") << 10}
}

// readProc reads a file of /proc into buf, as far as one read gives it. It tells Go's scheduler nothing, as ptrace does not: the
// watchdog and the loop read such files every few milliseconds, and a read that the scheduler knows of keeps its monitor awake.
func readProc(path string, buf []byte) []byte {
	fd, ok := openRaw(path)
	if !ok {
		return nil
	}
	n := readRaw(fd, buf)
	closeRaw(fd)
	return buf[:n]
}

// readWhole is readProc of all that a file has.
func readWhole(path string) []byte {
	fd, ok := openRaw(path)
	if !ok {
		return nil
	}
	var all []byte
	for {
		all = slices.Grow(all, 1<<14)
		n := readRaw(fd, all[len(all):cap(all)])
		if n == 0 {
			break
		}
		all = all[:len(all)+n]
	}
	closeRaw(fd)
	return all
}

func openRaw(path string) (fd uintptr, ok bool) {
	name, err := unix.BytePtrFromString(path)
	if err != nil {
		return 0, false
	}
	fd, _, errno := syscall.RawSyscall(unix.SYS_OPEN, uintptr(unsafe.Pointer(name)), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	return fd, errno == 0
}

// readRaw gives 0 at the end of the file, and after an error.
func readRaw(fd uintptr, buf []byte) int {
	n, _, errno := syscall.RawSyscall(unix.SYS_READ, fd, uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)))
	if errno != 0 {
		return 0
	}
	return int(n)
}

func closeRaw(fd uintptr) { syscall.RawSyscall(unix.SYS_CLOSE, fd, 0, 0) }

// amount is an amount of /proc/meminfo by its name: "\nName:  12 kB". It is 0 where there is none.
func amount(b []byte, name string) int64 {
	_, rest, _ := bytes.Cut(b, []byte("\n"+name+":"))
	n, _ := decimal(rest)
	return n
}

// decimal reads the decimal number that text begins with, behind blanks, and gives the rest.
func decimal(text []byte) (n int64, rest []byte) {
	text = bytes.TrimLeft(text, " ")
	i := 0
	for ; i < len(text) && '0' <= text[i] && text[i] <= '9'; i++ {
		n = n*10 + int64(text[i]-'0')
	}
	return n, text[i:]
}

// seen is the last measurement: what the world held, and the machine's totals.
type seen struct {
	holding
	machine machineBytes
}

// beyond reports whether the process of the running thread takes the world over its limit. base is what it had of its own when the world was measured.
func (w *watchdog) beyond(tid int, base int64) bool {
	limit, last := w.limitBytes.Load(), w.held.Load()
	if limit == 0 || last == nil {
		return false
	}
	now := machineWide()
	own := last.own + max(ownBytes(tid)-base, 0)
	if own+last.blobs+last.tables+last.maps+max(now.files-last.machine.files, 0)+max(now.tables-last.machine.tables, 0) <= limit {
		return false
	}
	// Others may have taken what the machine has less.
	return own+w.blobs.Bytes()+max(last.tables, tableBytes(tid))+mapBytes(tid) > limit
}

// tableBytes is how much memory the page tables of a thread's process take, also those for memory that it has only read.
func tableBytes(tid int) int64 {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", tid))
	return amounts(b)["VmPTE"] << 10
}

// mapBytes is about how much memory the kernel takes for the maps of a thread's process: some 200 bytes for each, and the nodes of the tree
// that holds them.
func mapBytes(tid int) int64 {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/maps", tid))
	return int64(bytes.Count(b, []byte{'\n'})) * 224
}

// ownBytes reads from /proc/PID/statm how much memory of its own a thread's process has (proc_pid_statm(5)); 0 if the thread is gone.
func ownBytes(tid int) int64 {
	var buf [128]byte
	_, rest := decimal(readProc("/proc/"+strconv.Itoa(tid)+"/statm", buf[:]))
	resident, rest := decimal(rest)
	shared, _ := decimal(rest)
	return (resident - shared) * pageSize
}

// MachineBytes is how much memory this machine has, 0 if unknown.
func MachineBytes() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return int64(info.Totalram) * int64(info.Unit)
}

// leastRoom is the part of the machine's memory that copies of worlds leave: one in so many.
const leastRoom = 5

// Room reports whether this machine has memory for a copy of a world (proc_meminfo(5)).
func Room() bool {
	b, _ := os.ReadFile("/proc/meminfo")
	kib := amounts(b)
	return kib["MemAvailable"] >= kib["MemTotal"]/leastRoom && roomInGroup("/sys/fs/cgroup")
}

// roomInGroup reports whether the control group of this process, as far as it shows as the root of a file system, which it does in a
// container, has as much room (memory.max and memory.current of cgroup v2).
func roomInGroup(root string) bool {
	read := func(name string) (v int64, ok bool) {
		b, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return 0, false
		}
		v, err = strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
		return v, err == nil // there may be "max"
	}
	most, bounded := read("memory.max")
	now, known := read("memory.current")
	return !bounded || !known || most-now >= most/leastRoom
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
