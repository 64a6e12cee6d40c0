package search

import (
	"container/heap"
	"fmt"
	"maps"
	"slices"

	"github.com/bloodhound-dst/bloodhound/live/internal/bv"
	"github.com/bloodhound-dst/bloodhound/live/internal/shadow"
)

// Options bound a search.
type Options struct {
	Paths int         // the most runs
	Stop  func() bool // asked before each run; nil never stops
}

const (
	// conflicts bounds each query of the solver.
	conflicts = 20000
	// picksMax is how many values of one fixed value are tried after the same conditions.
	picksMax = 64
	// loosePicksMax is how many are after the same decisions, whatever was fixed before.
	loosePicksMax = 256
	// timesMax is above what numbers of times a side is taken are not told apart.
	timesMax = 64
	// candidatesMax bounds the conditions that wait to be negated.
	candidatesMax = 1 << 20
)

// searcher is the state of a search.
type searcher struct {
	options Options
	run     func(values []uint64) Run
	builder bv.Builder
	solvers map[string]*bv.Solver // by the widths of the inputs
	tree    *tree
	loose   *tree // without the conditions of values that were fixed
	queue   queue
	tries   map[side]int
	often   map[repeated]bool
	wire    []byte
	full    bool // conditions were left out, since too many waited
	result  Result
}

// side is one side of a branch.
type side struct {
	site  uint32
	taken bool
}

// repeated is a side of a branch that a path has taken some number of times.
type repeated struct {
	side
	times int
}

// path is a run, in expressions of the searcher's builder.
type path struct {
	inputs   []shadow.Input
	branches []branch
	novelty  int // sides that it has taken as often as no path before it
}

// branch is a condition of a path. cond holds on it.
type branch struct {
	site  uint32
	kind  shadow.Kind
	taken bool
	cond  *bv.Expr
	from  node // the conditions before
	loose node // those of them that are decisions
}

// candidate is a condition of a path that is to be negated.
type candidate struct {
	path  *path
	at    int
	score int
	order int
}

// Search explores a handler that run calls. A run gets the values of its inputs; the first gets none, and uses its own.
func Search(o Options, run func(values []uint64) Run) *Result {
	s := &searcher{options: o, run: run, solvers: map[string]*bv.Solver{}, tree: newTree(), loose: newTree(), tries: map[side]int{}, often: map[repeated]bool{}}
	s.result.Diverged, s.result.Lost, s.result.Picked = map[uint32]int{}, map[uint32]int{}, map[uint32]int{}
	s.try(nil, nil)
	for s.result.Paths < o.Paths && !(o.Stop != nil && o.Stop()) {
		c, ok := s.next()
		if !ok {
			s.count()
			s.result.Left = s.left()
			return &s.result
		}
		s.negate(c)
	}
	s.count()
	s.result.Left = "the budget ended"
	return &s.result
}

// left says why paths may be left although no condition waits to be negated.
func (s *searcher) left() string {
	r := &s.result
	switch {
	case s.full:
		return fmt.Sprintf("more than %d conditions waited to be negated", candidatesMax)
	case r.Unknown > 0:
		return "the solver gave up on some conditions"
	case r.Ended > 0:
		return "some runs ended before the handler returned"
	case r.Dropped > 0:
		return "some paths have more conditions than are recorded"
	case len(r.Picked) > 0:
		return "some indices or lengths have more values than were tried"
	case len(r.Diverged) > 0:
		return "some runs did not take the branch that was solved for"
	case len(r.Lost) > 0 || r.Stale > 0:
		return "some values lost their dependencies"
	}
	return ""
}

// next is the most promising candidate. Scores get worse while candidates wait, so the first is scored again.
func (s *searcher) next() (candidate, bool) {
	for s.queue.Len() > 0 {
		c := heap.Pop(&s.queue).(candidate)
		if now := s.score(c); now > c.score {
			c.score = now
			heap.Push(&s.queue, c)
			continue
		}
		return c, true
	}
	return candidate{}, false
}

// score is smallest for sides that no path has taken; then for paths that took a side as often as none before, such as one that
// gets further in a loop; then for sides that were tried less often.
func (s *searcher) score(c candidate) int {
	const tier = 1 << 32
	b := c.path.branches[c.at]
	score := s.tries[side{b.site, !b.taken}]
	switch {
	case !s.took(b.site, !b.taken):
		return score
	case c.path.novelty > 0:
		return tier + score
	}
	return 2*tier + score
}

