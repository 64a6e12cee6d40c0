package model

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/splitmix"
	"github.com/bloodhound-dst/bloodhound/internal/tla/cells"
	"github.com/bloodhound-dst/bloodhound/internal/tla/eval"
	"github.com/bloodhound-dst/bloodhound/tla"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// memory remembers what actions lead to, and what expressions are. Runs of a search are alike, and so most of their steps were
// taken before: not from the same states, but from states that have the same in the cells that the step depends on. States, cells
// and arguments are distinguished by 64-bit fingerprints, as in TLC. But for the values there is no pointer in it, since the
// garbage collector would follow each of them, time and again.
type memory struct {
	cells     *cells.Cells
	seeds     []uint64 // of each cell
	variables []int    // of each cell
	scratch   []bool   // variables that every step begins with their first values
	all       cells.Set

	calls    table[known] // by the operator and its arguments
	outcomes table[int32] // by that and by the cells of a pattern: which of list
	recent   []recent     // by that and by the state
	list     []outcome    // each once
	alike    table[int32] // which of list has a hash
	changes  []change
	writes   []write
	mets     mets
	patterns []pattern
	numbers  map[cells.Set]uint16 // of patterns
	values   []value.Value        // each once
	prints   table[int32]         // which of values has a fingerprint
	asked    int                  // what was looked for
	found    int                  // of it
	useless  bool                 // too little is found: nothing is kept
}

// known are the patterns of cells that a call was seen to depend on, the last one first.
type known struct {
	patterns [knownPatterns]uint16
	count    uint8
}

// recent is a recent lookup in a state.
type recent struct {
	key uint64
	at  int32
}

// pattern is a set of cells that something depends on.
type pattern struct {
	set  cells.Set
	list []int32
}

// outcome is the result of a step of an action, or the value of an expression.
type outcome struct {
	next    part   // of memory.changes
	met     int32  // which of memory.mets
	refused int32  // which guard; -1: none
	value   int32  // which of memory.values; -1: none
	reads   uint16 // of a value: which pattern, or readsAll
	print   uint64 // of the value
}

// part is one of a longer list.
type part struct{ from, to int32 }

// change is the effect of a step on the cells.
type change struct {
	writes part // of memory.writes
	cells  cells.Set
}

// write is the value of a cell after a step: its number in memory.values, or -1.
type write struct {
	mark  uint64
	cell  int32
	value int32
}

// mets are lists of guards that were met, each once. A list has two bits of each guard.
type mets struct {
	lists   [][]uint64
	numbers map[string]int32
}

const (
	// mostOutcomes and mostValues are how much is remembered, mostPatterns bounds the sets of cells that anything depends on, and
	// knownPatterns those of one call.
	mostOutcomes  = 400_000
	mostValues    = 200_000
	mostPatterns  = 1 << 14
	knownPatterns = 7
	readsAll      = 1<<16 - 1
	mostUseless   = 1 << 12
	recents       = 1 << 13
	// Of what is looked for, one in leastFound must be there for remembering to pay.
	leastFound = 4
)

func newMemory(spec *tla.Spec, initial []tla.State) *memory {
	m := &memory{cells: cells.Divide(initial), scratch: make([]bool, len(spec.Variables)), recent: make([]recent, recents)}
	for i := range spec.Variables {
		for from, to := m.cells.Range(i); from < to; from++ {
			m.seeds, m.variables = append(m.seeds, splitmix.Mix(uint64(from+1)*splitmix.Gamma)), append(m.variables, i)
			m.all.Add(from)
		}
	}
	m.forget()
	return m
}

// forget removes all: no state that was made before may be used with the memory.
func (m *memory) forget() {
	m.calls, m.outcomes, m.alike, m.prints = table[known]{}, table[int32]{}, table[int32]{}, table[int32]{}
	m.numbers, m.mets = map[cells.Set]uint16{}, mets{numbers: map[string]int32{}}
	m.list, m.writes, m.patterns, m.values = nil, nil, nil, nil
	m.changes = []change{{}}
	clear(m.recent)
}

// makeRoom frees memory between runs. It reports whether it has forgotten everything.
func (m *memory) makeRoom() bool {
	most := mostOutcomes
	if m.useless {
		most = mostUseless
	}
	if m.outcomes.used+len(m.list) < most && len(m.patterns) < mostPatterns && len(m.values) < mostValues {
		return false
	}
	m.useless = m.found*leastFound < m.asked
	m.asked, m.found = 0, 0
	m.forget()
	return true
}

// key returns the key of an operator with arguments.
func key(operator uint64, args []value.Value) uint64 {
	return splitmix.Mix(operator ^ value.Hash(args)*splitmix.Gamma)
}

