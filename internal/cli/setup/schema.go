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
		Long: "Print the JSON Schema of bloodhound.yaml, with which editors complete and check its keys. init names" +
			" this schema in the first line of the file. Without a network, write the schema to a file and name " +
			"the file in that line:\n\n" +
			"  # yaml-language-server: $schema=schema.json",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := a.Out.Write(config.JSONSchema())
			return err
		},
	}
}
