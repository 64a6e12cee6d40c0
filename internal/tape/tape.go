// Package tape holds the decisions of a run.
//
// A run is a pure function of a world's Spec and a Tape. Every part of a world that needs a choice draws it from
// a named stream; draw i of a stream depends on (seed, stream, i) alone, so that adding or removing draws of one
// stream never shifts another. Edits override single draws or ranges of them, which is what mutation and
// shrinking work with. Value 0 is always the calmest choice: no fault, no preemption, base latency.
package tape

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/splitmix"
)

// Tape is everything that varies between two runs of one Spec.
type Tape struct {
	Seed  uint64 `json:"seed"`
	Edits []Edit `json:"edits,omitempty"`
}

// Seeds are the seed of the draws that are made before the world is ready, the seed of those from then on, and the edits beside.
func (t Tape) Seeds() (boot, seed uint64, rest []Edit) {
	if len(t.Edits) > 0 && t.Edits[0] == FromReady(t.Seed, t.Edits[0].Seed).Edits[0] {
		return t.Seed, t.Edits[0].Seed, t.Edits[1:]
	}
	return t.Seed, t.Seed, t.Edits
}

// Own is the seed of the draws that are made once the world is ready.
func (t Tape) Own() uint64 {
	_, seed, _ := t.Seeds()
	return seed
}

// Name describes a tape in a few words: its seeds, and how many edits it has beside.
func (t Tape) Name() string {
	boot, seed, rest := t.Seeds()
	name, with := fmt.Sprintf("seed %d", seed), " with"
	if boot != seed {
		name, with = fmt.Sprintf("%s, booted with seed %d", name, boot), ", with"
	}
	switch len(rest) {
	case 0:
		return name
	case 1:
		return name + with + " 1 edit"
	}
	return fmt.Sprintf("%s%s %d edits", name, with, len(rest))
}

// Op is the kind of an Edit.
type Op string

const (
	Set     Op = "set"     // draw From of exactly Stream yields Value (clamped to n-1)
	Default Op = "default" // draws From..To-1 of all streams that match the pattern yield 0
	Reseed  Op = "reseed"  // draws From.. of all streams that match the pattern use Seed
)

// End as Edit.To means: no upper bound.
const End = ^uint64(0)

// Edit overrides draws. Later edits win over earlier ones. A pattern is a slash-separated path in which * stands
// for one element and ** for any number of them.
type Edit struct {
	Op     Op     `json:"op"`
	Stream string `json:"stream"`
	From   uint64 `json:"from"`
	To     uint64 `json:"to,omitempty"`
	Value  uint64 `json:"value,omitempty"`
	Seed   uint64 `json:"seed,omitempty"`
	// Ready restricts a Reseed to draws that are made once the world is ready (Source.Ready), so that the draws before are those
	// of another seed.
	Ready bool `json:"ready,omitempty"`
	// AfterNs restricts a Reseed to draws that are made at this virtual time or later, in ns.
	AfterNs int64 `json:"after_ns,omitempty"`
}

// FromReady is the tape whose draws are those of seed boot until the world is ready, and those of seed from then on.
func FromReady(boot, seed uint64) Tape {
	return Tape{Seed: boot, Edits: []Edit{{Op: Reseed, Stream: "**", Seed: seed, Ready: true}}}
}

// Behind is a tape whose run is that of t until a virtual time, in ns, and leaves to chance what follows, as seed says.
func (t Tape) Behind(ns int64, seed uint64) Tape {
	t.Edits = append(slices.Clone(t.Edits), Edit{Op: Reseed, Stream: "**", AfterNs: ns, Seed: seed})
	return t
}

// Timed reports whether an edit asks for the time of a draw, so that its Source needs a Clock.
func (t Tape) Timed() bool {
	return slices.ContainsFunc(t.Edits, func(e Edit) bool { return e.AfterNs > 0 })
}

// Decision is one draw that was not the default.
type Decision struct {
	Stream string `json:"stream"`
	Index  uint64 `json:"i"`
	N      uint64 `json:"n"`
	Value  uint64 `json:"value"`
}

// Certain is the rate, in parts per million, of something that always happens.
const Certain = 1_000_000

type cursor struct {
	key  uint64 // hash of the stream's name
	next uint64 // index of the next draw
	// edits that touch this stream, in order; nil for almost all streams
	edits   []Edit
	watched bool // by Watch
	last    int  // its last entry among Source.draws, from 1 on
}

