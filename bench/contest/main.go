// Command contest compares strategies and what leads them, by many campaigns each. `make contest` builds it:
//
//	bin/contest strategies BUG...      # how soon each strategy finds known bugs; each BUG is the folder or file of a project
//	bin/contest versions BUG...        # how soon two builds of bloodhound find them
//	bin/contest guides FILE            # what leads a search of worlds inside one process: time to known bugs, and what is reached
//
// bench/CONTEST.md has the flags, the form of FILE and the tables. Exit codes are those of bloodhound.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/bench/contest/comparison"
	"github.com/bloodhound-dst/bloodhound/bench/contest/trial"
	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli"
	"github.com/bloodhound-dst/bloodhound/internal/printable"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/report"
)

func main() { os.Exit(start(os.Args[1:], os.Stdout, os.Stderr)) }

// start does what the arguments ask for and returns the exit code. Workers, drivers and probes of its runs are this program with arguments of the command line.
func start(args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && !slices.Contains([]string{"strategies", "versions", "guides", "help", "--help", "-h"}, args[0]) {
		return cli.Main(args, stdout, stderr)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	a := &app{out: &printable.Writer{To: stdout}, json: stdout, err: stderr}
	root := &cobra.Command{Use: "contest", Short: "Compare strategies, and what leads them", SilenceUsage: true, SilenceErrors: true}
	root.SetArgs(args)
	root.SetOut(a.out)
	root.SetErr(stderr)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(a.strategies(), a.versions(), a.guides())
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintf(stderr, "contest: %s\n", report.Printable(err.Error()))
		return program.CodeOf(err)
	}
	return a.code
}

// app is one use of the program.
type app struct {
	out, json, err io.Writer
	code           int

	journal string
	resume  bool
	workers uint64
	asJSON  bool
	noting  sync.Mutex
}

// maxWorkers bounds the trials that are made at once.
const maxWorkers = 256

// flags are those that both comparisons have.
func (a *app) flags(c *cobra.Command, journal string) {
	c.Flags().StringVar(&a.journal, "journal", journal, "write each trial to this `file` as it ends")
	c.Flags().BoolVar(&a.resume, "resume", false, "go on with the journal")
	c.Flags().Uint64Var(&a.workers, "workers", 1, "how many trials to make at once, each in one process. Times are comparable only with one")
	c.Flags().BoolVar(&a.asJSON, "json", false, "print one JSON document")
}

// within refuses the value of a flag that lies outside its bounds.
func within(name string, value, least, most uint64) error {
	if value < least || value > most {
		return fmt.Errorf("--%s %d: give a number from %d to %d", name, value, least, most)
	}
	return nil
}

// note prints a line of progress.
func (a *app) note(text string) {
	if a.asJSON {
		return
	}
	a.noting.Lock()
	defer a.noting.Unlock()
	fmt.Fprintln(a.err, report.Printable(text))
}

func (a *app) printJSON(document any) error {
	e := json.NewEncoder(a.json)
	e.SetIndent("", "  ")
	return e.Encode(document)
}

// failed marks err as a failure of the machine.
func failed(err error) error { return withCode(check.ExitEngine, err) }

// exitCode is how a comparison ends, of which so many trials are open, and the error that is reported.
func exitCode(err error, done []trial.Trial, open int) (int, error) {
	switch {
	case err != nil:
		err = failed(err)
		return program.CodeOf(err), err
	case open > 0 || slices.ContainsFunc(done, func(t trial.Trial) bool { return t.Failed != "" }):
		return check.ExitUnknown, nil
	}
	return check.ExitHolds, nil
}

// makeTrials makes those that a journal lacks, several at once.
func (a *app) makeTrials(ctx context.Context, s *comparison.Settings, j *comparison.Journal,
	one func(ctx context.Context, t trial.Trial) (done trial.Trial, complete bool, err error)) error {
	left := comparison.Missing(s, j.Done)
	total := len(left) + len(j.Done)
	next := make(chan trial.Trial)
	var mu sync.Mutex
	var first error
	var all sync.WaitGroup
	for range int(a.workers) {
		all.Go(func() {
			for t := range next {
				done, complete, err := one(ctx, t)
				mu.Lock()
				if err == nil && complete {
					err = j.Add(done)
				}
				if first == nil {
					first = err
				}
				if err == nil && complete {
					a.note(fmt.Sprintf("%d of %d: %s", len(j.Done), total, trialLine(&done)))
				}
				mu.Unlock()
			}
		})
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

// unresolved are trials that found nothing, and could not judge all of their runs.
func unresolved(t *trial.Trial) bool { return t.Failed == "" && t.Unknown != "" }

// trialsThat are those of which something is true.
func trialsThat(done []trial.Trial, is func(*trial.Trial) bool) (list []trial.Trial) {
	for i := range done {
		if is(&done[i]) {
			list = append(list, done[i])
		}
	}
	return list
}
