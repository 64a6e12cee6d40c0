package coverage

import (
	"hash/fnv"
	"testing"
)

func TestIDsAreFNV(t *testing.T) {
	h := fnv.New64a()
	h.Write([]byte("log\x00became leader term=#"))
	if got := ID(Log, "became leader term=#"); got != h.Sum64() {
		t.Errorf("ID is %x, want %x", got, h.Sum64())
	}
	if ID(Log, "x") == ID(Errno, "x") {
		t.Error("features of two domains are one")
	}
}

func TestSortRemovesRepetitions(t *testing.T) {
	a, b := New(Log, "a"), New(Log, "b")
	got := Sort([]Feature{b, a, b, a})
	if len(got) != 2 || got[0].ID >= got[1].ID {
		t.Errorf("got %v", got)
	}
}
