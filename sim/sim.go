// Package sim tests worlds of package inproc, which simulate a distributed system inside one process: it runs each
// world with many tapes, thousands a second, and checks its properties.
//
//	func TestBank(t *testing.T) { sim.Test(t, bank) } // bank is a func(*inproc.World)
//
// If a run violates a property, the test fails. It shrinks the run, stores it in a file, and prints its story with the
// flags that replay it:
//
//	go test -run 'TestBank$' -sim.replay=3fa1c2d4e5f6
//	go test -run 'TestBank$' -sim.seed=8371
//
// A test replays its stored failures before each campaign, until you remove their files. It also fails if its runs do
// not show whether the properties hold, such as when no operation succeeded, if two runs of one tape differ, and if
// goroutines ran outside the world.
//
// docs/reference/inproc.md is the manual; examples/inprocess/bank is a larger example.
package sim

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/check/histories"
	"github.com/bloodhound-dst/bloodhound/internal/coverage/counters"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/inprocess"
	"github.com/bloodhound-dst/bloodhound/internal/engine/inprocess/points"
	"github.com/bloodhound-dst/bloodhound/internal/engine/inprocess/stray"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/explore/subject"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
	"github.com/bloodhound-dst/bloodhound/internal/shrink"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
	"github.com/bloodhound-dst/bloodhound/sim/inproc"
)

// Campaign configures the search of a world. Each zero field stands for its default. Flags of the test and environment
// variables override all fields.
type Campaign struct {
	Seed     uint64        // of the campaign; 1 by default
	Runs     uint64        // 1,000 by default, 100 with -short
	Time     time.Duration // the limit of real time; none by default
	Strategy string        // random (the default), coverage-guided, swarm, or one in docs/reference/exploration.md
	// KeepGoing continues the search after the first failure.
	KeepGoing bool
	// ShrinkRuns limits the runs that shrink a failure, 1,000 by default. A negative number means 0.
	ShrinkRuns int
	// Dir is the folder for failures. The default is .bloodhound/ and the name of the test, in the folder of the test.
	Dir string
	// Doubles is the number of tapes that are run twice before the campaign, to find code that is not reproducible. The
	// default is 3; a negative number means 0.
	Doubles int
	// Hang is the longest real time that a step of a node may take, 30 s by default. A longer step ends the program. A
	// step of a process lasts until its next wait, and a step of a machine is one call.
	Hang time.Duration
	// Workers is the number of runs at once, 1 by default. Use more only if the runs of the world share no variables
	// and no global source of random numbers.
	Workers int
}

// Defaults.
const (
	defaultRuns    = 1000
	shortRuns      = 100
	defaultShrinks = 1000
	defaultDoubles = 3
	defaultHang    = 30 * time.Second
	// divergeRuns is how many runs look for the first difference of a run that is not reproducible.
	divergeRuns = 20
)

// Flags of a test program. Environment variables replace them in a `go test ./...`, whose other packages do not know
// these flags.
const (
	flagSeed     = "sim.seed"
	flagCampaign = "sim.campaign"
	flagRuns     = "sim.runs"
	flagTime     = "sim.time"
	flagStrategy = "sim.strategy"
	flagReplay   = "sim.replay"
)

func init() {
	flag.String(flagSeed, "", "make one run, with this seed")
	flag.String(flagCampaign, "", "seed of campaigns")
	flag.String(flagRuns, "", "runs of a campaign")
	flag.String(flagTime, "", "limit of a campaign's real time, such as 10s")
	flag.String(flagStrategy, "", "search strategy: "+strings.Join(search.Names, ", ")+" and others of docs/reference/guides.md")
	flag.String(flagReplay, "", "replay a stored failure: its id or file")
}

// Environment variables that replace flags.
const (
	envSeed     = "BLOODHOUND_SEED"
	envCampaign = "BLOODHOUND_CAMPAIGN"
	envRuns     = "BLOODHOUND_RUNS"
	envTime     = "BLOODHOUND_TIME"
	envStrategy = "BLOODHOUND_STRATEGY"
	envReplay   = "BLOODHOUND_REPLAY"
	envState    = "BLOODHOUND_STATE"
	// Set by programs that run tests.
	envKeepGoing  = "BLOODHOUND_KEEP_GOING"
	envShrinkRuns = "BLOODHOUND_SHRINK_RUNS"
	envWorkers    = "BLOODHOUND_WORKERS"
	envResults    = "BLOODHOUND_RESULTS"
)

