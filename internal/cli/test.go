package cli

import "github.com/spf13/cobra"

func (a *app) testVerb() *cobra.Command {
	f := &flags{}
	c := &cobra.Command{
		Use:   "test [FOLDER or FILE]",
		Short: "Search tapes in CI: as explore, with plain lines",
		Args:  oneArgument,
		RunE:  func(c *cobra.Command, args []string) error { return a.explore(c, f, args, true) },
	}
	f.where(c)
	f.campaign(c)
	return c
}
