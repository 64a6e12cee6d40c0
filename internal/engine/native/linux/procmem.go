//go:build linux && amd64

package linux

import (
	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
)

// memoryFile is /proc/PID/mem.
var memoryFile = Behaviour{
	Seekable: true, ReadInto: readMemory, WriteFrom: writeMemory, Object: kernel.Named("file"),
	Seek: func(_ *Kernel, f *File, off int64, whence int) Result {
		if whence == unix.SEEK_END {
			return fail(unix.EINVAL)
		}
		return seek(f, off, whence, 0)
	},
}

// inSpace gives a thread in whose memory an address space can be reached, nil if the space is gone.
func inSpace(k *Kernel, id kernel.SpaceID) *Thread {
	s := k.Spaces[id]
	if s == nil {
		return nil
	}
	for _, pid := range k.Nodes[s.Node].Procs {
		if p := k.Procs[pid]; p.Space == id && len(p.Threads) > 0 {
			return k.Threads[p.Threads[0]]
		}
	}
	return nil
}

// readMemory reads /proc/PID/mem: positions are addresses (proc_pid_mem(5)).
func readMemory(k *Kernel, t *Thread, f *File, v []Iovec, offset int64) Result {
	owner, pos := inSpace(k, f.Obj), offset
	if offset < 0 {
		pos = f.Pos
	}
	n := kernel.TotalBytes(v)
	if owner == nil || n == 0 {
		return 0
	}
	data := make([]byte, n)
	data = data[:k.M.Read(owner.ID, uint64(pos), data)]
	if len(data) == 0 {
		return fail(unix.EIO)
	}
	done := k.ScatterSome(t, v, data)
	if done == 0 {
		return fail(unix.EFAULT)
	}
	if offset < 0 {
		f.Pos += int64(done)
	}
	return Result(done)
}

// writeMemory writes /proc/PID/mem. On Linux that reaches even memory that the process itself may not write.
func writeMemory(k *Kernel, t *Thread, f *File, v []Iovec, offset int64, _ int) Result {
	data, e := k.Gather(t, v, -1)
	if e != 0 {
		return fail(e)
	}
	owner, pos := inSpace(k, f.Obj), offset
	if offset < 0 {
		pos = f.Pos
	}
	if owner == nil || len(data) == 0 {
		return 0
	}
	done := k.M.Write(owner.ID, uint64(pos), data)
	switch there := make([]byte, 1); {
	case done > 0:
	case k.M.Read(owner.ID, uint64(pos), there) == 0:
		return fail(unix.EIO)
	default:
		return k.Refuse(t, "write(/proc/PID/mem) of memory that cannot be written", unix.EIO)
	}
	if offset < 0 {
		f.Pos += int64(done)
	}
	return Result(done)
}
