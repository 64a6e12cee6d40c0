//go:build linux && amd64

package linux

import (
	"encoding/binary"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
)

// Limits of sysvipc(7), with Linux' defaults.
const (
	semMaxSets    = 32000      // SEMMNI
	semMaxInSet   = 32000      // SEMMSL
	semMax        = 1024000000 // SEMMNS
	semMaxOps     = 500        // SEMOPM
	semMaxValue   = 32767      // SEMVMX
	msgMaxQueues  = 32000      // MSGMNI
	msgMaxBytes   = 8192       // MSGMAX
	msgQueueBytes = 16384      // MSGMNB
	shmMax        = 1<<63 - 1  // SHMMAX, SHMALL: more than a size can be
	shmMaxCount   = 4096       // SHMMNI
)

// DefaultIPC are the limits of a node without settings of its own.
func DefaultIPC() kernel.IPCLimits {
	return kernel.IPCLimits{SemSets: semMaxSets, SemInSet: semMaxInSet, SemOps: semMaxOps, Sems: semMax, MsgQueues: msgMaxQueues,
		MsgBytes: msgMaxBytes, MsgQueueBytes: msgQueueBytes, ShmSegments: shmMaxCount, ShmBytes: shmMax, ShmPages: shmMax}
}

func ipcLimits(k *Kernel, t *Thread) kernel.IPCLimits {
	if l := k.Node(t).IPC; l != nil {
		return *l
	}
	return DefaultIPC()
}

// held counts a node's objects of a kind of System V, and their parts.
func held[T any](n kernel.NodeID, all map[int64]*T, of func(*T) (kernel.NodeID, int64)) (count int, parts int64) {
	for _, o := range all { // sums alone: the order does not matter
		if node, p := of(o); node == n {
			count, parts = count+1, parts+p
		}
	}
	return count, parts
}

// Flags and commands that golang.org/x/sys/unix does not name (sys/sem.h, sys/msg.h).
const (
	semUndo    = 0x1000
	msgNoError = 0o10000
	msgExcept  = 0o20000

	semGetPID  = 11
	semGetVal  = 12
	semGetAll  = 13
	semGetNCnt = 14
	semGetZCnt = 15
	semSetVal  = 16
	semSetAll  = 17
)

func ipcPerm(k *Kernel, t *Thread, key int64, flags int) kernel.IPCPerm {
	c := k.Proc(t).Cred
	return kernel.IPCPerm{Key: key, Node: t.Node, UID: c.EUID, GID: c.EGID, CreatorUID: c.EUID, CreatorGID: c.EGID, Mode: uint32(flags & 0o777),
		CtNs: k.RealNs(k.Node(t))}
}

// permBytes returns the fields of a struct ipc64_perm that IPC_SET uses; it ignores the others.
func permBytes(b []byte) []byte {
	return slices.Concat(b[4:12], b[20:22])
}

// ipcGet implements the common part of semget and msgget: it returns the id of an existing object, or 0 if the caller
// must make one.
func ipcGet[T interface{ Permissions() *kernel.IPCPerm }](p *Proc, all map[int64]T, key int64, flags int) (int64, unix.Errno) {
	var found int64
	var perm *kernel.IPCPerm
	for id, x := range all { // keys are unique on a node: the order leaves no trace
		if x := x.Permissions(); key != unix.IPC_PRIVATE && x.Key == key && x.Node == p.Node {
			found, perm = id, x
		}
	}
	switch {
	case found == 0 && key != unix.IPC_PRIVATE && flags&unix.IPC_CREAT == 0:
		return 0, unix.ENOENT
	case found == 0:
		return 0, 0
	case flags&(unix.IPC_CREAT|unix.IPC_EXCL) == unix.IPC_CREAT|unix.IPC_EXCL:
		return 0, unix.EEXIST
	case !perm.Allows(p, uint32(flags&0o777|flags>>3&0o77|flags>>6&7)&7):
		return 0, unix.EACCES
	}
	return found, 0
}

