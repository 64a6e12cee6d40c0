package cli

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/filedigest"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

func (a *app) runVerb() *cobra.Command {
	f := &flags{}
	c := &cobra.Command{
		Use:   "run [FOLDER or FILE]",
		Short: "Run a world once and check the properties",
		Long: `Runs a world once, with one seed, and checks the properties.
` + exitCodes,
		Args: oneArgument,
		RunE: func(c *cobra.Command, args []string) error { return a.run(c, f, args) },
	}
	f.where(c)
	f.verboseFlag(c)
	f.oneTape(c)
	f.modeFlag(c)
	f.tracing(c)
	f.logsFlag(c)
	addSwitch(c, &f.async, "async-vm", "engine vm: run in real time, and take orders of `bloodhound vm`")
	addSwitch(c, &f.reached, "reached", "print the features that the run reached, by which a search compares runs")
	c.Flags().Var(numberFlag{&f.until, 1, math.MaxUint64, "give the number of an event, 1 or more"},
		"until", "stop after this `event`; the run is not judged then")
	return c
}

// runDocument is the JSON document of run and replay.
type runDocument struct {
	Bloodhound string           `json:"bloodhound"`
	Verb       string           `json:"verb"`
	ExitCode   int              `json:"exit_code"`
	Judgement  string           `json:"judgement"`
	Tape       tape.Tape        `json:"tape"`
	Run        *explore.Summary `json:"run"`
	Notices    []string         `json:"notices,omitempty"`
	Failures   []string         `json:"failures,omitempty"` // ids
	// Found are these failures, with the runs that show them.
	Found   []failure.Failure `json:"found,omitempty"`
	Changes []string          `json:"changes,omitempty"`
	Hidden  []string          `json:"hidden,omitempty"` // files of the project that are newer than the failure
	Trace   string            `json:"trace,omitempty"`
	Packets string            `json:"packets,omitempty"` // the file of --pcap
}

func (a *app) run(c *cobra.Command, f *flags, args []string) error {
	if f.logs && f.json {
		return errLogsInDocument
	}
	f.asWritten = f.mode == ""
	p, err := a.load(c.Context(), f, args)
	if err != nil {
		return err
	}
	if f.async {
		if err := p.inRealTime(); err != nil {
			return err
		}
	}
	text := a.text(p.state, f)
	defer text.close()
	t, err := f.tape(c, p)
	if err != nil {
		return err
	}
	job := &explore.Job{Tape: t, Until: f.until, Full: true, Progress: !f.json, Behaviour: f.reached}
	if job.Trace, err = f.traceJob(c, p); err != nil {
		return err
	}
	if err := p.build(c.Context(), a); err != nil {
		return err
	}
	s, err := p.open(traceFile(job))
	if err != nil {
		return err
	}
	defer func() { s.close() }()
	if job.Dumps, err = s.dumpsFolder(); err != nil {
		return err
	}
	began := filedigest.Now()
	reply, err := a.oneRun(c.Context(), s, job, f.json)
	if err == nil && p.moveOn(a, refusalOf(reply.Summary)) {
		s.close()
		if s, err = p.open(traceFile(job)); err != nil {
			return err
		}
		if job.Dumps, err = s.dumpsFolder(); err != nil {
			return err
		}
		reply, err = a.oneRun(c.Context(), s, job, f.json)
	}
	if err != nil {
		return err
	}
	doc := runDocument{Bloodhound: program.Version(), Verb: "run", Tape: t, Run: reply.Summary}
	if job.Trace != nil {
		doc.Trace = job.Trace.File
		wrote(p.spec, doc.Trace)
	}
	status := explore.StatusOf(p.spec, reply.Summary)
	violated, err := a.confirmed(c.Context(), s, t, began, reply, &status, f.json)
	if err != nil {
		return err
	}
	if err := a.printRun(f, t.Own(), reply); err != nil {
		return err
	}
	var first *report.StoryOf
	for _, v := range violated {
		id := explore.Identify(p.testName(), p.spec, reply.Outcome.Tape, &v)
		a.keepCores(p, id.Name(), reply.Outcome)
		story, _ := a.keep(p, reply.Outcome, v, nil)
		first = cmp.Or(first, &story)
		doc.Failures, doc.Found = append(doc.Failures, story.ID), append(doc.Found, story.Failure)
		if !f.json {
			fmt.Fprintln(a.out)
			if err := report.Story(a.out, story); err != nil {
				return err
			}
			if story.File != "" && !reply.Summary.Repeat.Once {
				fmt.Fprintf(a.out, "  bloodhound shrink %s%s makes it smaller\n", story.ID, p.arguments)
			}
		}
	}
	doc.Judgement, doc.Notices = report.Judgement(status, 1), status.Notices
	doc.ExitCode = status.ExitCode()
	a.code = doc.ExitCode
	if f.json {
		return a.printJSON(doc)
	}
	for _, n := range status.Notices {
		fmt.Fprintf(a.out, "\nnote: %s\n", n)
	}
	if doc.Trace != "" {
		fmt.Fprintf(a.out, "  trace in %s\n", doc.Trace)
	}
	fmt.Fprintf(a.out, "\n%s\n", doc.Judgement)
	return text.show(report.RunScreen(p.spec, reply.Summary, reply.Outcome.Log, status, first, t.Own(), p.arguments))
}

