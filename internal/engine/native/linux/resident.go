//go:build linux && amd64

package linux

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
	"golang.org/x/sys/unix"
)

// memoryCheckNs is the virtual time between two looks at a node's memory, if its programs run at all.
const memoryCheckNs = 10e6

// charge notes what a call asks for, and measures the node's memory when that is due: what was asked for before may be used
// by now. The thread may be gone afterwards.
func charge(k *Kernel, t *Thread) {
	n := k.Node(t)
	m := &n.Memory
	if !m.Armed {
		m.Armed = true
		k.After(k.Now+memoryCheckNs, kernel.TimerMemory, n.ID, 0)
	}
	files := n.FS.WrittenBytes()
	m.Asked += max(files-m.Files, 0)
	m.Files = files
	if m.Asked >= m.LimitBytes/64 {
		if limitMemory(k, n); t.State == kernel.Dead {
			return
		}
	}
	switch args := &t.Call.Args; t.Call.Nr {
	case unix.SYS_BRK:
		s, end := k.Spaces[k.Proc(t).Space], args[0].Pointer()
		if s.Break != 0 && end > s.Break {
			m.Ask(end - s.Break)
		}
		if end != 0 {
			s.Break = end
		}
	case unix.SYS_MMAP:
		m.Ask(args[1].Size())
	case unix.SYS_MPROTECT:
		if size, prot := args[1].Size(), args[2].Uint64(); prot&unix.PROT_WRITE != 0 {
			m.Ask(size)
		}
	case unix.SYS_MADVISE:
		size, advice := args[1].Size(), args[2].Uint64()
		if advice == unix.MADV_POPULATE_READ || advice == unix.MADV_POPULATE_WRITE {
			m.Ask(size)
		}
	case unix.SYS_MREMAP:
		if size, newSize := args[1].Size(), args[2].Size(); newSize > size {
			m.Ask(newSize - size)
		}
	}
}

// tenants are one process for each address space of a node, in order.
func tenants(k *Kernel, n *Node) []*Proc {
	var list []*Proc
	seen := map[kernel.SpaceID]bool{}
	for _, id := range n.Procs {
		if p := k.Procs[id]; !p.Zombie && len(p.Threads) > 0 && !seen[p.Space] {
			seen[p.Space] = true
			list = append(list, p)
		}
	}
	return list
}

// limitMemory kills a process of a node that has more memory than it may have: the one that the kernel of Linux would choose
// (oom_badness of mm/oom_kill.c), of equal ones the first.
func limitMemory(k *Kernel, n *Node) {
	n.Memory.Asked = 0
	limit := n.Memory.LimitBytes
	tenants := tenants(k, n)
	shared := sharedAtMost(k, n)
	mapped, most := shared, shared
	for _, p := range tenants {
		w := k.M.MemoryBounds(p.Threads[0])
		mapped, most = mapped+w.Mapped, most+w.AtMost
	}
	if mapped <= limit || most <= limit {
		return
	}
	own := make([]int64, len(tenants))
	if total := measure(k, n, tenants, own); total <= limit {
		return
	}
	victim := -1
	var worst int64
	for i, p := range tenants {
		if points := own[i] + int64(p.OOMAdj)*(limit/1000); p.OOMAdj > -1000 && (victim < 0 || points > worst) {
			victim, worst = i, points
		}
	}
	if victim < 0 {
		return
	}
	n.Memory.Kills++
	n.Memory.Asked = limit // so that what is left is measured soon
	killForMemory(k, n, tenants[victim])
}

// killForMemory ends all processes of an address space.
func killForMemory(k *Kernel, n *Node, p *Proc) {
	event := k.Happen(n.Name, "", "memory limit", int64(p.PID), p.Path)
	text := fmt.Sprintf("Memory cgroup out of memory: Killed process %d (%s), the node's limit is %dkB", p.PID, path.Base(p.Path), n.Memory.LimitBytes>>10)
	k.Notices = append(k.Notices, kernel.Notice{Kind: kernel.OutOfMemory, Event: event, TimeNs: k.Now, Node: n.ID, Proc: p.ID,
		PID: p.PID, Program: p.Path, Tag: p.Tag, Text: []byte(text)})
	space := p.Space
	for _, id := range slices.Clone(n.Procs) {
		if o := k.Procs[id]; o != nil && !o.Zombie && o.Space == space {
			k.EndProcess(o, int(unix.SIGKILL), false)
		}
	}
}

// measure returns the memory of a node's programs, in bytes; it sets own to the private memory of each tenant.
func measure(k *Kernel, n *Node, tenants []*Proc, own []int64) int64 {
	total := n.FS.MemoryBytes(k.Handles.Blobs.Allocated)
	mapped := map[int64]bool{}
	for i, p := range tenants {
		own[i] = k.M.PrivateBytes(p.Threads[0])
		total += own[i]
		if !slices.ContainsFunc(k.Spaces[p.Space].Regions, func(r kernel.Region) bool { return r.Anon }) {
			continue
		}
		for line := range strings.Lines(k.M.Maps(p.Threads[0])) {
			if m, ok := machine.ParseMap(line); ok && m.Shared && m.Blob != 0 {
				mapped[m.Blob] = true
			}
		}
	}
	for blob, anon := range sharedBlobs(k, n) {
		if !anon || mapped[blob] {
			total += k.Handles.Blobs.Allocated(fs.BlobID(blob))
		}
	}
	return total
}

// sharedBlobs are the blobs behind memory that programs of a node share: true for maps that belong to no file, which may be
// unmapped by now, false for System V segments.
func sharedBlobs(k *Kernel, n *Node) map[int64]bool {
	blobs := map[int64]bool{}
	for _, id := range n.Procs {
		if s := k.Spaces[k.Procs[id].Space]; s != nil {
			for _, r := range s.Regions {
				if r.Anon {
					blobs[r.Object.ID] = true
				}
			}
		}
	}
	for _, s := range k.Segs {
		if s.Node == n.ID {
			blobs[s.Blob] = false
		}
	}
	return blobs
}

// sharedAtMost bounds the size of all of these blobs and of the files in memory, in bytes.
func sharedAtMost(k *Kernel, n *Node) int64 {
	total := n.FS.MemoryBytes(k.Handles.Blobs.Allocated)
	for blob := range sharedBlobs(k, n) {
		total += k.Handles.Blobs.Allocated(fs.BlobID(blob))
	}
	return total
}

// memoryUnit is the precision, in bytes, with which programs see their node's memory: smaller amounts differ from
// machine to machine.
const memoryUnit = 1 << 20

// memoryCurrent is memory.current of the node's control group.
func memoryCurrent(k *Kernel, n *Node) int64 {
	tenants := tenants(k, n)
	total := measure(k, n, tenants, make([]int64, len(tenants)))
	current := (total + memoryUnit - 1) / memoryUnit * memoryUnit
	if limit := n.Memory.LimitBytes; limit > 0 {
		return min(current, limit)
	}
	return current
}
