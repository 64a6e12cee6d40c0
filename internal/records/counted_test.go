package records

import (
	"math/rand/v2"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/store"
)

// The latest count of each worker counts, in whatever order they come, and those of several add up.
func TestCounts(t *testing.T) {
	var list []store.Entry
	for w, runs := range map[ID]uint64{"w1": 30, "w2": 12} {
		var c Counted
		for c.Runs < runs {
			c.Runs, c.AtMs = c.Runs+1, c.AtMs+1000
			c.Fault("kill").Delivered += 2
			c.Property("p").Holds++
			if c.Runs%3 == 0 {
				c.Fault("clock").Planned++
				c.Property("reached").NotYet++
				list = append(list, c.Entry("t", "c", ID([]string{"e1", "e2"}[runs/30]), w))
			}
		}
	}
	other := Counted{Runs: 99}
	list = append(list, other.Entry("t", "other", "e1", "w1"))
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		r.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
		v := NewView()
		var old Superseded
		for _, e := range append(list, list[:len(list)/2]...) {
			v.AddEntry(e)
			old.AddEntry(e)
		}
		c := v.Test("t").Counts("c")
		if c.Runs != 42 || *c.Fault("kill") != (FaultCount{Kind: "kill", Delivered: 84}) || c.Fault("clock").Planned != 14 ||
			c.Property("p").Holds != 42 || c.Property("reached").Checked() != 14 || len(v.Strange) > 0 {
			t.Fatalf("%+v, %v", c, v.Strange)
		}
		kept := 0
		for _, e := range list {
			if !old.Is(e) {
				kept++
			}
		}
		if kept != 3 {
			t.Fatalf("%d of %d counts are the latest ones", kept, len(list))
		}
	}
}

// Of what a worker says of itself the last stands, in any order: that it has ended, or else when it gave a sign of life.
func TestSignsOfLife(t *testing.T) {
	list := []store.Entry{(&Worker{Host: "h"}).Entry("w1"), (&Worker{Host: "h", SeenMs: 60_000}).Entry("w1"),
		(&Worker{Host: "h", SeenMs: 120_000}).Entry("w1"), (&Worker{Host: "h", EndedMs: 90_000}).Entry("w1"),
		(&Worker{Host: "h"}).Entry("w2"), (&Worker{Host: "h", SeenMs: 60_000}).Entry("w2")}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		r.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
		v := NewView()
		var old Superseded
		for _, e := range list {
			v.AddEntry(e)
			old.AddEntry(e)
		}
		if v.Workers["w1"].EndedMs != 90_000 || v.Workers["w2"].SeenMs != 60_000 {
			t.Fatalf("%+v %+v", v.Workers["w1"], v.Workers["w2"])
		}
		kept := 0
		for _, e := range list {
			if !old.Is(e) {
				kept++
			}
		}
		if kept != 2 {
			t.Fatalf("%d of %d records are the latest ones", kept, len(list))
		}
	}
}
