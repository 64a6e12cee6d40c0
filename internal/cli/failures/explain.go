package failures

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/database"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/cli/stored"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/report"
)

// explainFlags holds the flags of the verb explain.
type explainFlags struct {
	flags.Set
	runs uint64
	time time.Duration
}

func explainVerb(a *console.App) *cobra.Command {
	f := &explainFlags{}
	var url string
	c := &cobra.Command{
		Use:   "explain ID [FOLDER or FILE]",
		Short: "Find the moment at which a failure became likely",
		Long: "Replay a failure many times. Each replay keeps the run up to some moment and makes the rest random " +
			"again. Print how likely the failure is after each moment, with 95 % confidence intervals. The moment of " +
			"no return is where this probability jumps. explain prints the decision made there. It also prints the " +
			"passing run that is most similar to the failure but lacks that decision.\n\n" +
			"The explanation is saved in the failure's file and in a store: the project's own, or the one given with --store. " +
			"The report page and the dashboard show it. ID may also name a failure in that store.",
		Args: flags.FailureArguments,
		RunE: func(c *cobra.Command, args []string) error { return explainFailure(a, c, f, url, args) },
	}
	f.AddPlacesAndDocument(c)
	c.Flags().Var(flags.Number(&f.runs, 1, math.MaxInt32, "give the number of runs, 1 or more"), "runs",
		fmt.Sprintf("maximum number of runs (default: %d)", stored.DefaultExplainRuns))
	c.Flags().Var(program.Time(&f.time), "time", fmt.Sprintf("maximum time (default: %s)", stored.DefaultExplainTime))
	f.AddWorkers(c)
	stored.AddOriginal(&f.Set, c)
	stored.AddUpdate(&f.Set, c)
	database.AddStoreFlag(c, &url, " of the project")
	return c
}

// ExplainDocument is the JSON document of explain.
type ExplainDocument struct {
	Bloodhound string `json:"bloodhound"`
	Verb       string `json:"verb"`
	ExitCode   int    `json:"exit_code"`
	Failure    string `json:"failure"` // id
	report.Explanation
}

func explainFailure(a *console.App, c *cobra.Command, f *explainFlags, url string, args []string) error {
	args, err := stored.FetchFailure(c.Context(), a, &f.Set, url, args)
	if err != nil {
		return err
	}
	p, full, err := stored.LoadFailure(a, c, &f.Set, args)
	if err != nil {
		return err
	}
	if p.Spec == nil {
		defer os.RemoveAll(p.State)
	}
	if err := project.RequireRepeats(full.Spec, "bloodhound explain"); err != nil {
		return err
	}
	failure := stored.ChosenRun(&f.Set, full)
	known, err := stored.WhereKnown(c.Context(), a, url, p, full)
	if err != nil {
		return err
	}
	s, err := stored.OpenFailure(a, p, failure)
	if err != nil {
		return stored.ExplainLacking(p, args[0], full, err)
	}
	defer s.Close()
	show := console.NewProgress(a.Err, false, f.JSON)
	x := stored.Explainer{App: a, Session: s, Failure: failure, Workers: p.WorkersOf(int(f.Workers)),
		Runs: cmp.Or(int(f.runs), stored.DefaultExplainRuns), Time: cmp.Or(f.time, stored.DefaultExplainTime),
		Changes: func(o *check.Judged) []string { return stored.ChangesSince(p, failure, o) }}
	changed := false
	x.Changed = func(reply *explore.Reply, v check.Verdict) error {
		if err := stored.ChangedRun(c.Context(), a, p, s, failure, reply, "explained"); err != nil {
			return err
		}
		changed = true
		full.Renew(program.Version(), reply.Outcome, v, stored.TreeNow(s, failure), f.Original)
		return nil
	}
	s.Setup.Snapshots = project.Snapshots(a, &f.Set, p, x.Workers)
	e, err := x.Explain(c.Context(), show)
	show.End()
	if err != nil {
		if c.Context().Err() != nil {
			return project.ErrInterrupted
		}
		return err
	}
	full.Explanation = e
	if changed {
		_, err = stored.StoreRenewed(a, p, args[0], full, f.Update)
	} else {
		_, err = stored.StoreFailure(p, args[0], full)
	}
	if err != nil {
		return err
	}
	if known != nil {
		if err := stored.RecordExplained(c.Context(), a, known, e); err != nil {
			return err
		}
	}
	if e.Jump == nil || !e.Jump.Clear {
		a.Code = check.ExitUnknown
	}
	if f.JSON {
		return a.PrintJSON(ExplainDocument{program.Version(), "explain", a.Code, full.ID, *e})
	}
	stop := "bloodhound replay " + flags.ShellQuote(args[0]) + flags.ArgumentsOf(&f.Set, args[1:])
	if f.Original {
		stop += " --original"
	}
	fmt.Fprint(a.Out, report.Explained(e, stop))
	return nil
}