func (s *searcher) took(site uint32, taken bool) bool {
	bit := uint8(shadow.TookFalse)
	if taken {
		bit = shadow.TookTrue
	}
	return int(site) < len(s.result.Taken) && s.result.Taken[site]&bit != 0
}

// negate solves for inputs that meet the conditions before a candidate, and not its own, and runs them. Values that were fixed
// before may be the only reason why there are none: another try leaves those conditions out, and its run fixes other values.
func (s *searcher) negate(c candidate) {
	b := c.path.branches[c.at]
	s.tries[side{b.site, !b.taken}]++
	decisions, all := make([]*bv.Expr, 0, c.at+1), make([]*bv.Expr, 0, c.at+1)
	for _, p := range c.path.branches[:c.at] {
		all = append(all, p.cond)
		if p.kind == shadow.Decision {
			decisions = append(decisions, p.cond)
		}
	}
	solver, begin := s.solver(c.path.inputs), valuesOf(c.path.inputs)
	var values []uint64
	answer, from := bv.Unsat, &c
	if own, ok := s.others(s.tree, fixed{b.from, b.site}, b, picksMax); ok {
		values, answer = solver.Solve(begin, append(all, own...), conflicts)
	} else {
		s.result.Picked[b.site]++
	}
	if answer == bv.Unsat && len(decisions) < c.at && s.loose.claim(b.loose, b.cond) {
		if own, ok := s.others(s.loose, fixed{b.loose, b.site}, b, loosePicksMax); ok {
			if other, second := solver.Solve(begin, append(decisions, own...), conflicts); second == bv.Sat {
				values, answer, from = other, second, nil
			}
		}
	}
	switch answer {
	case bv.Sat:
		s.result.Sat++
		s.try(values, from)
	case bv.Unsat:
		s.result.Unsat++
	default:
		s.result.Unknown++
	}
}

// others are the conditions that a branch's own does not hold and, if that was a value that was fixed, that it has none of the
// values which were tried. It reports whether fewer than most were.
func (s *searcher) others(t *tree, f fixed, b branch, most int) (conditions []*bv.Expr, ok bool) {
	conditions = []*bv.Expr{s.builder.Not(b.cond)}
	if b.kind == shadow.Pick {
		tried := t.picks[f]
		if len(tried) >= most {
			return nil, false
		}
		for _, e := range tried {
			conditions = append(conditions, s.builder.Not(e))
		}
	}
	return conditions, true
}

func valuesOf(inputs []shadow.Input) []uint64 {
	values := make([]uint64, len(inputs))
	for i, in := range inputs {
		values[i] = in.Value
	}
	return values
}

// solver is the one for inputs of some widths.
func (s *searcher) solver(inputs []shadow.Input) *bv.Solver {
	widths := make([]uint8, len(inputs))
	for i, in := range inputs {
		widths[i] = in.Width
	}
	key := string(widths)
	if s.solvers[key] == nil {
		s.solvers[key] = bv.NewSolver(&s.builder, widths)
	}
	return s.solvers[key]
}

// try runs values, which were solved for a candidate or for none, and queues the conditions of the path that are new.
func (s *searcher) try(values []uint64, from *candidate) {
	run := s.run(values)
	s.result.Paths++
	if run.Ended {
		s.result.Ended++
		if from != nil {
			run.Path.Inputs = withValues(from.path.inputs, values)
		}
		s.fail(run)
		return
	}
	p, err := s.receive(run.Path)
	if err != nil {
		panic(fmt.Sprintf("search: a path does not survive its text: %v", err))
	}
	s.note(run)
	s.fail(run)
	if from != nil && !follows(p, from) {
		s.result.Diverged[from.path.branches[from.at].site]++
	}
	s.enqueue(p)
}

func withValues(inputs []shadow.Input, values []uint64) []shadow.Input {
	list := slices.Clone(inputs)
	for i := range list {
		list[i].Value = values[i]
	}
	return list
}

// follows reports whether a path has the conditions before a candidate, and the negation of its own.
func follows(p *path, c *candidate) bool {
	if len(p.branches) <= c.at {
		return false
	}
	for i := range c.at {
		if p.branches[i].cond != c.path.branches[i].cond {
			return false
		}
	}
	was, is := c.path.branches[c.at], p.branches[c.at]
	return is.site == was.site && is.cond != was.cond
}

