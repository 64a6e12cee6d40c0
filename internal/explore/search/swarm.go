package search

import (
	"cmp"
	"math"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// swarm is the strategy of random tapes of which each has a random subset of the rules, and each of those a rate of its own, from
// quiet to wild (Groce et al., "Swarm Testing", ISSTA 2012). How many faults of a rule a run has is spread evenly on a
// logarithmic scale: those rates are seldom written down that reach the most, and no one rate reaches all. Runs do not branch as
// those of random do: they would share their rates, and with many faults little lies before the first. Runs have different
// lengths, where a shorter run can be judged.
type swarm struct {
	row
	spec    *world.Spec
	delay   uint64
	lengths *lengths  // nil where all runs have their full length
	rates   [][]rated // the rules of runs of each class of length
	begun   bool
	plain   bool  // a run of full length has had the rates of the Spec
	calm    *Calm // nil until Begins
}

func newSwarm(c *request) (Strategy, error) {
	w := &swarm{row: c.random, spec: c.spec, delay: cmp.Or(c.settings.FeedbackDelay, lengthDelay), lengths: newLengths(c.spec, &c.settings)}
	w.row.swarm(c.spec, 0)
	return w, nil
}

func (s *swarm) Name() string { return Swarm }

// FeedbackDelay is 0 where runs have their full length: nothing else is learned.
func (s *swarm) FeedbackDelay() uint64 {
	if s.lengths == nil {
		return 0
	}
	return s.delay
}

// Watches implements Watcher: to the order of events nearly every run is new.
func (s *swarm) Watches(d coverage.Domain) bool { return shows(GuideCombined, d) && d != "" }

// Begins implements Timed.
func (s *swarm) Begins(c Calm) {
	s.calm = &c
	s.knows(s.spec, c)
	if s.lengths == nil || !s.lengths.begins(s.spec, c) {
		s.lengths = nil
		return
	}
	s.begun = true
	s.rateLengths()
}

// rateLengths finds the rates of runs of each length: each has as many faults.
func (s *swarm) rateLengths() {
	s.rates = nil
	for class := range s.lengths.arms {
		short := s.row
		if class != fullLength {
			short.swarm(s.spec, s.lengths.steps>>class)
		}
		s.rates = append(s.rates, short.rules)
	}
}

// lengthSeed gives lengths dice of their own.
const lengthSeed = 0x6c656e677468

// first is the number of the tape of the first run, where that is a short one: tape 0, the campaign's seed itself, is the first of full length.
const first = 1<<32 + 1

func (s *swarm) Next(run uint64) (Candidate, Answer) {
	c := Candidate{Origin: Origin{Strategy: Swarm}}
	if !s.begun {
		s.lengths = nil // there was no run without faults
	}
	if s.lengths != nil && s.lengths.first == inVain {
		s.lengths = nil
	}
	if s.lengths == nil {
		c.Tape = s.row.tape(s.number(run))
		return c, Here
	}
	d := newDice(s.seed^lengthSeed, run)
	class, known := s.lengths.class(run, s.delay, d)
	if !known {
		return c, Wait
	}
	number := cmp.Or(run, first)
	if class == fullLength {
		number = s.number(run)
	}
	short := s.row
	short.rules = s.rates[class]
	c.Tape = short.tape(number)
	c.Tape.Edits = append(c.Tape.Edits, s.lengths.edits(run, class, d)...)
	return c, Here
}

// number numbers the tape of a run of full length. The first one gets 0, a tape that is nothing but its seed.
func (s *swarm) number(run uint64) uint64 {
	if s.plain {
		return run
	}
	s.plain = true
	return 0
}

// Learn implements Strategy.
func (s *swarm) Learn(r *Run) {
	if s.lengths != nil {
		s.lengths.learn(r)
	}
}

func (s *swarm) Standing() Standing {
	st := Standing{Strategy: Swarm}
	if s.lengths != nil {
		st.Lengths = s.lengths.totals()
	}
	return st
}

// Scouts implements Deriving: a run in which nodes go down and start again, some times each, and nothing else happens.
func (s *swarm) Scouts() []tape.Tape {
	var edits []tape.Edit
	on := false
	for _, o := range s.row.rules {
		v := uint64(fault.RateOff)
		if o.perStep && slices.Contains(scouting, o.kind) {
			on, v = true, uint64(fault.RateAsIs+max(o.low, o.high-scoutLess))
		}
		edits = append(edits, tape.Edit{Op: tape.Set, Stream: fault.RateStream(o.number), Value: v})
	}
	if !on {
		return nil
	}
	t := s.row.tape(0)
	t.Edits = append(t.Edits, edits...)
	return []tape.Tape{t}
}

// scouting are the kinds of faults after which programs start again with all that they have written, and scoutLess by how much, as an exponent of 2, there are
// fewer of them than a run can have.
var scouting = []world.FaultKind{fault.Restart, fault.Crash}

const scoutLess = 2

// Derived implements Deriving.
func (s *swarm) Derived(spec *world.Spec) {
	s.spec = spec
	if s.row.swarm(spec, 0); s.calm != nil {
		s.knows(spec, *s.calm)
	}
	if s.begun && s.lengths != nil {
		s.rateLengths()
	}
}

const (
	offShare              = 12             // in percent: rules that are off in a run
	leastFaults           = 1              // of a rule that draws at time steps, in a run on average
	mostFaults            = 16             // of all targets together
	leastCalls, mostCalls = 4_000, 256_000 // ppm of a rule that draws at calls, moments and packets
	unknownSteps          = 1000           // time steps of a chaos phase whose length is unknown
)

// rated is a rule whose rate a tape sets.
type rated struct {
	number    int
	kind      world.FaultKind
	perStep   bool
	low, high int // exponents of 2, by which the rate may be multiplied
}

// swarm has each tape choose rates, for a chaos phase of so many time steps; 0 is unknown.
func (r *row) swarm(spec *world.Spec, steps int64) {
	r.rules, r.swarming, r.derived = nil, true, nil
	plan, err := fault.New(spec)
	if err != nil {
		return // the first run reports it
	}
	for i := range plan.Rules {
		rule := &plan.Rules[i]
		o := rated{number: rule.Number, kind: rule.Kind, perStep: rule.PerStep()}
		if rule.Derived {
			rate, most := float64(rule.RatePPM), float64(mostDerived)
			c := derivedRule{
				rated: o, bounded: rule.Max > 0, ends: fault.RowOf(rule.Kind).Ends != fault.NoEnd, anytime: rule.Moment == world.AfterReply,
				busy: rule.Moment == world.InOperation || busyMoments*rate <= tape.Certain,
			}
			if c.anytime {
				most = mostAnytime
			}
			c.low, c.high = exponents(rate, rate, min(most*rate, mostDerivedPPM))
			r.derived = append(r.derived, c)
			continue
		}
		switch rate := float64(rule.RatePPM); {
		case rule.RatePPM == tape.Certain || rule.NthTo > 0:
		case rule.PerStep():
			o.low, o.high = exponents(rate*float64(cmp.Or(steps, unknownSteps))*float64(len(rule.Targets)), leastFaults*tape.Certain, mostFaults*tape.Certain)
		default:
			o.low, o.high = exponents(rate, leastCalls, mostCalls)
		}
		r.rules = append(r.rules, o)
	}
}

// exponents are those of 2 by which a value stays within bounds. 0 is one of them.
func exponents(value, least, most float64) (low, high int) {
	low, high = int(math.Ceil(math.Log2(least/value))), int(math.Floor(math.Log2(most/value)))
	return max(min(low, 0), fault.RateOff-fault.RateAsIs+1), min(max(high, 0), fault.RateChoices-1-fault.RateAsIs)
}

// multiplied are all rules of a Spec, with the same exponent.
func multiplied(spec *world.Spec, exponent int) []rated {
	var list []rated
	for i := range spec.Faults.Rules {
		list = append(list, rated{number: i + 1, low: exponent, high: exponent})
	}
	return list
}

// knows takes in how long the chaos phase is.
func (r *row) knows(spec *world.Spec, c Calm) {
	if r.swarming && spec.TimeStepNs > 0 {
		r.swarm(spec, max((c.HealNs-c.ReadyNs-spec.Faults.StartNs)/spec.TimeStepNs, 1))
	}
}

// rates are the edits that set the rates of a run.
func (r *row) rates(d *dice) []tape.Edit {
	var edits []tape.Edit
	on := false
	for _, o := range r.rules {
		v := uint64(fault.RateAsIs + o.low + d.below(o.high-o.low+1))
		if r.swarming && d.chance(offShare) {
			v = fault.RateOff
		}
		on = on || v != fault.RateOff
		edits = append(edits, tape.Edit{Op: tape.Set, Stream: fault.RateStream(o.number), Value: v})
	}
	if !on && len(edits) > 0 {
		k := d.below(len(edits))
		edits[k].Value = uint64(fault.RateAsIs + r.rules[k].low + d.below(r.rules[k].high-r.rules[k].low+1))
	}
	return edits
}
