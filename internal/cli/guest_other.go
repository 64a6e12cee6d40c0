//go:build !linux || !amd64

package cli

import (
	"errors"

	"github.com/spf13/cobra"
)

func (a *app) imagePullKernelVerb() *cobra.Command {
	return &cobra.Command{Use: "pull-kernel", Short: "Bring a kernel for the engine vm", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
		return failed(errors.New("the engine vm runs on Linux for x86-64"))
	}}
}
