package main

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/bloodhound-dst/bloodhound/examples/servers/distributed-kv/raft"
)

func entry(index uint64, command string) raft.Entry {
	return raft.Entry{Index: index, Term: 1, Command: []byte(command)}
}

func TestDiskKeepsWhatItHasSaved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "log")
	d, saved, err := openDisk(path, true)
	if err != nil || len(saved) > 0 {
		t.Fatal(saved, err)
	}
	want := []raft.Saved{
		{Term: 2, Vote: "kv1", Snapshot: &raft.Snapshot{Index: 1, Term: 1, State: []byte("{}")}, Entries: []raft.Entry{entry(2, "b")}},
		{Term: 3},
		{Term: 3, Entries: []raft.Entry{entry(3, "c\n"), entry(4, "d")}},
	}
	for _, s := range append([]raft.Saved{{Term: 1, Entries: []raft.Entry{entry(1, "a"), entry(2, "b")}}}, want...) {
		if err := d.save(&s); err != nil {
			t.Fatal(err)
		}
	}
	if _, saved, err := openDisk(path, true); err != nil || !reflect.DeepEqual(saved, want) {
		t.Fatalf("%+v, %v; want %+v", saved, err, want)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begin := bytes.LastIndexByte(whole[:len(whole)-1], '\n') + 1
	// Wherever the power goes in the last record, what comes before it is there, and the next record is read after it.
	for cut := begin; cut < len(whole); cut++ {
		for _, zeros := range []bool{false, true} {
			text := append([]byte{}, whole[:cut]...)
			if zeros {
				text = append(text, make([]byte, len(whole)-cut)...)
			}
			if err := os.WriteFile(path, text, 0o644); err != nil {
				t.Fatal(err)
			}
			d, saved, err := openDisk(path, true)
			if err != nil || !reflect.DeepEqual(saved, want[:2]) {
				t.Fatalf("torn at %d: %+v, %v", cut-begin, saved, err)
			}
			if err := d.save(&raft.Saved{Term: 9}); err != nil {
				t.Fatal(err)
			}
			if _, saved, err := openDisk(path, true); err != nil || len(saved) != 3 || saved[2].Term != 9 {
				t.Fatalf("torn at %d, then: %+v, %v", cut-begin, saved, err)
			}
		}
	}
	whole[begin-3] ^= 1
	if err := os.WriteFile(path, whole, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := openDisk(path, true); err == nil {
		t.Error("damage in the middle is not found")
	}
}
