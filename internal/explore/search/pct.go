package search

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// priority is probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi and Nagarakatte, "A Randomized Scheduler with
// Probabilistic Guarantees of Finding Bugs", ASPLOS 2010): each thread has a rank of its own, the thread of the highest rank that
// can run does, and at each of pctDepth-1 calls, chosen among all of a run, a thread's priority drops. A bug that needs so many
// orderings is found with a probability of at least 1/(threads * calls^(pctDepth-1)). Faults are those of random tapes.
//
// With switches in the code of programs, points count, too. Which blocks are watched is chance of the tape, so a run says only of
// tapes with its seed how many points there are. Of eight runs one, a scout, has no switches there, and its priorities drop at
// calls. Three have the seed and the ranks of a scout, and their priorities drop at points that it came to. Four have the
// switches of a random tape. Half of these are at blocks to which several threads came: what threads do to each other they mostly
// do in the same code.
type priority struct {
	learner
	*space
	row
	bases  map[uint64]tape.Tape // of scouts whose results are not known yet, by run: their tapes without drops
	scouts []scout              // those that were learned last
	counts []int                // of points, of all scouts
}

// dropKinds are the kinds of switch that drop a thread with a rank: above those that dropped before, or below them.
var dropKinds = [places]uint64{0, 15}

// scout is a run whose points are known: stops at blocks.
type scout struct {
	base  tape.Tape
	stops points
	met   points // those at blocks that several threads came to
}

// points are draws, of which the first have n in all.
type points struct {
	rows []tape.Draws
	n    uint64
}

func (p *points) add(d tape.Draws) {
	p.rows = append(p.rows, d)
	p.n += d.To - d.From
}

// drawAt returns the stream and the index of draw i of all points.
func (p *points) drawAt(i uint64) (stream string, index uint64) {
	for _, d := range p.rows {
		if n := d.To - d.From; i >= n {
			i -= n
			continue
		}
		return d.Stream, d.From + i
	}
	panic("search: there is no such point")
}

const (
	// pctDepth is the depth of the bugs that are looked for.
	pctDepth = 3
	// A draw of a thread's stream chooses a call and one of changes; the first places of these put the thread below those that
	// dropped before, or above them.
	changes, places = 4, 2
	// maxThreads bounds the threads that get a rank, and lives how often those that a node starts anew get the same one.
	maxThreads = 1024
	lives      = 3
	// A stop at a block is a point before each of so many numbers of instructions.
	stopPoints = 16
	turns      = 8 // of scouts and others
	maxScouts  = 16
	metPercent = 50 // of drops lie at blocks that several threads come to, if there are some
)

func newPriority(c *request) (Strategy, error) {
	t, err := newSpace(c.spec)
	if err != nil {
		return nil, err
	}
	return &priority{learner: c.learner, space: t, row: c.random, bases: map[uint64]tape.Tape{}}, nil
}

func (p *priority) Name() string { return Priority }

func (p *priority) Learn(r *Run) {
	base, scouted := p.bases[r.Number]
	delete(p.bases, r.Number)
	if r.Seen == nil {
		return
	}
	p.addDraws(r.Draws)
	if !scouted {
		return
	}
	s := scout{base: base}
	threads := map[string]string{} // the first that came to a block; empty of several
	for _, d := range r.Draws {
		if !tape.Match(blocks, d.Stream) {
			continue
		}
		s.stops.add(d)
		thread, block := cutLast(d.Stream)
		if first, ok := threads[block]; ok && first != thread {
			threads[block] = ""
		} else {
			threads[block] = thread
		}
	}
	for _, d := range s.stops.rows {
		if _, block := cutLast(d.Stream); threads[block] == "" {
			s.met.add(d)
		}
	}
	p.counts = append(p.counts, int(s.stops.n))
	if s.stops.n > 0 {
		p.scouts = append(p.scouts, s)
		p.scouts = p.scouts[max(len(p.scouts)-maxScouts, 0):]
	}
}

