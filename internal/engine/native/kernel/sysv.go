//go:build linux && amd64

package kernel

import (
	"encoding/binary"
	"slices"

	"golang.org/x/sys/unix"
)

// System V semaphores and message queues (semop(2), msgop(2)). Shared memory is in memmap.go.

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

// IPCLimits are a node's limits of objects of System V (sysvipc(7)).
type IPCLimits struct {
	SemSets, SemInSet, SemOps int
	Sems                      int64 // in all sets
	MsgQueues                 int
	MsgBytes, MsgQueueBytes   int64 // of a message, of a queue
	ShmSegments               int
	ShmBytes, ShmPages        int64 // of a segment, of all of them
}

// DefaultIPC are the limits of a node without settings of its own.
func DefaultIPC() IPCLimits {
	return IPCLimits{SemSets: semMaxSets, SemInSet: semMaxInSet, SemOps: semMaxOps, Sems: semMax, MsgQueues: msgMaxQueues,
		MsgBytes: msgMaxBytes, MsgQueueBytes: msgQueueBytes, ShmSegments: shmMaxCount, ShmBytes: shmMax, ShmPages: shmMax}
}

func (k *Kernel) ipcLimits(t *Thread) IPCLimits {
	if l := k.node(t).IPC; l != nil {
		return *l
	}
	return DefaultIPC()
}

