package stored

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/report"
)

// Bisector tries commits of the repository of a project.
type Bisector struct {
	*console.App
	f       *flags.Set
	p       *project.Project
	failure *report.Failure
	root    string // of the repository
	show    *console.Progress
	tried   []records.AtCommit
}

// NewBisector needs a project in a repository.
func NewBisector(ctx context.Context, a *console.App, f *flags.Set, p *project.Project, failure *report.Failure, show *console.Progress) (*Bisector, error) {
	if project.BuiltAhead(p.Spec.Dir) {
		return nil, fmt.Errorf("%s is a finished build (%s), so other commits cannot be built here; bisect on a machine with the "+
			"repository and the tools of `build:`", p.Spec.Dir, project.BuiltVariable)
	}
	root, err := project.GitAsOwner(ctx, p.Spec.Dir, "rev-parse", "--show-toplevel") // its commits are checked out
	if err != nil && project.OfAnotherOwner(ctx, p.Spec.Dir) {
		return nil, fmt.Errorf("%s is in a repository of another user, and checking out its commits may execute commands of its configuration; "+
			"if you trust it, run: git config --global --add safe.directory FOLDER", p.Spec.Dir)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not in a git repository: %w", p.Spec.Dir, err)
	}
	return &Bisector{App: a, f: f, p: p, failure: failure, root: strings.TrimSpace(root), show: show}, nil
}

// Find finds the commit.
func (b *Bisector) Find(ctx context.Context, good, bad string) (found records.Bisected, err error) {
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

// between lists the commits from the one that comes first of good and bad to the other, both included.
func (b *Bisector) between(ctx context.Context, good, bad string) (what string, list []string, err error) {
	ids := map[string]string{}
	for _, rev := range []string{good, bad} {
		if ids[rev] = project.CommitOf(ctx, b.root, rev); ids[rev] == "" {
			return "", nil, fmt.Errorf("%s is not a commit of %s", rev, b.root)
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
		return "", nil, fmt.Errorf("neither %s nor %s is an ancestor of the other; give --good a common ancestor, such as %s", good, bad, common)
	}
	list = strings.Fields(project.Git(ctx, b.root, "rev-list", "--first-parent", "--reverse", from+".."+to))
	return what, append([]string{from}, list...), nil
}

// halve finds the commits of which one changed the result: the first that differs from commits[0].
func (b *Bisector) halve(ctx context.Context, commits []string, introduced bool) ([]string, error) {
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
			return nil, fmt.Errorf("commit %.12s should be %s, but is %s: %s", end.id, end.want, got.Result, got.Reason)
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

func (b *Bisector) named(ctx context.Context, id string) records.Named {
	return records.Named{ID: id, Subject: project.Git(ctx, b.root, "log", "-1", "--format=%s", id)}
}

// try makes the run of the failure on a commit.
func (b *Bisector) try(ctx context.Context, id string) (at records.AtCommit, err error) {
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
func (b *Bisector) tryIn(ctx context.Context, tree string) (t Tried, err error) {
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
	return TryCode(ctx, b.App, p, s, own, campaign, b.show)
}

// FailureFiles lists the files of failures of a project in a folder: committed ones and those of its state folder.
func FailureFiles(folder, state string) (paths []string, err error) {
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