// Draws are draws of one stream that follow each other and choose among equally many values.
type Draws struct {
	Stream string `json:"stream"`
	From   uint64 `json:"from"`
	To     uint64 `json:"to"` // behind the last one
	N      uint64 `json:"n"`
	// After counts the Set edits that had overridden a draw, of any stream, before these draws.
	After uint64 `json:"after,omitempty"`
}

// maxDraws bounds the Draws that are kept of one run; what exceeds it is counted by DrawsLost.
const maxDraws = 1 << 14

// Source hands out the draws of one run. It is not safe for concurrent use: a world is one event loop.
type Source struct {
	tape      Tape
	cursors   map[string]*cursor
	decisions []Decision
	times     []int64      // of the decisions, if there is a clock
	clock     func() int64 // see Clock
	limit     int

	watch     []string
	draws     []Draws
	drawsLost uint64
	met       uint64 // Set edits that have overridden a draw
	ready     bool
	drawnNs   int64 // when the last draw was made, if there is a clock
}

// MaxDecisions bounds the log of non-default decisions that is kept of one run.
const MaxDecisions = 1 << 20

// NewSource starts a run of t from the beginning of every stream.
func NewSource(t Tape) *Source {
	return &Source{tape: t, cursors: map[string]*cursor{}, limit: MaxDecisions}
}

// Watch keeps Draws of the streams that match one of the patterns, from the streams' beginnings on. It is called before the
// first draw.
func (s *Source) Watch(patterns []string) { s.watch = patterns }

// Draws lists what was drawn from watched streams, whatever its value, in the order in which each row began.
func (s *Source) Draws() []Draws { return s.draws }

// DrawsLost counts draws of watched streams that are not listed because of maxDraws.
func (s *Source) DrawsLost() uint64 { return s.drawsLost }

// note keeps draw i of a watched stream, which chose among n values after so many Set edits had been met.
func (s *Source) note(c *cursor, stream string, i, n, after uint64) {
	if c.last > 0 {
		if d := &s.draws[c.last-1]; d.To == i && d.N == n && d.After == after {
			d.To++
			return
		}
	}
	if len(s.draws) >= maxDraws {
		s.drawsLost++
		return
	}
	s.draws = append(s.draws, Draws{stream, i, i + 1, n, after})
	c.last = len(s.draws)
}

// Expect makes room for so many decisions: a guess, which saves copies where it is good.
func (s *Source) Expect(decisions int) {
	s.decisions = slices.Grow(s.decisions, min(decisions, s.limit))
}

// Tape returns the tape that s plays.
func (s *Source) Tape() Tape { return s.tape }

func (s *Source) cursor(stream string) *cursor {
	if c, ok := s.cursors[stream]; ok {
		return c
	}
	c := &cursor{key: hashString(stream)}
	for _, e := range s.tape.Edits {
		if e.Op == Set && e.Stream == stream || e.Op != Set && Match(e.Stream, stream) {
			c.edits = append(c.edits, e)
		}
	}
	for _, pattern := range s.watch {
		c.watched = c.watched || Match(pattern, stream)
	}
	s.cursors[stream] = c
	return c
}

// draw returns the raw 64 bits of the next draw, or an override.
func (s *Source) draw(c *cursor) (raw uint64, i uint64, value uint64, overridden bool) {
	i = c.next
	c.next++
	seed := s.tape.Seed
	now := s.now()
	for k := range c.edits {
		switch e := &c.edits[k]; e.Op {
		case Set:
			if e.From == i {
				value, overridden = e.Value, true
				s.met++
			}
		case Default:
			if i >= e.From && (i < e.To || e.To == 0 || e.To == End) {
				value, overridden = 0, true
			}
		case Reseed:
			if i >= e.From && s.applies(e, now) {
				seed, overridden = e.Seed, false
			}
		}
	}
	if overridden {
		return 0, i, value, true
	}
	return mix(mix(seed^splitmix.Gamma, c.key), i), i, 0, false
}

// now is the time of a draw.
func (s *Source) now() int64 {
	if s.clock != nil {
		s.drawnNs = s.clock()
	}
	return s.drawnNs
}

// applies reports whether a Reseed reaches a draw that is made now.
func (s *Source) applies(e *Edit, now int64) bool {
	return (s.ready || !e.Ready) && now >= e.AfterNs
}

// Ready notes that setup is over. Edits may ask for it.
func (s *Source) Ready() { s.ready = true }

// Choose draws from stream a value in [0, n), uniformly. n must be at least 1; a draw with n == 1 still advances
// the stream.
func (s *Source) Choose(stream string, n uint64) uint64 { return s.value(stream, n, 0, true) }

