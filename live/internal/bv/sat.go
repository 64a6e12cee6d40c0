package bv

import "slices"

// lit is a literal: twice the number of a variable, plus 1 if it is negated. Variable 0 is true.
type lit int32

const (
	litTrue  lit = 0
	litFalse lit = 1
)

func (l lit) not() lit { return l ^ 1 }
func (l lit) v() int32 { return int32(l >> 1) }

// flip is l, negated if negate is true.
func (l lit) flip(negate bool) lit {
	if negate {
		return l ^ 1
	}
	return l
}

// sat decides whether clauses can be true at once, by conflict-driven clause learning: Eén and Sörensson, "An Extensible
// SAT-solver" (MiniSat, SAT 2003), with the measure of learnt clauses from Audemard and Simon, "Predicting Learnt Clauses Quality
// in Modern SAT Solvers" (Glucose, IJCAI 2009).
//
// Its clauses define gates over input bits (blast.go), so that values of all input bits imply, by unit propagation, those of all
// gates. Hence it decides on input bits only, and a query decides on those that its gates depend on. Queries are assumptions:
// what one has learnt holds for all others.
type sat struct {
	arena    []lit // clauses: a head of two words (length, glue), then the literals. The first two literals are watched
	learnt   []int32
	wasted   int       // words of deleted clauses
	watches  [][]watch // by the literal whose falsehood concerns the clause
	values   []int8    // by literal: 1 true, -1 false, 0 open
	vars     []variable
	trail    []lit
	starts   []int32 // by level above 0: the length of the trail before it
	head     int     // what of the trail is propagated
	heap     []int32
	deciding []int32 // the variables that are wanted
	bump     float64
	assumed  []lit // the assumptions of the first levels
	broken   bool  // the clauses contradict each other

	learning, marked, walk []lit
	glueStamps             []uint32
	glueRound              uint32

	conflicts      int // so far
	propagated     int // literals, so far
	lastPropagated int // when a query is given up
	keepLearnt     int
}

type variable struct {
	level    int32 // at which it got its value
	reason   int32 // the clause that implied that, or noClause
	activity float64
	place    int32     // in the heap, or -1
	negative bool      // the value to decide on is false
	wanted   bool      // this query decides on it
	mark     markState // in the analysis of a conflict
}

// watch is an entry of a list of watches: a clause, and one of its literals, which makes a look at the clause needless if it is
// true. A clause of two literals has its other one here, and its number is complemented.
type watch struct {
	clause  int32
	blocker lit
}

const (
	noClause   = -1
	clauseHead = 2

	activityDecay = 0.95
	activityMax   = 1e100
	restartUnit   = 100 // conflicts
	// A conflict of a query of common size takes fewer literals. With very many gates, it is these that take the time.
	propagatedPerConflict = 20000
	glueKept              = 2 // a learnt clause whose literals are of so few levels is never deleted
	learntAtFirst         = 4000
	learntIncrease        = 500
)

type markState uint8

const (
	unmarked markState = iota
	marked
	redundant // implied by marked literals
	needed    // not so
)

func newSAT() *sat {
	s := &sat{bump: 1, keepLearnt: learntAtFirst}
	s.newVariable()
	s.add(litTrue)
	return s
}

// newVariable is a new variable, as a literal.
func (s *sat) newVariable() lit {
	v := len(s.vars)
	s.watches = append(s.watches, nil, nil)
	s.values = append(s.values, 0, 0)
	s.vars = append(s.vars, variable{reason: noClause, place: -1, negative: true})
	return lit(2 * v)
}

func (s *sat) level() int32 { return int32(len(s.starts)) }

// add adds a clause. Levels at which none of its literals has a value stay.
func (s *sat) add(lits ...lit) {
	back := s.level()
	for _, l := range lits {
		if s.values[l] != 0 && s.vars[l.v()].level > 0 {
			back = min(back, s.vars[l.v()].level-1)
		}
	}
	s.backtrack(back)
	// Literals that are decided for good need no place.
	var array [8]lit
	kept := array[:0]
	for _, l := range lits {
		if s.values[l] > 0 {
			return
		}
		if s.values[l] == 0 {
			kept = append(kept, l)
		}
	}
	switch len(kept) {
	case 0:
		s.broken = true
	case 1:
		s.backtrack(0)
		s.imply(kept[0], noClause)
	default:
		s.attach(kept, 0)
	}
}

// attach stores a clause of at least two literals.
func (s *sat) attach(lits []lit, glue int) int32 {
	c := int32(len(s.arena))
	s.arena = append(s.arena, lit(len(lits)), lit(glue))
	s.arena = append(s.arena, lits...)
	s.watch(c)
	return c
}

