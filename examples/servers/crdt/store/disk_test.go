package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestDiskKeepsWhatItHasSaved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "log")
	d, records, err := openDisk(path)
	if err != nil || len(records) > 0 {
		t.Fatal(records, err)
	}
	one := record{Key: "a\n", Value: Value{Register: &Register{Value: "x"}}}
	two := record{Key: "b", Value: Value{Counter: &Counter{Added: map[string]int64{"r1": 3}}}}
	if err := d.Append(one); err != nil {
		t.Fatal(err)
	}
	begin, _ := os.ReadFile(path)
	if err := d.Append(two); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := len(begin); cut <= len(whole); cut++ {
		want := 1
		if cut == len(whole) {
			want = 2
		}
		if err := os.WriteFile(path, whole[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		d, records, err := openDisk(path)
		if err != nil || len(records) != want || records[0].Key != one.Key || !records[0].Value.equal(one.Value) {
			t.Fatalf("cut at %d of %d: %+v, %v", cut, len(whole), records, err)
		}
		if err := d.Append(two); err != nil {
			t.Fatal(err)
		}
		if _, records, err := openDisk(path); err != nil || len(records) != want+1 || !records[want].Value.equal(two.Value) {
			t.Fatalf("cut at %d, then: %+v, %v", cut, records, err)
		}
	}
}
