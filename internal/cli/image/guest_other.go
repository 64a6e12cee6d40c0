//go:build !linux || !amd64

package image

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
)

func imagePullKernelVerb(*console.App) *cobra.Command {
	return &cobra.Command{Use: "pull-kernel", Short: "Download a kernel for the engine vm", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
		return console.Failed(errors.New("the engine vm runs on Linux for x86-64"))
	}}
}
