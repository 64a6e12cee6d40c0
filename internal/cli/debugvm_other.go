//go:build !linux || !amd64

package cli

import "github.com/spf13/cobra"

func (a *app) debugVM(_ *cobra.Command, _ *session, d *debugged, _ *debugOptions, _ string) error {
	_, err := engineFor(d.spec)
	return failed(err)
}
