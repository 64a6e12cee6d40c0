package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/report"
)

func (a *app) reportVerb() *cobra.Command {
	f := &flags{}
	c := &cobra.Command{
		Use:   "report ID [FOLDER or FILE]",
		Short: "Write a failure as a self-contained HTML page",
		Long: `Makes the run of a failure again and writes a self-contained HTML page: the property and its violation, a space-time diagram,
the operations, the logs of all nodes, the faults and the tape. ID is the id of a failure, a unique prefix of one, or the path
of a failure file. The page is .bloodhound/reports/ID-RUN.html unless --html names another file; its path is printed.
Exit code 0: the page was written; 5: the run does not show the violation any more.`,
		Args: func(c *cobra.Command, args []string) error {
			if id := filepath.Base(f.markdown); len(args) == 0 && failureID.MatchString(id) {
				return fmt.Errorf("--markdown takes a file, and the failure comes first: bloodhound report %s --markdown issue.md", id)
			}
			return failureArguments(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error { return a.report(c, f, args) },
	}
	f.where(c)
	c.Flags().Var(fileFlag{&f.html}, "html", "write the page to this `file`")
	c.Flags().Var(fileFlag{&f.markdown}, "markdown", "write the failure as the text of an issue, in Markdown, to this `file`, too")
	addSwitch(c, &f.open, "open", "open the page in the browser: the program that BROWSER names, or the desktop's")
	f.originalFlag(c)
	return c
}

// failureID is the form of the ids of failures.
var failureID = regexp.MustCompile(`^[0-9a-f]{12}(-[0-9a-f]{12})?$`)

// reportDocument is the JSON document of report.
type reportDocument struct {
	Bloodhound string `json:"bloodhound"`
	Verb       string `json:"verb"`
	ExitCode   int    `json:"exit_code"`
	Failure    string `json:"failure"` // id
	HTML       string `json:"html"`    // path
	// Changed says how the run differs from the one that was stored, if it does.
	Changed string `json:"changed,omitempty"`
}

func (a *app) report(c *cobra.Command, f *flags, args []string) error {
	for name, file := range map[string]string{"--html": f.html, "--markdown": f.markdown} {
		if err := writable(name, file); err != nil {
			return err
		}
	}
	p, full, err := a.loadFailure(c, f, args)
	if err != nil {
		return err
	}
	failure := f.runOf(full)
	path := f.html
	if path == "" {
		path = filepath.Join(p.state, "reports", failure.Name()+".html")
	}
	if p.spec == nil {
		defer os.RemoveAll(p.state)
		if f.html == "" {
			path = failure.Name() + ".html" // there is no state folder that stays
		}
	}
	s, err := a.openFailure(p, failure, path, f.markdown)
	if err != nil {
		return p.lacking(args[0], full, err)
	}
	defer s.close()
	job := &explore.Job{Tape: failure.Tape, Full: true, Progress: !f.json,
		Trace: &explore.Trace{File: filepath.Join(s.setup.Scratch, "diagram"), Format: report.DiagramFormat}}
	if job.Dumps, err = s.dumpsFolder(); err != nil {
		return err
	}
	reply, err := a.oneRun(c.Context(), s, job, f.json)
	if err != nil {
		return err
	}
	a.keepCores(p, failure.Name(), reply.Outcome)
	if c.Context().Err() != nil {
		return errInterrupted
	}
	page, err := pageOf(failure, reply)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, whyChanged(p.changes(failure, reply.Outcome)))
	}
	page.StoryOf = f.storyOf(args, failure, full, reply.Outcome, page.Verdict)
	if !report.IsFailurePath(args[0]) {
		page.File = full.Path(p.state)
	}
	if page.Diagram, err = readDiagram(job.Trace.File, page); err != nil {
		return failed(err)
	}
	if err := writePage(page, path); err != nil {
		return failed(err)
	}
	if f.markdown != "" {
		text, err := report.Issue(page.StoryOf)
		if err == nil {
			err = report.WriteFile(f.markdown, []byte(text))
		}
		if err != nil {
			return failed(err)
		}
		wrote(failure.Spec, f.markdown)
	}
	if f.open {
		if err := openPage(path); err != nil {
			a.note("note: %v", err)
		}
	}
	a.noteLooked(failure.Spec, reply.Outcome)
	if f.json {
		return a.printJSON(reportDocument{program.Version(), "report", check.ExitHolds, failure.ID, path, page.Changed})
	}
	if page.Changed != "" {
		a.note("note: %s\n%s", page.Changed, whyChanged(p.changes(failure, reply.Outcome)))
	}
	fmt.Fprintln(a.out, path)
	return nil
}

// pageOf is the page of a replay that still shows the failure's violation.
func pageOf(failure *report.Failure, reply *explore.Reply) (*report.PageOf, error) {
	verdict := explore.Shown(reply.Summary.Verdicts, failure.Signature)
	if verdict == nil {
		return nil, program.WithCode(check.ExitUnknown, fmt.Errorf("failure %s: its run does not show the violation any more, so there is no page; "+
			"`bloodhound replay --all` searches near it", failure.ID))
	}
	page := &report.PageOf{StoryOf: report.StoryOf{Spec: failure.Spec, Outcome: reply.Outcome, Verdict: *verdict, Failure: failure.Failure,
		Background: failure.Background},
		Bloodhound: program.Version()}
	if e := failure.Explanation; e != nil && e.Hash == reply.Summary.Hash {
		page.Explanation = e
	}
	if reply.Summary.Hash != failure.Hash {
		page.Changed = fmt.Sprintf("This run is not the one that was stored: its trace hash was %s and is %s. It shows the same kind of violation.",
			failure.Hash, reply.Summary.Hash)
	}
	return page, nil
}

