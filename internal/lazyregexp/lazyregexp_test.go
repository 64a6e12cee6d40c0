package lazyregexp

import (
	"sync"
	"testing"
)

// Several goroutines may use an expression first at once, and all get right answers.
func TestFirstUses(t *testing.T) {
	r := New(`(\d+)-(\d+)`)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if m := r.FindStringSubmatch("a 12-34"); len(m) != 3 || m[2] != "34" || r.MatchString("none") {
				t.Error(m)
			}
		})
	}
	all.Wait()
	if r.String() != `(\d+)-(\d+)` {
		t.Error(r)
	}
}

// A test program finds a wrong expression when it starts.
func TestWrongExpression(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("nothing was found")
		}
	}()
	New("(")
}
