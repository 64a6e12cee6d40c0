package main

import "github.com/bloodhound-dst/bloodhound/examples/servers/internal/journal"

// record is what changed at once: the epoch and the vote, and the log from an entry on.
type record struct {
	Epoch    int
	VotedFor string
	From     int
	Entries  []entry
}

// openDisk opens or creates a broker's journal and returns its records.
func openDisk(path string) (*journal.Journal[record], []record, error) {
	return journal.Open[record](path, journal.Options{})
}
