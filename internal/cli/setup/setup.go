// Package setup has the verbs before a first run: init, import, config, schema, build, doctor, docs and live.
package setup

import (
	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
)

// Verbs makes the verbs before a first run.
func Verbs(a *console.App) []*cobra.Command {
	return []*cobra.Command{buildVerb(a), liveVerb(a), docsVerb(a), initVerb(a), importVerb(a), configVerb(a), schemaVerb(a), doctorVerb(a)}
}
