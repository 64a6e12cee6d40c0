package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestTornJournal cuts the last record off at each of its bytes: what was saved before is there, and the journal can be continued.
func TestTornJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	d, _, err := openDisk(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Append(record{Epoch: 1, VotedFor: "a"}); err != nil {
		t.Fatal(err)
	}
	first, _ := os.ReadFile(path)
	if err := d.Append(record{Epoch: 1, VotedFor: "a", Entries: []entry{{1, command{Op: opBegin}}}}); err != nil {
		t.Fatal(err)
	}
	all, _ := os.ReadFile(path)
	for n := len(first); n < len(all); n++ {
		os.WriteFile(path, all[:n], 0o666)
		_, records, err := openDisk(path)
		if err != nil || len(records) != 1 || records[0].VotedFor != "a" {
			t.Fatalf("%d of %d bytes: %v, %+v", n, len(all), err, records)
		}
	}
	all[3] ^= 1
	os.WriteFile(path, all, 0o666)
	if _, _, err := openDisk(path); err == nil {
		t.Error("a damaged record in the middle goes unnoticed")
	}
}
