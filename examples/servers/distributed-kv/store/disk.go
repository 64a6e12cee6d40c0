package main

import (
	"github.com/bloodhound-dst/bloodhound/examples/servers/distributed-kv/raft"
	"github.com/bloodhound-dst/bloodhound/examples/servers/internal/journal"
)

// disk is a node's log file.
type disk struct{ *journal.Journal[*raft.Saved] }

// openDisk opens or creates the file and returns what was saved. A store that does not synchronise it is fast, and loses what it has acknowledged.
func openDisk(path string, sync bool) (*disk, []raft.Saved, error) {
	j, records, err := journal.Open[*raft.Saved](path, journal.Options{Lazy: !sync})
	saved := make([]raft.Saved, len(records))
	for i, r := range records {
		saved[i] = *r
	}
	return &disk{j}, saved, err
}

// save returns when s is on the disk. A snapshot takes the place of all that was saved before.
func (d *disk) save(s *raft.Saved) error {
	if s.Snapshot == nil {
		return d.Append(s)
	}
	return d.Replace(s)
}
