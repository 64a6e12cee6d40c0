package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/config"
	"github.com/bloodhound-dst/bloodhound/internal/driver/driverfile"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/filedigest"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/runner/engines"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// changesShown bounds how many of the differences from the stored run are listed.
const changesShown = 20

func replayVerb(a *console.App) *cobra.Command {
	f, l := &flags.Set{}, &lookFlags{}
	var all bool
	var code string
	c := &cobra.Command{
		Use:   "replay ID [FOLDER or FILE]",
		Short: "Replay the run of a failure",
		Long: `Makes the run of a failure again and compares its trace hash and verdict with the stored ones. ID is the id of a failure, a
unique prefix of one, or the path of a failure file. If the run differs, replay lists what else has changed. Files of the project that are
newer than the failure are hidden from its run, and named, unless a file that the run read has changed.
Exit code 1: a violation, by the same run or by a changed run that was made twice; 4: the run does not repeat; 5: the run has
changed and shows no violation any more, or it is judged differently.

With --at, --ps, --sockets, --files, --fds, --ls, --cat, --tar or --core the run stops once on its way and shows what there is, with
--logs those until then. It goes on to its end, which looking does not change. Exit code 0: it is the stored run; 4 or 5: it is
another one, for no known reason or because something has changed, which is listed on standard error.

replay --all [FOLDER or FILE] makes the runs of all stored failures on the code as it is now, or on that in the folder of --code: a
patch, say. Where a tape makes another run without the violation, 20 runs near it are made, too. Exit code 0: all are clean; 1: one is
reproduced.`,
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
				return errors.New("--code is of --all: bloodhound replay --all [FOLDER or FILE] --code FOLDER")
			}
			return replayFailure(a, c, f, l, args)
		},
	}
	flags.AddSwitch(c, &all, "all", "make the runs of all failures of the project, and of its failures folder, and print what the code does in them now")
	c.Flags().Var(flags.FileFlag{Name: &code}, "code", "--all: run the programs of the project in this `folder`, a checkout with a change say")
	f.AddPlacesAndDocument(c)
	console.VerboseFlag(f, c)
	f.AddTracing(c)
	addLogsFlag(f, c)
	f.RunsFlag(c, 1, "how many runs to make", "give the number of runs, 1 or more")
	addOriginalFlag(f, c)
	addUpdateFlag(f, c)
	l.add(c)
	return c
}

