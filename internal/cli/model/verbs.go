package model

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
)

// Verbs makes the verb model.
func Verbs(a *console.App) []*cobra.Command {
	return []*cobra.Command{modelVerb(a)}
}

func modelVerb(a *console.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "model",
		Short: "Check TLA+ specifications, and logs against them",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unknown command %q of model\n`bloodhound model --help` lists the commands", args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return c.Help() },
	}
	c.AddCommand(modelCheckVerb(a), modelTraceVerb(a), modelProposeVerb(a))
	return c
}
