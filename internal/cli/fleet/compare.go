package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/database"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/store"
	"github.com/bloodhound-dst/bloodhound/internal/store/open"
)

func dbCompareVerb(a *console.App) *cobra.Command {
	var f dbFlags
	var base, code string
	c := &cobra.Command{
		Use:   "compare",
		Short: "Compare the results of two commits, as Markdown",
		Long: "For each test that ran on a commit, list the failures that are new, fixed and unchanged since " +
			"another commit, and the remaining risk of both. compare only reads the store; workers make the " +
			"runs. Runs with uncommitted changes count only in this folder, and only while it has changes.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return database.WithStore(c.Context(), a, f.url(), open.Existing, func(s store.Store) error {
				return compareCommits(c.Context(), a, s, &f, base, code)
			})
		},
	}
	f.flags(c)
	f.document(c)
	c.Flags().StringVar(&base, "base", "", "the `commit` to compare with (default: the latest of the main line)")
	c.Flags().StringVar(&code, "code", "", "the `commit` (default: the commit of this folder)")
	return c
}

// CompareDocument is the JSON document of db compare.
type CompareDocument struct {
	Bloodhound string         `json:"bloodhound"`
	Verb       string         `json:"verb"`
	ExitCode   int            `json:"exit_code"`
	Store      string         `json:"store"`
	Code       string         `json:"code"`           // commit, or "COMMIT with changes"
	Base       string         `json:"base,omitempty"` // commit that --base names
	Unrun      []UnrunCommit  `json:"commits_not_run,omitempty"`
	Tests      []comparedTest `json:"tests"`
	NotRun     []string       `json:"not_run,omitempty"` // names of tests that were run on the commit to compare with, and not on this one
}

// UnrunCommit is one that was asked for, and on which no test was run.
type UnrunCommit struct {
	Commit  string `json:"commit"`
	Changed bool   `json:"only_with_changes,omitempty"` // there are runs of it with changes that are not committed
}

// comparedTest is a test on both commits.
type comparedTest struct {
	Name     string            `json:"name"`
	Code     string            `json:"code"`           // commit, or "COMMIT with changes"
	Base     string            `json:"base,omitempty"` // commit; empty if there is none to compare with
	Failures []comparedFailure `json:"failures"`
	Before   comparedRisk      `json:"base_risk"`
	After    comparedRisk      `json:"risk"`
}

type comparedFailure struct {
	ID       records.ID     `json:"failure"` // in the store
	Change   records.Change `json:"change"`
	Property string         `json:"property"`
	Reason   string         `json:"reason"`
}

// comparedRisk bounds the chance that the next random run shows anything new.
type comparedRisk struct {
	Bound float64 `json:"bound,omitempty"` // none if Not says why
	Runs  uint64  `json:"runs"`            // of the holdout
	Not   string  `json:"not,omitempty"`
}

// compareCommits prints what db compare finds out.
func compareCommits(ctx context.Context, a *console.App, s store.Store, f *dbFlags, base, code string) error {
	v := records.NewView()
	if _, err := s.Read(ctx, "", "", func(e store.Entry) error { v.AddEntry(e); return nil }); err != nil {
		return err
	}
	var here, dirty string
	var err error
	if code != "" {
		here, err = revisionOf(ctx, v, "--code", code)
	} else if here, dirty = project.CommitOf(ctx, ".", "HEAD"), project.DirtyDigest(ctx, "."); here == "" {
		err = database.AsMistake(errors.New("this folder is not in a git repository; give the commit with --code"))
	}
	if err == nil && base != "" {
		base, err = revisionOf(ctx, v, "--base", base)
	}
	if err != nil {
		return err
	}
	pair := func(among []records.ID) (from, to records.ID) {
		to = cmp.Or(v.CodeOf(here, dirty, among), v.CodeOf(here, "", among))
		if to == "" && dirty != "" {
			to = v.WithChanges(here, among)
		}
		if base != "" {
			return v.CodeOf(base, "", among), to
		}
		return v.LastMain(to, among), to
	}
	all := v.CodesByAge()
	last, this := pair(all)
	doc := CompareDocument{Bloodhound: program.Version(), Verb: "db compare", Store: s.String(), Code: here, Base: base, ExitCode: check.ExitUnknown}
	if this != "" {
		doc.Code = nameOf(v.Codes[this])
	}
	if this == "" {
		doc.Unrun = append(doc.Unrun, UnrunCommit{here, v.WithChanges(here, all) != ""})
	}
	baseRun := base == "" || last != ""
	if !baseRun {
		doc.Unrun = append(doc.Unrun, UnrunCommit{base, v.WithChanges(base, all) != ""})
	}
	for _, t := range slices.SortedFunc(maps.Values(v.Tests),
		func(x, y *records.TestView) int { return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.ID, y.ID)) }) {
		if t.Canary() {
			continue
		}
		switch from, to := pair(v.CodesOf(t)); {
		case !baseRun:
		case to != "":
			doc.Tests = append(doc.Tests, comparedOf(v, t, from, to))
		case from != "" && v.Codes[from].Commit == v.Codes[last].Commit:
			doc.NotRun = append(doc.NotRun, t.Name)
		}
	}
	has := func(is func(t *comparedTest) bool) bool {
		return slices.ContainsFunc(doc.Tests, func(t comparedTest) bool { return is(&t) })
	}
	switch {
	case has(func(t *comparedTest) bool { return len(t.Of(records.NewChange)) > 0 }):
		doc.ExitCode = check.ExitViolated
	case len(doc.Tests) > 0 && len(doc.NotRun) == 0 && !has(func(t *comparedTest) bool { return t.Base == "" }):
		doc.ExitCode = check.ExitHolds
	}
	a.Code = doc.ExitCode
	if f.json {
		return a.PrintJSON(doc)
	}
	fmt.Fprint(a.Out, doc.markdown())
	return nil
}

