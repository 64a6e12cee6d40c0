package search

import (
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
	busy    bool // its moment comes often, or when a driver asks for something rare
}

const (
	derivedEvery = 2  // one of so many runs has derived rules
	aloneShare   = 50 // of these, in percent, runs in which no other rule is on
	// mostDerived is how many injections of a derived rule a run has at most, on average, and mostAnytime the same where its moment comes all the
	// time: some states are reached by many restarts only. The least is one.
	mostDerived, mostAnytime = 8, 16
	// mostDerivedPPM is the highest rate of a derived rule. Programs that come to the moment whenever they start must get further now and then.
	mostDerivedPPM = 500_000
	// companionLess is by how much, as an exponent of 2, a companion or a rule for a busy moment may be rarer than a run can have it.
	companionLess = 2
	// derivedRules is how many derived rules a run has at most: so few that what it does at a moment stands out.
	derivedRules = 3
	// busyMoments is how often a moment comes in a run, at least, for the rule to have runs of its own.
	busyMoments = 64
	busyEvery   = 8
)

// busyRuns are the runs, of each busyEvery, with one rule for a busy moment. They are odd: even runs have derived rules anyway.
var busyRuns = []uint64{3, 5}

// derive adds derived rules to the edits that set the rates of a run. Kinds take turns, and so do the rules of a kind, in another order each time: so a
// moment that comes once in a run is tried as often as one that comes a thousand times.
func (r *row) derive(run uint64, edits []tape.Edit) []tape.Edit {
	var chosen []derivedRule
	place := slices.Index(busyRuns, run%busyEvery)
	switch {
	case run%derivedEvery == 0 && len(r.derived) > 0:
		chosen = r.inTurn(run / derivedEvery)
	case place >= 0:
		chosen = r.busyTurn(run/busyEvery*uint64(len(busyRuns)) + uint64(place))
	}
	if len(chosen) == 0 {
		return edits
	}
	d := newDice(^r.seed, run)
	alone := d.chance(aloneShare)
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
		kinds[k] = append(kinds[k], o)
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

// busySeed gives the turns of busy moments an order of their own.
const busySeed = 0x62757379

// busyTurn is the rule whose turn it is in run i of those with one for a busy moment; none if there are no such rules. A few injections at a moment that comes
// once in a run have seen all that can happen there, but at one that comes a thousand times a program may be in a thousand states.
func (r *row) busyTurn(i uint64) []derivedRule {
	var busy []derivedRule
	for _, o := range r.derived {
		if o.busy {
			o.low = max(o.low, o.high-companionLess)
			busy = append(busy, o)
		}
	}
	if len(busy) == 0 {
		return nil
	}
	return []derivedRule{busy[r.turn(len(busy), i, busySeed)]}
}

// companion is a rule that takes nodes down at any time and often, for a run with a derived rule that takes none down: what such a fault has done to a file
// shows when a program starts with it, and programs change most files when they start.
func (r *row) companion(chosen []derivedRule, d *dice) (o derivedRule, ok bool) {
	if !slices.ContainsFunc(chosen, func(c derivedRule) bool { return !c.ends }) ||
		slices.ContainsFunc(chosen, func(c derivedRule) bool { return c.ends && c.anytime }) {
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
