package failures

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/database"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/cli/stored"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/store"
	"github.com/bloodhound-dst/bloodhound/internal/store/open"
)

func bisectVerb(a *console.App) *cobra.Command {
	f := &flags.Set{}
	var good, bad, url string
	c := &cobra.Command{
		Use:   "bisect ID [FOLDER or FILE]",
		Short: "Find the commit that introduced a failure, or fixed it",
		Long: "Replay a failure on commits between one that has it and one that does not, halving the distance each" +
			" time. If --good comes before --bad, the result is the commit that introduced the failure, otherwise" +
			" the commit that fixed it.\n\n" +
			"Commits are checked out beside the project, which stays as it is, and built as the configuration " +
			"says. bisect skips a commit that cannot be built, or whose run shows nothing about the failure.\n\n" +
			"With --store, a worker of the store does the work and the dashboard shows the answer. ID is then a " +
			"failure of that store.",
		Args: flags.FailureArguments,
		RunE: func(c *cobra.Command, args []string) error {
			if url == "" {
				return bisectFailure(a, c, f, args, good, cmp.Or(bad, "HEAD"))
			}
			return requestBisect(c.Context(), a, url, args[0], args[1:], good, bad)
		},
	}
	f.AddPlacesAndDocument(c)
	f.AddWorkers(c)
	c.Flags().StringVar(&good, "good", "", "a `revision` without the failure")
	c.Flags().StringVar(&bad, "bad", "", "a `revision` with the failure (default: HEAD)")
	c.Flags().StringVar(&url, "store", "", "ask the workers of this store, a `URL` or a folder")
	c.MarkFlagRequired("good")
	return c
}

// BisectDocument is the JSON document of bisect.
type BisectDocument struct {
	Bloodhound string             `json:"bloodhound"`
	Verb       string             `json:"verb"`
	ExitCode   int                `json:"exit_code"`
	Failure    string             `json:"failure"` // id
	What       string             `json:"what"`    // introduced or fixed
	Commits    []records.Named    `json:"commits"` // one of which did it; most often one
	Tried      []records.AtCommit `json:"tried"`
}

func bisectFailure(a *console.App, c *cobra.Command, f *flags.Set, args []string, good, bad string) error {
	ctx := c.Context()
	p, failure, err := stored.LoadFailure(a, c, f, args)
	if err != nil {
		return err
	}
	if p.Spec == nil {
		os.RemoveAll(p.State)
		return fmt.Errorf("give the project's folder: bloodhound bisect %s FOLDER --good REV", flags.ShellQuote(args[0]))
	}
	b, err := stored.NewBisector(ctx, a, f, p, failure, console.NewProgress(a.Err, false, f.JSON))
	if err != nil {
		return err
	}
	found, err := b.Find(ctx, good, bad)
	if err != nil {
		return err
	}
	doc := BisectDocument{Bloodhound: program.Version(), Verb: "bisect", Failure: failure.ID, What: found.What, Commits: found.Commits, Tried: found.Tried}
	if len(doc.Commits) > 1 {
		doc.ExitCode = check.ExitUnknown
	}
	a.Code = doc.ExitCode
	if f.JSON {
		return a.PrintJSON(doc)
	}
	if len(doc.Commits) == 1 {
		fmt.Fprintf(a.Out, "failure %s was %s by\n  %s %s\n", failure.ID, doc.What, doc.Commits[0].ID, doc.Commits[0].Subject)
		return nil
	}
	fmt.Fprintf(a.Out, "failure %s was %s by one of these commits:\n", failure.ID, doc.What)
	for _, x := range doc.Commits {
		fmt.Fprintf(a.Out, "  %s %s\n", x.ID, x.Subject)
	}
	return nil
}

// requestBisect asks the workers of a store for what bisect does.
func requestBisect(ctx context.Context, a *console.App, url, id string, args []string, good, bad string) error {
	return database.WithStore(ctx, a, url, open.Existing, func(s store.Store) error {
		v, err := database.ViewOf(ctx, s, store.AnyOf(records.AllFailures, records.AllTests))
		if err != nil {
			return err
		}
		test, f, err := stored.FailureIn(v, id)
		if err != nil {
			return database.AsMistake(err)
		}
		r := records.Request{Kind: records.BisectRequest, Test: test.ID, Failure: f.Key(), By: database.UserName(),
			AtMs: time.Now().UnixMilli(), Good: good, Bad: bad}
		if err := r.Check(); err != nil {
			return database.AsMistake(err)
		}
		// A name such as HEAD or main may stand for another commit where the worker is.
		dir := "."
		if len(args) > 0 {
			dir = args[0]
		}
		if at, err := os.Stat(dir); err == nil && !at.IsDir() {
			dir = filepath.Dir(dir)
		}
		for _, rev := range []*string{&r.Good, &r.Bad} {
			if *rev == "" {
				continue
			}
			id := project.CommitOf(ctx, dir, *rev)
			if id == "" {
				return database.AsMistake(fmt.Errorf("%s is not a commit of the repository of %s; "+
					"add the project's folder as an argument after the failure's id, or fetch the commit with git", *rev, dir))
			}
			*rev = id
		}
		if err := s.Add(ctx, r.Entry()); err != nil {
			return err
		}
		fmt.Fprintf(a.Out, "a worker of %s that has the repository now searches for the commit that introduced "+
			"or fixed failure %s of %s; the failure's page on the dashboard will show the answer\n", s, f.ID, test.Name)
		return nil
	})
}