// held counts a node's objects of a kind of System V, and their parts.
func held[T any](n NodeID, all map[int64]*T, of func(*T) (NodeID, int64)) (count int, parts int64) {
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

// IPCPerm is the owner and the mode of an object of System V.
type IPCPerm struct {
	Key                              int64
	Node                             NodeID
	UID, GID, CreatorUID, CreatorGID int
	Mode                             uint32
	CtNs                             int64
}

// SemSet is a set of semaphores.
type SemSet struct {
	ID     int64
	Perm   IPCPerm
	Values []int
	PIDs   []int // who changed each one last
	OtNs   int64
}

// SemUndo is what a process' end gives back to a semaphore (SEM_UNDO).
type SemUndo struct {
	Set    int64
	Number int
	Adjust int
}

// MsgQueue is a message queue.
type MsgQueue struct {
	ID                 int64
	Perm               IPCPerm
	Messages           []Msg
	Bytes, Limit       int
	LastSent, LastRead int // pids
	StNs, RtNs         int64
}

// Msg is a message of a queue.
type Msg struct {
	Type int64
	Data []byte
}

func (k *Kernel) ipcPerm(t *Thread, key int64, flags int) IPCPerm {
	c := k.proc(t).Cred
	return IPCPerm{Key: key, Node: t.Node, UID: c.EUID, GID: c.EGID, CreatorUID: c.EUID, CreatorGID: c.EGID, Mode: uint32(flags & 0o777),
		CtNs: k.RealNs(k.node(t))}
}

// allows checks an access of the bits read 4 and write 2.
func (x *IPCPerm) allows(p *Proc, want uint32) bool {
	mode := x.Mode
	switch c := &p.Cred; {
	case c.EUID == 0:
		return true
	case c.EUID == x.UID || c.EUID == x.CreatorUID:
		mode >>= 6
	case c.EGID == x.GID || c.EGID == x.CreatorGID || slices.Contains(c.Groups, x.GID):
		mode >>= 3
	}
	return mode&want == want
}

func (x *IPCPerm) owns(p *Proc) bool {
	return p.Cred.EUID == 0 || p.Cred.EUID == x.UID || p.Cred.EUID == x.CreatorUID
}

// bytes is a struct ipc64_perm.
func (x *IPCPerm) bytes() []byte {
	b := make([]byte, 48)
	for i, v := range []uint32{uint32(x.Key), uint32(x.UID), uint32(x.GID), uint32(x.CreatorUID), uint32(x.CreatorGID), x.Mode} {
		binary.LittleEndian.PutUint32(b[4*i:], v)
	}
	return b
}

// set is IPC_SET: b is a struct ipc64_perm.
// permBytes is what set takes from a structure. The rest of it is not looked at.
func permBytes(b []byte) []byte {
	return slices.Concat(b[4:12], b[20:22])
}

func (x *IPCPerm) set(b []byte, now int64) {
	le := binary.LittleEndian
	x.UID, x.GID = int(le.Uint32(b[4:])), int(le.Uint32(b[8:]))
	x.Mode = le.Uint32(b[20:]) & 0o777
	x.CtNs = now
}

func (s *SemSet) perm() *IPCPerm   { return &s.Perm }
func (q *MsgQueue) perm() *IPCPerm { return &q.Perm }

// ipcGet is what semget and msgget have in common: the id of an object that exists, or 0 to make one.
func ipcGet[T interface{ perm() *IPCPerm }](p *Proc, all map[int64]T, key int64, flags int) (int64, unix.Errno) {
	var found int64
	var perm *IPCPerm
	for id, x := range all { // keys are unique on a node: the order leaves no trace
		if x := x.perm(); key != unix.IPC_PRIVATE && x.Key == key && x.Node == p.Node {
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
	case !perm.allows(p, uint32(flags&0o777|flags>>3&0o77|flags>>6&7)&7):
		return 0, unix.EACCES
	}
	return found, 0
}

func sysSemget(k *Kernel, t *Thread) Result {
	key, count, flags := int64(int32(t.Call.Args[0])), int(int32(t.Call.Args[1])), int(int32(t.Call.Args[2]))
	limits := k.ipcLimits(t)
	if count < 0 || count > limits.SemInSet {
		return fail(unix.EINVAL)
	}
	id, e := ipcGet(k.proc(t), k.Sems, key, flags)
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
	sets, sems := held(t.Node, k.Sems, func(s *SemSet) (NodeID, int64) { return s.Perm.Node, int64(len(s.Values)) })
	if sets >= limits.SemSets || sems+int64(count) > limits.Sems {
		return fail(unix.ENOSPC)
	}
	s := &SemSet{ID: k.id("sem"), Perm: k.ipcPerm(t, key, flags), Values: make([]int, count), PIDs: make([]int, count)}
	k.Sems[s.ID] = s
	return Result(s.ID)
}

func (k *Kernel) semSet(t *Thread, id uint64) *SemSet {
	if s := k.Sems[int64(int32(id))]; s != nil && s.Perm.Node == t.Node {
		return s
	}
	return nil
}

func sysSemop(k *Kernel, t *Thread) Result { return k.semop(t, -1) }

func sysSemtimedop(k *Kernel, t *Thread) Result {
	timeout := int64(-1)
	if a := t.Call.Args[3]; a != 0 && !t.Call.Again {
		var e unix.Errno
		if timeout, e = k.timespec(t, a); e != 0 {
			return fail(e)
		}
	}
	return k.semop(t, timeout)
}

func (k *Kernel) semop(t *Thread, timeout int64) Result {
	n := t.Call.Args[2]
	switch {
	case n < 1 || int32(t.Call.Args[0]) < 0:
		return fail(unix.EINVAL)
	case n > uint64(k.ipcLimits(t).SemOps):
		return fail(unix.E2BIG)
	}
	b := make([]byte, 6*n)
	if !k.peek(t, t.Call.Args[1], b) {
		return fail(unix.EFAULT)
	}
	s, p := k.semSet(t, t.Call.Args[0]), k.proc(t)
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
		if !s.Perm.allows(p, want) {
			return fail(unix.EACCES)
		}
		v := values[number] + op
		if v > semMaxValue {
			return fail(unix.ERANGE)
		}
		if v < 0 || op == 0 && v != 0 {
			if flags&unix.IPC_NOWAIT != 0 || t.expired(k) || timeout == 0 && !t.Call.Again {
				return fail(unix.EAGAIN)
			}
			t.Call.Aux = int64(number)<<1 | int64(b2i(op == 0))
			return k.block(t, k.deadline(t, timeout), Key{Kind: KeySem, ID: s.ID})
		}
		values[number] = v
	}
	t.Call.digest(b)
	for ; len(b) > 0; b = b[6:] {
		number, op, flags := semOp(b)
		s.PIDs[number] = p.PID
		if flags&semUndo != 0 && op != 0 {
			p.undo(s.ID, number, -op)
		}
	}
	s.Values, s.OtNs = values, k.RealNs(k.node(t))
	k.Wake(Key{Kind: KeySem, ID: s.ID}, AllEvents)
	return 0
}

// semOp reads a struct sembuf.
func semOp(b []byte) (number, op, flags int) {
	le := binary.LittleEndian
	return int(le.Uint16(b)), int(int16(le.Uint16(b[2:]))), int(le.Uint16(b[4:]))
}

func (p *Proc) undo(set int64, number, adjust int) {
	for i := range p.Undo {
		if u := &p.Undo[i]; u.Set == set && u.Number == number {
			u.Adjust += adjust
			return
		}
	}
	p.Undo = append(p.Undo, SemUndo{set, number, adjust})
}

// semExit gives back what an ending process has taken with SEM_UNDO.
func (k *Kernel) semExit(p *Proc) {
	for _, u := range p.Undo {
		if s := k.Sems[u.Set]; s != nil && u.Adjust != 0 {
			s.Values[u.Number] = min(max(s.Values[u.Number]+u.Adjust, 0), semMaxValue)
			s.PIDs[u.Number] = p.PID
			k.Wake(Key{Kind: KeySem, ID: s.ID}, AllEvents)
		}
	}
	p.Undo = nil
}

// forgetUndo drops what processes would give back to a semaphore that was set anew.
func (k *Kernel) forgetUndo(set int64, number int) {
	for _, p := range k.Procs { // each for itself: the order leaves no trace
		p.Undo = slices.DeleteFunc(p.Undo, func(u SemUndo) bool { return u.Set == set && (number < 0 || u.Number == number) })
	}
}

func sysSemctl(k *Kernel, t *Thread) Result {
	a := &t.Call.Args
	number, cmd := int(int32(a[1])), int(int32(a[2]))&^0x100
	s, p, done := k.semSet(t, a[0]), k.proc(t), Result(0)
	switch cmd {
	case ipcInfo, semInfo:
		return k.semLimits(t, cmd, a[3])
	case semStat, semStatAny:
		id, ok := at(objects(t.Node, k.Sems, func(s *SemSet) NodeID { return s.Perm.Node }), a[0])
		if !ok {
			return fail(unix.EINVAL)
		}
		s, done = k.Sems[id], Result(id)
	}
	if s == nil {
		return fail(unix.EINVAL)
	}
	key := Key{Kind: KeySem, ID: s.ID}
	want := uint32(4)
	if cmd == semSetVal || cmd == semSetAll {
		want = 2
	}
	switch cmd {
	case unix.IPC_RMID, unix.IPC_SET:
		if !s.Perm.owns(p) {
			return fail(unix.EPERM)
		}
	case semStatAny:
	default:
		if !s.Perm.allows(p, want) {
			return fail(unix.EACCES)
		}
	}
	switch cmd {
	case semGetPID, semGetVal, semGetNCnt, semGetZCnt, semSetVal:
		if number < 0 || number >= len(s.Values) {
			return fail(unix.EINVAL)
		}
	}
	le := binary.LittleEndian
	switch cmd {
	case unix.IPC_RMID:
		delete(k.Sems, s.ID)
		k.forgetUndo(s.ID, -1)
		k.Wake(key, AllEvents)
	case unix.IPC_SET:
		var b [48]byte
		if !k.peek(t, a[3], b[:]) {
			return fail(unix.EFAULT)
		}
		t.Call.digest(permBytes(b[:]))
		s.Perm.set(b[:], k.RealNs(k.node(t)))
	case unix.IPC_STAT, semStat, semStatAny:
		b := append(s.Perm.bytes(), make([]byte, 56)...)
		le.PutUint64(b[48:], uint64(s.OtNs/1e9))
		le.PutUint64(b[64:], uint64(s.Perm.CtNs/1e9))
		le.PutUint64(b[80:], uint64(len(s.Values)))
		if !k.out(t, a[3], b) {
			return fail(unix.EFAULT)
		}
	case semGetVal:
		return Result(s.Values[number])
	case semGetPID:
		return Result(s.PIDs[number])
	case semGetNCnt, semGetZCnt:
		count := Result(0)
		for _, id := range k.Waiting[key] {
			if k.Threads[id].Call.Aux == int64(number)<<1|int64(b2i(cmd == semGetZCnt)) {
				count++
			}
		}
		return count
	case semSetVal:
		v := int(int32(a[3]))
		if v < 0 || v > semMaxValue {
			return fail(unix.ERANGE)
		}
		s.Values[number], s.PIDs[number], s.Perm.CtNs = v, p.PID, k.RealNs(k.node(t))
		k.forgetUndo(s.ID, number)
		k.Wake(key, AllEvents)
	case semGetAll:
		b := make([]byte, 2*len(s.Values))
		for i, v := range s.Values {
			le.PutUint16(b[2*i:], uint16(v))
		}
		if !k.out(t, a[3], b) {
			return fail(unix.EFAULT)
		}
	case semSetAll:
		b := make([]byte, 2*len(s.Values))
		if !k.in(t, a[3], b) {
			return fail(unix.EFAULT)
		}
		for i := range s.Values {
			if le.Uint16(b[2*i:]) > semMaxValue {
				return fail(unix.ERANGE)
			}
		}
		for i := range s.Values {
			s.Values[i], s.PIDs[i] = int(le.Uint16(b[2*i:])), p.PID
		}
		s.Perm.CtNs = k.RealNs(k.node(t))
		k.forgetUndo(s.ID, -1)
		k.Wake(key, AllEvents)
	default: // Linux knows no other
		return fail(unix.EINVAL)
	}
	return done
}

func sysMsgget(k *Kernel, t *Thread) Result {
	key, flags := int64(int32(t.Call.Args[0])), int(int32(t.Call.Args[1]))
	id, e := ipcGet(k.proc(t), k.Queues, key, flags)
	switch {
	case e != 0:
		return fail(e)
	case id != 0:
		return Result(id)
	}
	limits := k.ipcLimits(t)
	if queues, _ := held(t.Node, k.Queues, func(q *MsgQueue) (NodeID, int64) { return q.Perm.Node, 0 }); queues >= limits.MsgQueues {
		return fail(unix.ENOSPC)
	}
	q := &MsgQueue{ID: k.id("msg"), Perm: k.ipcPerm(t, key, flags), Limit: int(limits.MsgQueueBytes)}
	k.Queues[q.ID] = q
	return Result(q.ID)
}

// queue gives a message queue; without one the errno says whether it was removed during a wait.
func (k *Kernel) queue(t *Thread, id uint64) (*MsgQueue, unix.Errno) {
	q := k.Queues[int64(int32(id))]
	switch {
	case q != nil && q.Perm.Node == t.Node:
		return q, 0
	case t.Call.Again:
		return nil, unix.EIDRM
	}
	return nil, unix.EINVAL
}

func sysMsgsnd(k *Kernel, t *Thread) Result {
	a := &t.Call.Args
	typ, ok := k.inU64(t, a[1])
	size := int64(a[2])
	switch {
	case !ok:
		return fail(unix.EFAULT)
	case size < 0 || size > k.ipcLimits(t).MsgBytes || int32(a[0]) < 0 || int64(typ) < 1:
		return fail(unix.EINVAL)
	}
	data := make([]byte, size)
	if !k.peek(t, a[1]+8, data) {
		return fail(unix.EFAULT)
	}
	q, e := k.queue(t, a[0])
	switch {
	case e != 0:
		return fail(e)
	case !q.Perm.allows(k.proc(t), 2):
		return fail(unix.EACCES)
	case q.Bytes+len(data) > q.Limit || len(q.Messages)+1 > q.Limit:
		if a[3]&unix.IPC_NOWAIT != 0 {
			k.empty(t)
			return fail(unix.EAGAIN)
		}
		return k.block(t, 0, Key{Kind: KeyMsg, ID: q.ID})
	}
	t.Call.digest(data)
	q.Messages = append(q.Messages, Msg{int64(typ), data})
	q.Bytes += len(data)
	q.LastSent, q.StNs = k.proc(t).PID, k.RealNs(k.node(t))
	k.Wake(Key{Kind: KeyMsg, ID: q.ID}, AllEvents)
	return 0
}

// find chooses the message that msgrcv takes, -1 if there is none.
func (q *MsgQueue) find(typ int64, except bool) int {
	best := -1
	for i, m := range q.Messages {
		switch {
		case typ == 0, typ > 0 && (m.Type == typ) != except:
			return i
		case typ < 0 && m.Type <= -typ && (best < 0 || m.Type < q.Messages[best].Type):
			best = i
		}
	}
	return best
}

func sysMsgrcv(k *Kernel, t *Thread) Result {
	a := &t.Call.Args
	size, typ, flags := int64(a[2]), int64(a[3]), int(int32(a[4]))
	if size < 0 || int32(a[0]) < 0 {
		return fail(unix.EINVAL)
	}
	if flags&0o40000 != 0 { // MSG_COPY
		return k.refuse(t, "msgrcv(MSG_COPY)", unix.ENOSYS)
	}
	q, e := k.queue(t, a[0])
	switch {
	case e != 0:
		return fail(e)
	case !q.Perm.allows(k.proc(t), 4):
		return fail(unix.EACCES)
	}
	i := q.find(typ, flags&msgExcept != 0)
	if i < 0 {
		if flags&unix.IPC_NOWAIT != 0 {
			k.empty(t)
			return fail(unix.ENOMSG)
		}
		return k.block(t, 0, Key{Kind: KeyMsg, ID: q.ID})
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
	q.LastRead, q.RtNs = k.proc(t).PID, k.RealNs(k.node(t))
	k.Wake(Key{Kind: KeyMsg, ID: q.ID}, AllEvents)
	if !k.outU64(t, a[1], uint64(m.Type)) || !k.out(t, a[1]+8, data) {
		return fail(unix.EFAULT)
	}
	return Result(len(data))
}

func sysMsgctl(k *Kernel, t *Thread) Result {
	a := &t.Call.Args
	cmd := int(int32(a[1])) &^ 0x100
	number, done := a[0], Result(0)
	switch cmd {
	case ipcInfo, msgInfo:
		return k.msgLimits(t, cmd, a[2])
	case msgStat, msgStatAny:
		id, ok := at(objects(t.Node, k.Queues, func(q *MsgQueue) NodeID { return q.Perm.Node }), a[0])
		if !ok {
			return fail(unix.EINVAL)
		}
		number, done = uint64(id), Result(id)
	case unix.IPC_RMID, unix.IPC_SET, unix.IPC_STAT:
	default: // Linux knows no other
		return fail(unix.EINVAL)
	}
	q, e := k.queue(t, number)
	if e != 0 {
		return fail(e)
	}
	p := k.proc(t)
	stat := cmd == unix.IPC_STAT || cmd == msgStat
	switch {
	case cmd == msgStatAny:
	case stat && !q.Perm.allows(p, 4):
		return fail(unix.EACCES)
	case !stat && !q.Perm.owns(p):
		return fail(unix.EPERM)
	}
	le := binary.LittleEndian
	switch cmd {
	case unix.IPC_RMID:
		delete(k.Queues, q.ID)
		k.Wake(Key{Kind: KeyMsg, ID: q.ID}, AllEvents)
	case unix.IPC_SET:
		var b [96]byte
		if !k.peek(t, a[2], b[:]) {
			return fail(unix.EFAULT)
		}
		t.Call.digest(permBytes(b[:]))
		t.Call.digest(b[88:96])
		limit := le.Uint64(b[88:])
		if limit > uint64(k.ipcLimits(t).MsgQueueBytes) && p.Cred.EUID != 0 {
			return fail(unix.EPERM)
		}
		q.Perm.set(b[:], k.RealNs(k.node(t)))
		q.Limit = int(min(limit, 1<<30))
		k.Wake(Key{Kind: KeyMsg, ID: q.ID}, AllEvents)
	case unix.IPC_STAT, msgStat, msgStatAny:
		b := append(q.Perm.bytes(), make([]byte, 72)...)
		for i, v := range []int64{q.StNs / 1e9, q.RtNs / 1e9, q.Perm.CtNs / 1e9, int64(q.Bytes), int64(len(q.Messages)), int64(q.Limit)} {
			le.PutUint64(b[48+8*i:], uint64(v))
		}
		le.PutUint32(b[96:], uint32(q.LastSent))
		le.PutUint32(b[100:], uint32(q.LastRead))
		if !k.out(t, a[2], b) {
			return fail(unix.EFAULT)
		}
	}
	return done
}
