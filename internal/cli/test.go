package cli

import (
	"errors"
	"math"

	"github.com/spf13/cobra"
)

func (a *app) testVerb() *cobra.Command {
	f := &flags{}
	actors := false
	c := &cobra.Command{
		Use:   "test [FOLDER or FILE]",
		Short: "Replay committed failures, then explore, with plain output for CI",
		Long: `Replays the failures in the folder failures/ beside the configuration, and then explores, with plain output for CI.
` + exitCodes,
		Args: func(c *cobra.Command, args []string) error {
			if actors {
				return noneEmpty(args)
			}
			return oneArgument(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if actors && (f.budget > 0 || f.comment != "") {
				return errors.New("--budget and --comment are for worlds of programs; with --actor-mode, --timeout bounds the tests")
			}
			if actors {
				return a.actors(c, f, args)
			}
			if f.switches {
				return errors.New("--switches needs --actor-mode; in worlds of programs simulation.switches.blocks has threads switched in their own code")
			}
			return a.explore(c, f, args, true)
		},
	}
	addSwitch(c, &actors, "actor-mode", "run the tests of Go packages (default: ./...) that have worlds inside one process")
	addSwitch(c, &f.switches, "switches", "with --actor-mode: switch goroutines at operations of sync and sync/atomic, too")
	f.where(c)
	f.verboseFlag(c)
	f.campaign(c)
	f.budgetFlags(c)
	f.around = defaultAround
	c.Flags().Var(numberFlag{&f.around, 0, math.MaxInt32, "give the number of tapes to run near a stale failure, or 0 for none"},
		"around", "how many `tapes` to run near a committed failure that is stale")
	return c
}
