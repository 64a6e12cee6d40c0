//go:build linux && amd64

package kernel

import (
	"fmt"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/net"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"golang.org/x/sys/unix"
)

// Calls that ask for memory come here on nodes whose VDSO says so (machine.VDSO); elsewhere the real kernel answers them. While a
// node is under pressure they fail as under strict accounting (overcommit_memory 2 of proc_sys_vm(5)): what is private and
// writable is promised, and there is nothing left to promise.

// Pressure is the fault because of which a node has no memory to give, 0 for none. Programs that were executed since then
// are spared: without memory not even their loader would come to an end.
type Pressure struct {
	Fault   int
	SinceNs int64
}

// pressed tells whether there is no memory for a thread's process.
func (k *Kernel) pressed(t *Thread) bool {
	p := k.node(t).Pressure
	return p.Fault != 0 && k.Spaces[k.proc(t).Space].ExecNs < p.SinceNs
}

// starved answers a call that asks for more memory, if there is none.
func (k *Kernel) starved(t *Thread, r Result) (Result, bool) {
	if !k.pressed(t) {
		return 0, false
	}
	t.Call.Detail = string(fault.MemoryPressure)
	k.Seen(net.FaultRef{Kind: fault.MemoryPressure, ID: k.node(t).Pressure.Fault})
	return r, true
}

func sysBrk(k *Kernel, t *Thread) Result {
	if k.pressed(t) {
		now := k.M.Execute(t.ID, unix.SYS_BRK, 0)
		if int64(t.Call.Args[0]) > now {
			if r, starved := k.starved(t, Result(now)); starved {
				return r
			}
		}
	}
	return passed
}

func sysMremap(k *Kernel, t *Thread) Result {
	a := &t.Call.Args
	if r, reserved := k.reserved(t, a[0], a[1]); reserved {
		return r
	}
	if a[3]&unix.MREMAP_FIXED != 0 {
		if r, reserved := k.reserved(t, a[4], a[2]); reserved {
			return r
		}
	}
	if a[2] > a[1] {
		if r, starved := k.starved(t, fail(unix.ENOMEM)); starved {
			return r
		}
	}
	return passed
}

func sysMprotect(k *Kernel, t *Thread) Result {
	if r, reserved := k.reserved(t, t.Call.Args[0], t.Call.Args[1]); reserved {
		return r
	}
	if a := &t.Call.Args; a[2]&unix.PROT_WRITE != 0 && k.pressed(t) {
		if m, ok := mapAt(k.M.Maps(t.ID), a[0]); ok && !m.shared && !m.writable {
			if r, starved := k.starved(t, fail(unix.ENOMEM)); starved {
				return r
			}
		}
	}
	if a := &t.Call.Args; a[2]&unix.PROT_EXEC != 0 {
		r := Result(k.M.Execute(t.ID, unix.SYS_MPROTECT, a[0], a[1], a[2]))
		if r == 0 {
			k.madeCode(t, a[0], a[1], a[2]&unix.PROT_WRITE != 0) // later it may be gone, or other code
		}
		return r
	}
	return passed
}

// Leak is a growing shortage of memory on a node.
type Leak struct {
	Fault        int
	FromNs, ToNs int64 // world time: when it began, and when nothing is left
}

// lastMemory is what is left when the killer comes.
const lastMemory = 16 << 20

// free is how much memory a node has left, and tells that a program looks.
func (k *Kernel) free(n *Node) int64 {
	l := n.Leak
	if l.Fault == 0 {
		return freeMemory
	}
	gone := min(max(k.Now-l.FromNs, 0), l.ToNs-l.FromNs) * 1000 / max(l.ToNs-l.FromNs, 1)
	if gone == 0 {
		return freeMemory
	}
	k.Seen(net.FaultRef{Kind: fault.OOM, ID: l.Fault})
	return freeMemory - (freeMemory-lastMemory)/1000*gone
}

// meminfo is /proc/meminfo.
func meminfo(free int64) string {
	var b strings.Builder
	for _, l := range []struct {
		name string
		kib  int64
	}{{"MemTotal", TotalMemory >> 10}, {"MemFree", free >> 10}, {"MemAvailable", free >> 10}, {"Buffers", 0}, {"Cached", 0}, {"SwapCached", 0}, {"Active", 0},
		{"Inactive", 0}, {"SwapTotal", 0}, {"SwapFree", 0}, {"Dirty", 0}, {"Shmem", 0}, {"CommitLimit", TotalMemory >> 11}, {"Committed_AS", 0}} {
		fmt.Fprintf(&b, "%s: %*d kB\n", l.name, 21-len(l.name), l.kib)
	}
	fmt.Fprintf(&b, "HugePages_Total: %6d\nHugepagesize: %9d kB\n", 0, 2048)
	return b.String()
}

// Killed is a process that was killed because memory was out.
type Killed struct {
	PID     int
	Program string
	Bytes   int64
}

// KillLargest kills the process of a node that the killer of Linux would choose (proc_pid_oom_score_adj(5)): the one with
// the most memory of its own, here all that is private and writable, since how much of that is resident depends on the
// machine. false means that there is none.
func (k *Kernel) KillLargest(id NodeID, fault int) (Killed, bool) {
	var victim *Proc
	var most, bytes int64
	for _, pid := range k.Nodes[id].Procs {
		p := k.Procs[pid]
		if p.Zombie || len(p.Threads) == 0 || p.OOMAdj <= -1000 {
			continue
		}
		size := k.ownMemory(p)
		if points := size + int64(p.OOMAdj)*(TotalMemory/1000); victim == nil || points > most {
			victim, most, bytes = p, points, size
		}
	}
	if victim == nil {
		return Killed{}, false
	}
	out := Killed{PID: victim.PID, Program: victim.Path, Bytes: bytes}
	space := victim.Space
	for _, pid := range append([]ProcID(nil), k.Nodes[id].Procs...) {
		if p := k.Procs[pid]; p != nil && !p.Zombie && p.Space == space {
			p.Condemned = fault
			k.endProcess(p, int(unix.SIGKILL), false)
		}
	}
	return out, true
}

func (k *Kernel) ownMemory(p *Proc) int64 {
	size := int64(0)
	for line := range strings.Lines(k.M.Maps(p.Threads[0])) {
		if m, ok := parseMap(line); ok && m.writable && !m.shared {
			size += int64(m.end - m.start)
		}
	}
	return size
}

// sawKilled tells that a program has learnt of the end of a process that memory was out for.
func (k *Kernel) sawKilled(p *Proc) {
	if p.Condemned != 0 {
		k.Seen(net.FaultRef{Kind: fault.OOM, ID: p.Condemned})
	}
}
