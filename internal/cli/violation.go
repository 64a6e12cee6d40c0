package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/report"
)

// finding is a failure that a campaign has found.
type finding struct {
	*explore.Failure
	story report.StoryOf
	file  *report.Failure
}

// newFailure is the file of a violation that a run of this project has shown here and now; found is nil if no campaign found it.
func (p *project) newFailure(o *check.Judged, v check.Verdict, found *explore.Failure) *report.Failure {
	f := report.NewFailure(p.testName(), program.Version(), p.config, p.spec, o, v)
	f.System, f.Commit, f.Tree = program.System(), commit(p.spec.Dir), treeOf(p.spec)
	if found != nil {
		f.Origin, f.Background = &found.Origin, found.Background
	}
	return f
}

// keep stores a violation and returns what its story is made of. A disk that is full loses nothing: the story
// then says how to make the run again from its tape.
func (a *app) keep(p *project, o *check.Judged, v check.Verdict, found *explore.Failure) (report.StoryOf, *report.Failure) {
	f := p.newFailure(o, v, found)
	if f.Commit == "" && !p.commitNoted {
		p.commitNoted = true
		if why := noCommit(context.Background(), p.spec.Dir); why != "" {
			a.note("%s", why)
		}
	}
	s := report.StoryOf{Spec: p.spec, Outcome: o, Verdict: v, Failure: f.Failure, Background: f.Background}
	if known, err := report.Load(p.state, f.Name()); err == nil && known.Hash == f.Hash {
		// Found again: what shrinking has come to stays, in the file of then.
		f.Smallest, f.Headline, f.FormerID = known.Smallest, known.Headline, known.FormerID
		s.Failure = f.Failure
	}
	path, err := report.Save(p.state, f)
	switch boot, seed, rest := o.Tape.Seeds(); {
	case err == nil:
		s.Found = f.Smallest != nil
		s.File, s.Replay = path, "bloodhound replay "+f.ID+p.arguments
	case len(rest) > 0:
		s.Replay = "bloodhound run --tape FILE" + p.arguments + " (FILE is the one that this run was given)"
	default:
		s.Replay = report.RunCommand(boot, seed, p.arguments)
	}
	if o.Repeat.Once {
		s.Replay = strings.Replace(s.Replay, p.arguments, "", 1) + otherwise(p.arguments)
	}
	if err == nil {
		err = report.SaveEvidence(p.state, f.Name(), o)
	}
	if err != nil {
		a.note("bloodhound: the failure could not be stored: %v", err)
	}
	return s, f
}

// shrinkAll makes the runs of failures smaller, each within its share of the budget that is left. What cannot be shrunk
// stays as it was found.
func (a *app) shrinkAll(ctx context.Context, p *project, s *session, found []finding, b shrinkBudget, show *progress) {
	if repeats(p.spec, "shrink") != nil {
		return
	}
	left, end := b.cpu, time.Now().Add(b.time)
	for i := range found {
		if ctx.Err() != nil {
			return
		}
		f := &found[i]
		if f.story.File == "" { // then only the original can be made again
			continue
		}
		before := f.file.Smallest
		rest := time.Duration(len(found) - i)
		b.cpu = max(left/rest, time.Millisecond)
		if b.time > 0 {
			b.time = max(time.Until(end)/rest, time.Millisecond)
		}
		r, err := a.shrinkFailure(ctx, s, f.file, b, show)
		if err != nil {
			if ctx.Err() == nil {
				show.note(fmt.Sprintf("failure %s is not shrunk: %v", f.ID, err))
			}
			continue
		}
		left -= time.Duration(r.Shrunk.CPUNs)
		if err := report.Write(f.story.File, f.file); err != nil {
			show.note(fmt.Sprintf("bloodhound: failure %s is not shrunk: its smallest run could not be stored: %v", f.ID, err))
			f.file.Smallest = before
			continue
		}
		f.Shrunk, f.Headline = &f.file.Smallest.Shrunk, f.file.Headline
		f.story.Found, f.story.Failure = false, f.file.Failure
		f.story.Spec, f.story.Outcome, f.story.Verdict, f.story.Shrunk = f.file.Small().Spec, r.Outcome, r.Verdict, f.Shrunk
		a.addDumps(ctx, p, s, f.Name(), f.story.Spec, r.Tape, r.Outcome)
	}
}

// commit names the commit of a folder, and reports whether files differ from it; empty if it has none.
func commit(dir string) string {
	ctx := context.Background()
	head := git(ctx, dir, "rev-parse", "HEAD")
	if head != "" && git(ctx, dir, "status", "--porcelain", "--untracked-files=no") != "" {
		head += withChanges
	}
	return head
}

// saveTrace runs a failure once more and keeps its trace in the output folder.
func (p *project) saveTrace(ctx context.Context, s *session, f *explore.Failure) error {
	if err := os.MkdirAll(p.outputDir, 0o777); err != nil {
		return err
	}
	file := p.output(f.Name() + ".trace")
	s.setup.Hidden = append(s.setup.Hidden, file)
	job := &explore.Job{Tape: f.Tape, Trace: &explore.Trace{File: file, Format: "text", Level: p.filter.Level, Events: p.filter.Events}}
	reply, err := s.run(ctx, job, nil)
	if err != nil {
		return fmt.Errorf("the trace of failure %s: %w", f.ID, err)
	}
	wrote(p.spec, file)
	if reply.Summary.Hash != f.Hash {
		return fmt.Errorf("the trace of failure %s: the run came out differently, its hash is %s and not %s", f.ID, reply.Summary.Hash, f.Hash)
	}
	return nil
}
