package cli

import (
	"math"

	"github.com/spf13/cobra"
)

func (a *app) testVerb() *cobra.Command {
	f := &flags{}
	c := &cobra.Command{
		Use:   "test [FOLDER or FILE]",
		Short: "Replay committed failures and search tapes in CI: as explore, with plain lines",
		Args:  oneArgument,
		RunE:  func(c *cobra.Command, args []string) error { return a.explore(c, f, args, true) },
	}
	f.where(c)
	f.campaign(c)
	f.around = defaultAround
	c.Flags().Var(numberFlag{&f.around, 0, math.MaxInt32, "give the number of tapes to run near a stale failure, or 0 for none"},
		"around", "how many `tapes` to run near a committed failure that is stale")
	return c
}
