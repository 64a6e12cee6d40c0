package sim

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/coverage/counters"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/explore/contest"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/shrink"
)

// storyRuns bounds the runs that make the run of a trial smaller before its schedule is told.
const storyRuns = 300

// ordered makes the trial that the folder asks for instead of a campaign, and leaves its answer there.
func (s *simulation) ordered(ctx context.Context, dir string) (*result, error) {
	o, err := contest.Ordered(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", contest.OrderFolder, err)
	}
	if o.Attended {
		go func() {
			io.Copy(io.Discard, os.Stdin)
			os.Exit(check.ExitUnknown)
		}()
	}
	r, t, err := s.trial(ctx, o)
	var a contest.Answer
	if err != nil {
		a.Error = err.Error()
	} else {
		a.Trial = *t
	}
	if gave := a.Give(dir); gave != nil {
		return nil, gave
	}
	return r, err
}

// trial makes one campaign and measures it.
func (s *simulation) trial(ctx context.Context, o *contest.Order) (*result, *contest.Trial, error) {
	defer collectLess()()
	s.Strategy, s.Seed = o.Strategy, o.Seed
	strategy, plan, err := s.strategy()
	if err != nil {
		return nil, nil, err
	}
	if !o.Measure && !plan.WatchesModel() {
		s.quiet = s.quiet.Unguided() // a search does not pay for what it does not look at
	}
	m := &measure{on: o.Measure, next: 1}
	if o.Measure {
		m.lines = s.lines
		if m.lines == nil {
			m.lines, _ = counters.New() // without them the lines are not measured
		}
	}
	var found *explore.Failure
	c := &explore.Campaign{Setup: &explore.Setup{Spec: s.spec}, Seed: o.Seed, Strategy: strategy, Runs: o.Runs, Timeout: time.Duration(o.TimeoutNs), Workers: 1,
		KeepGoing: o.Measure, Found: func(f *explore.Failure, _ *check.Judged) {
			if found == nil {
				found = f
			}
		}}
	c.Here = func(setup *explore.Setup, job *explore.Job, progress func(explore.Progress), interrupt <-chan struct{}) *explore.Reply {
		return s.made(setup, job, interrupt, m)
	}
	began := cpuTime()
	m.began = began
	totals := c.Run(ctx)
	t := &contest.Trial{Strategy: o.Strategy, Seed: o.Seed, Runs: totals.Runs, WallNs: totals.WallNs, CPUNs: int64(cpuTime() - began), Mutations: totals.Search.Mutations}
	switch {
	case totals.Stopped == explore.Interrupted:
		return nil, nil, ctx.Err()
	case totals.LostRuns > 0:
		t.Failed = fmt.Sprintf("%s was lost: %s", totals.Lost[0], totals.Lost[0].Reason)
	case totals.Unrepeatable > 0:
		t.Failed = fmt.Sprintf("%s is not reproducible: %s", totals.FirstUnrepeatable, totals.FirstUnrepeatable.Reason)
	case totals.Mistake != "":
		t.Failed = totals.Mistake
	case found != nil:
		t.Found, t.Property, t.Mutant = true, found.Verdict.Property, found.Origin.Parent != ""
	case totals.Stopped == explore.TimedOut && totals.Runs < o.Runs:
		t.CutOff = true
	case len(totals.Search.Unknown) > 0:
		t.Failed = totals.Search.Unknown[0]
	}
	if !t.Found {
		t.Unknown = totals.Doubts()
	}
	if o.Measure {
		if k := len(m.points); totals.Runs > 0 && (k == 0 || m.points[k-1].Runs < totals.Runs) {
			m.point(totals.Runs)
		}
		t.Curve = m.points
	}
	if m.failed != nil {
		return nil, nil, m.failed
	}
	if found != nil && o.Story {
		t.Story = s.smallest(ctx, found, o)
	}
	r := &result{Result: explore.Result{Name: s.name, Totals: totals, Status: totals.Status(s.spec)}}
	r.ExitCode = r.Status.ExitCode()
	return r, t, nil
}