// setting returns the value of a flag, or else of an environment variable, and the name of the one that has it.
func setting(name, env string) (text, by string) {
	if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
		return f.Value.String(), "-" + name
	}
	return os.Getenv(env), env
}

func whole(text, by string) (uint64, error) {
	n, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		return 0, fmt.Errorf("%s is %q; give a whole number, 0 or more", by, text)
	}
	return n, nil
}

// Status is the verdict of a campaign.
type Status string

// Statuses, from best to worst.
const (
	Holds           Status = "holds"
	Unknown         Status = "unknown"          // the runs do not show whether all properties hold, or some failed to run
	NotReproducible Status = "not reproducible" // two runs of one tape differ, or goroutines ran outside the world
	Violated        Status = "violated"
)

// ExitCode returns the exit code of the command bloodhound for a status: 0, 5, 4 or 1.
func (s Status) ExitCode() int {
	switch s {
	case Holds:
		return check.ExitHolds
	case Violated:
		return check.ExitViolated
	case NotReproducible:
		return check.ExitNotReproducible
	}
	return check.ExitUnknown
}

// Result is the result of a campaign.
type Result struct {
	Status   Status
	Runs     uint64
	Failures []Failure
	text     string
}

// Text returns the story of each failure, and the summary.
func (r *Result) Text() string { return r.text }

// Failure is a violated property, and the smallest run that violates it in the same way.
type Failure struct {
	ID       string // of the failure: the same in every run that shows it
	RunID    string // of the run that found it
	File     string // where it is stored
	Run      uint64 // the number of the run that found it, from 0 on
	Property string
	Reason   string
	Headline string // what happened, in a line
	// Signature identifies the property and the cause of its violation. Failures with equal signatures are the same
	// failure.
	Signature string
	// Steps lists the choices of the smallest run, such as Deliver(n1, 9) . Crash(n1), in a world with a
	// [inproc.Schedule].
	Steps    string
	Smallest Size
	// Minimal reports that no single fault, decision, operation or node can be removed from the smallest run.
	Minimal bool
}

// Size is the size of a run.
type Size struct{ Nodes, Operations, Faults, Decisions int }

// result is the outcome of the campaign of a world.
type result struct {
	explore.Result
	failures []*report.Failure
	steps    []string // of the smallest run of each failure, as inprocess.World.Story has them
	text     strings.Builder
}

// public is the part of a result that users see.
func (r *result) public() *Result {
	p := &Result{Status: Unknown, text: r.text.String()}
	switch r.ExitCode {
	case check.ExitHolds:
		p.Status = Holds
	case check.ExitViolated:
		p.Status = Violated
	case check.ExitNotReproducible:
		p.Status = NotReproducible
	}
	if r.Totals != nil {
		p.Runs = r.Totals.Runs
	}
	for i, f := range r.failures {
		small := f.Small()
		one := Failure{ID: f.ID, RunID: f.RunID, Headline: f.Headline, File: r.Files[i], Run: r.Totals.Failures[i].Run, Property: f.Verdict.Property,
			Reason: small.Verdict.Reason, Signature: f.Signature, Steps: r.steps[i]}
		if f.Smallest != nil {
			to := f.Smallest.Shrunk.To
			one.Smallest, one.Minimal = Size{Nodes: to.Nodes, Operations: to.Operations, Faults: int(to.Faults),
				Decisions: to.Decisions}, f.Smallest.Shrunk.Minimal
		}
		p.Failures = append(p.Failures, one)
	}
	return p
}

