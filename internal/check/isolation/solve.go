package isolation

import (
	"fmt"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/check/linear"
)

// The order of all transactions is known but for pairs of transactions that wrote the same key: one of the two wrote first,
// and who read what it wrote did so before the other one's commit. A solver of clauses (Marques-Silva and Sakallah, IEEE Trans.
// Comput. 1999) decides the pairs one by one; each decision adds edges to the graph of events, whose topological order is kept
// (Pearce and Kelly, JEA 2006). A cycle is a clause: not all decisions that its edges came from can stand.

// pair of transactions that wrote a key, whose order is open.
type pair struct{ first, second, key int32 }

// literal is a pair's decision: 2n says that pair n is in its order, 2n+1 that it is the other way round.
type literal int32

func (l literal) not() literal { return l ^ 1 }
func (l literal) pair() int32  { return int32(l >> 1) }

const known literal = -1 // of edges that no decision made

// arc is an edge of the graph, and the decision that it came from.
type arc struct {
	to int32
	by literal
}

const (
	open int8 = iota
	ordered
	reversed
)

type solver struct {
	*plan
	budget  *linear.Budget
	pairs   []pair
	readers [][]int32 // by version

	out   [][]arc
	into  [][]int32
	place []int32 // of events in a topological order
	added [][2]int32
	mark  []int32 // by event: in which look it was seen
	came  []int32 // by event: from where, in that look
	by    []literal
	look  int32
	queue []int32
	back  []int32
	slots []int32

	value    []int8
	level    []int32
	reason   []int32 // clause that forced a pair, or none
	trail    []literal
	limits   []int // of the trail, by level
	edges    []int // len(added) before the edges of a place in the trail
	head     int   // places in the trail whose consequences are drawn
	clauses  [][]literal
	watches  [][]int32 // by literal
	seen     []bool
	activity []float64
	growth   float64
	heap     []int32
	at       []int32 // in the heap, or none
}

// solve looks for an order of all events. Saturate has gone before.
func (p *plan) solve(b *linear.Budget) linear.Answer {
	s := newSolver(p, b)
	if s == nil {
		return linear.Undecided
	}
	return s.run()
}

// maxPairs bounds what a solver decides.
const maxPairs = 1 << 22

func newSolver(p *plan, b *linear.Budget) *solver {
	n := len(p.events.out)
	s := &solver{plan: p, budget: b, out: make([][]arc, n), into: make([][]int32, n), place: make([]int32, n), mark: make([]int32, n), came: make([]int32, n),
		by: make([]literal, n), growth: 1, readers: make([][]int32, p.versions)}
	writers := make([][]int32, p.keys)
	for t := range p.in {
		if !p.in[t] {
			continue
		}
		for _, k := range p.writes[t] {
			writers[k] = append(writers[k], int32(t))
		}
		for _, f := range p.reads[t] {
			s.readers[f.version] = append(s.readers[f.version], int32(t))
		}
		if p.snapshot {
			s.join(p.start(int32(t)), p.commit(int32(t)), known)
		}
	}
	for v, out := range p.events.out {
		for _, e := range out {
			s.join(int32(v), e.to, known)
		}
	}
	for k, list := range writers {
		if !b.SpendAll(len(list) * len(list) / 8) {
			return nil
		}
		for i, x := range list {
			for _, y := range list[i+1:] {
				if !p.reaches(p.start(x), p.commit(y)) && !p.reaches(p.start(y), p.commit(x)) {
					s.pairs = append(s.pairs, pair{x, y, int32(k)})
				}
			}
		}
		if len(s.pairs) > maxPairs {
			b.Reached = fmt.Sprintf("%d pairs of writes", maxPairs)
			return nil
		}
	}
	const perPair = 128
	if b.Bytes -= int64(len(s.pairs)) * perPair; b.Bytes < 0 {
		b.SpendAll(0)
		return nil
	}
	m := len(s.pairs)
	s.value, s.level, s.reason, s.seen = make([]int8, m), make([]int32, m), make([]int32, m), make([]bool, m)
	s.activity, s.at, s.heap = make([]float64, m), make([]int32, m), make([]int32, m)
	s.watches = make([][]int32, 2*m)
	for i := range m {
		s.heap[i], s.at[i] = int32(i), int32(i)
	}
	s.sort()
	return s
}