// smallest is the schedule of the smallest run of a failure that is found soon; empty in a world without one.
func (s *simulation) smallest(ctx context.Context, f *explore.Failure, o *contest.Order) string {
	small := shrink.Case{Tape: f.Tape}
	search := &shrink.Search{Spec: s.spec, Workers: 1, MaxRuns: storyRuns, Try: s.try(f.Signature)}
	if o.TimeoutNs > 0 {
		search.MaxTime = contest.Overtime / 2
	}
	if made, err := search.Shrink(ctx, small); err == nil {
		small = made.Case
	}
	_, story, err := s.play(s.engine, small.Cut.Apply(s.spec), small.Tape, engine.Options{})
	if err != nil {
		return ""
	}
	return story
}

// measure is what the runs of a trial have reached so far, all in one row.
type measure struct {
	on     bool
	began  time.Duration
	lines  *counters.Reader
	next   uint64 // how many runs the next point of the curve has behind it
	points []contest.Point
	seen   map[coverage.Domain]map[uint64]bool
	failed error
}

// measuredDomains are those that a trial counts; others are too many, or say little.
var measuredDomains = []coverage.Domain{coverage.ModelState, coverage.ModelWhole, coverage.ModelEdge, coverage.ModelGuard, coverage.Line}

// made makes a run of a trial.
func (s *simulation) made(setup *explore.Setup, job *explore.Job, interrupt <-chan struct{}, m *measure) *explore.Reply {
	job.Behaviour = job.Behaviour || m.on
	reply := s.reply(setup, job, interrupt, func(out *check.Judged) { m.take(out.Reached) })
	if m.on && reply.Error == "" && job.ID+1 >= m.next {
		m.point(job.ID + 1)
	}
	return reply
}

func (m *measure) take(reached []coverage.Feature) {
	if !m.on {
		return
	}
	if m.seen == nil {
		m.seen = map[coverage.Domain]map[uint64]bool{}
		for _, d := range measuredDomains {
			m.seen[d] = map[uint64]bool{}
		}
	}
	for _, f := range reached {
		if set := m.seen[f.Domain]; set != nil {
			set[f.ID] = true
		}
	}
}

// point notes how much was reached after so many runs. Points lie closer together at first, as what is new does.
func (m *measure) point(runs uint64) {
	if m.lines != nil {
		lines := m.seen[coverage.Line]
		if err := m.lines.Executed(func(block uint64) { lines[block] = true }); err != nil {
			m.failed = err
		}
	}
	count := func(d coverage.Domain) int { return len(m.seen[d]) }
	p := contest.Point{Runs: runs, CPUNs: int64(cpuTime() - m.began), States: count(coverage.ModelState), Whole: count(coverage.ModelWhole), Edges: count(coverage.ModelEdge),
		Guards: count(coverage.ModelGuard), Lines: count(coverage.Line)}
	if p.Whole == 0 {
		p.Whole = p.States
	}
	m.points = append(m.points, p)
	m.next = max(runs+1, runs*6/5)
}

// strategy makes the one of the campaign, and finds out whether the world has what leads it.
func (s *simulation) strategy() (search.Strategy, search.Plan, error) {
	p, err := search.Parse(s.Strategy)
	if err != nil {
		return nil, p, err
	}
	if s.Strategy == search.Priority {
		return nil, p, fmt.Errorf("the strategy %s ranks threads that share a CPU, and processes of such worlds have no ranks; use %s, %s or %s", search.Priority, search.Random, search.Guided, search.Swarm)
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
		return nil, p, fmt.Errorf("the strategy %s changes choices of a schedule, and this world has none: give it Settings.Schedule, or use %s", s.Strategy, search.Guided)
	}
	if p.NeedsModel() && !s.engine.Followed() {
		return nil, p, fmt.Errorf("the strategy %s looks at what runs reach in a model, and runs of this world are followed in none: call World.Model or World.Guide in its description, or use %s",
			s.Strategy, search.Guided)
	}
	if s.lines != nil && s.Workers > 1 {
		return nil, p, fmt.Errorf("the strategy %s learns which lines were executed, and the counters of a process do not tell runs apart: use one worker", s.Strategy)
	}
	return strategy, p, nil
}

// counted has a run tell which blocks it has executed.
func (s *simulation) counted(out *check.Judged) error {
	return s.lines.Executed(func(block uint64) {
		out.Reached = append(out.Reached, coverage.Feature{ID: block, Domain: coverage.Line})
	})
}
