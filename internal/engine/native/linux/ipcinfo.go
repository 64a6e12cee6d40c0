//go:build linux && amd64

package linux

import (
	"encoding/binary"
	"maps"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
)

// Commands that golang.org/x/sys/unix does not name (sys/sem.h, sys/msg.h, sys/shm.h).
const (
	ipcInfo = 3

	msgStat, msgInfo, msgStatAny = 11, 12, 13
	shmStat, shmInfo, shmStatAny = 13, 14, 15
	semStat, semInfo, semStatAny = 18, 19, 20
)

// objects are the numbers of a node's objects of a kind, in their order: their places are those in Linux' table.
func objects[T any](n kernel.NodeID, all map[int64]*T, of func(*T) kernel.NodeID) []int64 {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(id int64) bool { return of(all[id]) != n })
}

// idAt returns the number of the object at a place.
func idAt(ids []int64, place int) (int64, bool) {
	if place >= 0 && place < len(ids) {
		return ids[place], true
	}
	return 0, false
}

// highest returns the result of the commands for limits and sums: the highest index in use.
func highest(ids []int64) Result { return Result(max(len(ids)-1, 0)) }

func outWords(k *Kernel, t *Thread, addr uint64, size int, words ...int64) bool {
	b := make([]byte, 0, size*len(words))
	for _, w := range words {
		if size == 4 {
			b = binary.LittleEndian.AppendUint32(b, uint32(min(w, 1<<31-1)))
		} else {
			b = binary.LittleEndian.AppendUint64(b, uint64(w))
		}
	}
	return k.Out(t, addr, b)
}

// semLimits answers IPC_INFO and SEM_INFO with a struct seminfo.
func semLimits(k *Kernel, t *Thread, cmd int, addr uint64) Result {
	l := ipcLimits(k, t)
	ids := objects(t.Node, k.Sems, func(s *kernel.SemSet) kernel.NodeID { return s.Perm.Node })
	const undoBytes = 20
	sets, sems := int64(undoBytes), int64(semMaxValue)
	if cmd == semInfo {
		sets, sems = int64(len(ids)), 0
		for _, id := range ids {
			sems += int64(len(k.Sems[id].Values))
		}
	}
	// semmap, semmni, semmns, semmnu, semmsl, semopm, semume, semusz, semvmx, semaem
	if !outWords(k, t, addr, 4, l.Sems, int64(l.SemSets), l.Sems, l.Sems, int64(l.SemInSet), int64(l.SemOps), int64(l.SemOps), sets, semMaxValue, sems) {
		return fail(unix.EFAULT)
	}
	return highest(ids)
}

// msgLimits answers IPC_INFO and MSG_INFO with a struct msginfo.
func msgLimits(k *Kernel, t *Thread, cmd int, addr uint64) Result {
	l := ipcLimits(k, t)
	ids := objects(t.Node, k.Queues, func(q *kernel.MsgQueue) kernel.NodeID { return q.Perm.Node })
	const segmentBytes, segments = 16, 0xffff
	pool, entries, heads := int64(l.MsgQueues)*l.MsgQueueBytes/1024, l.MsgQueueBytes, l.MsgQueueBytes
	if cmd == msgInfo {
		pool, entries, heads = int64(len(ids)), 0, 0
		for _, id := range ids {
			entries += int64(len(k.Queues[id].Messages))
			heads += int64(k.Queues[id].Bytes)
		}
	}
	// msgpool, msgmap, msgmax, msgmnb, msgmni, msgssz, msgtql, msgseg
	if !outWords(k, t, addr, 4, pool, entries, l.MsgBytes, l.MsgQueueBytes, int64(l.MsgQueues), segmentBytes, heads, segments) {
		return fail(unix.EFAULT)
	}
	return highest(ids)
}

func segments(k *Kernel, n kernel.NodeID) []int64 {
	return objects(n, k.Segs, func(s *kernel.ShmSegment) kernel.NodeID { return s.Node })
}

// shmLimits answers IPC_INFO with a struct shminfo64, and SHM_INFO with a struct shm_info.
func shmLimits(k *Kernel, t *Thread, cmd int, addr uint64) Result {
	l, ids := ipcLimits(k, t), segments(k, t.Node)
	ok := false
	if cmd == ipcInfo { // shmmax, shmmin, shmmni, shmseg, shmall, unused
		ok = outWords(k, t, addr, 8, l.ShmBytes, 1, int64(l.ShmSegments), int64(l.ShmSegments), l.ShmPages, 0, 0, 0, 0)
	} else { // used_ids, shm_tot, shm_rss, shm_swp, swap_attempts, swap_successes
		pages := int64(0)
		for _, id := range ids {
			pages += (k.Segs[id].Size + 4095) / 4096
		}
		ok = outWords(k, t, addr, 8, int64(len(ids)), pages, pages, 0, 0, 0)
	}
	if !ok {
		return fail(unix.EFAULT)
	}
	return highest(ids)
}