// join adds an edge without a look at the order.
func (s *solver) join(from, to int32, by literal) {
	s.out[from] = append(s.out[from], arc{to, by})
	s.into[to] = append(s.into[to], from)
}

// sort places all events; the graph has no cycle.
func (s *solver) sort() {
	missing := make([]int32, len(s.out))
	var queue []int32
	for v := range s.into {
		if missing[v] = int32(len(s.into[v])); missing[v] == 0 {
			queue = append(queue, int32(v))
		}
	}
	for i := 0; i < len(queue); i++ {
		s.place[queue[i]] = int32(i)
		for _, e := range s.out[queue[i]] {
			if missing[e.to]--; missing[e.to] == 0 {
				queue = append(queue, e.to)
			}
		}
	}
	if len(queue) < len(s.out) {
		panic("isolation: a graph with a cycle came to its solver")
	}
}

// insert adds an edge. If it closes a cycle, the decisions on it come back, and nothing is added.
func (s *solver) insert(from, to int32, by literal) (cycle []literal, closed bool) {
	if s.place[from] < s.place[to] {
		s.join(from, to, by)
		s.added = append(s.added, [2]int32{from, to})
		return nil, false
	}
	s.look++
	s.queue = append(s.queue[:0], to)
	s.mark[to] = s.look
	for i := 0; i < len(s.queue); i++ {
		v := s.queue[i]
		for _, e := range s.out[v] {
			if s.mark[e.to] == s.look || s.place[e.to] > s.place[from] {
				continue
			}
			s.mark[e.to], s.came[e.to], s.by[e.to] = s.look, v, e.by
			if e.to == from {
				cycle = append(cycle, by)
				for at := from; at != to; at = s.came[at] {
					if l := s.by[at]; l != known && !slices.Contains(cycle, l) {
						cycle = append(cycle, l)
					}
				}
				return cycle, true
			}
			s.queue = append(s.queue, e.to)
		}
	}
	s.look++
	s.back = append(s.back[:0], from)
	s.mark[from] = s.look
	for i := 0; i < len(s.back); i++ {
		for _, u := range s.into[s.back[i]] {
			if s.mark[u] != s.look && s.place[u] > s.place[to] {
				s.mark[u] = s.look
				s.back = append(s.back, u)
			}
		}
	}
	s.budget.SpendAll((len(s.queue) + len(s.back)) / 8)
	// What comes before the edge takes the first of all places that both sides had.
	byPlace := func(x, y int32) int { return int(s.place[x] - s.place[y]) }
	slices.SortFunc(s.back, byPlace)
	slices.SortFunc(s.queue, byPlace)
	all := append(s.back, s.queue...)
	s.slots = s.slots[:0]
	for _, v := range all {
		s.slots = append(s.slots, s.place[v])
	}
	slices.Sort(s.slots)
	for i, v := range all {
		s.place[v] = s.slots[i]
	}
	s.join(from, to, by)
	s.added = append(s.added, [2]int32{from, to})
	return nil, false
}

// adds inserts the edges of a decision. If one closes a cycle, the clause that forbids it comes back.
func (s *solver) adds(l literal) (clause []literal, broken bool) {
	p := s.pairs[l.pair()]
	if l&1 != 0 {
		p.first, p.second = p.second, p.first
	}
	cycle, closed := s.insert(s.commit(p.first), s.start(p.second), l)
	for _, r := range s.readers[s.versionOf(p.first, p.key)] {
		if closed {
			break
		}
		if r != p.second {
			cycle, closed = s.insert(s.start(r), s.commit(p.second), l)
		}
	}
	for i := range cycle {
		cycle[i] = cycle[i].not()
	}
	return cycle, closed
}

func (s *solver) valueOf(l literal) int8 {
	v := s.value[l.pair()]
	if v != open && l&1 != 0 {
		return ordered + reversed - v
	}
	return v
}

