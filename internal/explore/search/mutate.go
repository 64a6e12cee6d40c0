package search

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// draft is a mutant that is being made: its parent's tape, with edits on top. The seed stays, so that all that is not edited
// is the same run up to the first edit that matters.
type draft struct {
	*space
	dice       *dice
	edits      []tape.Edit
	seed       uint64
	injections []tape.Decision // of the parent, as the edits leave them, in the order of the parent's run
}

// maxEdits bounds the edits of a mutant. A parent that has so many gets no further ones.
const maxEdits = 1000

// Two faults that are meant to overlap are at most nearSteps time steps apart.
const nearSteps = 32

// set overrides a draw. Earlier edits of the same draw go, so that tapes do not grow by what has no effect.
func (m *draft) set(stream string, i, value uint64) {
	m.edits = slices.DeleteFunc(m.edits, func(e tape.Edit) bool { return e.Op == tape.Set && e.Stream == stream && e.From == i })
	m.edits = append(m.edits, tape.Edit{Op: tape.Set, Stream: stream, From: i, Value: value})
	k := slices.IndexFunc(m.injections, func(s tape.Decision) bool { return s.Stream == stream && s.Index == i })
	switch {
	case k >= 0 && value == 0:
		m.injections = slices.Delete(m.injections, k, k+1)
	case k >= 0:
		m.injections[k].Value = value
	case value != 0:
		m.injections = append(m.injections, tape.Decision{Stream: stream, Index: i, Value: value})
	}
}

// inject adds a fault, also of a kind or rule that the parent's run may have turned off.
func (m *draft) inject(g *dimension, i, value uint64) {
	m.set(g.stream, i, value)
	if g.kind == "" {
		return
	}
	if mask := maskOf(g.kind); slices.ContainsFunc(m.injections, func(s tape.Decision) bool { return s.Stream == mask }) {
		m.set(mask, 0, 0)
	}
	rate := fault.RateStream(g.rule)
	if slices.ContainsFunc(m.injections, func(s tape.Decision) bool { return s.Stream == rate && s.Value == fault.RateOff }) {
		m.set(rate, 0, fault.RateOff+1) // with next to no others
	}
}

// faulty are the injected faults of rules whose dimension is known.
func (t *space) faulty(injections []tape.Decision, ok func(*dimension) bool) []tape.Decision {
	var list []tape.Decision
	for _, s := range injections {
		if g := t.dimensionOf(s.Stream); g != nil && g.rule > 0 && (ok == nil || ok(g)) {
			list = append(list, s)
		}
	}
	return list
}

func stepwise(g *dimension) bool { return g.steps }

// value chooses the duration and the shape of a fault.
func (m *draft) value(g *dimension) uint64 { return 1 + uint64(m.dice.below(int(min(g.n-1, 1<<30)))) }

// moment chooses when a fault is injected: half of the time during another fault or close to it, so that the two overlap.
func (m *draft) moment(g *dimension) uint64 {
	others := m.faulty(m.injections, stepwise)
	if !g.steps || len(others) == 0 || m.dice.chance(50) {
		return uint64(m.dice.below(int(g.end)))
	}
	return m.meeting(others[m.dice.below(len(others))], g.end)
}

// meeting is a time step at which an injected fault is under way, or shortly before or after it.
func (m *draft) meeting(s tape.Decision, end uint64) uint64 {
	span := min(m.span(m.dimensionOf(s.Stream), s.Value), end)
	at := s.Index + uint64(m.dice.below(int(span)+2*nearSteps+1))
	return min(max(at, nearSteps)-nearSteps, end-1)
}

// A mutator changes a draft and reports whether it could. Mates are for those that take parts of another entry.
type mutator struct {
	kind   string
	weight int
	apply  func(m *draft, mate *Entry) bool
	mated  bool
	// scheduled is for worlds whose steps are choices.
	scheduled bool
}