func (s *sat) watch(c int32) {
	lits := s.clause(c)
	entry := c
	if len(lits) == 2 {
		entry = ^c
	}
	s.watches[lits[0]] = append(s.watches[lits[0]], watch{entry, lits[1]})
	s.watches[lits[1]] = append(s.watches[lits[1]], watch{entry, lits[0]})
}

func (s *sat) clause(c int32) []lit {
	return s.arena[c+clauseHead : c+clauseHead+int32(s.arena[c])]
}

func (s *sat) imply(l lit, reason int32) {
	s.values[l], s.values[l.not()] = 1, -1
	s.vars[l.v()].level, s.vars[l.v()].reason = s.level(), reason
	s.trail = append(s.trail, l)
}

// propagate draws all conclusions of single clauses. It gives the clause that became false, or noClause.
func (s *sat) propagate() int32 {
	for s.head < len(s.trail) {
		falsehood := s.trail[s.head].not()
		s.head++
		s.propagated++
		list := s.watches[falsehood]
		kept := 0
	next:
		for i := 0; i < len(list); i++ {
			w := list[i]
			value := s.values[w.blocker]
			if value > 0 {
				list[kept] = w
				kept++
				continue
			}
			if w.clause < 0 {
				list[kept] = w
				kept++
				if value < 0 {
					kept += copy(list[kept:], list[i+1:])
					s.watches[falsehood] = list[:kept]
					return ^w.clause
				}
				s.imply(w.blocker, ^w.clause)
				continue
			}
			lits := s.clause(w.clause)
			if lits[0] == falsehood {
				lits[0], lits[1] = lits[1], lits[0]
			}
			first := lits[0]
			if s.values[first] > 0 {
				list[kept] = watch{w.clause, first}
				kept++
				continue
			}
			for k := 2; k < len(lits); k++ {
				if s.values[lits[k]] >= 0 {
					lits[1], lits[k] = lits[k], lits[1]
					s.watches[lits[1]] = append(s.watches[lits[1]], watch{w.clause, first})
					continue next
				}
			}
			list[kept] = watch{w.clause, first}
			kept++
			if s.values[first] < 0 {
				kept += copy(list[kept:], list[i+1:])
				s.watches[falsehood] = list[:kept]
				return w.clause
			}
			s.imply(first, w.clause)
		}
		s.watches[falsehood] = list[:kept]
	}
	return noClause
}

// backtrack undoes all levels above one.
func (s *sat) backtrack(level int32) {
	if s.level() <= level {
		return
	}
	start := int(s.starts[level])
	for i := len(s.trail) - 1; i >= start; i-- {
		l := s.trail[i]
		v := l.v()
		s.values[l], s.values[l.not()] = 0, 0
		s.vars[v].negative = l&1 != 0
		if s.vars[v].wanted && s.vars[v].place < 0 {
			s.push(v)
		}
	}
	s.trail, s.starts = s.trail[:start], s.starts[:level]
	s.head = start
}

// analyze finds why a clause is false: a clause that would have implied another value at an earlier level, which is returned. The
// first literal of s.learning is the implied one, the second one, if any, is of that level.
func (s *sat) analyze(conflict int32) (back int32) {
	s.learning = append(s.learning[:0], 0)
	open := 0 // marked literals of the current level that are not resolved yet
	at := len(s.trail)
	implied := lit(-1)
	for c := conflict; ; {
		for _, l := range s.clause(c) {
			v := l.v()
			if l == implied || s.vars[v].mark != unmarked || s.vars[v].level == 0 {
				continue
			}
			s.mark(v, marked)
			s.raise(v)
			if s.vars[v].level == s.level() {
				open++
			} else {
				s.learning = append(s.learning, l)
			}
		}
		for at--; s.vars[s.trail[at].v()].mark == unmarked; at-- {
		}
		implied = s.trail[at]
		if open--; open == 0 {
			break
		}
		c = s.vars[implied.v()].reason
	}
	s.learning[0] = implied.not()
	// What the other literals imply is not needed in the clause.
	kept := 1
	for _, l := range s.learning[1:] {
		if s.vars[l.v()].reason == noClause || !s.isRedundant(l) {
			s.learning[kept] = l
			kept++
		}
	}
	s.learning = s.learning[:kept]
	for _, l := range s.marked {
		s.vars[l.v()].mark = unmarked
	}
	s.marked = s.marked[:0]
	for i := 1; i < len(s.learning); i++ {
		if v := s.vars[s.learning[i].v()].level; v > back {
			back = v
			s.learning[1], s.learning[i] = s.learning[i], s.learning[1]
		}
	}
	return back
}

