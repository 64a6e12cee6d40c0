//go:build linux && amd64

package kernel

import (
	"encoding/binary"
	"slices"
)

// System V semaphores and message queues (semop(2), msgop(2)). Shared memory is in memmap.go.

// IPCLimits are a node's limits of objects of System V (sysvipc(7)).
type IPCLimits struct {
	SemSets, SemInSet, SemOps int
	Sems                      int64 // in all sets
	MsgQueues                 int
	MsgBytes, MsgQueueBytes   int64 // of a message, of a queue
	ShmSegments               int
	ShmBytes, ShmPages        int64 // of a segment, of all of them
}

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
	PIDs   []int // the process that changed each one last
	OtNs   int64
}

// SemUndo is an adjustment of a semaphore that the end of a process undoes (SEM_UNDO).
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

// Allows checks an access of the bits read 4 and write 2.
func (x *IPCPerm) Allows(p *Proc, want uint32) bool {
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

// Owns reports whether a process may change an object.
func (x *IPCPerm) Owns(p *Proc) bool {
	return p.Cred.EUID == 0 || p.Cred.EUID == x.UID || p.Cred.EUID == x.CreatorUID
}

// Bytes is a struct ipc64_perm.
func (x *IPCPerm) Bytes() []byte {
	b := make([]byte, 48)
	for i, v := range []uint32{uint32(x.Key), uint32(x.UID), uint32(x.GID), uint32(x.CreatorUID), uint32(x.CreatorGID), x.Mode} {
		binary.LittleEndian.PutUint32(b[4*i:], v)
	}
	return b
}

// Set takes owner and mode from the structure of IPC_SET.
func (x *IPCPerm) Set(b []byte, now int64) {
	le := binary.LittleEndian
	x.UID, x.GID = int(le.Uint32(b[4:])), int(le.Uint32(b[8:]))
	x.Mode = le.Uint32(b[20:]) & 0o777
	x.CtNs = now
}

// Permissions returns the permissions of the set.
func (s *SemSet) Permissions() *IPCPerm { return &s.Perm }

// Permissions returns the permissions of the queue.
func (q *MsgQueue) Permissions() *IPCPerm { return &q.Perm }

// UndoOf adds to what the process' end undoes of a semaphore (SEM_UNDO).
func (p *Proc) UndoOf(set int64, number, adjust int) {
	for i := range p.Undo {
		if u := &p.Undo[i]; u.Set == set && u.Number == number {
			u.Adjust += adjust
			return
		}
	}
	p.Undo = append(p.Undo, SemUndo{set, number, adjust})
}

// Find chooses the message that msgrcv takes, -1 if there is none.
func (q *MsgQueue) Find(typ int64, except bool) int {
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

// What ipcs(1) and the like ask for by semctl, msgctl and shmctl: limits, sums, and objects by their place instead of their number.

// Permissions is a segment's owner, who is always its creator, and its mode.
func (s *ShmSegment) Permissions() *IPCPerm {
	return &IPCPerm{UID: s.UID, GID: s.GID, CreatorUID: s.UID, CreatorGID: s.GID, Mode: s.Mode}
}