// sum is the key of a call with what a state has in the cells of a pattern.
func (m *memory) sum(p *point, call uint64, number uint16) uint64 {
	sum := uint64(number) * splitmix.Gamma
	for _, c := range m.patterns[number].list {
		sum += p.marks[c]
	}
	return splitmix.Mix(call ^ splitmix.Mix(sum))
}

// recall gives what a call is known to lead to in a state, or nil. It is valid until something else is remembered.
func (m *memory) recall(p *point, call uint64) *outcome {
	m.asked++
	here := splitmix.Mix(call ^ p.print*splitmix.Gamma)
	last := &m.recent[here%recents]
	if last.key == here && here != 0 {
		m.found++
		return &m.list[last.at]
	}
	k := m.calls.find(call)
	if k == nil {
		return nil
	}
	for _, number := range k.patterns[:k.count] {
		if at := m.outcomes.find(m.sum(p, call, number)); at != nil {
			*last = recent{here, *at}
			m.found++
			return &m.list[*at]
		}
	}
	return nil
}

// remember keeps what a call leads to in states that have the same in the cells that were read. If r is nil, that is not known, and it is only kept for now.
func (m *memory) remember(p *point, call uint64, r *cells.Reads, o outcome) *outcome {
	o.reads = readsAll
	if r == nil {
		m.list = append(m.list, o)
		return &m.list[len(m.list)-1]
	}
	set := r.Set
	if r.All {
		set = m.all
	}
	number, ok := m.numbers[set]
	if !ok {
		if len(m.patterns) >= mostPatterns {
			m.list = append(m.list, o)
			return &m.list[len(m.list)-1]
		}
		number = uint16(len(m.patterns))
		q := pattern{set: set}
		set.Each(func(cell int) { q.list = append(q.list, int32(cell)) })
		m.patterns, m.numbers[set] = append(m.patterns, q), number
	}
	k := m.calls.add(call)
	if i := slices.Index(k.patterns[:k.count], number); i != 0 {
		if i < 0 {
			if i = int(k.count); i == knownPatterns {
				i--
			} else {
				k.count++
			}
		}
		copy(k.patterns[1:i+1], k.patterns[:i])
		k.patterns[0] = number
	}
	if o.value >= 0 {
		o.reads = number
	}
	at := m.once(o)
	*m.outcomes.add(m.sum(p, call, number)) = at
	return &m.list[at]
}

// once puts an outcome into the list, or finds one that is the same.
func (m *memory) once(o outcome) int32 {
	if o.next.to == o.next.from+1 && m.changes[o.next.from].writes.to == m.changes[o.next.from].writes.from {
		m.changes = m.changes[:o.next.from]
		o.next = part{0, 1} // which changes nothing
	}
	h := splitmix.Mix(o.print ^ uint64(o.met)<<40 ^ uint64(uint32(o.refused))<<20 ^ uint64(o.reads))
	for _, c := range m.changes[o.next.from:o.next.to] {
		for _, w := range m.writes[c.writes.from:c.writes.to] {
			h = splitmix.Mix(h ^ w.mark + uint64(w.cell)*splitmix.Gamma)
		}
		h = splitmix.Mix(h + splitmix.Gamma)
	}
	before := m.alike.used
	at := m.alike.add(h)
	if m.alike.used == before { // it was there
		if o.next.from > 0 && o.next.from < o.next.to {
			m.writes, m.changes = m.writes[:m.changes[o.next.from].writes.from], m.changes[:o.next.from]
		}
		return *at
	}
	*at = int32(len(m.list))
	m.list = append(m.list, o)
	return *at
}

// depends are the cells that an outcome depends on.
func (m *memory) depends(o *outcome) *cells.Set {
	if o.reads == readsAll {
		return &m.all
	}
	return &m.patterns[o.reads].set
}

// number returns the number of a value.
func (m *memory) number(v value.Value, print uint64) int32 {
	before := m.prints.used
	n := m.prints.add(print)
	if m.prints.used > before {
		*n = int32(len(m.values))
		m.values = append(m.values, v)
	}
	return *n
}

// number returns the number of a list of guards that were met.
func (m *mets) number(met eval.GuardsSeen) int32 {
	n, ok := m.numbers[string(met)]
	if !ok {
		n = int32(len(m.lists))
		m.lists, m.numbers[string(met)] = append(m.lists, packed(met)), n
	}
	return n
}

// packed has two bits of each guard.
func packed(met eval.GuardsSeen) []uint64 {
	words := make([]uint64, (len(met)+guardsInWord-1)/guardsInWord)
	for i, m := range met {
		words[i/guardsInWord] |= uint64(m) << (2 * (i % guardsInWord))
	}
	return words
}