// Rare draws from stream a value in [0, n) that is 0 except at ratePPM parts per million, and uniform in [1, n)
// then. A ratePPM of 0 means a uniform draw (Choose). Rates live in the Spec, so an edit is free to make a rare
// thing happen.
func (s *Source) Rare(stream string, n uint64, ratePPM uint64) uint64 {
	return s.value(stream, n, ratePPM, true)
}

// PeekDraw reports what draw i of a stream gives that chooses evenly among n, without making it.
func (s *Source) PeekDraw(stream string, i, n uint64) uint64 {
	c, met := *s.cursor(stream), s.met
	c.next = i
	raw, _, v, overridden := s.draw(&c)
	s.met = met
	if overridden {
		return min(v, n-1)
	}
	return reduce(raw, n)
}

func (s *Source) value(stream string, n uint64, ratePPM uint64, chance bool) uint64 {
	return s.next(s.cursor(stream), stream, n, ratePPM, chance)
}

func (s *Source) next(c *cursor, stream string, n uint64, ratePPM uint64, chance bool) uint64 {
	if n == 0 {
		panic("tape: Choose with n == 0 on stream " + stream)
	}
	met := s.met
	raw, i, v, overridden := s.draw(c)
	if c.watched && n > 1 {
		s.note(c, stream, i, n, met)
	}
	switch {
	case overridden:
		v = min(v, n-1)
	case !chance:
		v = 0
	case ratePPM == 0:
		v = reduce(raw, n)
	case n > 1 && reduce(raw, Certain) < ratePPM:
		v = 1 + reduce(mix(raw, 1), n-1)
	default:
		v = 0
	}
	if v != 0 && len(s.decisions) < s.limit {
		s.decisions = append(s.decisions, Decision{stream, i, n, v})
		if s.clock != nil {
			s.times = append(s.times, s.clock())
		}
	}
	return v
}

// Given draws from stream a value in [0, n) that is 0 unless an edit sets it, whatever the seed: for what no chance decides.
func (s *Source) Given(stream string, n uint64) uint64 { return s.value(stream, n, 0, false) }

// Named lists the streams below a prefix of which an edit sets a draw, each once, in the order of the edits.
func (s *Source) Named(prefix string) []string {
	var list []string
	for _, e := range s.tape.Edits {
		if e.Op == Set && strings.HasPrefix(e.Stream, prefix) && !slices.Contains(list, e.Stream) {
			list = append(list, e.Stream)
		}
	}
	return list
}

// Stream is a stream at hand, for those who draw from it often: its name is looked up once.
type Stream struct {
	s    *Source
	c    *cursor
	name string
}

// Stream gives the stream of a name. Draws from it and draws by its name are one row.
func (s *Source) Stream(name string) Stream { return Stream{s, s.cursor(name), name} }

// Choose is Source.Choose on this stream.
func (t Stream) Choose(n uint64) uint64 { return t.s.next(t.c, t.name, n, 0, true) }

// Rare is Source.Rare on this stream.
func (t Stream) Rare(n, ratePPM uint64) uint64 { return t.s.next(t.c, t.name, n, ratePPM, true) }

// Given is Source.Given on this stream.
func (t Stream) Given(n uint64) uint64 { return t.s.next(t.c, t.name, n, 0, false) }

// Uint64 gives the next eight bytes of this byte stream, as Source.Bytes does, the lowest first.
func (t Stream) Uint64() uint64 { return t.s.word(t.c) }

// word is the next eight bytes of a byte stream.
func (s *Source) word(c *cursor) uint64 {
	seed := s.tape.Seed
	now := s.now()
	for k := range c.edits {
		if e := &c.edits[k]; e.Op == Reseed && c.next >= e.From && s.applies(e, now) {
			seed = e.Seed
		}
	}
	v := mix(mix(seed^splitmix.Gamma, c.key), c.next)
	c.next++
	return v
}

// Bytes fills p from a byte stream. Byte streams are not enumerated among the decisions; only reseed edits apply.
func (s *Source) Bytes(stream string, p []byte) {
	c := s.cursor(stream)
	for len(p) > 0 {
		v := s.word(c)
		for k := 0; k < 8 && len(p) > 0; k++ {
			p[0] = byte(v >> (8 * k))
			p = p[1:]
		}
	}
}

// Decisions lists the draws so far that were not 0, in the order in which they were made. Their number is the
// size of the run.
func (s *Source) Decisions() []Decision { return s.decisions }

// Clock has the source keep when each decision was made, by now, which gives the virtual time. It is called before the first draw.
func (s *Source) Clock(now func() int64) { s.clock = now }

