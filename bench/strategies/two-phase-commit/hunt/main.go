// Hunt searches two-phase commit for a bug: by hand, or in trials of bench/contest.
//
//	go -C bench run ./strategies/two-phase-commit/hunt -bug unsynced -sim.strategy coverage-guided:state
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"

	"github.com/bloodhound-dst/bloodhound/bench/contest/trial"
	commit "github.com/bloodhound-dst/bloodhound/bench/strategies/two-phase-commit"
	"github.com/bloodhound-dst/bloodhound/internal/engine/inprocess"
	"github.com/bloodhound-dst/bloodhound/sim"
)

func main() {
	bug := flag.String("bug", "", fmt.Sprintf("what is wrong in the code: one of %v, or nothing", commit.Bugs))
	view := flag.String("view", "", "what searches see of a state of the model: all, Middle or Coarse")
	without := flag.Bool("unpromised", false, "do not promise that runs are those of the model")
	rare := flag.Bool("rare", false, "have a twentieth of the usual faults")
	flag.Parse()
	code, err := hunt(commit.Variant{Bug: commit.Bug(*bug), Unpromised: *without, Rare: *rare}, *view)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	os.Exit(code)
}

func hunt(v commit.Variant, view string) (int, error) {
	if v.Bug != commit.None && !slices.Contains(commit.Bugs, v.Bug) {
		return 0, fmt.Errorf("there is no bug %q; there are %v", v.Bug, commit.Bugs)
	}
	var err error
	if v.Model, err = commit.Specification(view); err != nil {
		return 0, err
	}
	r, err := sim.Campaign{}.Run(inprocess.WithSchedules(trial.Context(context.Background()), schedules), "two-phase-commit", v.World)
	if err != nil {
		return 0, err
	}
	fmt.Print(r.Text())
	return r.Status.ExitCode(), nil
}
