//go:build raftwal

package main

import wal "github.com/hashicorp/raft-wal"

func open() (store, error) {
	l, err := wal.Open("/data", wal.WithSegmentSize(16<<10))
	if err != nil {
		return nil, err
	}
	return newLogStore(raftLog{l})
}
