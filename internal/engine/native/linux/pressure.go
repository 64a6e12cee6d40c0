//go:build linux && amd64

package linux

import (
	"fmt"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/net"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"golang.org/x/sys/unix"
)

// pressed reports whether there is no memory for a thread's process.
func pressed(k *Kernel, t *Thread) bool {
	p := k.Node(t).Pressure
	return p.Fault != 0 && k.Spaces[k.Proc(t).Space].ExecNs < p.SinceNs
}

// starved answers a call that asks for more memory, if there is none.
func starved(k *Kernel, t *Thread, r Result) (Result, bool) {
	if !pressed(k, t) {
		return 0, false
	}
	t.Call.Meet(fault.MemoryPressure)
	k.Seen(net.FaultRef{Kind: fault.MemoryPressure, ID: k.Node(t).Pressure.Fault})
	return r, true
}

func sysBrk(k *Kernel, t *Thread) Result {
	addr := t.Call.Args[0].Pointer()
	if pressed(k, t) {
		now := k.M.Execute(t.ID, unix.SYS_BRK, 0)
		if int64(addr) > now {
			if r, starved := starved(k, t, Result(now)); starved {
				return r
			}
		}
	}
	return kernel.Passed
}

func sysMremap(k *Kernel, t *Thread) Result { return changesMaps(k, t, mremap) }

func mremap(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	addr, size, newSize, flags := args[0].Pointer(), args[1].Size(), args[2].Size(), args[3].Uint64()
	newAddr := args[4].Pointer()
	if r, reserved := reserved(k, t, addr, size); reserved {
		return r
	}
	if flags&unix.MREMAP_FIXED != 0 {
		if r, reserved := reserved(k, t, newAddr, newSize); reserved {
			return r
		}
	}
	if newSize > size {
		if r, starved := starved(k, t, fail(unix.ENOMEM)); starved {
			return r
		}
	}
	if k.M.Executes(t.ID, addr, size) {
		r, untrapped, made, tooMuch := k.M.Remap(t.ID)
		cannotTrap(k, t, untrapped)
		k.MadeUnsafe(t, made, tooMuch)
		return Result(r)
	}
	return kernel.Passed
}

func sysMprotect(k *Kernel, t *Thread) Result { return changesMaps(k, t, mprotect) }

func mprotect(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	addr, size, prot := args[0].Pointer(), args[1].Size(), args[2].Uint64()
	if r, reserved := reserved(k, t, addr, size); reserved {
		return r
	}
	if prot&unix.PROT_WRITE != 0 && pressed(k, t) {
		if m, ok := machine.MapAt(k.M.Maps(t.ID), addr); ok && !m.Shared && !m.Writable {
			if r, starved := starved(k, t, fail(unix.ENOMEM)); starved {
				return r
			}
		}
	}
	if prot&unix.PROT_WRITE != 0 {
		if e := storable(k, t, addr, (size+4095)&^4095); e != 0 {
			return fail(e)
		}
	}
	if prot&unix.PROT_EXEC != 0 {
		r := Result(k.M.Protect(t.ID, addr, size, prot))
		if r == 0 {
			madeCode(k, t, addr, size, prot&unix.PROT_WRITE != 0) // later it may be gone, or other code
		}
		return r
	}
	if k.M.Executes(t.ID, addr, size) {
		return Result(k.M.Protect(t.ID, addr, size, prot))
	}
	return kernel.Passed
}

// lastMemory is the memory, in bytes, that is left when the killer comes.
const lastMemory = 16 << 20

// free is how much memory a node has left, and reports that a program looks.
func free(k *Kernel, n *Node) int64 {
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
func KillLargest(k *Kernel, id kernel.NodeID, fault int) (Killed, bool) {
	var victim *Proc
	var most, bytes int64
	for _, pid := range k.Nodes[id].Procs {
		p := k.Procs[pid]
		if p.Zombie || len(p.Threads) == 0 || p.OOMAdj <= -1000 {
			continue
		}
		size := ownMemory(k, p)
		if points := size + int64(p.OOMAdj)*(TotalMemory/1000); victim == nil || points > most {
			victim, most, bytes = p, points, size
		}
	}
	if victim == nil {
		return Killed{}, false
	}
	out := Killed{PID: victim.PID, Program: victim.Path, Bytes: bytes}
	space := victim.Space
	for _, pid := range append([]kernel.ProcID(nil), k.Nodes[id].Procs...) {
		if p := k.Procs[pid]; p != nil && !p.Zombie && p.Space == space {
			p.Condemned = fault
			k.EndProcess(p, int(unix.SIGKILL), false)
		}
	}
	return out, true
}

func ownMemory(k *Kernel, p *Proc) int64 {
	size := int64(0)
	for line := range strings.Lines(k.M.Maps(p.Threads[0])) {
		if m, ok := machine.ParseMap(line); ok && m.Writable && !m.Shared {
			size += int64(m.End - m.Start)
		}
	}
	return size
}

// sawKilled reports that a program has learnt of the end of a process that memory was out for.
func sawKilled(k *Kernel, p *Proc) {
	if p.Condemned != 0 {
		k.Seen(net.FaultRef{Kind: fault.OOM, ID: p.Condemned})
	}
}