func writePage(page *report.PageOf, path string) error {
	var b bytes.Buffer
	if err := report.Page(&b, *page); err != nil {
		return err
	}
	if err := writeResult(path, b.Bytes()); err != nil {
		return err
	}
	wrote(page.Spec, path)
	return nil
}

// maxPages is of how many failures a campaign's page has pages beside it.
const maxPages = 20

// pagesFolder is where these lie.
func (f *flags) pagesFolder() string {
	if f.html == "" {
		return ""
	}
	return strings.TrimSuffix(f.html, filepath.Ext(f.html)) + "-failures"
}

// writePages writes the pages of the failures of a campaign beside its own, and gives their places from there on, by id. Each needs a
// run, of the smallest tape.
func (a *app) writePages(ctx context.Context, p *project, s *session, folder string, found []finding) map[string]string {
	pages := map[string]string{}
	for i := range found {
		f := &found[i]
		if folder == "" || len(pages) == maxPages || ctx.Err() != nil || f.story.File == "" {
			continue
		}
		if info, err := os.Stat(filepath.Dir(folder)); err != nil || !info.IsDir() {
			break
		}
		if err := a.writeFound(ctx, p, s, f, filepath.Join(folder, f.ID+".html")); err != nil {
			if ctx.Err() == nil {
				a.note("bloodhound: the page of failure %s could not be written: %v", f.ID, err)
			}
			continue
		}
		pages[f.ID] = filepath.Base(folder) + "/" + f.ID + ".html"
	}
	return pages
}

// writeFound writes the page of a failure that a campaign has found.
func (a *app) writeFound(ctx context.Context, p *project, s *session, f *finding, path string) error {
	page, err := a.pageOfRun(ctx, s, f.file.Small(), func(o *check.Judged) { a.keepCores(p, f.Name(), o) })
	if err != nil {
		return err
	}
	page.Replay, page.File, page.Shrunk = f.story.Replay, f.story.File, f.Shrunk
	return writePage(page, path)
}

// pageOfRun makes the run of a failure for its page. cores takes the core files of programs that crashed, which do not outlive the session.
func (a *app) pageOfRun(ctx context.Context, s *session, failure *report.Failure, cores func(*check.Judged)) (*report.PageOf, error) {
	own, setup := *s, *s.setup
	own.setup, setup.Spec = &setup, failure.Spec
	dir, err := own.dumpsFolder()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	job := &explore.Job{Tape: failure.Tape, Full: true, Dumps: dir, Trace: &explore.Trace{File: filepath.Join(dir, "diagram"), Format: report.DiagramFormat}}
	reply, err := own.run(ctx, job, nil)
	if err != nil {
		return nil, err
	}
	cores(reply.Outcome)
	page, err := pageOf(failure, reply)
	if err != nil {
		return nil, err
	}
	page.Diagram, err = readDiagram(job.Trace.File, page)
	return page, err
}

func readDiagram(file string, page *report.PageOf) (*report.Diagram, error) {
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return report.ReadDiagram(in, report.Nearness(page.Outcome, page.Verdict))
}

// campaignReports are the files that flags of a campaign ask for.
func (f *flags) campaignReports() []campaignReport {
	return []campaignReport{{"--html", f.html, report.CampaignPage}, {"--junit", f.junit, report.JUnit}, {"--sarif", f.sarif, report.SARIF}}
}

type campaignReport struct {
	flag, path string
	write      func(io.Writer, report.CampaignOf) error
}

// checkReports fails before the campaign runs if its reports could not be written after it.
func (f *flags) checkReports() error {
	byPath := map[string]string{}
	for _, r := range f.campaignReports() {
		if err := writable(r.flag, r.path); err != nil {
			return err
		}
		path, err := filepath.Abs(r.path)
		if err != nil {
			return err
		}
		if other := byPath[path]; r.path != "" && other != "" {
			return fmt.Errorf("%s and %s both name %s; give each a file of its own", other, r.flag, r.path)
		}
		byPath[path] = r.flag
	}
	return writable("--comment", f.comment)
}

// saveReports writes the files that flags ask for.
func (f *flags) saveReports(p *project, doc *campaignDocument, pages map[string]string) error {
	c := report.CampaignOf{Name: p.spec.Name, Bloodhound: program.Version(), Config: p.config, Totals: doc.Campaign, Status: doc.Status,
		ExitCode: doc.ExitCode, Arguments: p.arguments, Pages: pages}
	if dir, err := os.Getwd(); err == nil {
		c.Config = filepath.ToSlash(within(dir, p.config))
	}
	var errs []error
	for _, r := range f.campaignReports() {
		if r.path == "" {
			continue
		}
		var b bytes.Buffer
		errs = append(errs, r.write(&b, c), writeResult(r.path, b.Bytes()))
		wrote(p.spec, r.path)
	}
	return errors.Join(errs...)
}

// writable fails before anything runs if the file of a flag could not be written after it.
func writable(flag, path string) error {
	if path == "" {
		return nil
	}
	if problem, remedy := report.Unwritable(path); problem != "" {
		return fmt.Errorf("%s %s: %s; %s", flag, path, problem, remedy)
	}
	return nil
}

// writeResult writes a file that a flag names. What is there and no regular file, a pipe or /dev/stdout, is written to
// and not replaced.
func writeResult(path string, data []byte) error {
	info, err := os.Stat(path)
	if err != nil || info.Mode().IsRegular() {
		return report.WriteFile(path, data)
	}
	out, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = out.Write(data)
	return errors.Join(err, out.Close())
}
