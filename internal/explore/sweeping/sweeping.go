// Package sweeping makes the runs of a sweep: it measures a run without faults, strikes at its moments, a second time in the recoveries, and
// confirms what does not recover. What it learns lies in a file, from which the next sweep of the same run goes on.
package sweeping

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/moments"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
	"github.com/bloodhound-dst/bloodhound/internal/sweep"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// mostMoments bounds the moments of a class that are asked of a run.
const mostMoments = moments.MaxSampled

// Sweep is a sweep of one run.
type Sweep struct {
	// Setup has the Spec of the project; its own faults are left out.
	Setup   *explore.Setup
	Command explore.Command
	Seed    uint64
	Kinds   []world.FaultKind
	// PerClass is how many moments of each class are struck.
	PerClass int
	Workers  int
	// CPU and Time bound the sweep; 0 is no bound.
	CPU, Time time.Duration
	// File keeps what the sweep has learned.
	File string

	// Planned is called when it is known which moments there are: at first, and when those of the recoveries are. Finished is called
	// after each run. They must not keep the Totals.
	Planned, Finished func(*Totals)
	// Store keeps a confirmed finding as a failure of a Spec.
	Store func(f *Finding, spec *world.Spec, out *check.Judged, v check.Verdict) failure.Failure
	Note  func(string)

	layout *sweep.Layout
	state  *state
	pool   *explore.Pool
	ctx    context.Context // ends with the bounds

	baseline string // what names the run without faults
	mu       sync.Mutex
	totals   *Totals
	known    map[string]*Finding // by class and signature
}

// Totals are the result of a sweep.
type Totals struct {
	Seed     uint64            `json:"seed"`
	Kinds    []world.FaultKind `json:"kinds"`
	PerClass int               `json:"per_class"`
	Baseline Baseline          `json:"baseline"`
	// Classes are those of the moments, each with what came of them.
	Classes []Class `json:"classes"`
	// Moments is how many strikes there are to be tried, Swept how many were, and Resumed how many of these an earlier sweep has tried.
	Moments int `json:"moments"`
	Swept   int `json:"swept"`
	Resumed int `json:"resumed"`
	// Recoveries is how many of Moments are second strikes, during a recovery.
	Recoveries int `json:"recoveries"`
	// EstimateNs is the CPU time that Moments were expected to take, by the run without faults.
	EstimateNs int64       `json:"estimate_ns"`
	CPU        explore.CPU `json:"cpu"` // of all runs
	Runs       uint64      `json:"runs"`
	WallNs     int64       `json:"wall_ns"`
	// Missed counts strikes that were not delivered, and Lost runs that the engine or the machine failed.
	Missed   int        `json:"missed,omitempty"`
	Lost     []string   `json:"lost,omitempty"`
	Findings []*Finding `json:"findings"`
	// Stopped is why not all moments were tried.
	Stopped string `json:"stopped,omitempty"`
	// Warnings say why the sweep sees less than it could.
	Warnings []string `json:"warnings,omitempty"`
}

// Baseline is the run without faults.
type Baseline struct {
	Hash      string `json:"hash"`
	Events    uint64 `json:"events"`
	VirtualNs int64  `json:"virtual_ns"`
	CPUNs     int64  `json:"cpu_ns"`
	// Unknown are properties that it could not judge, with reasons.
	Unknown []string `json:"unknown,omitempty"`
}

// Class are the moments of a class.
type Class struct {
	Name string `json:"name"`
	moments.Class
	Kind     world.FaultKind `json:"kind"`
	When     world.Moment    `json:"when"`
	Second   bool            `json:"second,omitempty"` // strikes during a recovery
	Count    uint64          `json:"count,omitempty"`  // in the run without faults
	Moments  int             `json:"moments"`          // to be tried
	Swept    int             `json:"swept"`
	Violated int             `json:"violated"`
}

