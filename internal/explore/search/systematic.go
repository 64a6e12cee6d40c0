package search

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// DefaultDepth is how many edits of the base tape bfs and dfs go to by default.
const DefaultDepth = 2

// BaseTape is the tape that bfs and dfs edit: chance of its seed, but nothing goes wrong and no thread is preempted.
func BaseTape(seed uint64) tape.Tape {
	t := tape.Tape{Seed: seed}
	for _, p := range Watched {
		t.Edits = append(t.Edits, tape.Edit{Op: tape.Default, Stream: p, To: tape.End})
	}
	return t
}

// systematic enumerates the base tape and then all tapes that have up to depth further edits, each once. An edit sets one draw
// of a watched stream, which chose among several values in the parent's run, to a value that is not 0. The draws of a child's
// run up to its last edit are those of its parent; so a child edits only draws after that edit, and a set of edits is met in
// one order alone.
type systematic struct {
	learner
	name    string
	base    tape.Tape
	depth   int
	most    uint64 // states; 0 is no bound
	streams []pattern
	first   bool // depth first
	states  uint64
	// played are the tapes whose runs have ended, at is the depth of the last of them.
	played uint64
	at     int
	drawn  []string // the streams of the base tape's run that could be edited
	// fringe are the tapes whose children are still to come: a queue, or a stack.
	fringe  []*branch
	waiting map[uint64]*branch // by the number of the run that says what can be edited
	kept    uint64             // children of all tapes so far, as far as they are known
	done    bool
	notes   []string
}

// pattern is one of those that say which streams are edited.
type pattern struct {
	text    string
	matched bool // a stream of some run
}

// branch is a tape whose children are enumerated.
type branch struct {
	edits []tape.Edit
	known bool
	rows  []tape.Draws // what its run drew after the last edit
	// chances lists the draws of rows, once the branch is being enumerated; next of those are to get the value.
	chances []chance
	next    int
	value   uint64
}

// chance is a draw that can be edited.
type chance struct {
	row   int32
	index uint32
}

func newSystematic(c *request) (Strategy, error) {
	s := &c.settings
	search := &systematic{learner: c.learner, name: c.name, base: BaseTape(c.seed),
		depth: cmp.Or(s.MaxDepth, DefaultDepth), most: s.MaxStates, first: c.name == Depth,
		waiting: map[uint64]*branch{}}
	for _, text := range s.Streams {
		search.streams = append(search.streams, pattern{text: text})
	}
	return search, nil
}

func (s *systematic) Name() string { return s.name }

func (s *systematic) Next(run uint64) (Candidate, Answer) {
	if s.most > 0 && s.states >= s.most {
		return Candidate{}, Exhausted
	}
	if s.states == 0 {
		return s.play(run, nil), Here
	}
	for len(s.fringe) > 0 {
		k := 0
		if s.first {
			k = len(s.fringe) - 1
		}
		b := s.fringe[k]
		if !b.known {
			return Candidate{}, Wait
		}
		if edit, ok := b.child(); ok {
			return s.play(run, append(slices.Clone(b.edits), edit)), Here
		}
		s.fringe = slices.Delete(s.fringe, k, k+1)
	}
	s.done = true
	return Candidate{}, Exhausted
}

// play gives the tape of some edits, and remembers that its children come later.
func (s *systematic) play(run uint64, edits []tape.Edit) Candidate {
	s.states++
	if len(edits) < s.depth && (s.first || s.most == 0 || 1+s.kept < s.most) {
		b := &branch{edits: edits}
		s.fringe = append(s.fringe, b)
		s.waiting[run] = b
	}
	c := Candidate{Tape: tape.Tape{Seed: s.base.Seed, Edits: slices.Concat(s.base.Edits, edits)}, Origin: Origin{Strategy: s.name}}
	if len(edits) > 0 {
		last := edits[len(edits)-1]
		c.Origin.Mutation = fmt.Sprintf("set %s %d = %d", last.Stream, last.From, last.Value)
		c.Origin.Parent = NameOf(tape.Tape{Seed: s.base.Seed, Edits: slices.Concat(s.base.Edits, edits[:len(edits)-1])})
	}
	return c
}