// given returns the campaign with flags and environment variables applied.
func (c Campaign) given(short bool) (Campaign, error) {
	var err error
	if text, by := setting(flagCampaign, envCampaign); text != "" {
		if c.Seed, err = whole(text, by); err != nil {
			return c, err
		}
	}
	if text, by := setting(flagRuns, envRuns); text != "" {
		if c.Runs, err = whole(text, by); err != nil {
			return c, err
		}
		if c.Runs == 0 {
			return c, fmt.Errorf("%s is 0; give the number of runs, 1 or more", by)
		}
	}
	if text, by := setting(flagTime, envTime); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return c, fmt.Errorf("%s is %q; give a duration, such as 10s", by, text)
		}
		c.Time = d
	}
	if text, by := setting(flagStrategy, envStrategy); text != "" {
		if _, err := search.Parse(text); err != nil {
			return c, fmt.Errorf("%s: %w", by, err)
		}
		c.Strategy = text
	}
	c.KeepGoing = c.KeepGoing || os.Getenv(envKeepGoing) != ""
	for _, n := range []struct {
		to  *int
		env string
	}{{&c.ShrinkRuns, envShrinkRuns}, {&c.Workers, envWorkers}} {
		if text := os.Getenv(n.env); text != "" {
			k, err := strconv.Atoi(text)
			if err != nil {
				return c, fmt.Errorf("%s is %q, which is not a number", n.env, text)
			}
			*n.to = k
		}
	}
	if c.Seed == 0 {
		c.Seed = 1
	}
	if c.Runs == 0 && c.Time == 0 {
		if c.Runs = defaultRuns; short {
			c.Runs = shortRuns
		}
	}
	if c.ShrinkRuns == 0 {
		c.ShrinkRuns = defaultShrinks
	}
	if c.Doubles == 0 {
		c.Doubles = defaultDoubles
	}
	if c.Hang == 0 {
		c.Hang = defaultHang
	}
	return c, nil
}

// simulation is a world and its campaign.
type simulation struct {
	Campaign
	name   string
	engine inprocess.Engine
	quiet  inprocess.Engine
	spec   *world.Spec
	again  func(*report.Failure) string // the command that makes a run again
	// overlay is the file by which this program was built, for commands that build it again; empty if it was built as it stands.
	overlay string
	lines   *counters.Reader // of executed code, if the strategy learns from it
	stages  stages           // on which runs are made
	// suspects are runs that may have started goroutines outside the world.
	suspects suspects
	alone    string // the pattern of -run that selects this test alone; empty if there is none
	// schedules makes the schedules of the strategy enumerated, or is nil.
	schedules inprocess.Schedules
}

// Run searches a world in a program that is not a test. name replaces the name of the test. Errors are mistakes in the
// description or in settings.
func (c Campaign) Run(ctx context.Context, name string, describe func(*inproc.World)) (*Result, error) {
	r, err := c.run(ctx, name, describe)
	if err != nil {
		return nil, err
	}
	return r.public(), nil
}

func (c Campaign) run(ctx context.Context, name string, describe func(*inproc.World)) (*result, error) {
	c, err := c.given(false)
	if err != nil {
		return nil, err
	}
	s, err := c.open(name, describe)
	if err != nil {
		return nil, err
	}
	s.schedules = inprocess.SchedulesOf(ctx)
	defer s.stages.close()
	if own := subject.CampaignOf(ctx); own != nil {
		return s.replaced(ctx, own)
	}
	return s.campaign(ctx)
}

func (c Campaign) open(name string, describe func(*inproc.World)) (*simulation, error) {
	overlay, err := points.Check()
	if err != nil {
		return nil, err
	}
	e, err := inprocess.New(name, describe)
	if err != nil {
		return nil, err
	}
	s := &simulation{overlay: overlay, Campaign: c, name: name, engine: e, quiet: e.Quiet(), spec: e.Spec()}
	for i := range s.spec.Properties {
		if err := histories.Validate(&s.spec.Properties[i]); err != nil {
			return nil, fmt.Errorf("property %q: %w", s.spec.Properties[i].Name, err)
		}
	}
	if s.Dir == "" {
		state := os.Getenv(envState)
		if state == "" {
			state = ".bloodhound"
		}
		s.Dir = filepath.Join(state, strings.Map(func(r rune) rune {
			if strings.ContainsRune(`/\:*?"<>| `, r) {
				return '_'
			}
			return r
		}, name))
	}
	s.again = func(f *report.Failure) string { return "the file, by a test of the same world" }
	return s, nil
}

// play makes a run and judges it.
func (s *simulation) play(e engine.Engine, spec *world.Spec, t tape.Tape, o engine.Options) (out *check.Judged, story string, err error) {
	w := watch(s.Hang, func() { s.hang(t) })
	defer w.stopWatching()
	o.Pulse = &w.Pulse
	err = errGoexit
	s.stages.do(func() { // of which a function of the world may end the goroutine
		before := s.suspects.startMark()
		run, failed := runner.Boot(e, spec, t, o)
		if failed != nil {
			err = failed
			return
		}
		defer run.Close()
		if err = run.Advance(record.Position{}); err != nil {
			return
		}
		s.suspects.end(before, spec, t)
		story = run.World.(inprocess.World).Story()
		w.stopWatching() // to judge a run takes no step, and has limits of its own
		out = run.Judge()
		w.wake()
	})
	collected()
	return out, story, err
}

