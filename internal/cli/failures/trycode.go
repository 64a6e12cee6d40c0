package failures

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/cli/stored"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/report"
)

// ReplayAllDocument is the JSON document of replay --all.
type ReplayAllDocument struct {
	Bloodhound string         `json:"bloodhound"`
	Verb       string         `json:"verb"`
	ExitCode   int            `json:"exit_code"`
	Code       string         `json:"code"` // the folder
	Failures   []stored.Tried `json:"failures"`
}

// replayAll makes the runs of all failures of a project on the code in a folder.
func replayAll(a *console.App, c *cobra.Command, f *flags.Set, args []string, code string) error {
	ctx := c.Context()
	p, err := project.Load(ctx, a, f, args)
	if err != nil {
		return err
	}
	failures, unread, err := readFailures(a, p)
	if err != nil {
		return err
	}
	if len(failures) == 0 && unread == 0 {
		return fmt.Errorf("%s has no failures, neither in %s nor in %s/failures", p.Config, project.CommittedName, p.State)
	}
	patched := p
	if code != "" {
		if patched, err = project.Load(ctx, a, f, []string{code}); err != nil {
			return err
		}
	}
	if err := patched.Build(ctx, a); err != nil {
		return err
	}
	s, err := patched.Open()
	if err != nil {
		return err
	}
	defer s.Close()
	doc := ReplayAllDocument{Bloodhound: program.Version(), Verb: "replay", Code: patched.Spec.Dir}
	show := console.NewProgress(a.Err, false, f.JSON)
	campaign := explore.Campaign{Test: patched.TestName(), Setup: s.Setup, Command: s.Command, Workers: patched.WorkersOf(0)}
	for _, x := range failures {
		t, err := stored.TryCode(ctx, a, patched, s, x, campaign, show)
		show.End()
		if err != nil {
			return err
		}
		doc.Failures = append(doc.Failures, t)
		if !f.JSON {
			fmt.Fprintf(a.Out, "%s  %-10s  %s: %s\n", t.ID, t.Result, t.Property, t.Reason)
		}
	}
	doc.judge(unread)
	a.Code = doc.ExitCode
	if f.JSON {
		return a.PrintJSON(doc)
	}
	return nil
}

// readFailures reads the failures of a project, one of each signature, and counts the files that cannot be read.
func readFailures(a *console.App, p *project.Project) (failures []*report.Failure, unread int, err error) {
	paths, err := stored.FailureFiles(p.Spec.Dir, p.State)
	if err != nil {
		return nil, 0, err
	}
	for _, path := range paths {
		x, err := report.Load("", path)
		if err != nil {
			unread++
			a.Note("%v; skipping it", err)
			continue
		}
		if !p.FromAnother(x) {
			x.Belongs(p.TestName())
		}
		if !p.FromAnother(x) && !slices.ContainsFunc(failures, func(had *report.Failure) bool { return had.Signature == x.Signature }) {
			failures = append(failures, x)
		}
	}
	return failures, unread, nil
}

// judge sets the exit code: by the results, and by whether some failures could not be read.
func (doc *ReplayAllDocument) judge(unread int) {
	has := func(result string) bool {
		return slices.ContainsFunc(doc.Failures, func(t stored.Tried) bool { return t.Result == result })
	}
	switch {
	case has(records.Reproduced):
		doc.ExitCode = check.ExitViolated
	case has(records.Varies):
		doc.ExitCode = check.ExitNotReproducible
	case has(records.Diverged), unread > 0:
		doc.ExitCode = check.ExitUnknown
	}
}
