//go:build linux && amd64

package linux

import (
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/dump"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
)

// Remains is what is left of the process of a thread that a signal ends, as that process sees it. It may be read until the process is gone.
func Remains(k *Kernel, t *Thread, sig int, info [128]byte) *dump.Process {
	return process(k, t, sig, info, func(t *Thread) (machine.Regs, bool) {
		regs, ok := k.M.Registers(t.ID)
		t.AsSeen(&regs)
		return regs, ok
	})
}

// Standing is the process of a thread that continues. It may be read until the world does.
func Standing(k *Kernel, t *Thread) *dump.Process {
	return process(k, t, 0, [128]byte{}, func(t *Thread) (machine.Regs, bool) { return Registers(k, t) })
}

func process(k *Kernel, t *Thread, sig int, info [128]byte, registers func(*Thread) (machine.Regs, bool)) *dump.Process {
	p := k.Proc(t)
	r := &dump.Process{PID: p.PID, PGID: p.PGID, SID: p.SID, UID: p.Cred.UID, GID: p.Cred.GID, Comm: t.Comm, Argv: p.Argv,
		Signal: sig, Info: info, Auxv: p.Auxv}
	if parent := k.Procs[p.Parent]; parent != nil {
		r.PPID = parent.PID
	}
	add := func(t *Thread) {
		regs, ok := registers(t)
		if !ok {
			return
		}
		r.Threads = append(r.Threads, dump.Thread{TID: t.TID, Name: t.Comm, Regs: regs, XState: k.M.XState(t.ID)})
	}
	add(t)
	for _, id := range p.Threads {
		if o := k.Threads[id]; o != t && o.State != kernel.Dead {
			add(o)
		}
	}
	r.Maps = dumpMaps(k, t, p)
	r.ReadAt = func(addr uint64, b []byte) int { return k.M.Read(t.ID, addr, b) }
	r.Pages = func(addr uint64, pages []dump.Page) bool { return k.M.Pages(t.ID, addr, pages) }
	r.Open = func(m *dump.Map) []byte { return mappedFile(k, t, m.Start) }
	return r
}

// mappedFile reads the file that is mapped to an address.
func mappedFile(k *Kernel, t *Thread, addr uint64) []byte {
	f := k.Spaces[k.Proc(t).Space].FileAt(addr)
	if f == nil || k.Node(t).FS.Get(f.File) == nil {
		return nil
	}
	c, e := k.Node(t).FS.Content(env(k, t), f.File, false)
	if e != errno.OK {
		return nil
	}
	fd, failed := fdOf(k, t, c)
	if failed != 0 {
		return nil
	}
	return k.M.ReadFile(fd)
}

// dumpMaps are the maps of a process as it sees them, without the page of virtual time, which is the engine's.
func dumpMaps(k *Kernel, t *Thread, p *Proc) (list []dump.Map) {
	for line := range strings.Lines(procMaps(k, t, p)) {
		r, ok := machine.ParseMap(line)
		if !ok {
			continue
		}
		rights := strings.Fields(line)[1]
		m := dump.Map{Start: r.Start, End: r.End, Offset: r.Offset, Read: rights[0] == 'r', Write: r.Writable,
			Exec: rights[2] == 'x', Shared: r.Shared, Name: r.Name, File: strings.HasPrefix(r.Name, "/")}
		if m.Name == ownCode && m.Shared {
			continue
		}
		list = append(list, m)
	}
	return list
}
