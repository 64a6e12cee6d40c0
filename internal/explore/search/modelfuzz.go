package search

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// The measures of modelfuzz, as published.
const (
	fuzzReseed     = 200 // runs after which it begins with random tapes anew
	fuzzPopulation = 20  // random tapes that it begins with
	fuzzLeast      = 3   // mutants for each new feature, at least and at most
	fuzzMost       = 5
	fuzzCrashes    = 2  // pairs of crashes that a mutant swaps
	fuzzSwaps      = 20 // pairs of choices of a channel, or of numbers of messages
)

// Mutations of modelfuzz, of which the first three make up a mutant where none is named.
const (
	SwapCrashes   = "swap-crashes"   // two crashes change places
	SwapChoices   = "swap-choices"   // steps prefer each other's channels
	SwapCounts    = "swap-counts"    // steps deliver as many messages as each other
	RandomMutants = "random-mutants" // a mutant is a random tape
)

var fuzzMutations = []string{SwapCrashes, SwapChoices, SwapCounts, RandomMutants}

// fuzz is the search of ModelFuzz ("Model-guided Fuzzing of Distributed Systems", OOPSLA 2025): a run that reaches n new features is given 3 to 5 n mutants,
// which wait in a queue; after 200 runs the queue is emptied, and random tapes begin anew. A mutant is its parent with swapped choices.
type fuzz struct {
	learner
	*space
	name      string
	plan      Plan
	seed      uint64
	mutations []string

	passed  []*Entry  // without a guide: runs since it began anew
	queue   []waiting // at most fuzzReseed: further ones would not be played before it is emptied
	seen    map[uint64]bool
	domains map[coverage.Domain]int
	made    map[string]*Mutations
	missing bool // a run showed that there is no schedule
	crowded bool
}

// waiting is a mutant that was not made yet.
type waiting struct {
	parent *Entry
	dice   uint64
}

func newFuzz(c *request) (Strategy, error) {
	t, err := newSpace(c.spec)
	if err != nil {
		return nil, err
	}
	f := &fuzz{learner: c.learner, space: t, name: c.name, plan: c.plan, seed: c.seed, seen: map[uint64]bool{}, domains: map[coverage.Domain]int{},
		made: map[string]*Mutations{}}
	for _, w := range c.plan.Words {
		if slices.Contains(fuzzMutations, w) {
			f.mutations = append(f.mutations, w)
		}
	}
	if f.mutations == nil {
		f.mutations = []string{SwapCrashes, SwapChoices, SwapCounts}
	}
	return f, nil
}

func (f *fuzz) Name() string { return f.name }

// Watches implements Watcher.
func (f *fuzz) Watches(d coverage.Domain) bool { return f.plan.Watches(d) }

func (f *fuzz) Next(run uint64) (Candidate, Answer) {
	plain := Candidate{Tape: RandomTape(f.seed, run), Origin: Origin{Strategy: f.name}}
	at := run % fuzzReseed
	if at == 0 {
		f.queue, f.passed = nil, nil
	}
	if at < fuzzPopulation {
		return plain, Here
	}
	for len(f.queue) > 0 {
		w := f.queue[0]
		f.queue = f.queue[1:]
		if c, ok := f.mutant(w); ok {
			return c, Here
		}
	}
	return plain, Here
}

// mutant makes one that waits, unless its parent has nothing that could be swapped.
func (f *fuzz) mutant(w waiting) (Candidate, bool) {
	d := newDice(f.seed, w.dice)
	m := &draft{space: f.space, dice: d, seed: w.parent.Tape.Seed, edits: slices.Clone(w.parent.Tape.Edits), injections: slices.Clone(w.parent.Injections)}
	o := Origin{Strategy: f.name, Parent: w.parent.Name}
	var done []string
	for _, kind := range f.mutations {
		ok := false
		switch kind {
		case SwapCrashes:
			ok = m.swapCrashes()
		case SwapChoices:
			ok = m.exchange(channels, fuzzSwaps)
		case SwapCounts:
			ok = m.exchange(amounts, fuzzSwaps)
		case RandomMutants:
			m.seed, m.edits, ok = d.bits(), nil, true
		}
		if ok {
			done = append(done, kind)
		}
	}
	if len(done) == 0 || len(m.edits) > maxEdits {
		return Candidate{}, false
	}
	o.Mutation = strings.Join(done, ", ")
	return Candidate{Tape: tape.Tape{Seed: m.seed, Edits: m.edits}, Origin: o}, true
}

// swapCrashes swaps pairs of crashes: one pair where there are no others.
func (m *draft) swapCrashes() (ok bool) {
	for k := range fuzzCrashes {
		list := m.faulty(m.injections, crashing)
		if len(list) < 2 || len(list) == 2 && k > 0 {
			break
		}
		i := m.dice.below(len(list))
		a, b := list[i], list[(i+1+m.dice.below(len(list)-1))%len(list)]
		if a.Index != b.Index && (a.Stream != b.Stream || a.Value != b.Value) {
			m.trade(a, b)
			ok = true
		}
	}
	return ok
}

// crashing reports whether a node's memory is gone after an injected fault.
func crashing(g *dimension) bool {
	return g.steps && g.kind != "" && fault.RowOf(g.kind).Kills()
}

func (f *fuzz) Learn(r *Run) {
	if r.Seen == nil || r.Number == Baseline {
		return
	}
	f.addDraws(r.Draws)
	f.missing = f.missing || !f.scheduled()
	for _, t := range r.Texts {
		if !f.seen[t.ID] {
			f.domains[t.Domain]++
		}
	}
	fresh := 0
	for _, id := range r.Reached {
		switch {
		case f.seen[id]:
		case len(f.seen) >= maxFeatures:
			f.crowded = true
		default:
			f.seen[id] = true
			fresh++
		}
	}
	o := &r.Candidate.Origin
	if o.Mutation != "" {
		for _, kind := range strings.Split(o.Mutation, ", ") {
			m := f.made[kind]
			if m == nil {
				m = &Mutations{Kind: kind}
				f.made[kind] = m
			}
			m.Made++
			if fresh > 0 {
				m.Kept++
			}
		}
	}
	if fresh == 0 && !f.plan.Unguided {
		return
	}
	e := &Entry{Name: NameOf(r.Candidate.Tape), Tape: r.Candidate.Tape, Injections: r.Injections}
	if f.plan.Unguided {
		if e = exchanged(&f.passed, e, newDice(f.seed, ^r.Number), fresh > 0); e == nil {
			return
		}
	}
	d := newDice(f.seed, r.Number)
	for mutants := fresh * (fuzzLeast + d.below(fuzzMost-fuzzLeast+1)); mutants > 0; mutants-- {
		if len(f.queue) >= fuzzReseed {
			return
		}
		f.queue = append(f.queue, waiting{e, d.bits()})
	}
}

func (f *fuzz) Standing() Standing {
	s := Standing{Strategy: f.name, Corpus: len(f.queue), Features: len(f.seen), Domains: f.domains}
	for _, kind := range fuzzMutations {
		if m := f.made[kind]; m != nil {
			s.Mutations = append(s.Mutations, *m)
		}
	}
	if f.missing {
		s.Unknown = append(s.Unknown, fmt.Sprintf("%s changes choices of a schedule, and this world has none: "+
			"set Settings.Schedule, or use %s",
			ModelFuzz, Guided))
	}
	if f.crowded {
		s.Notes = append(s.Notes, fmt.Sprintf("more than %d features were reached; further ones do not guide the search", maxFeatures))
	}
	return s
}
