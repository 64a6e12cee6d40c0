package sim

import (
	"context"
	"fmt"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/coverage/counters"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/explore/subject"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// replaced makes a campaign that is not the one of this package.
func (s *simulation) replaced(ctx context.Context, campaign subject.Campaign) (*result, error) {
	defer collectLess()()
	of := &subject.Subject{
		Spec: s.spec,
		Strategy: func(name string, seed uint64) (search.Strategy, search.Plan, *counters.Reader, error) {
			s.Strategy, s.Seed = name, seed
			strategy, plan, err := s.strategy()
			return strategy, plan, s.lines, err
		},
		Unguide: func() { s.quiet = s.quiet.Unguided() },
		Reply:   s.reply,
		Try:     s.try,
		Story: func(spec *world.Spec, t tape.Tape) (string, error) {
			_, story, err := s.play(s.engine, spec, t, engine.Options{})
			return story, err
		},
	}
	totals, err := campaign(ctx, of)
	if err != nil {
		return nil, err
	}
	r := &result{Result: explore.Result{Name: s.name, Totals: totals, Status: totals.Status(s.spec)}}
	r.ExitCode = r.Status.ExitCode()
	return r, nil
}

// strategy makes the search strategy, and checks that the world has what the strategy needs.
func (s *simulation) strategy() (search.Strategy, search.Plan, error) {
	p, err := search.Parse(s.Strategy)
	if err != nil {
		return nil, p, err
	}
	if s.Strategy == search.Priority {
		return nil, p, fmt.Errorf("the strategy %s ranks threads that share a CPU, which in-process worlds do not have; use %s, %s or %s",
			search.Priority, search.Random, search.Guided, search.Swarm)
	}
	set := search.Settings{Coverage: true, Nearness: true}
	if s.Strategy == search.Enumerated && s.schedules != nil {
		if set.Schedules, err = s.schedules(s.engine); err != nil {
			return nil, p, fmt.Errorf("the schedules to play: %w", err)
		}
	}
	strategy, err := search.New(s.Strategy, s.spec, s.Seed, set)
	if err != nil || !p.Learns() {
		return strategy, p, err
	}
	if p.Watches(coverage.Line) {
		s.lines, err = counters.New()
		if err != nil && p.Guide == search.GuideLine {
			return nil, p, fmt.Errorf("the guide %s: %w", p.Guide, err)
		}
	}
	if p.Strategy == search.ModelFuzz && !s.engine.Scheduled() {
		return nil, p, fmt.Errorf("the strategy %s changes choices of a schedule, and this world has none: set "+
			"Settings.Schedule, or use %s",
			s.Strategy, search.Guided)
	}
	if p.NeedsModel() && !s.engine.Followed() {
		return nil, p, fmt.Errorf("the strategy %s needs a specification that this world follows, and there is "+
			"none: call World.Model or World.Guide in its description, or use %s",
			s.Strategy, search.Guided)
	}
	if s.lines != nil && s.Workers > 1 {
		return nil, p, fmt.Errorf("the strategy %s needs the lines that each run executes, but a process counts "+
			"the lines of all its runs together: use one worker", s.Strategy)
	}
	return strategy, p, nil
}

// counted adds the blocks that a run has executed.
func (s *simulation) counted(out *check.Judged) error {
	return s.lines.Executed(func(block uint64) {
		out.Reached = append(out.Reached, coverage.Feature{ID: block, Domain: coverage.Line})
	})
}
