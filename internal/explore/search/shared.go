package search

import (
	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// Names of origins that a Shared gives to runs that are not its inner strategy's.
const (
	HoldoutOrigin = "holdout"
	AdoptedOrigin = "adopted"
)

// Of so many runs of a Shared one is of a holdout; and of so many that are not, one may play what others have found: more seldom where it is known what
// that reached.
const (
	holdoutEvery = 10
	adoptEvery   = 4
	againEvery   = 24
)

// Shared is a strategy of one worker among many, which goes on through several campaigns. Most runs are those of an inner
// strategy. Others play entries that other workers have kept. And some are a holdout: random tapes, from their boot, which depend
// on nothing that any run has shown, so that what they show is a sample of what a random run shows.
type Shared struct {
	Strategy
	seed    uint64
	adopted []Entry // whose runs tell what they reach
	again   []Entry // of which that is known
	over    func() bool

	base  uint64 // runs of campaigns before the present one
	given uint64 // runs of the present one
	inner uint64 // runs of the inner strategy
}

// NewShared makes a strategy around another one. The seed is that of the holdout.
func NewShared(inner Strategy, seed uint64) *Shared { return &Shared{Strategy: inner, seed: seed} }

// Adopt plays an entry of others in a run to come.
func (s *Shared) Adopt(e Entry) { s.adopted = append(s.adopted, e) }

// AdoptKnown takes in an entry of others and what it reached that was new then, by a run of the same programs. It is played, too, but there is no hurry.
func (s *Shared) AdoptKnown(e Entry, reached []uint64) {
	if inner, ok := s.Strategy.(Adopter); ok {
		inner.Adopt(e, reached)
		s.again = append(s.again, e)
		return
	}
	s.Adopt(e)
}

// Know says that others have reached features.
func (s *Shared) Know(features []uint64) {
	if inner, ok := s.Strategy.(Adopter); ok {
		inner.Know(features)
	}
}

// Again prepares for a campaign that goes on where one has ended. It makes a run at least, and ends when over reports true and the runs under way have
// ended: none is cut short, so that long runs are as likely in a holdout as short ones.
func (s *Shared) Again(over func() bool) { s.base, s.given, s.over = s.base+s.given, 0, over }

// Next implements Strategy.
func (s *Shared) Next(run uint64) (Candidate, Answer) {
	if run > 0 && s.over != nil && s.over() {
		return Candidate{}, Exhausted
	}
	c, answer := s.nextTape(s.base + run)
	if answer == Here {
		s.given = run + 1
	}
	return c, answer
}

func (s *Shared) nextTape(run uint64) (Candidate, Answer) {
	if run%holdoutEvery == holdoutEvery-1 {
		return Candidate{Tape: tape.Tape{Seed: RandomTape(s.seed, run+1).Seed}, Origin: Origin{Strategy: HoldoutOrigin}, FromBoot: true}, Here
	}
	for _, q := range []struct {
		list  *[]Entry
		every uint64
	}{{&s.adopted, adoptEvery}, {&s.again, againEvery}} {
		if len(*q.list) > 0 && run%q.every == 0 {
			e := (*q.list)[0]
			*q.list = (*q.list)[1:]
			return Candidate{Tape: e.Tape, Origin: Origin{Strategy: AdoptedOrigin, Parent: e.Name}}, Here
		}
	}
	c, answer := s.Strategy.Next(s.inner)
	if answer == Here {
		s.inner++
	}
	return c, answer
}

// Begins implements Timed.
func (s *Shared) Begins(c Calm) {
	if inner, ok := s.Strategy.(Timed); ok {
		inner.Begins(c)
	}
}

// Learn implements Strategy. The numbers that it passes on are those of all campaigns together.
func (s *Shared) Learn(r *Run) {
	if r.Number != Baseline {
		own := *r
		own.Number += s.base
		r = &own
	}
	s.Strategy.Learn(r)
}

// Watches implements Watcher.
func (s *Shared) Watches(d coverage.Domain) bool {
	w, ok := s.Strategy.(Watcher)
	return !ok || w.Watches(d)
}

// Changes implements Keeper.
func (s *Shared) Changes() (came []*Entry, left []string) {
	if k, ok := s.Strategy.(Keeper); ok {
		return k.Changes()
	}
	return nil, nil
}