const none = -1

func (s *solver) assume(l literal, reason int32) {
	n := l.pair()
	s.value[n] = ordered + int8(l&1)
	s.level[n], s.reason[n] = int32(len(s.limits)), reason
	s.trail = append(s.trail, l)
}

// propagate draws all consequences. It gives a clause none of whose literals is true, if there is one.
func (s *solver) propagate() (conflict []literal, broken bool) {
	for ; s.head < len(s.trail); s.head++ {
		l := s.trail[s.head]
		s.edges = append(s.edges[:s.head], len(s.added))
		if clause, broken := s.adds(l); broken {
			s.head++
			return clause, true
		}
		list := s.watches[l.not()]
		kept := list[:0]
		for i, c := range list {
			clause := s.clauses[c]
			if clause[0] == l.not() {
				clause[0], clause[1] = clause[1], clause[0]
			}
			if s.valueOf(clause[0]) == ordered {
				kept = append(kept, c)
				continue
			}
			moved := false
			for k := 2; k < len(clause); k++ {
				if s.valueOf(clause[k]) != reversed {
					clause[1], clause[k] = clause[k], clause[1]
					s.watches[clause[1]] = append(s.watches[clause[1]], c)
					moved = true
					break
				}
			}
			if moved {
				continue
			}
			kept = append(kept, c)
			if s.valueOf(clause[0]) == reversed {
				s.watches[l.not()] = append(kept, list[i+1:]...)
				s.head++
				return clause, true
			}
			s.assume(clause[0], c)
		}
		s.watches[l.not()] = kept
	}
	return nil, false
}

// learn turns a conflict into a clause of which one literal is of the current level, and gives the level to go back to.
func (s *solver) learn(conflict []literal) (clause []literal, back int32) {
	clause = []literal{0}
	here, count := int32(len(s.limits)), 0
	at, skip := len(s.trail)-1, literal(none)
	for {
		for _, q := range conflict {
			n := q.pair()
			if q == skip || s.seen[n] || s.level[n] == 0 {
				continue
			}
			s.seen[n] = true
			s.bump(n)
			if s.level[n] == here {
				count++
				continue
			}
			clause = append(clause, q)
			back = max(back, s.level[n])
		}
		for !s.seen[s.trail[at].pair()] {
			at--
		}
		skip = s.trail[at]
		s.seen[skip.pair()] = false
		at--
		if count--; count == 0 {
			break
		}
		conflict = s.clauses[s.reason[skip.pair()]]
	}
	clause[0] = skip.not()
	for _, q := range clause[1:] {
		s.seen[q.pair()] = false
	}
	for i := 2; i < len(clause); i++ {
		if s.level[clause[i].pair()] > s.level[clause[1].pair()] {
			clause[1], clause[i] = clause[i], clause[1]
		}
	}
	return clause, back
}

// retract takes back all above a level.
func (s *solver) retract(level int32) {
	if int(level) >= len(s.limits) {
		return
	}
	size := s.limits[level]
	if size < s.head {
		for len(s.added) > s.edges[size] {
			e := s.added[len(s.added)-1]
			s.added = s.added[:len(s.added)-1]
			s.out[e[0]] = s.out[e[0]][:len(s.out[e[0]])-1]
			s.into[e[1]] = s.into[e[1]][:len(s.into[e[1]])-1]
		}
		s.head = size
	}
	for _, l := range s.trail[size:] {
		s.value[l.pair()] = open
		if s.at[l.pair()] == none {
			s.push(l.pair())
		}
	}
	s.trail, s.limits = s.trail[:size], s.limits[:level]
}

// Conflicts before the first restart; the next ones come by the sequence of Luby, Sinclair and Zuckerman (IPL 1993).
const firstRestart = 100

func luby(i int) int {
	for size := 1; ; size = 2*size + 1 {
		if i == size {
			return (size + 1) / 2
		}
		if i < size {
			return luby(i - (size-1)/2)
		}
	}
}

