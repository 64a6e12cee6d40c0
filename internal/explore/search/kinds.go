package search

import (
	"fmt"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Names of strategies.
const (
	Random   = "random"
	Guided   = "coverage-guided"
	Breadth  = "bfs"
	Depth    = "dfs"
	Swarm    = "swarm"
	Priority = "pct"
	// ModelFuzz and Enumerated play schedules, which worlds inside one process have.
	ModelFuzz  = "modelfuzz"
	Enumerated = "enumerated"
)

// Default is the strategy of campaigns that name none. In worlds inside one process, whose rules are the program's own, that is Random.
const Default = Swarm

// Keys of `exploration` in a configuration that only some strategies use.
const (
	KeyFeedbackDelay = "feedback_delay"
	KeyLength        = "length"
	KeyCorpus        = "corpus"
	KeyCoverage      = "prioritize_coverage"
	KeyNearness      = "prioritize_near_violation"
	KeyMaxDepth      = "max_depth"
	KeyMaxStates     = "max_states"
	KeyStreams       = "streams"
)

// Kind describes a strategy. All that packages know about strategies by their names is in Kinds.
type Kind struct {
	Name string
	// Next says which tape comes next, in docs/reference/exploration.md.
	Next string
	// Keys lists the keys of `exploration` that it uses, such as KeyLength.
	Keys []string
	// Guide leads it where its name has none. A strategy that does not look at what runs reach has no guide.
	Guide string
	// Words may follow its name.
	Words []string
	// Scheduled strategies play schedules, and are not among Names.
	Scheduled bool
	// Extends says that its tapes begin as the tapes of earlier runs.
	Extends bool
	// Plain says that a summary of a campaign need not mention it.
	Plain bool
	// New makes the strategy for a campaign.
	New func(*request) (Strategy, error)
	// Standing says how far it has come; nil for a strategy that has only its name to say.
	Standing func(*Standing) string
}

// Kinds has all strategies, in the order in which users see them.
var Kinds []Kind

// Names lists the strategies of programs.
var Names []string

// Strategies look at Kinds while they work, so Kinds cannot be initialised by an expression that names them.
func init() {
	Kinds = []Kind{
		{Name: Random, Plain: true, Words: multiples, New: newRandom,
			Next: "a new seed, or new random choices after the first fault of another run ([snapshots](#snapshots)), at the rates of the rules"},
		{Name: Guided, Guide: GuideCombined, Words: guidedWords(), New: newGuided, Standing: corpusStanding,
			Keys: []string{KeyFeedbackDelay, KeyCorpus, KeyCoverage, KeyNearness},
			Next: "mostly a mutant of a run that reached something rare ([behaviour](behaviour.md)) or came close to a violation"},
		{Name: Breadth, Extends: true, New: newSystematic, Standing: depthStanding,
			Keys: []string{KeyFeedbackDelay, KeyMaxDepth, KeyMaxStates, KeyStreams}, Next: nextEdits},
		{Name: Depth, Extends: true, New: newSystematic, Standing: depthStanding,
			Keys: []string{KeyFeedbackDelay, KeyMaxDepth, KeyMaxStates, KeyStreams}, Next: nextEdits},
		{Name: Swarm, Plain: true, Keys: []string{KeyFeedbackDelay, KeyLength}, New: newSwarm,
			Next: "a new seed, with most of the fault rules, each at a new rate ([swarm](#swarm-and-pct))"},
		{Name: Priority, Keys: []string{KeyFeedbackDelay}, New: newPriority,
			Next: "random, with a strict order of all threads that changes twice, for concurrency bugs"},
		{Name: ModelFuzz, Scheduled: true, Guide: GuideState, Words: append([]string{Unguided}, fuzzMutations...), New: newFuzz, Standing: mutantStanding},
		{Name: Enumerated, Scheduled: true, New: newEnumerated},
	}
	for i := range Kinds {
		if !Kinds[i].Scheduled {
			Names = append(Names, Kinds[i].Name)
		}
	}
}

const nextEdits = "edits of a base tape: each set of edits once"

// guidedWords follow coverage-guided in its name: controls, and mutations to use alone.
func guidedWords() []string {
	list := []string{Unguided, Rates, Bandit}
	for i := range mutators {
		list = append(list, mutators[i].kind)
	}
	return list
}

// KindOf returns the kind of a name without guide and words, or an empty kind for a name that Kinds lacks.
func KindOf(name string) *Kind {
	if i := slices.IndexFunc(Kinds, func(k Kind) bool { return k.Name == name }); i >= 0 {
		return &Kinds[i]
	}
	return &Kind{}
}

// Uses reports whether a strategy uses a key of `exploration`.
func (k *Kind) Uses(key string) bool { return slices.Contains(k.Keys, key) }

// Learns reports whether a strategy looks at what runs reach.
func (k *Kind) Learns() bool { return k.Guide != "" }

// Using lists the strategies that use a key of `exploration`.
func Using(key string) (names []string) {
	for i := range Kinds {
		if Kinds[i].Uses(key) {
			names = append(names, Kinds[i].Name)
		}
	}
	return names
}

// Scheduled lists the strategies that play schedules.
func Scheduled() (names []string) {
	for i := range Kinds {
		if Kinds[i].Scheduled {
			names = append(names, Kinds[i].Name)
		}
	}
	return names
}

// Known reports whether a name without guide and words is a strategy.
func Known(name string) bool { return name != "" && KindOf(name).Name == name }

// request holds what a strategy is made from.
type request struct {
	name   string // of the strategy, with its guide and words
	plan   Plan
	spec   *world.Spec
	seed   uint64
	random row
	learner
	settings Settings
}

func newRandom(c *request) (Strategy, error) {
	if len(c.plan.Words) > 0 {
		c.random.rules = multiplied(c.spec, slices.Index(multiples, c.plan.Words[0]))
	}
	return c.random.strategy(c.name, c.spec), nil
}

func newEnumerated(c *request) (Strategy, error) {
	schedules, seed := c.settings.Schedules, c.seed
	if len(schedules) == 0 {
		return nil, fmt.Errorf("the strategy %s plays the schedules in Campaign.Schedules, which is empty", Enumerated)
	}
	return Tapes(Enumerated, func(run uint64) tape.Tape {
		t := RandomTape(seed, run)
		t.Edits = schedules[run%uint64(len(schedules))]
		return t
	}), nil
}

func depthStanding(s *Standing) string { return fmt.Sprintf("%s at depth %d", s.Strategy, s.Depth) }

func corpusStanding(s *Standing) string {
	return fmt.Sprintf("%s: %d in the corpus, %s", s.Strategy, s.Corpus, plural.Count(s.Features, "feature"))
}

func mutantStanding(s *Standing) string {
	return fmt.Sprintf("%s: %s to play, %s", s.Strategy, plural.Count(s.Corpus, "mutant"), plural.Count(s.Features, "feature"))
}
