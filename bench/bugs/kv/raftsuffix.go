//go:build raftsuffix

package main

import wal "github.com/hashicorp/raft-wal"

// replaceEvery is how many writes there are to one that replaces an entry.
const replaceEvery = 50

// follower is a log whose last entry is replaced now and then, as a Raft follower does with one that its leader does not have.
type follower struct{ raftLog }

func open() (store, error) {
	l, err := wal.Open("/data", wal.WithSegmentSize(16<<10))
	if err != nil {
		return nil, err
	}
	return newLogStore(follower{raftLog{l}})
}

func (l follower) write(i uint64, b []byte) error {
	if i%replaceEvery == 0 {
		if err := l.raftLog.write(i, []byte("{}")); err != nil {
			return err
		}
		if err := l.DeleteRange(i, i); err != nil {
			return err
		}
	}
	return l.raftLog.write(i, b)
}