var errGoexit = errors.New("a function of the world ended its goroutine, by t.Fatal or runtime.Goexit; use Assert, an invariant, or panic")

// hang ends the program, since Go cannot end a goroutine that does not return.
func (s *simulation) hang(t tape.Tape) {
	b := make([]byte, 1<<20)
	b = b[:runtime.Stack(b, true)]
	panic(fmt.Sprintf("world %s: a node has not come back to the world for %s of real time, in the run of %s: it computes without "+
		"end, or waits for a lock or channel that no other node can release, since only one node runs at a time. All goroutines:\n%s",
		s.name, s.Hang, t.Name(), b))
}

// here makes the runs of a campaign.
func (s *simulation) here(setup *explore.Setup, job *explore.Job, _ func(explore.Progress), interrupt <-chan struct{}) *explore.Reply {
	return s.reply(setup, job, interrupt, nil)
}

// reply makes a run. It calls look with the result, if look is not nil.
func (s *simulation) reply(setup *explore.Setup, job *explore.Job, interrupt <-chan struct{}, look func(*check.Judged)) *explore.Reply {
	counted := s.lines != nil && setup.Learn
	return setup.Perform(job, engine.Options{Interrupt: interrupt}, func(spec *world.Spec, o engine.Options) (*check.Judged, error) {
		if counted {
			if err := s.lines.Clear(); err != nil {
				return nil, err
			}
		}
		out, _, err := s.play(s.quiet, spec, job.Tape, o)
		if err == nil && counted {
			err = s.counted(out)
		}
		if err == nil && look != nil {
			look(out)
		}
		return out, err
	})
}

// campaign searches the world.
func (s *simulation) campaign(ctx context.Context) (*result, error) {
	defer collectLess()()
	r := &result{Result: explore.Result{Name: s.name}}
	began := time.Now()
	within, cancel := ctx, func() {}
	if s.Time > 0 {
		within, cancel = context.WithTimeout(ctx, s.Time)
	}
	defer cancel()
	for i := range s.Doubles {
		t := search.RandomTape(s.Seed, uint64(i))
		before := stray.Now()
		d, err := s.diverge(within, t, 2)
		if err != nil {
			return nil, err
		}
		if before.Suspicious(stray.Now()) {
			s.suspects.add(s.spec, t)
		}
		if d != nil && d.Left {
			s.suspects.left = cmp.Or(s.suspects.left, d.Cause)
			continue
		}
		if d != nil {
			s.seek(ctx, 0)
			text, doubt := s.strays()
			r.diverged(d, t, cmp.Or(text, doubt))
			return r, nil
		}
	}
	left := s.Time
	if left > 0 {
		left = max(left-time.Since(began), time.Nanosecond)
	}
	strategy, _, err := s.strategy()
	if err != nil {
		return nil, err
	}
	type found struct {
		failure *explore.Failure
		outcome *check.Judged
	}
	var list []found
	c := &explore.Campaign{Test: s.testName(), Setup: &explore.Setup{Spec: s.spec}, Seed: s.Seed, Strategy: strategy,
		Runs: s.Runs, Timeout: left, Workers: max(s.Workers, 1),
		KeepGoing: s.KeepGoing, BaselineFirst: true, Here: s.here,
		Found: func(f *explore.Failure, o *check.Judged) {
			list = append(list, found{f, o})
		},
	}
	r.Totals = c.Run(ctx)
	for _, f := range list {
		s.found(ctx, r, f.failure, f.outcome)
	}
	if u := r.Totals.FirstUnrepeatable; u != nil {
		if d, err := s.diverge(ctx, u.Tape, divergeRuns); err == nil && d != nil {
			r.diverged(d, u.Tape, "")
		}
	}
	r.Status = r.Totals.Status(s.spec)
	s.seek(ctx, time.Since(began)/seekShare)
	s.strayed(r)
	r.ExitCode = r.Status.ExitCode()
	return r, report.Summary(&r.text, r.Totals, r.Status)
}

// diverge looks for the first difference between runs of a tape.
func (s *simulation) diverge(ctx context.Context, t tape.Tape, runs int) (*inprocess.Divergence, error) {
	w := watch(s.Hang, func() { s.hang(t) })
	defer w.stopWatching()
	return s.engine.Diverge(s.spec, t, runs, engine.Options{Interrupt: ctx.Done(), Pulse: &w.Pulse})
}

