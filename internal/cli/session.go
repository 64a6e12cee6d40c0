package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/bloodhound-dst/bloodhound/internal/driver/driverfile"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// session is what a verb that runs worlds needs: workers, and a scratch folder that does not outlive it.
type session struct {
	setup   *explore.Setup
	command explore.Command
	scratch *scratch
	later   []string // files of the project that are newer than the failure whose run is made, and hidden from it
}

// openSession checks that this machine has an engine and what the Spec names, and makes the scratch folder in the state
// folder. Those that killed programs have left there are removed. The nodes do not see what is coming: files that
// are about to be written. What the machine lacks is an engine.Mistakes.
func openSession(spec *world.Spec, state string, coming ...string) (*session, error) {
	eng, err := engineFor(spec)
	if err != nil {
		return nil, failed(err)
	}
	unseen := hidden(spec, coming)
	if err := inspect(eng, spec, unseen); err != nil {
		return nil, err
	}
	command, err := explore.Self(workerName)
	if err != nil {
		return nil, failed(err)
	}
	driver, err := driverfile.Find()
	if err != nil {
		return nil, failed(err)
	}
	dir := filepath.Join(state, "scratch")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, failed(stateError(err, state))
	}
	own, err := newScratch(dir)
	if err != nil {
		return nil, err
	}
	return &session{setup: &explore.Setup{Spec: spec, Driver: driver, Scratch: own.dir, Hidden: unseen}, command: command, scratch: own}, nil
}

// stateError adds the remedy to an error of the state folder.
func stateError(err error, state string) error {
	if !errors.Is(err, os.ErrPermission) && !errors.Is(err, syscall.EROFS) {
		return report.DiskError(err, state)
	}
	return fmt.Errorf("%w: user %d must be able to write to %s; give it the folder, or name another one in the environment: %s=FOLDER",
		err, os.Geteuid(), state, stateVariable)
}

// inspect asks an engine that can report whether this machine has what the Spec names.
func inspect(eng engine.Engine, spec *world.Spec, hidden []string) error {
	v, ok := eng.(engine.Validator)
	if !ok {
		return nil
	}
	driver, err := driverfile.Find()
	if err != nil {
		return failed(err)
	}
	images, err := imagesOf(spec)
	if err != nil {
		return failed(err)
	}
	err = v.Validate(spec, engine.Options{Hidden: hidden, Images: images, Driver: driver})
	var lacking engine.Mistakes
	if err == nil || errors.As(err, &lacking) {
		return err
	}
	return failed(err)
}

func (s *session) close() {
	s.scratch.close()
	dir := filepath.Dir(s.setup.Scratch)
	os.Remove(dir) // if it is empty
	removeEmptyState(filepath.Dir(dir))
}

// errInterrupted is the error of a run that was to be compared with another one, and was cut short.
var errInterrupted = program.ErrInterrupted

// run does one job in a worker process of its own. It fails if the engine or the machine does. An interrupted run is
// an error too, unless the job asks for the whole Outcome, so that what is known about the run can be shown.
func (s *session) run(ctx context.Context, job *explore.Job, progress func(explore.Progress)) (*explore.Reply, error) {
	w, err := explore.StartWorker(s.command, s.setup, -1)
	if err != nil {
		return nil, failed(err)
	}
	defer w.Close()
	alone := *job
	alone.FromBoot = true
	reply, err := w.Do(ctx, &alone, explore.RunTime(s.setup.Spec), progress)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, errInterrupted
	case err != nil:
		return nil, failed(fmt.Errorf("%s: %w", job.Tape.Name(), err))
	case reply.Error != "":
		return nil, failed(errors.New(reply.Error))
	case reply.Look != nil && reply.Look.Refused != "":
		return nil, errors.New(reply.Look.Refused)
	case reply.Summary == nil:
		return nil, failed(errors.New("the worker's answer has no summary"))
	case ctx.Err() != nil && !job.Full:
		return nil, errInterrupted
	}
	return reply, nil
}