// mutators are the ways to change a run; they prefer what goes wrong in it to its other chance.
var mutators = []mutator{
	{kind: "add", weight: 20, apply: add},
	{kind: "drop", weight: 8, apply: drop},
	{kind: "move", weight: 16, apply: move},
	{kind: "meet", weight: 14, apply: meet},
	{kind: "retarget", weight: 8, apply: retarget},
	{kind: "duration", weight: 8, apply: duration},
	{kind: "shape", weight: 6, apply: shape},
	{kind: "swap", weight: 5, apply: swap},
	{kind: "sequence", weight: 10, apply: sequence},
	{kind: "preempt", weight: 5, apply: preempt},
	{kind: "packets", weight: 5, apply: packets},
	{kind: "reseed", weight: 8, apply: reseed},
	{kind: "splice", weight: 8, apply: splice, mated: true},
	{kind: "combine", weight: 8, apply: combine, mated: true},
	{kind: "future", weight: 30, apply: future, scheduled: true},
	{kind: "choices", weight: 20, apply: choices, scheduled: true},
	{kind: "counts", weight: 10, apply: counts, scheduled: true},
}

// add injects one more fault. Where a condition decides whether a fault has an effect, such as the role of a node,
// all targets of the rule are hit: those that do not meet it are not harmed.
func add(m *draft, _ *Entry) bool {
	g := m.pickFault(m.dice, func(g *dimension) bool { return g.end > 0 })
	if g == nil {
		return false
	}
	i, v := m.moment(g), m.value(g)
	m.inject(g, i, v)
	if g.conditional && g.steps {
		for k := range m.dimensions {
			if o := &m.dimensions[k]; o.rule == g.rule && o.n == g.n && o.stream != g.stream {
				m.inject(o, i, v)
			}
		}
	}
	return true
}

// one chooses an injected fault of a rule.
func (m *draft) one(ok func(*dimension) bool) (tape.Decision, bool) {
	list := m.faulty(m.injections, ok)
	if len(list) == 0 {
		return tape.Decision{}, false
	}
	return list[m.dice.below(len(list))], true
}

func drop(m *draft, _ *Entry) bool {
	s, ok := m.one(nil)
	if ok {
		m.set(s.Stream, s.Index, 0)
	}
	return ok
}

// move injects a fault at another moment, most often one nearby.
func move(m *draft, _ *Entry) bool {
	s, ok := m.one(nil)
	if !ok {
		return false
	}
	g := m.dimensionOf(s.Stream)
	if g.end == 0 { // its draws are unknown
		return false
	}
	to := uint64(m.dice.below(int(g.end)))
	if m.dice.chance(70) {
		reach := 1 << m.dice.below(7) // from one step to many
		to = min(max(s.Index+uint64(m.dice.below(2*reach+1)), uint64(reach))-uint64(reach), g.end-1)
	}
	return m.shift(s, to)
}

func (m *draft) shift(s tape.Decision, to uint64) bool {
	if to == s.Index {
		return false
	}
	m.set(s.Stream, s.Index, 0)
	m.set(s.Stream, to, s.Value)
	return true
}

// meet moves a fault to where another one is under way.
func meet(m *draft, _ *Entry) bool {
	a, ok := m.one(stepwise)
	b, _ := m.one(stepwise)
	if !ok || a == b {
		return false
	}
	return m.shift(a, m.meeting(b, max(m.dimensionOf(a.Stream).end, 1)))
}

// retarget injects a fault in another target of its rule: another node crashes.
func retarget(m *draft, _ *Entry) bool {
	s, ok := m.one(nil)
	if !ok {
		return false
	}
	from := m.dimensionOf(s.Stream)
	to := m.pick(m.dice, func(g *dimension) bool { return g.rule == from.rule && g.stream != from.stream && s.Value < g.n })
	if to == nil {
		return false
	}
	m.set(s.Stream, s.Index, 0)
	m.inject(to, min(s.Index, to.end-1), s.Value)
	return true
}

// duration lets a fault last longer or shorter.
func duration(m *draft, _ *Entry) bool {
	s, ok := m.one(func(g *dimension) bool { return g.maxNs > g.minNs })
	if !ok {
		return false
	}
	v := (s.Value-1)/fault.DurationSteps*fault.DurationSteps + uint64(m.dice.below(fault.DurationSteps)) + 1
	if v == s.Value {
		return false
	}
	m.set(s.Stream, s.Index, v)
	return true
}