// Finding is something that does not recover.
type Finding struct {
	Class string `json:"class"`
	// Failure has an ID, and a run, once it is confirmed.
	failure.Failure
	Reason string `json:"reason"`
	sweep.Candidate
	// Times is at how many moments of the class it was seen.
	Times int `json:"times"`
	// Rules make the strikes alone, in the words of a configuration.
	Rules []string `json:"rules"`
	// Replays says that a run from its boot with these rules shows it, twice with the same trace hash. If not, Why tells.
	Replays bool   `json:"replays"`
	Why     string `json:"why,omitempty"`
	Hash    string `json:"hash,omitempty"`
	// Restart says whether it remained when the node was restarted in order afterwards.
	Restart Restart `json:"restart"`
}

// Restart says whether a finding remains after another clean restart.
type Restart string

const (
	Stays    Restart = "stays"
	Goes     Restart = "goes"     // it is less severe
	Untested Restart = "untested" // the run ended before the node could be restarted
)

// ErrViolated means that the run without faults has a violation.
type ErrViolated struct{ Verdicts []check.Verdict }

// Only reports whether nothing but properties of some names is violated.
func (e *ErrViolated) Only(names ...string) bool {
	return !slices.ContainsFunc(e.Verdicts, func(v check.Verdict) bool { return !slices.Contains(names, v.Property) })
}

// Violates reports whether the property of a name is violated.
func (e *ErrViolated) Violates(name string) bool {
	return slices.ContainsFunc(e.Verdicts, func(v check.Verdict) bool { return v.Property == name })
}

func (e *ErrViolated) Error() string {
	v := &e.Verdicts[len(e.Verdicts)-1] // those of all programs come last, and are causes of others
	return fmt.Sprintf("the run without faults violates %s already: %s", v.Property, v.Reason)
}

// ErrVaries means that the run without faults is not the same each time.
type ErrVaries struct{ Why string }

func (e *ErrVaries) Error() string {
	return "the run without faults does not repeat, so its moments cannot be found again: " + e.Why
}

// ErrNothing means that there is nothing to sweep.
type ErrNothing struct{ Why string }

func (e *ErrNothing) Error() string { return "there is nothing to sweep: " + e.Why }

// Run makes the sweep, until it is done, its bounds are reached or ctx ends.
func (s *Sweep) Run(ctx context.Context) (*Totals, error) {
	began := time.Now()
	s.totals = &Totals{Seed: s.Seed, Kinds: s.Kinds, PerClass: s.PerClass, Findings: []*Finding{}, Classes: []Class{}}
	s.known = map[string]*Finding{}
	bounded, cancel := context.WithCancel(ctx)
	if s.Time > 0 {
		cancel()
		bounded, cancel = context.WithTimeout(ctx, s.Time)
	}
	defer cancel()
	s.ctx = bounded
	err := s.run()
	t := s.totals
	t.WallNs = time.Since(began).Nanoseconds()
	slices.SortStableFunc(t.Findings, compareFindings)
	switch {
	case ctx.Err() != nil:
		t.Stopped = "it was interrupted"
	case bounded.Err() != nil:
		t.Stopped = fmt.Sprintf("the time of %s was used up", s.Time)
	case s.exhausted():
		t.Stopped = fmt.Sprintf("the CPU time of %s was used up", s.CPU)
	}
	if t.Stopped != "" {
		err = nil
	}
	return t, err
}

func (s *Sweep) run() (err error) {
	if s.layout, err = sweep.NewLayout(s.Setup.Spec, s.Kinds); err != nil {
		return &ErrNothing{err.Error()}
	}
	setup := *s.Setup
	setup.Spec = s.layout.Spec
	s.pool = explore.NewPool(&setup, s.Command, s.Workers)
	defer s.pool.Close()
	series, err := s.measure()
	if err != nil {
		return err
	}
	if s.state, err = openState(s.File, s.baseline); err != nil {
		return err
	}
	defer s.state.close()
	first := sweep.First(series, s.Kinds, s.PerClass)
	for i := range first {
		s.totals.class(&first[i], series)
	}
	s.plan(first)
	results, err := s.strike(first)
	if err != nil || s.over() {
		return err
	}
	var recoveries []sweep.Recovery
	for i := range first {
		if r := results[i]; r != nil && len(r.Recovery) > 0 {
			recoveries = append(recoveries, sweep.Recovery{Candidate: first[i], Series: r.Recovery})
		}
	}
	second := sweep.Second(recoveries, s.PerClass)
	for i := range second {
		s.totals.class(&second[i], nil)
	}
	s.totals.Recoveries = len(second)
	s.plan(second)
	_, err = s.strike(second)
	return err
}

