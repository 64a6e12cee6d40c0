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
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/store"
	"github.com/bloodhound-dst/bloodhound/internal/store/open"
)

func (a *app) bisectVerb() *cobra.Command {
	f := &flags{}
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
		Args: failureArguments,
		RunE: func(c *cobra.Command, args []string) error {
			if url == "" {
				return a.bisect(c, f, args, good, cmp.Or(bad, "HEAD"))
			}
			return a.requestBisect(c.Context(), url, args[0], args[1:], good, bad)
		},
	}
	f.where(c)
	f.workersFlag(c)
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
	*app
	f       *flags
	p       *project
	failure *report.Failure
	root    string // of the repository
	show    *progress
	tried   []records.AtCommit
}

// newBisector needs a project in a repository.
func (a *app) newBisector(ctx context.Context, f *flags, p *project, failure *report.Failure, show *progress) (*bisector, error) {
	if builtAhead(p.spec.Dir) {
		return nil, fmt.Errorf("%s is built already (%s), so its other commits cannot be built here; bisect on a machine with the "+
			"repository and the tools of `build:`", p.spec.Dir, builtVariable)
	}
	root, err := gitAsOwner(ctx, p.spec.Dir, "rev-parse", "--show-toplevel") // its commits are checked out
	if err != nil && ofAnotherOwner(ctx, p.spec.Dir) {
		return nil, fmt.Errorf("%s lies in a repository of another owner, and to check out its commits may execute commands of its configuration; "+
			"if you trust it, allow it: git config --global --add safe.directory FOLDER", p.spec.Dir)
	}
	if err != nil {
		return nil, fmt.Errorf("%s lies in no git repository: %w", p.spec.Dir, err)
	}
	return &bisector{app: a, f: f, p: p, failure: failure, root: strings.TrimSpace(root), show: show}, nil
}