func sysSemget(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	key, count, flags := int64(args[0].Int()), args[1].Int(), args[2].Int()
	limits := ipcLimits(k, t)
	if count < 0 || count > limits.SemInSet {
		return fail(unix.EINVAL)
	}
	id, e := ipcGet(k.Proc(t), k.Sems, key, flags)
	switch {
	case e != 0:
		return fail(e)
	case id != 0 && count > len(k.Sems[id].Values):
		return fail(unix.EINVAL)
	case id != 0:
		return Result(id)
	case count == 0:
		return fail(unix.EINVAL)
	}
	sets, sems := held(t.Node, k.Sems, func(s *kernel.SemSet) (kernel.NodeID, int64) { return s.Perm.Node, int64(len(s.Values)) })
	if sets >= limits.SemSets || sems+int64(count) > limits.Sems {
		return fail(unix.ENOSPC)
	}
	s := &kernel.SemSet{ID: k.NewID("sem"), Perm: ipcPerm(k, t, key, flags), Values: make([]int, count), PIDs: make([]int, count)}
	k.Sems[s.ID] = s
	return Result(s.ID)
}

func semSet(k *Kernel, t *Thread, id int) *kernel.SemSet {
	if s := k.Sems[int64(id)]; s != nil && s.Perm.Node == t.Node {
		return s
	}
	return nil
}

func sysSemop(k *Kernel, t *Thread) Result { return semop(k, t, -1) }

func sysSemtimedop(k *Kernel, t *Thread) Result {
	timeoutAddr := t.Call.Args[3].Pointer()
	timeout, e := timeoutAt(k, t, timeoutAddr, timespec)
	if e != 0 {
		return fail(e)
	}
	return semop(k, t, timeout)
}

func semop(k *Kernel, t *Thread, timeout int64) Result {
	args := &t.Call.Args
	semid, opsAddr, n := args[0].Int(), args[1].Pointer(), args[2].Uint64()
	switch {
	case n < 1 || semid < 0:
		return fail(unix.EINVAL)
	case n > uint64(ipcLimits(k, t).SemOps):
		return fail(unix.E2BIG)
	}
	b := make([]byte, 6*n)
	if !k.Peek(t, opsAddr, b) {
		return fail(unix.EFAULT)
	}
	s, p := semSet(k, t, semid), k.Proc(t)
	switch {
	case s == nil && t.Call.Again:
		return fail(unix.EIDRM)
	case s == nil:
		return fail(unix.EINVAL)
	}
	values := slices.Clone(s.Values)
	want := uint32(4)
	for b := b; len(b) > 0; b = b[6:] {
		number, op, flags := semOp(b)
		if number >= len(values) {
			return fail(unix.EFBIG)
		}
		if op != 0 {
			want = 2
		}
		if !s.Perm.Allows(p, want) {
			return fail(unix.EACCES)
		}
		v := values[number] + op
		if v > semMaxValue {
			return fail(unix.ERANGE)
		}
		if v < 0 || op == 0 && v != 0 {
			if flags&unix.IPC_NOWAIT != 0 || t.Expired(k) || timeout == 0 && !t.Call.Again {
				return fail(unix.EAGAIN)
			}
			t.Call.Aux = int64(number)<<1 | int64(kernel.Bit(op == 0))
			return k.Block(t, k.Deadline(t, timeout), Key{Kind: kernel.KeySem, ID: s.ID})
		}
		values[number] = v
	}
	t.Call.Mix(b)
	for ; len(b) > 0; b = b[6:] {
		number, op, flags := semOp(b)
		s.PIDs[number] = p.PID
		if flags&semUndo != 0 && op != 0 {
			p.UndoOf(s.ID, number, -op)
		}
	}
	s.Values, s.OtNs = values, k.RealNs(k.Node(t))
	k.Wake(Key{Kind: kernel.KeySem, ID: s.ID}, kernel.AllEvents)
	return 0
}

// semOp reads a struct sembuf.
func semOp(b []byte) (number, op, flags int) {
	le := binary.LittleEndian
	return int(le.Uint16(b)), int(int16(le.Uint16(b[2:]))), int(le.Uint16(b[4:]))
}