// receive makes the expressions of a path anew in the searcher's builder, where paths share them.
func (s *searcher) receive(from shadow.Path) (*path, error) {
	roots := make([]*bv.Expr, len(from.Branches))
	for i, b := range from.Branches {
		roots[i] = b.Cond
	}
	s.wire = bv.Append(s.wire[:0], roots...)
	roots, _, err := bv.Parse(&s.builder, s.wire)
	if err != nil {
		return nil, err
	}
	p := &path{inputs: from.Inputs}
	at, loose := node(0), node(0)
	for i, b := range from.Branches {
		cond := roots[i]
		if !b.Taken {
			cond = s.builder.Not(cond)
		}
		p.branches = append(p.branches, branch{b.Site, b.Kind, b.Taken, cond, at, loose})
		at = s.tree.step(at, cond)
		if b.Kind == shadow.Decision {
			loose = s.loose.step(loose, cond)
		}
	}
	return p, nil
}

// novel counts what a path did as often as no path before it.
func (s *searcher) novel(p *path) {
	times := map[side]int{}
	for _, b := range p.branches {
		times[side{b.site, b.taken}]++
	}
	for sd, n := range times {
		r := repeated{sd, min(n, timesMax)}
		if !s.often[r] {
			s.often[r] = true
			p.novelty++
		}
	}
}

func (s *searcher) enqueue(p *path) {
	s.novel(p)
	for i, b := range p.branches {
		// The path has taken this side, so the negation of the other one is done.
		if b.kind == shadow.Decision {
			s.tree.claim(b.from, s.builder.Not(b.cond))
		} else {
			s.tree.pick(fixed{b.from, b.site}, b.cond)
			s.loose.pick(fixed{b.loose, b.site}, b.cond)
		}
		if !s.tree.claim(b.from, b.cond) {
			continue
		}
		if s.queue.Len() >= candidatesMax {
			s.full = true
		} else {
			c := candidate{path: p, at: i, order: s.queue.added}
			c.score = s.score(c)
			s.queue.added++
			heap.Push(&s.queue, c)
		}
	}
}

// note adds what a run covered and lost.
func (s *searcher) note(run Run) {
	r := &s.result
	for len(r.Taken) < len(run.Path.Sides) {
		r.Taken = append(r.Taken, 0)
	}
	for i, sides := range run.Path.Sides {
		r.Taken[i] |= sides
	}
	for site, n := range run.Path.Lost {
		r.Lost[site] += n
	}
	r.Stale += run.Path.Stale
	r.Dropped += run.Path.Dropped
}

func (s *searcher) fail(run Run) {
	for _, f := range run.Failures {
		i := slices.IndexFunc(s.result.Findings, func(g Finding) bool { return g.Failure() == f })
		if i >= 0 {
			s.result.Findings[i].Paths++
			continue
		}
		g := Finding{What: f.What, Where: f.Where, Path: s.result.Paths, Paths: 1}
		for _, in := range run.Path.Inputs {
			g.Inputs = append(g.Inputs, Value{in.Name, in.Width, in.Value})
		}
		s.result.Findings = append(s.result.Findings, g)
	}
}

func (s *searcher) count() {
	for _, sides := range s.result.Taken {
		if sides != 0 {
			s.result.Sites++
		}
		if sides&shadow.TookTrue != 0 {
			s.result.Sides++
		}
		if sides&shadow.TookFalse != 0 {
			s.result.Sides++
		}
	}
	maps.DeleteFunc(s.result.Lost, func(_ uint32, n int) bool { return n == 0 })
}

// queue is a heap of candidates, the best one first; of equal ones that which came first.
type queue struct {
	list  []candidate
	added int
}

func (q *queue) Len() int { return len(q.list) }

func (q *queue) Less(i, j int) bool {
	a, b := q.list[i], q.list[j]
	if a.score != b.score {
		return a.score < b.score
	}
	return a.order < b.order
}

func (q *queue) Swap(i, j int) { q.list[i], q.list[j] = q.list[j], q.list[i] }
func (q *queue) Push(x any)    { q.list = append(q.list, x.(candidate)) }

func (q *queue) Pop() any {
	last := q.list[len(q.list)-1]
	q.list = q.list[:len(q.list)-1]
	return last
}
