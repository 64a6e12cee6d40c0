package cli

import (
	"cmp"

	"github.com/bloodhound-dst/bloodhound/config"
	"github.com/bloodhound-dst/bloodhound/explore/search"
)

// strategyOf makes the strategy that a flag names, or else the configuration.
func (f *flags) strategyOf(p *project, seed uint64) (search.Strategy, error) {
	set := settingsOf(&p.search)
	set.MaxDepth = cmp.Or(int(f.maxDepth), set.MaxDepth)
	return search.New(cmp.Or(f.strategy, p.search.Strategy), p.spec, seed, set)
}

func settingsOf(x *config.Exploration) search.Settings {
	return search.Settings{MaxDepth: int(x.MaxDepth), MaxStates: uint64(x.MaxStates), Streams: x.Streams,
		Coverage: x.PrioritizeCoverage, Nearness: x.PrioritizeNearViolation}
}
