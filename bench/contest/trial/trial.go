// Package trial makes one campaign as a comparison of strategies asks for it: of a world inside one process by an order in a
// folder, next to which it leaves its answer, or of a project, whose runs worker processes make. The comparison itself is in
// bench/contest.
package trial

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/coverage/counters"
	"github.com/bloodhound-dst/bloodhound/internal/cpus"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/explore/subject"
	"github.com/bloodhound-dst/bloodhound/internal/shrink"
)

// Trial is the result of one campaign.
type Trial struct {
	Bug      string `json:"bug"`
	Strategy string `json:"strategy"`
	Seed     uint64 `json:"seed"`
	// Found means that a violation was found and replayed: at the end of run number Runs. Else the trial ended after Runs runs,
	// all that it was to make or, if CutOff, those that the timeout left time for.
	Found    bool   `json:"found"`
	CutOff   bool   `json:"cut_off,omitempty"`
	Runs     uint64 `json:"runs"`
	WallNs   int64  `json:"wall_ns"`
	CPUNs    int64  `json:"cpu_ns,omitempty"` // of the process, without its start
	Property string `json:"property,omitempty"`
	// Mutant means that the tape of the violation was made from another one.
	Mutant bool `json:"mutant,omitempty"`
	// Curve counts the states and code that were reached after some numbers of runs, in a trial that measures them.
	Curve     []Point            `json:"curve,omitempty"`
	Mutations []search.Mutations `json:"mutations,omitempty"`
	Guides    []search.Mutations `json:"guides,omitempty"`
	// Story is the schedule of the smallest run of the violation, such as Deliver(n1, 9) . Crash(n1), where it was asked for.
	Story string `json:"story,omitempty"`
	// Hung describes the program's activity when it was cut off, if that was not its campaign.
	Hung string `json:"hung,omitempty"`
	// Unknown is why a trial that found nothing says less than it seems: verdicts that are unknown, or a guide that is of no use.
	Unknown string `json:"unknown,omitempty"`
	// Shrunk compares the failing run before and after shrinking, where shrinking was asked for.
	Shrunk *Shrunk `json:"shrunk,omitempty"`
	// Failed is why the trial says nothing: the engine or the machine failed, a run was not reproducible, or a world reported a
	// step that its model does not have.
	Failed string `json:"failed,omitempty"`
}

// Shrunk compares a failing run before and after shrinking.
type Shrunk struct {
	From  Size  `json:"from"`
	To    Size  `json:"to"`
	Runs  int   `json:"runs"`
	CPUNs int64 `json:"cpu_ns"` // of the whole command, without its campaign
}

// Size counts the faults, operations and decisions of a failing run.
type Size struct {
	Faults     int `json:"faults"`
	Operations int `json:"operations"`
	Decisions  int `json:"decisions"`
}

// Point counts the distinct states, edges, guards and lines that a trial reached in its first runs.
type Point struct {
	Runs   uint64 `json:"runs"`
	CPUNs  int64  `json:"cpu_ns"`
	States int    `json:"states"` // of the model, as its view shows them
	Whole  int    `json:"whole"`  // states of the model, whatever the view
	Edges  int    `json:"edges"`
	Guards int    `json:"guards"`
	Lines  int    `json:"lines,omitempty"` // blocks of code, of this program or of those of the world
}

// storyRuns bounds the runs that make the run of a trial smaller before its schedule is recorded.
const storyRuns = 300

// Context is the context under which a program calls sim.Campaign.Run: if the program is asked for a trial, its campaign is that trial.
func Context(ctx context.Context) context.Context {
	dir := os.Getenv(OrderFolder)
	if dir == "" {
		return ctx
	}
	return subject.WithCampaign(ctx, func(ctx context.Context, s *subject.Subject) (*explore.Totals, error) { return answer(ctx, s, dir) })
}

// answer makes the trial that the order in a folder asks for, and leaves its answer there.
func answer(ctx context.Context, s *subject.Subject, dir string) (*explore.Totals, error) {
	o, err := ordered(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", OrderFolder, err)
	}
	if o.Attended {
		go func() {
			io.Copy(io.Discard, os.Stdin)
			os.Exit(check.ExitUnknown)
		}()
	}
	totals, t, err := measured(ctx, s, o)
	var a Answer
	if err != nil {
		a.Error = err.Error()
	} else {
		a.Trial = *t
	}
	if gave := a.Save(dir); gave != nil {
		return nil, gave
	}
	return totals, err
}

// measured makes one campaign and measures it.
func measured(ctx context.Context, s *subject.Subject, o *Order) (*explore.Totals, *Trial, error) {
	strategy, plan, lines, err := s.Strategy(o.Strategy, o.Seed)
	if err != nil {
		return nil, nil, err
	}
	if !o.Measure && !plan.WatchesModel() {
		s.Unguide() // a search does not pay for what it does not look at
	}
	m := &measure{on: o.Measure, next: 1}
	if o.Measure {
		m.lines = lines
		if m.lines == nil {
			m.lines, _ = counters.New() // without them the lines are not measured
		}
	}
	var found *explore.Failure
	c := &explore.Campaign{Setup: &explore.Setup{Spec: s.Spec}, Seed: o.Seed, Strategy: strategy, Runs: o.Runs, Timeout: time.Duration(o.TimeoutNs), Workers: 1,
		KeepGoing: o.Measure, Found: func(f *explore.Failure, _ *check.Judged) {
			if found == nil {
				found = f
			}
		}}
	c.Here = func(setup *explore.Setup, job *explore.Job, progress func(explore.Progress), interrupt <-chan struct{}) *explore.Reply {
		return m.run(s, setup, job, interrupt)
	}
	began := cpus.UsedHere()
	m.began = began
	totals := c.Run(ctx)
	t := &Trial{Strategy: o.Strategy, Seed: o.Seed, Runs: totals.Runs, WallNs: totals.WallNs,
		CPUNs: int64(cpus.UsedHere() - began), Mutations: totals.Search.Mutations, Guides: totals.Search.Guides}
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
		t.Story = smallest(ctx, s, found, o)
	}
	return totals, t, nil
}

