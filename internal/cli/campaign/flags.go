package campaign

import (
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/stored"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/program"
)

func addCampaign(f *flags.Set, c *cobra.Command) {
	f.AddSeedFlag(c, "`seed` of the campaign; tape i follows from it and i (default: exploration.seed, or 1)")
	c.Flags().Var(flags.Number(&f.Seeds, 1, math.MaxUint64, "give the number of tapes to run, 1 or more"),
		"seeds", "how many tapes to run (default: simulation.seeds, or 1000)")
	c.Flags().Var(program.Time(&f.Timeout), "timeout", "stop after this `time`")
	f.AddWorkers(c)
	c.Flags().Var(flags.Strategy(&f.Strategy), "strategy",
		"search `strategy`: "+strings.Join(search.Names, ", ")+" (default: exploration.strategy, or "+search.Default+")")
	c.Flags().Var(flags.Number(&f.MaxDepth, 1, math.MaxInt32, "give the number of edits, 1 or more"),
		"max-depth", fmt.Sprintf("bfs and dfs: how many edits a tape has at most (default: exploration.max_depth, or %d)", search.DefaultDepth))
	f.AddMode(c)
	c.Flags().Var(flags.File(&f.Corpus), "corpus", "coverage-guided: begin with the runs of the corpus in this `folder` (default: exploration.corpus, or none)")
	flags.AddSwitch(c, &f.FullLength, "full-length", "swarm: give all runs their full length (default: exploration.length)")
	flags.AddSwitch(c, &f.KeepGoing, "keep-going", "continue after the first violation")
	c.Flags().Var(flags.File(&f.HTML), "html", "write an HTML page of the campaign to this `file`")
	c.Flags().Var(flags.File(&f.JUnit), "junit", "write the verdicts as JUnit XML to this `file`")
	c.Flags().Var(flags.File(&f.SARIF), "sarif", "write the failures as SARIF 2.1.0 to this `file`")
	addCoverage(f, c)
	flags.AddSwitch(c, &f.FromBoot, "from-boot", "begin each run at its boot, and none at a snapshot")
	f.AddSnapshotMemory(c)
	flags.AddSwitch(c, &f.NoShrink, "no-shrink", "do not shrink failures")
	stored.AddShrinking(f, c)
}
