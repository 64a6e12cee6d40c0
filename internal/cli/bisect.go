package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/database"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/store"
	"github.com/bloodhound-dst/bloodhound/internal/store/open"
)

func bisectVerb(a *console.App) *cobra.Command {
	f := &flags.Set{}
	var good, bad, url string
	c := &cobra.Command{
		Use:   "bisect ID [FOLDER or FILE]",
		Short: "Find the commit that introduced a failure, or fixed it",
		Long: `Makes the run of a failure on commits between one that has it and one that does not, and halves the distance each time. Commits are
checked out beside the project, which stays as it is, and built as the configuration says. If --good comes before --bad, the result is
the commit that introduced the failure, else the one that fixed it. A commit that cannot be built, or where nothing follows from the
tape, is left out.
Exit code 0: one commit is the answer; 5: several are, as those between them say nothing.
With --store, a worker of the store does it, and the dashboard shows the answer: ID is that of a failure there.`,
		Args: flags.FailureArguments,
		RunE: func(c *cobra.Command, args []string) error {
			if url == "" {
				return bisectFailure(a, c, f, args, good, cmp.Or(bad, "HEAD"))
			}
			return requestBisect(c.Context(), a, url, args[0], args[1:], good, bad)
		},
	}
	f.AddPlacesAndDocument(c)
	f.WorkersFlag(c)
	c.Flags().StringVar(&good, "good", "", "a `revision` without the failure")
	c.Flags().StringVar(&bad, "bad", "", "a `revision` with the failure (default: HEAD)")
	c.Flags().StringVar(&url, "store", "", "ask the workers of this store, which is a `URL` or a folder")
	c.MarkFlagRequired("good")
	return c
}

// bisectDocument is the JSON document of bisect.
type bisectDocument struct {
	Bloodhound string             `json:"bloodhound"`
	Verb       string             `json:"verb"`
	ExitCode   int                `json:"exit_code"`
	Failure    string             `json:"failure"` // id
	What       string             `json:"what"`    // introduced or fixed
	Commits    []records.Named    `json:"commits"` // one of which did it; most often one
	Tried      []records.AtCommit `json:"tried"`
}

// bisector tries commits of the repository of a project.
type bisector struct {
	*console.App
	f       *flags.Set
	p       *project.Project
	failure *report.Failure
	root    string // of the repository
	show    *console.Progress
	tried   []records.AtCommit
}

// newBisector needs a project in a repository.
func newBisector(ctx context.Context, a *console.App, f *flags.Set, p *project.Project, failure *report.Failure, show *console.Progress) (*bisector, error) {
	if project.BuiltAhead(p.Spec.Dir) {
		return nil, fmt.Errorf("%s is built already (%s), so its other commits cannot be built here; bisect on a machine with the "+
			"repository and the tools of `build:`", p.Spec.Dir, project.BuiltVariable)
	}
	root, err := project.GitAsOwner(ctx, p.Spec.Dir, "rev-parse", "--show-toplevel") // its commits are checked out
	if err != nil && project.OfAnotherOwner(ctx, p.Spec.Dir) {
		return nil, fmt.Errorf("%s lies in a repository of another owner, and to check out its commits may execute commands of its configuration; "+
			"if you trust it, allow it: git config --global --add safe.directory FOLDER", p.Spec.Dir)
	}
	if err != nil {
		return nil, fmt.Errorf("%s lies in no git repository: %w", p.Spec.Dir, err)
	}
	return &bisector{App: a, f: f, p: p, failure: failure, root: strings.TrimSpace(root), show: show}, nil
}

// find finds the commit.
func (b *bisector) find(ctx context.Context, good, bad string) (found records.Bisected, err error) {
	what, commits, err := b.between(ctx, good, bad)
	if err != nil {
		return found, err
	}
	answer, err := b.halve(ctx, commits, what == records.Introduced)
	b.show.End()
	if err != nil {
		return found, err
	}
	found = records.Bisected{What: what, Tried: b.tried, Good: commits[0], Bad: commits[len(commits)-1]}
	if what == records.FixedBy {
		found.Good, found.Bad = found.Bad, found.Good
	}
	for _, id := range answer {
		found.Commits = append(found.Commits, b.named(ctx, id))
	}
	return found, nil
}

