package search

import (
	"math"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// derivedRule is a rule that a campaign has derived from the moments of its run without faults.
type derivedRule struct {
	rated
	bounded bool // the Spec bounds how often its kind is injected in a run
	ends    bool // it takes nodes down
	anytime bool // its moment comes all the time
	turns   int  // how many turns it has among those of its kind
}

const (
	derivedEvery = 2  // one of so many runs has derived rules
	aloneShare   = 50 // of these, in percent, runs in which no other rule is on
	// mostDerived is how many injections of a derived rule a run has at most, on average, and mostAnytime the same where its moment comes all the
	// time: some states are reached by many restarts only. The least is one. A moment comes all the time if it comes frequentMoments times or more.
	mostDerived, mostAnytime, frequentMoments = 8, 16, 64
	// mostDerivedPPM is the highest rate of a derived rule. Programs that come to the moment whenever they start must get further now and then.
	mostDerivedPPM = 500_000
	// companionLess is by how much, as an exponent of 2, a companion may be rarer than mostAnytime.
	companionLess = 2
	// operationTurns is how many turns a rule has that injects soon after a driver has begun a rare operation: as many as the most frequent moments,
	// since what a system does only when it is asked to is tested least.
	operationTurns = 6
	// derivedRules is how many derived rules a run has at most: so few that what it does at a moment stands out.
	derivedRules = 3
)

// turnsOf is how many turns a rule has whose moment comes so often in a run: one, and another one for each factor of four. A program is in few states
// at a moment that comes once in a run, which few injections have seen, and in many at one that comes a thousand times.
func turnsOf(count float64) int {
	return 1 + int(max(math.Log2(count)/2, 0))
}

// derive adds derived rules to the edits that set the rates of a run. Kinds take turns, and so do the rules of a kind, in another order each time: so a
// moment that comes once in a run is tried nearly as often as one that comes a thousand times.
func (r *row) derive(run uint64, edits []tape.Edit) []tape.Edit {
	if len(r.derived) == 0 || run%derivedEvery != 0 {
		return edits
	}
	d := newDice(^r.seed, run)
	alone := d.chance(aloneShare)
	chosen := r.inTurn(run / derivedEvery)
	if o, ok := r.companion(chosen, d); ok {
		chosen = append(chosen, o)
	}
	for i, o := range r.rules {
		bounded := slices.ContainsFunc(chosen, func(c derivedRule) bool { return c.bounded && c.kind == o.kind })
		if alone || bounded {
			edits[i].Value = fault.RateOff
		}
	}
	for _, o := range chosen {
		edits = append(edits, tape.Edit{Op: tape.Set, Stream: fault.RateStream(o.number), Value: uint64(fault.RateAsIs + o.low + d.below(o.high-o.low+1))})
	}
	return edits
}

// inTurn are the derived rules whose turn it is in run i of those with derived rules: one, two or three, of different kinds where there are as many.
func (r *row) inTurn(i uint64) (chosen []derivedRule) {
	const eachRound = derivedRules * (derivedRules + 1) / 2
	var kinds [][]derivedRule
	for _, o := range r.derived {
		k := slices.IndexFunc(kinds, func(list []derivedRule) bool { return list[0].kind == o.kind })
		if k < 0 {
			k = len(kinds)
			kinds = append(kinds, nil)
		}
		for range max(o.turns, 1) {
			kinds[k] = append(kinds[k], o)
		}
	}
	count := i % derivedRules
	first := i/derivedRules*eachRound + count*(count+1)/2
	for place := first; place <= first+count; place++ {
		turn := place / uint64(len(kinds))
		kind := r.turn(len(kinds), place, ^uint64(0))
		o := kinds[kind][r.turn(len(kinds[kind]), turn, uint64(kind))]
		if !slices.ContainsFunc(chosen, func(c derivedRule) bool { return c.number == o.number || c.kind == o.kind && c.bounded }) {
			chosen = append(chosen, o)
		}
	}
	return chosen
}

// companion is a rule that takes nodes down at any time and often, for a run with a derived rule that takes none down: what such a fault has done to a file
// shows when a program starts with it, and programs change most files when they start.
func (r *row) companion(chosen []derivedRule, d *dice) (o derivedRule, ok bool) {
	if !slices.ContainsFunc(chosen, func(c derivedRule) bool { return !c.ends }) || slices.ContainsFunc(chosen, func(c derivedRule) bool { return c.ends && c.anytime }) {
		return o, false
	}
	apt := slices.DeleteFunc(slices.Clone(r.derived), func(o derivedRule) bool { return !o.ends || !o.anytime })
	if len(apt) == 0 {
		return o, false
	}
	o = apt[d.below(len(apt))]
	o.low = max(o.low, o.high-companionLess)
	return o, true
}

// turn is which of n things has turn i: each has one of n that follow one another, in an order of their own. which tells rows of things apart.
func (r *row) turn(n int, i, which uint64) int {
	d := newDice(^r.seed+which, ^(i / uint64(n)))
	order := make([]int, n)
	for k := range order {
		j := d.below(k + 1)
		order[k], order[j] = order[j], k
	}
	return order[i%uint64(n)]
}