// measure makes the run without faults.
func (s *Sweep) measure() ([]sweep.Series, error) {
	job := &explore.Job{Request: runner.Play(s.layout.Tape(s.Seed)), Moments: true, Sweep: &sweep.Question{Most: mostMoments}, Full: true}
	job.Along = true
	reply, err := s.pool.Do(s.ctx, job)
	if err != nil {
		return nil, err
	}
	s.baseline = baselineKey(reply)
	s.spent(reply)
	b := reply.Summary
	s.totals.Baseline = Baseline{Hash: b.Hash, Events: b.Events, VirtualNs: b.VirtualNs, CPUNs: reply.CPU.Ns()}
	if b.Repeat.Failed() || b.Repeat.Once {
		return nil, &ErrVaries{b.Repeat.Reason}
	}
	if v := explore.Violated(b.Verdicts); len(v) > 0 {
		return nil, &ErrViolated{v}
	}
	for _, v := range b.Verdicts {
		if v.Status == check.Unknown {
			s.totals.Baseline.Unknown = append(s.totals.Baseline.Unknown, v.Property+": "+v.Reason)
		}
	}
	if len(reply.Sweep) == 0 {
		return nil, &ErrNothing{"the run without faults has no moment at which a fault could strike, from the end of setup to the end of its workload"}
	}
	return reply.Sweep, nil
}

// baselineKey names a run without faults: by what happened in it, and by the files that it read, which may matter only after a fault.
func baselineKey(r *explore.Reply) string {
	files, err := json.Marshal(r.Outcome.Files)
	if err != nil {
		panic("sweeping: " + err.Error()) // plain data
	}
	sum := sha256.Sum256(append([]byte(r.Summary.Hash), files...))
	return hex.EncodeToString(sum[:16])
}

// plan adds candidates to what is to be done.
func (s *Sweep) plan(list []sweep.Candidate) {
	t := s.totals
	t.Moments += len(list)
	for i := range list {
		if s.state.results[list[i].Key()] == nil {
			t.EstimateNs += s.costNs(list[i].Last())
		}
	}
	if s.Planned != nil {
		s.Planned(t)
	}
}

// copyNs is about what beginning a run at a snapshot takes.
const copyNs = 15e6

// costNs estimates what a run takes: as much as the runs so far, or, before the first one, what is left of the run without faults after the
// strike.
func (s *Sweep) costNs(last *sweep.Strike) int64 {
	b := &s.totals.Baseline
	if n := int64(s.totals.Runs) - 1; n > 0 {
		return (s.totals.CPU.Ns() - b.CPUNs) / n
	}
	left := max(float64(b.VirtualNs-last.TimeNs)/float64(max(b.VirtualNs, 1)), 0)
	return copyNs + int64(left*float64(b.CPUNs))
}

// class finds the class of a candidate, or adds it, and counts one more moment.
func (t *Totals) class(c *sweep.Candidate, series []sweep.Series) {
	name := c.Class()
	i := slices.IndexFunc(t.Classes, func(x Class) bool { return x.Name == name })
	if i < 0 {
		last := c.Last()
		i = len(t.Classes)
		t.Classes = append(t.Classes, Class{Name: name, Class: last.Class, Kind: last.Kind, When: last.When, Second: len(c.Strikes) > 1})
		if k := slices.IndexFunc(series, func(x sweep.Series) bool { return x.Class == last.Class }); k >= 0 {
			t.Classes[i].Count = series[k].Count
		}
	}
	t.Classes[i].Moments++
}