// shape changes what a fault does: cut off others, harm another amount, another bit.
func shape(m *draft, _ *Entry) bool {
	s, ok := m.one(func(g *dimension) bool { return g.n > 1+fault.DurationSteps })
	if !ok {
		return false
	}
	g := m.dimensionOf(s.Stream)
	ways := int((g.n - 1) / fault.DurationSteps)
	v := uint64(m.dice.below(ways))*fault.DurationSteps + (s.Value-1)%fault.DurationSteps + 1
	if v == s.Value {
		return false
	}
	m.set(s.Stream, s.Index, v)
	return true
}

// swap injects two faults in each other's place.
func swap(m *draft, _ *Entry) bool {
	a, ok := m.one(stepwise)
	b, _ := m.one(stepwise)
	if !ok || a.Index == b.Index {
		return false
	}
	m.trade(a, b)
	return true
}

// trade exchanges the places of two faults.
func (m *draft) trade(a, b tape.Decision) {
	m.set(a.Stream, a.Index, 0)
	m.set(b.Stream, b.Index, 0)
	m.set(a.Stream, b.Index, a.Value)
	m.set(b.Stream, a.Index, b.Value)
}

// preempt changes where threads are preempted: takes a preemption away, moves it, or adds some.
func preempt(m *draft, _ *Entry) bool {
	g := m.pick(m.dice, func(g *dimension) bool { return strings.HasPrefix(g.stream, schedule) || tape.Match(ownCode, g.stream) })
	if g == nil {
		return false
	}
	for range 1 + m.dice.below(4) {
		v := m.value(g)
		if m.dice.chance(20) {
			v = 0
		}
		m.set(g.stream, uint64(m.dice.below(int(g.end))), v)
	}
	return true
}

// packets lets a few packets that follow each other on one way suffer, or none of them.
func packets(m *draft, _ *Entry) bool {
	g := m.pick(m.dice, func(g *dimension) bool { return strings.HasPrefix(g.stream, "net/") })
	if g == nil {
		return false
	}
	from, v := uint64(m.dice.below(int(g.end))), m.value(g)
	if m.dice.chance(25) {
		v = 0
	}
	for k := range uint64(1 + m.dice.below(4)) {
		m.set(g.stream, from+k, v)
	}
	return true
}

// reseed lets other chance rule: the faults from a time step on, or the latencies and preemptions of the whole run.
func reseed(m *draft, _ *Entry) bool {
	seed := m.dice.bits()
	steps := m.pick(m.dice, func(g *dimension) bool { return g.steps && g.rule > 0 })
	if steps == nil || m.dice.chance(50) {
		patterns := []string{"net/**", schedule + "**"}
		if m.switches {
			patterns = append(patterns, "switch/**")
		}
		for _, p := range patterns {
			m.override(tape.Edit{Op: tape.Reseed, Stream: p, Seed: seed})
		}
		return true
	}
	from := uint64(m.dice.below(int(steps.end)))
	for k := range m.dimensions {
		if g := &m.dimensions[k]; g.steps && g.rule > 0 {
			m.override(tape.Edit{Op: tape.Reseed, Stream: g.stream, From: from, Seed: seed})
		}
	}
	return true
}

// override appends an edit that takes the place of earlier ones of the same streams and draws.
func (m *draft) override(e tape.Edit) {
	covers := func(stream string, i uint64) bool { return i >= e.From && tape.Match(e.Stream, stream) }
	m.edits = slices.DeleteFunc(m.edits, func(o tape.Edit) bool {
		return o.Op == tape.Set && covers(o.Stream, o.From) || o.Op == tape.Reseed && o.Stream == e.Stream && o.From >= e.From
	})
	m.injections = slices.DeleteFunc(m.injections, func(s tape.Decision) bool { return covers(s.Stream, s.Index) })
	m.edits = append(m.edits, e)
}