// confirmed replays a run that began at a time and violates properties: they count as violated only if the run repeats, unless no run of the engine does.
func (a *app) confirmed(ctx context.Context, s *session, t tape.Tape, began time.Time, r *explore.Reply, status *explore.Status,
	quiet bool) ([]check.Verdict, error) {
	violated := explore.Violated(r.Summary.Verdicts)
	if len(violated) == 0 || r.Summary.Repeat.Once {
		return violated, nil
	}
	again, err := a.oneRun(ctx, s, &explore.Job{Tape: t, Full: true, Contrast: true}, quiet)
	if err != nil {
		return nil, fmt.Errorf("the replay of a violation: %w", err)
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("the replay of a violation: %w", errInterrupted)
	}
	d := differ(began, r, again)
	if d == "" {
		return violated, nil
	}
	if err := a.notRepeated(ctx, s, t, r.Summary, d, quiet); err != nil {
		return nil, fmt.Errorf("the second replay of a violation: %w", err)
	}
	status.Violated, status.Unrepeatable = false, true
	return nil, nil
}

// notRepeated notes that a run with other breakpoints differs from the first one, and whether that is because a program reads its own code.
func (a *app) notRepeated(ctx context.Context, s *session, t tape.Tape, first *explore.Summary, difference string, quiet bool) error {
	reads, err := a.readsCode(ctx, s, t, first, quiet)
	if err != nil {
		return err
	}
	if reads {
		difference = explore.ReadsCode + ": " + difference
	}
	first.Repeat = record.Repeat{Reason: "the same tape gave two runs: " + difference}
	return nil
}

// readsCode reports whether a run is the same when it is made once more, after other breakpoints have made another run of it.
func (a *app) readsCode(ctx context.Context, s *session, t tape.Tape, first *explore.Summary, quiet bool) (bool, error) {
	again, err := a.oneRun(ctx, s, &explore.Job{Tape: t, Full: true, FromBoot: true}, quiet)
	if err == nil && ctx.Err() != nil {
		err = errInterrupted
	}
	if err != nil {
		return false, err
	}
	return explore.Differs(first, again.Summary) == "", nil
}

// printRun prints a run, apart from its violations.
func (a *app) printRun(f *flags, seed uint64, r *explore.Reply) error {
	if f.logs {
		if err := report.Logs(a.out, r.Outcome); err != nil {
			return err
		}
	}
	if f.json {
		return nil
	}
	if err := report.Run(a.out, seed, r.Summary); err != nil || !f.reached {
		return err
	}
	return report.Reached(a.out, r.Summary.Reached, r.Summary.Near)
}

// oneRun does a job and shows its progress.
func (a *app) oneRun(ctx context.Context, s *session, job *explore.Job, quiet bool) (*explore.Reply, error) {
	p := newProgress(a.err, false, quiet)
	defer p.end()
	return s.run(ctx, job, func(now explore.Progress) {
		p.show(func(elapsed time.Duration) string {
			return fmt.Sprintf("seed %d: %s, %s of virtual time in %s", job.Tape.Own(), plural.Count(now.Events, "event"),
				report.Seconds(now.VirtualNs), elapsed.Round(time.Second))
		})
	})
}
