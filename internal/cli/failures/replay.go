package failures

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/cli/stored"
	"github.com/bloodhound-dst/bloodhound/internal/driver/driverfile"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/filedigest"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
)

func replayVerb(a *console.App) *cobra.Command {
	f, l := &flags.Set{}, &stored.LookFlags{}
	var all bool
	var code string
	c := &cobra.Command{
		Use:   "replay ID [FOLDER or FILE]",
		Short: "Replay a failure, or look at any moment of its run",
		Long: "Replay a failure and compare the run with the stored one. ID is the id of a failure, a unique prefix" +
			" of it, or the path of a failure file. If the run differs, replay lists what has changed. Files " +
			"that were added to the project after the failure are listed, and hidden from the run so that it stays " +
			"the same. If any of the files read by the original run has changed, the added files are not hidden.\n\n" +
			"With --at, --ps, --sockets, --files, --fds, --ls, --cat, --tar or --core, the run pauses once and " +
			"prints the requested state. --logs then prints the lines written before that point. The run then " +
			"continues to its end; inspecting it does not change it.\n\n" +
			"With --all, replay every stored failure with the current programs. --code FOLDER uses the programs " +
			"in that folder instead, for example a patched checkout. If a failure no longer occurs because its run " +
			"has changed, 20 similar runs are tried.",
		Args: func(c *cobra.Command, args []string) error {
			if all {
				return flags.OneArgument(c, args)
			}
			return flags.FailureArguments(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case all:
				return replayAll(a, c, f, args, code)
			case code != "":
				return errors.New("--code needs --all: bloodhound replay --all [FOLDER or FILE] --code FOLDER")
			}
			return replayFailure(a, c, f, l, args)
		},
	}
	flags.AddSwitch(c, &all, "all", "replay all failures of the project, those in .bloodhound and those committed to failures/, with the current programs")
	c.Flags().Var(flags.File(&code), "code", "with --all: take the programs from this `folder`, such as a patched checkout")
	f.AddPlacesAndDocument(c)
	console.AddVerbose(f, c)
	f.AddTracing(c)
	stored.AddLogs(f, c)
	f.AddRuns(c, 1, "how many times to run", "give the number of runs, 1 or more")
	stored.AddOriginal(f, c)
	stored.AddUpdate(f, c)
	l.Add(c)
	return c
}

func replayFailure(a *console.App, c *cobra.Command, f *flags.Set, l *stored.LookFlags, args []string) error {
	if f.Logs && f.JSON && !l.Asked() {
		return stored.ErrLogsInDocument
	}
	p, full, err := stored.LoadFailure(a, c, f, args)
	if err != nil {
		return err
	}
	if p.Spec == nil {
		defer os.RemoveAll(p.State)
	}
	failure := stored.ChosenRun(f, full)
	job := &explore.Job{Request: runner.Play(failure.Tape), Full: true, Progress: !f.JSON}
	if job.Trace, err = project.TraceJob(f, c, p); err != nil {
		return err
	}
	look, err := l.Request(c, f, failure.Spec, program.IsTerminal(a.JSON))
	if err != nil {
		return err
	}
	job.Capture = l.Pcap
	s, err := stored.OpenFailure(a, p, failure, project.TraceFile(job), l.Pcap)
	if err != nil {
		return stored.ExplainLacking(p, args[0], full, err)
	}
	defer s.Close()
	if look != nil {
		return stored.ShowPoint(a, c, f, l, p, s, full, failure, job, look)
	}
	if p.Spec == nil { // there is no folder for a file
		f.Verbose = true
	}
	text := a.BeginText(p.State, f)
	defer text.Close()
	first, status, err := replays(c.Context(), a, s, job, failure, f)
	if err != nil {
		return err
	}
	stored.KeepCores(a, p, failure.Name(), first.Outcome)
	if p.Spec != nil && failure == full && first.Summary.Hash == failure.Hash { // what `check` judges
		if err := report.SaveEvidence(p.State, failure.Name(), first.Outcome); err != nil {
			a.Note("bloodhound: the history could not be stored: %v", err)
		}
	}
	if err := stored.PrintRun(a, f, failure.Tape.Own(), first); err != nil {
		return err
	}
	doc := documentOf(p, s, job, failure, first)
	stored.NoteLooked(a, failure.Spec, first.Outcome)
	if status.Unrepeatable {
		doc.Judgement, doc.ExitCode = report.Judgement(status, 1), check.ExitNotReproducible
	} else {
		doc.Judgement, doc.ExitCode = judgeReplay(failure, first, doc.Changes)
	}
	a.Code = doc.ExitCode
	if f.Update && doc.ExitCode == check.ExitViolated && first.Summary.Hash != failure.Hash {
		if err := stored.RenewFailure(a, p, s, args[0], full, first, f.Original); err != nil {
			return err
		}
	}
	if f.JSON {
		return a.PrintJSON(doc)
	}
	if err := printStory(a, f, args, failure, full, first); err != nil {
		return err
	}
	printOutputs(a, &doc, first.Summary.Hash != failure.Hash)
	return text.Show(replayScreen(a, f, args, failure, full, first, &doc))
}