// find finds the commit.
func (b *bisector) find(ctx context.Context, good, bad string) (found records.Bisected, err error) {
	what, commits, err := b.between(ctx, good, bad)
	if err != nil {
		return found, err
	}
	answer, err := b.halve(ctx, commits, what == records.Introduced)
	b.show.end()
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

func (a *app) bisect(c *cobra.Command, f *flags, args []string, good, bad string) error {
	ctx := c.Context()
	p, failure, err := a.loadFailure(c, f, args)
	if err != nil {
		return err
	}
	if p.spec == nil {
		os.RemoveAll(p.state)
		return fmt.Errorf("name the project after the failure: bloodhound bisect %s FOLDER --good REV", shellQuote(args[0]))
	}
	b, err := a.newBisector(ctx, f, p, failure, newProgress(a.err, false, f.json))
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
	a.code = doc.ExitCode
	if f.json {
		return a.printJSON(doc)
	}
	if len(doc.Commits) == 1 {
		fmt.Fprintf(a.out, "failure %s was %s by\n  %s %s\n", failure.ID, doc.What, doc.Commits[0].ID, doc.Commits[0].Subject)
		return nil
	}
	fmt.Fprintf(a.out, "failure %s was %s by one of\n", failure.ID, doc.What)
	for _, x := range doc.Commits {
		fmt.Fprintf(a.out, "  %s %s\n", x.ID, x.Subject)
	}
	return nil
}

// between lists the commits from the one that comes first of good and bad to the other, both included.
func (b *bisector) between(ctx context.Context, good, bad string) (what string, list []string, err error) {
	ids := map[string]string{}
	for _, rev := range []string{good, bad} {
		if ids[rev] = commitOf(ctx, b.root, rev); ids[rev] == "" {
			return "", nil, fmt.Errorf("%s is no commit of %s", rev, b.root)
		}
	}
	from, to := ids[good], ids[bad]
	what = records.Introduced
	switch common := git(ctx, b.root, "merge-base", from, to); {
	case from == to:
		return "", nil, fmt.Errorf("--good %s and --bad %s are the same commit", good, bad)
	case common == from:
	case common == to:
		what, from, to = records.FixedBy, to, from
	default:
		return "", nil, fmt.Errorf("neither of %s and %s follows the other; give --good a common ancestor, such as %s", good, bad, common)
	}
	list = strings.Fields(git(ctx, b.root, "rev-list", "--first-parent", "--reverse", from+".."+to))
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
	return records.Named{ID: id, Subject: git(ctx, b.root, "log", "-1", "--format=%s", id)}
}

// try makes the run of the failure on a commit.
func (b *bisector) try(ctx context.Context, id string) (at records.AtCommit, err error) {
	at.Named = b.named(ctx, id)
	defer func() {
		if err == nil {
			b.tried = append(b.tried, at)
			b.show.end()
			b.note("%.12s %-10s  %s", id, at.Result, at.Subject)
		}
	}()
	folder, err := os.MkdirTemp("", "bloodhound-bisect-")
	if err != nil {
		return at, failed(err)
	}
	defer os.RemoveAll(folder)
	tree := filepath.Join(folder, filepath.Base(b.root))
	if git(ctx, b.root, "worktree", "add", "--detach", tree, id); ctx.Err() != nil {
		return at, errInterrupted
	}
	defer git(context.WithoutCancel(ctx), b.root, "worktree", "remove", "--force", tree)
	t, err := b.tryIn(ctx, tree)
	if ctx.Err() != nil {
		return at, errInterrupted
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
	dir, err := filepath.EvalSymlinks(b.p.spec.Dir)
	if err != nil {
		return t, err
	}
	within, err := filepath.Rel(b.root, filepath.Join(dir, filepath.Base(b.p.config)))
	if err != nil {
		return t, err
	}
	quiet := *b.f
	quiet.json, quiet.config = true, ""
	p, err := b.load(ctx, &quiet, []string{filepath.Join(tree, within)})
	if err == nil {
		err = p.build(ctx, b.app)
	}
	if err != nil {
		return t, err
	}
	s, err := p.open()
	if err != nil {
		return t, err
	}
	defer s.close()
	content, err := b.failure.Content()
	if err != nil {
		return t, err
	}
	own, err := report.Parse(b.failure.ID, content) // which is fitted to the checkout
	if err != nil {
		return t, err
	}
	campaign := explore.Campaign{Test: p.testName(), Setup: s.setup, Command: s.command, Workers: p.workersOf(int(b.f.workers))}
	return b.tryCode(ctx, p, s, own, campaign, b.show)
}

// failureFiles lists the files of failures of a project in a folder: committed ones and those of its state folder.
func failureFiles(project, state string) (paths []string, err error) {
	for _, dir := range []string{filepath.Join(project, committedName), filepath.Join(state, "failures")} {
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
func (a *app) requestBisect(ctx context.Context, url, id string, args []string, good, bad string) error {
	return a.with(ctx, url, open.Existing, func(s store.Store) error {
		v, err := viewOf(ctx, s, store.AnyOf(records.AllFailures, records.AllTests))
		if err != nil {
			return err
		}
		test, f, err := failureIn(v, id)
		if err != nil {
			return mistaken(err)
		}
		r := records.Request{Kind: records.BisectRequest, Test: test.ID, Failure: f.Key(), By: userName(), AtMs: time.Now().UnixMilli(), Good: good, Bad: bad}
		if err := r.Check(); err != nil {
			return mistaken(err)
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
			id := commitOf(ctx, dir, *rev)
			if id == "" {
				return mistaken(fmt.Errorf("%s is no commit of the repository of %s; name the project's folder after the failure, or fetch the commit by git",
					*rev, dir))
			}
			*rev = id
		}
		if err := s.Add(ctx, r.Entry()); err != nil {
			return err
		}
		fmt.Fprintf(a.out, "a worker of %s that has the repository looks for the commit of failure %s of %s; the failure's page "+
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