// line is the candidates of a stage: workers make their runs in any order, and what they find is looked at in the order of the line, so that
// findings do not depend on which run ended first.
type line struct {
	list    []sweep.Candidate
	results []*outcome
	resumed []bool
	ended   []bool
	next    int // to be run
	looked  int // behind the last one whose result was looked at
	looking bool
}

// strike makes the runs of candidates, several at once, and confirms what they find.
func (s *Sweep) strike(list []sweep.Candidate) ([]*outcome, error) {
	l := &line{list: list, results: make([]*outcome, len(list)), resumed: make([]bool, len(list)), ended: make([]bool, len(list))}
	errs := make([]error, max(s.Workers, 1))
	var workers sync.WaitGroup
	for w := range errs {
		workers.Go(func() {
			for errs[w] == nil {
				i := s.takeCandidate(l)
				if i < 0 {
					return
				}
				result, resumed, err := s.try(&list[i])
				s.mu.Lock()
				l.results[i], l.resumed[i], l.ended[i] = result, resumed, true
				s.mu.Unlock()
				errs[w] = errors.Join(err, s.look(l))
			}
		})
	}
	workers.Wait()
	return l.results, errors.Join(errs...)
}

// takeCandidate returns the index of the next candidate to run, -1 if there is none.
func (s *Sweep) takeCandidate(l *line) int {
	if s.over() {
		return -1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.next == len(l.list) {
		return -1
	}
	l.next++
	return l.next - 1
}

// look looks at the results that are due, unless another worker does.
func (s *Sweep) look(l *line) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.looking {
		return nil
	}
	l.looking = true
	defer func() { l.looking = false }()
	for l.looked < len(l.list) && l.ended[l.looked] {
		i := l.looked
		l.looked++
		r := l.results[i]
		if r == nil {
			continue
		}
		s.mu.Unlock()
		err := s.found(&l.list[i], r, l.resumed[i])
		s.mu.Lock()
		if err != nil {
			return err
		}
	}
	return nil
}

// found takes in what the run of a candidate has shown.
func (s *Sweep) found(c *sweep.Candidate, r *outcome, resumed bool) error {
	for i := range r.Violations {
		if err := s.find(c, &r.Violations[i]); err != nil {
			return err
		}
	}
	s.count(c, r, resumed)
	return nil
}

// over reports whether the sweep is to make no more runs.
func (s *Sweep) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ctx.Err() != nil || s.exhausted() || len(s.totals.Lost) >= explore.MaxConsecutiveLost && s.totals.Swept == 0
}

func (s *Sweep) exhausted() bool { return s.CPU > 0 && time.Duration(s.totals.CPU.Ns()) >= s.CPU }

func (s *Sweep) spent(r *explore.Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.totals.CPU.Add(r.CPU)
	s.totals.Runs++
}

// try makes the run of a candidate, or takes what an earlier sweep has learned. It gives nothing if the run was lost or cut short.
func (s *Sweep) try(c *sweep.Candidate) (r *outcome, resumed bool, err error) {
	if r := s.state.result(c); r != nil {
		return r, true, nil
	}
	job := &explore.Job{Request: runner.Request{Candidate: search.Candidate{Tape: s.layout.Tape(s.Seed, c.Strikes...), PartNs: c.Last().TimeNs}}}
	if len(c.Strikes) == 1 {
		job.Moments, job.Sweep = true, &sweep.Question{Node: c.Last().Node, Phase: moments.Recovery, Most: s.PerClass}
	}
	reply, err := s.pool.Do(s.ctx, job)
	switch {
	case s.ctx.Err() != nil:
		return nil, false, nil
	case err != nil:
		s.lose(c, err)
		return nil, false, nil
	}
	s.spent(reply)
	r = outcomeOf(c, reply)
	return r, false, s.state.add(stateLine{Candidate: c, Outcome: r})
}