// documentOf makes the document of a replay without its judgement, and records the files that it names.
func documentOf(p *project.Project, s *project.Session, job *explore.Job, failure *report.Failure, first *explore.Reply) stored.RunDocument {
	doc := stored.RunDocument{Bloodhound: program.Version(), Verb: "replay", Tape: failure.Tape, Run: first.Summary,
		Failures: []string{failure.ID}, Found: identities(failure), Changes: stored.ChangesSince(p, failure, first.Outcome), Hidden: s.Later}
	if job.Trace != nil {
		doc.Trace = job.Trace.File
		project.RecordOutput(failure.Spec, doc.Trace)
	}
	if doc.Packets = job.Capture; doc.Packets != "" {
		project.RecordOutput(failure.Spec, doc.Packets)
	}
	return doc
}

// printOutputs prints the changes since the failure was found, if the run changed with them, the files of a replay and its judgement.
func printOutputs(a *console.App, doc *stored.RunDocument, changed bool) {
	if changed {
		stored.PrintOtherChanges(a, doc.Changes)
	}
	if doc.Trace != "" {
		fmt.Fprintf(a.Out, "\ntrace in %s\n", doc.Trace)
	}
	if doc.Packets != "" {
		fmt.Fprintf(a.Out, "\npackets in %s\n", doc.Packets)
	}
	fmt.Fprintf(a.Out, "\n%s\n", doc.Judgement)
}

// replays makes the run of a failure as often as a flag says, until one differs from the first. A violation by a changed run is made
// twice at least: it counts only if that run repeats.
func replays(ctx context.Context, a *console.App, s *project.Session, job *explore.Job, failure *report.Failure, f *flags.Set) (first *explore.Reply,
	status explore.Status, err error) {
	runs, began := f.Runs, filedigest.Now()
	for run := uint64(1); run <= runs; run++ {
		if job.Dumps = ""; run == 1 {
			if job.Dumps, err = stored.DumpsFolder(s); err != nil {
				return nil, status, err
			}
		}
		reply, err := project.OneRun(ctx, a, s, job, f.JSON)
		if err != nil {
			return nil, status, err
		}
		if ctx.Err() != nil {
			return nil, status, program.WithCode(check.ExitUnknown,
				errors.New("interrupted before the end of the replay; the failure is stored, and the same command replays it"))
		}
		if !f.JSON && f.Runs > 1 {
			fmt.Fprintf(a.Out, "replay %d of %d: trace hash %s\n", run, f.Runs, reply.Summary.Hash)
		}
		if reply.Summary.Repeat.Once {
			return reply, status, nil
		}
		if first == nil {
			first = reply
			if reply.Summary.Hash != failure.Hash && len(explore.Violated(reply.Summary.Verdicts)) > 0 {
				runs = max(runs, 2)
			}
			continue
		}
		if d := stored.DiffRuns(began, first, reply); d != "" {
			status.Unrepeatable = true
			first.Summary.Repeat = record.Repeat{Reason: fmt.Sprintf("replay %d differs from replay 1: %s", run, d)}
			break
		}
	}
	return first, status, nil
}

// identities names the one failure that a document is about.
func identities(f *report.Failure) []failure.Failure { return []failure.Failure{f.Failure} }

