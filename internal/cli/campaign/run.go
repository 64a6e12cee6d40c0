package campaign

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/cli/stored"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/filedigest"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// runFlags holds the flags of the verb run.
type runFlags struct {
	flags.Set
	async bool
	until uint64
}

func runVerb(a *console.App) *cobra.Command {
	f := &runFlags{}
	c := &cobra.Command{
		Use:   "run [FOLDER or FILE]",
		Short: "Run the system once and check its properties",
		Long: "Run the system in a bloodhound.yaml once, with one seed, and check its properties. The same seed " +
			"gives the same run.",
		Args: flags.OneArgument,
		RunE: func(c *cobra.Command, args []string) error { return runProject(a, c, f, args) },
	}
	f.AddPlacesAndDocument(c)
	console.AddVerbose(&f.Set, c)
	f.AddOneTape(c)
	f.AddMode(c, "none")
	f.AddTracing(c)
	stored.AddLogs(&f.Set, c)
	flags.AddSwitch(c, &f.async, "async-vm", "with --engine vm: run in real time; control the run with the command `bloodhound vm`")
	flags.AddSwitch(c, &f.Reached, "reached", "also print the behaviours that occurred in the run; a search uses them to compare runs")
	c.Flags().Var(flags.Number(&f.until, 1, math.MaxUint64, "give the number of an event, 1 or more"),
		"until", "stop after the event of this `number`, without a verdict")
	return c
}

func runProject(a *console.App, c *cobra.Command, f *runFlags, args []string) error {
	if f.Logs && f.JSON {
		return stored.ErrLogsInDocument
	}
	f.AsWritten = f.Mode == ""
	p, err := project.Load(c.Context(), a, &f.Set, args)
	if err != nil {
		return err
	}
	if f.async {
		if err := runInRealTime(p); err != nil {
			return err
		}
	}
	text := a.BeginText(p.State, &f.Set)
	defer text.Close()
	t, err := project.TapeOf(&f.Set, c, p)
	if err != nil {
		return err
	}
	job := &explore.Job{Request: runner.Request{Candidate: search.Candidate{Tape: t}, Until: f.until}, Full: true, Progress: !f.JSON, Behaviour: f.Reached}
	if job.Trace, err = project.TraceJob(&f.Set, c, p); err != nil {
		return err
	}
	if err := p.Build(c.Context(), a); err != nil {
		return err
	}
	s, err := openForRun(p, job)
	if err != nil {
		return err
	}
	defer func() {
		if s != nil { // it could not be opened again
			s.Close()
		}
	}()
	began := filedigest.Now()
	reply, err := project.OneRun(c.Context(), a, s, job, f.JSON)
	if err == nil && p.MoveOn(a, project.RefusalOf(reply.Summary)) {
		s.Close()
		if s, err = openForRun(p, job); err != nil {
			return err
		}
		reply, err = project.OneRun(c.Context(), a, s, job, f.JSON)
	}
	if err != nil {
		return err
	}
	doc := stored.RunDocument{Bloodhound: program.Version(), Verb: "run", Tape: t, Run: reply.Summary}
	if job.Trace != nil {
		doc.Trace = job.Trace.File
		project.RecordOutput(p.Spec, doc.Trace)
	}
	status := explore.StatusOf(p.Spec, reply.Summary)
	violated, err := confirmed(c.Context(), a, s, t, began, reply, &status, f.JSON)
	if err != nil {
		return err
	}
	if err := stored.PrintRun(a, &f.Set, t.Own(), reply); err != nil {
		return err
	}
	first, err := keepViolations(a, p, violated, reply, &doc, f.JSON)
	if err != nil {
		return err
	}
	doc.Judgement, doc.Notices = report.Judgement(status, 1), status.Notices
	doc.ExitCode = status.ExitCode()
	a.Code = doc.ExitCode
	if f.JSON {
		return a.PrintJSON(doc)
	}
	printEnd(a.Out, &doc)
	return text.Show(report.RunScreen(p.Spec, reply.Summary, reply.Outcome.Log, status, first, t.Own(), p.Arguments))
}

// openForRun opens a session whose run may write the trace and the core dumps of a job.
func openForRun(p *project.Project, job *explore.Job) (*project.Session, error) {
	s, err := p.Open(project.TraceFile(job))
	if err != nil {
		return nil, err
	}
	if job.Dumps, err = stored.DumpsFolder(s); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// keepViolations stores the violations of a run, tells their stories, and returns the first of these.
func keepViolations(a *console.App, p *project.Project, violated []check.Verdict, reply *explore.Reply, doc *stored.RunDocument,
	quiet bool) (first *report.StoryOf, err error) {
	for _, v := range violated {
		id := explore.Identify(p.TestName(), p.Spec, reply.Outcome.Tape, &v)
		stored.KeepCores(a, p, id.Name(), reply.Outcome)
		story, _ := stored.KeepViolation(a, p, reply.Outcome, v, nil)
		first = cmp.Or(first, &story)
		doc.Failures, doc.Found = append(doc.Failures, story.ID), append(doc.Found, story.Failure)
		if !quiet {
			fmt.Fprintln(a.Out)
			if err := report.Story(a.Out, story); err != nil {
				return nil, err
			}
			if story.File != "" && !reply.Summary.Repeat.Once {
				fmt.Fprintf(a.Out, "  bloodhound shrink %s%s makes it smaller\n", story.ID, p.Arguments)
			}
		}
	}
	return first, nil
}

// printEnd prints the notices of a run, the file of its trace and the judgement.
func printEnd(out io.Writer, doc *stored.RunDocument) {
	for _, n := range doc.Notices {
		fmt.Fprintf(out, "\nnote: %s\n", n)
	}
	if doc.Trace != "" {
		fmt.Fprintf(out, "  trace in %s\n", doc.Trace)
	}
	fmt.Fprintf(out, "\n%s\n", doc.Judgement)
}

// confirmed replays a run that began at a time and violates properties: they count as violated only if the run repeats, unless no run of the engine does.
func confirmed(ctx context.Context, a *console.App, s *project.Session, t tape.Tape, began time.Time, r *explore.Reply, status *explore.Status,
	quiet bool) ([]check.Verdict, error) {
	violated := explore.Violated(r.Summary.Verdicts)
	if len(violated) == 0 || r.Summary.Repeat.Once {
		return violated, nil
	}
	again, err := project.OneRun(ctx, a, s, &explore.Job{Request: runner.Play(t), Full: true, Contrast: true}, quiet)
	if err != nil {
		return nil, fmt.Errorf("the replay of a violation: %w", err)
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("the replay of a violation: %w", project.ErrInterrupted)
	}
	d := stored.DiffRuns(began, r, again)
	if d == "" {
		return violated, nil
	}
	if err := project.NoteUnrepeatable(ctx, a, s, t, r.Summary, d, quiet); err != nil {
		return nil, fmt.Errorf("the second replay of a violation: %w", err)
	}
	status.Violated, status.Unrepeatable = false, true
	return nil, nil
}
