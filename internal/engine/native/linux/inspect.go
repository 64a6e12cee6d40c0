//go:build linux && amd64

package linux

import (
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
)

// Registers are those of a thread of a process that continues, as its program would see them.
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