func (s *Sweep) lose(c *sweep.Candidate, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := c.Class() + ": " + err.Error()
	s.totals.Lost = append(s.totals.Lost, text)
	if s.Note != nil {
		s.Note("a run is lost: " + text)
	}
}

func (s *Sweep) count(c *sweep.Candidate, r *outcome, resumed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.totals
	t.Swept++
	if resumed {
		t.Resumed++
	}
	if r.Missed {
		t.Missed++
	}
	name := c.Class()
	for i := range t.Classes {
		if x := &t.Classes[i]; x.Name == name {
			x.Swept++
			if len(r.Violations) > 0 {
				x.Violated++
			}
		}
	}
	if s.Finished != nil {
		s.Finished(t)
	}
}

// outcomeOf keeps of a run what the sweep needs.
func outcomeOf(c *sweep.Candidate, reply *explore.Reply) *outcome {
	r := &outcome{Hash: reply.Summary.Hash, CPUNs: reply.CPU.Ns(), Recovery: reply.Sweep}
	delivered := uint64(0)
	for _, e := range reply.Summary.Faults {
		delivered += e.Delivered
	}
	r.Missed = delivered < uint64(len(c.Strikes))
	for _, v := range explore.Violated(reply.Summary.Verdicts) {
		r.Violations = append(r.Violations, violation{v.Signature(), v.Property, v.Reason})
	}
	return r
}

// find counts a violation, and confirms it if it is the first of its class with its signature. One worker at a time calls it.
func (s *Sweep) find(c *sweep.Candidate, v *violation) error {
	f := &Finding{Class: c.Class(), Failure: failure.Failure{Property: v.Property, Signature: v.Signature, Headline: failure.Headline(v.Reason)},
		Reason: v.Reason, Candidate: *c}
	key := f.key()
	if known := s.known[key]; known != nil {
		known.Times++
		return nil
	}
	if earlier := s.state.finding(key); earlier != nil {
		f = earlier
	} else {
		if err := s.confirm(f); err != nil {
			return err
		}
		if s.ctx.Err() != nil { // what is half done is done again by the next sweep
			return nil
		}
		if err := s.state.add(stateLine{Finding: f}); err != nil {
			return err
		}
	}
	f.Times++
	s.known[key] = f
	s.mu.Lock()
	defer s.mu.Unlock()
	s.totals.Findings = append(s.totals.Findings, f)
	return nil
}

// alone makes a run of another Spec than the sweep's, from its boot.
func (s *Sweep) alone(spec *world.Spec, job *explore.Job) (*explore.Reply, error) {
	setup := *s.Setup
	setup.Spec = spec
	pool := explore.NewPool(&setup, s.Command, 1)
	defer pool.Close()
	own := *job
	own.FromBoot, own.Full = true, true
	reply, err := pool.Do(s.ctx, &own)
	if err == nil {
		s.spent(reply)
	}
	return reply, err
}

// specWith returns the Spec of the sweep with these rules in place of its own.
func (s *Sweep) specWith(rules ...world.FaultRule) *world.Spec {
	spec := *s.layout.Spec
	spec.Faults.Rules = rules
	return &spec
}

// confirm makes a finding an ordinary failure: rules that strike by themselves, in runs from their boot, which repeat. Then it restarts the
// node once more.
func (s *Sweep) confirm(f *Finding) error {
	rules, t, err := s.rules(f.Strikes)
	if err != nil {
		return s.unconfirmed(f, err)
	}
	for i := range rules {
		f.Rules = append(f.Rules, fault.Sentence(&rules[i]))
	}
	spec := s.specWith(rules...)
	first, err := s.alone(spec, &explore.Job{Request: runner.Play(t)})
	if err != nil {
		return s.unconfirmed(f, err)
	}
	v := explore.Shown(first.Summary.Verdicts, f.Signature)
	if v == nil {
		return s.unconfirmed(f, errors.New("a run with only these rules does not fail"))
	}
	second, err := s.alone(spec, &explore.Job{Request: runner.Play(t)})
	if err != nil {
		return s.unconfirmed(f, err)
	}
	if d := explore.Differs(first.Summary, second.Summary); d != "" {
		return s.unconfirmed(f, errors.New("its replay differs: "+d))
	}
	f.Replays, f.Hash, f.Reason = true, first.Summary.Hash, v.Reason
	if f.Restart, err = s.restarted(f, rules, t, first.Outcome); err != nil {
		return s.unconfirmed(f, err)
	}
	f.Failure = s.Store(f, spec, first.Outcome, *v)
	return nil
}

