package fleet

import (
	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/store/open"
)

// Verbs makes the verbs of a fleet and its database.
func Verbs(a *console.App) []*cobra.Command {
	return []*cobra.Command{fleetVerb(a), dashboardVerb(a), dbVerb(a)}
}

func dbVerb(a *console.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "db",
		Short: "Merge, export, clean, check and compare stores",
		Long: `A database holds the results of workers. It is ` + open.Kinds + `.
Set BLOODHOUND_STORE_TOKEN to the token of a dashboard, or BLOODHOUND_STORE_TOKEN_FILE to a file that contains it.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(dbMergeVerb(a), dbExportVerb(a), dbImportVerb(a), dbGCVerb(a), dbFsckVerb(a), dbStatVerb(a),
		dbCompareVerb(a), dbUpgradeVerb(a), dbPauseVerb(a), dbContinueVerb(a))
	return c
}
