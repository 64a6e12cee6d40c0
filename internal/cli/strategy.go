package cli

import (
	"cmp"

	"github.com/bloodhound-dst/bloodhound/explore/search"
)

// strategyOf makes the strategy that a flag names, or else the configuration.
func (f *flags) strategyOf(p *project, seed uint64) (search.Strategy, error) {
	x := &p.search
	return search.New(cmp.Or(f.strategy, x.Strategy), p.spec, seed, search.Settings{
		MaxDepth: int(x.MaxDepth), MaxStates: uint64(x.MaxStates), Coverage: x.PrioritizeCoverage, Nearness: x.PrioritizeNearViolation})
}
