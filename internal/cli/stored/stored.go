// Package stored keeps, loads, replays, shrinks, explains and bisects stored failures for the verbs, and writes their pages.
package stored

import (
	"context"
	"fmt"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/driver/driverfile"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/filedigest"
	"github.com/bloodhound-dst/bloodhound/internal/filetree"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// What a stored failure's run may see of the project's folder, and what becomes of a failure whose run has changed.

// OpenFailure makes the session in which the run of a stored failure is replayed. Its nodes do not see files of the project that are newer
// than the failure, unless what the run read there has changed: then it is a new build.
func OpenFailure(a *console.App, p *project.Project, failure *report.Failure, coming ...string) (*project.Session, error) {
	s, err := project.OpenSession(failure.Spec, p.State, coming...)
	if err != nil {
		return nil, err
	}
	if path := driverfile.WithDigest(failure.Driver); path != "" {
		s.Setup.Driver = path
	}
	if failure.Spec.Engine == world.Container { // it has no say in what containers see
		return s, nil
	}
	if s.Setup.Then = failure.Then(); s.Setup.Then == nil {
		return s, nil
	}
	// An output that was there then was seen.
	own := project.OwnOutputs(failure.Spec.Dir)
	s.Setup.Hidden = slices.DeleteFunc(s.Setup.Hidden, func(path string) bool { return slices.Contains(own, path) })
	s.Later = s.Setup.Then.Later(filetree.Read(failure.Spec.Dir, func(path string) bool { return slices.Contains(s.Setup.Hidden, path) }))
	if len(s.Later) > 0 {
		a.Note("note: hidden from this run because they are newer than the failure: %s; `bloodhound replay --all` runs with all files",
			report.Some(s.Later, maxFilesNamed))
	}
	return s, nil
}

// NoteLooked names the newer files that a program of a run has looked for.
func NoteLooked(a *console.App, spec *world.Spec, o *check.Judged) {
	if o == nil || len(o.Later) == 0 {
		return
	}
	var names []string
	for _, path := range o.Later {
		names = append(names, flags.RelativeTo(spec.Dir, path))
	}
	a.Note("note: a program looked for %s, which is newer than the failure and hidden from this run", report.Some(names, maxFilesNamed))
}

// NoteChanged says that a run is not the stored one, and why that may be.
func NoteChanged(a *console.App, p *project.Project, failure *report.Failure, o *check.Judged) {
	a.Note("note: the run has changed since this failure was stored: its trace hash was %s and is now %s", failure.Hash, o.Hash)
	a.Note("%s", WhyChanged(ChangesSince(p, failure, o)))
}

// ChangedRun makes the run of a failure that has changed once more. If it repeats, it may stand for the stored one: then it can be explained, say.
func ChangedRun(ctx context.Context, a *console.App, p *project.Project, s *project.Session, failure *report.Failure, first *explore.Reply, can string) error {
	began := filedigest.Now()
	again, err := s.Run(ctx, &explore.Job{Request: runner.Play(failure.Tape), Full: true}, nil)
	if err != nil {
		return err
	}
	if d := DiffRuns(began, first, again); d != "" {
		return program.WithCode(check.ExitNotReproducible,
			fmt.Errorf("failure %s cannot be %s: its run does not repeat: %s\n%s", failure.ID, can, d, WhyChanged(ChangesSince(p, failure, first.Outcome))))
	}
	NoteChanged(a, p, failure, first.Outcome)
	return nil
}

// RenewFailure stores the run of a failure as a replay has shown it.
func RenewFailure(a *console.App, p *project.Project, s *project.Session, name string, full *report.Failure, reply *explore.Reply, original bool) error {
	v := explore.Shown(reply.Summary.Verdicts, full.Signature)
	if v == nil {
		return nil // it is violated in another way
	}
	failure := full
	if !original {
		failure = full.Small()
	}
	full.Renew(program.Version(), reply.Outcome, *v, TreeNow(s, failure), original)
	path, err := StoreFailure(p, name, full)
	if err == nil {
		a.Note("note: stored the changed run in %s", path)
	}
	return err
}

// TreeNow returns the files of a project's folder, as the runs of a session see them: those that the failure recorded
// if the session restores them, or else those on the disk.
func TreeNow(s *project.Session, failure *report.Failure) *filetree.Tree {
	if s.Setup.Then != nil {
		return failure.Tree
	}
	return treeOf(failure.Spec)
}

// StoreRenewed stores a failure whose run has changed: below the state folder, or in the named file if update is set.
func StoreRenewed(a *console.App, p *project.Project, name string, f *report.Failure, update bool) (path string, err error) {
	if !report.IsFailurePath(name) || update || project.IsBelow(p.State, name) {
		return StoreFailure(p, name, f)
	}
	if p.Spec == nil { // the state folder does not stay
		a.Note("note: the run has changed; --update stores it in %s", name)
		return name, nil
	}
	path, err = StoreFailure(p, f.ID, f)
	if err == nil {
		a.Note("note: the run has changed; %s stays as it was, and the changed run is in %s; --update stores it in the file itself", name, path)
	}
	return path, err
}

// StoreFailure writes a failure where a command has found it: in the file that it named, or in the state folder by its id.
func StoreFailure(p *project.Project, name string, f *report.Failure) (path string, err error) {
	if path = name; !report.IsFailurePath(path) {
		path = f.Path(p.State)
	}
	if err := report.Write(path, f); err != nil {
		return "", console.Failed(err)
	}
	return path, nil
}
