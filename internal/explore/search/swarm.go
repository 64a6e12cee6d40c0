package search

import (
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
