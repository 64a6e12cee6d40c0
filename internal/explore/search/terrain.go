package search

import (
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// terrain is what is known of the streams that a search can vary: from the Spec what their draws mean, from runs how many
// there are.
type terrain struct {
	grounds []ground // of the Spec's rules, in their order, and then those of runs, in the order in which they were seen
	at      map[string]int
	stepNs  int64
}

// maxGrounds bounds the streams that are known. Streams of connections come and go; the first are as good as any.
const maxGrounds = 4096

// ground is one stream.
type ground struct {
	stream string
	kind   fault.Kind // empty for a stream that is not a rule's
	rule   int
	// steps tells that draw i is asked at time step i of the chaos phase; else it is asked at opportunity i of its own.
	steps       bool
	conditional bool // a strike may come to nothing, since its rule has a condition
	minNs       int64
	maxNs       int64
	// n is how many values a draw has, and end how many draws a run makes at most; 0 until one was seen.
	n, end uint64
}

func newTerrain(spec *world.Spec) (*terrain, error) {
	plan, err := fault.New(spec)
	if err != nil {
		return nil, err
	}
	t := &terrain{at: map[string]int{}, stepNs: spec.TimeStepNs}
	for i := range plan.Rules {
		r := &plan.Rules[i]
		if fault.Of(r.Kind).Place == fault.OnPacket {
			continue
		}
		for _, target := range r.Targets {
			t.add(ground{stream: target.Stream, kind: r.Kind, rule: r.Number, steps: len(r.At) == 0 && fault.Of(r.Kind).PerStep(),
				conditional: r.When != "", minNs: r.MinNs, maxNs: r.MaxNs})
		}
	}
	return t, nil
}

func (t *terrain) add(g ground) *ground {
	t.at[g.stream] = len(t.grounds)
	t.grounds = append(t.grounds, g)
	return &t.grounds[len(t.grounds)-1]
}

// of gives what is known of a stream, or nil.
func (t *terrain) of(stream string) *ground {
	if i, ok := t.at[stream]; ok {
		return &t.grounds[i]
	}
	return nil
}

// see takes in what a run drew.
func (t *terrain) see(draws []tape.Draws) {
	for _, d := range draws {
		if isMask(d.Stream) {
			continue
		}
		g := t.of(d.Stream)
		if g == nil {
			if len(t.grounds) >= maxGrounds {
				continue
			}
			g = t.add(ground{stream: d.Stream})
		}
		g.n, g.end = max(g.n, d.N), max(g.end, d.To)
	}
}

// isMask tells the draws that turn rules off for a run: they are no opportunities.
func isMask(stream string) bool {
	return stream == "fault/none" || strings.HasPrefix(stream, "fault/swarm/")
}

// maskOf is the stream that turns a kind off.
func maskOf(k fault.Kind) string { return "fault/swarm/" + string(k) }

// pick chooses a ground that satisfies a condition, each equally likely, or nil.
func (t *terrain) pick(d *dice, ok func(*ground) bool) *ground {
	var fit []int
	for i := range t.grounds {
		if t.grounds[i].n > 1 && t.grounds[i].end > 0 && ok(&t.grounds[i]) {
			fit = append(fit, i)
		}
	}
	if len(fit) == 0 {
		return nil
	}
	return &t.grounds[fit[d.below(len(fit))]]
}

// pickFault chooses a ground of a rule: first the kind of fault and then one of its targets, so that a kind with many
// targets is not preferred.
func (t *terrain) pickFault(d *dice, ok func(*ground) bool) *ground {
	known := func(g *ground) bool { return g.rule > 0 && ok(g) }
	var rules []int
	for i := range t.grounds {
		if g := &t.grounds[i]; g.n > 1 && known(g) && !slices.Contains(rules, g.rule) {
			rules = append(rules, g.rule)
		}
	}
	if len(rules) == 0 {
		return nil
	}
	rule := rules[d.below(len(rules))]
	return t.pick(d, func(g *ground) bool { return known(g) && g.rule == rule })
}

// span is how many time steps a strike lasts.
func (t *terrain) span(g *ground, value uint64) uint64 {
	if t.stepNs <= 0 || value == 0 {
		return 0
	}
	ns := g.minNs + (g.maxNs-g.minNs)/(fault.DurationSteps-1)*int64((value-1)%fault.DurationSteps)
	return uint64(max(ns, 0)) / uint64(t.stepNs)
}