// semExit gives back what an ending process has taken with SEM_UNDO.
func semExit(k *Kernel, p *Proc) {
	for _, u := range p.Undo {
		if s := k.Sems[u.Set]; s != nil && u.Adjust != 0 {
			s.Values[u.Number] = min(max(s.Values[u.Number]+u.Adjust, 0), semMaxValue)
			s.PIDs[u.Number] = p.PID
			k.Wake(Key{Kind: kernel.KeySem, ID: s.ID}, kernel.AllEvents)
		}
	}
	p.Undo = nil
}

// forgetUndo drops what processes would give back to a semaphore that was set anew.
func forgetUndo(k *Kernel, set int64, number int) {
	for _, p := range k.Procs { // each for itself: the order leaves no trace
		p.Undo = slices.DeleteFunc(p.Undo, func(u kernel.SemUndo) bool { return u.Set == set && (number < 0 || u.Number == number) })
	}
}

// semDenied says why a process may not do what semctl asks, or 0.
func semDenied(s *kernel.SemSet, p *Proc, cmd, number int) unix.Errno {
	want := uint32(4)
	if cmd == semSetVal || cmd == semSetAll {
		want = 2
	}
	switch cmd {
	case unix.IPC_RMID, unix.IPC_SET:
		if !s.Perm.Owns(p) {
			return unix.EPERM
		}
	case semStatAny:
	default:
		if !s.Perm.Allows(p, want) {
			return unix.EACCES
		}
	}
	switch cmd {
	case semGetPID, semGetVal, semGetNCnt, semGetZCnt, semSetVal:
		if number < 0 || number >= len(s.Values) {
			return unix.EINVAL
		}
	}
	return 0
}

func sysSemctl(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	semid, number, cmd, arg := args[0].Int(), args[1].Int(), args[2].Int(), args[3].Uint64()
	cmd &^= 0x100
	s, p, done := semSet(k, t, semid), k.Proc(t), Result(0)
	switch cmd {
	case ipcInfo, semInfo:
		return semLimits(k, t, cmd, arg)
	case semStat, semStatAny:
		id, ok := idAt(objects(t.Node, k.Sems, func(s *kernel.SemSet) kernel.NodeID { return s.Perm.Node }), semid)
		if !ok {
			return fail(unix.EINVAL)
		}
		s, done = k.Sems[id], Result(id)
	}
	if s == nil {
		return fail(unix.EINVAL)
	}
	if e := semDenied(s, p, cmd, number); e != 0 {
		return fail(e)
	}
	key := Key{Kind: kernel.KeySem, ID: s.ID}
	le := binary.LittleEndian
	switch cmd {
	case unix.IPC_RMID:
		delete(k.Sems, s.ID)
		forgetUndo(k, s.ID, -1)
		k.Wake(key, kernel.AllEvents)
	case unix.IPC_SET:
		var b [48]byte
		if !k.Peek(t, arg, b[:]) {
			return fail(unix.EFAULT)
		}
		t.Call.Mix(permBytes(b[:]))
		s.Perm.Set(b[:], k.RealNs(k.Node(t)))
	case unix.IPC_STAT, semStat, semStatAny:
		b := append(s.Perm.Bytes(), make([]byte, 56)...)
		le.PutUint64(b[48:], uint64(s.OtNs/1e9))
		le.PutUint64(b[64:], uint64(s.Perm.CtNs/1e9))
		le.PutUint64(b[80:], uint64(len(s.Values)))
		if !k.Out(t, arg, b) {
			return fail(unix.EFAULT)
		}
	case semGetVal:
		return Result(s.Values[number])
	case semGetPID:
		return Result(s.PIDs[number])
	case semGetNCnt, semGetZCnt:
		count := Result(0)
		for _, id := range k.Waiting[key] {
			if k.Threads[id].Call.Aux == int64(number)<<1|int64(kernel.Bit(cmd == semGetZCnt)) {
				count++
			}
		}
		return count
	case semSetVal:
		v := int(int32(arg))
		if v < 0 || v > semMaxValue {
			return fail(unix.ERANGE)
		}
		s.Values[number], s.PIDs[number], s.Perm.CtNs = v, p.PID, k.RealNs(k.Node(t))
		forgetUndo(k, s.ID, number)
		k.Wake(key, kernel.AllEvents)
	case semGetAll:
		b := make([]byte, 2*len(s.Values))
		for i, v := range s.Values {
			le.PutUint16(b[2*i:], uint16(v))
		}
		if !k.Out(t, arg, b) {
			return fail(unix.EFAULT)
		}
	case semSetAll:
		return setAllSems(k, t, s, arg)
	default: // Linux knows no other
		return fail(unix.EINVAL)
	}
	return done
}