const guardsInWord = 32

// point is a state of the specification by its cells. A variable that is not divided as it was at first is all in its first cell, and the others have -1.
type point struct {
	cells  []int32   // numbers of values
	marks  []uint64  // fingerprints of what is in each cell
	print  uint64    // of the state
	joined tla.State // values of variables, nil where cells have changed since
	view   uint64    // fingerprint of the state's view
	viewed bool
	shows  cells.Set // what the view depends on
}

// mark returns the mark of a value in a cell.
func (m *memory) mark(cell int, print uint64) uint64 { return splitmix.Mix(print ^ m.seeds[cell]) }

// parts calls f with what each cell of a variable has.
func (m *memory) parts(variable int, v value.Value, f func(w write)) {
	from, to := m.cells.Range(variable)
	if list, ok := m.cells.Parts(variable, v); ok {
		for i, v := range list {
			print := v.Fingerprint()
			f(write{m.mark(from+i, print), int32(from + i), m.number(v, print)})
		}
		return
	}
	print := v.Fingerprint()
	n := m.number(v, print)
	for i := from; i < to; i++ { // each depends on all of the value
		f(write{m.mark(i, print^uint64(to-from-1)*splitmix.Gamma), int32(i), n})
		n = -1
	}
}

// newPoint is a state.
func (m *memory) newPoint(s tla.State) *point {
	p := &point{cells: make([]int32, m.cells.Count()), marks: make([]uint64, m.cells.Count()), joined: slices.Clone(s)}
	for i, v := range s {
		m.parts(i, v, func(w write) {
			p.cells[w.cell], p.marks[w.cell] = w.value, w.mark
			p.print += w.mark
		})
	}
	return p
}

// copy makes p another state.
func (p *point) copy(q *point) {
	p.cells, p.marks, p.joined = append(p.cells[:0], q.cells...), append(p.marks[:0], q.marks...), append(p.joined[:0], q.joined...)
	p.print, p.view, p.viewed, p.shows = q.print, q.view, q.viewed, q.shows
}

// apply has a step change the state.
func (m *memory) apply(p *point, c *change) {
	if c.writes.from == c.writes.to {
		return
	}
	for _, w := range m.writes[c.writes.from:c.writes.to] {
		p.print += w.mark - p.marks[w.cell]
		p.cells[w.cell], p.marks[w.cell] = w.value, w.mark
		p.joined[m.variables[w.cell]] = nil
	}
	if p.viewed && p.shows.Meets(&c.cells) {
		p.viewed = false
	}
}

// divided reports whether a variable has its arguments in cells of their own.
func (m *memory) divided(p *point, variable int) bool {
	from, to := m.cells.Range(variable)
	return to-from > 1 && p.cells[to-1] >= 0
}

// state is the state with its variables whole.
func (m *memory) state(p *point) tla.State {
	for i, v := range p.joined {
		if v != nil {
			continue
		}
		from, to := m.cells.Range(i)
		if m.divided(p, i) {
			parts := make([]value.Value, to-from)
			for k := range parts {
				parts[k] = m.values[p.cells[from+k]]
			}
			p.joined[i] = m.cells.Whole(i, parts)
		} else {
			p.joined[i] = m.values[p.cells[from]]
		}
	}
	return p.joined
}

// change adds what leads from p to a state that a step with these reads has led to, unless it is among those from first on; if r
// is nil, reads of the step were not recorded.
func (m *memory) change(p *point, next tla.State, r *cells.Reads, first int32) {
	c := change{writes: part{from: int32(len(m.writes))}}
	for i, v := range next {
		if m.scratch[i] || r != nil && !r.All && r.Keeps(i) {
			continue
		}
		excepts := r != nil && !r.All && r.Excepts(i) && m.divided(p, i)
		m.parts(i, v, func(w write) {
			switch known := r == nil || r.All || r.Set.Has(int(w.cell)); {
			case known && w.mark == p.marks[w.cell]: // and so wherever the step is the same
			case excepts && !known: // it stays unchanged
			default:
				m.writes = append(m.writes, w)
				c.cells.Add(int(w.cell))
			}
		})
	}
	c.writes.to = int32(len(m.writes))
	for _, o := range m.changes[first:] {
		if c.cells == o.cells && slices.Equal(m.writes[c.writes.from:], m.writes[o.writes.from:o.writes.to]) {
			m.writes = m.writes[:c.writes.from]
			return
		}
	}
	m.changes = append(m.changes, c)
}
