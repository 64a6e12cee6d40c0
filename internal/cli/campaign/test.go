package campaign

import (
	"errors"
	"math"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/stored"
)

func testVerb(a *console.App) *cobra.Command {
	f := &campaignFlags{}
	actors := false
	c := &cobra.Command{
		Use:   "test [FOLDER or FILE]",
		Short: "For CI: replay the failures in failures/, then explore, with plain output",
		Long: "Replay the failures in the folder failures/ beside the configuration, then search for new ones as " +
			"`bloodhound explore` does. Progress is printed as plain lines, for CI.",
		Args: func(c *cobra.Command, args []string) error {
			if actors {
				return flags.NoneEmpty(args)
			}
			return flags.OneArgument(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if actors && (f.budget > 0 || f.comment != "") {
				return errors.New("--budget and --comment do not apply to --actor-mode; limit its tests with --timeout")
			}
			if actors {
				return runActors(a, c, f, args)
			}
			if f.switches {
				return errors.New("--switches needs --actor-mode; for programs, use the key simulation.switches.blocks")
			}
			return exploreProject(a, c, f, args, true)
		},
	}
	flags.AddSwitch(c, &actors, "actor-mode",
		"run the tests of Go packages (default: ./...) in process: each simulated world lives inside the test's own process")
	flags.AddSwitch(c, &f.switches, "switches", "with --actor-mode: also switch goroutines at operations of sync and sync/atomic")
	f.AddPlacesAndDocument(c)
	console.AddVerbose(&f.Set, c)
	addCampaign(f, c)
	addBudget(f, c)
	f.around = stored.DefaultAround
	c.Flags().Var(flags.Number(&f.around, 0, math.MaxInt32, "give the number of runs to try near a stale failure, or 0 for none"),
		"around", "how many `runs` to try near a stale committed failure")
	return c
}
