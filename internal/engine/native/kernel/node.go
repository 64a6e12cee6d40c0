//go:build linux && amd64

package kernel

import (
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
)

// Bounded reports whether a node has a control group that bounds it.
func (n *Node) Bounded() bool { return n.Memory.LimitBytes > 0 || n.Tasks > 0 || n.CPUPPM > 0 }

// Torn is a write of which the disk has a part when the power goes: up to From and not up to To.
type Torn struct {
	Inode    fs.InodeID
	From, To int64
}

// Slow is how much longer than usual a disk takes for a call, and the fault that makes it so.
type Slow struct {
	Ns    int64
	Fault int
}

// Life digests everything that a main process and its descendants have learned from the world, as far as that can
// repeat. It leaves out times, process numbers, random bytes and the order of events.
type Life struct {
	Tag int64 // of the main process; 0 if no caller asks
	Sum uint64
	// Open says that they have learned from another process or node: what they learn the next time may differ.
	Open bool
}

// Calls that ask for memory come here on nodes whose VDSO says so (machine.VDSO); elsewhere the real kernel answers them. While a
// node is under pressure they fail as under strict accounting (overcommit_memory 2 of proc_sys_vm(5)): what is private and
// writable is promised, and there is nothing left to promise.

// Pressure is the fault because of which a node has no memory to give, 0 for none. Programs that were executed since then
// are spared: without memory not even their loader would come to an end.
type Pressure struct {
	Fault   int
	SinceNs int64
}

// FDLimit is the fault because of which processes of a node get no new descriptor, 0 for none. Programs that were executed since then are
// spared: exec has closed most of what they had inherited, and without a descriptor their loader finds no library.
type FDLimit struct {
	Fault   int
	SinceNs int64
	Refused int // calls so far
}

// Leak is a growing shortage of memory on a node.
type Leak struct {
	Fault        int
	FromNs, ToNs int64 // world time: when it began, and when nothing is left
}

// Memory bounds what a node has, as the memory controller of control groups does (cgroup-v2.rst of the kernel): the private
// memory that its programs have touched, what they share, and files in memory. Pages of the files underneath are no part of
// it, since Linux would drop them. What programs have is looked at when they have asked for more, and now and then as time
// passes: so it is the same moment in every run of a tape, though a program may be over the limit for a while.
type Memory struct {
	LimitBytes int64 // 0 is none
	Asked      int64 // bytes that programs have asked for since their memory was measured
	Files      int64 // bytes that its files in memory had at the last call
	Armed      bool  // a timer is set to measure it
	Kills      int
}

// Ask adds a size that a program has named, however large it is.
func (m *Memory) Ask(bytes uint64) { m.Asked += int64(min(bytes, uint64(m.LimitBytes))) }