func comparedOf(v *records.View, t *records.TestView, from, to records.ID) comparedTest {
	c := comparedTest{Name: t.Name, Code: nameOf(v.Codes[to]), Before: comparedRiskOf(t, from), After: comparedRiskOf(t, to)}
	if from != "" {
		c.Base = v.Codes[from].Commit
	}
	for _, id := range slices.Sorted(maps.Keys(t.Failures)) {
		f := t.Failures[id]
		if change := f.Changed(from, to); change != records.NoChange && f.State() != records.Ignored {
			x := comparedFailure{ID: id, Change: change, Property: f.Property}
			if best := f.Best(); best != nil {
				x.Reason = best.Reason
			}
			c.Failures = append(c.Failures, x)
		}
	}
	return c
}

func comparedRiskOf(t *records.TestView, code records.ID) comparedRisk {
	r := t.Risk(code, records.AnyFeature)
	switch {
	case r == nil:
		return comparedRisk{Not: "no holdout runs"}
	case r.Not != "":
		return comparedRisk{Runs: r.Runs, Not: r.Not}
	}
	return comparedRisk{Bound: r.Bound, Runs: r.Runs}
}

// Of are the failures of a change.
func (t *comparedTest) Of(change records.Change) (list []comparedFailure) {
	for _, f := range t.Failures {
		if f.Change == change {
			list = append(list, f)
		}
	}
	return list
}

// maxCompared bounds the failures that are listed for each change.
const maxCompared = 50

// markdown writes the comparison for people. What programs and people have written stands in code, which has no other meaning.
func (d *CompareDocument) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "### Bloodhound: %s\n\n", asCode(shortOf(d.Code)))
	for _, u := range d.Unrun {
		how := "did not run"
		if u.Changed {
			how = "ran only with uncommitted changes"
		}
		fmt.Fprintf(&b, "Commit %s %s.\n\n", asCode(shortOf(u.Commit)), how)
	}
	for _, name := range d.NotRun {
		fmt.Fprintf(&b, "**%s** did not run on this commit.\n\n", asCode(name))
	}
	if len(d.Tests) == 0 {
		b.WriteString("No test to compare.\n")
		return b.String()
	}
	for i := range d.Tests {
		t := &d.Tests[i]
		with := "nothing to compare with"
		if t.Base != "" {
			with = "compared with " + asCode(shortOf(t.Base))
		}
		on := ""
		if t.Code != d.Code {
			on = " on " + asCode(shortOf(t.Code))
		}
		fmt.Fprintf(&b, "**%s**%s, %s\n\n", asCode(t.Name), on, with)
		for _, change := range records.Changes {
			list := t.Of(change)
			if len(list) == 0 && change == records.UnclearChange {
				continue
			}
			fmt.Fprintf(&b, "- %s: %d\n", change, len(list))
			for k, f := range list {
				if k == maxCompared {
					fmt.Fprintf(&b, "  - and %d more\n", len(list)-k)
					break
				}
				fmt.Fprintf(&b, "  - %s: %s\n", asCode(f.Property), asCode(f.Reason))
			}
		}
		fmt.Fprintf(&b, "- risk that the next random run shows something new: %s; before: %s\n\n", t.After.text(), t.Before.text())
	}
	b.WriteString("New: it fails on this commit, and has not failed on the other. Fixed: its replay passes on this commit. " +
		"Unclear: its replay is inconclusive.\n")
	return b.String()
}

func (r comparedRisk) text() string {
	if r.Not != "" {
		return "no bound (" + r.Not + ")"
	}
	return fmt.Sprintf("at most %.2g, by %s", r.Bound, plural.Count(r.Runs, "run"))
}

// nameOf names a code by its commit.
func nameOf(c *records.Code) string {
	if c.Dirty != "" {
		return c.Commit + project.WithChanges
	}
	return c.Commit
}

// shortOf is the name of a code with few digits.
func shortOf(name string) string {
	commit, changed := strings.CutSuffix(name, project.WithChanges)
	commit = commit[:min(len(commit), 12)]
	if changed {
		return commit + project.WithChanges
	}
	return commit
}

// minDigits is how many digits of a commit name it, as for git.
const minDigits = 4

// revisionOf is the commit that a flag names: one of the repository of this folder, or by its beginning one that the store knows. A whole digest is
// taken as it is, since a shallow clone lacks commits.
func revisionOf(ctx context.Context, v *records.View, flag, revision string) (string, error) {
	if id := project.CommitOf(ctx, ".", revision); id != "" {
		return id, nil
	}
	known := slices.Collect(maps.Keys(v.Commits))
	for _, c := range v.Codes {
		known = append(known, c.Commit)
	}
	slices.Sort(known)
	known = slices.DeleteFunc(slices.Compact(known), func(id string) bool { return len(revision) < minDigits || !strings.HasPrefix(id, revision) })
	switch {
	case len(known) == 1:
		return known[0], nil
	case len(known) > 1:
		return "", database.AsMistake(fmt.Errorf("%s %s: %s of the store begin with these digits; give more",
			flag, revision, plural.Count(len(known), "commit")))
	case wholeCommit.MatchString(revision):
		return revision, nil
	}
	return "", database.AsMistake(fmt.Errorf("%s %s: neither this folder's repository nor the store has such a commit; fetch it with "+
		"git, or give all its digits", flag, revision))
}

var wholeCommit = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// codeRunes bounds a text in a comparison.
const codeRunes = 300

// asCode is a text as code of Markdown.
func asCode(text string) string {
	text = report.Visible(text, codeRunes)
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + " " + text + " " + fence
}