// diverged reports the first difference between runs of a tape, and the goroutines that may be its cause.
func (r *result) diverged(d *inprocess.Divergence, t tape.Tape, strays string) {
	r.Diverged, r.ExitCode = d.Error(), check.ExitNotReproducible
	r.Status.Unrepeatable = true
	if strays != "" {
		r.Diverged += "\n  " + strings.ReplaceAll(strays, "\n", "\n  ")
	}
	fmt.Fprintf(&r.text, "not reproducible: %s: %s\n\n", t.Name(), r.Diverged)
}

// testName is the stable name of the test, in a folder that several packages may share.
func (s *simulation) testName() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Path != "" {
		return info.Path + "/" + s.name
	}
	return s.name
}

// found shrinks a failure, stores it, and prints its story.
func (s *simulation) found(ctx context.Context, r *result, f *explore.Failure, o *check.Judged) {
	file := report.NewFailure(s.testName(), version, "", s.spec, o, f.Verdict)
	file.Origin, file.Background = &f.Origin, f.Background
	var notes []string
	if s.ShrinkRuns > 0 {
		search := &shrink.Search{Spec: s.spec, Workers: max(s.Workers, 1), MaxRuns: s.ShrinkRuns, Try: s.try(f.Signature)}
		if small, err := search.Shrink(ctx, shrink.Case{Tape: f.Tape}); err == nil {
			file.Shrink(small)
			f.Shrunk, f.Headline = &file.Smallest.Shrunk, file.Headline
		} else if !errors.Is(err, context.Canceled) {
			notes = append(notes, fmt.Sprintf("failure %s is not shrunk: %v", f.ID, err))
		}
	}
	path, err := report.Save(s.Dir, file)
	if err != nil {
		notes = append(notes, fmt.Sprintf("failure %s could not be stored: %v", f.ID, err))
		path = ""
	}
	r.failures, r.Files = append(r.failures, file), append(r.Files, path)
	steps, err := s.printStory(&r.text, file, path)
	r.steps = append(r.steps, steps)
	if err != nil {
		notes = append(notes, err.Error())
	}
	for _, n := range notes {
		fmt.Fprintf(&r.text, "note: %s\n", n)
	}
	r.text.WriteByte('\n')
}

// version is the version of failure files that a library writes, which does not know the version of the program.
const version = "sim"

// try makes runs for a shrink.
func (s *simulation) try(signature string) shrink.Try {
	return func(_ context.Context, c shrink.Case, _ bool) (*shrink.Run, error) {
		out, _, err := s.play(s.quiet, c.Cut.Apply(s.spec), c.Tape, engine.Options{})
		if err != nil {
			return nil, err
		}
		for _, v := range explore.Violated(out.Verdicts) {
			if v.Signature() == signature {
				return &shrink.Run{Same: out.Repeat.Reproducible, Outcome: out, Verdict: v}, nil
			}
		}
		return &shrink.Run{}, nil
	}
}

// printStory makes the smallest run of a failure again, with its logs, and prints its story.
func (s *simulation) printStory(w io.Writer, f *report.Failure, path string) (steps string, err error) {
	small := f.Small()
	out, steps, err := s.play(s.engine, small.Spec, small.Tape, engine.Options{})
	if err != nil {
		return "", err
	}
	of := report.StoryOf{Spec: small.Spec, Outcome: out, Verdict: small.Verdict, Failure: f.Failure, File: path, Replay: s.again(f), Background: f.Background}
	if f.Smallest != nil {
		of.Shrunk = &f.Smallest.Shrunk
	}
	if out.Hash != small.Hash {
		fmt.Fprintf(w, "note: this run differs from the one that was found: its trace hash is %s, not "+
			"%s\n\n", out.Hash, small.Hash)
		of.Shrunk = nil
	}
	if i := slices.IndexFunc(out.Verdicts, func(v check.Verdict) bool { return v.Status == check.Violated && v.Signature() == f.Signature }); i >= 0 {
		of.Verdict = out.Verdicts[i]
	}
	if err := report.Story(w, of); err != nil {
		return "", err
	}
	if steps != "" {
		fmt.Fprintf(w, "\nsteps\n  %s\n", steps)
	}
	return steps, nil
}
