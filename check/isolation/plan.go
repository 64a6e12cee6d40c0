package isolation

import (
	"cmp"
	"slices"

	"github.com/bloodhound-dst/bloodhound/check/linear"
	"github.com/bloodhound-dst/bloodhound/internal/splitmix"
)

// fetch is a read of a key: which version it saw.
type fetch struct{ key, version int32 }

// plan looks for an order of transactions. Without snapshots each of them is one event; with them it has two, its
// start, when it reads, and its commit, when it writes, and no two that write the same key may overlap.
type plan struct {
	snapshot bool
	in       []bool
	reads    [][]fetch // by transaction, of what others wrote
	writes   [][]int32 // by transaction: keys, in order
	keys     int
	events   *graph // which events come before others: starts, then commits, then moments in time

	// versions are what was written to keys: at first one for each key, then one for each write.
	versions int32
	wrote    [][]int32 // by transaction: the versions of its writes
}

func newPlan(txns, keys int) *plan {
	return &plan{in: make([]bool, txns), reads: make([][]fetch, txns), writes: make([][]int32, txns), keys: keys,
		events: newGraph(2 * txns), wrote: make([][]int32, txns)}
}

func (p *plan) start(t int32) int32 { return t }

func (p *plan) commit(t int32) int32 {
	if p.snapshot {
		return t + int32(len(p.in))
	}
	return t
}

// precede adds that one transaction comes before another.
func (p *plan) precede(first, second int32, k kind) {
	p.order(first, edge{to: second, kind: k})
}

func (p *plan) order(first int32, e edge) {
	from, to := p.commit(first), p.start(e.to)
	if e.kind == rw {
		from, to = p.start(first), p.commit(e.to)
	}
	e.to = to
	p.events.add(from, e)
}

func (p *plan) number() {
	p.versions = int32(p.keys)
	for t, keys := range p.writes {
		p.wrote[t] = make([]int32, len(keys))
		for i := range keys {
			p.wrote[t][i] = p.versions
			p.versions++
		}
	}
}

// versionOf is the version of a key that a transaction wrote; txn < 0 stands for what was there at first.
func (p *plan) versionOf(txn, key int32) int32 {
	if txn < 0 {
		return key
	}
	i, _ := slices.BinarySearch(p.writes[txn], key)
	return p.wrote[txn][i]
}

// maxSaturated bounds the events of which all orders are inferred: that takes a bit for each two of them, 128 MiB.
const maxSaturated = 1 << 15

// saturate infers what must come before what. It gives a circle if that is impossible, and whether the budget lasted.
func (p *plan) saturate(b *linear.Budget) (circle []step, done bool) {
	n := len(p.events.out)
	if n > maxSaturated {
		return p.events.circle(kinds(ww, wr, rw, session, clock, implied, pass)), true
	}
	if p.snapshot {
		for t := range p.in {
			p.events.add(p.start(int32(t)), edge{to: p.commit(int32(t)), kind: pass})
		}
	}
	writers := make([][]int32, p.keys)
	author := make([]int32, p.versions) // who wrote a version, -1 for what was there at first
	for k := range p.keys {
		author[k] = -1
	}
	for t, keys := range p.writes {
		for i, k := range keys {
			author[p.wrote[t][i]] = int32(t)
			if p.in[t] {
				writers[k] = append(writers[k], int32(t))
			}
		}
	}
	words := (n + 63) / 64
	reach := make([]uint64, n*words)
	reaches := func(from, to int32) bool { return reach[int(from)*words+int(to)/64]&(1<<(to%64)) != 0 }
	for {
		if c := p.events.circle(kinds(ww, wr, rw, session, clock, implied, pass)); c != nil {
			return c, true
		}
		if !b.SpendAll(n * words / 64) {
			return nil, false
		}
		p.close(reach, words)
		added := false
		add := func(first int32, e edge) {
			from, to := p.commit(first), p.start(e.to)
			if e.kind == rw {
				from, to = p.start(first), p.commit(e.to)
			}
			if first == e.to || reaches(from, to) {
				return
			}
			p.order(first, e)
			added = true
		}
		for t := range p.in {
			if !p.in[t] {
				continue
			}
			third := int32(t)
			for _, f := range p.reads[t] {
				first := author[f.version]
				if !b.SpendAll(len(writers[f.key])) {
					return nil, false
				}
				for _, second := range writers[f.key] {
					if second == first || second == third {
						continue
					}
					if first < 0 {
						add(third, edge{second, rw, f.key, 0, 0})
						continue
					}
					if reaches(p.commit(second), p.start(third)) {
						add(second, edge{first, implied, f.key, third, 0})
					}
					if reaches(p.start(first), p.commit(second)) {
						add(third, edge{second, rw, f.key, 0, 0})
					}
				}
			}
		}
		if p.snapshot {
			for k, list := range writers {
				if !b.SpendAll(len(list) * len(list)) {
					return nil, false
				}
				for _, x := range list {
					for _, y := range list {
						if x != y && reaches(p.start(x), p.commit(y)) {
							add(x, edge{y, ww, int32(k), 0, 0})
						}
					}
				}
			}
		}
		if !added {
			return nil, true
		}
	}
}

