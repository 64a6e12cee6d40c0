// Package follower gives one message to a follower of etcd's Raft that has lived for a while, and judges what it does.
package follower

import (
	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
)

// Input are the fields of a message that vary.
type Input struct {
	Type, From, Term, LogTerm, Index, Commit uint64
	Entry                                    bool // the message has one entry
	EntryTerm                                uint64
}

// Example is a heartbeat.
var Example = Input{Type: uint64(raftpb.MsgHeartbeat), From: 2, Term: term, Commit: commit}

// The follower: its term, what it knows to be committed, and the terms of the entries in its log.
const (
	term   = 48213
	commit = 3
)

var log = []uint64{17, 17, 905, 905, 31007, 31007}

// sound reports whether a leader that keeps the protocol may send a message: it does not disagree with what is committed, and terms in it do not go down.
func sound(in *Input) bool {
	switch {
	case in.From != 2 && in.From != 3, in.Term == 0, in.Term > 1<<62, in.Type > uint64(raftpb.MsgForgetLeader):
		return false
	case raft.IsLocalMsg(raftpb.MessageType(in.Type)):
		return false
	case in.Type == uint64(raftpb.MsgHeartbeat):
		return in.Commit <= uint64(len(log))
	case in.Type != uint64(raftpb.MsgApp):
		return true
	}
	return in.Index >= commit && in.Index < 1<<32 && in.LogTerm <= in.Term && (!in.Entry || in.LogTerm <= in.EntryTerm && in.EntryTerm <= in.Term)
}

// Step makes a follower, gives it the message, and reports whether it committed no more than the message confirms.
func Step(in *Input) bool {
	if !sound(in) {
		return true
	}
	node := newFollower()
	m := raftpb.Message{Type: raftpb.MessageType(in.Type), From: in.From, To: 1, Term: in.Term, LogTerm: in.LogTerm, Index: in.Index, Commit: in.Commit}
	confirmed := in.Index
	if in.Entry {
		m.Entries = []raftpb.Entry{{Term: in.EntryTerm, Index: in.Index + 1}}
		confirmed++
	}
	if node.Step(m) != nil {
		return true
	}
	now := node.BasicStatus().HardState.Commit
	return now >= commit && (in.Type != uint64(raftpb.MsgApp) || now == commit || now <= confirmed)
}

func newFollower() *raft.RawNode {
	storage := raft.NewMemoryStorage()
	must(storage.ApplySnapshot(raftpb.Snapshot{Metadata: raftpb.SnapshotMetadata{ConfState: raftpb.ConfState{Voters: []uint64{1, 2, 3}}, Index: 1, Term: log[0]}}))
	for i, t := range log[1:] {
		must(storage.Append([]raftpb.Entry{{Term: t, Index: uint64(i) + 2}}))
	}
	must(storage.SetHardState(raftpb.HardState{Term: term, Commit: commit}))
	node, err := raft.NewRawNode(&raft.Config{ID: 1, ElectionTick: 10, HeartbeatTick: 1, Storage: storage, MaxSizePerMsg: 1 << 20, MaxInflightMsgs: 16, Logger: silent{}})
	must(err)
	return node
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// silent logs nothing: formatting would lose what values depend on.
type silent struct{}

func (silent) Debug(...any)              {}
func (silent) Debugf(string, ...any)     {}
func (silent) Error(...any)              {}
func (silent) Errorf(string, ...any)     {}
func (silent) Info(...any)               {}
func (silent) Infof(string, ...any)      {}
func (silent) Warning(...any)            {}
func (silent) Warningf(string, ...any)   {}
func (silent) Fatal(...any)              { panic("fatal") }
func (silent) Fatalf(f string, _ ...any) { panic(f) }
func (silent) Panic(...any)              { panic("panic") }
func (silent) Panicf(f string, _ ...any) { panic(f) }
