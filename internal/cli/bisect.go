package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/report"
)

func (a *app) bisectVerb() *cobra.Command {
	f := &flags{}
	var good, bad string
	c := &cobra.Command{
		Use:   "bisect ID [FOLDER or FILE]",
		Short: "Find the commit that introduced a failure, or fixed it",
		Long: `Makes the run of a failure on commits between one that has it and one that does not, and halves the distance each time. Commits are
checked out beside the project, which stays as it is, and built as the configuration says. If --good comes before --bad, the result is
the commit that introduced the failure, else the one that fixed it. A commit that cannot be built, or where nothing follows from the
tape, is left out.
Exit code 0: one commit is the answer; 5: several are, as those between them say nothing.`,
		Args: failureArguments,
		RunE: func(c *cobra.Command, args []string) error { return a.bisect(c, f, args, good, bad) },
	}
	f.where(c)
	f.workersFlag(c)
	c.Flags().StringVar(&good, "good", "", "a `revision` without the failure")
	c.Flags().StringVar(&bad, "bad", "HEAD", "a `revision` with the failure")
	c.MarkFlagRequired("good")
	return c
}

// bisectDocument is the JSON document of bisect.
type bisectDocument struct {
	Bloodhound string     `json:"bloodhound"`
	Verb       string     `json:"verb"`
	ExitCode   int        `json:"exit_code"`
	Failure    string     `json:"failure"` // id
	What       string     `json:"what"`    // introduced or fixed
	Commits    []commitOf `json:"commits"` // one of which did it; most often one
	Tried      []atCommit `json:"tried"`
}

// commitOf names a commit.
type commitOf struct {
	ID      string `json:"id"`
	Subject string `json:"subject"`
}

// atCommit is what a commit does in the run of the failure.
type atCommit struct {
	commitOf
	Result string `json:"result"` // reproduced, clean, diverged, varies, or not built
	Reason string `json:"reason"`
}

// notBuilt is the result of a commit that cannot be run.
const notBuilt = "not built"

// bisector tries commits of the repository of a project.
type bisector struct {
	*app
	f       *flags
	p       *project
	failure *report.Failure
	root    string // of the repository
	show    *progress
	tried   []atCommit
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
	b := &bisector{app: a, f: f, p: p, failure: failure, root: git(ctx, p.spec.Dir, "rev-parse", "--show-toplevel"), show: newProgress(a.err, false, f.json)}
	if b.root == "" {
		return fmt.Errorf("%s lies in no git repository", p.spec.Dir)
	}
	what, commits, err := b.between(ctx, good, bad)
	if err != nil {
		return err
	}
	answer, err := b.halve(ctx, commits, what == "introduced")
	b.show.end()
	if err != nil {
		return err
	}
	doc := bisectDocument{Bloodhound: Version(), Verb: "bisect", Failure: failure.ID, What: what, Tried: b.tried}
	for _, id := range answer {
		doc.Commits = append(doc.Commits, b.named(ctx, id))
	}
	if len(answer) > 1 {
		doc.ExitCode = check.ExitUnknown
	}
	a.code = doc.ExitCode
	if f.json {
		return a.printJSON(doc)
	}
	if len(answer) == 1 {
		fmt.Fprintf(a.out, "failure %s was %s by\n  %s %s\n", failure.ID, what, doc.Commits[0].ID, doc.Commits[0].Subject)
		return nil
	}
	fmt.Fprintf(a.out, "failure %s was %s by one of\n", failure.ID, what)
	for _, x := range doc.Commits {
		fmt.Fprintf(a.out, "  %s %s\n", x.ID, x.Subject)
	}
	return nil
}

// between lists the commits from the one that comes first of good and bad to the other, both included.
func (b *bisector) between(ctx context.Context, good, bad string) (what string, list []string, err error) {
	ids := map[string]string{}
	for _, rev := range []string{good, bad} {
		if ids[rev] = git(ctx, b.root, "rev-parse", "--verify", "--quiet", rev+"^{commit}"); ids[rev] == "" {
			return "", nil, fmt.Errorf("%s is no commit of %s", rev, b.root)
		}
	}
	from, to := ids[good], ids[bad]
	what = "introduced"
	switch common := git(ctx, b.root, "merge-base", from, to); {
	case from == to:
		return "", nil, fmt.Errorf("--good %s and --bad %s are the same commit", good, bad)
	case common == from:
	case common == to:
		what, from, to = "fixed", to, from
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

func (b *bisector) named(ctx context.Context, id string) commitOf {
	return commitOf{id, git(ctx, b.root, "log", "-1", "--format=%s", id)}
}

// try makes the run of the failure on a commit.
func (b *bisector) try(ctx context.Context, id string) (at atCommit, err error) {
	at.commitOf = b.named(ctx, id)
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
	var machine *exitError
	if err != nil && errors.As(err, &machine) && machine.code == check.ExitEngine {
		return at, err
	}
	if err != nil {
		at.Result, at.Reason = notBuilt, err.Error()
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
	campaign := explore.Campaign{Setup: s.setup, Command: s.command, Workers: p.workersOf(int(b.f.workers))}
	return b.tryCode(ctx, p, s, own, campaign, b.show)
}

// failureFiles lists the files of failures of a project: committed ones and those of the state folder.
func failureFiles(p *project) (paths []string, err error) {
	for _, dir := range []string{filepath.Join(p.spec.Dir, committedName), filepath.Join(p.state, "failures")} {
		list, err := filepath.Glob(filepath.Join(dir, "*.json"))
		if err != nil {
			return nil, err
		}
		slices.Sort(list)
		paths = append(paths, list...)
	}
	return paths, nil
}
