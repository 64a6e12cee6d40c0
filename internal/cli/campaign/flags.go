package campaign

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/stored"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/program"
)

// campaignFlags holds the flags of the verbs that run campaigns.
type campaignFlags struct {
	flags.Set
	async     bool
	seeds     uint64
	timeout   time.Duration
	budget    time.Duration // of test, for builds
	comment   string
	keepGoing bool
	strategy  string
	maxDepth  uint64
	// fullLength asks for runs of full length only.
	fullLength         bool
	corpus             string
	html, junit, sarif string

	coverage       bool
	since          string
	threshold      float64 // in percent
	thresholdGiven bool

	around   uint64
	noShrink bool
	switches bool
}

func addCampaign(f *campaignFlags, c *cobra.Command) {
	f.AddSeedFlag(c, "`seed` of the search: another seed tries other runs (default: exploration.seed, or 1)")
	c.Flags().Var(flags.Number(&f.seeds, 1, math.MaxUint64, "give the number of seeds to try, 1 or more"),
		"seeds", "how many seeds to try (default: simulation.seeds, or 1000)")
	c.Flags().Var(program.Time(&f.timeout), "timeout", "stop after this `time`, such as 10m")
	f.AddWorkers(c)
	c.Flags().Var(flags.Strategy(&f.strategy), "strategy",
		"search `strategy`: "+strings.Join(search.Names, ", ")+" (default: exploration.strategy, or "+search.Default+")")
	c.Flags().Var(flags.Number(&f.maxDepth, 1, math.MaxInt32, "give the number of edits, 1 or more"),
		"max-depth", fmt.Sprintf("bfs and dfs: maximum number of choices to change in a run (default: exploration.max_depth, or %d)", search.DefaultDepth))
	f.AddMode(c, flags.UsualFaults)
	c.Flags().Var(flags.File(&f.corpus), "corpus", "coverage-guided: begin with the corpus in this `folder` (default: exploration.corpus, or none)")
	flags.AddSwitch(c, &f.fullLength, "full-length", "swarm: play every run to its full length (default: only if exploration.length is full)")
	flags.AddSwitch(c, &f.keepGoing, "keep-going", "continue after the first violation, and list each distinct failure")
	c.Flags().Var(flags.File(&f.html), "html", "write an HTML report of the search to this `file`")
	c.Flags().Var(flags.File(&f.junit), "junit", "write the verdicts as JUnit XML to this `file`")
	c.Flags().Var(flags.File(&f.sarif), "sarif", "write the failures as SARIF 2.1.0 to this `file`")
	addCoverage(f, c)
	flags.AddSwitch(c, &f.FromBoot, "from-boot", "start each run from boot, never from a snapshot")
	f.AddSnapshotMemory(c)
	flags.AddSwitch(c, &f.noShrink, "no-shrink", "do not shrink failures")
	stored.AddShrinking(&f.Set, c)
}
