package failures

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/cli/stored"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
)

// reportFlags holds the flags of the verb report.
type reportFlags struct {
	flags.Set
	html, markdown string
	open           bool
}

func reportVerb(a *console.App) *cobra.Command {
	f := &reportFlags{}
	c := &cobra.Command{
		Use:   "report ID [FOLDER or FILE]",
		Short: "Write a failure as an HTML page",
		Long: "Replay a failure and write it as one self-contained HTML page: the violated property, a timeline of " +
			"nodes and messages, the operations, the logs, the faults and the tape. ID is the id of a failure, a " +
			"unique prefix of it, or the path of a failure file.\n\n" +
			"The page is .bloodhound/reports/ID-RUN.html unless --html names another file.",
		Args: func(c *cobra.Command, args []string) error {
			if id := filepath.Base(f.markdown); len(args) == 0 && failureID.MatchString(id) {
				return fmt.Errorf("--markdown needs a file name after it: bloodhound report %s --markdown issue.md", id)
			}
			return flags.FailureArguments(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error { return writeReport(a, c, f, args) },
	}
	f.AddPlacesAndDocument(c)
	c.Flags().Var(flags.File(&f.html), "html", "write the page to this `file`")
	c.Flags().Var(flags.File(&f.markdown), "markdown", "also write the text of an issue, in Markdown, to this `file`")
	flags.AddSwitch(c, &f.open, "open", "open the page in the browser")
	stored.AddOriginal(&f.Set, c)
	return c
}

// failureID is the form of the ids of failures.
var failureID = regexp.MustCompile(`^[0-9a-f]{12}(-[0-9a-f]{12})?$`)

// ReportDocument is the JSON document of report.
type ReportDocument struct {
	Bloodhound string `json:"bloodhound"`
	Verb       string `json:"verb"`
	ExitCode   int    `json:"exit_code"`
	Failure    string `json:"failure"` // id
	HTML       string `json:"html"`    // path
	// Changed says how the run differs from the one that was stored, if it does.
	Changed string `json:"changed,omitempty"`
}

func writeReport(a *console.App, c *cobra.Command, f *reportFlags, args []string) error {
	for name, file := range map[string]string{"--html": f.html, "--markdown": f.markdown} {
		if err := project.Writable(name, file); err != nil {
			return err
		}
	}
	p, full, err := stored.LoadFailure(a, c, &f.Set, args)
	if err != nil {
		return err
	}
	failure := stored.ChosenRun(&f.Set, full)
	path := f.page(p, failure)
	if p.Spec == nil {
		defer os.RemoveAll(p.State)
	}
	s, err := stored.OpenFailure(a, p, failure, path, f.markdown)
	if err != nil {
		return stored.ExplainLacking(p, args[0], full, err)
	}
	defer s.Close()
	job := &explore.Job{Request: runner.Play(failure.Tape), Full: true, Progress: !f.JSON,
		Trace: &explore.Trace{File: filepath.Join(s.Setup.Scratch, "diagram"), Format: report.DiagramFormat}}
	if job.Dumps, err = stored.DumpsFolder(s); err != nil {
		return err
	}
	reply, err := project.OneRun(c.Context(), a, s, job, f.JSON)
	if err != nil {
		return err
	}
	stored.KeepCores(a, p, failure.Name(), reply.Outcome)
	if c.Context().Err() != nil {
		return project.ErrInterrupted
	}
	page, err := stored.PageOf(failure, reply)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, stored.WhyChanged(stored.ChangesSince(p, failure, reply.Outcome)))
	}
	page.StoryOf = storyOf(&f.Set, args, failure, full, reply.Outcome, page.Verdict)
	if !report.IsFailurePath(args[0]) {
		page.File = full.Path(p.State)
	}
	if page.Diagram, err = stored.ReadDiagram(job.Trace.File, page); err != nil {
		return console.Failed(err)
	}
	if err := stored.WritePage(page, path); err != nil {
		return console.Failed(err)
	}
	if f.markdown != "" {
		if err := writeIssue(f.markdown, page.StoryOf); err != nil {
			return console.Failed(err)
		}
		project.RecordOutput(failure.Spec, f.markdown)
	}
	if f.open {
		if err := console.OpenPage(path); err != nil {
			a.Note("note: %v", err)
		}
	}
	stored.NoteLooked(a, failure.Spec, reply.Outcome)
	if f.JSON {
		return a.PrintJSON(ReportDocument{program.Version(), "report", check.ExitHolds, failure.ID, path, page.Changed})
	}
	if page.Changed != "" {
		a.Note("note: %s\n%s", page.Changed, stored.WhyChanged(stored.ChangesSince(p, failure, reply.Outcome)))
	}
	fmt.Fprintln(a.Out, path)
	return nil
}

// page is the file of the page: the one that a flag names, or one in the state folder of the project.
func (f *reportFlags) page(p *project.Project, failure *report.Failure) string {
	switch {
	case f.html != "":
		return f.html
	case p.Spec == nil: // there is no state folder that stays
		return failure.Name() + ".html"
	}
	return filepath.Join(p.State, "reports", failure.Name()+".html")
}

// writeIssue writes the text of an issue about a failure.
func writeIssue(file string, story report.StoryOf) error {
	text, err := report.Issue(story)
	if err != nil {
		return err
	}
	return report.WriteFile(file, []byte(text))
}
