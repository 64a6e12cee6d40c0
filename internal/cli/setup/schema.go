package setup

import (
	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/config"
)

func schemaVerb(a *console.App) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of bloodhound.yaml, for editors",
		Long: `Prints the JSON Schema of bloodhound.yaml, by which editors complete and check its keys. Its $id has the version, and is what the first line
of a file names that init writes. Without network, write the schema into a file and name that in the line:

  # yaml-language-server: $schema=schema.json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := a.Out.Write(config.JSONSchema())
			return err
		},
	}
}
