package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/report"
)

// tried is what the code of a project does in the run of a failure.
type tried struct {
	failure.Failure
	// Of repeats the ID under its earlier key.
	Of     string `json:"failure"`
	Result string `json:"result"` // reproduced, clean, diverged or varies
	Reason string `json:"reason"`
	hash   string
}

// tryCode makes the run of a failure on the code of a project. Where the tape makes another run without the violation, which is so after most changes,
// runs near it are made: if none of them fails, the code is clean.
func tryCode(ctx context.Context, a *console.App, p *project.Project, s *project.Session, f *report.Failure, campaign explore.Campaign, show *console.Progress) (t tried, err error) {
	c, err := adoptFailure(p, f, f.Name())
	t = tried{Failure: f.Failure, Of: f.ID}
	if err != nil {
		return t, err
	}
	all, err := replayCommitted(ctx, a, s, []committed{c}, campaign.Workers, show)
	if err != nil {
		return t, err
	}
	st := &all[0]
	if st.Standing == explore.Stale {
		searchAround(ctx, all, defaultAround, campaign, func() time.Duration { return 0 })
		if ctx.Err() != nil {
			return t, project.ErrInterrupted
		}
	}
	if t.Reason = st.Reason; st.outcome != nil {
		t.hash = st.outcome.Hash
	}
	switch {
	case st.Standing == explore.StillFails:
		t.Result = records.Reproduced
	case st.Standing == explore.Varies:
		t.Result = records.Varies
	case st.Standing == explore.Fixed, st.Around >= defaultAround:
		t.Result = records.Clean
	default:
		t.Result = records.Diverged
	}
	return t, nil
}

// replayAllDocument is the JSON document of replay --all.
type replayAllDocument struct {
	Bloodhound string  `json:"bloodhound"`
	Verb       string  `json:"verb"`
	ExitCode   int     `json:"exit_code"`
	Code       string  `json:"code"` // the folder
	Failures   []tried `json:"failures"`
}

// replayAll makes the runs of all failures of a project on the code in a folder.
func replayAll(a *console.App, c *cobra.Command, f *flags.Set, args []string, code string) error {
	ctx := c.Context()
	p, err := project.Load(ctx, a, f, args)
	if err != nil {
		return err
	}
	paths, err := failureFiles(p.Spec.Dir, p.State)
	if err != nil {
		return err
	}
	var failures []*report.Failure
	unread := 0
	for _, path := range paths {
		x, err := report.Load("", path)
		if err != nil {
			unread++
			a.Note("%v; it is left out", err)
			continue
		}
		if !p.FromAnother(x) {
			x.Belongs(p.TestName())
		}
		if !p.FromAnother(x) && !slices.ContainsFunc(failures, func(had *report.Failure) bool { return had.Signature == x.Signature }) {
			failures = append(failures, x)
		}
	}
	if len(failures) == 0 && unread == 0 {
		return fmt.Errorf("%s has no failures: they lie in %s and %s/failures", p.Config, project.CommittedName, p.State)
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
	doc := replayAllDocument{Bloodhound: program.Version(), Verb: "replay", Code: patched.Spec.Dir}
	show := console.NewProgress(a.Err, false, f.JSON)
	campaign := explore.Campaign{Test: patched.TestName(), Setup: s.Setup, Command: s.Command, Workers: patched.WorkersOf(0)}
	for _, x := range failures {
		t, err := tryCode(ctx, a, patched, s, x, campaign, show)
		show.End()
		if err != nil {
			return err
		}
		doc.Failures = append(doc.Failures, t)
		if !f.JSON {
			fmt.Fprintf(a.Out, "%s  %-10s  %s: %s\n", t.ID, t.Result, t.Property, t.Reason)
		}
	}
	has := func(result string) bool {
		return slices.ContainsFunc(doc.Failures, func(t tried) bool { return t.Result == result })
	}
	switch {
	case has(records.Reproduced):
		doc.ExitCode = check.ExitViolated
	case has(records.Varies):
		doc.ExitCode = check.ExitNotReproducible
	case has(records.Diverged), unread > 0:
		doc.ExitCode = check.ExitUnknown
	}
	a.Code = doc.ExitCode
	if f.JSON {
		return a.PrintJSON(doc)
	}
	return nil
}
