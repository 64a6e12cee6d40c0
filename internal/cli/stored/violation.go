package stored

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
)

// Finding is a failure that a campaign has found.
type Finding struct {
	*explore.Failure
	Story report.StoryOf
	File  *report.Failure
}

// NewFailure is the file of a violation that a run of this project has shown here and now; found is nil if no campaign found it.
func NewFailure(p *project.Project, o *check.Judged, v check.Verdict, found *explore.Failure) *report.Failure {
	f := report.NewFailure(p.TestName(), program.Version(), p.Config, p.Spec, o, v)
	f.System, f.Commit, f.Tree = program.System(), project.HeadCommit(p.Spec.Dir), treeOf(p.Spec)
	if found != nil {
		f.Origin, f.Background = &found.Origin, found.Background
	}
	return f
}

// KeepViolation stores a violation and returns what its story is made of. A disk that is full loses nothing: the story
// then says how to make the run again from its tape.
func KeepViolation(a *console.App, p *project.Project, o *check.Judged, v check.Verdict, found *explore.Failure) (report.StoryOf, *report.Failure) {
	f := NewFailure(p, o, v, found)
	f.Discovery = &report.Discovery{At: time.Now().UTC().Truncate(time.Second)}
	if f.Commit == "" && !p.CommitNoted {
		p.CommitNoted = true
		if why := project.NoCommit(context.Background(), p.Spec.Dir); why != "" {
			a.Note("%s", why)
		}
	}
	s := report.StoryOf{Spec: p.Spec, Outcome: o, Verdict: v, Failure: f.Failure, Background: f.Background}
	if known, err := report.Load(p.State, f.Name()); err == nil && known.Hash == f.Hash {
		// Found again: what shrinking has come to stays, in the file of then.
		f.Smallest, f.Headline, f.FormerID = known.Smallest, known.Headline, known.FormerID
		s.Failure = f.Failure
		if known.Discovery != nil {
			f.Discovery.At = known.Discovery.At
		}
	}
	path, err := report.Save(p.State, f)
	switch boot, seed, rest := o.Tape.Seeds(); {
	case err == nil:
		s.Found = f.Smallest != nil
		s.File, s.Replay = path, "bloodhound replay "+f.ID+p.Arguments
	case len(rest) > 0:
		s.Replay = "bloodhound run --tape FILE" + p.Arguments + " (FILE is the tape of this run)"
	default:
		s.Replay = report.RunCommand(boot, seed, p.Arguments)
	}
	if o.Repeat.Once {
		s.Replay = strings.Replace(s.Replay, p.Arguments, "", 1) + project.OnNativeEngine(p.Arguments)
	}
	if err == nil {
		err = report.SaveEvidence(p.State, f.Name(), o)
	}
	if err != nil {
		a.Note("bloodhound: could not store the failure: %v", err)
	}
	return s, f
}

// CountRuns records how many of a campaign's runs showed each of its failures.
func CountRuns(a *console.App, p *project.Project, found []Finding, runs uint64) {
	for i := range found {
		f := &found[i]
		if f.Story.File == "" || f.File.Discovery == nil {
			continue
		}
		f.File.Discovery.Runs, f.File.Discovery.Of = f.Runs, max(runs, f.Runs)
		if _, err := report.Save(p.State, f.File); err != nil {
			a.Note("bloodhound: the failure could not be stored: %v", err)
		}
	}
}

// ShrinkAll makes the runs of failures smaller, each within its share of the budget that is left. What cannot be shrunk
// stays as it was found.
func ShrinkAll(ctx context.Context, a *console.App, p *project.Project, s *project.Session, found []Finding, b ShrinkBudget, show *console.Progress) {
	if project.RequireRepeats(p.Spec, "shrink") != nil {
		return
	}
	left, end := b.cpu, time.Now().Add(b.Time)
	for i := range found {
		if ctx.Err() != nil {
			return
		}
		f := &found[i]
		if f.Story.File == "" { // then only the original can be made again
			continue
		}
		before := f.File.Smallest
		rest := time.Duration(len(found) - i)
		b.cpu = max(left/rest, time.Millisecond)
		if b.Time > 0 {
			b.Time = max(time.Until(end)/rest, time.Millisecond)
		}
		r, err := ShrinkFailure(ctx, a, s, f.File, b, show)
		if err != nil {
			if ctx.Err() == nil {
				show.Note(fmt.Sprintf("failure %s is not shrunk: %v", f.ID, err))
			}
			continue
		}
		left -= time.Duration(r.Shrunk.CPUNs)
		if err := report.Write(f.Story.File, f.File); err != nil {
			show.Note(fmt.Sprintf("bloodhound: failure %s is not shrunk: could not store its smallest run: %v", f.ID, err))
			f.File.Smallest = before
			continue
		}
		f.Shrunk, f.Headline = &f.File.Smallest.Shrunk, f.File.Headline
		f.Story.Found, f.Story.Failure = false, f.File.Failure
		f.Story.Spec, f.Story.Outcome, f.Story.Verdict, f.Story.Shrunk = f.File.Small().Spec, r.Outcome, r.Verdict, f.Shrunk
		AddDumps(ctx, a, p, s, f.Name(), f.Story.Spec, r.Tape, r.Outcome)
	}
}

// SaveTrace runs a failure once more and keeps its trace in the output folder.
func SaveTrace(ctx context.Context, p *project.Project, s *project.Session, f *explore.Failure) error {
	if err := os.MkdirAll(p.OutputDir, 0o777); err != nil {
		return err
	}
	file := p.Output(f.Name() + ".trace")
	s.Setup.Hidden = append(s.Setup.Hidden, file)
	job := &explore.Job{Request: runner.Play(f.Tape), Trace: &explore.Trace{File: file, Format: "text", Level: p.Filter.Level, Events: p.Filter.Events}}
	reply, err := s.Run(ctx, job, nil)
	if err != nil {
		return fmt.Errorf("the trace of failure %s: %w", f.ID, err)
	}
	project.RecordOutput(p.Spec, file)
	if reply.Summary.Hash != f.Hash {
		return fmt.Errorf("the trace of failure %s: the run differs: its hash is %s, not %s", f.ID, reply.Summary.Hash, f.Hash)
	}
	return nil
}
