package explore

import (
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/coverage/blocks"
	"github.com/bloodhound-dst/bloodhound/internal/coverage/code"
)

// A run that breakpoints make another one is distinguished from a run that does not repeat, and from one whose programs have changed.
func TestBreakpointsAreBlamedForWhatTheyDo(t *testing.T) {
	hits := []blocks.Hits{{Digest: "a", Total: 10}, {Digest: "b", Total: 10}, {Digest: "c", Off: "no program"}}
	for _, c := range []struct {
		name  string
		hash  func(made int, j *Job) string // of the run that is made as the n-th one
		first string                        // the hash that counts
		moved []string
		same  bool // the replay is the same run as the one that counts
	}{
		{"nothing differs", func(int, *Job) string { return "x" }, "x", nil, true},
		{"one binary reads its code", func(_ int, j *Job) string {
			if j.Cover != nil && j.Cover.Only != "a" {
				return "moved"
			}
			return "x"
		}, "x", []string{"b"}, true},
		{"two do so together", func(_ int, j *Job) string {
			if j.Cover != nil && j.Cover.Only == "" {
				return "moved"
			}
			return "x"
		}, "x", []string{"a", "b"}, true},
		{"a program was replaced after the first run", func(made int, j *Job) string {
			if made == 0 {
				return "old"
			}
			return "new"
		}, "old", nil, false},
		{"runs do not repeat", func(made int, j *Job) string { return string(rune('a' + made)) }, "a", nil, false},
	} {
		made := 0
		do := func(j *Job) (*Reply, string) {
			made++
			return &Reply{Summary: &Summary{Hash: c.hash(made-1, j)}}, ""
		}
		r := &result{job: &Job{Cover: &Cover{}}}
		r.reply, _ = do(r.job)
		r.reply.Summary.Code = hits
		second, lost := replay(r, do)
		if second == nil || lost != "" || r.reply.Summary.Hash != c.first || !slices.Equal(r.moved, c.moved) ||
			(Differs(r.reply.Summary, second.Summary) == "") != c.same {
			t.Errorf("%s: %s counts, moved by %v, replay %v %s", c.name, r.reply.Summary.Hash, r.moved, second, lost)
		}
	}
}

// A program that also tells edges, of several modules, is no program that was replaced.
func TestSourcesOfAProgramAreNotReplacements(t *testing.T) {
	s := &code.State{}
	for _, h := range []blocks.Hits{{Digest: "a", Path: "/p", Total: 1, Source: blocks.Edges},
		{Digest: "b", Path: "/p", Total: 1, Source: blocks.Edges}, {Digest: "c", Path: "/p", Total: 1}, {Digest: "d", Path: "/p", Total: 1}} {
		s.Merge(h)
	}
	for i, c := range CodeTotals(s) {
		if c.Replaced != (i == 3) {
			t.Errorf("%+v", c)
		}
	}
}

// A run may find that a binary that was watched so far cannot be counted.
func TestBinariesThatAreOffLater(t *testing.T) {
	c := &Code{State: &code.State{}, Dir: t.TempDir()}
	c.mergeHits([]blocks.Hits{{Digest: "a", Total: 10, Source: blocks.Edges, Blocks: blocks.List{1}}})
	before, err := c.cover()
	if err != nil {
		t.Fatal(err)
	}
	c.mergeHits([]blocks.Hits{{Digest: "a", Source: blocks.Edges, Off: "too many"}})
	if after, err := c.cover(); err != nil || after.State == before.State || c.State.Files[0].Off != "too many" {
		t.Errorf("%v: the state is %+v", err, c.State.Files[0])
	}
}

// What people read has the parts of a program together.
func TestOrderOfCode(t *testing.T) {
	list := []CodeTotal{{Path: "/q", Digest: "1"}, {Path: "/p", Digest: "2", Source: blocks.Edges}, {Path: "/p", Digest: "4"},
		{Path: "/p", Digest: "3", Replaced: true}}
	slices.SortStableFunc(list, CompareCode)
	order := ""
	for _, c := range list {
		order += c.Digest
	}
	if order != "4321" {
		t.Errorf("the order is %s", order)
	}
}

// What a search is told of a run does not depend on which state the run began with, only on the runs before it.
func TestCoverageIsLearnedInRunOrder(t *testing.T) {
	c := &Code{State: &code.State{}, Dir: t.TempDir()}
	if learned := c.mergeHits([]blocks.Hits{{Digest: "a", Total: 100, Blocks: blocks.List{1, 2, 3}}}); len(learned) != 0 {
		t.Errorf("a search learns %v of the first run", learned)
	}
	cover, err := c.cover()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := c.cover(); err != nil || again.State != cover.State {
		t.Errorf("a state is written anew though nothing has changed: %v, %v", again, err)
	}
	// Two runs that began with the same state hit the same block: it is news of the first.
	for i, want := range []blocks.List{{0, 7}, nil} {
		learned := c.mergeHits([]blocks.Hits{{Digest: "a", Total: 100, Blocks: blocks.List{0, 7}}})
		if i == 0 && (len(learned) != 1 || !slices.Equal(learned[0].Blocks, want)) || i == 1 && len(learned) != 0 {
			t.Errorf("run %d: %v", i, learned)
		}
	}
	if next, err := c.cover(); err != nil || next.State == cover.State {
		t.Errorf("the state is not written anew: %v, %v", next, err)
	}
	s := &Setup{}
	watch, err := s.watch(&Job{Cover: cover})
	if err != nil || watch.State.Files[0].Covered.Count() != 3 {
		t.Errorf("%+v, %v", watch, err)
	}
	// Blocks of changed code are told of each time.
	c = &Code{State: &code.State{}, Changed: func(f *code.File) blocks.Bits {
		always := blocks.NewBits(f.Total)
		always.Set(5)
		return always
	}}
	for range 3 {
		learned := c.mergeHits([]blocks.Hits{{Digest: "a", Total: 100, Blocks: blocks.List{5}}})
		if len(learned) != 1 || !slices.Equal(learned[0].Blocks, blocks.List{5}) {
			t.Errorf("%v", learned)
		}
	}
	if totals := CodeTotals(c.State); totals[0].Changed != 1 || totals[0].ChangedCovered != 1 || totals[0].Covered != 1 {
		t.Errorf("%+v", totals)
	}
}

// Runs that were under way when a binary was blamed blame it again: it is reported once.
func TestOffIsToldOnce(t *testing.T) {
	var notes []string
	code := &Code{State: &code.State{}, Dir: t.TempDir()}
	c := collector{campaign: &Campaign{Code: code, Note: func(text string) { notes = append(notes, text) }}, totals: &Totals{}}
	for run := range uint64(3) {
		c.covered(&result{job: &Job{ID: run}, reply: &Reply{Summary: &Summary{Code: hitsOf("a", "b")}}, moved: []string{"a", "b"}[:1+run/2]})
	}
	if len(notes) != 2 || !strings.Contains(notes[0], "run 0") || !strings.Contains(notes[1], "run 2") || !strings.Contains(notes[1], "off for /b:") {
		t.Errorf("%q", notes)
	}
}

func hitsOf(digests ...string) (list []blocks.Hits) {
	for _, d := range digests {
		list = append(list, blocks.Hits{Digest: d, Path: "/" + d, Total: 10})
	}
	return list
}
