package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/cli/database"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/stored"
	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/store"
)

// importFailures takes in the failures that lie beside a project and in its state folder, as they are.
func importFailures(ctx context.Context, db store.Store, x *fleetProject) error {
	test := x.p.TestID()
	known, err := database.ViewOf(ctx, db, records.FailuresOf(test))
	if err != nil {
		return err
	}
	have := map[store.Digest]bool{}
	for _, f := range known.Test(test).Failures {
		for _, r := range f.Files {
			have[r.File] = true
		}
	}
	paths, err := stored.FailureFiles(x.p.Spec.Dir, x.p.State)
	if err != nil {
		return err
	}
	for _, path := range paths {
		f, err := report.Load("", path)
		if err != nil {
			x.Note("note: %v; it is not taken into the store", err)
			continue
		}
		if x.p.FromAnother(f) {
			continue
		}
		content, err := f.Content()
		if err != nil {
			return err
		}
		if have[store.DigestOf(content)] {
			continue
		}
		f.Belongs(x.p.TestName())
		r := records.Failure{Failure: f.Failure, Reason: f.Verdict.Reason, Level: records.Raw,
			Decisions: len(f.Decisions), Tape: f.Tape.Name(),
			Imported: flags.RelativeTo(x.p.Spec.Dir, path), AtMs: time.Now().UnixMilli()}
		if f.Smallest != nil {
			r.Level, r.Decisions, r.Tape = records.Shrunk, f.Smallest.Shrunk.To.Decisions, f.Smallest.Tape.Name()
		}
		if r.File, err = db.PutBlob(ctx, content); err == nil {
			err = db.Add(ctx, r.Entry(test))
		}
		if err != nil {
			return errors.Join(fmt.Errorf("%s is not taken into the store", path), err)
		}
	}
	return nil
}