func bisectFailure(a *console.App, c *cobra.Command, f *flags.Set, args []string, good, bad string) error {
	ctx := c.Context()
	p, failure, err := loadFailure(a, c, f, args)
	if err != nil {
		return err
	}
	if p.Spec == nil {
		os.RemoveAll(p.State)
		return fmt.Errorf("name the project after the failure: bloodhound bisect %s FOLDER --good REV", flags.ShellQuote(args[0]))
	}
	b, err := newBisector(ctx, a, f, p, failure, console.NewProgress(a.Err, false, f.JSON))
	if err != nil {
		return err
	}
	found, err := b.find(ctx, good, bad)
	if err != nil {
		return err
	}
	doc := bisectDocument{Bloodhound: program.Version(), Verb: "bisect", Failure: failure.ID, What: found.What, Commits: found.Commits, Tried: found.Tried}
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
	fmt.Fprintf(a.Out, "failure %s was %s by one of\n", failure.ID, doc.What)
	for _, x := range doc.Commits {
		fmt.Fprintf(a.Out, "  %s %s\n", x.ID, x.Subject)
	}
	return nil
}

// between lists the commits from the one that comes first of good and bad to the other, both included.
func (b *bisector) between(ctx context.Context, good, bad string) (what string, list []string, err error) {
	ids := map[string]string{}
	for _, rev := range []string{good, bad} {
		if ids[rev] = project.CommitOf(ctx, b.root, rev); ids[rev] == "" {
			return "", nil, fmt.Errorf("%s is no commit of %s", rev, b.root)
		}
	}
	from, to := ids[good], ids[bad]
	what = records.Introduced
	switch common := project.Git(ctx, b.root, "merge-base", from, to); {
	case from == to:
		return "", nil, fmt.Errorf("--good %s and --bad %s are the same commit", good, bad)
	case common == from:
	case common == to:
		what, from, to = records.FixedBy, to, from
	default:
		return "", nil, fmt.Errorf("neither of %s and %s follows the other; give --good a common ancestor, such as %s", good, bad, common)
	}
	list = strings.Fields(project.Git(ctx, b.root, "rev-list", "--first-parent", "--reverse", from+".."+to))
	return what, append([]string{from}, list...), nil
}

// halve finds the commits of which one changed the result: the first that differs from commits[0].
func (b *bisector) halve(ctx context.Context, commits []string, introduced bool) ([]string, error) {
	before, after := records.Clean, records.Reproduced
	if !introduced {
		before, after = after, before
	}
	for _, end := range []struct {
		id, want string
	}{{commits[0], before}, {commits[len(commits)-1], after}} {
		got, err := b.try(ctx, end.id)
		if err != nil {
			return nil, err
		}
		if got.Result != end.want {
			return nil, fmt.Errorf("commit %.12s should be %s, and is %s: %s", end.id, end.want, got.Result, got.Reason)
		}
	}
	low, high := 0, len(commits)-1
	silent := map[int]bool{}
	for {
		k := middle(low, high, silent)
		if k < 0 {
			return commits[low+1 : high+1], nil
		}
		got, err := b.try(ctx, commits[k])
		if err != nil {
			return nil, err
		}
		switch got.Result {
		case before:
			low = k
		case after:
			high = k
		default:
			silent[k] = true
		}
	}
}

// middle is the place nearest to the middle between two that was not found to be silent; -1 if there is none.
func middle(low, high int, silent map[int]bool) int {
	best := -1
	for k := low + 1; k < high; k++ {
		if off := abs(2*k - low - high); !silent[k] && (best < 0 || off < abs(2*best-low-high)) {
			best = k
		}
	}
	return best
}

func abs(n int) int { return max(n, -n) }

func (b *bisector) named(ctx context.Context, id string) records.Named {
	return records.Named{ID: id, Subject: project.Git(ctx, b.root, "log", "-1", "--format=%s", id)}
}

