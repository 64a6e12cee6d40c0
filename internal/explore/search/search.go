// Package search decides which tape a campaign plays next, from what its runs so far have reached. It is pure: a Strategy is
// plain data and decisions, and knows runs only by Learn.
//
// A campaign is deterministic whatever the number of its workers: the tape of run i is a function of the campaign's seed, of
// i, and of the results of runs up to i minus the feedback delay, which Learn is given in the order of their numbers.
package search

import (
	"cmp"

	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/splitmix"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// DefaultFeedbackDelay is the default of Settings.FeedbackDelay, in runs.
const DefaultFeedbackDelay = 8

// RandomTape is tape i of the row that belongs to a seed. Tape 0 is the seed itself, so that a campaign of one run is the run
// of that seed.
func RandomTape(seed, i uint64) tape.Tape {
	if i == 0 {
		return tape.Tape{Seed: seed}
	}
	return tape.Tape{Seed: splitmix.Mix(seed + i*splitmix.Gamma)}
}

// bootEvery is how often a tape of a campaign that boots once has choices of its own from the boot on: the first of each so many.
const bootEvery = 10

// row is the row of random tapes of a campaign.
type row struct {
	seed    uint64
	oneBoot bool // up to the end of setup, most have the choices of the first
	// rules are those whose rates each tape sets, but the first. swarming means that it chooses them, and which rules are on.
	rules    []rated
	swarming bool
	derived  []derivedRule
}

// strategy plays the row.
func (r row) strategy(name string, spec *world.Spec) Strategy {
	if r.oneBoot {
		return newBranching(name, spec, r)
	}
	return Tapes(name, r.tape)
}

func (r *row) tape(i uint64) tape.Tape {
	t := RandomTape(r.seed, i)
	if r.oneBoot && i%bootEvery != 0 {
		t = tape.FromReady(r.seed, t.Seed)
	}
	if i > 0 {
		t.Edits = append(t.Edits, r.derive(i, r.rates(newDice(r.seed, i)))...)
	}
	return t
}

// Seen holds the results of a run that a search learns from.
type Seen struct {
	// Reached are the IDs of the run's features, in order; Texts are those that the worker has not sent before.
	Reached []uint64            `json:"reached,omitempty"`
	Texts   []coverage.Feature  `json:"texts,omitempty"`
	Near    []coverage.Nearness `json:"near,omitempty"`
	// Injections are the decisions about faults that are drawn by rules, in the order in which they were made: the first MaxInjections.
	Injections []tape.Decision `json:"injections,omitempty"`
	Events     uint64          `json:"events,omitempty"`
	// Draws lists the draws of the run, which mutations can vary.
	Draws     []tape.Draws `json:"draws,omitempty"`
	DrawsLost uint64       `json:"draws_lost,omitempty"`
}

// Bounds of what a search learns of one run.
const (
	MaxInjections = 2048
	MaxReached    = 1 << 14
)

// Run is a run that has ended. Seen is nil if it was lost.
type Run struct {
	Number    uint64
	Candidate Candidate
	Machine   string // what it ran on
	*Seen
}

// Baseline is the number of the run without faults, which comes before all others.
const Baseline = ^uint64(0)

// Candidate is a tape to play, and where it comes from.
type Candidate struct {
	Tape   tape.Tape `json:"tape"`
	Origin Origin    `json:"-"` // worker processes need not know
	// FromBoot asks for a run that begins at no snapshot and takes none.
	FromBoot bool `json:"from_boot,omitempty"`
	// PartNs asks for a snapshot a little before this virtual time, from which on the tapes of further runs differ from this one;
	// 0 asks for none.
	PartNs int64 `json:"part_ns,omitempty"`
}

// Origin is where a tape comes from.
type Origin struct {
	Strategy string `json:"strategy"`
	// Parent is the name of the corpus entry that was changed, Mate that of the one from which it got a part. Both are empty
	// for a tape that was made from none.
	Parent string `json:"parent,omitempty"`
	Mate   string `json:"mate,omitempty"`
	// Mutation says, in words, how the parent was changed.
	Mutation string `json:"mutation,omitempty"`
	// Guide is the one in whose corpus the parent was chosen, where a bandit chooses among guides.
	Guide string `json:"guide,omitempty"`
}

// Answer says whether a Strategy gives a tape, must wait, or has none left.
type Answer int

// The answers.
const (
	Here      Answer = iota
	Wait             // it must learn of more runs first
	Exhausted        // there is none left
)

// Strategy finds the tapes of a campaign.
type Strategy interface {
	Name() string
	// FeedbackDelay returns the delay of the Settings, in runs: the tape of run i waits for the results of the runs up
	// to i minus this delay, and does not depend on later ones. It is 0 for a strategy that needs no Learn.
	FeedbackDelay() uint64
	// Next gives the tape of a run. It is called for runs in order, again for the same one after Wait.
	Next(run uint64) (Candidate, Answer)
	// Learn gets each run in order.
	Learn(r *Run)
	// Standing is how far the search has come.
	Standing() Standing
}

// Watcher is a Strategy that does not learn of all that runs reach.
type Watcher interface {
	Watches(coverage.Domain) bool
}

// Keeper is a Strategy with a corpus.
type Keeper interface {
	// Changes are the entries that came into the corpus since the last call, and the names of those that left it. An entry that
	// both came and left is in neither.
	Changes() (came []*Entry, left []string)
}

// Adopter is a Strategy that takes in what other searches of the same programs have found, without a run.
type Adopter interface {
	// Know says that others have reached features: a run that does so, too, shows nothing new.
	Know(features []uint64)
	// Adopt takes in an entry of the corpus of another search, and what it reached that was new there.
	Adopt(e Entry, reached []uint64)
}

// Standing is how far a search has come.
type Standing struct {
	Strategy string `json:"strategy"`
	Corpus   int    `json:"corpus,omitempty"`   // entries; of modelfuzz, mutants that wait
	Features int    `json:"features,omitempty"` // distinct ones that were reached
	// Domains counts them by domain.
	Domains map[coverage.Domain]int `json:"domains,omitempty"`
	// Near are the smallest distances so far, by name.
	Near []coverage.Nearness `json:"near,omitempty"`
	// Depth is how many edits the tapes have that are enumerated now, States how many tapes were.
	Depth  int    `json:"depth,omitempty"`
	States uint64 `json:"states,omitempty"`
	// Complete means that all tapes up to Depth were enumerated.
	Complete bool `json:"complete,omitempty"`
	// Mutations counts by kind how often a mutant became an entry of the corpus, of how many that were played. A bandit chooses among these kinds.
	Mutations []Mutations `json:"mutations,omitempty"`
	// Guides counts the same by the guide in whose corpus the parent was chosen, where a bandit chooses among guides.
	Guides []Mutations `json:"guides,omitempty"`
	// Lengths counts runs by their length, where a search chooses it.
	Lengths []LengthTotal `json:"lengths,omitempty"`
	// Unknown are reasons why what was played is not what was asked for.
	Unknown []string `json:"unknown,omitempty"`
	// Notes tell the user about limits and choices of the search.
	Notes []string `json:"notes,omitempty"`
}

// Mutations counts the mutants of a kind.
type Mutations struct {
	Kind string `json:"kind"`
	Made uint64 `json:"made"` // and played
	Kept uint64 `json:"kept"` // in the corpus; of a bandit: those that paid
}

func (s Standing) String() string {
	if p, _ := Parse(s.Strategy); KindOf(p.Strategy).Standing != nil {
		return KindOf(p.Strategy).Standing(&s)
	}
	return s.Strategy
}

// Settings are the choices of a user that strategies know. Zero is the default of each.
type Settings struct {
	// FeedbackDelay is how many runs may be under way at once in a campaign that learns; more workers than that are idle. It is part of
	// what makes a campaign repeat: with another delay, strategies pick other tapes.
	FeedbackDelay uint64
	// OneBoot has most random tapes make the same choices up to the end of setup, so that their runs may begin there; the rest keep bugs of
	// starting within reach.
	OneBoot bool
	// FullLength gives all runs of swarm their full length, and so does a campaign of few Runs; 0 is no bound.
	FullLength bool
	Runs       uint64
	MaxDepth   int    // bfs and dfs: edits of a tape
	MaxStates  uint64 // bfs and dfs: tapes
	// Streams are patterns of those that bfs and dfs edit; none are all that are Watched.
	Streams []string
	// Of coverage-guided: how parents are preferred.
	Coverage, Nearness bool
	Corpus             []Entry // coverage-guided begins with these
	// Schedules are edits of tapes, each the beginning of a run: enumerated plays them one after the other, again and again, with chance of its own
	// each time.
	Schedules [][]tape.Edit
}

// New makes the strategy of a name (see Parse) for a campaign over spec.
func New(name string, spec *world.Spec, seed uint64, s Settings) (Strategy, error) {
	p, err := Parse(name)
	if err == nil && p.Learns() {
		err = p.possible(spec)
	}
	if err != nil {
		return nil, err
	}
	return KindOf(p.Strategy).New(&request{name: name, plan: p, spec: spec, seed: seed, random: row{seed: seed, oneBoot: s.OneBoot},
		learner: learner{cmp.Or(s.FeedbackDelay, DefaultFeedbackDelay)}, settings: s})
}

// Watched are the streams whose draws a search varies, as patterns: when faults are injected and how, what a loss of power takes,
// what packets suffer, and where threads are preempted, or switched in their own code.
var Watched = []string{fault.Streams, "disk/**", "speed/disk", "speed/disk/*", "net/**/drop", "net/**/corrupt", "net/**/delay",
	"net/**/duplicate", "net/**/reorder", "sched/**", ownCode}

// ownCode are the streams of switches in the code of programs, without those that choose where such switches are possible and how frequent.
const ownCode = "switch/*/*/**"

// InjectionsOf are the decisions of a run that Seen.Injections has.
func InjectionsOf(decisions []tape.Decision) []tape.Decision {
	var list []tape.Decision
	for _, d := range decisions {
		if len(list) < MaxInjections && tape.Match(fault.Streams, d.Stream) {
			list = append(list, d)
		}
	}
	return list
}

// learner is the part of a strategy that learns from runs.
type learner struct{ delay uint64 }

func (l learner) FeedbackDelay() uint64 { return l.delay }

// tapes is a strategy that learns nothing.
type tapes struct {
	name string
	of   func(run uint64) tape.Tape
}

// Tapes is the strategy of a function.
func Tapes(name string, of func(run uint64) tape.Tape) Strategy { return tapes{name, of} }

func (t tapes) Name() string          { return t.name }
func (t tapes) FeedbackDelay() uint64 { return 0 }
func (t tapes) Learn(*Run)            {}
func (t tapes) Next(run uint64) (Candidate, Answer) {
	return Candidate{Tape: t.of(run), Origin: Origin{Strategy: t.name}}, Here
}
func (t tapes) Standing() Standing { return Standing{Strategy: t.name} }

// dice are the choices that a strategy makes for one run.
type dice struct{ state uint64 }

func newDice(seed, run uint64) *dice {
	return &dice{splitmix.Mix(seed^splitmix.Gamma) + splitmix.Mix(run+1)}
}

func (d *dice) bits() uint64 {
	d.state += splitmix.Gamma
	return splitmix.Mix(d.state)
}

// below gives a number from 0 to n-1; n must not be 0.
func (d *dice) below(n int) int { return int((d.bits() >> 1) % uint64(n)) }

// chance is true at so many percent.
func (d *dice) chance(percent int) bool { return d.below(100) < percent }

// unit gives a number from 0 to 1, without 1.
func (d *dice) unit() float64 { return float64(d.bits()>>11) / (1 << 53) }