// splice goes on with the faults of another run from a time step on at which none is under way in either.
func splice(m *draft, mate *Entry) bool {
	mine := m.faulty(m.injections, stepwise)
	theirs := m.faulty(mate.Injections, stepwise)
	var quiet []uint64
	for _, s := range theirs {
		if at := s.Index; m.quiet(mine, at) && m.quiet(theirs, at) {
			quiet = append(quiet, at)
		}
	}
	if len(quiet) == 0 {
		return false
	}
	at := quiet[m.dice.below(len(quiet))]
	for _, s := range mine {
		if s.Index >= at {
			m.set(s.Stream, s.Index, 0)
		}
	}
	for _, s := range theirs {
		if s.Index >= at {
			m.inject(m.dimensionOf(s.Stream), s.Index, s.Value)
		}
	}
	return true
}

// quiet reports whether no fault is in force just before a time step.
func (t *space) quiet(injections []tape.Decision, at uint64) bool {
	return !slices.ContainsFunc(injections, func(s tape.Decision) bool {
		return s.Index < at && s.Index+t.span(t.dimensionOf(s.Stream), s.Value) >= at
	})
}

// combine adds faults of another run, at the moments that they have there: all, or some that follow each other.
func combine(m *draft, mate *Entry) bool {
	theirs := m.faulty(mate.Injections, nil)
	if len(theirs) == 0 {
		return false
	}
	slices.SortStableFunc(theirs, func(a, b tape.Decision) int { return cmp.Compare(a.Index, b.Index) })
	if m.dice.chance(70) {
		from := m.dice.below(len(theirs))
		theirs = theirs[from:min(from+1+m.dice.below(3), len(theirs))]
	}
	for _, s := range theirs {
		m.inject(m.dimensionOf(s.Stream), s.Index, s.Value)
	}
	return true
}

// The draws of a schedule: draw i is that of step i.
const (
	channels = "sched/deliver"
	amounts  = "sched/count"
	chances  = "chance/step" // other random numbers of nodes from there on, one of chanceKinds
)

const chanceKinds = 1<<32 - 1

// scheduled reports whether the steps of the world are choices, as far as its runs have shown.
func (t *space) scheduled() bool {
	g := t.dimensionOf(channels)
	return g != nil && g.n > 1 && g.end > 1
}

// future keeps a run up to a step, and lets other chance rule from there on: what was reached by then is where it begins.
func future(m *draft, _ *Entry) bool {
	from, seed := uint64(m.dice.below(int(m.dimensionOf(channels).end))), m.dice.bits()
	m.override(tape.Edit{Op: tape.Reseed, Stream: "sched/**", From: from, Seed: seed})
	for k := range m.dimensions {
		if g := &m.dimensions[k]; g.steps && g.rule > 0 {
			m.override(tape.Edit{Op: tape.Reseed, Stream: g.stream, From: from, Seed: seed})
		}
	}
	m.edits = slices.DeleteFunc(m.edits, func(e tape.Edit) bool { return e.Op == tape.Set && e.Stream == chances && e.From >= from })
	m.edits = append(m.edits, tape.Edit{Op: tape.Set, Stream: chances, From: from, Value: 1 + seed%chanceKinds})
	return true
}

// choices swaps which channels a few steps prefer, counts how many messages they deliver.
func choices(m *draft, _ *Entry) bool { return m.exchange(channels, 1+m.dice.below(4)) }
func counts(m *draft, _ *Entry) bool  { return m.exchange(amounts, 1+m.dice.below(4)) }

// exchange swaps the values of two draws of a stream, several times.
func (m *draft) exchange(stream string, times int) bool {
	g := m.dimensionOf(stream)
	if g == nil || g.n < 2 || g.end < 2 {
		return false
	}
	now := tape.NewSource(tape.Tape{Seed: m.seed, Edits: m.edits})
	now.Ready() // few of the draws that matter are made before
	values := map[uint64]uint64{}
	value := func(i uint64) uint64 {
		v, known := values[i]
		if !known {
			v = now.PeekDraw(stream, i, g.n)
		}
		return v
	}
	for range times {
		i := uint64(m.dice.below(int(g.end)))
		k := (i + 1 + uint64(m.dice.below(int(g.end-1)))) % g.end
		values[i], values[k] = value(k), value(i)
	}
	changed := false
	for _, i := range slices.Sorted(maps.Keys(values)) {
		if v := values[i]; v != now.PeekDraw(stream, i, g.n) {
			m.set(stream, i, v)
			changed = true
		}
	}
	return changed
}