func (s *Sweep) unconfirmed(f *Finding, err error) error {
	f.Why = err.Error()
	f.Restart = Untested
	return nil
}

// rules are those that make some strikes alone, with the tape that chooses the parts of waits.
func (s *Sweep) rules(strikes []sweep.Strike) (rules []world.FaultRule, t tape.Tape, err error) {
	t.Seed = s.Seed
	for i := range strikes {
		strike := &strikes[i]
		// The number of the call is found by a scale, in a run that ends behind the call.
		scale := s.specWith(append(slices.Clone(rules), strike.Rule(0))...)
		reply, err := s.alone(scale, &explore.Job{Request: runner.Request{Candidate: search.Candidate{Tape: t}, Until: strike.Event + 1}})
		if err != nil {
			return nil, t, err
		}
		nth, err := sweep.NumberOf(scale, strike, reply.Outcome.Decisions, reply.Outcome.DecisionsNs)
		if err != nil {
			return nil, t, err
		}
		rules = append(rules, strike.Rule(nth))
		if t, err = sweep.Parts(s.specWith(rules...), strikes[:i+1], t.Seed); err != nil {
			return nil, t, err
		}
	}
	return rules, t, nil
}

// A clean restart comes soon after the last strike: when the node has run for a while, or, if it does not run, some time later.
const (
	restartNs   = 200e6
	settledS    = 0.5
	notRunningS = 1.5
)

// restarted restarts the node of a finding in order once more, and tells whether the finding stays.
func (s *Sweep) restarted(f *Finding, rules []world.FaultRule, t tape.Tape, out *check.Judged) (Restart, error) {
	last := f.Last()
	downEnds := float64(last.TimeNs-out.ChaosNs)/1e9 + sweep.DownS
	again := world.FaultRule{Kind: fault.Restart, RatePPM: tape.Certain, Targets: []string{last.Node}, Max: 1, MinNs: restartNs, MaxNs: restartNs,
		When: fmt.Sprintf("time_s >= %.3f and (up_s >= %g or time_s >= %.3f)", downEnds, settledS, downEnds+notRunningS)}
	reply, err := s.alone(s.specWith(append(slices.Clone(rules), again)...), &explore.Job{Request: runner.Play(t)})
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(reply.Outcome.Ledger.Injections, func(x fault.Injection) bool { return x.Kind == fault.Restart })
	if i < 0 {
		return Untested, nil
	}
	atNs := reply.Outcome.Ledger.Injections[i].StartNs
	stays := slices.ContainsFunc(explore.Violated(reply.Summary.Verdicts), func(v check.Verdict) bool { return v.Property == f.Property })
	ofCrash := slices.ContainsFunc(out.Crashes, func(c record.Crash) bool { return c.Event == crashEvent(out, f.Signature) })
	switch {
	case !stays:
		return Goes, nil
	case ofCrash && !slices.ContainsFunc(reply.Outcome.Crashes, func(c record.Crash) bool { return c.Node == last.Node && c.TimeNs > atNs }):
		return Goes, nil // its crash was before the restart
	}
	return Stays, nil
}

// crashEvent is the event at which a run shows a signature.
func crashEvent(out *check.Judged, signature string) uint64 {
	if v := explore.Shown(out.Verdicts, signature); v != nil {
		return v.Event
	}
	return 0
}
