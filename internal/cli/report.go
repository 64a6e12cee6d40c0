package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/check"
	"github.com/bloodhound-dst/bloodhound/engine"
	"github.com/bloodhound-dst/bloodhound/explore"
	"github.com/bloodhound-dst/bloodhound/report"
)

func (a *app) reportVerb() *cobra.Command {
	f := &flags{}
	c := &cobra.Command{
		Use:   "report ID [FOLDER or FILE]",
		Short: "Write the page of a failure: one HTML file that needs nothing else",
		Long: `Makes the run of a failure again and writes a page about it: what was promised and what happened, a space-time
diagram, the operations, the logs of all nodes, the faults and the tape, in one HTML file that needs nothing else. ID is
the id of a failure, the beginning of one, or the path of a failure file. The page is .bloodhound/reports/ID.html unless
--html names another file; its path is printed. Exit code 0 means that it was written, 5 that the run does not show the
violation any more.`,
		Args: failureArguments,
		RunE: func(c *cobra.Command, args []string) error { return a.report(c, f, args) },
	}
	f.where(c)
	c.Flags().Var(fileFlag{&f.html}, "html", "write the page to this `file`")
	f.originalFlag(c)
	return c
}

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
	if err := writable("--html", f.html); err != nil {
		return err
	}
	p, full, err := a.loadFailure(c, f, args)
	if err != nil {
		return err
	}
	failure := f.runOf(full)
	path := f.html
	if path == "" {
		path = filepath.Join(p.state, "reports", failure.ID+".html")
	}
	if p.spec == nil {
		defer os.RemoveAll(p.state)
		if f.html == "" {
			path = failure.ID + ".html" // there is no state folder that stays
		}
	}
	s, err := openSession(failure.Spec, p.state, path)
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
	a.keepCores(p, failure.ID, reply.Outcome)
	if c.Context().Err() != nil {
		return errInterrupted
	}
	page, err := pageOf(failure, reply)
	if err != nil {
		return err
	}
	page.Replay = "bloodhound replay " + shellQuote(args[0]) + argumentsOf(f, args[1:])
	if failure != full {
		page.Shrunk = &full.Smallest.Shrunk
	}
	if f.original {
		page.Replay += " --original"
	}
	if !report.IsFailurePath(args[0]) {
		page.File = report.FailurePath(p.state, failure.ID)
	}
	if page.Diagram, err = readDiagram(job.Trace.File, page); err != nil {
		return failed(err)
	}
	var b bytes.Buffer
	if err := report.Page(&b, *page); err != nil {
		return failed(err)
	}
	if err := writeResult(path, b.Bytes()); err != nil {
		return failed(err)
	}
	wrote(failure.Spec, path)
	if f.json {
		return a.printJSON(reportDocument{Version(), "report", check.ExitHolds, failure.ID, path, page.Changed})
	}
	if page.Changed != "" {
		a.note("note: %s", page.Changed)
	}
	fmt.Fprintln(a.out, path)
	return nil
}

// pageOf is the page of a replay that still shows the failure's violation.
func pageOf(failure *report.Failure, reply *explore.Reply) (*report.PageOf, error) {
	var verdict *engine.Verdict
	for _, v := range explore.Violated(reply.Summary.Verdicts) {
		if explore.Signature(v) == failure.Signature {
			verdict = &v
			break
		}
	}
	if verdict == nil {
		return nil, &exitError{check.ExitUnknown, fmt.Errorf("failure %s: its run does not show the violation any more, so there is nothing to draw; "+
			"`bloodhound replay %s` tells what has changed", failure.ID, failure.ID)}
	}
	page := &report.PageOf{StoryOf: report.StoryOf{Spec: failure.Spec, Outcome: reply.Outcome, Verdict: *verdict, ID: failure.ID},
		Bloodhound: Version(), Signature: failure.Signature}
	if reply.Summary.Hash != failure.Hash {
		page.Changed = fmt.Sprintf("This run is not the one that was stored: its trace hash was %s and is %s. It shows the same kind of violation.",
			failure.Hash, reply.Summary.Hash)
	}
	return page, nil
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

// checkReports tells before a campaign runs that its reports could not be written after it.
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
	return nil
}

// saveReports writes the files that flags ask for.
func (f *flags) saveReports(p *project, doc *campaignDocument) error {
	c := report.CampaignOf{Name: p.spec.Name, Bloodhound: Version(), Config: p.config, Totals: doc.Campaign, Status: doc.Status,
		ExitCode: doc.ExitCode, Arguments: p.arguments}
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

// writable tells before anything runs that the file of a flag could not be written after it.
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
