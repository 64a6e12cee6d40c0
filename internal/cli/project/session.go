package project

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/driver/driverfile"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/workload"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Session has the means by which a verb runs worlds: workers, and a scratch folder that does not outlive it.
type Session struct {
	Setup   *explore.Setup
	Command explore.Command
	scratch *scratch
	Later   []string // files of the project that are newer than the failure whose run is made, and hidden from it
}

// OpenSession checks that this machine has an engine and what the Spec names, and makes the scratch folder in the state
// folder. Those that killed programs have left there are removed. The nodes do not see what is coming: files that
// are about to be written. What the machine lacks is an engine.Mistakes.
func OpenSession(spec *world.Spec, state string, coming ...string) (*Session, error) {
	eng, err := EngineFor(spec)
	if err != nil {
		return nil, console.Failed(err)
	}
	unseen := HiddenFiles(spec, coming)
	if err := inspectMachine(eng, spec, unseen); err != nil {
		return nil, err
	}
	command, err := explore.Self(WorkerName)
	if err != nil {
		return nil, console.Failed(err)
	}
	driver, err := driverFor(spec)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(state, "scratch")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, console.Failed(stateError(err, state))
	}
	own, err := newScratch(dir)
	if err != nil {
		return nil, err
	}
	return &Session{Setup: &explore.Setup{Spec: spec, Driver: driver, Scratch: own.dir, Hidden: unseen}, Command: command, scratch: own}, nil
}

// inspectMachine asks an engine that can report whether this machine has what the Spec names.
func inspectMachine(eng engine.Engine, spec *world.Spec, hidden []string) error {
	v, ok := eng.(engine.Validator)
	if !ok {
		return nil
	}
	driver, err := driverFor(spec)
	if err != nil {
		return err
	}
	images, err := ImagesOf(spec)
	if err != nil {
		return console.Failed(err)
	}
	err = v.Validate(spec, engine.Options{Hidden: hidden, Images: images, Driver: driver})
	var lacking engine.Mistakes
	if err == nil || errors.As(err, &lacking) {
		return err
	}
	return console.Failed(err)
}

// driverFor finds the driver program of a Spec. One that is missing is an engine.Mistakes.
func driverFor(spec *world.Spec) (string, error) {
	path, err := driverfile.For(spec)
	var lacking engine.Mistakes
	if err == nil || errors.As(err, &lacking) {
		return path, err
	}
	return "", console.Failed(err)
}

func (s *Session) Close() {
	s.scratch.close()
	dir := filepath.Dir(s.Setup.Scratch)
	os.Remove(dir) // if it is empty
	removeEmptyState(filepath.Dir(dir))
}

// ErrInterrupted is the error of a run that was to be compared with another one, and was cut short.
var ErrInterrupted = program.ErrInterrupted

// Run does one job in a worker process of its own. It fails if the engine or the machine does. An interrupted run is
// an error too, unless the job asks for the whole Outcome, so that what is known about the run can be shown.
func (s *Session) Run(ctx context.Context, job *explore.Job, progress func(explore.Progress)) (*explore.Reply, error) {
	w, err := explore.StartWorker(s.Command, s.Setup, -1)
	if err != nil {
		return nil, console.Failed(err)
	}
	defer w.Close()
	alone := *job
	alone.FromBoot = true
	reply, err := w.Do(ctx, &alone, explore.RunTime(s.Setup.Spec), progress)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ErrInterrupted
	case err != nil:
		return nil, console.Failed(fmt.Errorf("%s: %w", job.Tape.Name(), err))
	case reply.Error != "":
		return nil, console.Failed(errors.New(reply.Error))
	case reply.Look != nil && reply.Look.Refused != "":
		return nil, errors.New(reply.Look.Refused)
	case reply.Summary == nil:
		return nil, console.Failed(errors.New("the worker's answer has no summary"))
	case ctx.Err() != nil && !job.Full:
		return nil, ErrInterrupted
	}
	return reply, nil
}

// NoteUnrepeatable notes that a run with other breakpoints differs from the first one, and whether that is because a program reads its own code.
func NoteUnrepeatable(ctx context.Context, a *console.App, s *Session, t tape.Tape, first *explore.Summary, difference string, quiet bool) error {
	reads, err := ReadsCode(ctx, a, s, t, first, quiet)
	if err != nil {
		return err
	}
	if reads {
		difference = explore.ReadsCode + ": " + difference
	}
	first.Repeat = record.Repeat{Reason: "the same seed gave two different runs: " + difference}
	return nil
}

// ReadsCode reports whether a run is the same when it is made once more, after other breakpoints have made another run of it.
func ReadsCode(ctx context.Context, a *console.App, s *Session, t tape.Tape, first *explore.Summary, quiet bool) (bool, error) {
	again, err := OneRun(ctx, a, s, &explore.Job{Request: runner.Request{Candidate: search.Candidate{Tape: t, FromBoot: true}}, Full: true}, quiet)
	if err == nil && ctx.Err() != nil {
		err = ErrInterrupted
	}
	if err != nil {
		return false, err
	}
	return explore.Differs(first, again.Summary) == "", nil
}

// OneRun does a job and shows its progress.
func OneRun(ctx context.Context, a *console.App, s *Session, job *explore.Job, quiet bool) (*explore.Reply, error) {
	p := console.NewProgress(a.Err, false, quiet)
	defer p.End()
	return s.Run(ctx, job, func(now explore.Progress) {
		p.Show(func(elapsed time.Duration) string {
			return fmt.Sprintf("seed %d: %s, %s of virtual time in %s", job.Tape.Own(), plural.Count(now.Events, "event"),
				report.Seconds(now.VirtualNs), elapsed.Round(time.Second))
		})
	})
}

// WorkerName is the hidden verb that a campaign starts its worker processes with.
const WorkerName = "__worker"

// Open makes the session of the project's runs. What the machine lacks for them is reported where the configuration asks
// for it.
func (p *Project) Open(coming ...string) (*Session, error) {
	for i := range p.Spec.Workloads {
		w := &p.Spec.Workloads[i]
		if _, err := workload.CheckTemplate(p.Spec, w); err != nil {
			return nil, p.Result.Locate(engine.Mistakes{{Part: engine.PartWorkload, Name: w.Name, Problem: err.Error(),
				Remedy: "`bloodhound docs antithesis` explains test templates"}})
		}
	}
	s, err := OpenSession(p.Spec, p.State, coming...)
	var lacking engine.Mistakes
	if errors.As(err, &lacking) {
		return nil, p.Result.Locate(lacking)
	}
	return s, err
}
