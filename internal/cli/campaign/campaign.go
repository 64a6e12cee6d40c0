// Package campaign has the verbs that run worlds: run, explore, test, verify and sweep, orders to virtual machines, and worker processes.
package campaign

import (
	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
)

// Verbs makes the verbs that run worlds.
func Verbs(a *console.App) []*cobra.Command {
	return []*cobra.Command{runVerb(a), exploreVerb(a), sweepVerb(a), testVerb(a), verifyVerb(a), vmVerb(a), workerVerb(a)}
}
