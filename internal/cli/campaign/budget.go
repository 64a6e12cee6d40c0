package campaign

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/cli/stored"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/report"
)

// How `test --budget` divides its time: known failures get at most the first share, the second is kept for shrinking, and the search has the rest.
const (
	knownShare  = 4 // one in so many
	shrinkShare = 5
)

// budgetRetries is how often a run is made again whose violation did not replay.
const budgetRetries = 3

// addBudget adds the flags of the verb test that are for builds.
func addBudget(f *campaignFlags, c *cobra.Command) {
	c.Flags().Var(program.Time(&f.budget), "budget", "limit the whole command to this `time`, divided among "+
		"known failures, the search and shrinking")
	c.Flags().Var(flags.File(&f.comment), "comment", "write a Markdown comment for a pull request to this `file`")
}

// baseVariables name, in builds of merge requests, the branch or commit that the change is for; a branch is one of the remote origin.
var baseVariables = []struct{ name, prefix string }{
	{"GITHUB_BASE_REF", "origin/"},
	{"CI_MERGE_REQUEST_DIFF_BASE_SHA", ""}, // GitLab
	{"CHANGE_TARGET", "origin/"},           // Jenkins
	{"BUILDKITE_PULL_REQUEST_BASE_BRANCH", "origin/"},
}

// completeBudget sets what a budget implies: the time, new code as a goal of the search, and retries.
func (x *exploration) completeBudget(c *cobra.Command) error {
	f := x.f
	if f.budget == 0 {
		return nil
	}
	if f.timeout > 0 {
		return errors.New("--budget and --timeout both limit the whole command; leave out --timeout")
	}
	f.timeout = f.budget
	if off := c.Flags().Changed("coverage") && !f.coverage; f.since == "" && !off {
		f.since = x.base()
	}
	if f.since != "" {
		// Of the strategies that learn, this one finds old bugs as soon as the default does (bench/STRATEGIES.md).
		f.strategy = cmp.Or(f.strategy, search.Guided+"+rates")
	}
	return nil
}

// base is the commit that the change of a build started from, or empty if this is no build of a change, or git does not have it.
func (x *exploration) base() string {
	for _, v := range baseVariables {
		name := os.Getenv(v.name)
		if name == "" {
			continue
		}
		base := project.Git(x.ctx, x.p.Spec.Dir, "merge-base", "--end-of-options", v.prefix+name, "HEAD")
		if base == "" {
			x.Note("note: the search does not prefer changed code, because git does not know %s%s (from $%s); fetch "+
				"it (fetch-depth: 0 in actions/checkout), or give a revision with --since",
				v.prefix, name, v.name)
		}
		return base
	}
	return ""
}

// knownUntil bounds the replays of known failures.
func (x *exploration) knownUntil() (context.Context, context.CancelFunc) {
	if x.f.budget == 0 {
		return context.WithCancel(x.ctx)
	}
	return context.WithDeadline(x.ctx, x.began.Add(x.f.budget/knownShare))
}

// searchTime is how long the search may take, and 0 if nothing bounds it.
func (x *exploration) searchTime() time.Duration {
	left := x.left()
	if x.f.budget == 0 || left == 0 {
		return left
	}
	return max(left-x.f.budget/shrinkShare, time.Millisecond)
}

// unplayed stands for known failures whose turn did not come.
func unplayed(list []stored.Committed) (all []stored.Standing) {
	for i := range list {
		c := &list[i]
		all = append(all, stored.Standing{Kept: c, Committed: explore.Committed{Failure: c.Failure.Failure, File: c.File,
			Standing: explore.Unplayed, Reason: fmt.Sprintf("its share of the time, 1/%d of --budget, ran out; "+
				"raise --budget", knownShare)}})
	}
	return all
}

// saveComment writes the file of --comment.
func (x *exploration) saveComment(doc *CampaignDocument) error {
	if x.f.comment == "" {
		return nil
	}
	c := report.CommentOf{Totals: doc.Campaign, Status: doc.Status, Judgement: doc.Judgement, ExitCode: doc.ExitCode,
		Since: x.f.since, Arguments: x.p.Arguments, TookNs: int64(time.Since(x.began)), BudgetNs: int64(x.f.budget)}
	for i := range x.found {
		c.Stories = append(c.Stories, x.found[i].Story)
	}
	var b bytes.Buffer
	err := errors.Join(report.Comment(&b, c), project.WriteResult(x.f.comment, b.Bytes()))
	project.RecordOutput(x.p.Spec, x.f.comment)
	return err
}

// left is how much of the timeout is left; 0 if there is none.
func (x *exploration) left() time.Duration {
	if x.timeout == 0 {
		return 0
	}
	return max(x.timeout-time.Since(x.began), time.Millisecond)
}
