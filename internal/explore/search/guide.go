package search

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// A guide is what a search that learns looks at: which features of a run make it worth changing. The name of a strategy may have one,
// such as coverage-guided:state, and words that change how the strategy works: modelfuzz:state+swap-counts.
const (
	GuideTrace    = "trace"    // the order of all events of a run
	GuideLine     = "line"     // blocks of the code under test: those that the Go compiler counts or, of programs, those that are watched
	GuideState    = "state"    // states of the model, as its view shows them
	GuideEdge     = "edge"     // steps of the model between them
	GuideWhole    = "whole"    // states of the model, whatever its view shows
	GuideGuard    = "guard"    // guards of the model that were true or false, and how close runs came to others
	GuideCombined = "combined" // all that runs report, but for the order of events, and how close they came to a violation
)

// guides lists the names of guides.
var guides = []string{GuideTrace, GuideLine, GuideState, GuideEdge, GuideWhole, GuideGuard, GuideCombined}

// guideDomains are the domains of each guide; combined has all but those of measured.
var guideDomains = map[string][]coverage.Domain{
	GuideTrace: {coverage.Trace},
	GuideLine:  {coverage.Line, coverage.Code},
	GuideState: {coverage.ModelState},
	GuideEdge:  {coverage.ModelEdge},
	GuideWhole: {coverage.ModelWhole, coverage.ModelState}, // without a view there are only the latter
	GuideGuard: {coverage.ModelGuard, coverage.ModelGoal},
}

// measured are domains that would drown all others: whole states behind a view, and the order of events, which no two runs share.
var measured = []coverage.Domain{coverage.ModelWhole, coverage.Trace}

// modelDomains are those of runs that are followed in a model.
var modelDomains = []coverage.Domain{coverage.ModelState, coverage.ModelWhole, coverage.ModelEdge, coverage.ModelGuard, coverage.ModelGoal}

// Plan is the name of a strategy, taken apart: the strategy, its guide and its variants.
type Plan struct {
	Strategy string
	Guide    string // empty: the strategy's own
	Words    []string
	// Unguided is a control of comparisons: of the strategy without its guide.
	Unguided bool
	// Rates has the random tapes of coverage-guided choose rates, as those of swarm do.
	Rates bool
	// Bandit has coverage-guided learn which mutations lead to something new and, unless a guide is named, which guides.
	Bandit bool
}

// Bandit is the word of Plan.Bandit.
const Bandit = "bandit"

// Rates is the word of Plan.Rates.
const Rates = "rates"

// Unguided is the word of Plan.Unguided: wherever the strategy keeps a run because of what it reached, it keeps one of all runs
// so far, each equally likely. All else is the same: how many runs are kept, and how they are changed.
const Unguided = "unguided"

// multiples are the words of random that multiply all rates, and the exponents of 2 that they stand for.
var multiples = []string{"x1", "x2", "x4", "x8", "x16", "x32", "x64"}