// smallest is the schedule of the smallest run of a failure that is found soon; empty in a world without one.
func smallest(ctx context.Context, s *subject.Subject, f *explore.Failure, o *Order) string {
	small := shrink.Case{Tape: f.Tape}
	search := &shrink.Search{Spec: s.Spec, Workers: 1, MaxRuns: storyRuns, Try: s.Try(f.Signature)}
	if o.TimeoutNs > 0 {
		search.MaxTime = Overtime / 2
	}
	if made, err := search.Shrink(ctx, small); err == nil {
		small = made.Case
	}
	story, err := s.Story(small.Cut.Apply(s.Spec), small.Tape)
	if err != nil {
		return ""
	}
	return story
}

// measure collects the features that the runs of a trial have reached so far, and the points of its curve.
type measure struct {
	on     bool
	began  time.Duration
	lines  *counters.Reader
	next   uint64 // how many runs the next point of the curve has behind it
	points []Point
	seen   map[coverage.Domain]map[uint64]bool
	failed error
}

// measuredDomains are those that a trial counts; others are too many, or say little.
var measuredDomains = []coverage.Domain{coverage.ModelState, coverage.ModelWhole, coverage.ModelEdge, coverage.ModelGuard, coverage.Line}

// OfProject makes a trial of a project's campaign. It is incomplete if ctx ended it.
func OfProject(ctx context.Context, c *explore.Campaign, t Trial, measured bool) (done Trial, complete bool) {
	m := &measure{on: measured, next: 1}
	if measured {
		c.Setup.Measure, c.KeepGoing = measuredDomains, true
		c.Ran = func(r *explore.Ran) { m.addReached(r.Measured) }
		c.Finished = func(totals *explore.Totals) {
			if totals.Runs >= m.next {
				m.spent(totals)
			}
		}
	}
	before := cpus.UsedByChildren()
	totals := c.Run(ctx)
	t.Runs, t.WallNs, t.CPUNs, t.Mutations, t.Guides = totals.Runs, totals.WallNs, int64(cpus.UsedByChildren()-before),
		totals.Search.Mutations, totals.Search.Guides
	switch {
	case len(totals.Failures) > 0:
		t.Found, t.Property, t.Mutant = true, totals.Failures[0].Verdict.Property, totals.Failures[0].Origin.Parent != ""
	case totals.Stopped == explore.Interrupted:
		return t, false
	case totals.LostRuns > 0:
		t.Failed = fmt.Sprintf("%s was lost: %s", totals.Lost[0], totals.Lost[0].Reason)
	case totals.Unrepeatable > 0:
		t.Failed = fmt.Sprintf("%s is not reproducible: %s", totals.FirstUnrepeatable, totals.FirstUnrepeatable.Reason)
	case totals.Stopped == explore.TimedOut && totals.Runs < c.Runs:
		t.CutOff = true
	}
	if !t.Found {
		t.Unknown = totals.Doubts()
	}
	if measured {
		if k := len(m.points); totals.Runs > 0 && (k == 0 || m.points[k-1].Runs < totals.Runs) {
			m.spent(totals)
		}
		for i := range m.points { // worker processes report what they have computed when they end
			m.points[i].CPUNs = int64(float64(t.CPUNs) * float64(m.points[i].CPUNs) / float64(max(totals.RunWallNs, 1)))
		}
		t.Curve = m.points
	}
	return t, true
}

// spent adds a point to the curve of a project, with the real time of the runs so far in the place of CPU time.
func (m *measure) spent(totals *explore.Totals) {
	m.point(totals.Runs)
	p := &m.points[len(m.points)-1]
	p.CPUNs, p.Lines = totals.RunWallNs, 0
	for i := range totals.Code {
		p.Lines += totals.Code[i].Covered
	}
}

// run makes a run of a trial.
func (m *measure) run(s *subject.Subject, setup *explore.Setup, job *explore.Job, interrupt <-chan struct{}) *explore.Reply {
	job.Behaviour = job.Behaviour || m.on
	reply := s.Reply(setup, job, interrupt, func(out *check.Judged) { m.addReached(out.Reached) })
	if m.on && reply.Error == "" && job.ID+1 >= m.next {
		m.point(job.ID + 1)
	}
	return reply
}

func (m *measure) addReached(reached []coverage.Feature) {
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
	p := Point{Runs: runs, CPUNs: int64(cpus.UsedHere() - m.began), States: count(coverage.ModelState),
		Whole: count(coverage.ModelWhole), Edges: count(coverage.ModelEdge),
		Guards: count(coverage.ModelGuard), Lines: count(coverage.Line)}
	if p.Whole == 0 {
		p.Whole = p.States
	}
	m.points = append(m.points, p)
	m.next = max(runs+1, runs*6/5)
}
