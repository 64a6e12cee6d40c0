package code

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/coverage/blocks"
)

func TestBlocksAndBitsSurviveJSON(t *testing.T) {
	h := blocks.Hits{Digest: "d", Path: "/p", Total: 70_000, Blocks: blocks.List{0, 1, 63, 64, 300, 69_999}}
	text, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	var back blocks.Hits
	if err := json.Unmarshal(text, &back); err != nil || !slices.Equal(back.Blocks, h.Blocks) {
		t.Errorf("%v of %s, %v", back.Blocks, text, err)
	}
	for _, wrong := range []string{`{"blocks":"*"}`, `{"blocks":"gA"}`, `{"blocks":"////////////AQ"}`} {
		if json.Unmarshal([]byte(wrong), &back) == nil {
			t.Errorf("%s is accepted", wrong)
		}
	}
}

func TestStateMerges(t *testing.T) {
	s := &State{}
	if fresh := s.Merge(blocks.Hits{Digest: "a", Path: "/a", Total: 100, Blocks: blocks.List{3, 64, 99}}); len(fresh) != 3 {
		t.Errorf("%d are new", fresh)
	}
	// A binary that was replaced is another one; a block beyond the last one is nothing.
	if fresh := s.Merge(blocks.Hits{Digest: "a", Total: 100, Blocks: blocks.List{3, 5, 100}}); !slices.Equal(fresh, blocks.List{5}) {
		t.Errorf("%d are new", fresh)
	}
	s.Merge(blocks.Hits{Digest: "b", Path: "/a", Total: 10, Blocks: blocks.List{0}})
	s.Merge(blocks.Hits{Digest: "c", Path: "/c", Off: "it is not an ELF program"})
	if covered, total := sum(s); covered != 5 || total != 110 {
		t.Errorf("%d of %d", covered, total)
	}
	path := filepath.Join(t.TempDir(), "state")
	if err := s.Save(path); err != nil {
		t.Fatal(err)
	}
	back, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if covered, total := sum(back); covered != 5 || total != 110 || !back.Get("a").Covered.Has(64) || back.Get("c").Off == "" {
		t.Errorf("%d of %d: %+v", covered, total, back)
	}
	back.Files[0].Covered = back.Files[0].Covered[:1]
	if err := back.Save(path); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil {
		t.Error("a set that is too short is accepted")
	}
}

func TestChoice(t *testing.T) {
	for _, c := range []struct {
		patterns []string
		file     string
		library  bool
		want     bool
	}{
		{nil, "/usr/bin/etcd", false, true},
		{nil, "/bin/sh", false, false},
		{nil, "/usr/lib/libjvm.so", true, false},
		{[]string{"!etcd"}, "/usr/bin/etcd", false, false},
		{[]string{"!etcd"}, "/usr/bin/redis-server", false, true},
		{[]string{"etcd"}, "/usr/bin/redis-server", false, false},
		{[]string{"sh"}, "/bin/sh", false, true},
		{[]string{"libjvm.so"}, "/usr/lib/libjvm.so", true, true},
		{[]string{"/usr/bin/*"}, "/usr/bin/etcd", false, true},
		{[]string{"/usr/bin/*"}, "/usr/bin/x/etcd", false, false},
		{[]string{"*", "!etcd"}, "/usr/bin/etcd", false, false},
	} {
		if got := Choice(c.patterns).Watches(c.file, c.library); got != c.want {
			t.Errorf("%q of %s: %v", c.patterns, c.file, got)
		}
	}
	if Check("a[") == nil || Check("!") == nil || Check("!*.so") != nil {
		t.Error("Check errs")
	}
}

func TestToolsAreThoseOfTheSystem(t *testing.T) {
	for file, want := range map[string]bool{"/usr/bin/sync": false, "/bin/sh": false, "/app/sync": true, "/usr/bin/redis-server": true} {
		if got := (Choice{}).Watches(file, false); got != want {
			t.Errorf("%s is watched: %t", file, got)
		}
	}
}

// sum counts the blocks that are covered, and those that there are, of all binaries that are watched.
func sum(s *State) (covered, total int) {
	for _, f := range s.Files {
		if f.Off == "" {
			covered, total = covered+f.Covered.Count(), total+f.Total
		}
	}
	return covered, total
}