// Parse reads the name of a strategy: NAME[:GUIDE][+WORD]...
func Parse(name string) (Plan, error) {
	head, words, some := strings.Cut(name, "+")
	var p Plan
	if some {
		p.Words = strings.Split(words, "+")
	}
	var guide bool
	p.Strategy, p.Guide, guide = strings.Cut(head, ":")
	if p.Strategy == "" && !guide && !some {
		p.Strategy = Random
	}
	kind := KindOf(p.Strategy)
	known := kind.Words
	switch {
	case !Known(p.Strategy):
		return p, fmt.Errorf("unknown strategy %q; there are %s, and %s for schedules of worlds inside one process", name,
			strings.Join(Names, ", "), strings.Join(Scheduled(), " and "))
	case guide && !kind.Learns():
		return p, fmt.Errorf("%q: the strategy %s does not learn from runs, so it takes no guide; use %s:%s or "+
			"%s:%s", name, p.Strategy,
			Guided, GuideState, ModelFuzz, GuideState)
	case guide && !slices.Contains(guides, p.Guide):
		return p, fmt.Errorf("%q: unknown guide %q; there are %s", name, p.Guide, strings.Join(guides, ", "))
	}
	for i, w := range p.Words {
		switch {
		case len(known) == 0:
			return p, fmt.Errorf("%q: the strategy %s takes no options after +", name, p.Strategy)
		case !slices.Contains(known, w):
			return p, fmt.Errorf("%q: %s has no option %q; options are %s", name, p.Strategy, w, strings.Join(known, ", "))
		case slices.Contains(p.Words[:i], w):
			return p, fmt.Errorf("%q: %q is given twice", name, w)
		case p.Strategy == Random && i > 0:
			return p, fmt.Errorf("%q: give only one number to multiply rates by", name)
		}
	}
	if k := slices.Index(p.Words, Unguided); k >= 0 {
		p.Words, p.Unguided = slices.Delete(p.Words, k, k+1), true
	}
	if k := slices.Index(p.Words, Rates); k >= 0 {
		p.Words, p.Rates = slices.Delete(p.Words, k, k+1), true
	}
	if k := slices.Index(p.Words, Bandit); k >= 0 {
		p.Words, p.Bandit = slices.Delete(p.Words, k, k+1), true
	}
	return p, nil
}

// Learns reports whether the strategy looks at what runs reach.
func (p *Plan) Learns() bool { return KindOf(p.Strategy).Learns() }

// guide is the one that leads the strategy.
func (p *Plan) guide() string { return cmp.Or(p.Guide, KindOf(p.Strategy).Guide, GuideCombined) }

// guides are those that a strategy chooses among: the one that leads it, or all for a bandit.
func (p *Plan) guides() []string {
	if p.Bandit && p.Guide == "" && !p.Unguided {
		return guides
	}
	return []string{p.guide()}
}

// WatchesBlocks reports whether a strategy learns of nothing but blocks of code, which a campaign must watch then.
func (p *Plan) WatchesBlocks() bool { return p.Learns() && p.guide() == GuideLine }

// Watches says which of the domains a strategy learns of. To count lines costs time, so a setting must ask for them.
func (p *Plan) Watches(d coverage.Domain) bool {
	list := p.guides()
	if d == coverage.Line && p.Guide == "" && len(list) == 1 && list[0] == GuideCombined {
		return false
	}
	return slices.ContainsFunc(list, func(g string) bool { return shows(g, d) })
}

// shows reports whether a domain is one of a guide; that of distances to violations has no name.
func shows(guide string, d coverage.Domain) bool {
	if guide == GuideCombined {
		return !slices.Contains(measured, d)
	}
	return slices.Contains(guideDomains[guide], d)
}

// NeedsModel reports whether a strategy can learn nothing from runs that are followed in no model.
func (p *Plan) NeedsModel() bool {
	return p.Learns() && slices.ContainsFunc(guideDomains[p.guide()], func(d coverage.Domain) bool { return slices.Contains(modelDomains, d) })
}

// WatchesModel reports whether a strategy learns what runs reach in a model.
func (p *Plan) WatchesModel() bool {
	return p.Learns() && slices.ContainsFunc(modelDomains, p.Watches)
}

// near reports whether a strategy learns from distances at all.
func (p *Plan) near() bool { return p.Watches("") || p.Watches(coverage.ModelGoal) }

// possible is an error if a guide cannot work in a world.
func (p *Plan) possible(spec *world.Spec) error {
	inside := spec.Engine == world.InProcess
	switch {
	case inside:
		return nil
	case KindOf(p.Strategy).Scheduled:
		return fmt.Errorf("the strategy %s changes schedules, which only worlds inside one process have; use "+
			"%s", p.Strategy, Guided)
	case p.NeedsModel() && spec.Guide == nil && !slices.ContainsFunc(spec.Properties, followed):
		return fmt.Errorf("the guide %s needs a model that follows the runs, and there is none: set "+
			"exploration.guide, add a property whose check is of type model, or use %s", p.Guide, Guided)
	}
	return nil
}

// followed reports whether a property follows runs in a model.
func followed(p world.Property) bool { return p.Check.Type.Kind().Basis == world.ByModel }