// close makes reach the transitive closure of the events' order, which has no circle.
func (p *plan) close(reach []uint64, words int) {
	n := len(p.events.out)
	clear(reach)
	state := make([]uint8, n)
	var stack []int32
	for root := range n {
		stack = append(stack, int32(root))
		for len(stack) > 0 {
			v := stack[len(stack)-1]
			if state[v] == 0 {
				state[v] = 1
				for _, e := range p.events.out[v] {
					if state[e.to] == 0 {
						stack = append(stack, e.to)
					}
				}
				continue
			}
			stack = stack[:len(stack)-1]
			if state[v] == 2 {
				continue
			}
			state[v] = 2
			row := reach[int(v)*words : (int(v)+1)*words]
			for _, e := range p.events.out[v] {
				row[e.to/64] |= 1 << (e.to % 64)
				for i, w := range reach[int(e.to)*words : (int(e.to)+1)*words] {
					row[i] |= w
				}
			}
		}
	}
}

// search looks for an order of all events, depth first; it never looks twice at what remains after the same events.
func (p *plan) search(txns []Txn, b *linear.Budget) linear.Answer {
	s := newSearch(p, txns)
	type frame struct {
		event  int32
		cursor int32 // where the look for the next event goes on
		only   bool  // no other event need be tried in its place
		undo   int
	}
	type key [2]uint64
	visited := map[key]bool{}
	var hash key
	var frames []frame
	cursor := s.next[s.head()]
	only := false
	for {
		if s.left == 0 {
			return linear.Legal
		}
		chosen := int32(-1)
		for ; !only && cursor != s.head(); cursor = s.next[cursor] {
			if !b.Spend(0) {
				return linear.Undecided
			}
			if s.enabled(cursor) {
				chosen = cursor
				break
			}
		}
		if chosen >= 0 {
			h := hash
			h[0] ^= mix(uint64(chosen) + 1)
			h[1] ^= mix(uint64(chosen) + 1<<40)
			if visited[h] {
				cursor = s.next[chosen]
				continue
			}
			const entry = 48
			if !b.Spend(entry) {
				return linear.Undecided
			}
			visited[h] = true
			hash = h
			frames = append(frames, frame{chosen, cursor, s.harmless(chosen), len(s.undo)})
			s.apply(chosen)
			cursor, only = s.next[s.head()], false
			continue
		}
		if len(frames) == 0 {
			return linear.Illegal
		}
		f := frames[len(frames)-1]
		frames = frames[:len(frames)-1]
		s.revert(f.event, f.undo)
		hash[0] ^= mix(uint64(f.event) + 1)
		hash[1] ^= mix(uint64(f.event) + 1<<40)
		cursor, only = s.next[f.cursor], f.only
	}
}

// wander looks for an order by chance: it takes one of the events that may happen, and where none may, goes back a few
// steps, and more of them the longer it gets no further. It can find an order and cannot tell that there is none. Its
// chances are drawn from a fixed seed, so that it finds the same each time.
func (p *plan) wander(txns []Txn, steps int64, b *linear.Budget) bool {
	const ahead, firstJump = 96, 4
	s := newSearch(p, txns)
	type frame struct {
		event int32
		undo  int
	}
	var frames []frame
	var choice []int32
	dice := uint64(1)
	deepest, jump := 0, firstJump
	for s.left > 0 {
		choice = choice[:0]
		for e, k := s.next[s.head()], 0; e != s.head() && k < ahead; e, k = s.next[e], k+1 {
			if steps--; steps < 0 || !b.Spend(0) {
				return false
			}
			if !s.enabled(e) {
				continue
			}
			if choice = append(choice, e); s.harmless(e) {
				choice[0] = e
				choice = choice[:1]
				break
			}
		}
		if len(choice) == 0 {
			for k := 0; k < jump && len(frames) > 0; k++ {
				f := frames[len(frames)-1]
				frames = frames[:len(frames)-1]
				s.revert(f.event, f.undo)
			}
			jump += jump/4 + 1
			if jump > len(frames)+firstJump {
				jump = firstJump
			}
			continue
		}
		dice++
		e := choice[mix(dice)%uint64(len(choice))]
		frames = append(frames, frame{e, len(s.undo)})
		s.apply(e)
		if len(frames) > deepest {
			deepest, jump = len(frames), firstJump
		}
	}
	return true
}

func mix(x uint64) uint64 { return splitmix.Mix(x + splitmix.Gamma) }

