package stored

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
)

// PageOf is the page of a replay that still shows the failure's violation.
func PageOf(failure *report.Failure, reply *explore.Reply) (*report.PageOf, error) {
	verdict := explore.Shown(reply.Summary.Verdicts, failure.Signature)
	if verdict == nil {
		return nil, program.WithCode(check.ExitUnknown, fmt.Errorf("failure %s: its run no longer shows the violation, so no page was written; "+
			"`bloodhound replay --all` tries similar runs", failure.ID))
	}
	page := &report.PageOf{StoryOf: report.StoryOf{Spec: failure.Spec, Outcome: reply.Outcome, Verdict: *verdict, Failure: failure.Failure,
		Background: failure.Background},
		Bloodhound: program.Version(), Commit: failure.Commit, System: failure.System, Discovery: failure.Discovery}
	if e := failure.Explanation; e != nil && e.Hash == reply.Summary.Hash {
		page.Explanation = e
	}
	if reply.Summary.Hash != failure.Hash {
		page.Changed = fmt.Sprintf("This is not the stored run: its trace hash was %s and is now %s. It shows the same kind of violation.",
			failure.Hash, reply.Summary.Hash)
	}
	return page, nil
}

// WritePage writes the page of a failure to a file.
func WritePage(page *report.PageOf, path string) error {
	var b bytes.Buffer
	if err := report.Page(&b, *page); err != nil {
		return err
	}
	if err := project.WriteResult(path, b.Bytes()); err != nil {
		return err
	}
	project.RecordOutput(page.Spec, path)
	return nil
}

// maxPages bounds the failures of a campaign that have pages of their own.
const maxPages = 20

// WritePages writes the pages of a campaign's failures beside its own page, and returns their relative paths by id. Each page replays the
// smallest tape once.
func WritePages(ctx context.Context, a *console.App, p *project.Project, s *project.Session, folder string, found []Finding) map[string]string {
	pages := map[string]string{}
	for i := range found {
		f := &found[i]
		if folder == "" || len(pages) == maxPages || ctx.Err() != nil || f.Story.File == "" {
			continue
		}
		if info, err := os.Stat(filepath.Dir(folder)); err != nil || !info.IsDir() {
			break
		}
		if err := writeFound(ctx, a, p, s, f, filepath.Join(folder, f.ID+".html")); err != nil {
			if ctx.Err() == nil {
				a.Note("bloodhound: could not write the page of failure %s: %v", f.ID, err)
			}
			continue
		}
		pages[f.ID] = filepath.Base(folder) + "/" + f.ID + ".html"
	}
	return pages
}

// writeFound writes the page of a failure that a campaign has found.
func writeFound(ctx context.Context, a *console.App, p *project.Project, s *project.Session, f *Finding, path string) error {
	page, err := PageOfRun(ctx, a, s, f.File.Small(), func(o *check.Judged) { KeepCores(a, p, f.Name(), o) })
	if err != nil {
		return err
	}
	page.Replay, page.File, page.Shrunk = f.Story.Replay, f.Story.File, f.Shrunk
	return WritePage(page, path)
}

// PageOfRun makes the run of a failure for its page. cores takes the core files of programs that crashed, which do not outlive the session.
func PageOfRun(ctx context.Context, a *console.App, s *project.Session, failure *report.Failure, cores func(*check.Judged)) (*report.PageOf, error) {
	own, setup := *s, *s.Setup
	own.Setup, setup.Spec = &setup, failure.Spec
	dir, err := DumpsFolder(&own)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	job := &explore.Job{Request: runner.Play(failure.Tape), Full: true, Dumps: dir,
		Trace: &explore.Trace{File: filepath.Join(dir, "diagram"), Format: report.DiagramFormat}}
	reply, err := own.Run(ctx, job, nil)
	if err != nil {
		return nil, err
	}
	cores(reply.Outcome)
	page, err := PageOf(failure, reply)
	if err != nil {
		return nil, err
	}
	page.Diagram, err = ReadDiagram(job.Trace.File, page)
	return page, err
}

// ReadDiagram reads the trace of a run as the diagram of a page.
func ReadDiagram(file string, page *report.PageOf) (*report.Diagram, error) {
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return report.ReadDiagram(in, report.Nearness(page.Outcome, page.Verdict))
}