func setAllSems(k *Kernel, t *Thread, s *kernel.SemSet, addr uint64) Result {
	b := make([]byte, 2*len(s.Values))
	if !k.In(t, addr, b) {
		return fail(unix.EFAULT)
	}
	for i := range s.Values {
		if binary.LittleEndian.Uint16(b[2*i:]) > semMaxValue {
			return fail(unix.ERANGE)
		}
	}
	for i := range s.Values {
		s.Values[i], s.PIDs[i] = int(binary.LittleEndian.Uint16(b[2*i:])), k.Proc(t).PID
	}
	s.Perm.CtNs = k.RealNs(k.Node(t))
	forgetUndo(k, s.ID, -1)
	k.Wake(Key{Kind: kernel.KeySem, ID: s.ID}, kernel.AllEvents)
	return 0
}

func sysMsgget(k *Kernel, t *Thread) Result {
	key, flags := int64(t.Call.Args[0].Int()), t.Call.Args[1].Int()
	id, e := ipcGet(k.Proc(t), k.Queues, key, flags)
	switch {
	case e != 0:
		return fail(e)
	case id != 0:
		return Result(id)
	}
	limits := ipcLimits(k, t)
	if queues, _ := held(t.Node, k.Queues, func(q *kernel.MsgQueue) (kernel.NodeID, int64) { return q.Perm.Node, 0 }); queues >= limits.MsgQueues {
		return fail(unix.ENOSPC)
	}
	q := &kernel.MsgQueue{ID: k.NewID("msg"), Perm: ipcPerm(k, t, key, flags), Limit: int(limits.MsgQueueBytes)}
	k.Queues[q.ID] = q
	return Result(q.ID)
}

// queue gives a message queue; without one the errno says whether it was removed during a wait.
func queue(k *Kernel, t *Thread, id int) (*kernel.MsgQueue, unix.Errno) {
	q := k.Queues[int64(id)]
	switch {
	case q != nil && q.Perm.Node == t.Node:
		return q, 0
	case t.Call.Again:
		return nil, unix.EIDRM
	}
	return nil, unix.EINVAL
}

func sysMsgsnd(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	msqid, msgAddr, size, flags := args[0].Int(), args[1].Pointer(), args[2].Int64(), args[3].Int()
	typ, ok := k.InU64(t, msgAddr)
	switch {
	case !ok:
		return fail(unix.EFAULT)
	case size < 0 || size > ipcLimits(k, t).MsgBytes || msqid < 0 || int64(typ) < 1:
		return fail(unix.EINVAL)
	}
	data := make([]byte, size)
	if !k.Peek(t, msgAddr+8, data) {
		return fail(unix.EFAULT)
	}
	q, e := queue(k, t, msqid)
	switch {
	case e != 0:
		return fail(e)
	case !q.Perm.Allows(k.Proc(t), 2):
		return fail(unix.EACCES)
	case q.Bytes+len(data) > q.Limit || len(q.Messages)+1 > q.Limit:
		if flags&unix.IPC_NOWAIT != 0 {
			k.Empty(t)
			return fail(unix.EAGAIN)
		}
		return k.Block(t, 0, Key{Kind: kernel.KeyMsg, ID: q.ID})
	}
	t.Call.Mix(data)
	q.Messages = append(q.Messages, kernel.Msg{Type: int64(typ), Data: data})
	q.Bytes += len(data)
	q.LastSent, q.StNs = k.Proc(t).PID, k.RealNs(k.Node(t))
	k.Wake(Key{Kind: kernel.KeyMsg, ID: q.ID}, kernel.AllEvents)
	return 0
}