// printStory prints the violation of a failure, if its replay shows it.
func printStory(a *console.App, f *flags.Set, args []string, stored, full *report.Failure, r *explore.Reply) error {
	for _, v := range explore.Violated(r.Summary.Verdicts) {
		if !failure.Alike(v.Signature(), stored.Signature) {
			continue
		}
		fmt.Fprintln(a.Out)
		if err := report.Story(a.Out, storyOf(f, args, stored, full, r.Outcome, v)); err != nil {
			return err
		}
	}
	return nil
}

// storyOf is the story of a failure's violation, with the command that replays it.
func storyOf(f *flags.Set, args []string, failure, full *report.Failure, o *check.Judged, v check.Verdict) report.StoryOf {
	story := report.StoryOf{Spec: failure.Spec, Outcome: o, Verdict: v, Failure: failure.Failure,
		Replay:     "bloodhound replay " + flags.ShellQuote(args[0]) + flags.ArgumentsOf(f, args[1:]),
		Background: full.Background}
	if failure != full {
		story.Shrunk = &full.Smallest.Shrunk
	}
	if f.Original {
		story.Replay += " --original"
	}
	return story
}

// replayScreen is the last screen of a replay.
func replayScreen(a *console.App, f *flags.Set, args []string, failure, full *report.Failure, r *explore.Reply, doc *stored.RunDocument) *report.Screen {
	var first *report.StoryOf
	if v := explore.Shown(r.Summary.Verdicts, failure.Signature); v != nil {
		story := storyOf(f, args, failure, full, r.Outcome, *v)
		story.File = failure.Name() // it is stored, wherever
		first = &story
	}
	return report.ReplayScreen(failure.Spec, r.Summary, first, doc.Judgement, doc.ExitCode, doc.Changes, flags.ArgumentsOf(f, args[1:]))
}

// judgeReplay compares a replay with what was stored.
func judgeReplay(f *report.Failure, r *explore.Reply, changes []string) (text string, code int) {
	same := r.Summary.Hash == f.Hash
	status := explore.StatusOfVerdicts(r.Summary)
	onlyDriver := f.OtherDriver(r.Outcome) && len(changes) == len(stored.BuildChanges(f, r.Outcome))
	there := explore.Shown(r.Summary.Verdicts, f.Signature) != nil
	switch {
	case same && there:
		return "replayed: the same trace hash and the same violation", check.ExitViolated
	case same:
		return fmt.Sprintf("UNKNOWN: the run is the same, but %s is judged differently now, because the check or its property has changed",
			f.Verdict.Property), check.ExitUnknown
	case status.Unrepeatable:
		return report.Judgement(status, 1), check.ExitNotReproducible
	case status.Once && there:
		return "VIOLATED again, in another run: runs of this engine happen only once", check.ExitViolated
	case status.Once && !status.Violated:
		return "UNKNOWN: the violation did not show again. Runs of this engine happen only once, and each may or may not " +
			"show it; `--engine native` repeats", check.ExitUnknown
	case there && onlyDriver:
		return "VIOLATED again, in another run, because the driver program differs: " + driverRemedy(f), check.ExitViolated
	case there:
		return fmt.Sprintf("VIOLATED again, in a changed run: other commands use the run as it is now, and `bloodhound replay %s --update` stores it "+
			"(trace hash %s before, %s now)", f.ID, f.Hash, r.Summary.Hash), check.ExitViolated
	case onlyDriver:
		return "UNKNOWN: the driver program, which runs inside the world, differs and changes the run: " + driverRemedy(f),
			check.ExitUnknown
	case status.Violated:
		return "VIOLATED in another way than stored, in a changed run", check.ExitViolated
	case len(changes) == 0:
		return fmt.Sprintf("NOT REPRODUCIBLE: no change was found, but the trace hash was %s and is now %s; `bloodhound "+
			"verify` shows whether runs repeat on this machine", f.Hash, r.Summary.Hash), check.ExitNotReproducible
	}
	return "UNKNOWN: stale: the run has changed and no longer shows the violation, so the replay cannot tell whether the " +
		"bug is fixed; search again with `bloodhound explore`", check.ExitUnknown
}

// driverRemedy says how to replay a failure with the driver program of its own run.
func driverRemedy(f *report.Failure) string {
	return fmt.Sprintf("replay with the bloodhound that recorded it (%s), or give its driver program "+
		"(sha256:%.12s) with %s=FILE (`bloodhound docs platforms`)", f.Bloodhound, f.Driver, driverfile.VariableFor(f.Spec))
}