// Times are those of the decisions, as the clock told them; none without a clock.
func (s *Source) Times() []int64 { return s.times }

// Replay returns a tape that makes the same run from its non-default decisions alone: all draws default, then
// each decision set. Byte streams keep the seed.
func Replay(seed uint64, decisions []Decision) Tape {
	t := Tape{Seed: seed, Edits: []Edit{{Op: Default, Stream: "**", To: End}}}
	for _, d := range decisions {
		t.Edits = append(t.Edits, Edit{Op: Set, Stream: d.Stream, From: d.Index, Value: d.Value})
	}
	return t
}

// State is the plain data of a Source: where each stream stands.
type State struct {
	Tape      Tape
	Next      map[string]uint64
	Decisions []Decision
	Times     []int64 // of the decisions, if there was a clock
	Watch     []string
	Draws     []Draws
	DrawsLost uint64
	Met       uint64
	Ready     bool
	DrawnNs   int64 // when the last draw was made, if there was a clock
}

// State copies what s knows as plain data.
func (s *Source) State() State {
	st := State{Tape: s.tape, Next: make(map[string]uint64, len(s.cursors)), Watch: s.watch, DrawsLost: s.drawsLost, Met: s.met,
		Ready: s.ready, DrawnNs: s.drawnNs}
	for name, c := range s.cursors {
		st.Next[name] = c.next
	}
	st.Decisions = append(st.Decisions, s.decisions...)
	st.Times = append(st.Times, s.times...)
	st.Draws = append(st.Draws, s.draws...)
	return st
}

// Restore has s go on where st was taken, on the tape of st. Its clock and the Streams that it has handed out stay.
func (s *Source) Restore(st State) {
	old := s.cursors
	*s = Source{tape: st.Tape, cursors: map[string]*cursor{}, clock: s.clock, limit: s.limit, watch: st.Watch,
		drawsLost: st.DrawsLost, met: st.Met, ready: st.Ready, drawnNs: st.DrawnNs}
	for name, next := range st.Next {
		s.cursor(name).next = next
	}
	s.decisions = append(s.decisions, st.Decisions...)
	s.times = append(s.times, st.Times...)
	for i, d := range st.Draws {
		s.draws = append(s.draws, d)
		s.cursor(d.Stream).last = i + 1
	}
	for name, c := range old {
		*c = *s.cursor(name)
		s.cursors[name] = c
	}
}

// Follows reports whether a run of t would have made the same draws up to here. It may report false where it would.
func (s *Source) Follows(t Tape) bool {
	if t.Seed != s.tape.Seed {
		return false
	}
	own, other := s.effective(s.tape.Edits), s.effective(t.Edits)
	for name, c := range s.cursors {
		i, k := 0, 0
		for {
			for i < len(own) && !own[i].reaches(name, c.next) {
				i++
			}
			for k < len(other) && !other[k].reaches(name, c.next) {
				k++
			}
			if i == len(own) || k == len(other) {
				break
			}
			if !own[i].same(&other[k], c.next) {
				return false
			}
			i, k = i+1, k+1
		}
		if i < len(own) || k < len(other) {
			return false
		}
	}
	return true
}

// effective are the edits that may have had an effect so far.
func (s *Source) effective(edits []Edit) []Edit {
	none := func(e Edit) bool { return e.Ready && !s.ready || e.AfterNs > s.drawnNs }
	if !slices.ContainsFunc(edits, none) {
		return edits
	}
	return slices.DeleteFunc(slices.Clone(edits), none)
}

// reaches reports whether an edit overrides one of the first n draws of a stream.
func (e *Edit) reaches(stream string, n uint64) bool {
	return e.From < n && (e.Op == Set && e.Stream == stream || e.Op != Set && Match(e.Stream, stream))
}

// same reports whether two edits that reach the first n draws of a stream do the same to them.
func (e *Edit) same(o *Edit, n uint64) bool {
	end := func(e *Edit) uint64 {
		if e.To == 0 {
			return n
		}
		return min(e.To, n)
	}
	return e.Op == o.Op && e.From == o.From && e.Value == o.Value && e.Seed == o.Seed && e.Ready == o.Ready && e.AfterNs == o.AfterNs && end(e) == end(o)
}

// mix is number b of the generator that begins with a.
func mix(a, b uint64) uint64 { return splitmix.Mix(a + splitmix.Gamma*(b+1)) }

// hashString is FNV-1a, 64 bits, finished by mix.
func hashString(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return mix(h, uint64(len(s)))
}