// cutLast parts a name from its last element.
func cutLast(stream string) (before, last string) {
	i := strings.LastIndexByte(stream, '/')
	return stream[:i], stream[i+1:]
}

func (p *priority) Standing() Standing {
	s := Standing{Strategy: Priority}
	if len(p.counts) > 0 {
		counts := slices.Sorted(slices.Values(p.counts))
		s.Notes = append(s.Notes, fmt.Sprintf("%s: threads came to %s in their own code in a run (the median of %s, at most %d), "+
			"before %s of instructions each",
			Priority, plural.Count(counts[len(counts)/2], "point"), plural.Count(len(counts), "run"), counts[len(counts)-1],
			plural.Count(stopPoints, "number")))
	}
	return s
}

const schedule = "sched/"

func (p *priority) Next(run uint64) (Candidate, Answer) {
	d := newDice(p.seed, run)
	turn := run % turns
	if len(p.scouts) > 0 && turn < turns/2 && turn > 0 {
		return p.revisit(d), Here
	}
	scouts := p.switches && turn < turns/2
	c := Candidate{Tape: p.row.tape(run), Origin: Origin{Strategy: Priority}}
	var threads []*dimension
	epochs := uint64(0)
	for i := range p.dimensions {
		if g := &p.dimensions[i]; len(threads) < maxThreads && tape.Match(schedule+"**", g.stream) {
			threads = append(threads, g)
			epochs += g.end
		}
	}
	if epochs == 0 {
		return c, Here // nothing is known of threads yet
	}
	slices.SortFunc(threads, func(a, b *dimension) int { return cmp.Compare(a.stream, b.stream) })
	edits := []tape.Edit{{Op: tape.Default, Stream: schedule + "**", To: tape.End}}
	if scouts {
		edits = append(edits, tape.Edit{Op: tape.Default, Stream: ownCode, To: tape.End})
	}
	for i := range threads {
		k := i + d.below(len(threads)-i)
		threads[i], threads[k] = threads[k], threads[i]
		for life := range uint64(lives) {
			edits = append(edits, tape.Edit{Op: tape.Set, Stream: "rank/" + threads[i].stream[len(schedule):], From: life, Value: uint64(len(threads) - i)})
		}
	}
	c.Tape.Edits = append(c.Tape.Edits, edits...)
	if scouts {
		p.bases[run] = tape.Tape{Seed: c.Tape.Seed, Edits: slices.Clone(c.Tape.Edits)}
	}
	for range pctDepth - 1 {
		at := uint64(d.below(int(epochs)))
		for _, g := range threads {
			if at < g.end {
				calls := (g.n - 1) / changes
				v := 1 + uint64(d.below(int(calls))) + calls*uint64(d.below(places))
				c.Tape.Edits = append(c.Tape.Edits, tape.Edit{Op: tape.Set, Stream: g.stream, From: at, Value: v})
				break
			}
			at -= g.end
		}
	}
	return c, Here
}

// revisit makes the run of a scout again, with drops at points.
func (p *priority) revisit(d *dice) Candidate {
	s := &p.scouts[d.below(len(p.scouts))]
	c := Candidate{Tape: tape.Tape{Seed: s.base.Seed, Edits: slices.Clone(s.base.Edits)},
		Origin: Origin{Strategy: Priority, Parent: NameOf(s.base), Mutation: "drops at points in the code of programs"}}
	for range pctDepth - 1 {
		from := &s.stops
		if s.met.n > 0 && d.chance(metPercent) {
			from = &s.met
		}
		stream, i := from.drawAt(uint64(d.below(int(from.n))))
		c.Tape.Edits = append(c.Tape.Edits,
			tape.Edit{Op: tape.Set, Stream: stream, From: i, Value: 1 + uint64(d.below(stopPoints)) + stopPoints*dropKinds[d.below(places)]})
	}
	return c
}
