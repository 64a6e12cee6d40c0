package hidden

import (
	"fmt"
	"os"
	"runtime/debug"
	"testing"
	"unsafe"

	"github.com/bloodhound-dst/bloodhound/live/internal/search"
	"github.com/bloodhound-dst/bloodhound/live/internal/shadow"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(-1)
	shadow.Prepare()
	os.Exit(m.Run())
}

// A search that reports no reason why paths may be left has taken them all: it has found the needle.
func TestNothingIsLostSilently(t *testing.T) {
	if len(shadow.Packages) == 0 {
		t.Fatal("nothing is instrumented; internal/live/rewrite runs this test")
	}
	for _, c := range Hiding {
		t.Run(c.Name, func(t *testing.T) {
			found := false
			r := search.Search(search.Options{Paths: 300}, func(values []uint64) search.Run {
				shadow.BeginPath(values)
				m := &message{n: 5, list: []byte("abcd")}
				shadow.Symbolic("n", unsafe.Pointer(&m.n), 4, false)
				for i := range m.list {
					shadow.Symbolic(fmt.Sprint("list", i), unsafe.Pointer(&m.list[i]), 1, false)
				}
				m.text = unsafe.String(&m.list[0], len(m.list))
				found = c.Finds(m) || found
				return search.Run{Path: shadow.End()}
			})
			if !found && r.Left == "" {
				t.Errorf("not found in %d paths, and no path is left", r.Paths)
			}
			t.Logf("found %t in %d paths; left: %s", found, r.Paths, r.Left)
		})
	}
}