// scene is how far a search is.
type scene struct {
	*plan
	next, prev []int32 // the events that are left, in the order in which they are tried; the last one is the head
	missing    []int32 // by event: how many must come before it and have not
	current    []int32 // by key: the version that holds
	waiting    []int32 // by version: reads of it that are left
	active     []int32 // by key: the transaction that has started and will write it, or -1
	undo       []int32 // versions that were overwritten
	left       int
}

func newSearch(p *plan, txns []Txn) *scene {
	n := len(p.events.out)
	s := &scene{plan: p, next: make([]int32, n+1), prev: make([]int32, n+1), missing: make([]int32, n), current: make([]int32, p.keys),
		waiting: make([]int32, p.versions), active: make([]int32, p.keys)}
	for k := range s.current {
		s.current[k], s.active[k] = int32(k), -1
	}
	var events []int32
	when := func(e int32) uint64 {
		if t := p.txn(e); t >= 0 && txns[t].Fate == Committed {
			return txns[t].Return
		}
		return 0
	}
	for t := range p.in {
		if !p.in[t] {
			continue
		}
		events = append(events, int32(t))
		if p.snapshot {
			events = append(events, p.commit(int32(t)))
			s.missing[p.commit(int32(t))]++
		}
		for _, f := range p.reads[t] {
			s.waiting[f.version]++
		}
	}
	for e := 2 * len(p.in); e < n; e++ {
		events = append(events, int32(e))
	}
	slices.SortStableFunc(events, func(x, y int32) int { return cmp.Or(cmp.Compare(when(x), when(y)), cmp.Compare(x, y)) })
	for _, out := range p.events.out {
		for _, e := range out {
			if e.kind != pass {
				s.missing[e.to]++
			}
		}
	}
	at := s.head()
	s.next[at], s.prev[at] = at, at
	for _, e := range events {
		s.next[at], s.prev[e] = e, at
		s.next[e], s.prev[s.head()] = s.head(), e
		at = e
	}
	s.left = len(events)
	return s
}

func (s *scene) head() int32 { return int32(len(s.next) - 1) }

// txn of an event, or -1 for a moment in time.
func (p *plan) txn(e int32) int32 {
	n := int32(len(p.in))
	switch {
	case e < n:
		return e
	case e < 2*n:
		return e - n
	}
	return -1
}

func (s *scene) enabled(e int32) bool {
	if s.missing[e] > 0 {
		return false
	}
	t := s.txn(e)
	if t < 0 {
		return true
	}
	if e == s.start(t) {
		for _, f := range s.reads[t] {
			if s.current[f.key] != f.version {
				return false
			}
		}
		if s.snapshot {
			for _, k := range s.writes[t] {
				if s.active[k] >= 0 {
					return false
				}
			}
			return true
		}
	}
	for _, k := range s.writes[t] {
		waiting := s.waiting[s.current[k]]
		if e == s.start(t) && slices.Contains(s.reads[t], fetch{k, s.current[k]}) {
			waiting--
		}
		if waiting > 0 {
			return false
		}
	}
	return true
}

// harmless tells whether an event that may happen now may as well happen at once: it changes nothing.
func (s *scene) harmless(e int32) bool {
	t := s.txn(e)
	return t < 0 || len(s.writes[t]) == 0
}

func (s *scene) apply(e int32) { s.move(e, 1) }

func (s *scene) revert(e int32, undo int) {
	s.move(e, -1)
	s.undo = s.undo[:undo]
}

// move lets an event happen, or takes back the last one.
func (s *scene) move(e int32, by int32) {
	s.left -= int(by)
	if by > 0 {
		s.next[s.prev[e]], s.prev[s.next[e]] = s.next[e], s.prev[e]
	} else {
		s.next[s.prev[e]], s.prev[s.next[e]] = e, e
	}
	for _, d := range s.events.out[e] {
		if d.kind != pass {
			s.missing[d.to] -= by
		}
	}
	t := s.txn(e)
	if t < 0 {
		return
	}
	if e == s.start(t) {
		if s.snapshot {
			s.missing[s.commit(t)] -= by
		}
		for _, f := range s.reads[t] {
			s.waiting[f.version] -= by
		}
		if s.snapshot {
			for _, k := range s.writes[t] {
				s.active[k] = t
				if by < 0 {
					s.active[k] = -1
				}
			}
			return
		}
	}
	if e != s.commit(t) {
		return
	}
	for i, k := range s.writes[t] {
		switch {
		case by > 0:
			s.undo = append(s.undo, s.current[k])
			s.current[k] = s.wrote[t][i]
			if s.snapshot {
				s.active[k] = -1
			}
		default:
			s.current[k] = s.undo[len(s.undo)-len(s.writes[t])+i]
			if s.snapshot {
				s.active[k] = t
			}
		}
	}
}
