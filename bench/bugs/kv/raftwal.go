//go:build raftwal || raftsuffix

package main

import (
	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
)

const dumpEvery = 97

// raftLog is a log of Raft with small segments.
type raftLog struct{ *wal.WAL }

func (l raftLog) first() (uint64, error) { return l.FirstIndex() }
func (l raftLog) last() (uint64, error)  { return l.LastIndex() }

func (l raftLog) read(i uint64) ([]byte, error) {
	var e raft.Log
	err := l.GetLog(i, &e)
	return e.Data, err
}

func (l raftLog) write(i uint64, b []byte) error {
	return l.StoreLog(&raft.Log{Index: i, Term: 1, Data: b})
}

func (l raftLog) forget(first, before uint64) error {
	if first >= before-1 {
		return nil
	}
	return l.DeleteRange(first, before-1)
}
