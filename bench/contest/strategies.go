package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/bench/contest/comparison"
	"github.com/bloodhound-dst/bloodhound/bench/contest/trial"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/program"
)

// strategiesDocument is the JSON document of a comparison of strategies.
type strategiesDocument struct {
	Bloodhound string              `json:"bloodhound"`
	Verb       string              `json:"verb"`
	ExitCode   int                 `json:"exit_code"`
	Settings   comparison.Settings `json:"settings"`
	Rows       []comparison.Row    `json:"rows"`
	Trials     []trial.Trial       `json:"trials"`
	Missing    int                 `json:"missing"` // trials that were not made
	CutOff     int                 `json:"cut_off"` // trials that the timeout ended before their last run
	Unknown    int                 `json:"unknown"` // trials that found nothing, and could not judge all of their runs
}

// strategyContest is one comparison of strategies.
type strategyContest struct {
	*app
	trials, runs, first uint64
	timeout             time.Duration
	names               string
	table               bool
}

func (a *app) strategies() *cobra.Command {
	b := &strategyContest{app: a}
	c := &cobra.Command{
		Use:   "strategies BUG...",
		Short: "Compare how soon strategies find known bugs, each the folder or file of a project",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || slices.Contains(args, "") {
				return errors.New("name projects with a known violation: contest strategies BUG...")
			}
			return nil
		},
		RunE: b.run,
	}
	a.flags(c, "bloodhound-bench.jsonl")
	c.Flags().Uint64Var(&b.trials, "trials", 20, "how many campaigns each strategy makes with each bug")
	c.Flags().Uint64Var(&b.runs, "runs", 500, "how many runs a trial makes at most")
	c.Flags().DurationVar(&b.timeout, "timeout", 0, "cut each trial off after this `time`; what it would have found is unknown then")
	c.Flags().Uint64Var(&b.first, "seed", 1, "campaign `seed` of the first trial; the next trial has the next one")
	c.Flags().BoolVar(&b.table, "table", false, "print the medians as a table in Markdown, too")
	c.Flags().StringVar(&b.names, "strategies", "", "the `names` of the strategies, separated by commas; random is always among them (default: all)")
	return c
}

func (b *strategyContest) run(c *cobra.Command, args []string) error {
	s := comparison.Settings{Bloodhound: program.Version(), Machine: program.System(), Trials: b.trials, FirstSeed: b.first, Runs: b.runs,
		TimeoutNs: b.timeout.Nanoseconds()}
	if c.Flags().Changed("strategies") && strings.TrimSpace(b.names) == "" {
		return fmt.Errorf("--strategies names none; name some of %s, or leave it out for all", strings.Join(search.Names, ", "))
	}
	err := errors.Join(within("trials", b.trials, 1, 10_000), within("runs", b.runs, 1, math.MaxUint32), within("workers", b.workers, 1, maxWorkers))
	if err != nil {
		return err
	}
	if s.Strategies, err = named(b.names); err != nil {
		return err
	}
	notes := b.err
	if b.asJSON {
		notes = io.Discard
	}
	bugs := map[string]*subject{}
	for _, name := range args {
		if bugs[name] != nil {
			return fmt.Errorf("%s is named twice", name)
		}
		one, err := openSubject(c.Context(), notes, name, b.journal, b.first)
		if err != nil {
			return err
		}
		defer one.close()
		bugs[name] = one
		s.Bugs = append(s.Bugs, comparison.Bug{Name: name, Spec: one.digest(), Files: one.within()})
	}
	j, err := comparison.Open(b.journal, &s, b.resume)
	if err != nil {
		return err
	}
	defer j.Close()
	if !b.asJSON {
		fmt.Fprint(b.out, settingsText(&s))
	}
	err = b.makeTrials(c.Context(), &s, j, func(ctx context.Context, t trial.Trial) (trial.Trial, bool, error) {
		done, complete, err := makeTrial(ctx, &s, bugs[t.Bug], t)
		if err == nil && complete {
			err = bugs[t.Bug].changed()
		}
		return done, complete, err
	})
	doc := strategiesDocument{Bloodhound: program.Version(), Verb: c.Name(), Settings: s, Rows: comparison.Rows(&s, j.Done), Trials: j.Done,
		Missing: len(comparison.Missing(&s, j.Done))}
	for _, r := range doc.Rows {
		doc.CutOff += r.CutOff
	}
	doc.Unknown = len(trialsThat(j.Done, unresolved))
	doc.ExitCode, err = exitCode(err, j.Done, doc.Missing+doc.CutOff+doc.Unknown)
	b.code = doc.ExitCode
	if b.asJSON {
		return errors.Join(b.printJSON(doc), err)
	}
	fmt.Fprint(b.out, comparisonText(&s, doc.Rows))
	if b.table {
		fmt.Fprint(b.out, "\n", tableText(&s, doc.Rows))
	}
	if doc.Missing > 0 {
		fmt.Fprintf(b.out, "\n%d trials were not made: go on with --resume\n", doc.Missing)
	}
	if doc.CutOff > 0 {
		fmt.Fprintf(b.out, "\n%d trials were cut off by --timeout %s before their last run: what they would have found is "+
			"unknown; begin another comparison with more time or fewer --runs\n",
			doc.CutOff, b.timeout)
	}
	return err
}

// named reads a list of strategies. Random tapes come first: all others are compared with them.
func named(text string) ([]string, error) {
	if text == "" {
		return search.Names, nil
	}
	list := []string{search.Random}
	for _, name := range strings.Split(text, ",") {
		name = strings.TrimSpace(name)
		if _, err := search.Parse(name); err != nil {
			return nil, fmt.Errorf("--strategies: %w", err)
		}
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list, nil
}

// makeTrial makes one campaign. It is incomplete if ctx ended it.
func makeTrial(ctx context.Context, s *comparison.Settings, of *subject, t trial.Trial) (done trial.Trial, complete bool, err error) {
	c, err := of.campaign(t.Strategy, t.Seed)
	if err != nil {
		return t, false, err
	}
	c.Runs, c.Timeout = s.Runs, time.Duration(s.TimeoutNs)
	done, complete = trial.OfProject(ctx, c, t, false)
	return done, complete, nil
}