// try makes the run of the failure on a commit.
func (b *bisector) try(ctx context.Context, id string) (at records.AtCommit, err error) {
	at.Named = b.named(ctx, id)
	defer func() {
		if err == nil {
			b.tried = append(b.tried, at)
			b.show.End()
			b.Note("%.12s %-10s  %s", id, at.Result, at.Subject)
		}
	}()
	folder, err := os.MkdirTemp("", "bloodhound-bisect-")
	if err != nil {
		return at, console.Failed(err)
	}
	defer os.RemoveAll(folder)
	tree := filepath.Join(folder, filepath.Base(b.root))
	if project.Git(ctx, b.root, "worktree", "add", "--detach", tree, id); ctx.Err() != nil {
		return at, project.ErrInterrupted
	}
	defer project.Git(context.WithoutCancel(ctx), b.root, "worktree", "remove", "--force", tree)
	t, err := b.tryIn(ctx, tree)
	if ctx.Err() != nil {
		return at, project.ErrInterrupted
	}
	var machine *program.Error
	if err != nil && errors.As(err, &machine) && machine.Code == check.ExitEngine {
		return at, err
	}
	if err != nil {
		at.Result, at.Reason = records.NotBuilt, err.Error()
		return at, nil
	}
	at.Result, at.Reason = t.Result, t.Reason
	return at, nil
}

// tryIn makes the run of the failure on a checkout of the repository.
func (b *bisector) tryIn(ctx context.Context, tree string) (t tried, err error) {
	dir, err := filepath.EvalSymlinks(b.p.Spec.Dir)
	if err != nil {
		return t, err
	}
	within, err := filepath.Rel(b.root, filepath.Join(dir, filepath.Base(b.p.Config)))
	if err != nil {
		return t, err
	}
	quiet := *b.f
	quiet.JSON, quiet.Config = true, ""
	p, err := project.Load(ctx, b.App, &quiet, []string{filepath.Join(tree, within)})
	if err == nil {
		err = p.Build(ctx, b.App)
	}
	if err != nil {
		return t, err
	}
	s, err := p.Open()
	if err != nil {
		return t, err
	}
	defer s.Close()
	content, err := b.failure.Content()
	if err != nil {
		return t, err
	}
	own, err := report.Parse(b.failure.ID, content) // which is fitted to the checkout
	if err != nil {
		return t, err
	}
	campaign := explore.Campaign{Test: p.TestName(), Setup: s.Setup, Command: s.Command, Workers: p.WorkersOf(int(b.f.Workers))}
	return tryCode(ctx, b.App, p, s, own, campaign, b.show)
}

// failureFiles lists the files of failures of a project in a folder: committed ones and those of its state folder.
func failureFiles(folder, state string) (paths []string, err error) {
	for _, dir := range []string{filepath.Join(folder, project.CommittedName), filepath.Join(state, "failures")} {
		list, err := filepath.Glob(filepath.Join(dir, "*.json"))
		if err != nil {
			return nil, err
		}
		slices.Sort(list)
		paths = append(paths, list...)
	}
	return paths, nil
}

// requestBisect asks the workers of a store for what bisect does.
func requestBisect(ctx context.Context, a *console.App, url, id string, args []string, good, bad string) error {
	return database.WithStore(ctx, a, url, open.Existing, func(s store.Store) error {
		v, err := database.ViewOf(ctx, s, store.AnyOf(records.AllFailures, records.AllTests))
		if err != nil {
			return err
		}
		test, f, err := failureIn(v, id)
		if err != nil {
			return database.AsMistake(err)
		}
		r := records.Request{Kind: records.BisectRequest, Test: test.ID, Failure: f.Key(), By: database.UserName(), AtMs: time.Now().UnixMilli(), Good: good, Bad: bad}
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
				return database.AsMistake(fmt.Errorf("%s is no commit of the repository of %s; name the project's folder after the failure, or fetch the commit by git",
					*rev, dir))
			}
			*rev = id
		}
		if err := s.Add(ctx, r.Entry()); err != nil {
			return err
		}
		fmt.Fprintf(a.Out, "a worker of %s that has the repository looks for the commit of failure %s of %s; the failure's page "+
			"of the dashboard shows what it finds\n", s, f.ID, test.Name)
		return nil
	})
}

// failureIn finds a failure of a store by its id there.
func failureIn(v *records.View, id string) (*records.TestView, *records.FailureView, error) {
	var test *records.TestView
	var found *records.FailureView
	for _, t := range v.Tests {
		for _, f := range t.Named(id) {
			switch {
			case found != nil:
				return nil, nil, fmt.Errorf("both %s and %s have a failure %s; ask for it on the failure's page of the dashboard", t.Name, test.Name, id)
			default:
				test, found = t, f
			}
		}
	}
	if found == nil {
		return nil, nil, fmt.Errorf("the store has no failure %s; the failure's page of the dashboard has its id", id)
	}
	return test, found, nil
}
