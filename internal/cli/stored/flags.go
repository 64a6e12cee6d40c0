package stored

import (
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/report"
)

// AddLogs adds --logs to verbs that make one run.
func AddLogs(f *flags.Set, c *cobra.Command) {
	flags.AddSwitch(c, &f.Logs, "logs", "print the lines that programs wrote, in virtual time order")
}

// ErrLogsInDocument is the answer to --logs beside --json.
var ErrLogsInDocument = errors.New("--logs and --json exclude each other; leave out one of them")

// AddShrinking adds the bounds of shrinking.
func AddShrinking(f *flags.Set, c *cobra.Command) {
	c.Flags().Var(flags.Number(&f.ShrinkRuns, 1, math.MaxInt32, "give the number of runs for shrinking, 1 or more"),
		"shrink-runs", fmt.Sprintf("maximum number of runs for shrinking one failure (default: %d)", DefaultShrinkRuns))
	c.Flags().Var(program.Time(&f.ShrinkCPU), "shrink-cpu",
		fmt.Sprintf("maximum CPU time for shrinking, all failures together (default: %s)", defaultShrinkCPU))
	c.Flags().Var(program.Time(&f.ShrinkTime), "shrink-time", "maximum real time for shrinking, all failures together (default: no limit)")
}

// AddOriginal adds --original.
func AddOriginal(f *flags.Set, c *cobra.Command) {
	flags.AddSwitch(c, &f.Original, "original", "use the run as it was found, not the smallest one after shrinking")
}

// AddUpdate adds --update.
func AddUpdate(f *flags.Set, c *cobra.Command) {
	flags.AddSwitch(c, &f.Update, "update", "if the run has changed but still fails, update the failure's file")
}

// ChosenRun is the run of a failure that the flags ask for: the smallest one, or the one that was found.
func ChosenRun(f *flags.Set, full *report.Failure) *report.Failure {
	if f.Original {
		return full
	}
	return full.Small()
}
