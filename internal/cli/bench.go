package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/explore/contest"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/report"
)

// Defaults of bench strategies.
const (
	defaultTrials    = 20
	defaultTrialRuns = 500
	defaultJournal   = "bloodhound-bench.jsonl"
)

func (a *app) benchVerb() *cobra.Command {
	bench := &cobra.Command{
		Use:   "bench",
		Short: "Measure Bloodhound itself: bench strategies, bench guides",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("bench has no %q; there are bench strategies and bench guides", args[0])
			}
			return c.Help()
		},
	}
	b := &strategyBench{app: a, trials: defaultTrials, runs: defaultTrialRuns, journal: defaultJournal, first: defaultSeed, workers: 1}
	c := &cobra.Command{
		Use:   "strategies BUG...",
		Short: "Compare strategies: how soon each finds known bugs, each the folder or file of a project",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("name projects with a known violation: bloodhound bench strategies BUG...")
			}
			return noneEmpty(args)
		},
		RunE: b.run,
	}
	b.flags.document(c)
	c.Flags().Var(numberFlag{&b.trials, 1, 10_000, "give the number of trials, from 1 to 10000"}, "trials", "how many campaigns each strategy makes with each bug")
	c.Flags().Var(numberFlag{&b.runs, 1, math.MaxUint32, "give the number of runs, 1 or more"}, "runs", "how many runs a trial makes at most")
	c.Flags().Var(timeFlag{&b.timeout}, "timeout", "cut each trial off after this `time`; what it would have found is unknown then")
	c.Flags().Var(numberFlag{&b.first, 0, math.MaxUint64, "a seed is a whole number"}, "seed", "campaign `seed` of the first trial; the next trial has the next one")
	c.Flags().StringVar(&b.strategies, "strategies", "", "the `names` of the strategies, separated by commas; random is always among them (default: all)")
	c.Flags().Var(fileFlag{&b.journal}, "journal", "write each trial to this `file` as it ends")
	addSwitch(c, &b.resume, "resume", "go on with the journal")
	c.Flags().Var(numberFlag{&b.workers, 1, maxWorkers, "give the number of trials to make at once, 1 or more"}, "workers", "how many trials to make at once; each has one worker. Times are comparable only with one")
	bench.AddCommand(c, a.guidesVerb())
	return bench
}

// strategyBench is one use of bench strategies.
type strategyBench struct {
	*app
	flags      flags
	trials     uint64
	runs       uint64
	timeout    time.Duration
	first      uint64
	strategies string
	journal    string
	resume     bool
	workers    uint64
}

// benchDocument is the JSON document of bench strategies.
type benchDocument struct {
	Bloodhound string           `json:"bloodhound"`
	Verb       string           `json:"verb"`
	ExitCode   int              `json:"exit_code"`
	Settings   contest.Settings `json:"settings"`
	Rows       []contest.Row    `json:"rows"`
	Trials     []contest.Trial  `json:"trials"`
	Missing    int              `json:"missing"` // trials that were not made
	CutOff     int              `json:"cut_off"` // trials that the timeout ended before their last run
	Unknown    int              `json:"unknown"` // trials that found nothing, and could not judge all of their runs
}

// bug is a project with a known violation, ready for trials.
type bug struct {
	name     string
	project  *project
	session  *session
	programs *programs
}

func (b *strategyBench) run(c *cobra.Command, args []string) error {
	s := contest.Settings{Bloodhound: Version(), Machine: system(), Trials: b.trials, FirstSeed: b.first, Runs: b.runs, TimeoutNs: b.timeout.Nanoseconds()}
	if c.Flags().Changed("strategies") && strings.TrimSpace(b.strategies) == "" {
		return fmt.Errorf("--strategies names none; name some of %s, or leave it out for all", strings.Join(search.Names, ", "))
	}
	var err error
	if s.Strategies, err = named(b.strategies); err != nil {
		return err
	}
	bugs := map[string]*bug{}
	for _, name := range args {
		if bugs[name] != nil {
			return fmt.Errorf("%s is named twice", name)
		}
		one, err := b.open(c.Context(), name)
		if err != nil {
			return err
		}
		defer one.session.close()
		bugs[name] = one
		s.Bugs = append(s.Bugs, contest.Bug{Name: name, Spec: digest(one.project), Files: one.programs.within(one.project.spec.Dir)})
	}
	j, err := contest.Open(b.journal, &s, b.resume)
	if err != nil {
		return err
	}
	defer j.Close()
	if !b.flags.json {
		fmt.Fprint(b.out, report.ComparisonSettings(&s))
	}
	show := newProgress(b.err, false, b.flags.json)
	err = trials(c.Context(), &s, j, b.workers, show, func(ctx context.Context, t contest.Trial, cpu int) (contest.Trial, bool, error) {
		done, complete, err := b.trial(ctx, &s, bugs[t.Bug], t, cpu)
		if err == nil && complete {
			err = bugs[t.Bug].programs.changed()
		}
		return done, complete, err
	})
	show.end()
	doc := benchDocument{Bloodhound: Version(), Verb: c.Name(), Settings: s, Rows: contest.Rows(&s, j.Done), Trials: j.Done,
		Missing: len(contest.Missing(&s, j.Done))}
	for _, r := range doc.Rows {
		doc.CutOff += r.CutOff
	}
	doc.Unknown = len(trialsThat(j.Done, doubted))
	doc.ExitCode, err = benchCode(err, j.Done, doc.Missing+doc.CutOff+doc.Unknown)
	b.code = doc.ExitCode
	if b.flags.json {
		return errors.Join(b.printJSON(doc), err)
	}
	fmt.Fprint(b.out, report.Comparison(&s, doc.Rows))
	if doc.Missing > 0 {
		fmt.Fprintf(b.out, "\n%d trials were not made: go on with --resume\n", doc.Missing)
	}
	if doc.CutOff > 0 {
		fmt.Fprintf(b.out, "\n%d trials were cut off by --timeout %s before their last run: what they would have found is unknown; begin another comparison with more time or fewer --runs\n",
			doc.CutOff, b.timeout)
	}
	return err
}

