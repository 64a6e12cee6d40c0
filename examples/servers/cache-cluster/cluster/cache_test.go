package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestComeback is the mistake in its smallest form: the ring is what it was, and another node has owned the keys meanwhile.
func TestComeback(t *testing.T) {
	for _, keepOwned := range []bool{false, true} {
		h := holdings{node: "a", values: map[string]value{}, keepOwned: keepOwned}
		h.adopt(view{3, []string{"a", "b"}})
		for _, k := range []string{"k1", "k2", "k3", "k4", "k5", "k6"} {
			if h.ring.owner(k) == "a" {
				h.values[k] = value{true, "old"}
			}
		}
		if len(h.values) == 0 {
			t.Fatal("a owns none of the keys")
		}
		if kept, had := h.adopt(view{4, []string{"a"}}); kept != had {
			t.Errorf("b goes, and a keeps %d of %d values that stay its own", kept, had)
		}
		// Epoch 5 was that of b alone.
		if kept, had := h.adopt(view{6, []string{"a", "b"}}); (kept == had) != keepOwned || kept != 0 && kept != had {
			t.Errorf("with the mistake %v, a keeps %d of %d values over an absence", keepOwned, kept, had)
		}
	}
}

// TestTornJournal cuts the last record off at each of its bytes: what was saved before is there.
func TestTornJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	s, err := openStore(path, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	old, new := "old", "new"
	s.save(record{Key: "k", Value: &old})
	first, _ := os.ReadFile(path)
	s.save(record{Key: "k", Value: &new})
	all, _ := os.ReadFile(path)
	for n := len(first); n < len(all); n++ {
		os.WriteFile(path, all[:n], 0o666)
		s, err := openStore(path, time.Unix(0, 0))
		if err != nil || s.values["k"] != old || s.council.epoch != 2 {
			t.Fatalf("%d of %d bytes: %v, %v in epoch %d", n, len(all), err, s.values, s.council.epoch)
		}
	}
	all[3] ^= 1
	os.WriteFile(path, all, 0o666)
	if _, err := openStore(path, time.Unix(0, 0)); err == nil {
		t.Error("a damaged record in the middle goes unnoticed")
	}
}
