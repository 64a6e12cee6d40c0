package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bloodhound-dst/bloodhound/engine"
	"github.com/bloodhound-dst/bloodhound/explore"
	"github.com/bloodhound-dst/bloodhound/report"
)

// failureID is the short name of a failure in the state folder, which all configurations of a folder share: the files
// that make the configuration are part of it.
func (p *project) failureID(signature string) string {
	return explore.FailureID(signature + "\nof " + strings.Join(p.sources, " "))
}

// keep stores a violation and returns what its story is told from. A disk that is full loses nothing: the story
// then tells how to make the run again from its tape.
func (a *app) keep(p *project, signature string, o *engine.Outcome, v engine.Verdict) report.StoryOf {
	id := p.failureID(signature)
	s := report.StoryOf{Spec: p.spec, Outcome: o, Verdict: v, ID: id}
	path, err := report.Save(p.state, report.NewFailure(id, signature, Version(), p.config, p.spec, o, v))
	switch {
	case err == nil:
		s.File, s.Replay = path, "bloodhound replay "+id+p.arguments
	case len(o.Tape.Edits) > 0:
		s.Replay = "bloodhound run --tape FILE" + p.arguments + " (FILE is the one that this run was given)"
	default:
		s.Replay = fmt.Sprintf("bloodhound run --seed %d%s", o.Tape.Seed, p.arguments)
	}
	if err == nil {
		err = report.SaveEvidence(p.state, id, o)
	}
	if err != nil {
		a.note("bloodhound: the failure could not be stored: %v", err)
	}
	return s
}

// saveTrace runs a failure once more and keeps its trace in the output folder.
func (p *project) saveTrace(ctx context.Context, s *session, f *explore.Failure) error {
	if err := os.MkdirAll(p.outputDir, 0o777); err != nil {
		return err
	}
	file := filepath.Join(p.outputDir, f.ID+".trace")
	job := &explore.Job{Tape: f.Tape, Trace: &explore.Trace{File: file, Format: "text", Level: p.filter.Level, Events: p.filter.Events}}
	reply, err := s.run(ctx, job, nil)
	if err != nil {
		return fmt.Errorf("the trace of failure %s: %w", f.ID, err)
	}
	if reply.Summary.Hash != f.Hash {
		return fmt.Errorf("the trace of failure %s: the run came out differently, its hash is %s and not %s", f.ID, reply.Summary.Hash, f.Hash)
	}
	return nil
}