func sysMsgrcv(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	msqid, msgAddr, size, typ := args[0].Int(), args[1].Pointer(), args[2].Int64(), args[3].Int64()
	flags := args[4].Int()
	if size < 0 || msqid < 0 {
		return fail(unix.EINVAL)
	}
	if flags&0o40000 != 0 { // MSG_COPY
		return k.Refuse(t, "msgrcv(MSG_COPY)", unix.ENOSYS)
	}
	q, e := queue(k, t, msqid)
	switch {
	case e != 0:
		return fail(e)
	case !q.Perm.Allows(k.Proc(t), 4):
		return fail(unix.EACCES)
	}
	i := q.Find(typ, flags&msgExcept != 0)
	if i < 0 {
		if flags&unix.IPC_NOWAIT != 0 {
			k.Empty(t)
			return fail(unix.ENOMSG)
		}
		return k.Block(t, 0, Key{Kind: kernel.KeyMsg, ID: q.ID})
	}
	m := q.Messages[i]
	data := m.Data
	if int64(len(data)) > size {
		if flags&msgNoError == 0 {
			return fail(unix.E2BIG)
		}
		data = data[:size]
	}
	q.Messages = slices.Delete(q.Messages, i, i+1)
	q.Bytes -= len(m.Data)
	q.LastRead, q.RtNs = k.Proc(t).PID, k.RealNs(k.Node(t))
	k.Wake(Key{Kind: kernel.KeyMsg, ID: q.ID}, kernel.AllEvents)
	if !k.OutU64(t, msgAddr, uint64(m.Type)) || !k.Out(t, msgAddr+8, data) {
		return fail(unix.EFAULT)
	}
	return Result(len(data))
}

func sysMsgctl(k *Kernel, t *Thread) Result {
	args := &t.Call.Args
	msqid, cmd, addr := args[0].Int(), args[1].Int(), args[2].Pointer()
	cmd &^= 0x100
	done := Result(0)
	switch cmd {
	case ipcInfo, msgInfo:
		return msgLimits(k, t, cmd, addr)
	case msgStat, msgStatAny:
		id, ok := idAt(objects(t.Node, k.Queues, func(q *kernel.MsgQueue) kernel.NodeID { return q.Perm.Node }), msqid)
		if !ok {
			return fail(unix.EINVAL)
		}
		msqid, done = int(id), Result(id)
	case unix.IPC_RMID, unix.IPC_SET, unix.IPC_STAT:
	default: // Linux knows no other
		return fail(unix.EINVAL)
	}
	q, e := queue(k, t, msqid)
	if e != 0 {
		return fail(e)
	}
	p := k.Proc(t)
	stat := cmd == unix.IPC_STAT || cmd == msgStat
	switch {
	case cmd == msgStatAny:
	case stat && !q.Perm.Allows(p, 4):
		return fail(unix.EACCES)
	case !stat && !q.Perm.Owns(p):
		return fail(unix.EPERM)
	}
	le := binary.LittleEndian
	switch cmd {
	case unix.IPC_RMID:
		delete(k.Queues, q.ID)
		k.Wake(Key{Kind: kernel.KeyMsg, ID: q.ID}, kernel.AllEvents)
	case unix.IPC_SET:
		var b [96]byte
		if !k.Peek(t, addr, b[:]) {
			return fail(unix.EFAULT)
		}
		t.Call.Mix(permBytes(b[:]))
		t.Call.Mix(b[88:96])
		limit := le.Uint64(b[88:])
		if limit > uint64(ipcLimits(k, t).MsgQueueBytes) && p.Cred.EUID != 0 {
			return fail(unix.EPERM)
		}
		q.Perm.Set(b[:], k.RealNs(k.Node(t)))
		q.Limit = int(min(limit, 1<<30))
		k.Wake(Key{Kind: kernel.KeyMsg, ID: q.ID}, kernel.AllEvents)
	case unix.IPC_STAT, msgStat, msgStatAny:
		b := append(q.Perm.Bytes(), make([]byte, 72)...)
		for i, v := range []int64{q.StNs / 1e9, q.RtNs / 1e9, q.Perm.CtNs / 1e9, int64(q.Bytes), int64(len(q.Messages)), int64(q.Limit)} {
			le.PutUint64(b[48+8*i:], uint64(v))
		}
		le.PutUint32(b[96:], uint32(q.LastSent))
		le.PutUint32(b[100:], uint32(q.LastRead))
		if !k.Out(t, addr, b) {
			return fail(unix.EFAULT)
		}
	}
	return done
}