func replayFailure(a *console.App, c *cobra.Command, f *flags.Set, l *lookFlags, args []string) error {
	if f.Logs && f.JSON && !l.asked() {
		return errLogsInDocument
	}
	p, full, err := loadFailure(a, c, f, args)
	if err != nil {
		return err
	}
	if p.Spec == nil {
		defer os.RemoveAll(p.State)
	}
	failure := chosenRun(f, full)
	job := &explore.Job{Tape: failure.Tape, Full: true, Progress: !f.JSON}
	if job.Trace, err = project.TraceJob(f, c, p); err != nil {
		return err
	}
	look, err := l.request(c, f, failure.Spec, program.IsTerminal(a.JSON))
	if err != nil {
		return err
	}
	job.Capture = l.pcap
	s, err := openFailure(a, p, failure, project.TraceFile(job), l.pcap)
	if err != nil {
		return explainLacking(p, args[0], full, err)
	}
	defer s.Close()
	if look != nil {
		return showPoint(a, c, f, l, p, s, full, failure, job, look)
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
	keepCores(a, p, failure.Name(), first.Outcome)
	if p.Spec != nil && failure == full && first.Summary.Hash == failure.Hash { // what `check` judges
		if err := report.SaveEvidence(p.State, failure.Name(), first.Outcome); err != nil {
			a.Note("bloodhound: the history could not be stored: %v", err)
		}
	}
	if err := printRun(a, f, failure.Tape.Own(), first); err != nil {
		return err
	}
	doc := runDocument{Bloodhound: program.Version(), Verb: "replay", Tape: failure.Tape, Run: first.Summary,
		Failures: []string{failure.ID}, Found: identities(failure), Changes: changesSinceFailure(p, failure, first.Outcome), Hidden: s.Later}
	noteLooked(a, failure.Spec, first.Outcome)
	if job.Trace != nil {
		doc.Trace = job.Trace.File
		project.RecordOutput(failure.Spec, doc.Trace)
	}
	if doc.Packets = job.Capture; doc.Packets != "" {
		project.RecordOutput(failure.Spec, doc.Packets)
	}
	if status.Unrepeatable {
		doc.Judgement, doc.ExitCode = report.Judgement(status, 1), check.ExitNotReproducible
	} else {
		doc.Judgement, doc.ExitCode = judgeReplay(failure, first, doc.Changes)
	}
	a.Code = doc.ExitCode
	if f.Update && doc.ExitCode == check.ExitViolated && first.Summary.Hash != failure.Hash {
		if err := renew(a, p, s, args[0], full, first, f.Original); err != nil {
			return err
		}
	}
	if f.JSON {
		return a.PrintJSON(doc)
	}
	if err := printStory(a, f, args, failure, full, first); err != nil {
		return err
	}
	if first.Summary.Hash != failure.Hash {
		printOtherChanges(a, doc.Changes)
	}
	if doc.Trace != "" {
		fmt.Fprintf(a.Out, "\ntrace in %s\n", doc.Trace)
	}
	if doc.Packets != "" {
		fmt.Fprintf(a.Out, "\npackets in %s\n", doc.Packets)
	}
	fmt.Fprintf(a.Out, "\n%s\n", doc.Judgement)
	return text.Show(replayScreen(a, f, args, failure, full, first, &doc))
}

// replays makes the run of a failure as often as a flag says, until one differs from the first. A violation by a changed run is made
// twice at least: it counts only if that run repeats.
func replays(ctx context.Context, a *console.App, s *project.Session, job *explore.Job, failure *report.Failure, f *flags.Set) (first *explore.Reply,
	status explore.Status, err error) {
	runs, began := f.Runs, filedigest.Now()
	for run := uint64(1); run <= runs; run++ {
		if job.Dumps = ""; run == 1 {
			if job.Dumps, err = dumpsFolder(s); err != nil {
				return nil, status, err
			}
		}
		reply, err := project.OneRun(ctx, a, s, job, f.JSON)
		if err != nil {
			return nil, status, err
		}
		if ctx.Err() != nil {
			return nil, status, program.WithCode(check.ExitUnknown,
				errors.New("interrupted before the end of the replay; the failure is kept, and the same command replays it"))
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
		if d := differ(began, first, reply); d != "" {
			status.Unrepeatable = true
			first.Summary.Repeat = record.Repeat{Reason: fmt.Sprintf("replay %d differs from the first: %s", run, d)}
			break
		}
	}
	return first, status, nil
}

// changesSinceFailure lists what is different now from when a failure was stored.
func changesSinceFailure(p *project.Project, failure *report.Failure, o *check.Judged) []string {
	list := failure.Changes(o)
	if failure.Tree != nil && failure.Then() == nil { // the run has the permissions of now
		list = append(list, failure.Tree.ModesChanged(treeOf(failure.Spec))...)
	}
	if p.MovedFrom != "" {
		list = append([]string{fmt.Sprintf("the project lay in %s and lies in %s: paths are part of a run", p.MovedFrom, p.Spec.Dir)}, list...)
	}
	return append(list, buildChanges(failure, o)...)
}

// buildChanges lists what another build of bloodhound changes by itself: its version, and its driver program.
func buildChanges(f *report.Failure, o *check.Judged) (list []string) {
	if v := program.Version(); v != f.Bloodhound {
		list = append(list, fmt.Sprintf("bloodhound was %q and is %q", f.Bloodhound, v))
	}
	if f.OtherDriver(o) {
		list = append(list, fmt.Sprintf("the driver program was sha256:%.12s and is sha256:%.12s", f.Driver, o.Driver))
	}
	return list
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
func replayScreen(a *console.App, f *flags.Set, args []string, failure, full *report.Failure, r *explore.Reply, doc *runDocument) *report.Screen {
	var first *report.StoryOf
	if v := explore.Shown(r.Summary.Verdicts, failure.Signature); v != nil {
		story := storyOf(f, args, failure, full, r.Outcome, *v)
		story.File = failure.Name() // it is stored, wherever
		first = &story
	}
	return report.ReplayScreen(failure.Spec, r.Summary, first, doc.Judgement, doc.ExitCode, doc.Changes, flags.ArgumentsOf(f, args[1:]))
}

func printOtherChanges(a *console.App, changes []string) {
	if len(changes) == 0 {
		return
	}
	fmt.Fprintln(a.Out, "\nother changes")
	printChanges(a.Out, changes)
}

// printOtherChanges prints a list of changes, as far as a person reads it.
func printChanges(w io.Writer, changes []string) {
	for i, change := range changes {
		if i == changesShown {
			fmt.Fprintf(w, "  ... and %d more\n", len(changes)-i)
			break
		}
		fmt.Fprintf(w, "  %s\n", change)
	}
}

// differ tells how the second of two runs of a tape is another one, and which files changed since the first began; empty if both are equal.
func differ(began time.Time, first, second *explore.Reply) string {
	d := explore.Differs(first.Summary, second.Summary)
	if d == "" || first.Outcome == nil || second.Outcome == nil {
		return d
	}
	if list := filedigest.Meanwhile(began, first.Outcome.Files, second.Outcome.Files); len(list) > 0 {
		d += "; changed meanwhile, which may be why: " + report.Some(list, maxFilesNamed)
	}
	return d
}

// maxFilesNamed bounds the changed files that a line names.
const maxFilesNamed = 5

// judgeReplay compares a replay with what was stored.
func judgeReplay(f *report.Failure, r *explore.Reply, changes []string) (text string, code int) {
	same := r.Summary.Hash == f.Hash
	status := explore.StatusOfVerdicts(r.Summary)
	onlyDriver := f.OtherDriver(r.Outcome) && len(changes) == len(buildChanges(f, r.Outcome))
	there := explore.Shown(r.Summary.Verdicts, f.Signature) != nil
	switch {
	case same && there:
		return "replayed: the same trace hash and the same violation", check.ExitViolated
	case same:
		return fmt.Sprintf("UNKNOWN: the run is the same, but %s is judged differently now: the check or its property has changed",
			f.Verdict.Property), check.ExitUnknown
	case status.Unrepeatable:
		return report.Judgement(status, 1), check.ExitNotReproducible
	case status.Once && there:
		return "VIOLATED again, observed in another run: those of this engine happen once", check.ExitViolated
	case status.Once && !status.Violated:
		return "UNKNOWN: the violation was not observed again: runs of this engine happen once, and each has its own chance to " +
			"show it; `--engine native` runs the tape", check.ExitUnknown
	case there && onlyDriver:
		return "VIOLATED again, in another run, because the driver program is another one: " + driverRemedy(f), check.ExitViolated
	case there:
		return fmt.Sprintf("VIOLATED again, in a run that has changed: other commands work on it as it is now, and `bloodhound replay %s --update` stores it "+
			"(its trace hash was %s and is %s)", f.ID, f.Hash, r.Summary.Hash), check.ExitViolated
	case onlyDriver:
		return "UNKNOWN: the driver program, which runs inside the world, is another one, which changes the run: " + driverRemedy(f),
			check.ExitUnknown
	case status.Violated:
		return "VIOLATED in another way than was stored, in a run that has changed", check.ExitViolated
	case len(changes) == 0:
		return fmt.Sprintf("NOT REPRODUCIBLE: nothing is known to have changed, but the trace hash was %s and is %s; `bloodhound "+
			"verify` tells whether runs repeat on this machine", f.Hash, r.Summary.Hash), check.ExitNotReproducible
	}
	return "UNKNOWN: stale: the run has changed and does not show the violation; search around it with `bloodhound explore`", check.ExitUnknown
}

// driverRemedy says how to replay a failure with the driver program of its own run.
func driverRemedy(f *report.Failure) string {
	return fmt.Sprintf("replay it with the bloodhound that recorded it (%s), or name its driver program (sha256:%.12s) by %s=FILE "+
		"(`bloodhound docs platforms`)", f.Bloodhound, f.Driver, driverfile.Variable)
}

// loadFailure reads a failure and, where there is one, the project that it belongs to, whose programs are built
// first. A failure file needs no project; without one, the project has no Spec, and a state folder to be removed.
func loadFailure(a *console.App, c *cobra.Command, f *flags.Set, args []string) (*project.Project, *report.Failure, error) {
	name, named := args[0], len(args) > 1 || f.Config != "" || len(f.Compose) > 0
	file := report.IsFailurePath(name)
	p, err := project.Load(c.Context(), a, f, args[1:])
	if err != nil && f.Config == "" && len(f.Compose) == 0 {
		if path := configOf(name, args[1:]); path != "" {
			p, err = project.Load(c.Context(), a, f, []string{path})
		}
	}
	var mistakes config.Errors
	switch {
	case err != nil && (named || errors.As(err, &mistakes)):
		return nil, nil, err
	case err != nil && !file:
		return nil, nil, fmt.Errorf("%w; or name the project after the failure: bloodhound replay %s FOLDER", err, flags.ShellQuote(name))
	}
	state := ""
	if p != nil {
		state = p.State
	}
	failure, err := report.Load(state, name)
	if p != nil && errors.As(err, new(*report.UnknownFailure)) {
		failure, err = inStore(c.Context(), a, p, name, err)
	}
	if err != nil {
		return nil, nil, err
	}
	if p != nil && !p.FromAnother(failure) {
		failure.Belongs(p.TestName())
	}
	if failure.Spec.Engine == world.InProcess {
		return nil, nil, fmt.Errorf("%s: a failure of the world %q, whose nodes are Go code of a test: run go test -run '^%s$' "+
			"-sim.replay=%s in the folder of its package", name, failure.Spec.Name,
			strings.ReplaceAll(failure.Spec.Name, "/", "$/^"), failure.ID)
	}
	if f.Engine != "" {
		if _, err := engines.Choose(failure.Spec, f.Engine); err != nil {
			return nil, nil, err
		}
	}
	if p != nil && !named && file && !sameNodes(p.Spec, failure.Spec) {
		a.Note("note: %s is another project than the failure's, and is not used", p.Config)
		p = nil
	}
	if p != nil && p.Spec.Dir != failure.Spec.Dir {
		p.MovedFrom = failure.Spec.Dir
		failure.Relocate(p.Spec.Dir)
		if failure.Spec, err = failure.Spec.Moved(p.Spec.Dir); err != nil {
			return nil, nil, err
		}
	}
	if info, err := os.Stat(failure.Spec.Dir); err != nil || !info.IsDir() {
		return nil, nil, fmt.Errorf("%s: the project of this failure lay in %s, and that folder is gone; say where the project is "+
			"now: bloodhound replay %s FOLDER",
			name, failure.Spec.Dir, flags.ShellQuote(name))
	}
	if p != nil {
		if p.FromAnother(failure) {
			a.Note("note: %s is a failure of %s, and so is the world that runs: %s gives the programs that are built, and nothing else",
				failure.ID, filepath.Base(failure.Config),
				filepath.Base(p.Config))
		}
		takeImages(failure.Spec, p.Spec)
		return p, failure, p.Build(c.Context(), a)
	}
	if state, err = os.MkdirTemp("", "bloodhound-replay-"); err != nil {
		return nil, nil, console.Failed(err)
	}
	return &project.Project{State: state}, failure, nil
}

// configOf gives the configuration that a failure of a folder's own names, where the folder has no bloodhound.yaml; or "".
func configOf(name string, args []string) string {
	folder := append(args, ".")[0]
	if _, err := os.Stat(filepath.Join(folder, "bloodhound.yaml")); err == nil {
		return ""
	}
	failure, err := report.Load(project.StateFolder(folder), name)
	if err != nil || failure.Config == "" {
		return ""
	}
	return filepath.Join(folder, filepath.Base(failure.Config))
}

// sameNodes reports whether two Specs name the same nodes, as those of one project do.
func sameNodes(a, b *world.Spec) bool {
	return slices.EqualFunc(a.Nodes, b.Nodes, func(x, y world.Node) bool { return x.Name == y.Name })
}

// sameSpec compares two Specs as failure files hold them. Rules that campaigns have derived belong to no configuration.
func sameSpec(a, b *world.Spec) bool {
	x, errX := json.Marshal(fault.Underived(a))
	y, errY := json.Marshal(fault.Underived(b))
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// explainLacking says what the machine lacks for the world of a failure, and why that may be.
func explainLacking(p *project.Project, name string, failure *report.Failure, err error) error {
	var list engine.Mistakes
	switch {
	case !errors.As(err, &list):
		return err
	case p.Spec == nil:
		return fmt.Errorf("%s: %w\n  or name the project, whose programs are then built first: bloodhound replay %s FOLDER", name, err, flags.ShellQuote(name))
	case sameSpec(p.Spec.UnderRules(failure.Spec.RulesVersion), failure.Spec):
		return p.Result.Locate(list)
	}
	return fmt.Errorf("%s: %w\n  %s has changed since this failure was stored, which still needs it", name, err, p.Config)
}

// takeImages gives the nodes of a failure the images that their names mean now: these are programs of the project, as those in
// its folder are.
func takeImages(spec, now *world.Spec) {
	ids := map[string]string{}
	for i := range now.Nodes {
		if img := now.Nodes[i].Image; img != nil {
			ids[img.Name] = img.ID
		}
	}
	for i := range spec.Nodes {
		if img := spec.Nodes[i].Image; img != nil && ids[img.Name] != "" {
			img.ID = ids[img.Name]
		}
	}
}