func (s *sat) mark(v int32, state markState) {
	if s.vars[v].mark == unmarked {
		s.marked = append(s.marked, lit(2*v))
	}
	s.vars[v].mark = state
}

// isRedundant reports whether marked literals imply that l is false: every chain of reasons back from it ends at them.
func (s *sat) isRedundant(l lit) bool {
	s.walk = append(s.walk[:0], l)
	for len(s.walk) > 0 {
		l := s.walk[len(s.walk)-1]
		grown := len(s.walk)
		for _, r := range s.clause(s.vars[l.v()].reason) {
			v := r.v()
			if v == l.v() || s.vars[v].level == 0 || s.vars[v].mark == marked || s.vars[v].mark == redundant {
				continue
			}
			if s.vars[v].reason == noClause || s.vars[v].mark == needed {
				for _, w := range s.walk[:grown] {
					if s.vars[w.v()].mark == unmarked {
						s.mark(w.v(), needed)
					}
				}
				return false
			}
			s.walk = append(s.walk, r)
		}
		if len(s.walk) == grown {
			if s.vars[l.v()].mark == unmarked {
				s.mark(l.v(), redundant)
			}
			s.walk = s.walk[:grown-1]
		}
	}
	return true
}

// learn adds the clause of the last analysis, whose first literal it implies.
func (s *sat) learn() {
	first := s.learning[0]
	if len(s.learning) == 1 {
		s.imply(first, noClause)
		return
	}
	c := s.attach(s.learning, s.glue())
	s.learnt = append(s.learnt, c)
	s.imply(first, c)
}

// glue is the number of levels that the literals of a new clause are of.
func (s *sat) glue() (n int) {
	s.glueRound++
	for _, l := range s.learning {
		level := int(s.vars[l.v()].level)
		for level >= len(s.glueStamps) {
			s.glueStamps = append(s.glueStamps, 0)
		}
		if s.glueStamps[level] != s.glueRound {
			s.glueStamps[level] = s.glueRound
			n++
		}
	}
	return n
}

// reduce deletes the worse half of the learnt clauses.
func (s *sat) reduce() {
	slices.SortStableFunc(s.learnt, func(a, b int32) int {
		if d := s.arena[a+1] - s.arena[b+1]; d != 0 {
			return int(d)
		}
		return int(s.arena[a] - s.arena[b])
	})
	const deleted = -1
	kept := s.learnt[:0]
	for i, c := range s.learnt {
		first := s.clause(c)[0]
		isReason := s.values[first] > 0 && s.vars[first.v()].reason == c
		if i < len(s.learnt)/2 || s.arena[c+1] <= glueKept || s.arena[c] == 2 || isReason {
			kept = append(kept, c)
			continue
		}
		s.arena[c+1] = deleted
		s.wasted += clauseHead + int(s.arena[c])
	}
	s.learnt = kept
	for l, list := range s.watches {
		s.watches[l] = slices.DeleteFunc(list, func(w watch) bool { return w.clause >= 0 && s.arena[w.clause+1] == deleted })
	}
	if s.wasted > len(s.arena)/2 {
		s.compact(deleted)
	}
}

// compact moves all clauses that are left together.
func (s *sat) compact(deleted lit) {
	moved := map[int32]int32{noClause: noClause}
	var arena []lit
	for c := int32(0); int(c) < len(s.arena); c += clauseHead + int32(s.arena[c]) {
		if s.arena[c+1] != deleted {
			moved[c] = int32(len(arena))
			arena = append(arena, s.arena[c:c+clauseHead+int32(s.arena[c])]...)
		}
	}
	for _, list := range s.watches {
		for i, w := range list {
			if w.clause < 0 {
				list[i].clause = ^moved[^w.clause]
			} else {
				list[i].clause = moved[w.clause]
			}
		}
	}
	for _, l := range s.trail {
		s.vars[l.v()].reason = moved[s.vars[l.v()].reason]
	}
	for i, c := range s.learnt {
		s.learnt[i] = moved[c]
	}
	s.arena, s.wasted = arena, 0
}

// solve looks for values of the wanted variables, each of which is there once, under assumptions. It gives Unknown after a budget
// of conflicts, or of literals that many conflicts would take. After Sat, s.values has the values.
func (s *sat) solve(assumptions []lit, wanted []int32, budget int) Result {
	// Levels of assumptions that the last query had, too, stay.
	same := 0
	for same < len(assumptions) && same < len(s.assumed) && same < len(s.starts) && assumptions[same] == s.assumed[same] {
		same++
	}
	s.backtrack(int32(same))
	s.assumed = append(s.assumed[:0], assumptions...)
	s.decideOn(wanted)
	if s.broken {
		return Unsat
	}
	lastConflict := s.conflicts + budget
	s.lastPropagated = s.propagated + min(budget, 1<<40)*propagatedPerConflict
	for restart := 1; ; restart++ {
		if result := s.search(min(lastConflict-s.conflicts, restartUnit*luby(restart))); result != Unknown {
			return result
		}
		if s.conflicts >= lastConflict || s.propagated > s.lastPropagated {
			return Unknown
		}
		s.backtrack(int32(min(len(s.assumed), len(s.starts))))
	}
}

