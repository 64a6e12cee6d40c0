//go:build linux && amd64

package kernel

import (
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/dump"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
)

// Dumps tells whether a signal ends a program with a core file (signal(7)).
func Dumps(sig int) bool {
	switch unix.Signal(sig) {
	case unix.SIGQUIT, unix.SIGILL, unix.SIGTRAP, unix.SIGABRT, unix.SIGBUS, unix.SIGFPE, unix.SIGSEGV, unix.SIGXCPU, unix.SIGXFSZ, unix.SIGSYS:
		return true
	}
	return false
}

// fatal tells that a signal is about to end a process.
func (k *Kernel) fatal(t *Thread, sig int, info [128]byte) {
	if k.Fatal != nil && Dumps(sig) {
		k.Fatal(t, sig, info)
	}
}

// inCall is what the result register of a thread holds that waits in a call (ERESTARTSYS).
const inCall = ^uint64(511)

// Remains is what is left of the process of a thread that a signal ends, as that process sees it. It may be read until the process is gone.
func (k *Kernel) Remains(t *Thread, sig int, info [128]byte) *dump.Process {
	p := k.proc(t)
	r := &dump.Process{PID: p.PID, PGID: p.PGID, SID: p.SID, UID: p.Cred.UID, GID: p.Cred.GID, Comm: t.Comm, Argv: p.Argv, Signal: sig, Info: info, Auxv: p.Auxv}
	if parent := k.Procs[p.Parent]; parent != nil {
		r.PPID = parent.PID
	}
	add := func(t *Thread) {
		regs, ok := k.M.Registers(t.ID)
		if !ok {
			return
		}
		t.asSeen(&regs)
		r.Threads = append(r.Threads, dump.Thread{TID: t.TID, Name: t.Comm, Regs: regs, XState: k.M.XState(t.ID)})
	}
	add(t)
	for _, id := range p.Threads {
		if o := k.Threads[id]; o != t && o.State != Dead {
			add(o)
		}
	}
	r.Maps = k.dumpMaps(t, p)
	r.ReadAt = func(addr uint64, b []byte) int { return k.M.Read(t.ID, addr, b) }
	r.Pages = func(addr uint64, pages []dump.Page) bool { return k.M.Pages(t.ID, addr, pages) }
	r.Open = func(m *dump.Map) []byte { return k.mappedFile(t, m.Start) }
	return r
}

// asSeen makes the registers of a stopped thread those that its program would see.
func (t *Thread) asSeen(regs *machine.Regs) {
	const restoreFlag, trapFlag = 1 << 16, 1 << 8 // set by ptrace
	regs.Eflags &^= restoreFlag | trapFlag
	switch nr := int64(regs.Orig_rax); {
	case t.InCall:
		regs.Rax, regs.Orig_rax = inCall, t.Call.Nr
	case nr >= 0: // stands before the call
		regs.Rip, regs.Rax = regs.Rip-2, regs.Orig_rax
		fallthrough
	default:
		regs.Orig_rax = ^uint64(0)
	}
}

// mappedFile reads the file that is mapped to an address.
func (k *Kernel) mappedFile(t *Thread, addr uint64) []byte {
	f := k.Spaces[k.proc(t).Space].fileAt(addr)
	if f == nil || k.node(t).FS.Get(f.File) == nil {
		return nil
	}
	c, e := k.node(t).FS.Content(k.env(t), f.File, false)
	if e != fs.OK {
		return nil
	}
	fd, failed := k.fdOf(t, c)
	if failed != 0 {
		return nil
	}
	return k.M.ReadFile(fd)
}

// dumpMaps are the maps of a process as it sees them, without the page of virtual time, which is the engine's.
func (k *Kernel) dumpMaps(t *Thread, p *Proc) (list []dump.Map) {
	for line := range strings.Lines(k.procMaps(t, p)) {
		r, ok := parseMap(line)
		if !ok {
			continue
		}
		rights := strings.Fields(line)[1]
		m := dump.Map{Start: r.start, End: r.end, Offset: r.offset, Read: rights[0] == 'r', Write: r.writable, Exec: rights[2] == 'x', Shared: r.shared, Name: r.name, File: strings.HasPrefix(r.name, "/")}
		if m.Name == ownCode && m.Shared {
			continue
		}
		list = append(list, m)
	}
	return list
}
