package cli

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/report"
)

// addLogsFlag is for those whose one run has programs that may be asked what they said.
func addLogsFlag(f *flags.Set, c *cobra.Command) {
	flags.AddSwitch(c, &f.Logs, "logs", "print what the programs of the run wrote, in virtual time order")
}

// errLogsInDocument is the answer to --logs beside --json.
var errLogsInDocument = errors.New("--logs prints lines and --json one document: give one of them")

func addCampaignFlags(f *flags.Set, c *cobra.Command) {
	f.SeedFlag(c, "`seed` of the campaign; tape i follows from it and i (default: exploration.seed, or 1)")
	c.Flags().Var(flags.NumberFlag{Number: &f.Seeds, From: 1, To: math.MaxUint64, Says: "give the number of tapes to run, 1 or more"},
		"seeds", "how many tapes to run (default: simulation.seeds, or 1000)")
	c.Flags().Var(program.Time(&f.Timeout), "timeout", "stop after this `time`")
	f.WorkersFlag(c)
	c.Flags().Var(flags.StrategyFlag{Name: &f.Strategy}, "strategy",
		"search `strategy`: "+strings.Join(search.Names, ", ")+" (default: exploration.strategy, or "+search.Default+")")
	c.Flags().Var(flags.NumberFlag{Number: &f.MaxDepth, From: 1, To: math.MaxInt32, Says: "give the number of edits, 1 or more"},
		"max-depth", fmt.Sprintf("bfs and dfs: how many edits a tape has at most (default: exploration.max_depth, or %d)", search.DefaultDepth))
	f.ModeFlag(c)
	c.Flags().Var(flags.FileFlag{Name: &f.Corpus}, "corpus", "coverage-guided: begin with the runs of the corpus in this `folder` (default: exploration.corpus, or none)")
	flags.AddSwitch(c, &f.FullLength, "full-length", "swarm: give all runs their full length (default: exploration.length)")
	flags.AddSwitch(c, &f.KeepGoing, "keep-going", "continue after the first violation")
	c.Flags().Var(flags.FileFlag{Name: &f.HTML}, "html", "write an HTML page of the campaign to this `file`")
	c.Flags().Var(flags.FileFlag{Name: &f.JUnit}, "junit", "write the verdicts as JUnit XML to this `file`")
	c.Flags().Var(flags.FileFlag{Name: &f.SARIF}, "sarif", "write the failures as SARIF 2.1.0 to this `file`")
	addCoverageFlags(f, c)
	flags.AddSwitch(c, &f.FromBoot, "from-boot", "begin each run at its boot, and none at a snapshot")
	f.SnapshotFlag(c)
	flags.AddSwitch(c, &f.NoShrink, "no-shrink", "do not shrink failures")
	addShrinkFlags(f, c)
}

func addShrinkFlags(f *flags.Set, c *cobra.Command) {
	c.Flags().Var(flags.NumberFlag{Number: &f.ShrinkRuns, From: 1, To: math.MaxInt32, Says: "give the number of runs that shrinking may make, 1 or more"},
		"shrink-runs", fmt.Sprintf("maximum number of runs to shrink one failure (default: %d)", defaultShrinkRuns))
	c.Flags().Var(program.Time(&f.ShrinkCPU), "shrink-cpu",
		fmt.Sprintf("maximum CPU time of the runs that shrink all failures (default: %s)", defaultShrinkCPU))
	c.Flags().Var(program.Time(&f.ShrinkTime), "shrink-time", "maximum real time to shrink all failures (default: none)")
}

func addOriginalFlag(f *flags.Set, c *cobra.Command) {
	flags.AddSwitch(c, &f.Original, "original", "use the run as it was found, not the smallest one")
}

func addUpdateFlag(f *flags.Set, c *cobra.Command) {
	flags.AddSwitch(c, &f.Update, "update", "if the run has changed and still fails, store it as it is now, in the file of the failure itself")
}

// chosenRun is the run of a failure that the flags ask for: the smallest one, or the one that was found.
func chosenRun(f *flags.Set, full *report.Failure) *report.Failure {
	if f.Original {
		return full
	}
	return full.Small()
}