// benchCode is how a comparison ends, of which so many trials are open, and the error that is told of it.
func benchCode(err error, done []contest.Trial, open int) (int, error) {
	var exit *exitError
	if err != nil && !errors.As(err, &exit) {
		err = failed(err)
	}
	switch {
	case err != nil:
		return codeOf(err), err
	case open > 0 || slices.ContainsFunc(done, func(t contest.Trial) bool { return t.Failed != "" }):
		return check.ExitUnknown, nil
	}
	return check.ExitHolds, nil
}

// named reads a list of strategies. Random tapes come first: all others are compared with them.
func named(text string) ([]string, error) {
	if text == "" {
		return search.Names, nil
	}
	list := []string{search.Random}
	for _, name := range strings.Split(text, ",") {
		if name = strings.TrimSpace(name); !slices.Contains(search.Names, name) {
			return nil, fmt.Errorf("--strategies: there is no strategy %q; there are %s", name, strings.Join(search.Names, ", "))
		}
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list, nil
}

// open makes a project ready.
func (b *strategyBench) open(ctx context.Context, name string) (*bug, error) {
	p, err := b.load(ctx, &b.flags, []string{name})
	if err != nil {
		return nil, err
	}
	if err := p.build(ctx, b.app); err != nil {
		return nil, err
	}
	s, err := p.open(b.journal)
	if err != nil {
		return nil, err
	}
	used, err := p.programs(ctx, s, b.first)
	if err != nil {
		s.close()
		return nil, err
	}
	return &bug{name, p, s, used}, nil
}

// digest names what a project's trials depend on besides its programs, wherever its folder lies.
func digest(p *project) string {
	x := &p.search
	sum := sha256.Sum256(fmt.Append(nil, worldDigest(p.spec), x.MaxDepth, x.MaxStates, x.PrioritizeCoverage, x.PrioritizeNearViolation))
	return hex.EncodeToString(sum[:8])
}

// trials makes those that a journal lacks, several at once.
func trials(ctx context.Context, s *contest.Settings, j *contest.Journal, workers uint64, show *progress,
	one func(ctx context.Context, t contest.Trial, cpu int) (done contest.Trial, complete bool, err error)) error {
	left := contest.Missing(s, j.Done)
	total := len(left) + len(j.Done)
	next := make(chan contest.Trial)
	var mu sync.Mutex
	var first error
	var all sync.WaitGroup
	for cpu := range int(workers) {
		all.Add(1)
		go func() {
			defer all.Done()
			for t := range next {
				done, complete, err := one(ctx, t, cpu)
				mu.Lock()
				if err == nil && complete {
					err = j.Add(done)
				}
				if first == nil {
					first = err
				}
				if err == nil && complete {
					show.note(fmt.Sprintf("%d of %d: %s", len(j.Done), total, report.TrialLine(&done)))
				}
				mu.Unlock()
			}
		}()
	}
	for _, t := range left {
		mu.Lock()
		over := first != nil
		mu.Unlock()
		if over || ctx.Err() != nil {
			break
		}
		next <- t
	}
	close(next)
	all.Wait()
	return first
}

// trial makes one campaign. It is incomplete if ctx ended it.
func (b *strategyBench) trial(ctx context.Context, s *contest.Settings, of *bug, t contest.Trial, cpu int) (done contest.Trial, complete bool, err error) {
	x := &of.project.search
	strategy, err := search.New(t.Strategy, of.project.spec, t.Seed, settingsOf(x))
	if err != nil {
		return t, false, err
	}
	c := &explore.Campaign{Setup: of.session.setup, Command: of.session.command, Seed: t.Seed, Strategy: strategy, Runs: s.Runs,
		Timeout: time.Duration(s.TimeoutNs), Workers: 1, FirstCPU: cpu}
	totals := c.Run(ctx)
	t.Runs, t.WallNs = totals.Runs, totals.WallNs
	switch {
	case len(totals.Failures) > 0:
		t.Found, t.Property = true, totals.Failures[0].Verdict.Property
	case totals.Stopped == explore.Interrupted:
		return t, false, nil
	case totals.LostRuns > 0:
		t.Failed = fmt.Sprintf("%s was lost: %s", totals.Lost[0], totals.Lost[0].Reason)
	case totals.Unrepeatable > 0:
		t.Failed = fmt.Sprintf("%s is not reproducible: %s", totals.FirstUnrepeatable, totals.FirstUnrepeatable.Reason)
	case totals.Stopped == explore.TimedOut && totals.Runs < s.Runs:
		t.CutOff = true
	}
	if !t.Found {
		t.Unknown = totals.Doubts()
	}
	return t, true, nil
}