func (s *systematic) Learn(r *Run) {
	if r.Seen != nil && r.Number != Baseline {
		s.played++
		s.at = len(r.Candidate.Tape.Edits) - len(s.base.Edits)
		s.match(r)
	}
	b := s.waiting[r.Number]
	if b == nil {
		return
	}
	delete(s.waiting, r.Number)
	b.known = true
	switch {
	case r.Seen == nil:
		s.note("run %d was lost: the tapes that follow from it were not enumerated", r.Number)
		return
	case r.DrawsLost > 0:
		s.note("run %d made more draws than are kept: %s not edited", r.Number, plural.Count(r.DrawsLost, "draw"))
	}
	for _, d := range r.Draws {
		if d.After == uint64(len(b.edits)) && !fault.OfRun(d.Stream) && s.edits(d.Stream) {
			b.rows = append(b.rows, d)
			s.kept += (d.To - d.From) * (d.N - 1)
		}
	}
	slices.SortFunc(b.rows, func(x, y tape.Draws) int {
		return cmp.Or(strings.Compare(x.Stream, y.Stream), cmp.Compare(x.From, y.From))
	})
}

// edits reports whether draws of a stream are edited.
func (s *systematic) edits(stream string) bool {
	return len(s.streams) == 0 || slices.ContainsFunc(s.streams, func(p pattern) bool { return tape.Match(p.text, stream) })
}

// match remembers which patterns match a stream of some run, and the streams of the base tape's.
func (s *systematic) match(r *Run) {
	if len(s.streams) == 0 {
		return
	}
	for _, d := range r.Draws {
		if fault.OfRun(d.Stream) {
			continue
		}
		if s.at == 0 && !slices.Contains(s.drawn, d.Stream) {
			s.drawn = append(s.drawn, d.Stream)
		}
		for k := range s.streams {
			p := &s.streams[k]
			p.matched = p.matched || tape.Match(p.text, d.Stream)
		}
	}
}

// maxDrawn bounds the streams that are named where a pattern matches none.
const maxDrawn = 20

// unmatched says which patterns match no stream. Then the tapes that were played are not those that were asked for.
func (s *systematic) unmatched() []string {
	if s.played == 0 {
		return nil
	}
	var missed []string
	for _, p := range s.streams {
		if !p.matched {
			missed = append(missed, strconv.Quote(p.text))
		}
	}
	if len(missed) == 0 {
		return nil
	}
	there := "there are none"
	if len(s.drawn) > 0 {
		names := slices.Sorted(slices.Values(s.drawn))
		there = "there are " + strings.Join(names[:min(len(names), maxDrawn)], ", ")
		if more := len(names) - maxDrawn; more > 0 {
			there += fmt.Sprintf(" and %d more", more)
		}
	}
	return []string{fmt.Sprintf("exploration.streams: no stream of a run matches %s, so its draws were not edited; %s", strings.Join(missed, " or "), there)}
}

// maxNotes bounds the notes on a search that is not complete.
const maxNotes = 5

func (s *systematic) note(format string, args ...any) {
	if len(s.notes) < maxNotes {
		s.notes = append(s.notes, fmt.Sprintf(format, args...))
	}
}

// child gives the next edit of a branch: all draws get the value 1 before one gets the value 2, and draws far apart come before
// those between them, so that a search which is cut short has seen some of everything.
func (b *branch) child() (tape.Edit, bool) {
	if b.value == 0 {
		b.value = 1
		for k, r := range b.rows {
			for i := r.From; i < r.To; i++ {
				b.chances = append(b.chances, chance{int32(k), uint32(i)})
			}
		}
		slices.SortStableFunc(b.chances, func(x, y chance) int { return cmp.Compare(bits.Reverse32(x.index), bits.Reverse32(y.index)) })
	}
	if b.next == len(b.chances) {
		b.value++
		b.next = 0
		b.chances = slices.DeleteFunc(b.chances, func(c chance) bool { return b.rows[c.row].N <= b.value })
	}
	if len(b.chances) == 0 {
		return tape.Edit{}, false
	}
	c := b.chances[b.next]
	b.next++
	return tape.Edit{Op: tape.Set, Stream: b.rows[c.row].Stream, From: uint64(c.index), Value: b.value}, true
}

func (s *systematic) Standing() Standing {
	unmatched := s.unmatched()
	return Standing{Strategy: s.name, Depth: s.at, States: s.played, Complete: s.done && len(s.notes)+len(unmatched) == 0, Unknown: unmatched, Notes: s.notes}
}
