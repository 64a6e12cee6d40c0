package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/database"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/store"
	"github.com/bloodhound-dst/bloodhound/internal/store/open"
)

func dbPauseVerb(a *console.App) *cobra.Command {
	return pauseVerb(a, &cobra.Command{
		Use:   "pause [TEXT]",
		Short: "Pause all workers of a database",
		Long: "Workers finish their current runs, write what they know, and wait for db continue. They notice " +
			"within about ten seconds, or when they can reach the store again. The dashboard shows TEXT, such as " +
			"the reason.",
	}, true)
}

func dbContinueVerb(a *console.App) *cobra.Command {
	return pauseVerb(a, &cobra.Command{
		Use:   "continue [TEXT]",
		Short: "Let paused workers of a database continue",
	}, false)
}

func pauseVerb(a *console.App, c *cobra.Command, on bool) *cobra.Command {
	var f dbFlags
	c.Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 1 {
			return errors.New("put the TEXT in quotes")
		}
		return flags.NoneEmpty(args)
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		text := ""
		if len(args) == 1 {
			text = args[0]
		}
		return database.WithStore(c.Context(), a, f.url(), open.Existing, func(s store.Store) error {
			if err := recordPause(c.Context(), s, on, text); err != nil {
				return err
			}
			what := "continue"
			if on {
				what = "pause"
			}
			fmt.Fprintf(a.Out, "workers of %s will %s\n", s, what)
			return nil
		})
	}
	f.flags(c)
	return c
}

func recordPause(ctx context.Context, s store.Store, on bool, text string) error {
	v, err := database.ViewOf(ctx, s, records.PausePrefix)
	if err != nil {
		return err
	}
	p := v.NextPause(on, database.UserName(), text, time.Now().UnixMilli())
	return s.Add(ctx, p.Entry())
}
