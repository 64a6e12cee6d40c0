//go:build !linux || !amd64

package debug

import (
	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
)

func debugVM(_ *console.App, _ *cobra.Command, _ *project.Session, d *debugged, _ *debugOptions, _ string) error {
	_, err := project.EngineFor(d.spec)
	return console.Failed(err)
}