func (s *solver) run() linear.Answer {
	conflicts, restarts := 0, 1
	for {
		conflict, broken := s.propagate()
		if !s.budget.Spend(0) {
			return linear.Undecided
		}
		if broken {
			if len(s.limits) == 0 {
				return linear.Illegal
			}
			clause, back := s.learn(conflict)
			s.retract(back)
			reason := int32(none)
			if len(clause) > 1 {
				if !s.budget.Spend(int64(4*len(clause) + 40)) {
					return linear.Undecided
				}
				reason = int32(len(s.clauses))
				s.clauses = append(s.clauses, clause)
				s.watches[clause[0]] = append(s.watches[clause[0]], reason)
				s.watches[clause[1]] = append(s.watches[clause[1]], reason)
			}
			s.assume(clause[0], reason)
			s.growth /= 0.95
			if conflicts++; conflicts >= firstRestart*luby(restarts) {
				conflicts = 0
				restarts++
				s.retract(0)
			}
			continue
		}
		n := s.pop()
		if n == none {
			s.certify()
			return linear.Legal
		}
		if s.value[n] != open {
			continue
		}
		s.limits = append(s.limits, len(s.trail))
		s.assume(s.guess(n), none)
	}
}

// guess decides a pair as its events stand in the present order.
func (s *solver) guess(n int32) literal {
	p, l := s.pairs[n], literal(2*n)
	if s.place[s.commit(p.first)] > s.place[s.commit(p.second)] {
		l = l.not()
	}
	return l
}

// certify goes through the order that was found and panics unless each transaction reads what then holds, and no two that
// write the same key overlap.
func (s *solver) certify() {
	order := make([]int32, len(s.place))
	for e, at := range s.place {
		order[at] = int32(e)
	}
	holds, active := make([]int32, s.keys), make([]int32, s.keys)
	for k := range holds {
		holds[k], active[k] = int32(k), none
	}
	for _, e := range order {
		t := s.txn(e)
		if t < 0 || !s.in[t] {
			continue
		}
		if e == s.start(t) {
			for _, f := range s.reads[t] {
				if holds[f.key] != f.version {
					panic("isolation: a transaction reads what does not hold in the order that was found")
				}
			}
			for _, k := range s.writes[t] {
				if active[k] != none {
					panic("isolation: two transactions that write a key overlap in the order that was found")
				}
				active[k] = t
			}
		}
		if e == s.commit(t) {
			for i, k := range s.writes[t] {
				holds[k], active[k] = s.wrote[t][i], none
			}
		}
	}
}

// bump makes a pair one of those that are decided soon.
func (s *solver) bump(n int32) {
	if s.activity[n] += s.growth; s.activity[n] > 1e100 {
		for i := range s.activity {
			s.activity[i] *= 1e-100
		}
		s.growth *= 1e-100
	}
	if s.at[n] != none {
		s.up(s.at[n])
	}
}

// before reports which of two pairs is decided first.
func (s *solver) before(x, y int32) bool {
	return s.activity[x] > s.activity[y] || s.activity[x] == s.activity[y] && x < y
}

func (s *solver) swap(i, k int32) {
	s.heap[i], s.heap[k] = s.heap[k], s.heap[i]
	s.at[s.heap[i]], s.at[s.heap[k]] = i, k
}

func (s *solver) up(i int32) {
	for i > 0 && s.before(s.heap[i], s.heap[(i-1)/2]) {
		s.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
}

func (s *solver) push(n int32) {
	s.at[n] = int32(len(s.heap))
	s.heap = append(s.heap, n)
	s.up(s.at[n])
}

func (s *solver) pop() int32 {
	if len(s.heap) == 0 {
		return none
	}
	n, last := s.heap[0], int32(len(s.heap)-1)
	s.swap(0, last)
	s.heap = s.heap[:last]
	s.at[n] = none
	for i := int32(0); 2*i+1 < last; {
		k := 2*i + 1
		if k+1 < last && s.before(s.heap[k+1], s.heap[k]) {
			k++
		}
		if !s.before(s.heap[k], s.heap[i]) {
			break
		}
		s.swap(i, k)
		i = k
	}
	return n
}
