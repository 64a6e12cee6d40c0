// Package failures has the verbs about stored failures: replay, shrink, explain, bisect, list and report.
package failures

import (
	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
)

// Verbs makes the verbs about stored failures.
func Verbs(a *console.App) []*cobra.Command {
	return []*cobra.Command{replayVerb(a), shrinkVerb(a), explainVerb(a), bisectVerb(a), reportVerb(a), listVerb(a)}
}
