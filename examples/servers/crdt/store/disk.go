package main

import "github.com/bloodhound-dst/bloodhound/examples/servers/internal/journal"

// record is a line of a replica's file: what a key holds from then on. Since values merge, a file may be read in any order, and
// a line that is missing at its end has never been acknowledged.
type record struct {
	Key   string `json:"k"`
	Value Value  `json:"v"`
}

// openDisk opens or creates a replica's file and returns its records.
func openDisk(path string) (*journal.Journal[record], []record, error) {
	return journal.Open[record](path, journal.Options{TornAnywhere: true})
}
