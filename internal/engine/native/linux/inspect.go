//go:build linux && amd64

package linux

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
)

// Registers returns the registers of a thread of a process that continues, as its program would see them.
func Registers(k *Kernel, t *Thread) (machine.Regs, bool) {
	regs, ok := k.M.Look(t.ID)
	t.AsSeen(&regs)
	return regs, ok
}

// MapsOf is /proc/PID/maps of a thread's process (proc_pid_maps(5)).
func MapsOf(k *Kernel, t *Thread) string { return procMaps(k, t, k.Proc(t)) }

// OpenFile is an open descriptor of a process.
type OpenFile struct {
	FD           int
	Object, Path string
}

// OpenFiles lists the descriptors of a process.
func OpenFiles(k *Kernel, p *Proc) (list []OpenFile) {
	table := k.Tables[p.Table]
	if table == nil {
		return nil
	}
	for fd, slot := range table.Slots {
		if slot.File != 0 {
			f := k.Files[slot.File]
			list = append(list, OpenFile{FD: fd, Object: k.ObjectOf(f), Path: describe(k, f)})
		}
	}
	return list
}

// maxWatched is how many files of an epoll WaitsFor names.
const maxWatched = 6

// WaitsFor says, for people, why a thread does not run: the call that it waits in, with the file, the word or the time that it waits for, or what else
// holds it. It is empty for a thread that can run.
func WaitsFor(k *Kernel, t *Thread) string {
	p := k.Proc(t)
	var why []string
	if t.State == kernel.Blocked {
		why = append(why, "waits in "+waitOf(k, t))
	}
	for _, held := range []struct {
		is  bool
		why string
	}{
		{k.Node(t).Paused != 0, fmt.Sprintf("its node is paused by fault %d", k.Node(t).Paused)},
		{p.Stopped, "its process was stopped by a signal"},
		{t.Vfork, "waits for its vfork child"},
		{t.BusyNs != 0, fmt.Sprintf("computes, until %s at least", atSeconds(t.BusyNs))},
		{t.Lazy && t.State == kernel.Ready, "only polls or yields: it runs when no other thread can"},
	} {
		if held.is {
			why = append(why, held.why)
		}
	}
	return strings.Join(why, "; ")
}

func atSeconds(ns int64) string { return fmt.Sprintf("%.6f s", float64(ns)/1e9) }

func waitOf(k *Kernel, t *Thread) string {
	c := &t.Call
	text := CallName(c.Nr)
	name := func(fd int, f *File) string {
		return strings.TrimSpace(fmt.Sprintf("%d %s", fd, strings.TrimSpace(k.ObjectOf(f)+" "+describe(k, f))))
	}
	switch f := k.File(t, c.Args[0].Int()); {
	case c.Nr == unix.SYS_FUTEX:
		var word [4]byte
		k.M.Read(t.ID, c.Args[0].Pointer(), word[:])
		text += fmt.Sprintf(" for the word at %#x, which is %d", c.Args[0].Pointer(), binary.LittleEndian.Uint32(word[:]))
		for _, id := range slices.Sorted(maps.Keys(k.Threads)) {
			o := k.Threads[id]
			same := o.Call.Nr == c.Nr && o.Call.Args[0].Pointer() == c.Args[0].Pointer()
			if same && o != t && o.Proc == t.Proc && o.State == kernel.Blocked {
				text += fmt.Sprintf(", as thread %d does", o.TID)
			}
		}
	case f != nil && (table[c.Nr].Descriptor || table[c.Nr].Holds):
		text += " on " + name(c.Args[0].Int(), f)
		if e := k.Epolls[f.Obj]; e != nil && (c.Nr == unix.SYS_EPOLL_WAIT || c.Nr == unix.SYS_EPOLL_PWAIT || c.Nr == unix.SYS_EPOLL_PWAIT2) {
			var list []string
			for _, key := range slices.SortedFunc(maps.Keys(e.Index), func(a, b kernel.EpollName) int { return int(a.FD) - int(b.FD) }) {
				if of := k.Files[key.File]; of != nil {
					list = append(list, name(int(key.FD), of))
				}
			}
			if len(list) > maxWatched {
				list = append(list[:maxWatched], fmt.Sprintf("%d more", len(list)-maxWatched))
			}
			text += ": " + strings.Join(list, ", ")
		}
	}
	if c.HasUntil {
		text += ", until " + atSeconds(c.Until)
	}
	return text
}