// decideOn fills the heap with the variables of a query.
func (s *sat) decideOn(wanted []int32) {
	for _, v := range s.heap {
		s.vars[v].place = -1
	}
	s.heap = s.heap[:0]
	for _, v := range s.deciding {
		s.vars[v].wanted = false
	}
	s.deciding = append(s.deciding[:0], wanted...)
	for _, v := range wanted {
		s.vars[v].wanted = true
		s.push(v)
	}
}

// search goes on until an answer or a number of conflicts.
func (s *sat) search(most int) Result {
	for n := 0; ; {
		if conflict := s.propagate(); conflict != noClause {
			s.conflicts++
			n++
			if s.level() == 0 {
				s.broken = true
				return Unsat
			}
			s.backtrack(s.analyze(conflict))
			s.learn()
			s.bump /= activityDecay
			if len(s.learnt) > s.keepLearnt {
				s.reduce()
				s.keepLearnt += learntIncrease
			}
			if n >= most || s.propagated > s.lastPropagated {
				return Unknown
			}
			continue
		}
		var next lit
		if level := int(s.level()); level < len(s.assumed) {
			next = s.assumed[level]
			if s.values[next] < 0 {
				return Unsat
			}
			if s.values[next] > 0 { // the level is there, so that levels and assumptions keep step
				s.starts = append(s.starts, int32(len(s.trail)))
				continue
			}
		} else {
			v := s.pop()
			if v < 0 {
				return Sat
			}
			next = lit(2 * v).flip(s.vars[v].negative)
		}
		s.starts = append(s.starts, int32(len(s.trail)))
		s.imply(next, noClause)
	}
}

// luby is term i, from 1, of the sequence 1 1 2 1 1 2 4 ... (Luby, Sinclair and Zuckerman 1993).
func luby(i int) int {
	for k := 1; ; k++ {
		if i == 1<<k-1 {
			return 1 << (k - 1)
		}
		if i < 1<<k-1 {
			return luby(i - (1<<(k-1) - 1))
		}
	}
}

// raise adds to the activity of a variable, which is decided on the earlier the more conflicts it has part in, and the later these were.
func (s *sat) raise(v int32) {
	s.vars[v].activity += s.bump
	if s.vars[v].activity > activityMax {
		for i := range s.vars {
			s.vars[i].activity /= activityMax
		}
		s.bump /= activityMax
	}
	if s.vars[v].place >= 0 {
		s.up(int(s.vars[v].place))
	}
}

// before is the order of the heap. Variables that are equally active have the order in which they were made: high bits first.
func (s *sat) before(v, w int32) bool {
	return s.vars[v].activity > s.vars[w].activity || s.vars[v].activity == s.vars[w].activity && v < w
}

func (s *sat) push(v int32) {
	s.vars[v].place = int32(len(s.heap))
	s.heap = append(s.heap, v)
	s.up(len(s.heap) - 1)
}

// pop is the first variable that is open, or -1.
func (s *sat) pop() int32 {
	for len(s.heap) > 0 {
		v := s.heap[0]
		last := s.heap[len(s.heap)-1]
		s.heap = s.heap[:len(s.heap)-1]
		s.vars[v].place = -1
		if v != last {
			s.heap[0], s.vars[last].place = last, 0
			s.down(0)
		}
		if s.values[2*v] == 0 {
			return v
		}
	}
	return -1
}

func (s *sat) up(i int) {
	v := s.heap[i]
	for i > 0 {
		parent := (i - 1) / 2
		if !s.before(v, s.heap[parent]) {
			break
		}
		s.heap[i] = s.heap[parent]
		s.vars[s.heap[i]].place = int32(i)
		i = parent
	}
	s.heap[i], s.vars[v].place = v, int32(i)
}

func (s *sat) down(i int) {
	v := s.heap[i]
	for {
		child := 2*i + 1
		if child >= len(s.heap) {
			break
		}
		if child+1 < len(s.heap) && s.before(s.heap[child+1], s.heap[child]) {
			child++
		}
		if !s.before(s.heap[child], v) {
			break
		}
		s.heap[i] = s.heap[child]
		s.vars[s.heap[i]].place = int32(i)
		i = child
	}
	s.heap[i], s.vars[v].place = v, int32(i)
}
