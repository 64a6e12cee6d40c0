//go:build linux && amd64

package kernel

import "github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"

// Registers are those of a thread of a process that goes on, as its program would see them.
func (k *Kernel) Registers(t *Thread) (machine.Regs, bool) {
	regs, ok := k.M.Look(t.ID)
	t.asSeen(&regs)
	return regs, ok
}

// OpenFile is an open descriptor of a process.
type OpenFile struct {
	FD           int
	Object, Path string
}

// OpenFiles lists the descriptors of a process.
func (k *Kernel) OpenFiles(p *Proc) (list []OpenFile) {
	table := k.Tables[p.Table]
	if table == nil {
		return nil
	}
	for fd, slot := range table.Slots {
		if slot.File != 0 {
			f := k.Files[slot.File]
			list = append(list, OpenFile{fd, k.objectOf(f), k.describe(f)})
		}
	}
	return list
}
