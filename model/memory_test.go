package model

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// What is remembered of earlier runs changes nothing of what a run is told, nor does making room for more.
func TestMemoryChangesNothing(t *testing.T) {
	plain, quick := follow(t, Options{View: "Rich"}), follow(t, Options{View: "Rich"})
	plain.memory.useless = true
	account := []string{"a", "b"}
	found := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		plain.Restart()
		quick.Restart()
		for range r.IntN(8) {
			from, to, n := account[r.IntN(2)], account[r.IntN(2)], r.IntN(3)
			repeat, seen := r.IntN(4) == 0, r.IntN(6)
			for _, f := range []*Follower{plain, quick} {
				if repeat {
					f.Repeat("Move", from, to, n+1)
				} else {
					f.Step("Move", from, to, n)
				}
				if seen < 2 {
					f.Saw(seen, "Of", "b")
				}
			}
		}
		if seed%50 == 49 {
			found = max(found, quick.memory.found)
			clear(quick.memory.points)
			clear(quick.memory.steps)
		}
		tell := func(f *Follower) string {
			return fmt.Sprint(f.End(), f.Tally(), f.steps, len(f.states), slices.Clone(f.Reached()))
		}
		if a, b := tell(plain), tell(quick); a != b {
			t.Fatalf("run %d: without memory\n%s\nand with it\n%s", seed, a, b)
		}
	}
	if found < 200 || plain.memory.found > 0 {
		t.Errorf("%d steps were remembered, and %d without memory", found, plain.memory.found)
	}
}

// A scratch variable begins each step as it was at first.
func TestScratch(t *testing.T) {
	for _, c := range []struct {
		scratch []string
		fails   string
		points  int
	}{
		{[]string{"balance"}, "", 2},
		{nil, "", 4},
		{[]string{"fee"}, "the variable fee has several initial values, 0 and 1 among them, and a scratch variable must have one", 0},
		{[]string{"tax"}, "the specification has no variable tax", 0},
	} {
		m := follow(t, Options{}).model
		m.o.Scratch = c.scratch
		f, err := m.Follow()
		if err != nil || c.fails != "" {
			if fmt.Sprint(err) != c.fails {
				t.Errorf("%v: %v", c.scratch, err)
			}
			continue
		}
		f.Step("Move", "a", "b", 4)
		if len(f.memory.points) != c.points || f.Err() != nil {
			t.Errorf("%v: %d states, %v", c.scratch, len(f.memory.points), f.Err())
		}
	}
}
