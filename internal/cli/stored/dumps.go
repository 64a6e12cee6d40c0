package stored

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// coresName is the folder, in the state folder, with a folder of core files for each failure.
const coresName = "cores"

// DumpsFolder is a folder of the session for the core files of one run. It is empty.
func DumpsFolder(s *project.Session) (string, error) {
	dir, err := os.MkdirTemp(s.Setup.Scratch, coresName+"-")
	if err != nil {
		return "", console.Failed(report.DiskError(err, s.Setup.Scratch))
	}
	return dir, nil
}

// AddDumps makes the run of an outcome again if a program crashed in it of which nothing was kept, and adds to the outcome what
// is left of such programs. The core files go to the folder of a failure.
func AddDumps(ctx context.Context, a *console.App, p *project.Project, s *project.Session, id string, spec *world.Spec, t tape.Tape, o *check.Judged) {
	if !slices.ContainsFunc(o.Crashes, func(c record.Crash) bool { return c.Kind == "crash" && c.Dump == nil }) {
		return
	}
	own := *s
	setup := *s.Setup
	own.Setup, setup.Spec = &setup, spec
	dir, err := DumpsFolder(&own)
	if err != nil {
		a.Note("bloodhound: could not keep core files: %v", err)
		return
	}
	reply, err := own.Run(ctx, &explore.Job{Request: runner.Play(t), Full: true, Dumps: dir}, nil)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		a.Note("bloodhound: could not keep core files: %v", err)
	case reply.Summary.Hash == o.Hash:
		o.Crashes = reply.Outcome.Crashes
		KeepCores(a, p, id, o)
	}
}

// KeepCores moves the core files of a run to the folder of a failure, in place of those that it has. Those that another failure of the
// same run has taken stay there.
func KeepCores(a *console.App, p *project.Project, id string, o *check.Judged) {
	all := filepath.Join(p.State, coresName)
	dir := filepath.Join(all, id)
	fresh := true
	for i := range o.Crashes {
		d := o.Crashes[i].Dump
		switch {
		case d == nil || d.Core == "" || filepath.Dir(filepath.Dir(d.Core)) == all:
			continue
		case p.Spec == nil:
			d.Core, d.CoreNote = "", "it is kept beside the project, so give the project's folder"
			continue
		}
		if fresh {
			fresh = false
			os.RemoveAll(dir)
			if err := os.MkdirAll(dir, 0o777); err != nil {
				a.Note("bloodhound: could not keep the core files of failure %s: %v", id, report.DiskError(err, dir))
				return
			}
		}
		kept := filepath.Join(dir, filepath.Base(d.Core))
		if err := os.Rename(d.Core, kept); err != nil {
			a.Note("bloodhound: could not keep a core file of failure %s: %v", id, report.DiskError(err, dir))
			d.Core = ""
			continue
		}
		d.Core = kept
	}
}
