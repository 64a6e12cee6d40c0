package search

import (
	"cmp"
	"math"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// swarm gives each run a random subset of the rules, and each of those a rate of its own (Groce et al., "Swarm Testing", ISSTA
// 2012): what a kind of fault hides by being everywhere shows where it is away. It learns from runs only how many opportunities
// a rule has.
type swarm struct {
	learner
	*space
	row
	rules []swarmRule
}

// swarmRule is what is turned on and off together.
type swarmRule struct {
	number  int
	kind    fault.Kind
	ratePPM uint64
	streams []string // patterns
}

// factors are what rates are multiplied by. A rule that is on in one of two runs keeps its mean rate with them.
var factors = []float64{0.25, 1, 1, 2, 4, 8}

func newSwarm(l learner, spec *world.Spec, random row) (*swarm, error) {
	t, err := newSpace(spec)
	if err != nil {
		return nil, err
	}
	s := &swarm{learner: l, space: t, row: random}
	for i := range spec.Faults.Rules {
		r := &spec.Faults.Rules[i]
		rule := swarmRule{number: i + 1, kind: fault.Kind(r.Kind), ratePPM: r.RatePPM}
		if fault.Known(rule.kind) && fault.Of(rule.kind).Place == fault.OnPacket {
			rule.streams = []string{"net/**/" + r.Kind}
		}
		for k := range t.dimensions {
			if t.dimensions[k].rule == rule.number {
				rule.streams = append(rule.streams, t.dimensions[k].stream)
			}
		}
		if len(rule.streams) > 0 && spec.Faults.Enabled {
			s.rules = append(s.rules, rule)
		}
	}
	return s, nil
}

func (s *swarm) Name() string { return Swarm }
func (s *swarm) Learn(r *Run) {
	if r.Seen != nil {
		s.see(r.Draws)
	}
}
func (s *swarm) Standing() Standing { return Standing{Strategy: Swarm} }

func (s *swarm) Next(run uint64) (Candidate, Answer) {
	d := newDice(s.seed, run)
	c := Candidate{Tape: s.row.tape(run), Origin: Origin{Strategy: Swarm}}
	on := make([]bool, len(s.rules))
	for i := range on {
		on[i] = d.chance(50)
	}
	if len(on) > 0 && !slices.Contains(on, true) {
		on[d.below(len(on))] = true
	}
	m := &draft{space: s.space, dice: d}
	for i, r := range s.rules {
		m.edits = append(m.edits, tape.Edit{Op: tape.Set, Stream: maskOf(r.kind), Value: 0})
		factor := factors[d.below(len(factors))]
		opportunities := s.opportunities(r.number)
		if on[i] && (factor == 1 || opportunities == 0) {
			continue // as the seed draws it
		}
		for _, p := range r.streams {
			m.edits = append(m.edits, tape.Edit{Op: tape.Default, Stream: p, To: tape.End})
		}
		if !on[i] {
			continue
		}
		mean := float64(r.ratePPM) / tape.Certain * float64(opportunities) * factor
		for range min(d.poisson(mean), maxPerRule) {
			g := s.pick(d, func(g *dimension) bool { return g.rule == r.number })
			m.set(g.stream, uint64(d.below(int(g.end))), m.value(g))
		}
	}
	c.Tape.Edits = append(c.Tape.Edits, m.edits...)
	return c, Here
}

// maxPerRule bounds the faults that a swarm gives to a rule; rates beyond that are as good.
const maxPerRule = 200

// opportunities counts the draws of a rule in a run, as far as they are known.
func (t *space) opportunities(rule int) uint64 {
	n := uint64(0)
	for i := range t.dimensions {
		if g := &t.dimensions[i]; g.rule == rule && g.n > 1 {
			n += g.end
		}
	}
	return n
}

// poisson gives a number of events whose mean is so much (Knuth, The Art of Computer Programming, 3.4.1), rounded above 500.
func (d *dice) poisson(mean float64) int {
	if mean > 500 {
		return int(mean)
	}
	limit, n, product := math.Exp(-mean), 0, d.unit()
	for product > limit {
		n++
		product *= d.unit()
	}
	return n
}

// priority is probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi and Nagarakatte, "A Randomized Scheduler with
// Probabilistic Guarantees of Finding Bugs", ASPLOS 2010): each thread has a rank of its own, the thread of the highest rank that
// can run does, and at each of pctDepth-1 calls, chosen among all of a run, a thread's priority drops. A bug that needs so many
// orderings is found with a probability of at least 1/(threads * calls^(pctDepth-1)). Faults are those of random tapes.
type priority struct {
	learner
	*space
	row
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
)

func newPriority(l learner, spec *world.Spec, random row) (*priority, error) {
	t, err := newSpace(spec)
	if err != nil {
		return nil, err
	}
	return &priority{l, t, random}, nil
}

func (p *priority) Name() string { return Priority }
func (p *priority) Learn(r *Run) {
	if r.Seen != nil {
		p.see(r.Draws)
	}
}
func (p *priority) Standing() Standing { return Standing{Strategy: Priority} }

const schedule = "sched/"

func (p *priority) Next(run uint64) (Candidate, Answer) {
	d := newDice(p.seed, run)
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
	for i := range threads {
		k := i + d.below(len(threads)-i)
		threads[i], threads[k] = threads[k], threads[i]
		for life := range uint64(lives) {
			edits = append(edits, tape.Edit{Op: tape.Set, Stream: "rank/" + threads[i].stream[len(schedule):], From: life, Value: uint64(len(threads) - i)})
		}
	}
	for range pctDepth - 1 {
		at := uint64(d.below(int(epochs)))
		for _, g := range threads {
			if at < g.end {
				calls := (g.n - 1) / changes
				v := 1 + uint64(d.below(int(calls))) + calls*uint64(d.below(places))
				edits = append(edits, tape.Edit{Op: tape.Set, Stream: g.stream, From: at, Value: v})
				break
			}
			at -= g.end
		}
	}
	c.Tape.Edits = append(c.Tape.Edits, edits...)
	return c, Here
}
