package search_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/enginetest"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// small is a world with five time steps and two kinds of faults.
func small() *world.Spec {
	s := meeting()
	s.Workloads[0].Operations = 7
	s.Faults.Rules = s.Faults.Rules[:2]
	s.Faults.Rules[0].Targets, s.Faults.Rules[1].Targets = []string{"n1"}, []string{"n2"}
	return s
}

// enumerate plays a strategy until it is exhausted, and lists the edits beyond the base tape of each run.
func enumerate(t *testing.T, name string, spec *world.Spec, set search.Settings) (list []string, standing search.Standing) {
	t.Helper()
	s, err := search.New(name, spec, 7, set)
	if err != nil {
		t.Fatal(err)
	}
	var runs []*search.Run
	base := len(search.BaseTape(7).Edits)
	learned := 0
	for i := uint64(0); ; {
		c, answer := s.Next(i)
		switch answer {
		case search.Exhausted:
			for _, r := range runs[learned:] {
				s.Learn(r)
			}
			return list, s.Standing()
		case search.Wait:
			if learned == len(runs) {
				t.Fatalf("%s waits at run %d, and knows all", name, i)
			}
			s.Learn(runs[learned])
			learned++
			continue
		}
		r, _ := play(t, spec, c, i)
		runs = append(runs, r)
		list = append(list, sentence(c.Tape.Edits[base:]))
		i++
	}
}

func sentence(edits []tape.Edit) string {
	text := "base"
	for _, e := range edits {
		text += fmt.Sprintf(", %s %d = %d", e.Stream, e.From, e.Value)
	}
	return text
}

// expected is the slow obvious twin: it makes every run with up to depth edits, by trying each draw of a run after the last
// edit of it, found in the engine's own log of all draws.
func expected(t *testing.T, spec *world.Spec, depth int) []string {
	t.Helper()
	var list []string
	var visit func(edits []tape.Edit)
	visit = func(edits []tape.Edit) {
		list = append(list, sentence(edits))
		if len(edits) == depth {
			return
		}
		full := search.BaseTape(7)
		full.Edits = append(full.Edits, edits...)
		o, err := engine.Run(enginetest.New(), spec, full, engine.Options{Draws: []string{"fault/partition/*", "fault/pause/*"}})
		if err != nil {
			t.Fatal(err)
		}
		// Steps are drawn in the order of the rules: partition n1, pause n2.
		order := func(stream string, i uint64) uint64 {
			k := 2 * i
			if stream == "fault/pause/n2" {
				k++
			}
			return k
		}
		last := int64(-1)
		for _, e := range edits {
			last = max(last, int64(order(e.Stream, e.From)))
		}
		for _, d := range o.Draws {
			for i := d.From; i < d.To; i++ {
				for v := uint64(1); v < d.N && int64(order(d.Stream, i)) > last; v++ {
					visit(append(slices.Clone(edits), tape.Edit{Op: tape.Set, Stream: d.Stream, From: i, Value: v}))
				}
			}
		}
	}
	visit(nil)
	return list
}

func TestSystematicEnumeratesExactlyTheExpectedTapes(t *testing.T) {
	spec := small()
	want := expected(t, spec, 2)
	if len(want) < 1000 {
		t.Fatalf("only %d tapes are expected", len(want))
	}
	slices.Sort(want)
	for _, name := range []string{search.Breadth, search.Depth} {
		got, standing := enumerate(t, name, spec, search.Settings{MaxDepth: 2})
		if !standing.Complete || standing.States != uint64(len(want)) {
			t.Errorf("%s: %+v", name, standing)
		}
		sorted := slices.Sorted(slices.Values(got))
		if !slices.Equal(sorted, want) {
			t.Errorf("%s: %d tapes, of which %d differ; want %d", name, len(got), len(slices.Compact(sorted)), len(want))
		}
	}
}

// Breadth first has all tapes of one edit before those of two; depth first has a tape's children right after it.
func TestSystematicOrder(t *testing.T) {
	edits := func(s string) int {
		n := 0
		for _, c := range s {
			if c == ',' {
				n++
			}
		}
		return n
	}
	breadth, _ := enumerate(t, search.Breadth, small(), search.Settings{MaxDepth: 2})
	if !slices.IsSortedFunc(breadth, func(a, b string) int { return edits(a) - edits(b) }) {
		t.Error("bfs has deeper tapes before others")
	}
	depth, _ := enumerate(t, search.Depth, small(), search.Settings{MaxDepth: 3, MaxStates: 500})
	for i := 1; i < len(depth); i++ {
		if edits(depth[i]) > edits(depth[i-1])+1 || edits(depth[i]) == edits(depth[i-1])+1 && depth[i][:len(depth[i-1])] != depth[i-1] {
			t.Errorf("after %s comes %s", depth[i-1], depth[i])
		}
	}
	if edits(depth[3]) != 3 {
		t.Errorf("dfs begins with %q", depth[:4])
	}
}

func TestSystematicStopsAtItsBounds(t *testing.T) {
	one, standing := enumerate(t, search.Breadth, small(), search.Settings{MaxDepth: 1})
	if len(one) >= 1000 || standing.Depth != 1 || !standing.Complete {
		t.Errorf("%d tapes, %+v", len(one), standing)
	}
	some, standing := enumerate(t, search.Breadth, small(), search.Settings{MaxDepth: 2, MaxStates: 700})
	if len(some) != 700 || standing.Complete || standing.Depth != 2 {
		t.Errorf("%d tapes, %+v", len(some), standing)
	}
}

// A pattern that matches no stream is not a search that found nothing.
func TestSystematicTellsOfPatternsThatMatchNothing(t *testing.T) {
	for _, name := range []string{search.Breadth, search.Depth} {
		list, standing := enumerate(t, name, small(), search.Settings{Streams: []string{"faults/**"}})
		if len(list) != 1 || standing.Complete || len(standing.Unknown) != 1 {
			t.Fatalf("%s: %d tapes, %+v", name, len(list), standing)
		}
		for _, part := range []string{`"faults/**"`, "fault/pause/n2"} {
			if !strings.Contains(standing.Unknown[0], part) {
				t.Errorf("%s: %q does not tell of %s", name, standing.Unknown[0], part)
			}
		}
		_, standing = enumerate(t, name, small(), search.Settings{MaxDepth: 1, Streams: []string{"fault/*/n2", "faults/**"}})
		if standing.Complete || len(standing.Unknown) != 1 || strings.Contains(standing.Unknown[0], "fault/*/n2") {
			t.Errorf("%s: %+v", name, standing)
		}
		_, standing = enumerate(t, name, small(), search.Settings{MaxDepth: 1, Streams: []string{"fault/**"}})
		if !standing.Complete || len(standing.Unknown) > 0 {
			t.Errorf("%s: %+v", name, standing)
		}
	}
}
