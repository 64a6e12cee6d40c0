package search

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// space is the search space: the streams whose draws a search varies. The Spec says what the draws mean, runs show how many there
// are.
type space struct {
	dimensions []dimension // of the Spec's rules, in their order, and then those of runs, in the order in which they were seen
	at         map[string]int
	stepNs     int64
	switches   bool // threads may be switched in their own code
}

// maxDimensions bounds the streams that are known. Streams of connections come and go; the first are as good as any.
const maxDimensions = 4096

// dimension is one stream of the search space.
type dimension struct {
	stream string
	kind   world.FaultKind // empty for a stream that is not a rule's
	rule   int
	// steps means that draw i is asked at time step i of the chaos phase; else it is asked at opportunity i of its own.
	steps       bool
	conditional bool // a fault may have no effect, since its rule has a condition
	minNs       int64
	maxNs       int64
	// n is how many values a draw has, and end how many draws a run makes at most; 0 until one was seen.
	n, end uint64
}

func newSpace(spec *world.Spec) (*space, error) {
	plan, err := fault.New(spec)
	if err != nil {
		return nil, err
	}
	t := &space{at: map[string]int{}, stepNs: spec.TimeStepNs, switches: spec.Sched.SwitchPPM > 0}
	for i := range plan.Rules {
		r := &plan.Rules[i]
		if fault.RowOf(r.Kind).Place == fault.OnPacket {
			continue
		}
		for _, target := range r.Targets {
			t.add(dimension{stream: target.Stream, kind: r.Kind, rule: r.Number, steps: r.PerStep(),
				conditional: r.When != "", minNs: r.MinNs, maxNs: r.MaxNs})
		}
	}
	return t, nil
}

func (t *space) add(g dimension) *dimension {
	t.at[g.stream] = len(t.dimensions)
	t.dimensions = append(t.dimensions, g)
	return &t.dimensions[len(t.dimensions)-1]
}

// dimensionOf returns the dimension of a stream, nil if no run has drawn from it.
func (t *space) dimensionOf(stream string) *dimension {
	if i, ok := t.at[stream]; ok {
		return &t.dimensions[i]
	}
	return nil
}

// addDraws extends the space by the draws of a run.
func (t *space) addDraws(draws []tape.Draws) {
	for _, d := range draws {
		if fault.OfRun(d.Stream) || tape.Match(blocks, d.Stream) {
			continue
		}
		g := t.dimensionOf(d.Stream)
		if g == nil {
			if len(t.dimensions) >= maxDimensions {
				continue
			}
			g = t.add(dimension{stream: d.Stream})
		}
		g.n, g.end = max(g.n, d.N), max(g.end, d.To)
	}
}

// blocks are the streams of switches at single blocks: other tapes watch others, and those of a run would leave no room for what they have in common.
const blocks = "switch/*/*/*"

// maskOf is the stream that turns a kind off.
func maskOf(k world.FaultKind) string { return "fault/swarm/" + string(k) }

// fitting are the places of the dimensions that satisfy a condition and have something to choose.
func (t *space) fitting(ok func(*dimension) bool) (fit []int) {
	for i := range t.dimensions {
		if g := &t.dimensions[i]; g.n > 1 && g.end > 0 && ok(g) {
			fit = append(fit, i)
		}
	}
	return fit
}

// pick chooses a dimension that satisfies a condition, each equally likely, or nil.
func (t *space) pick(d *dice, ok func(*dimension) bool) *dimension {
	fit := t.fitting(ok)
	if len(fit) == 0 {
		return nil
	}
	return &t.dimensions[fit[d.below(len(fit))]]
}

// pickFault chooses a dimension of a rule: first the kind of fault and then one of its targets, so that a kind with many
// targets is not preferred.
func (t *space) pickFault(d *dice, ok func(*dimension) bool) *dimension {
	known := func(g *dimension) bool { return g.rule > 0 && ok(g) }
	var rules []int
	for i := range t.dimensions {
		if g := &t.dimensions[i]; g.n > 1 && known(g) && !slices.Contains(rules, g.rule) {
			rules = append(rules, g.rule)
		}
	}
	if len(rules) == 0 {
		return nil
	}
	rule := rules[d.below(len(rules))]
	return t.pick(d, func(g *dimension) bool { return known(g) && g.rule == rule })
}

// span is how many time steps an injected fault lasts.
func (t *space) span(g *dimension, value uint64) uint64 {
	if t.stepNs <= 0 || value == 0 {
		return 0
	}
	ns := g.minNs + (g.maxNs-g.minNs)/(fault.DurationSteps-1)*int64((value-1)%fault.DurationSteps)
	return uint64(max(ns, 0)) / uint64(t.stepNs)
}
