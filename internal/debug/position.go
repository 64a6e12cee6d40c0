package debug

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
)

// Stops are the places at which a user wants the world to stop.
type Stops struct {
	Breakpoints []engine.Breakpoint
	Watchpoints []engine.Watchpoint
}

// breaks reports whether a breakpoint lies at an instruction of a thread.
func (s *Stops) breaks(t engine.Thread, pc uint64) bool {
	return s != nil && slices.Contains(s.Breakpoints, engine.Breakpoint{Node: t.Node, PID: t.PID, Address: pc})
}

func (s *Stops) equal(o *Stops) bool {
	return s == o || s != nil && o != nil && slices.Equal(s.Breakpoints, o.Breakpoints) && slices.Equal(s.Watchpoints, o.Watchpoints)
}

// Position is a point of a run. Positions between two turns are named by the number of events. A position within a turn is named by the
// way that leads there from the beginning of the turn: this machine cannot count instructions without stepping through them.
type Position struct {
	Turn    uint64 // how many turns have begun
	Event   uint64 // how many events have happened
	Between bool   // no turn is in progress
	End     bool   // the end of the run
	Path    []Leg  // within the turn, from its beginning
}

// Leg is a part of a way through a turn: a number of instructions, or to the Hits-th arrival at one of Stops behind the place where the leg begins.
type Leg struct {
	Steps uint64
	Stops *Stops
	Hits  uint64
}

// within reports whether a thread is stopped within its turn.
func (p *Position) within() bool { return !p.Between && !p.End }

// compare orders positions, but not those within one turn, which are equal to the turn's beginning.
func compare(a, b *Position) int {
	order := func(p *Position) int {
		switch {
		case p.End:
			return 2
		case p.Between:
			return 1
		}
		return 0
	}
	if a.End != b.End {
		return order(a) - order(b)
	}
	return cmp.Or(cmp.Compare(a.Turn, b.Turn), order(a)-order(b), cmp.Compare(a.Event, b.Event))
}

// with is the position at the end of one more leg.
func (p *Position) with(l Leg) Position {
	q := *p
	q.Path = extended(p.Path, l)
	return q
}

// extended is a path with one more leg, which does not share memory with the path.
func extended(path []Leg, l Leg) []Leg {
	path = slices.Clone(path)
	if n := len(path); n > 0 {
		switch last := &path[n-1]; {
		case l.Stops == nil && last.Stops == nil:
			last.Steps += l.Steps
			return path
		case l.Stops != nil && last.Stops.equal(l.Stops):
			last.Hits += l.Hits
			return path
		}
	}
	return append(path, l)
}

// String names a position for people.
func (p Position) String() string {
	switch {
	case p.End:
		return fmt.Sprintf("the end of the run, after event %d", p.Event)
	case p.Between:
		return fmt.Sprintf("after event %d", p.Event)
	}
	s := fmt.Sprintf("after event %d, in turn %d", p.Event, p.Turn)
	for _, l := range p.Path {
		if l.Stops == nil {
			s += fmt.Sprintf(", %d instructions on", l.Steps)
		} else {
			s += fmt.Sprintf(", at stop %d", l.Hits)
		}
	}
	return s
}
