//go:build tidwal

package main

import "github.com/tidwall/wal"

const dumpEvery = 40

// tidwallLog is a log with small segments.
type tidwallLog struct{ *wal.Log }

func open() (store, error) {
	l, err := wal.Open("/data/wal", &wal.Options{SegmentSize: 4096})
	if err != nil {
		return nil, err
	}
	return newLogStore(tidwallLog{l})
}

func (l tidwallLog) first() (uint64, error)               { return l.FirstIndex() }
func (l tidwallLog) last() (uint64, error)                { return l.LastIndex() }
func (l tidwallLog) read(i uint64) ([]byte, error)        { return l.Read(i) }
func (l tidwallLog) write(i uint64, b []byte) error       { return l.Write(i, b) }
func (l tidwallLog) forget(_ uint64, before uint64) error { return l.TruncateFront(before) }
